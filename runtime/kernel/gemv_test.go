package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestGemv holds products of matrices, some of whose rows lie apart, and vectors against float64.
func TestGemv(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tier := range tiers() {
		g := GemvF32(tier)
		for _, rows := range []int{0, 1, 7, 8, 9, 16, 23, 1500} {
			for _, vectors := range []int{1, 2, 4, 5, 11, 16, 19} {
				width := vectors * g.Lanes
				stride := width + rows%3
				name := fmt.Sprintf("%v, %d x %d", tier, rows, width)
				a := guarded(r, rows*stride)

				x, o := guarded(r, width), guarded(r, rows)
				g.Rows(o, a, stride, x)
				want, size := make([]float64, rows), make([]float64, rows)
				for i := range rows {
					for k := range width {
						p := float64(a[i*stride+k]) * float64(x[k])
						want[i], size[i] = want[i]+p, size[i]+math.Abs(p)
					}
				}
				checkGemv(t, name+" times a vector", o, want, size, width)

				x, o = guarded(r, rows), guarded(r, width)
				want, size = make([]float64, width), make([]float64, width)
				for j := range width {
					want[j], size[j] = float64(o[j]), math.Abs(float64(o[j]))
					for i := range rows {
						p := float64(a[i*stride+j]) * float64(x[i])
						want[j], size[j] = want[j]+p, size[j]+math.Abs(p)
					}
				}
				g.Columns(o, a, stride, x)
				checkGemv(t, "a vector times "+name, o, want, size, rows+1)
			}
		}
	}
}

// checkGemv holds o against sums of so many products, and of their absolute values.
func checkGemv(t *testing.T, name string, o []float32, want, size []float64, products int) {
	t.Helper()
	if len(o) > 0 && !intact(o) {
		t.Fatalf("%s: writes around its results", name)
	}
	for i, got := range o {
		if bound := float64(products) * 0x1p-24 * size[i]; math.Abs(float64(got)-want[i]) > bound {
			t.Fatalf("%s: result %d is %v, want %v within %v", name, i, got, want[i], bound)
		}
	}
}

// TestGemvSpecial has elements that are infinite and NaN reach the results of their rows and columns, and no others.
func TestGemvSpecial(t *testing.T) {
	for _, tier := range tiers() {
		g := GemvF32(tier)
		const rows, width = 21, 96
		a, x := make([]float32, rows*width), make([]float32, width)
		for i := range x {
			x[i] = 1
		}
		a[3*width+5], a[20*width+90] = float32(math.Inf(1)), float32(math.NaN())
		byRows, byColumns := make([]float32, rows), make([]float32, width)
		g.Rows(byRows, a, width, x)
		g.Columns(byColumns, a, width, x[:rows])
		for i, got := range byRows {
			if nan := got != got; nan != (i == 20) || math.IsInf(float64(got), 1) != (i == 3) || i != 3 && !nan && got != 0 {
				t.Errorf("%v: row %d is %v", tier, i, got)
			}
		}
		for j, got := range byColumns {
			if nan := got != got; nan != (j == 90) || math.IsInf(float64(got), 1) != (j == 5) || j != 5 && !nan && got != 0 {
				t.Errorf("%v: column %d is %v", tier, j, got)
			}
		}
	}
}
