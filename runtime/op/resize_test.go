package op

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestResize(t *testing.T) {
	x := iota32(2, 3)
	cube := iota32(1, 4, 1, 2)
	plane := iota32(1, 1, 2, 2)
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []float32
	}{
		{"roll", &RollF32, []any{x, dims{1}, dims{}}, dims{2, 3}, []float32{5, 0, 1, 2, 3, 4}},
		{"roll dim", &RollF32, []any{x, dims{-1, 4}, dims{-1, 0}}, dims{2, 3}, []float32{1, 2, 0, 4, 5, 3}},
		{"pixel_shuffle", &PixelShuffleF32, []any{cube, 2}, dims{1, 1, 2, 4}, []float32{0, 2, 1, 3, 4, 6, 5, 7}},
		{"pixel_unshuffle", &PixelUnshuffleF32, []any{iota32(1, 2, 4), 2}, dims{4, 1, 2}, []float32{0, 2, 1, 3, 4, 6, 5, 7}},
		{"tril", &TrilF32, []any{x, 0}, dims{2, 3}, []float32{0, 0, 0, 3, 4, 0}},
		{"triu", &TriuF32, []any{x, 1}, dims{2, 3}, []float32{0, 1, 2, 0, 0, 5}},
		{"nearest", &UpsampleNearest2dF32, []any{plane, nil, []float64{1, 2}}, dims{1, 1, 2, 4}, []float32{0, 0, 1, 1, 2, 2, 3, 3}},
		{"nearest size", &UpsampleNearest2dF32, []any{plane, dims{1, 3}, nil}, dims{1, 1, 1, 3}, []float32{0, 0, 1}},
		{"bilinear", &UpsampleBilinear2dF32, []any{plane, nil, false, []float64{1, 2}}, dims{1, 1, 2, 4}, []float32{0, 0.25, 0.75, 1, 2, 2.25, 2.75, 3}},
		{"bilinear copy", &UpsampleBilinear2dF32, []any{plane, nil, false, []float64{1.3, 1.3}}, dims{1, 1, 2, 2}, []float32{0, 1, 2, 3}},
		{"trilinear copy", &UpsampleTrilinear3dF32, []any{iota32(1, 1, 1, 1, 3), dims{1, 1, 3}, false, 1.3, 1.3, 1.3}, dims{1, 1, 1, 1, 3}, []float32{0, 1, 2}},
		{"bilinear corners", &UpsampleBilinear2dF32, []any{ordered(iota32(1, 2, 1, 2), 0, 2, 3, 1), dims{1, 3}, true, nil}, dims{1, 2, 1, 3}, []float32{0, 0.5, 1, 2, 2.5, 3}},
	} {
		t.Run(test.name, func(t *testing.T) { wantOut(t, mustCall(t, test.k, test.args...), test.sizes, test.want...) })
	}
	wantOut(t, mustCall(t, &RepeatInterleaveI64, mi64(dims{3}, 2, 0, 1), nil), dims{3}, int64(0), 0, 2)
}

// TestNearestTimes enlarges images by whole factors and others, along a line alone, too.
func TestNearestTimes(t *testing.T) {
	for _, w := range []tensor.Dim{1, 3, 8, 9, 40} {
		for _, f := range [][2]tensor.Dim{{1, 2}, {2, 2}, {3, 4}, {2, 1}, {5, 9}} {
			x := iota32(1, 2, 3, w)
			to := dims{1, 2, 3 * f[0], w * f[1]}
			want := make([]float32, 0, to[1]*to[2]*to[3])
			for i := range 2 * to[2] * to[3] {
				want = append(want, elems[float32](x)[i/to[3]/f[0]*w+i%to[3]/f[1]])
			}
			wantOut(t, mustCall(t, &UpsampleNearest2dF32, x, to[2:], nil), to, want...)
		}
	}
	uneven := mustCall(t, &UpsampleNearest2dF32, iota32(1, 1, 1, 4), dims{1, 6}, nil) // pairs, and single ones
	wantOut(t, uneven, dims{1, 1, 1, 6}, float32(0), 0, 1, 2, 2, 3)
	odd := mustCall(t, &UpsampleNearest2dF32, iota32(1, 1, 1, 9), dims{2, 17}, nil) // pairs, and a last one alone
	line := []float32{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8}
	wantOut(t, odd, dims{1, 1, 2, 17}, slices.Concat(line, line)...)
	skipping := mustCall(t, &UpsampleNearest2dF32, iota32(1, 1, 1, 4), dims{1, 2}, nil)
	wantOut(t, skipping, dims{1, 1, 1, 2}, float32(0), 2)
	rolled := mustCall(t, &RollF32, iota32(1, 4), dims{1}, dims{1})
	wantOut(t, rolled, dims{1, 4}, float32(3), 0, 1, 2)
}

