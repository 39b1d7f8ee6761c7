package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestBlend holds blends of every tier against sums in float64: lines around the lengths of blocks, gaps between those of x,
// and more lines than one call takes.
func TestBlend(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		for _, n := range []int{4, 7, 8, 9, lanes, 2*lanes - 1, 2 * lanes, 4*lanes - 1, 4 * lanes, 9*lanes + 5, 1000} {
			for _, c := range []struct{ lines, taps int }{{1, 1}, {5, 2}, {3, 9}, {blendMost/(4*n) + 3, 4}} {
				if b, ok := BlendOf(tier, c.taps, n); ok {
					t.Run(fmt.Sprintf("%v/%d lines of %d by %d", tier, c.lines, n, c.taps), func(t *testing.T) { checkBlend(t, &b, n, c.lines, c.taps) })
				} else if n >= lanes {
					t.Errorf("%v has no blends of %d elements", tier, n)
				}
			}
		}
		if _, ok := BlendOf(tier, 2, 3); ok {
			t.Errorf("%v has blends of 3 elements", tier)
		}
	}
	if _, ok := BlendOf(Scalar, 2, 100); ok {
		t.Error("scalar has blends")
	}
}

func checkBlend(t *testing.T, b *Blend, n, lines, taps int) {
	const sources = 6
	r := rand.New(rand.NewSource(1))
	step := n + 3
	at := make([]int, lines*taps)
	for i := range at {
		at[i] = r.Intn(sources)
	}
	x, weight, out := guarded(r, (sources-1)*step+n), guarded(r, len(at)), guarded(r, lines*n)
	x[0] = float32(math.Inf(1))
	b.Plan(make([]uint32, b.Words(lines)), at, weight, step)
	b.Run(out, x)
	if !intact(out) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		want := 0.0
		for j := i / n * taps; j < (i/n+1)*taps; j++ {
			want += float64(weight[j]) * float64(x[at[j]*step+i%n])
		}
		if g := float64(got); g != want && !(g != g && want != want) && !(math.Abs(g-want) <= 1e-5*float64(1+taps)) {
			t.Fatalf("line %d, element %d: got %v, want %v", i/n, i%n, got, want)
		}
	}
}

func BenchmarkBlend(b *testing.B) {
	const lines, taps = 64, 2
	for _, tier := range tiers() {
		for _, n := range []int{16, 40, 64, 512} {
			b.Run(fmt.Sprintf("%v/%d by %d", tier, n, taps), func(b *testing.B) {
				f, _ := BlendOf(tier, taps, n)
				f.Plan(make([]uint32, f.Words(lines)), make([]int, lines*taps), make([]float32, lines*taps), n)
				x, out := make([]float32, n), make([]float32, lines*n)
				for b.Loop() {
					f.Run(out, x)
				}
				b.ReportMetric(float64(lines*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelement/s")
			})
		}
	}
}
