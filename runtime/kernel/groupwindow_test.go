package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestGroupWindow holds windows of groups of every tier against sums in float64: strides, dilation, bounds, gaps between columns, groups
// of all sizes, and channels that fill no vector.
func TestGroupWindow(t *testing.T) {
	for _, tier := range tiers() {
		for _, per := range []int{2, 4, 8, 16} {
			for _, c := range []struct{ groups, positions, step, dilation int }{
				{8, 1, 1, 1}, {8, 7, 1, 1}, {9, 3, 2, 1}, {9, 4, 1, 1}, {9, 6, 2, 1}, {9, 2, 1, 1}, {15, 5, 3, 1}, {9, 11, 1, 1}, {3, 13, 2, 1}, {1 << 10, 9, 1, 1},
				{2, 2*windowMost/(16*per) + 5, 1, 1}, {9, 9, 1, 2}, {8, 9, 3, 3}, {9, 15, 6, 3}, {12, 40, 2, 1},
			} {
				if HasGroupWindow(tier, per, per*c.groups) {
					t.Run(fmt.Sprintf("%v/%d %+v", tier, per, c), func(t *testing.T) { checkGroupWindow(t, tier, per, per*c.groups, c.positions, c.step, c.dilation) })
				}
			}
		}
	}
}

func checkGroupWindow(t *testing.T, tier Tier, per, channels, positions, step, dilation int) {
	r := rand.New(rand.NewSource(1))
	const size = GroupWindowSize
	column := channels + 3 // elements from a column to the next
	w := &GroupWindow{Stride: uintptr(dilation * column * 4), Step: uintptr(step * column * 4), Next: uintptr((channels + 1) * 4), Count: uintptr(positions),
		Per: uintptr(per), Low: -3, High: 4}
	var rows [size][]float32
	for i := range rows {
		rows[i] = guarded(r, ((positions-1)*step+(size-1)*dilation)*column+channels)
		w.Rows[i] = &rows[i][0]
	}
	weights, start, out := guarded(r, channels*per*size*size), guarded(r, channels), guarded(r, (positions-1)*(channels+1)+channels)
	for i := range out {
		out[i] = guard
	}
	packed := guarded(r, GroupWindowPacked(tier, per, channels))
	PackGroupWindow(tier, packed, weights, per, channels, per*size*size)
	w.Weights, w.Start, w.Out = &packed[0], &start[0], &out[0]
	w.Run(tier, channels)
	checkPositions(t, out, channels, 1e-5*float64(1+per*size*size), func(p, c int) float64 {
		want := float64(start[c])
		for x := range per * size * size {
			k, i, j := x/(size*size), x/size%size, x%size
			want += float64(weights[((c*per+k)*size+i)*size+j]) * float64(rows[i][(p*step+j*dilation)*column+c-c%per+k])
		}
		return min(max(want, -3), 4)
	})
}

// TestGroupWindowSpecials wants a NaN to reach the results of its own group, and no others.
func TestGroupWindowSpecials(t *testing.T) {
	for _, tier := range tiers() {
		const per, spoiled = 2, 2
		channels := lanesOf(tier) + per
		x, y, start := make([]float32, GroupWindowSize*channels), make([]float32, channels), make([]float32, channels)
		packed := make([]float32, GroupWindowPacked(tier, per, channels))
		PackGroupWindow(tier, packed, weightsOf(channels*per*9, 1), per, channels, per*9)
		x[spoiled] = float32(math.NaN())
		w := &GroupWindow{Rows: [GroupWindowSize]*float32{&x[0], &x[0], &x[0]}, Weights: &packed[0], Start: &start[0], Out: &y[0], Stride: uintptr(4 * channels),
			Step: uintptr(4 * channels), Next: uintptr(4 * channels), Count: 1, Per: per, Low: Unclamped[0], High: Unclamped[1]}
		w.Run(tier, channels)
		for c, got := range y {
			if spoils := c/per == spoiled/per; math.IsNaN(float64(got)) != spoils {
				t.Errorf("%v: channel %d gives %v", tier, c, got)
			}
		}
	}
}

func BenchmarkGroupWindow(b *testing.B) {
	const channels, positions, size = 64, 28, GroupWindowSize
	for _, tier := range tiers() {
		for _, per := range []int{2, 4, 8, 16} {
			for step := 1; step <= 2 && HasGroupWindow(tier, per, channels); step++ {
				b.Run(fmt.Sprintf("%v/%d by %d", tier, per, step), func(b *testing.B) {
					columns := (positions-1)*step + size
					x, y, start := make([]float32, size*columns*channels), make([]float32, positions*channels), make([]float32, channels)
					packed := make([]float32, GroupWindowPacked(tier, per, channels))
					PackGroupWindow(tier, packed, make([]float32, channels*per*size*size), per, channels, per*size*size)
					column := uintptr(channels * 4)
					w := &GroupWindow{Weights: &packed[0], Start: &start[0], Out: &y[0], Stride: column, Step: uintptr(step) * column, Next: column,
						Count: positions, Per: uintptr(per), Low: Unclamped[0], High: Unclamped[1]}
					for i := range size {
						w.Rows[i] = &x[i*columns*channels]
					}
					for b.Loop() {
						w.Run(tier, channels)
					}
					b.ReportMetric(float64(2*size*size*per*channels*positions)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
