package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"
)

// TestTapsF32 holds both kinds of sums against float64, at every length around the vectors'.
func TestTapsF32(t *testing.T) {
	for _, tier := range tiers() {
		f := TapsKernels(tier)
		for _, n := range []int{0, 1, 2, f.Lanes - 1, f.Lanes, 3*f.Lanes + 1, 4 * f.Lanes, 9*f.Lanes - 3, tapsMost/9*tapsBlock*f.Lanes + f.Lanes + 5} {
			for _, count := range []int{1, 2, 9} {
				for _, each := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%d lines of %d, each %v", tier, count, n+f.Lanes, each), func(t *testing.T) {
						checkTaps(t, f, n+f.Lanes, count, each)
					})
				}
			}
		}
	}
}

func checkTaps(t *testing.T, f *TapsF32, n, count int, each bool) {
	r := rand.New(rand.NewSource(1))
	per := 1
	if each {
		per = n
	}
	lines, inputs := make([][]float32, count), make([]*float32, count)
	for i := range lines {
		lines[i] = guarded(r, n)
		inputs[i] = &lines[i][0]
	}
	weights, start, out := guarded(r, count*per), guarded(r, per), guarded(r, n)
	taps := &Taps{Inputs: &inputs[0], Weights: &weights[0], Step: uintptr(per) * unsafe.Sizeof(out[0]), Count: uintptr(count),
		Out: &out[0], Start: &start[0], Low: -2, High: float32(math.Inf(1))}
	if each {
		f.Each(taps, n)
	} else {
		f.Line(taps, n)
	}
	if !intact(out) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		want := float64(start[i%per])
		for k, line := range lines {
			want += float64(line[i]) * float64(weights[k*per+i%per])
		}
		if want = max(want, -2); math.Abs(float64(got)-want) > 1e-5*float64(1+count) {
			t.Fatalf("element %d: got %v, want %v", i, got, want)
		}
	}
}

func BenchmarkTapsF32(b *testing.B) {
	for _, tier := range tiers() {
		f := TapsKernels(tier)
		for _, each := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/9x1024, each %v", tier, each), func(b *testing.B) { benchmarkTaps(b, f, each) })
		}
	}
}

func benchmarkTaps(b *testing.B, f *TapsF32, each bool) {
	const n, count = 1024, 9
	x, w, out := make([]float32, n), make([]float32, n*count), make([]float32, n)
	inputs := make([]*float32, count)
	for i := range inputs {
		inputs[i] = &x[0]
	}
	t := &Taps{Inputs: &inputs[0], Weights: &w[0], Step: n * 4, Count: count, Out: &out[0], Start: &out[0], Low: Unclamped[0], High: Unclamped[1]}
	for b.Loop() {
		f.run(t, n, each)
	}
	b.ReportMetric(2*n*count*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
