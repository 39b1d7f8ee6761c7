package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// resized are the places of taps that a resampling of n elements to results takes, with this many around each.
func resized(n, results, taps int) []int {
	var at []int
	for i := range results {
		for t := range taps {
			at = append(at, min(max(i*n/results+t-(taps-1)/2, 0), n-1))
		}
	}
	return at
}

// TestPicks holds picks of every tier against sums in float64: rows that are shorter than a vector, that become longer and
// shorter, and numbers of rows that fill no group.
func TestPicks(t *testing.T) {
	ran := 0
	for _, tier := range tiers() {
		for _, c := range []struct{ n, results int }{
			{1, 40}, {3, 16}, {7, 14}, {8, 8}, {9, 31}, {16, 33}, {17, 17}, {32, 64}, {33, 100}, {64, 40}, {64, 20}, {200, 61}, {1000, 37},
		} {
			for _, taps := range []int{1, 2, 4, 9} {
				for _, rows := range []int{1, 4, 7} {
					at := resized(c.n, c.results, taps)
					if p, ok := PicksOf(tier, at, taps, c.n); ok {
						ran++
						t.Run(fmt.Sprintf("%v/%d of %d to %d by %d", tier, rows, c.n, c.results, taps), func(t *testing.T) { checkPicks(t, &p, at, taps, c.n, rows) })
					}
				}
			}
		}
	}
	if ran == 0 && len(tiers()) > 0 {
		t.Fatal("no tier has picks")
	}
}

func checkPicks(t *testing.T, p *Picks, at []int, taps, n, rows int) {
	r := rand.New(rand.NewSource(1))
	results, stride := len(at)/taps, p.Stride()+2
	x, weight, out := guarded(r, (rows-1)*n+max(n, p.Lanes())), guarded(r, len(at)), guarded(r, rows*stride)
	p.Plan(make([]uint32, p.Words()), at, weight)
	for i := range out {
		out[i] = guard
	}
	p.Run(out, stride, x, rows)
	if !intact(out) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		row, k := i/stride, i%stride
		if k >= p.Stride() && got != guard {
			t.Fatalf("row %d: a value behind its stride is changed", row)
		}
		if k >= results {
			continue
		}
		want := 0.0
		for j := k * taps; j < (k+1)*taps; j++ {
			want += float64(weight[j]) * float64(x[row*n+at[j]])
		}
		if math.Abs(float64(got)-want) > 1e-5*float64(1+taps) {
			t.Fatalf("row %d, element %d: got %v, want %v", row, k, got, want)
		}
	}
}

// TestPicksSpecial has infinity and NaN in elements that some results take and others not.
func TestPicksSpecial(t *testing.T) {
	for _, tier := range tiers() {
		at := resized(40, 80, 2)
		p, ok := PicksOf(tier, at, 2, 40)
		if !ok {
			continue
		}
		x, weight, out := make([]float32, 40), make([]float32, len(at)), make([]float32, p.Stride())
		for i := range weight {
			weight[i] = 0.5
		}
		x[7], x[30] = float32(math.Inf(-1)), float32(math.NaN())
		p.Plan(make([]uint32, p.Words()), at, weight)
		p.Run(out, len(out), x, 1)
		p.Run(nil, 0, nil, 0)
		for i, got := range out[:80] {
			want := x[at[2*i]]/2 + x[at[2*i+1]]/2
			if got != want && (got == got || want == want) {
				t.Errorf("%v: element %d: got %v, want %v", tier, i, got, want)
			}
		}
	}
}

// TestPicksRefused: rows that are shorter than a vector, and blocks of few results, are for portable Go.
func TestPicksRefused(t *testing.T) {
	for _, tier := range Tiers() {
		for _, at := range [][]int{nil, resized(9, 3, 2), resized(4096, 64, 2)} {
			if _, ok := PicksOf(tier, at, 2, 4096); ok {
				t.Errorf("%v has picks for %d results", tier, len(at)/2)
			}
		}
	}
}

func BenchmarkPicks(b *testing.B) {
	for _, tier := range tiers() {
		for _, c := range []struct{ n, results, taps int }{{32, 64, 2}, {64, 40, 2}, {256, 512, 2}, {32, 64, 4}} {
			b.Run(fmt.Sprintf("%v/%d to %d by %d", tier, c.n, c.results, c.taps), func(b *testing.B) {
				const rows = 32
				at := resized(c.n, c.results, c.taps)
				p, ok := PicksOf(tier, at, c.taps, c.n)
				if !ok {
					b.Skip("no kernel")
				}
				p.Plan(make([]uint32, p.Words()), at, make([]float32, len(at)))
				x, out := make([]float32, rows*c.n), make([]float32, rows*p.Stride())
				for b.Loop() {
					p.Run(out, p.Stride(), x, rows)
				}
				b.ReportMetric(float64(rows*c.results)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelement/s")
			})
		}
	}
}
