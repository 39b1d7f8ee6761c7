package kernel

import (
	"math"
	"math/rand"
	"testing"
)

// TestDistances holds distances of every tier against sums that add one number after the other, of more numbers and blocks than one call
// takes, and beside what was there.
func TestDistances(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tier := range tiers() {
		block := DistancesBlock(tier)
		for _, n := range []int{block, 3 * block, (2*distanceBlocks + 1) * block} {
			for _, count := range []int{0, 1, 5, distanceNumbers, 2*distanceNumbers + 3} {
				for _, squares := range []bool{true, false} {
					y, x := guarded(r, count*n+1), make([]float64, count)
					for i := range x {
						x[i] = r.NormFloat64()
					}
					y[count*n/2] = float32(math.Inf(-1))
					out, intact := guardedOf(n, func(i int) float64 { return float64(i) })
					DistancesF32(tier, out, x, y, squares)
					if !intact() {
						t.Fatalf("%v: a value beside the output is changed", tier)
					}
					for j, got := range out {
						want := float64(j)
						for k, v := range x {
							if d := math.Abs(v - float64(y[k*n+j])); squares {
								want += d * d
							} else {
								want += d
							}
						}
						if got != want && !(math.Abs(got-want) <= 1e-12*want) {
							t.Fatalf("%v: column %d of %d, %d numbers, squares %v: got %v, want %v", tier, j, n, count, squares, got, want)
						}
					}
				}
			}
		}
	}
	if DistancesBlock(Scalar) != 0 {
		t.Error("scalar has distances")
	}
}
