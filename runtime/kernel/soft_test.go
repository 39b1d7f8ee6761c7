package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestSoftmaxRow holds softmax of rows of all tails against float64.
func TestSoftmaxRow(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range []int{2, 3, 9, 15, 16, 17, 32, 63, 64, 65, 128, 197, softPadded, 1024} {
			r := rand.New(rand.NewSource(int64(n)))
			x, o := guarded(r, n), guarded(r, n)
			x[n/2] = float32(math.Inf(-1))
			if !SoftmaxRowsF32(tier, o, x, len(x)) {
				t.Fatalf("%v/%d: there is no kernel", tier, n)
			}
			for i, want := range softmax64([][]float32{x}, 1)[0] {
				near(t, fmt.Sprint(tier, n, i), o[i], want, 1e-6*want)
			}
			if !intact(o) || !intact(x) {
				t.Errorf("%v/%d: a value beside an operand is changed", tier, n)
			}
			if SoftmaxRowsF32(tier, x, x, len(x)); x[n-1] != o[n-1] || x[0] != o[0] {
				t.Errorf("%v/%d: other results in place", tier, n)
			}
		}
	}
}

// softmax64 is the softmax of scale times each row, in float64.
func softmax64(rows [][]float32, scale float64) (out [][]float64) {
	for _, x := range rows {
		top, sum := math.Inf(-1), 0.0
		for _, v := range x {
			top = max(top, scale*float64(v))
		}
		o := make([]float64, len(x))
		for i, v := range x {
			o[i] = math.Exp(scale*float64(v) - top)
			sum += o[i]
		}
		for i := range o {
			o[i] /= sum
		}
		out = append(out, o)
	}
	return out
}

func TestSoftmaxRowSpecials(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tier := range tiers() {
		for _, c := range []struct {
			special float32
			all     bool // of the row are special
		}{{inf, false}, {nan, false}, {-inf, true}} {
			x := make([]float32, 37)
			for i := range x {
				if c.all || i == 20 {
					x[i] = c.special
				}
			}
			if SoftmaxRowsF32(tier, x, x, len(x)); x[20] == x[20] {
				t.Errorf("%v: softmax of a row with %v, all %v, is %v, want NaN", tier, c.special, c.all, x[20])
			}
		}
	}
}

// TestSoftmaxBlocksF32 takes the columns of some rows in several blocks.
func TestSoftmaxBlocksF32(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		const rows, scale = 5, 0.25
		r := rand.New(rand.NewSource(1))
		widths := []int{lanes, 9 * lanes, 4 * lanes}
		state := make([]float32, rows*SoftStateF32(tier))
		StartSoftF32(tier, state)
		whole, results := make([][]float32, rows), make([][]float32, rows)
		for _, w := range widths {
			stride := w + 3
			x := make([]float32, rows*stride)
			for i := range x {
				x[i] = r.Float32()*40 - 20
			}
			o := make([]float32, len(x))
			for i := range rows {
				whole[i] = append(whole[i], x[i*stride:][:w]...)
			}
			SoftmaxBlocksF32(tier, &Softs{X: x, Out: o, XStride: stride, OutStride: stride, Rows: rows, Width: w, State: state, Scale: scale})
			for i := range rows {
				for j := range results[i] {
					results[i][j] *= state[i*3*lanes+2*lanes]
				}
				results[i] = append(results[i], o[i*stride:][:w]...)
			}
		}
		for i, want := range softmax64(whole, scale) {
			for j := range want {
				near(t, fmt.Sprint(tier, i, j), results[i][j]/state[i*3*lanes+lanes], want[j], 3e-6*want[j])
			}
		}
	}
}

func BenchmarkSoftmaxRows(b *testing.B) {
	for _, tier := range tiers() {
		for _, n := range []int{9, 11, 128, 197} {
			for _, rows := range []int{1, 88} {
				b.Run(fmt.Sprintf("%v/%dx%d", tier, rows, n), func(b *testing.B) {
					x, o := make([]float32, rows*n), make([]float32, rows*n)
					for b.Loop() {
						SoftmaxRowsF32(tier, o, x, n)
					}
				})
			}
		}
	}
}

// TestSoftmaxRowsF32 holds many rows against the same rows one by one.
func TestSoftmaxRowsF32(t *testing.T) {
	for _, tier := range tiers() {
		for _, width := range []int{2, 11, 16, 17, 48, 64, 65, 128, 255, 1024, softMost} {
			rows := 3 + 2*softMost/width
			r := rand.New(rand.NewSource(int64(width)))
			x, o, one := guarded(r, rows*width), guarded(r, rows*width), make([]float32, width)
			if !SoftmaxRowsF32(tier, o, x, width) {
				t.Fatalf("%v: there is no kernel for rows of %d", tier, width)
			}
			for i := range rows {
				SoftmaxRowsF32(tier, one, x[i*width:][:width], width)
				for k, want := range one {
					if got := o[i*width+k]; got != want {
						t.Fatalf("%v: row %d of %d, element %d: got %v, want %v", tier, i, width, k, got, want)
					}
				}
			}
			if !intact(o) || !intact(x) {
				t.Errorf("%v: rows of %d: a value beside an operand is changed", tier, width)
			}
		}
		for _, width := range []int{1, softPadded + 1, softMost + 16} {
			if x := make([]float32, width); SoftmaxRowsF32(tier, x, x, width) {
				t.Errorf("%v has softmax of rows of %d", tier, width)
			}
		}
	}
}
