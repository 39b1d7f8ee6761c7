package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"
)

// TestPool holds means and largest elements of every tier against float64: channels around the lengths of blocks, gaps between
// positions and between results, and more positions than one call takes.
func TestPool(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		for _, channels := range []int{lanes, lanes + 1, 2*lanes - 1, 4 * lanes, 7 * lanes, 9*lanes + 3} {
			for _, c := range []struct{ count, positions int }{{1, 1}, {4, 3}, {9, 5}, {2, poolMost*lanes/(2*channels) + 3}} {
				t.Run(fmt.Sprintf("%v/%d of %d positions by %d channels", tier, c.count, c.positions, channels), func(t *testing.T) {
					checkPool(t, tier, PoolMean, [3]int{c.count, c.positions, channels})
					checkPool(t, tier, PoolLargest, [3]int{c.count, c.positions, channels})
					checkPoolS8(t, tier, [3]int{c.count, c.positions, 4 * channels})
					checkPoolS8(t, tier, [3]int{c.count, c.positions, 4*channels + 3})
				})
			}
		}
		if PoolMean.Has(tier, 2, lanes-1) || PoolMean.Has(tier, poolMost, 2*lanes) || PoolLargestS8.Has(tier, 2, 4*lanes-1) {
			t.Errorf("%v has pools of too few channels or too many elements", tier)
		}
	}
	if PoolMean.Has(Scalar, 4, 64) {
		t.Error("scalar has pools")
	}
}

func checkPool(t *testing.T, tier Tier, kind PoolKind, sizes [3]int) {
	count, positions, channels := sizes[0], sizes[1], sizes[2]
	if !kind.Has(tier, count, channels) {
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
	p := Pool{Inputs: &inputs[0], Count: uintptr(count), Out: &out[0], Step: uintptr(4 * step), Next: uintptr(4 * next), Positions: uintptr(positions), Scale: 1 / float32(count), Kind: kind}
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
			if kind == PoolMean {
				want = sum / float64(count)
			}
			if got := float64(out[i*next+k]); got != want && !(got != got && want != want) && !(math.Abs(got-want) <= 1e-5) {
				t.Fatalf("position %d, channel %d: got %v, want %v", i, k, got, want)
			}
		}
	}
}

// checkPoolS8 holds the largest of int8 against a loop.
func checkPoolS8(t *testing.T, tier Tier, sizes [3]int) {
	count, positions, channels := sizes[0], sizes[1], sizes[2]
	if !PoolLargestS8.Has(tier, count, channels) {
		t.Fatal("there is no kernel")
	}
	step, next := channels+2, channels+1
	x, _ := guardedOf(positions*step+count*step, func(i int) int8 { return int8(i * 89 % 251) })
	out, whole := guardedOf(positions*next, func(int) int8 { return guard8 })
	inputs := make([]*int8, count)
	for i := range inputs {
		inputs[i] = &x[i*step]
	}
	p := Pool{Inputs: (**float32)(unsafe.Pointer(&inputs[0])), Count: uintptr(count), Out: (*float32)(unsafe.Pointer(&out[0])),
		Step: uintptr(step), Next: uintptr(next), Positions: uintptr(positions), Kind: PoolLargestS8}
	if p.Run(tier, channels); !whole() {
		t.Fatal("a value beside the output is changed")
	}
	for i := range positions {
		for k := range next {
			want := int8(guard8)
			if k < channels {
				want = math.MinInt8
				for j := range count {
					want = max(want, x[(i+j)*step+k])
				}
			}
			if got := out[i*next+k]; got != want {
				t.Fatalf("position %d, channel %d: got %v, want %v", i, k, got, want)
			}
		}
	}
}

// guard8 lies between the results of positions.
const guard8 = 99
