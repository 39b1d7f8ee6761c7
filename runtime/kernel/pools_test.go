package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestPool holds means and largest elements of every tier against float64: channels around the lengths of blocks, gaps between
// positions and between results, and more positions than one call takes.
func TestPool(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		for _, channels := range []int{lanes, lanes + 1, 2*lanes - 1, 4 * lanes, 7 * lanes, 9*lanes + 3} {
			for _, c := range []struct{ count, positions int }{{1, 1}, {4, 3}, {9, 5}, {2, poolMost*lanes/(2*channels) + 3}} {
				for _, mean := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%d of %d positions by %d channels, mean %v", tier, c.count, c.positions, channels, mean), func(t *testing.T) {
						checkPool(t, tier, mean, [3]int{c.count, c.positions, channels})
					})
				}
			}
		}
		if HasPool(tier, 2, lanes-1) || HasPool(tier, poolMost, 2*lanes) {
			t.Errorf("%v has pools of too few channels or too many elements", tier)
		}
	}
	if HasPool(Scalar, 4, 64) {
		t.Error("scalar has pools")
	}
}

func checkPool(t *testing.T, tier Tier, mean bool, sizes [3]int) {
	count, positions, channels := sizes[0], sizes[1], sizes[2]
	if !HasPool(tier, count, channels) {
		t.Fatal("there is no kernel")
	}
	r := rand.New(rand.NewSource(1))
	step, next := channels+2, channels+1
	x, out := guarded(r, (positions+count)*step), guarded(r, positions*next)
	x[step/2], x[step] = float32(math.NaN()), float32(math.Inf(1))
	inputs := make([]*float32, count)
	for i := range inputs {
		inputs[i] = &x[i*step]
	}
	p := Pool{Inputs: &inputs[0], Count: uintptr(count), Out: &out[0], Step: uintptr(4 * step), Next: uintptr(4 * next), Positions: uintptr(positions), Scale: 1 / float32(count), Mean: mean}
	gap := out[channels]
	p.Run(tier, channels)
	if !intact(out) || out[channels] != gap {
		t.Fatal("a value beside the output is changed")
	}
	for i := range positions {
		for k := range channels {
			want, sum := math.Inf(-1), 0.0
			for j := range count {
				v := float64(x[(i+j)*step+k])
				want, sum = max(want, v), sum+v
			}
			if mean {
				want = sum / float64(count)
			}
			if got := float64(out[i*next+k]); got != want && !(got != got && want != want) && !(math.Abs(got-want) <= 1e-5) {
				t.Fatalf("position %d, channel %d: got %v, want %v", i, k, got, want)
			}
		}
	}
}
