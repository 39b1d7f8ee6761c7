package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapCase is a function with what it computes, and how far a result may be from that.
type mapCase struct {
	name  string
	run   func(t Tier, o, x, y []float32) bool
	want  func(x, y float64) float64
	bound func(x, want float64) float64
}

// roundedOnce are the functions that only machines with such an instruction have.
var roundedOnce = map[string]bool{"sin": true, "cos": true, "tan": true, "pow": true}

// ulps is a bound of n units in the last place.
func ulps(n float64) func(x, want float64) float64 {
	return func(_, want float64) float64 {
		_, exp := math.Frexp(want)
		return n * math.Ldexp(1, max(exp-24, -149))
	}
}

func scaled(eps float64) func(x, want float64) float64 {
	return func(x, _ float64) float64 { return eps * (1 + math.Abs(x)) }
}

func one(f func(t Tier, o, x []float32) bool) func(t Tier, o, x, y []float32) bool {
	return func(t Tier, o, x, _ []float32) bool { return f(t, o, x) }
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

var mapCases = []mapCase{
	{"add", AddF32, func(x, y float64) float64 { return float64(float32(x) + float32(y)) }, ulps(0)},
	{"sub", SubF32, func(x, y float64) float64 { return float64(float32(x) - float32(y)) }, ulps(0)},
	{"mul", MulF32, func(x, y float64) float64 { return float64(float32(x) * float32(y)) }, ulps(0)},
	{"div", DivF32, func(x, y float64) float64 { return float64(float32(x) / float32(y)) }, ulps(0)},
	{"clamp", one(func(t Tier, o, x []float32) bool { return ClampF32(t, o, x, [2]float32{-1, 6}) }),
		func(x, _ float64) float64 { return min(max(x, -1), 6) }, ulps(0)},
	{"exp", one(ExpF32), func(x, _ float64) float64 { return math.Exp(x) }, ulps(2)},
	{"sigmoid", one(SigmoidF32), func(x, _ float64) float64 { return sigmoid(x) }, func(x, want float64) float64 {
		if x < -87 {
			return want
		}
		return ulps(3)(x, want)
	}},
	{"silu", one(SiluF32), func(x, _ float64) float64 { return float64(float32(x) * float32(sigmoid(x))) }, func(x, want float64) float64 {
		if x < -87 {
			return math.Abs(want) + 1e-35 // sigmoid is 0
		}
		return ulps(4)(x, want)
	}},
	{"tanh", one(TanhF32), func(x, _ float64) float64 { return math.Tanh(x) }, ulps(6)},
	{"erf", one(ErfF32), func(x, _ float64) float64 { return math.Erf(x) }, func(_, want float64) float64 { return max(1e-6*math.Abs(want), math.SmallestNonzeroFloat32) }},
	{"gelu", one(GeluF32), func(x, _ float64) float64 { return 0.5 * x * (1 + math.Erf(x*math.Sqrt2/2)) }, scaled(3e-7)},
	{"gelu tanh", one(GeluTanhF32), func(x, _ float64) float64 {
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}, scaled(5e-7)},
	{"abs", one(AbsF32), func(x, _ float64) float64 { return math.Abs(x) }, ulps(0)},
	{"neg", one(NegF32), func(x, _ float64) float64 { return -x }, ulps(0)},
	{"sign", one(SignF32), func(x, _ float64) float64 {
		if x == 0 || x != x {
			return 0
		}
		return math.Copysign(1, x)
	}, ulps(0)},
	{"floor", one(FloorF32), func(x, _ float64) float64 { return math.Floor(x) }, ulps(0)},
	{"ceil", one(CeilF32), func(x, _ float64) float64 { return math.Ceil(x) }, ulps(0)},
	{"trunc", one(TruncF32), func(x, _ float64) float64 { return math.Trunc(x) }, ulps(0)},
	{"round", one(RoundF32), func(x, _ float64) float64 { return math.RoundToEven(x) }, ulps(0)},
	{"sqrt", one(SqrtF32), func(x, _ float64) float64 { return math.Sqrt(x) }, ulps(0.5)},
	{"rsqrt", one(RsqrtF32), func(x, _ float64) float64 { return 1 / math.Sqrt(x) }, ulps(2)},
	{"reciprocal", one(ReciprocalF32), func(x, _ float64) float64 { return 1 / x }, ulps(0.5)},
	{"max", MaxF32, func(x, y float64) float64 { return max(x, y) }, ulps(0)},
	{"min", MinF32, func(x, y float64) float64 { return min(x, y) }, ulps(0)},
	{"add scaled", func(t Tier, o, x, y []float32) bool { return AddScaledF32(t, o, x, y, [2]float32{3}) },
		func(x, y float64) float64 { return float64(float32(x) + float32(float32(y)*3)) }, ulps(0)},
	{"leaky relu", one(func(t Tier, o, x []float32) bool { return LeakyReluF32(t, o, x, [2]float32{0.25}) }),
		func(x, _ float64) float64 { return max(x, x/4) }, ulps(0.5)},
	{"prelu", PReluF32, func(x, y float64) float64 {
		if x > 0 {
			return x
		}
		return float64(float32(x) * float32(y))
	}, ulps(0)},
	{"hardswish", one(HardswishF32), func(x, _ float64) float64 {
		return float64(float32(x) * min(max(float32(x)+3, 0), 6) * float32(1.0/6))
	}, ulps(2)},
	{"log", one(LogF32), func(x, _ float64) float64 { return math.Log(x) }, ulps(2)},
	{"log2", one(Log2F32), func(x, _ float64) float64 { return math.Log2(x) }, ulps(3)},
	{"log10", one(Log10F32), func(x, _ float64) float64 { return math.Log10(x) }, ulps(3)},
	{"log1p", one(Log1pF32), func(x, _ float64) float64 { return math.Log1p(x) }, ulps(3)},
	{"expm1", one(Expm1F32), func(x, _ float64) float64 { return math.Expm1(x) }, ulps(3)},
	{"elu", one(func(t Tier, o, x []float32) bool { return EluF32(t, o, x, [2]float32{1.5, 3}) }), func(x, _ float64) float64 {
		if x > 0 {
			return 3 * x
		}
		return 1.5 * math.Expm1(x)
	}, ulps(4)},
	{"sin", turned(SinF32), func(x, _ float64) float64 { return math.Sin(turn(x)) }, ulps(2)},
	{"cos", turned(CosF32), func(x, _ float64) float64 { return math.Cos(turn(x)) }, ulps(2)},
	{"tan", turned(TanF32), func(x, _ float64) float64 { return math.Tan(turn(x)) }, ulps(4)},
	{"asin", one(AsinF32), func(x, _ float64) float64 { return math.Asin(x) }, ulps(3)},
	{"acos", one(AcosF32), func(x, _ float64) float64 { return math.Acos(x) }, ulps(3)},
	{"atan", one(AtanF32), func(x, _ float64) float64 { return math.Atan(x) }, ulps(3)},
	{"pow to 1.7", one(func(t Tier, o, x []float32) bool {
		ok := AbsF32(t, o, x) && ClampF32(t, o, o, powBounds)
		for i, v := range o {
			if v != v {
				o[i] = 1
			}
		}
		return ok && PowPositiveF32(t, o, o, []float32{1.7})
	}), func(x, _ float64) float64 { return math.Pow(powBase(x), float64(float32(1.7))) }, ulps(4)},
	{"pow of 2", one(func(t Tier, o, x []float32) bool {
		return ClampF32(t, o, x, [2]float32{-65536, 65536}) && PowPositiveF32(t, o, []float32{2}, o)
	}), func(x, _ float64) float64 { return math.Pow(2, min(max(x, -65536), 65536)) }, ulps(4)},
	{"pow of 1.07", one(func(t Tier, o, x []float32) bool {
		return ClampF32(t, o, x, [2]float32{-65536, 65536}) && PowPositiveF32(t, o, []float32{1.07}, o)
	}), func(x, _ float64) float64 { return math.Pow(float64(float32(1.07)), min(max(x, -65536), 65536)) }, ulps(4)},
}

var powBounds = [2]float32{1e-30, 1e30}

func powBase(x float64) float64 {
	if x != x {
		return 1
	}
	return min(max(math.Abs(x), float64(powBounds[0])), float64(powBounds[1]))
}

// turned is f of numbers that are brought into its range.
func turned(f func(t Tier, o, x []float32) bool) func(t Tier, o, x, y []float32) bool {
	return one(func(t Tier, o, x []float32) bool {
		return ClampF32(t, o, x, [2]float32{-TurnsF32, TurnsF32}) && f(t, o, o)
	})
}

func turn(x float64) float64 { return min(max(x, -TurnsF32), TurnsF32) }

// mapInputs are numbers of every size, close ones and special ones.
func mapInputs(r *rand.Rand, n int) []float32 {
	x := guarded(r, n)
	for i := range x {
		switch i % 5 {
		case 0:
			x[i] *= 10
		case 1:
			x[i] *= 100
		case 2:
			x[i] *= float32(math.Ldexp(1, r.Intn(60)-50))
		}
	}
	for i, s := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-45, -1e-40, 88.7, -103.9, -87.5, 3e38} {
		if i < n {
			x[(i*7+3)%n] = float32(s)
		}
	}
	return x
}

