package kernel

import (
	"fmt"
	"math/rand"
	"testing"
)

// TestWindowS8 holds windows of integers of every tier against their definition, to the bit: strides, dilation, gaps between
// columns and between results, more positions than a call takes, and channels that fill no vector.
func TestWindowS8(t *testing.T) {
	for _, tier := range tiers() {
		for _, size := range []int{3, 5} {
			for _, c := range []struct{ channels, positions, step, dilation int }{
				{16, 1, 1, 1}, {16, 7, 1, 1}, {19, 3, 2, 1}, {67, 9, 3, 1}, {21, 11, 1, 1}, {21, 13, 2, 1}, {32, 14, 2, 1}, {1<<14 + 1, 2, 1, 1},
				{33, windowMost/16 + 5, 1, 1}, {16, windowMost/16 + 11, 2, 1}, {19, 9, 1, 2}, {16, 9, 3, 3}, {21, 13, 6, 3},
			} {
				if HasWindowS8(tier, size, c.channels) {
					t.Run(fmt.Sprintf("%v/%d %+v", tier, size, c), func(t *testing.T) {
						checkWindowS8(t, tier, size, c.channels, c.positions, c.step, c.dilation)
					})
				}
			}
		}
	}
}

func checkWindowS8(t *testing.T, tier Tier, size, channels, positions, step, dilation int) {
	r := rand.New(rand.NewSource(1))
	column, next := channels+3, channels+1
	weights := make([]int8, size*size*channels)
	for i := range weights {
		weights[i] = int8(r.Uint32())
	}
	start, _ := guardedOf(channels, func(int) int32 { return int32(r.Uint32()) >> 15 })
	factors, _ := guardedOf(channels, func(int) float32 { return r.Float32() / 512 })
	out, intact := guardedOf((positions-1)*next+channels, func(int) int8 { return 55 })
	w := &WindowS8{Weights: &PackWindow(tier, weights, size, channels)[0], Start: &start[0], Factors: &factors[0], Out: &out[0], Stride: uintptr(dilation * column),
		Step: uintptr(step * column), Next: uintptr(next), Count: uintptr(positions), Low: -90, High: 100, Zero: -7}
	rows := make([][]uint8, size)
	for i := range rows {
		rows[i], _ = guardedOf(((positions-1)*step+(size-1)*dilation)*column+channels, func(int) uint8 { return uint8(r.Uint32()) })
		w.Rows[i] = &rows[i][0]
	}
	w.Run(tier, size, channels)
	if !intact() {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		p, c := i/next, i%next
		want := int8(55)
		if c < channels {
			sum := start[c]
			for k := range size * size {
				sum += int32(weights[k*channels+c]) * int32(rows[k/size][(p*step+k%size*dilation)*column+c])
			}
			want = int8(roundTo(float32(sum)*factors[c], &RowsS8{Low: -90, High: 100, Zero: -7}))
		}
		if got != want {
			t.Fatalf("position %d, channel %d: got %d, want %d", p, c, got, want)
		}
	}
}

func BenchmarkWindowS8(b *testing.B) {
	for _, tier := range tiers() {
		for _, c := range []struct{ size, channels, positions, step int }{{3, 32, 112, 1}, {3, 96, 56, 2}, {3, 144, 56, 1}, {3, 960, 7, 1}, {5, 96, 56, 1}} {
			if !HasWindowS8(tier, c.size, c.channels) {
				continue
			}
			b.Run(fmt.Sprintf("%v/%+v", tier, c), func(b *testing.B) {
				x, o := make([]uint8, c.size*(c.positions*c.step+c.size)*c.channels), make([]int8, c.positions*c.channels)
				start, factors := make([]int32, c.channels), make([]float32, c.channels)
				w := &WindowS8{Weights: &PackWindow(tier, make([]int8, c.size*c.size*c.channels), c.size, c.channels)[0], Start: &start[0], Factors: &factors[0], Out: &o[0],
					Stride: uintptr(c.channels), Step: uintptr(c.step * c.channels), Next: uintptr(c.channels), Count: uintptr(c.positions), Low: -128, High: 127}
				for i := range c.size {
					w.Rows[i] = &x[i*(c.positions*c.step+c.size)*c.channels]
				}
				for b.Loop() {
					w.Run(tier, c.size, c.channels)
				}
				b.ReportMetric(float64(2*c.size*c.size*c.channels*c.positions)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
