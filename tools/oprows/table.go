package main

// loop is a row function: a loop over the elements of a row.
type loop struct {
	name string
	// operands is 1 or 2: x, or x and y.
	operands int
	// over is the constraint of T; out is the element type of the result.
	over, out string
	// pre is what is computed before the loop, from p.
	pre string
	// expr is the result for x (and y).
	expr string
}

// vectors are the calls of what row functions have for float32 in tiers other than Scalar.
var vectors = map[string]string{
	"Add": lines2("Add"), "Sub": lines2("Sub"), "Mul": lines2("Mul"), "Div": lines2("Div"), "Maximum": lines2("Max"), "Minimum": lines2("Min"),
	"AddAlpha":  "kernel.AddScaledF32(p.tier, floats(o), floats(a), floats(b), [2]float32{float32(alpha)})",
	"SubAlpha":  "kernel.AddScaledF32(p.tier, floats(o), floats(a), floats(b), [2]float32{-float32(alpha)})",
	"RsubAlpha": "kernel.AddScaledF32(p.tier, floats(o), floats(b), floats(a), [2]float32{-float32(alpha)})",
	"Clamp":     "kernel.ClampF32(p.tier, floats(o), floats(a), [2]float32{float32(low), float32(high)})",
	"Relu":      "kernel.ClampF32(p.tier, floats(o), floats(a), [2]float32{0, float32(math.Inf(1))})",
	"LeakyRelu": "kernel.LeakyReluF32(p.tier, floats(o), floats(a), [2]float32{float32(slope)})",
	"Abs":       lines1("Abs"), "Neg": lines1("Neg"), "Sign": lines1("Sign"), "Ceil": lines1("Ceil"), "Floor": lines1("Floor"),
	"Round": lines1("Round"), "Trunc": lines1("Trunc"), "Sqrt": lines1("Sqrt"), "Rsqrt": lines1("Rsqrt"), "Reciprocal": lines1("Reciprocal"),
	"LogicalNot": "whereZero(p.tier, o, floats(a))",
	"DivTrunc":   "quotients(p.tier, floats(o), floats(a), floats(b))",
	"Elu":        "p.z == 1 && kernel.EluF32(p.tier, floats(o), floats(a), [2]float32{float32(p.x * p.y), float32(p.y)})",
	"Logit":      "logits(p.tier, floats(o), floats(a), p.x)",
	"Square":     "kernel.MulF32(p.tier, floats(o), floats(a), floats(a))",
	"Exp":        lines1("Exp"), "Expm1": lines1("Expm1"), "Log": lines1("Log"), "Log2": lines1("Log2"), "Log10": lines1("Log10"), "Log1p": lines1("Log1p"),
	"Atan": lines1("Atan"), "Asin": lines1("Asin"), "Acos": lines1("Acos"), "Erf": lines1("Erf"), "Sigmoid": lines1("Sigmoid"), "Tanh": lines1("Tanh"), "Gelu": lines1("Gelu"), "GeluTanh": lines1("GeluTanh"),
	"Sin": "turns(p.tier, floats(o), floats(a), kernel.SinF32, scalarmath.Sin[float32])",
	"Cos": "turns(p.tier, floats(o), floats(a), kernel.CosF32, scalarmath.Cos[float32])",
	"Tan": "turns(p.tier, floats(o), floats(a), kernel.TanF32, scalarmath.Tan[float32])",
	"Pow": "powers(p.tier, floats(o), floats(a), floats(b))",
}

// bitVectors are the kernels that row functions have for the bits of any elements, and byteVectors those for elements of one byte.
var (
	bitVectors  = map[string]string{"And": "And", "Or": "Or", "Xor": "Xor"}
	byteVectors = map[string]string{
		"Add": "AddBytes", "Sub": "SubBytes", "Eq": "EqBytes", "Ne": "NeBytes", "LogicalNot": "LogicalNotBytes",
		"LogicalAnd": "LogicalAndBytes", "LogicalOr": "LogicalOrBytes", "LogicalXor": "LogicalXorBytes",
	}
)

func lines1(name string) string { return "kernel." + name + "F32(p.tier, floats(o), floats(a))" }
func lines2(name string) string {
	return "kernel." + name + "F32(p.tier, floats(o), floats(a), floats(b))"
}

