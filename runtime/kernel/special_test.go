package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"
)

// factors are kernels of float32 as functions of a line that multiply it by a number. run reports whether the tier has the
// kernel, and takes a line of this length.
var factors = []struct {
	name string
	by   float64
	run  func(t Tier, o, x []float32) bool
}{
	{"tile", 1.5, func(t Tier, o, x []float32) bool { g := GemmF32(t); return panels(g.Cols, g.Run, o, x) }},
	{"narrow tile", 1.5, func(t Tier, o, x []float32) bool { g := GemmF32(t); return panels(g.Narrow, g.RunNarrow, o, x) }},
	{"taps", 1.5, func(t Tier, o, x []float32) bool { return sumTwice(t, o, x, []float32{0.5, 1}, (*TapsF32).Line) }},
	{"taps each", 1.5, func(t Tier, o, x []float32) bool {
		return sumTwice(t, o, x, weightsOf(2*len(x), 0.75), (*TapsF32).Each)
	}},
	{"window 3", 9, func(t Tier, o, x []float32) bool { return window(t, 3, o, x) }},
	{"window 5", 25, func(t Tier, o, x []float32) bool { return window(t, 5, o, x) }},
	{"window 7", 49, func(t Tier, o, x []float32) bool { return window(t, 7, o, x) }},
	{"window 9", 81, func(t Tier, o, x []float32) bool { return window(t, 9, o, x) }},
	{"window 11", 121, func(t Tier, o, x []float32) bool { return window(t, 11, o, x) }},
	{"affine", 1.5, func(t Tier, o, x []float32) bool { return AffineRowF32(t, o, x, nil, nil, 0, 1.5) }},
	{"affine of lines", 1.5, func(t Tier, o, x []float32) bool {
		return AffineRowF32(t, o, x, weightsOf(len(x), 1.5), weightsOf(len(x), 0), 0, 1)
	}},
	{"largest", 1, func(t Tier, o, x []float32) bool {
		line, place := &x[0], float32(0)
		return (&Largest{Inputs: &line, Places: &place, Count: 1, Out: &o[0], Where: &make([]float32, len(x))[0]}).Run(t, len(x))
	}},
}

// panels multiplies panels of x by 1.5; the last one overlaps the one before.
func panels(cols int, run func(*Tile, int), o, x []float32) bool {
	left, start := float32(1.5), make([]float32, cols)
	for at := 0; at < len(x) && len(x) >= cols; at += cols {
		at = min(at, len(x)-cols)
		run(&Tile{Left: &left, Panel: &x[at], Out: &o[at], Depth: 1, Segments: 1, Start: &start[0], Low: Unclamped[0], High: Unclamped[1]}, 1)
	}
	return len(x) >= cols
}

// sumTwice adds x to itself, with weights.
func sumTwice(t Tier, o, x, weights []float32, run func(*TapsF32, *Taps, int)) bool {
	f := TapsKernels(t)
	if len(x) < f.Lanes {
		return false
	}
	lines, start := []*float32{&x[0], &x[0]}, make([]float32, len(x))
	step := uintptr(len(weights)/2) * unsafe.Sizeof(weights[0])
	run(f, &Taps{Inputs: &lines[0], Weights: &weights[0], Step: step, Count: 2, Out: &o[0], Start: &start[0], Low: Unclamped[0], High: Unclamped[1]}, len(x))
	return true
}

// window adds x to itself for each tap.
func window(t Tier, size int, o, x []float32) bool {
	if !HasWindow(t, size, len(x)) {
		return false
	}
	weights, start := weightsOf(size*size*len(x), 1), make([]float32, len(x))
	w := &Window{Copy: &make([]float32, (WindowMost*WindowMost+1)*maxLanes)[0], Weights: &weights[0], Start: &start[0], Out: &o[0], Count: 1, Tap: uintptr(len(x)) * unsafe.Sizeof(x[0]), Low: Unclamped[0], High: Unclamped[1]}
	for i := range size {
		w.Rows[i] = &x[0]
	}
	w.Run(t, size, len(x))
	return true
}

// weightsOf is n times w.
func weightsOf(n int, w float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = w
	}
	return s
}

// specials are the numbers that arithmetic treats in other ways than most.
var specials = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32,
	-0x1p-127, 0x1p-126, math.MaxFloat32, -math.MaxFloat32, 1}

// TestSpecials holds the kernels of factors in every tier at odd places, with tails of every length, between guards, on NaN,
// infinities, denormals and the largest numbers.
func TestSpecials(t *testing.T) {
	for _, tier := range tiers() {
		for _, c := range factors {
			for n := 1; n < 2*MaxCols+3; n++ {
				t.Run(fmt.Sprintf("%v/%s/%d", tier, c.name, n), func(t *testing.T) {
					r := rand.New(rand.NewSource(int64(n)))
					x, o := guarded(r, n), guarded(r, n)
					for i := range x {
						x[i] = specials[r.Intn(len(specials))]
					}
					if !c.run(tier, o, x) {
						t.Skip("no kernel, or none for so few elements")
					}
					if !intact(x) || !intact(o) {
						t.Fatal("a value beside an operand is changed")
					}
					for i, got := range o {
						checkFactor(t, x[i], got, float64(x[i])*c.by)
					}
				})
			}
		}
	}
}

// checkFactor holds a result against what it is in float64, within rounding.
func checkFactor(t *testing.T, x, got float32, want float64) {
	t.Helper()
	if w := float32(want); math.IsInf(float64(w), 0) {
		want = float64(w)
	}
	g := float64(got)
	if g != want && !(g != g && want != want) && !(math.Abs(g-want) <= 1e-6*math.Abs(want)+25*math.SmallestNonzeroFloat32) {
		t.Fatalf("%v: got %v, want %v", x, got, want)
	}
}