// TestMaps holds every function in every tier against float64, at lengths around the vectors' and in place.
func TestMaps(t *testing.T) {
	for _, tier := range tiers() {
		for i := range mapCases {
			for _, n := range []int{16, 17, 31, 64, 65, 1000, mapMost + 77} {
				t.Run(fmt.Sprintf("%v/%s/%d", tier, mapCases[i].name, n), func(t *testing.T) {
					r := rand.New(rand.NewSource(int64(n)))
					x, y := mapInputs(r, n), mapInputs(r, n)
					mapCases[i].check(t, tier, guarded(r, n), x, y)
					mapCases[i].check(t, tier, guarded(r, n), x, y[:1])
					if i < 4 {
						mapCases[i].check(t, tier, guarded(r, n), x[:1], y)
					}
					mapCases[i].check(t, tier, x, x, y)
				})
			}
		}
	}
}

func (c *mapCase) check(t *testing.T, tier Tier, o, x, y []float32) {
	t.Helper()
	want := make([]float64, len(o))
	for i := range o {
		want[i] = c.want(float64(x[i%len(x)]), float64(y[i%len(y)]))
	}
	in := append([]float32(nil), x...)
	if !c.run(tier, o, x, y) {
		if tier == WASM && roundedOnce[strings.Fields(c.name)[0]] {
			t.Skip("WebAssembly has no products and sums that are rounded once")
		}
		t.Fatal("no kernel")
	}
	if !intact(o) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range o {
		w := want[i]
		if r := float64(float32(w)); math.IsInf(r, 0) || r == 0 {
			w = r
		}
		a := float64(in[i%len(in)])
		if g := float64(got); g != w && !(g != g && w != w) && !(math.Abs(g-w) <= c.bound(a, w)) {
			t.Fatalf("element %d: f(%v) = %v, want %v", i, a, got, w)
		}
	}
}

