package op

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestCombining(t *testing.T) {
	x, src := mf32(dims{3}, 1, 2, 3), mf32(dims{4}, 4, 5, 8, 6)
	at := mi64(dims{4}, 0, 0, 2, 0)
	for _, test := range []struct {
		name, reduce string
		own          bool
		want         []float32
	}{
		{"sum", "sum", false, []float32{15, 2, 8}},
		{"prod", "prod", true, []float32{120, 2, 24}},
		{"mean", "mean", true, []float32{4, 2, 5.5}},
		{"mean of the named", "mean", false, []float32{5, 2, 8}},
		{"amax", "amax", true, []float32{6, 2, 8}},
		{"amin", "amin", false, []float32{4, 2, 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantOut(t, mustCall(t, &ScatterReduceF32, x, 0, at, src, test.reduce, test.own), dims{3}, test.want...)
		})
	}
	ints := mustCall(t, &ScatterReduceI64, mi64(dims{1}, 0), 0, mi64(dims{2}, 0, 0), mi64(dims{2}, -3, -2), "mean", false)
	wantOut(t, ints, dims{1}, int64(-3))
	wantOut(t, mustCall(t, &LogcumsumexpF32, mf32(dims{3}, float32(math.Inf(-1)), 0, 0), 0), dims{3}, float32(math.Inf(-1)), 0, math.Ln2)
}

// TestPicking checks where kernels find what they pick.
func TestPicking(t *testing.T) {
	nan := float32(math.NaN())
	row := mf32(dims{1, 5}, 3, nan, 1, 2, 1)
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []int64
	}{
		{"kthvalue", &KthvalueF32, []any{row, 3, 1, false}, dims{1}, []int64{3}},
		{"median", &MedianDimF32, []any{row, 1, true}, dims{1, 1}, []int64{1}},
		{"nanmedian", &NanmedianDimF32, []any{row, 1, false}, dims{1}, []int64{4}},
		{"mode", &ModeF32, []any{row, -1, false}, dims{1}, []int64{4}},
		{"cummax", &CummaxF32, []any{mf32(dims{5}, 1, 3, 3, nan, 5), 0}, dims{5}, []int64{0, 1, 2, 3, 3}},
		{"cummin", &CumminF32, []any{mf32(dims{2, 2}, 3, 4, 1, 9), 0}, dims{2, 2}, []int64{0, 0, 1, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			outs, err := call(test.k, 2, true, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			wantOut(t, outs[1], test.sizes, test.want...)
		})
	}
}

// TestPickingOrders picks of images with the channels innermost, whose results lie so, too.
func TestPickingOrders(t *testing.T) {
	x := wave(2, 3, 4, 5)
	last := ordered(x, 0, 2, 3, 1)
	for name, of := range map[string]func(x *tensor.Tensor, dim int, keep bool) ([]*tensor.Tensor, error){
		"median": func(x *tensor.Tensor, dim int, keep bool) ([]*tensor.Tensor, error) {
			return call(&MedianDimF32, 2, true, x, dim, keep)
		},
		"kthvalue": func(x *tensor.Tensor, dim int, keep bool) ([]*tensor.Tensor, error) {
			return call(&KthvalueF32, 2, true, x, 2, dim, keep)
		},
	} {
		for dim := range 4 {
			for _, keep := range []bool{false, true} {
				want, err := of(x, dim, keep)
				if err != nil {
					t.Fatal(err)
				}
				got, err := of(last, dim, keep)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want {
					plain := &tensor.Tensor{Meta: want[i].Meta, Data: make([]byte, len(want[i].Data))}
					Reorder(plain, got[i])
					if string(plain.Data) != string(want[i].Data) {
						t.Errorf("%s along %d, keepdim %v: result %d differs", name, dim, keep, i)
					}
				}
			}
		}
	}
}

func TestSearchSorted(t *testing.T) {
	nan := float32(math.NaN())
	row, x := mf32(dims{4}, 1, 2, 2, 5), mf32(dims{4}, 2, 0, 9, nan)
	wantOut(t, mustCall(t, &SearchSortedF32, row, x, false, false, nil, nil), dims{4}, int64(1), 0, 4, 4)
	wantOut(t, mustCall(t, &SearchSortedF32, row, x, false, false, "right", nil), dims{4}, int64(3), 0, 4, 4)
	shuffled, sorter := mf32(dims{4}, 5, 2, 1, 2), mi64(dims{4}, 2, 1, 3, 0)
	wantOut(t, mustCall(t, &SearchSortedF32, shuffled, x, true, false, nil, sorter), dims{4}, int32(1), 0, 4, 4)
	missing := mf32(dims{5}, 1, 2, 2, 5, nan)
	wantOut(t, mustCall(t, &SearchSortedF32, missing, x, false, false, nil, nil), dims{4}, int64(1), 0, 5, 5)
}
