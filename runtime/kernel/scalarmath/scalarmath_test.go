package scalarmath

import (
	"bufio"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
)

// function is one function in both types; functions of one number leave out y.
type function struct {
	name   string
	double func(x, y float64) float64
	single func(x, y float32) float32
	// ulps bounds the error of double.
	ulps float64
}

func one(name string, ulps float64, f func(float64) float64, g func(float32) float32) function {
	return function{name, func(x, _ float64) float64 { return f(x) }, func(x, _ float32) float32 { return g(x) }, ulps}
}

var functions = []function{
	one("exp", 1, Exp[float64], Exp[float32]),
	one("exp2", 1, Exp2[float64], Exp2[float32]),
	one("expm1", 1, Expm1[float64], Expm1[float32]),
	one("log", 1, Log[float64], Log[float32]),
	one("log2", 1, Log2[float64], Log2[float32]),
	one("log10", 1, Log10[float64], Log10[float32]),
	one("log1p", 1, Log1p[float64], Log1p[float32]),
	one("sin", 1, Sin[float64], Sin[float32]),
	one("cos", 1, Cos[float64], Cos[float32]),
	one("tan", 1, Tan[float64], Tan[float32]),
	one("asin", 1, Asin[float64], Asin[float32]),
	one("acos", 1, Acos[float64], Acos[float32]),
	one("atan", 1, Atan[float64], Atan[float32]),
	one("sinh", 1, Sinh[float64], Sinh[float32]),
	one("cosh", 1, Cosh[float64], Cosh[float32]),
	one("tanh", 1, Tanh[float64], Tanh[float32]),
	one("asinh", 1, Asinh[float64], Asinh[float32]),
	one("acosh", 1, Acosh[float64], Acosh[float32]),
	one("atanh", 1, Atanh[float64], Atanh[float32]),
	one("erf", 2, Erf[float64], Erf[float32]),
	one("erfc", 2, Erfc[float64], Erfc[float32]),
	one("sigmoid", 1, Sigmoid[float64], Sigmoid[float32]),
	one("gelu", 2, Gelu[float64], Gelu[float32]),
	one("gelutanh", 2, GeluTanh[float64], GeluTanh[float32]),
	{"pow", Pow[float64], Pow[float32], 1},
	{"atan2", Atan2[float64], Atan2[float32], 1},
}

