package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestLargest holds the kernels against the definition, with equal numbers, NaN and infinities.
func TestLargest(t *testing.T) {
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, 1, 1}
	for _, tier := range tiers() {
		for _, n := range []int{1, 4, 7, 8, 15, 16, 17, 31, 32, 33, 100, 1000} {
			for _, count := range []int{1, 2, 9} {
				t.Run(fmt.Sprintf("%v/%dx%d", tier, count, n), func(t *testing.T) {
					r := rand.New(rand.NewSource(int64(n + count)))
					lines, inputs, places := make([][]float32, count), make([]*float32, count), make([]float32, count)
					for k := range lines {
						lines[k] = guarded(r, n)
						for i := range lines[k] {
							if r.Intn(2) == 0 {
								lines[k][i] = special[r.Intn(len(special))]
							}
						}
						inputs[k], places[k] = &lines[k][0], float32(3*k+1)
					}
					checkLargest(t, tier, lines, &Largest{Inputs: &inputs[0], Places: &places[0], Count: uintptr(count)}, places)
				})
			}
		}
	}
}

func checkLargest(t *testing.T, tier Tier, lines [][]float32, l *Largest, places []float32) {
	n := len(lines[0])
	r := rand.New(rand.NewSource(1))
	out, where := guarded(r, n), guarded(r, n)
	l.Out, l.Where = &out[0], &where[0]
	if !l.Run(tier, n) {
		if n >= lanesOf(tier) {
			t.Fatal("not computed")
		}
		return
	}
	if !intact(out) || !intact(where) {
		t.Fatal("a value beside the results is changed")
	}
	for i := range n {
		best, place := lines[0][i], places[0]
		for k := range lines {
			if v := lines[k][i]; v > best || v != v {
				best, place = v, places[k]
			}
		}
		if math.Float32bits(out[i]) != math.Float32bits(best) || where[i] != place {
			t.Fatalf("element %d: got %v in %v, want %v in %v", i, out[i], where[i], best, place)
		}
	}
}
