package op

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func bools(sizes dims, data ...uint8) *tensor.Tensor { return mkTensor(tensor.Bool, sizes, data) }

type list = []*tensor.Tensor

func TestIndexing(t *testing.T) {
	x, cube := iota32(2, 3), iota32(2, 3, 2)
	col := mkTensor(tensor.Int, dims{2, 1}, []int32{0, -1})
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []float32
	}{
		{"rows", &IndexTensorF32, []any{x, list{mi64(dims{3}, 1, 0, -1)}}, dims{3, 3}, []float32{3, 4, 5, 0, 1, 2, 3, 4, 5}},
		{"columns", &IndexTensorF32, []any{x, list{nil, mi64(dims{2}, 2, 0)}}, dims{2, 2}, []float32{2, 0, 5, 3}},
		{"broadcast", &IndexTensorF32, []any{x, list{col, mi64(dims{2}, 2, 0)}}, dims{2, 2}, []float32{2, 0, 5, 3}},
		{"adjacent", &IndexTensorF32, []any{cube, list{nil, mi64(dims{1}, 1), mi64(dims{2}, 0, 1)}}, dims{2, 2}, []float32{2, 3, 8, 9}},
		{"apart", &IndexTensorF32, []any{cube, list{mi64(dims{2}, 0, 1), nil, mi64(dims{}, 1)}}, dims{2, 3}, []float32{1, 3, 5, 7, 9, 11}},
		{"middle", &IndexTensorF32, []any{cube, list{nil, mi64(dims{1, 2}, 2, 0)}}, dims{2, 1, 2, 2}, []float32{4, 5, 0, 1, 10, 11, 6, 7}},
		{"0-dim index", &IndexTensorF32, []any{x, list{mi64(dims{}, -1)}}, dims{3}, []float32{3, 4, 5}},
		{"order", &IndexTensorF32, []any{ordered(x, 1, 0), list{mi64(dims{1}, 1)}}, dims{1, 3}, []float32{3, 4, 5}},
		{"none", &IndexTensorF32, []any{x, list{mi64(dims{0})}}, dims{0, 3}, nil},
		{"mask", &IndexTensorF32, []any{x, list{bools(dims{2, 3}, 0, 1, 0, 1, 0, 1)}}, dims{3}, []float32{1, 3, 5}},
		{"mask of rows", &IndexTensorF32, []any{x, list{bools(dims{2}, 0, 1)}}, dims{1, 3}, []float32{3, 4, 5}},
		{"mask and index", &IndexTensorF32, []any{x, list{mi64(dims{2}, 0, 1), bools(dims{3}, 1, 0, 1)}}, dims{2}, []float32{0, 5}},
		{"put", &IndexPutF32, []any{x, list{mi64(dims{1}, -1)}, mf32(dims{}, 9), false}, dims{2, 3}, []float32{0, 1, 2, 9, 9, 9}},
		{"put columns", &IndexPutF32, []any{x, list{nil, mi64(dims{2}, 2, 0)}, mf32(dims{2}, 7, 8), false}, dims{2, 3}, []float32{8, 1, 7, 8, 4, 7}},
		{"put added", &IndexPutF32, []any{x, list{mi64(dims{2}, 0, 0)}, mf32(dims{2, 1}, 10, 20), true}, dims{2, 3}, []float32{30, 31, 32, 3, 4, 5}},
		{"put mask", &IndexPutF32, []any{x, list{bools(dims{2, 3}, 0, 1, 0, 0, 0, 1)}, mf32(dims{2}, 7, 8), false}, dims{2, 3}, []float32{0, 7, 2, 3, 4, 8}},
		{"index_select", &IndexSelectF32, []any{x, 1, mi64(dims{2}, 2, 0)}, dims{2, 2}, []float32{2, 0, 5, 3}},
		{"index_select slices", &IndexSelectF32, []any{cube, 1, mi64(dims{1}, 2)}, dims{2, 1, 2}, []float32{4, 5, 10, 11}},
		{"gather", &GatherF32, []any{x, 1, mi64(dims{2, 2}, 2, 0, 1, 1)}, dims{2, 2}, []float32{2, 0, 4, 4}},
		{"gather of order", &GatherF32, []any{ordered(x, 1, 0), 0, mi64(dims{1, 3}, 1, 0, 1)}, dims{1, 3}, []float32{3, 1, 5}},
		{"scatter", &ScatterSrcF32, []any{x, 1, mi64(dims{1, 2}, 2, 0), mf32(dims{1, 2}, 8, 9)}, dims{2, 3}, []float32{9, 1, 8, 3, 4, 5}},
		{"scatter value", &ScatterValueF32, []any{x, 0, mi64(dims{1, 2}, 1, 0), 9}, dims{2, 3}, []float32{0, 9, 2, 9, 4, 5}},
		{"scatter_add", &ScatterAddF32, []any{x, 1, mi64(dims{1, 2}, 2, 2), mf32(dims{1, 2}, 8, 9)}, dims{2, 3}, []float32{0, 1, 19, 3, 4, 5}},
		{"embedding", &EmbeddingF32, []any{x, mi64(dims{1, 2}, 1, 0), -1, false, false}, dims{1, 2, 3}, []float32{3, 4, 5, 0, 1, 2}},
		{"masked_fill", &MaskedFillScalarF32, []any{x, bools(dims{3}, 0, 1, 0), 9.5}, dims{2, 3}, []float32{0, 9.5, 2, 3, 9.5, 5}},
		{"masked_select", &MaskedSelectF32, []any{x, bools(dims{2, 1}, 0, 1)}, dims{3}, []float32{3, 4, 5}},
		{"masked_scatter", &MaskedScatterF32, []any{x, bools(dims{3}, 0, 1, 0), mf32(dims{3}, 7, 8, 9)}, dims{2, 3}, []float32{0, 7, 2, 3, 8, 5}},
	} {
		t.Run(test.name, func(t *testing.T) { wantOut(t, mustCall(t, test.k, test.args...), test.sizes, test.want...) })
	}
}