// TestNearestDivided enlarges an image and a line by pieces whose borders lie between equal elements.
func TestNearestDivided(t *testing.T) {
	for _, c := range []struct {
		x  *tensor.Tensor
		to dims
	}{{wave(1, 1, 60, 101), dims{180, 303}}, {wave(1, 1, 1, 20011), dims{1, 60033}}} {
		want := mustCall(t, &UpsampleNearest2dF32, c.x, c.to, nil)
		got := &tensor.Tensor{Meta: want.Meta, Data: make([]byte, len(want.Data))}
		env := &Env{Temp: &Temp{}, Threads: 2, Parallel: func(n, _ int, f func(lo, hi int)) {
			f(0, 1)
			for lo := 1; lo < n; lo += 60 {
				f(lo, min(lo+60, n))
			}
		}}
		if err := callInto(&UpsampleNearest2dF32, kernel.Best(), env, vals(c.x, c.to, nil), []tensor.Meta{want.Meta}, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%v to %v: the result of pieces is another one", c.x.Sizes, c.to)
		}
	}
}

// TestReplicatedFrames pads volumes, whose outer frames are there several times.
func TestReplicatedFrames(t *testing.T) {
	x := iota32(2, 2, 3, 4)
	sizes := dims{2, 6, 5, 8}
	var want []float32
	for i := range sizes[0] * sizes[1] * sizes[2] * sizes[3] {
		c, d, h, w := i/240, i/40%6-2, i/8%5-1, i%8-1
		want = append(want, elems[float32](x)[((c*2+min(max(d, 0), 1))*3+min(max(h, 0), 2))*4+min(max(w, 0), 3)])
	}
	wantOut(t, mustCall(t, &ReplicationPad3dF32, x, dims{1, 3, 1, 1, 2, 2}), sizes, want...)
}

func TestQuantizedEmbedding(t *testing.T) {
	w := mkTensor(tensor.Char, dims{2, 2}, []int8{1, 2, -3, 4})
	packed := mkTensor(tensor.Byte, dims{2, 1}, []uint8{0x9a, 0x5c})
	scales, zeros := mf32(dims{2, 2}, 1, 2, 0.5, 1), mf32(dims{2, 2}, 0, 1, 1, 0)
	at := mi64(dims{2}, 1, 0)
	wantOut(t, mustCall(t, &EmbeddingByteF32, w, scales, zeros, -128, 127, at), dims{2, 2}, float32(-2), 4, 1, 2)
	wantOut(t, mustCall(t, &EmbeddingByteF32, w, mf32(dims{2}, 1, 2), nil, -128, 127, at), dims{2, 2}, float32(-6), 8, 1, 2)
	wantOut(t, mustCall(t, &Embedding4bitF32, packed, scales, nil, -8, 7, at), dims{2, 2}, float32(-1.5), 4, 1, 4)
	square, turned := mi64(dims{2, 2}, 1, 0, 0, 0), &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Long, Sizes: dims{2, 2}, DimOrder: []uint8{1, 0}}, Data: make([]byte, 32)}
	Reorder(turned, square)
	wantOut(t, mustCall(t, &EmbeddingByteF32, w, scales, zeros, -128, 127, turned), dims{2, 2, 2}, float32(-2), 4, 1, 2, 1, 2, 1, 2)
	byColumns := mkTensor(tensor.Char, dims{2, 2}, []int8{1, -3, 2, 4})
	byColumns.DimOrder = []uint8{1, 0}
	if _, err := call(&EmbeddingByteF32, 1, true, byColumns, scales, zeros, -128, 127, at); err != errWeightOrder {
		t.Errorf("a table by columns: %v, want %v", err, errWeightOrder)
	}
	if _, err := call(&EmbeddingByteF32, 1, true, w, scales, zeros, -128, 127, mi64(dims{1}, 2)); !errors.Is(err, errIndex) {
		t.Errorf("index 2: %v, want %v", err, errIndex)
	}
}

