package kernel

import (
	"math"
	"math/rand"
	"testing"
)

func TestWhere(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tier := range tiers() {
		for _, n := range []int{1, 4, 16, 33, 100, mapMost + 37} {
			for one := range 4 { // which operands have one element
				x, y, o := guarded(r, n), guarded(r, n), guarded(r, n)
				x[0], y[0] = float32(math.NaN()), float32(math.Inf(-1))
				if one&1 != 0 {
					x = x[:1]
				}
				if one&2 != 0 {
					y = y[:1]
				}
				cond := make([]uint8, n)
				for i := range cond {
					cond[i] = []uint8{0, 1, 255, 0, 128, 0, 2}[r.Intn(7)]
				}
				m := WhereF32(tier, o, cond, x, y)
				if n-m >= lanesOf(tier) || !intact(o) {
					t.Fatalf("%v: %d of %d are chosen, intact: %v", tier, m, n, intact(o))
				}
				for i, got := range o[:m] {
					want := y[i%len(y)]
					if cond[i] != 0 {
						want = x[i%len(x)]
					}
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("%v, %d elements, case %d: element %d of %d is %v, want %v", tier, n, one, i, cond[i], got, want)
					}
				}
			}
		}
		if m := WhereF32(Scalar, make([]float32, 64), make([]uint8, 64), make([]float32, 64), make([]float32, 64)); m != 0 {
			t.Errorf("the scalar tier chooses %d", m)
		}
	}
}
