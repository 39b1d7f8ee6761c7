package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Copysign is aten::copysign.out.
var Copysign = Def{
	Schema:     "aten::copysign.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::copysign.Tensor", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
}

// Hypot is aten::hypot.out, without overflow in between.
var Hypot = Def{
	Schema:     "aten::hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::hypot", Infer: inferBinary, Key: KeyPromote, Tags: Pointwise | Extension,
}

// Nextafter is aten::nextafter.out.
var Nextafter = Def{
	Schema:     "aten::nextafter.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::nextafter", Infer: inferBinary, Key: KeyPromote, Tags: Pointwise | Extension,
}

// Gcd is aten::gcd.out: the greatest common divisor, never negative.
var Gcd = Def{
	Schema:     "aten::gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::gcd", Infer: inferBinary, Key: KeyPromote, Tags: Pointwise | Extension,
}

// Lcm is aten::lcm.out: the least common multiple, never negative.
var Lcm = Def{
	Schema:     "aten::lcm.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::lcm", Infer: inferBinary, Key: KeyPromote, Tags: Pointwise | Extension,
}

// Signbit is aten::signbit.out; -0.0 has a sign.
var Signbit = Def{
	Schema:     "aten::signbit.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::signbit", Infer: inferLikeBool, Tags: Pointwise | Extension,
}

func gcdOf[T integer](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return absOf(a)
}

func lcmOf[T integer](a, b T) T {
	g := gcdOf(a, b)
	if g == 0 {
		return 0
	}
	return absOf(a / g * b)
}

// nextafter is the number of T next to x in the direction of y.
func nextafter[T float](x, y T) T {
	if T(1)+T(0x1p-40) != T(1) {
		return T(math.Nextafter(float64(x), float64(y)))
	}
	return T(math.Nextafter32(float32(x), float32(y)))
}

// nextHalf is nextafter of float16 numbers, which are computed with as T.
func nextHalf[T float](x, y T) T {
	if x == y || x != x || y != y {
		return equalOrNaN(x, y)
	}
	return T(tensor.HalfToFloat32(next16(x, y, tensor.Float32ToHalf(float32(x)))))
}

// nextBFloat16 is nextafter of bfloat16 numbers, which are computed with as T.
func nextBFloat16[T float](x, y T) T {
	if x == y || x != x || y != y {
		return equalOrNaN(x, y)
	}
	return T(tensor.BFloat16ToFloat32(next16(x, y, tensor.Float32ToBFloat16(float32(x)))))
}

// equalOrNaN is y where x equals it, else NaN.
func equalOrNaN[T float](x, y T) T {
	if x == y {
		return y
	}
	return x + y
}

// next16 has the bits of the number next to x in the direction of y, where bits are those of x and x is not y.
func next16[T float](x, y T, bits uint16) uint16 {
	switch {
	case x == 0 && y > 0:
		return 1
	case x == 0:
		return 0x8001
	case (y > x) == (x > 0):
		return bits + 1
	}
	return bits - 1
}

// hypot is √(x² + y²) without overflow in between; an infinity beats NaN.
func hypot(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	lo, hi := min(x, y), max(x, y)
	switch {
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Inf(1)
	case hi == 0 || hi != hi:
		return hi
	}
	r := lo / hi
	return hi * math.Sqrt(1+float64(r*r))
}
