package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

var rowLengths = []int{8, 15, 16, 17, 31, 33, 64, 65, 197, 300, 3*mapMost + 5}

// TestRowsF32 holds folds and affine functions of rows against float64.
func TestRowsF32(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range rowLengths {
			t.Run(fmt.Sprintf("%v/%d", tier, n), func(t *testing.T) {
				r := rand.New(rand.NewSource(int64(n)))
				x := guarded(r, n)
				checkFolds(t, tier, x)
				checkExpRow(t, tier, x)
				for _, a := range [][]float32{nil, guarded(r, n)} {
					for _, b := range [][]float32{nil, guarded(r, n)} {
						checkAffine(t, tier, guarded(r, n), a, b)
					}
				}
			})
		}
	}
}

func near(t *testing.T, what string, got float32, want, bound float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= bound) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func checkFolds(t *testing.T, tier Tier, x []float32) {
	top, bottom, sum, squares := math.Inf(-1), math.Inf(1), 0.0, 0.0
	for _, v := range x {
		top, bottom = max(top, float64(v)), min(bottom, float64(v))
		sum += float64(v)
		squares += (float64(v) - 0.25) * (float64(v) - 0.25)
	}
	most, _ := MaxRowF32(tier, x)
	near(t, "max", most, top, 0)
	least, _ := MinRowF32(tier, x)
	near(t, "min", least, bottom, 0)
	total, _ := SumRowF32(tier, x)
	near(t, "sum", total, sum, 1e-6*float64(len(x)))
	total, _ = SquaresRowF32(tier, x, 0.25)
	near(t, "squares", total, squares, 1e-6*squares)
}

func checkExpRow(t *testing.T, tier Tier, x []float32) {
	o := guarded(rand.New(rand.NewSource(1)), len(x))
	sum, want := 0.0, 0.0
	got, _ := ExpRowF32(tier, o, x, 1.5)
	for i, v := range x {
		e := math.Exp(float64(v - 1.5))
		near(t, "exp", o[i], e, 3e-7*e)
		sum, want = sum+float64(o[i]), want+e
	}
	near(t, "sum of exp", got, sum, 1e-6*sum)
	if !intact(o) {
		t.Fatal("a value beside the output is changed")
	}
}

func checkAffine(t *testing.T, tier Tier, x, a, b []float32) {
	o := guarded(rand.New(rand.NewSource(1)), len(x))
	if !AffineRowF32(tier, o, x, a, b, 0.5, 3) {
		t.Fatal("there is no kernel")
	}
	for i, v := range x {
		want := (float64(v) - 0.5) * 3
		if a != nil {
			want *= float64(a[i])
		}
		if b != nil {
			want += float64(b[i])
		}
		near(t, "affine", o[i], want, 1e-5*(1+math.Abs(want)))
	}
	if !intact(o) {
		t.Fatal("a value beside the output is changed")
	}
}

// TestRowsF32Special shows that NaN reaches a sum, that infinities do as in float64, and that short rows are left alone.
func TestRowsF32Special(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tier := range tiers() {
		for at := range 21 {
			x := make([]float32, 21)
			x[at] = nan
			if s, _ := SumRowF32(tier, x); s == s {
				t.Errorf("%v: NaN at %d: sum %v", tier, at, s)
			}
			if s, _ := ExpRowF32(tier, x, x, 0); s == s {
				t.Errorf("%v: NaN at %d: sum of exp %v", tier, at, s)
			}
			x = make([]float32, 21)
			x[at] = inf
			if m, _ := MaxRowF32(tier, x); m != inf {
				t.Errorf("%v: infinity at %d: max %v", tier, at, m)
			}
			x[at] = -inf
			if m, _ := MinRowF32(tier, x); m != -inf {
				t.Errorf("%v: -infinity at %d: min %v", tier, at, m)
			}
			x[at] = inf
			if s, _ := ExpRowF32(tier, x, x, 0); s != inf {
				t.Errorf("%v: infinity at %d: sum of exp %v", tier, at, s)
			}
		}
		if _, ok := SumRowF32(tier, make([]float32, rowLeast-1)); ok {
			t.Errorf("%v: takes a short row", tier)
		}
	}
}

// TestExpRowF32Special holds exp of rows against float64 near the least numbers where it is not 0, and the largest where it is finite.
func TestExpRowF32Special(t *testing.T) {
	numbers := []float32{0, -1e-45, -1e-8, -22.9, -23.1, -30, -80, -86.9, -86.98, 88, 88.7, -87.1, -87.3, -88, -104, -1e30, -math.MaxFloat32, float32(math.Inf(-1))}
	for _, tier := range tiers() {
		for at := range numbers { // each number in a vector, and in what is less than one
			x := append(numbers[at:len(numbers):len(numbers)], numbers[:at]...)
			x = append(x, x[:3]...)
			o := make([]float32, len(x))
			ExpRowF32(tier, o, x, 0)
			for i, v := range x {
				want := math.Exp(float64(v))
				if v < -87 {
					want = 0
				}
				if got := float64(o[i]); !(math.Abs(got-want) <= 3e-7*want) || math.Signbit(got) {
					t.Errorf("%v: exp(%v) = %v, want %v", tier, v, got, want)
				}
			}
		}
	}
}
