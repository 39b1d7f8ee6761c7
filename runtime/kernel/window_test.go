package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestWindow holds windows of every tier against sums in float64: strides, dilation, bounds, gaps between columns, and channels
// that fill no vector.
func TestWindow(t *testing.T) {
	for _, tier := range tiers() {
		for _, size := range []int{3, 5, 7, 9, 11} {
			for _, c := range []struct{ channels, positions, step, dilation int }{
				{1, 1, 1, 1}, {16, 7, 1, 1}, {19, 3, 2, 1}, {67, 5, 3, 1}, {21, 11, 1, 1}, {21, 13, 2, 1}, {1<<14 + 1, 2, 1, 1}, {33, windowMost/4 + 5, 1, 1},
				{16, windowMost/4 + 5, 2, 1}, {19, 9, 1, 2}, {16, 9, 3, 3}, {21, 13, 6, 3},
				{128, 42, 1, 1}, {93, 40, 2, 1}, {120, 38, 3, 1}, {67, 44, 2, 2}, {80, 2000, 1, 1}, // group by group, where there is a kernel for it
			} {
				if HasWindow(tier, size, c.channels) {
					t.Run(fmt.Sprintf("%v/%d %+v", tier, size, c), func(t *testing.T) { checkWindow(t, tier, size, c.channels, c.positions, c.step, c.dilation) })
				}
			}
		}
	}
}

func checkWindow(t *testing.T, tier Tier, size, channels, positions, step, dilation int) {
	r := rand.New(rand.NewSource(1))
	column := channels + 3 // elements from a column to the next
	rows := make([][]float32, size)
	w := &Window{Copy: &make([]float32, (size*size+1)*maxLanes)[0], Stride: uintptr(dilation * column * 4), Step: uintptr(step * column * 4), Next: uintptr((channels + 1) * 4), Count: uintptr(positions),
		Tap: uintptr(channels * 4), Low: -3, High: 4}
	for i := range rows {
		rows[i] = guarded(r, ((positions-1)*step+(size-1)*dilation)*column+channels)
		w.Rows[i] = &rows[i][0]
	}
	weights, start, out := guarded(r, size*size*channels), guarded(r, channels), guarded(r, (positions-1)*(channels+1)+channels)
	for i := range out {
		out[i] = guard
	}
	w.Weights, w.Start, w.Out = &weights[0], &start[0], &out[0]
	w.Run(tier, size, channels)
	checkPositions(t, out, channels, 1e-5*float64(1+size*size), func(p, c int) float64 {
		want := float64(start[c])
		for k := range size * size {
			want += float64(weights[k*channels+c]) * float64(rows[k/size][(p*step+k%size*dilation)*column+c])
		}
		return min(max(want, -3), 4)
	})
}

// checkPositions holds results of positions, one element apart, against what is wanted of each channel to a tolerance, and wants guards
// between them and around.
func checkPositions(t *testing.T, out []float32, channels int, tolerance float64, want func(p, c int) float64) {
	t.Helper()
	if !intact(out) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		p, c := i/(channels+1), i%(channels+1)
		if c == channels {
			if got != guard {
				t.Fatalf("position %d: a value between the positions is changed", p)
			}
			continue
		}
		if want := want(p, c); math.Abs(float64(got)-want) > tolerance {
			t.Fatalf("position %d, channel %d: got %v, want %v", p, c, got, want)
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	const channels, positions = 32, 42
	for _, tier := range tiers() {
		for _, size := range []int{3, 5, 7, 9, 11} {
			for step := range 2 {
				if HasWindow(tier, size, channels) {
					b.Run(fmt.Sprintf("%v/%dx%[2]d by %d", tier, size, step+1), func(b *testing.B) { benchWindow(b, tier, size, step+1, channels, positions) })
				}
			}
		}
	}
}

// benchWindow computes rows that stay in the first-level cache, but for the largest windows.
func benchWindow(b *testing.B, tier Tier, size, step, channels, positions int) {
	columns := (positions-1)*step + size
	x, y := make([]float32, size*columns*channels), make([]float32, positions*channels)
	k, start := make([]float32, size*size*channels), make([]float32, channels)
	column := uintptr(channels * 4)
	w := &Window{Copy: &make([]float32, (size*size+1)*maxLanes)[0], Weights: &k[0], Start: &start[0], Out: &y[0], Stride: column, Step: uintptr(step) * column, Next: column,
		Count: uintptr(positions), Tap: column, Low: Unclamped[0], High: Unclamped[1]}
	for i := range size {
		w.Rows[i] = &x[i*columns*channels]
	}
	for b.Loop() {
		w.Run(tier, size, channels)
	}
	b.ReportMetric(float64(2*size*size*channels*positions)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