// TestSweep says how far the functions of one number that PTE_SWEEP matches are from float64, over float32 of all sizes.
func TestSweep(t *testing.T) {
	match := os.Getenv("PTE_SWEEP")
	if match == "" {
		t.Skip("PTE_SWEEP=NAME sweeps a function")
	}
	named := regexp.MustCompile("^(" + match + ")$")
	if !slices.ContainsFunc(mapCases, func(c mapCase) bool { return named.MatchString(c.name) }) {
		t.Fatalf("mapCases has no function named %s", match)
	}
	for _, tier := range tiers() {
		for i := range mapCases {
			if c := &mapCases[i]; named.MatchString(c.name) {
				if worst, at := c.sweep(t, tier); worst > 0 {
					t.Logf("%v: %s: within %.3f ulp, the worst at %v", tier, c.name, worst, at)
				}
			}
		}
	}
}

// sweep is the largest error, in units in the last place, and where it is.
func (c *mapCase) sweep(t *testing.T, tier Tier) (worst float64, at float32) {
	const lines, step = 8 << 10, 1021 // 1021 is prime
	x, o := make([]float32, 512), make([]float32, 512)
	for n := range uint32(lines) {
		for i := range x {
			x[i] = math.Float32frombits((n*uint32(len(x)) + uint32(i)) * step)
		}
		if !c.run(tier, o, x, x) {
			t.Logf("%v: %s has no kernel", tier, c.name)
			return 0, 0
		}
		for i, v := range x {
			want, got := c.want(float64(v), float64(v)), float64(o[i])
			if r := float64(float32(want)); math.IsInf(r, 0) || r == 0 {
				want = r
			}
			if (want != want) != (got != got) || math.IsInf(want, 0) != math.IsInf(got, 0) {
				t.Errorf("%v: %s(%v) = %v, want %v", tier, c.name, v, got, want)
			} else if d := math.Abs(got-want) / ulps(1)(0, want); d > worst {
				worst, at = d, v
			}
		}
	}
	return worst, at
}

func TestMapsAllocateNothing(t *testing.T) {
	x, o := make([]float32, 99), make([]float32, 99)
	for _, tier := range tiers() {
		for i := range mapCases {
			if n := testing.AllocsPerRun(10, func() { mapCases[i].run(tier, o, x, x[:1]) }); n != 0 {
				t.Errorf("%v: %s: %v allocations", tier, mapCases[i].name, n)
			}
		}
	}
}

func BenchmarkMaps(b *testing.B) {
	x, o := make([]float32, 4096), make([]float32, 4096)
	for _, tier := range tiers() {
		for i := range mapCases {
			b.Run(fmt.Sprintf("%v/%s", tier, mapCases[i].name), func(b *testing.B) {
				for b.Loop() {
					mapCases[i].run(tier, o, x, x)
				}
				b.ReportMetric(float64(len(o))*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelements/s")
			})
		}
	}
}