// loops are the row functions of cheap operators, whose expression is to be inlined.
var loops = []loop{
	{"Add", 2, "number", "T", "", "x + y"},
	{"AddAlpha", 2, "number", "T", "alpha := parAs[T](p)", "x + T(alpha*y)"},
	{"Sub", 2, "number", "T", "", "x - y"},
	{"SubAlpha", 2, "number", "T", "alpha := parAs[T](p)", "x - T(alpha*y)"},
	{"RsubAlpha", 2, "number", "T", "alpha := parAs[T](p)", "y - T(alpha*x)"},
	{"Mul", 2, "number", "T", "", "x * y"},
	{"Div", 2, "float", "T", "", "x / y"},
	{"DivTrunc", 2, "float", "T", "", "T(math.Trunc(float64(x / y)))"},
	{"DivFloor", 2, "float", "T", "", "floorDivFloat(x, y)"},
	{"DivTruncInt", 2, "integer", "T", "", "x / y"},
	{"DivFloorInt", 2, "integer", "T", "", "floorDivInt(x, y)"},
	{"Remainder", 2, "float", "T", "", "remainderFloat(x, y)"},
	{"RemainderInt", 2, "integer", "T", "", "remainderInt(x, y)"},
	{"Fmod", 2, "float", "T", "", "modOf(x, y)"},
	{"FmodInt", 2, "integer", "T", "", "x % y"},
	{"Maximum", 2, "number", "T", "", "maxOf(x, y)"},
	{"Minimum", 2, "number", "T", "", "minOf(x, y)"},
	{"Atan2", 2, "float", "T", "", "scalarmath.Atan2(x, y)"},
	{"Pow", 2, "float", "T", "", "scalarmath.Pow(x, y)"},
	{"PowInt", 2, "integer", "T", "", "powInt(x, y)"},
	{"Copysign", 2, "float", "T", "", "T(math.Copysign(float64(x), float64(y)))"},
	{"Hypot", 2, "float", "T", "", "T(hypot(float64(x), float64(y)))"},
	{"Nextafter", 2, "float", "T", "", "nextafter(x, y)"},
	{"NextHalf", 2, "float", "T", "", "nextHalf(x, y)"},
	{"NextBFloat16", 2, "float", "T", "", "nextBFloat16(x, y)"},
	{"Gcd", 2, "integer", "T", "", "gcdOf(x, y)"},
	{"Lcm", 2, "integer", "T", "", "lcmOf(x, y)"},
	{"Signbit", 1, "float", "uint8", "", "toBool(math.Signbit(float64(x)))"},
	{"Negative", 1, "number", "uint8", "", "toBool(x < 0)"},
	{"And", 2, "integer", "T", "", "x & y"},
	{"Or", 2, "integer", "T", "", "x | y"},
	{"Xor", 2, "integer", "T", "", "x ^ y"},
	{"Shl", 2, "integer", "T", "", "shiftLeft(x, y)"},
	{"Shr", 2, "integer", "T", "", "shiftRight(x, y)"},
	{"Eq", 2, "number", "uint8", "", "toBool(x == y)"},
	{"Ne", 2, "number", "uint8", "", "toBool(x != y)"},
	{"Lt", 2, "number", "uint8", "", "toBool(x < y)"},
	{"Le", 2, "number", "uint8", "", "toBool(x <= y)"},
	{"Gt", 2, "number", "uint8", "", "toBool(x > y)"},
	{"Ge", 2, "number", "uint8", "", "toBool(x >= y)"},
	{"LogicalAnd", 2, "number", "uint8", "", "toBool(x != 0) & toBool(y != 0)"},
	{"LogicalOr", 2, "number", "uint8", "", "toBool(x != 0) | toBool(y != 0)"},
	{"LogicalXor", 2, "number", "uint8", "", "toBool((x != 0) != (y != 0))"},

	{"Copy", 1, "number", "T", "", "x"},
	{"Abs", 1, "float", "T", "", "absOf(x)"},
	{"AbsInt", 1, "integer", "T", "", "T((int64(x) ^ int64(x)>>63) - int64(x)>>63)"}, // without a branch
	{"Neg", 1, "number", "T", "", "-x"},
	{"Relu", 1, "number", "T", "", "reluOf(x)"},
	{"Ceil", 1, "float", "T", "", "T(math.Ceil(float64(x)))"},
	{"Floor", 1, "float", "T", "", "T(math.Floor(float64(x)))"},
	{"Round", 1, "float", "T", "", "T(math.RoundToEven(float64(x)))"},
	{"Trunc", 1, "float", "T", "", "T(math.Trunc(float64(x)))"},
	{"Sign", 1, "number", "T", "", "signOf(x)"},
	{"Not", 1, "integer", "T", "", "^x"},
	{"LogicalNot", 1, "number", "uint8", "", "toBool(x == 0)"},
	{"Isnan", 1, "number", "uint8", "", "toBool(x != x)"},
	{"Isinf", 1, "float", "uint8", "", "toBool(math.IsInf(float64(x), 0))"},
	{"Clamp", 1, "number", "T", "low, high := clampBounds[T](p)", "clampOf(x, low, high)"},
	{"LeakyRelu", 1, "float", "T", "slope := T(p.x)", "leakyOf(x, slope)"},
	{"Elu", 1, "float", "T", "", "eluOf(x, p)"},
	{"Logit", 1, "float", "T", "", "logitOf(x, p.x)"},
	{"Gelu", 1, "float", "T", "", "scalarmath.Gelu(x)"},
	{"GeluTanh", 1, "float", "T", "", "scalarmath.GeluTanh(x)"},
	{"Square", 1, "number", "T", "", "x * x"},
	{"Cube", 1, "number", "T", "", "T(x*x) * x"},
	{"InvSquare", 1, "float", "T", "", "1 / T(x*x)"},

	{"Acos", 1, "float", "T", "", "scalarmath.Acos(x)"},
	{"Acosh", 1, "float", "T", "", "scalarmath.Acosh(x)"},
	{"Asin", 1, "float", "T", "", "scalarmath.Asin(x)"},
	{"Asinh", 1, "float", "T", "", "scalarmath.Asinh(x)"},
	{"Atan", 1, "float", "T", "", "scalarmath.Atan(x)"},
	{"Atanh", 1, "float", "T", "", "scalarmath.Atanh(x)"},
	{"Cos", 1, "float", "T", "", "scalarmath.Cos(x)"},
	{"Cosh", 1, "float", "T", "", "scalarmath.Cosh(x)"},
	{"Erf", 1, "float", "T", "", "scalarmath.Erf(x)"},
	{"Erfc", 1, "float", "T", "", "scalarmath.Erfc(x)"},
	{"Exp", 1, "float", "T", "", "scalarmath.Exp(x)"},
	{"Exp2", 1, "float", "T", "", "scalarmath.Exp2(x)"},
	{"Expm1", 1, "float", "T", "", "scalarmath.Expm1(x)"},
	{"Log", 1, "float", "T", "", "scalarmath.Log(x)"},
	{"Log10", 1, "float", "T", "", "scalarmath.Log10(x)"},
	{"Log1p", 1, "float", "T", "", "scalarmath.Log1p(x)"},
	{"Log2", 1, "float", "T", "", "scalarmath.Log2(x)"},
	{"Reciprocal", 1, "float", "T", "", "1 / x"},
	{"Rsqrt", 1, "float", "T", "", "rsqrtOf(x)"},
	{"Sigmoid", 1, "float", "T", "", "scalarmath.Sigmoid(x)"},
	{"Sin", 1, "float", "T", "", "scalarmath.Sin(x)"},
	{"Sinh", 1, "float", "T", "", "scalarmath.Sinh(x)"},
	{"Sqrt", 1, "float", "T", "", "T(math.Sqrt(float64(x)))"},
	{"Tan", 1, "float", "T", "", "scalarmath.Tan(x)"},
	{"Tanh", 1, "float", "T", "", "scalarmath.Tanh(x)"},
}

// Element types by their short names. F16 and BF16 run in Float.
const (
	floats = "f32 f64 f16 bf16"
	ints   = "i64 i32 i16 i8 u8"
	real   = floats + " " + ints
	all    = real + " bool"
	bools  = "bool"
	intsB  = ints + " bool"
)

// kernel is one kernel in each of the types, which runs run with $T the Go type.
type kernel struct {
	def, types, run string
}