func TestNonzero(t *testing.T) {
	wantOut(t, mustCall(t, &NonzeroF32, mf32(dims{2, 2}, 0, 1, 2, 0)), dims{2, 2}, int64(0), 1, 1, 0)
	wantOut(t, mustCall(t, &NonzeroF32, mf32(dims{2}, 0, 0)), dims{0, 1}, []int64{}...)
	wantOut(t, mustCall(t, &NonzeroF32, mf32(dims{}, 3)), dims{1, 0}, []int64{}...)
}

func TestSort(t *testing.T) {
	nan := float32(math.NaN())
	x := mf32(dims{2, 3}, 2, nan, 1, 3, 1, 3)
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []int64
	}{
		{"sort", &SortF32, []any{x, -1, false}, dims{2, 3}, []int64{2, 0, 1, 1, 0, 2}},
		{"falling", &SortF32, []any{x, 1, true}, dims{2, 3}, []int64{1, 0, 2, 0, 2, 1}},
		{"along rows", &SortStableF32, []any{x, nil, 0, false}, dims{2, 3}, []int64{0, 1, 0, 1, 0, 1}},
		{"topk", &TopkF32, []any{x, 2, 1, true, true}, dims{2, 2}, []int64{1, 0, 0, 2}},
		{"least", &TopkF32, []any{x, 1, 0, false, true}, dims{1, 3}, []int64{0, 1, 0}},
		{"0-dim", &TopkF32, []any{mf32(dims{}, 1), 1, -1, true, true}, dims{}, []int64{0}},
	} {
		outs, err := call(test.k, 2, true, test.args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := plain[int64](outs[1]); !slices.Equal(got, test.want) || !slices.Equal(outs[0].Sizes, test.sizes) {
			t.Errorf("%s: places %v of sizes %v, want %v", test.name, got, outs[0].Sizes, test.want)
		}
	}
}

