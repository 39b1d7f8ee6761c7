package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestNormRowsF32 holds rows of all tails against float64, with and without factors and addends, and in place.
func TestNormRowsF32(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier.Narrow(1))
		for _, width := range []int{lanes, lanes + 1, 2*lanes - 1, 2 * lanes, 40, 5*lanes + 3, 8*lanes + 1, 197, 300, 1024, softMost} {
			for variant := range 4 {
				rows := min(2*normRows+3, 3+softMost/width)
				r := rand.New(rand.NewSource(int64(width)))
				n := Norms{X: guarded(r, rows*width), Out: guarded(r, rows*width), Means: guarded(r, rows), Rstds: guarded(r, rows), Width: width, Eps: 1e-3}
				if variant&1 != 0 {
					n.A = guarded(r, width)
				}
				if variant&2 != 0 {
					n.B = guarded(r, width)
				}
				if !NormRowsF32(tier, &n) {
					t.Fatalf("%v: there is no kernel for rows of %d", tier, width)
				}
				checkNorms(t, fmt.Sprint(tier, " ", width, " ", variant), &n)
				in := n
				in.X = append([]float32(nil), n.X...)
				in.Out = in.X
				NormRowsF32(tier, &in)
				for i, want := range n.Out {
					if in.Out[i] != want {
						t.Fatalf("%v/%d: element %d in place: got %v, want %v", tier, width, i, in.Out[i], want)
					}
				}
			}
		}
		n := Norms{X: make([]float32, lanes-1), Out: make([]float32, lanes-1), Means: make([]float32, 1), Rstds: make([]float32, 1), Width: lanes - 1}
		if NormRowsF32(tier, &n) {
			t.Errorf("%v takes rows of %d", tier, lanes-1)
		}
		n.Width = softMost + 1
		if NormRowsF32(tier, &n) {
			t.Errorf("%v takes rows of %d", tier, n.Width)
		}
	}
}

func checkNorms(t *testing.T, what string, n *Norms) {
	t.Helper()
	for i := range n.Means {
		mean, variance := 0.0, 0.0
		row := n.X[i*n.Width : (i+1)*n.Width]
		for _, v := range row {
			mean += float64(v) / float64(n.Width)
		}
		for _, v := range row {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(n.Width)
		}
		rstd := 1 / math.Sqrt(variance+float64(n.Eps))
		near(t, what+" mean", n.Means[i], mean, 1e-6*(1+math.Abs(mean)))
		near(t, what+" rstd", n.Rstds[i], rstd, 2e-6*rstd)
		for j, v := range row {
			want := (float64(v) - mean) * rstd
			if n.A != nil {
				want *= float64(n.A[j])
			}
			if n.B != nil {
				want += float64(n.B[j])
			}
			near(t, fmt.Sprint(what, " row ", i, " element ", j), n.Out[i*n.Width+j], want, 1e-5*(1+math.Abs(want)))
		}
	}
	for _, x := range [][]float32{n.X, n.Out, n.Means, n.Rstds} {
		if !intact(x) {
			t.Fatalf("%s: a value beside an operand is changed", what)
		}
	}
}

// TestNormRowsSpecials: a row with an element that is no number, or infinite, is none; rows beside it are as without it. What is not
// of the row, behind a tail, does not count.
func TestNormRowsSpecials(t *testing.T) {
	for _, tier := range tiers() {
		for _, special := range []float64{math.NaN(), math.Inf(1)} {
			const width = 37
			for at := range width {
				x, want := make([]float32, 3*width), make([]float32, width)
				for i := range x {
					x[i] = float32(i % width)
				}
				means, rstds := make([]float32, 3), make([]float32, 3)
				NormRowsF32(tier, &Norms{X: x[:width], Out: want, Means: means[:1], Rstds: rstds[:1], Width: width, Eps: 1e-5})
				x[width+at] = float32(special)
				NormRowsF32(tier, &Norms{X: x, Out: x, Means: means, Rstds: rstds, Width: width, Eps: 1e-5})
				if means[1]-means[1] == 0 || x[width+at] == x[width+at] {
					t.Errorf("%v: %v at %d: mean %v, result %v", tier, special, at, means[1], x[width+at])
				}
				for i, w := range want {
					if x[i] != w || x[2*width+i] != w {
						t.Fatalf("%v: %v at %d changes the rows beside: %v and %v, want %v", tier, special, at, x[i], x[2*width+i], w)
					}
				}
			}
		}
	}
}

func BenchmarkNormRowsF32(b *testing.B) {
	for _, tier := range tiers() {
		for _, width := range []int{40, 64, 192, 768} {
			b.Run(fmt.Sprintf("%v/%d", tier, width), func(b *testing.B) {
				const rows = 64
				n := Norms{X: make([]float32, rows*width), Out: make([]float32, rows*width), Means: make([]float32, rows), Rstds: make([]float32, rows),
					A: make([]float32, width), B: make([]float32, width), Width: width, Eps: 1e-5}
				for b.Loop() {
					NormRowsF32(tier, &n)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
	}
}