func find(t testing.TB, name string) function {
	for _, f := range functions {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("no function %s", name)
	return function{}
}

// point is a line of testdata/golden.txt: the value at (x, y) is hi+lo.
type point struct {
	name         string
	x, y, hi, lo float64
}

func golden(t *testing.T) []point {
	f, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var points []point
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		var v [4]float64
		for i := range v {
			u, err := strconv.ParseUint(fields[i+1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			v[i] = math.Float64frombits(u)
		}
		points = append(points, point{fields[0], v[0], v[1], v[2], v[3]})
	}
	return points
}

// ulp64 is the distance of neighbours of x.
func ulp64(x float64) float64 {
	x = math.Abs(x)
	return math.Max(math.Nextafter(x, math.Inf(1))-x, math.SmallestNonzeroFloat64)
}

func ulp32(x float64) float64 {
	f := float32(math.Abs(x))
	return float64(math.Nextafter32(f, float32(math.Inf(1)))) - float64(f)
}

func TestGolden(t *testing.T) {
	worst := map[string]float64{}
	for _, p := range golden(t) {
		f := find(t, p.name)
		got := f.double(p.x, p.y)
		if math.IsInf(p.hi, 0) || math.Abs(p.hi) < 0x1p-1022 {
			if got != p.hi && math.Abs(got-p.hi) > math.SmallestNonzeroFloat64 {
				t.Errorf("%s(%v, %v) = %v, want %v", p.name, p.x, p.y, got, p.hi)
			}
			continue
		}
		ulps := math.Abs((got-p.hi)-p.lo) / ulp64(p.hi)
		worst[p.name] = math.Max(worst[p.name], ulps)
		if !(ulps <= f.ulps) {
			t.Errorf("%s(%v, %v) = %v, want %v: %.2f ulp", p.name, p.x, p.y, got, p.hi, ulps)
		}
		checkSingle(t, f, p)
	}
	for name, ulps := range worst {
		t.Logf("%s: %.3f ulp", name, ulps)
	}
}

// checkSingle checks the float32 function where p's numbers are float32.
func checkSingle(t *testing.T, f function, p point) {
	x, y := float32(p.x), float32(p.y)
	if float64(x) == p.x && float64(y) == p.y {
		within32(t, f, x, y, p.hi)
	}
}

// within32 checks f(x, y) of float32 against want, which is exact enough.
func within32(t *testing.T, f function, x, y float32, want float64) {
	t.Helper()
	got := f.single(x, y)
	if math.IsInf(float64(float32(want)), 0) || want != want {
		if got != float32(want) && !(got != got && want != want) {
			t.Errorf("%s(%v, %v) = %v, want %v", f.name, x, y, got, want)
		}
		return
	}
	if ulps := math.Abs(float64(got)-want) / ulp32(want); !(ulps <= 0.51) {
		t.Errorf("%s32(%v, %v) = %v, want %v: %.3f ulp", f.name, x, y, got, want, ulps)
	}
}

// TestSingle compares float32 with float64 over all exponents.
func TestSingle(t *testing.T) {
	stride := uint64(40009)
	if testing.Short() {
		stride = 400009
	}
	for _, f := range functions {
		for u := uint64(0); u < 1<<32; u += stride {
			x := math.Float32frombits(uint32(u))
			y := math.Float32frombits(uint32(u*2654435761>>7)&^(3<<29) | 1<<29)
			within32(t, f, x, y, f.double(float64(x), float64(y)))
			if t.Failed() {
				break
			}
		}
	}
}

var (
	inf     = math.Inf(1)
	nan     = math.NaN()
	negZero = math.Copysign(0, -1)
)

// TestSpecial has the special values of C99, Annex F.
func TestSpecial(t *testing.T) {
	odd := func(name string, x, y float64) []point { return []point{{name, x, 0, y, 0}, {name, -x, 0, -y, 0}} }
	table := []point{
		{"exp", inf, 0, inf, 0}, {"exp", -inf, 0, 0, 0}, {"exp", 0, 0, 1, 0}, {"exp", 1e4, 0, inf, 0}, {"exp", -1e4, 0, 0, 0},
		{"exp2", inf, 0, inf, 0}, {"exp2", -inf, 0, 0, 0}, {"exp2", 3, 0, 8, 0}, {"exp2", -149, 0, 0x1p-149, 0},
		{"expm1", inf, 0, inf, 0}, {"expm1", -inf, 0, -1, 0},
		{"log", 0, 0, -inf, 0}, {"log", negZero, 0, -inf, 0}, {"log", 1, 0, 0, 0}, {"log", inf, 0, inf, 0}, {"log", -1, 0, nan, 0}, {"log", -inf, 0, nan, 0},
		{"log2", 8, 0, 3, 0}, {"log2", 0x1p-149, 0, -149, 0}, {"log10", 1000, 0, 3, 0}, {"log10", -2, 0, nan, 0},
		{"log1p", -1, 0, -inf, 0}, {"log1p", -2, 0, nan, 0}, {"log1p", inf, 0, inf, 0}, {"log1p", -inf, 0, nan, 0},
		{"sin", inf, 0, nan, 0}, {"cos", -inf, 0, nan, 0}, {"tan", inf, 0, nan, 0}, {"cos", 0, 0, 1, 0},
		{"asin", 2, 0, nan, 0}, {"acos", -2, 0, nan, 0}, {"acos", 1, 0, 0, 0}, {"acos", -1, 0, math.Pi, 0}, {"acos", 0, 0, math.Pi / 2, 0},
		{"cosh", inf, 0, inf, 0}, {"cosh", -inf, 0, inf, 0}, {"cosh", 0, 0, 1, 0},
		{"acosh", 1, 0, 0, 0}, {"acosh", 0.5, 0, nan, 0}, {"acosh", inf, 0, inf, 0}, {"acosh", -inf, 0, nan, 0}, {"atanh", 2, 0, nan, 0},
		{"erfc", inf, 0, 0, 0}, {"erfc", -inf, 0, 2, 0}, {"erfc", 0, 0, 1, 0},
		{"sigmoid", inf, 0, 1, 0}, {"sigmoid", -inf, 0, 0, 0}, {"sigmoid", 0, 0, 0.5, 0}, {"gelu", inf, 0, inf, 0}, {"gelu", -inf, 0, nan, 0}, {"gelutanh", inf, 0, inf, 0}, {"gelutanh", -inf, 0, nan, 0}, {"gelutanh", -100, 0, negZero, 0},
		{"gelu", 100, 0, 100, 0}, {"gelu", -100, 0, negZero, 0},

		{"pow", 2, 0, 1, 0}, {"pow", nan, 0, 1, 0}, {"pow", 1, nan, 1, 0}, {"pow", 2, nan, nan, 0}, {"pow", -1, inf, 1, 0}, {"pow", -1, -inf, 1, 0},
		{"pow", 0.5, -inf, inf, 0}, {"pow", 2, -inf, 0, 0}, {"pow", -0.5, inf, 0, 0}, {"pow", -2, inf, inf, 0},
		{"pow", negZero, -3, -inf, 0}, {"pow", negZero, -2, inf, 0}, {"pow", negZero, 3, negZero, 0}, {"pow", negZero, 0.5, 0, 0}, {"pow", 0, -1, inf, 0},
		{"pow", -inf, -3, negZero, 0}, {"pow", -inf, 3, -inf, 0}, {"pow", -inf, 2, inf, 0}, {"pow", -inf, 0.5, inf, 0}, {"pow", inf, -1, 0, 0},
		{"pow", -8, 1.0 / 3, nan, 0}, {"pow", -2, 3, -8, 0}, {"pow", -1, 3, -1, 0}, {"pow", 10, 400, inf, 0}, {"pow", 10, -400, 0, 0}, {"pow", -10, 401, -inf, 0},

		{"atan2", 0, 0, 0, 0}, {"atan2", 0, negZero, math.Pi, 0}, {"atan2", negZero, negZero, -math.Pi, 0}, {"atan2", negZero, 1, negZero, 0},
		{"atan2", 0, -1, math.Pi, 0}, {"atan2", 1, 0, math.Pi / 2, 0}, {"atan2", -1, negZero, -math.Pi / 2, 0}, {"atan2", 1, -inf, math.Pi, 0},
		{"atan2", -1, inf, negZero, 0}, {"atan2", inf, inf, math.Pi / 4, 0}, {"atan2", inf, -inf, 3 * math.Pi / 4, 0}, {"atan2", -inf, 2, -math.Pi / 2, 0},
		{"atan2", nan, 1, nan, 0}, {"atan2", 1, nan, nan, 0}, {"atan2", 0, nan, nan, 0},
	}
	for _, name := range []string{"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "expm1", "log1p"} {
		table = append(table, odd(name, 0, 0)...)
		table = append(table, odd(name, 0x1p-149, 0x1p-149*map[bool]float64{true: 1.1283791670955126, false: 1}[name == "erf"])...)
	}
	for name, limit := range map[string]float64{"atan": math.Pi / 2, "sinh": inf, "tanh": 1, "asinh": inf, "erf": 1} {
		table = append(table, odd(name, inf, limit)...)
	}
	table = append(table, odd("atanh", 1, inf)...)
	for _, f := range functions {
		if f.name != "pow" {
			table = append(table, point{f.name, nan, 0, nan, 0})
		}
	}
	for _, p := range table {
		f := find(t, p.name)
		wantSame(t, p, f.double(p.x, p.y), p.hi)
		if float64(float32(p.y)) == p.y || p.y != p.y {
			wantSame(t, p, float64(f.single(float32(p.x), float32(p.y))), float64(float32(p.hi)))
		}
	}
}

// wantSame wants got to have want's bits, or both to be NaN.
func wantSame(t *testing.T, p point, got, want float64) {
	t.Helper()
	if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
		t.Errorf("%s(%v, %v) = %v, want %v", p.name, p.x, p.y, got, want)
	}
}

// TestLargeAngle compares the reduction of large angles with big numbers.
func TestLargeAngle(t *testing.T) {
	halfPi := new(big.Float).SetPrec(1400)
	for i, w := 0, new(big.Float).SetPrec(1400); i < len(twoOverPi); i++ {
		w.SetUint64(twoOverPi[i])
		halfPi.Add(halfPi, w.SetMantExp(w, -64*(i+1)))
	}
	halfPi.Quo(big.NewFloat(1).SetPrec(1400), halfPi)
	rnd := rand.New(rand.NewSource(1))
	for range 500 {
		x := math.Ldexp(0.5+rnd.Float64()/2, 22+rnd.Intn(1002))
		q := new(big.Float).SetPrec(1400).SetFloat64(x)
		q.Quo(q, halfPi)
		whole, _ := new(big.Float).SetPrec(1400).Add(q, big.NewFloat(0.5)).Int(nil)
		rest := q.Sub(q, new(big.Float).SetPrec(1400).SetInt(whole))
		want, _ := rest.Mul(rest, halfPi).Float64()
		n, r := reduce(x)
		if quarter := int(whole.Bit(0) + whole.Bit(1)*2); n != quarter || math.Abs(r.value()-want) > ulp64(want) {
			t.Errorf("reduce(%v) = %d, %v, want %d, %v", x, n, r.value(), quarter, want)
		}
	}
}

// results is a hash of what f gives for numbers of all magnitudes, the special ones included.
func results(f function) uint64 {
	h, rnd := fnv.New64a(), rand.New(rand.NewSource(7))
	put := func(u uint64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(u >> (8 * i))
		}
		h.Write(b[:])
	}
	at := func(x, y float64) {
		put(math.Float64bits(f.double(x, y)))
		put(uint64(math.Float32bits(f.single(float32(x), float32(y)))))
	}
	for _, x := range []float64{0, negZero, 1, -1, inf, -inf, 5e-324, 1e-310, math.MaxFloat64, math.MaxFloat32, 0x1p-149} {
		at(x, 0.5)
		at(x, -3)
	}
	for range 4000 {
		at(math.Ldexp(rnd.Float64()-0.5, rnd.Intn(24)-12), float64(rnd.Float64()*32)-16)
		at(math.Ldexp(rnd.Float64()-0.5, rnd.Intn(2040)-1010), rnd.Float64())
	}
	return h.Sum64()
}