func TestIndexErrors(t *testing.T) {
	x := iota32(2, 3)
	for _, test := range []struct {
		k    *Kernel
		want error
		args []any
	}{
		{&IndexTensorF32, errIndex, []any{x, list{mi64(dims{1}, 2)}}},
		{&IndexTensorF32, errIndex, []any{x, list{mi64(dims{1}, math.MinInt64)}}},
		{&IndexTensorF32, errIndexType, []any{x, list{x}}},
		{&IndexTensorF32, errTooMany, []any{x, list{nil, nil, mi64(dims{1}, 0)}}},
		{&IndexTensorF32, errNoIndex, []any{x, list{nil}}},
		{&IndexTensorF32, errIndexSizes, []any{x, list{mi64(dims{2}, 0, 0), mi64(dims{3}, 0, 0, 0)}}},
		{&IndexTensorF32, errSizes, []any{x, list{bools(dims{1}, 1)}}},
		{&IndexTensorF32, errSizes, []any{x, list{bools(dims{3}, 0, 0, 1)}}},
		{&IndexTensorF32, errMask, []any{x, list{bools(dims{}, 1)}}},
		{&IndexPutF32, errBroadcast, []any{x, list{mi64(dims{1}, 0)}, mf32(dims{2}, 1, 2), false}},
		{&IndexPutF32, errSameType, []any{x, list{mi64(dims{1}, 0)}, mi64(dims{}, 1), false}},
		{&IndexSelectF32, errIndex, []any{x, 1, mi64(dims{1}, -1)}},
		{&GatherF32, errIndex, []any{x, 1, mi64(dims{1, 1}, 3)}},
		{&GatherF32, errSizes, []any{x, 1, mi64(dims{3, 1}, 0, 0, 0)}},
		{&ScatterSrcF32, errSizes, []any{x, 1, mi64(dims{1, 2}, 0, 0), mf32(dims{1, 1}, 0)}},
		{&EmbeddingF32, errIndex, []any{x, mi64(dims{1}, 2), -1, false, false}},
		{&EmbeddingF32, errDims, []any{iota32(2), mi64(dims{1}, 2), -1, false, false}},
		{&MaskedScatterF32, errTooFew, []any{x, bools(dims{3}, 0, 1, 0), mf32(dims{1}, 7)}},
		{&TopkF32, errTopk, []any{x, 4, 1, true, true}},
	} {
		if _, err := call(test.k, 1+int(toBool(test.k == &TopkF32)), true, test.args...); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.k.Def.Schema, err, test.want)
		}
	}
	_, err := call(&EmbeddingF32, 1, true, x, mi64(dims{2}, 1, 1005), -1, false, false)
	if want := "check index: 1005 is out of bounds for a dimension of size 2"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestIndexAllocates(t *testing.T) {
	var temp Temp
	out := mf32(dims{3, 3}, make([]float32, 9)...)
	c := &Call{Args: vals(iota32(2, 3), list{mi64(dims{3}, 1, 0, -1)}, mf32(dims{}, 9), true), Out: list{out}, Alloc: temp.Alloc}
	self := &Call{Args: c.Args, Out: list{c.Args[0].Tensor}, Alloc: temp.Alloc}
	for _, run := range []func() error{
		func() error { return runIndex[uint32](c, nil) },
		func() error { return runIndexPut[float32](self, nil) },
	} {
		n := testing.AllocsPerRun(10, func() {
			temp.Reset()
			if err := run(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestEvenIndices reads and writes places that lie equally far apart, which is one move, and others, against a loop.
func TestEvenIndices(t *testing.T) {
	for _, places := range [][]int64{{3}, {2, 3, 4, 5}, {0, 2, 4}, {-1}, {4, 3, 2}, {1, 1, 1}, {0, 1, 3}, {2, 3, 4, 3}, {}} {
		for _, inner := range []tensor.Dim{1, 2, 40} {
			x, n := wave(3, 6, inner), tensor.Dim(len(places))
			values := wave(3, n, inner)
			index := tensors{nil, mi64(dims{n}, places...)}
			got := elems[float32](planned(t, &IndexTensorF32, kernel.Scalar, false, x, index))
			put := elems[float32](planned(t, &IndexPutF32, kernel.Scalar, false, x, index, values, false))
			added := elems[float32](planned(t, &IndexPutF32, kernel.Scalar, false, x, index, values, true))
			wantPut, wantAdded := slices.Clone(elems[float32](x)), slices.Clone(elems[float32](x))
			for a := range 3 {
				for i, at := range places {
					at = (at + 6) % 6
					for k := range int(inner) {
						from, to := (a*int(n)+i)*int(inner)+k, (a*6+int(at))*int(inner)+k
						if v := elems[float32](x)[to]; got[from] != v {
							t.Fatalf("indices %v of rows of %d: element %d is %v, want %v", places, inner, from, got[from], v)
						}
						wantPut[to] = elems[float32](values)[from]
						wantAdded[to] += elems[float32](values)[from]
					}
				}
			}
			if !slices.Equal(put, wantPut) || !slices.Equal(added, wantAdded) {
				t.Errorf("indices %v of rows of %d: put %v, want %v; added %v, want %v", places, inner, put, wantPut, added, wantAdded)
			}
		}
	}
}