// TestQuantizedRows looks up long rows in groups, on several threads: each element is what its own weight, scale and zero point give.
func TestQuantizedRows(t *testing.T) {
	const rows, groups = 5, 3
	for _, part := range []int{1, 2, 4, 7, 32, 130, 300, 301} {
		width := groups * part
		bytes, packed := make([]int8, rows*width), make([]uint8, rows*(width+1)/2)
		scales, zeros := make([]float32, rows*groups), make([]float32, rows*groups)
		for i := range bytes {
			bytes[i] = int8(i*7%16) - 8
			if width%2 == 0 {
				packed[i/2] |= uint8(bytes[i]+8) << (4 * (1 - i%2))
			}
		}
		for i := range scales {
			scales[i], zeros[i] = float32(i+1)/8, float32(i%5-2)
		}
		at := mi64(dims{3}, 4, 0, 2)
		var want []float32
		for _, k := range []int{4, 0, 2} {
			for i := range width {
				g := k*groups + i/part
				want = append(want, (float32(bytes[k*width+i])-zeros[g])*scales[g])
			}
		}
		s, z := mf32(dims{rows, groups}, scales...), mf32(dims{rows, groups}, zeros...)
		sizes := dims{3, int64(width)}
		wantOut(t, mustCall(t, &EmbeddingByteF32, mkTensor(tensor.Char, dims{rows, int64(width)}, bytes), s, z, -128, 127, at), sizes, want...)
		if width%2 == 0 {
			wantOut(t, mustCall(t, &Embedding4bitF32, mkTensor(tensor.Byte, dims{rows, int64(width / 2)}, packed), s, z, -8, 7, at), sizes, want...)
		}
		if width%4 != 0 {
			continue
		}
		quarters := make([]uint8, rows*width/4)
		for i := range bytes {
			bytes[i] = int8(i*3%7%4) - 2
			quarters[i/4] |= uint8(bytes[i]+2) << (2 * (i % 4))
		}
		for i := range want {
			k := []int{4, 0, 2}[i/width]
			g := k*groups + i%width/part
			want[i] = (float32(bytes[k*width+i%width]) - zeros[g]) * scales[g]
		}
		wantOut(t, mustCall(t, &Embedding2bitF32, mkTensor(tensor.Byte, dims{rows, int64(width / 4)}, quarters), s, z, -2, 1, at), sizes, want...)
	}
}

func TestCdist(t *testing.T) {
	x, y := mf32(dims{2, 1, 2}, 0, 0, 3, 4), mf32(dims{2, 2}, 3, 4, 0, 1)
	for _, test := range []struct {
		p    float64
		want []float32
	}{
		{0, []float32{2, 1, 0, 2}},
		{1, []float32{7, 1, 0, 6}},
		{2, []float32{5, 1, 0, 4.2426405}},
		{math.Inf(1), []float32{4, 1, 0, 3}},
		{3, []float32{4.4979415, 1, 0, 3.7797632}},
	} {
		wantOut(t, mustCall(t, &CdistForwardF32, x, y, test.p, nil), dims{2, 1, 2}, test.want...)
	}
	for _, p := range []float64{1, 2, 3} { // by lines in most tiers, but for the last one
		for _, width := range []int64{0, 1, 33, 600} {
			mustCall(t, &CdistForwardF32, wave(2, 1, 5, width), wave(3, 37, width), p, nil)
			mustCall(t, &CdistForwardF32, mixed(tensor.Float, 1, 6, width), mixed(tensor.Float, 2, 300, width), p, nil)
		}
	}
}