var update = flag.Bool("update", false, "write testdata/hashes.txt")

// TestSameBits wants the same results on every machine; .ci/run has it run for other architectures.
func TestSameBits(t *testing.T) {
	const name = "testdata/hashes.txt"
	var got strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&got, "%s %016x\n", f.name, results(f))
	}
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

var sink float32

func BenchmarkSingle(b *testing.B) {
	old := map[string]func(float64) float64{
		"exp": math.Exp, "expm1": math.Expm1, "exp2": math.Exp2, "log": math.Log, "log1p": math.Log1p, "log2": math.Log2, "log10": math.Log10,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh,
		"tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh, "erf": math.Erf, "erfc": math.Erfc,
	}
	xs := make([]float32, 1024)
	rnd := rand.New(rand.NewSource(1))
	for i := range xs {
		xs[i] = rnd.Float32() * 3
	}
	for _, f := range functions {
		b.Run(f.name+"/ours", func(b *testing.B) {
			for i := range b.N {
				sink = f.single(xs[i&1023], 1.5)
			}
		})
		b.Run(f.name+"/double", func(b *testing.B) {
			for i := range b.N {
				sink = float32(f.double(float64(xs[i&1023]), 1.5))
			}
		})
		if g := old[f.name]; g != nil {
			b.Run(f.name+"/math", func(b *testing.B) {
				for i := range b.N {
					sink = float32(g(float64(xs[i&1023])))
				}
			})
		}
	}
}
