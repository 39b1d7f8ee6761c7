package op

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// wave fills sizes with small integers, whose sums are exact in any order.
func wave(sizes ...tensor.Dim) *tensor.Tensor {
	x := iota32(sizes...)
	d := elems[float32](x)
	for i := range d {
		d[i] = float32((i*7+len(d))%11) - 5
	}
	return x
}

func naiveMm(a, b []float32, m, k, n int) []float32 {
	o := make([]float32, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				o[i*n+j] += a[i*k+l] * b[l*n+j]
			}
		}
	}
	return o
}

func TestMm(t *testing.T) {
	for _, s := range [][3]int64{{1, 1, 1}, {3, 5, 7}, {2, 0, 3}, {0, 2, 3}, {70, 33, 9}, {5, 300, 300}, {75, 1024, 70}, {13, 4, 100}} {
		a, b := wave(s[0], s[1]), wave(s[1], s[2])
		want := naiveMm(elems[float32](a), elems[float32](b), int(s[0]), int(s[1]), int(s[2]))
		for _, constant := range []bool{true, false} {
			for _, right := range []*tensor.Tensor{b, ordered(b, 1, 0)} {
				outs, err := call(&MmF32, 1, constant, ordered(a, 1, 0), right)
				if err != nil {
					t.Fatal(err)
				}
				wantOut(t, outs[0], dims{s[0], s[2]}, want...)
			}
		}
	}
}

func TestAddmm(t *testing.T) {
	a, b := mf32(dims{2, 2}, 1, 2, 3, 4), mf32(dims{2, 2}, 1, 0, 0, 1)
	nan := float32(math.NaN())
	wantOut(t, mustCall(t, &AddmmF32, mf32(dims{2}, 10, 20), a, b, 1, 1), dims{2, 2}, float32(11), 22, 13, 24)
	wantOut(t, mustCall(t, &AddmmF32, mf32(dims{2, 1}, 10, 20), a, b, 2, 3), dims{2, 2}, float32(23), 26, 49, 52)
	wantOut(t, mustCall(t, &AddmmF32, mf32(dims{1}, nan), a, b, 0, 1), dims{2, 2}, float32(1), 2, 3, 4)
	ints := mi64(dims{2, 2}, 1, 2, 3, 4)
	wantOut(t, mustCall(t, &AddmmI64, mi64(dims{}, 1), ints, ints, 1, 2), dims{2, 2}, int64(15), 21, 31, 45)
}

func TestLinearBmm(t *testing.T) {
	x := iota32(1, 2, 2)
	w := mf32(dims{3, 2}, 1, 0, 0, 1, 1, 1)
	wantOut(t, mustCall(t, &LinearF32, x, w, nil), dims{1, 2, 3}, float32(0), 1, 1, 2, 3, 5)
	wantOut(t, mustCall(t, &LinearF32, x, w, mf32(dims{3}, 1, 2, 3)), dims{1, 2, 3}, float32(1), 3, 4, 3, 5, 8)
	y := iota32(2, 2, 2)
	wantOut(t, mustCall(t, &BmmF32, y, ordered(y, 0, 2, 1)), dims{2, 2, 2}, float32(2), 3, 6, 11, 46, 55, 66, 79)
}

func BenchmarkMm(b *testing.B) {
	x, y := wave(256, 512), wave(512, 256)
	var temp Temp
	c := &Call{Args: vals(x, y), Out: []*tensor.Tensor{wave(256, 256)}, Alloc: temp.Alloc}
	s, err := MmF32.Prepare(&Prep{Args: c.Args})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(2 * 256 * 512 * 256)
	b.ReportAllocs()
	for b.Loop() {
		temp.Reset()
		if err := MmF32.Run(c, s); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPackColumns packs matrices whose columns are contiguous as those whose rows are.
func TestPackColumns(t *testing.T) {
	for _, size := range [][2]int{{0, 5}, {1, 1}, {3, 7}, {5, 8}, {64 + 3, 9}, {128, 41}, {7, 100}} {
		rows, cols := size[0], size[1]
		b := matrix[float32]{make([]float32, rows*cols), rows, cols, cols, 1}
		turned := matrix[float32]{make([]float32, rows*cols), rows, cols, 1, rows}
		for i := range rows {
			for j := range cols {
				b.data[i*cols+j], turned.data[j*rows+i] = float32(i*cols+j+1), float32(i*cols+j+1)
			}
		}
		tiling := tilingOf[float32](kernel.Best())
		want, got := make([]float32, tiling.len(rows, cols)), make([]float32, tiling.len(rows, cols))
		for i := range got {
			got[i] = -1
		}
		pack(want, b, tiling)
		pack(got, turned, tiling)
		if !slices.Equal(got, want) {
			t.Errorf("%d × %d: got %v, want %v", rows, cols, got, want)
		}
	}
}

// TestRows holds the products of single rows, on one thread and on several, against those rows of the product of several.
func TestRows(t *testing.T) {
	inChunks := func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}
	for _, tier := range kernel.Tiers() {
		for _, s := range [][2]tensor.Dim{{37, 150}, {64, 128}, {5, 63}, {0, 200}, {9000, 140}} {
			for _, bias := range []any{nil, wave(s[1])} {
				both, weight := wave(2, s[0]), wave(s[1], s[0])
				want := planned(t, &LinearF32, tier, true, both, weight, bias).Data
				for row := range 2 {
					one := &tensor.Tensor{Meta: wave(1, s[0]).Meta, Data: both.Data[row*len(both.Data)/2:][:len(both.Data)/2]}
					for _, env := range []*Env{{}, {Parallel: inChunks, Threads: 2}, {Parallel: inChunks, Threads: 8}} {
						got := plannedIn(t, env, &LinearF32, tier, true, one, weight, bias).Data
						if !bytes.Equal(got, want[row*len(got):][:len(got)]) {
							t.Errorf("%v, %v, bias %v, %d threads: row %d differs", tier, s, bias != nil, env.Threads, row)
						}
					}
				}
			}
		}
	}
}
