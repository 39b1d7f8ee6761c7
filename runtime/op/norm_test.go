package op

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestBatchNormOrders normalizes a tensor in every order of its dimensions, which says nothing about its elements.
func TestBatchNormOrders(t *testing.T) {
	channel := func(x ...float32) *tensor.Tensor { return mf32([]tensor.Dim{3}, x...) }
	x := iota32(2, 3, 2, 4)
	k := NewTable(Kernels).Lookup("aten::_native_batch_norm_legit_no_training.out", tensor.Float)
	run := func(x *tensor.Tensor) []float32 {
		outs, err := call(k, 3, false, x, channel(1, 2, 3), channel(4, 5, 6), channel(7, 8, 9), channel(1, 2, 4), 0.1, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return plain[float32](outs[0])
	}
	want := run(x)
	for _, order := range [][]uint8{{0, 2, 3, 1}, {3, 1, 0, 2}, {2, 0, 1, 3}, {0, 1, 3, 2}, {1, 0, 2, 3}} {
		got := run(ordered(x, order...))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("order %v: element %d = %v, want %v", order, i, got[i], want[i])
				break
			}
		}
	}
}

// TestDimOrdersAreChecked gives lists that are no permutations.
func TestDimOrdersAreChecked(t *testing.T) {
	k := NewTable(Kernels).Lookup("dim_order_ops::_to_dim_order_copy.out", tensor.Float)
	for _, order := range [][]int64{{0, 1, 0}, {0, -1, 2}, {0, 1}, {0, 1, 3}} {
		if _, err := call(k, 1, false, iota32(1, 2, 3), false, order); err == nil {
			t.Errorf("order %v is taken", order)
		}
	}
}

// TestConvolutionArguments gives packed convolutions arguments that Prepare has to refuse.
func TestConvolutionArguments(t *testing.T) {
	k := NewTable(Kernels).Lookup("aten::convolution.out", tensor.Float)
	one := []int64{1, 1}
	for name, args := range map[string][]any{
		"groups 0":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 0},
		"groups 3":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 3},
		"stride 0":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, []int64{0, 1}, one, one, false, one, 1},
		"bias":       {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), iota32(1), one, one, one, false, one, 1},
		"rank":       {iota32(4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 1},
		"weight":     {iota32(1, 2, 4, 4), iota32(2), nil, one, one, one, false, one, 1},
		"no channel": {iota32(1, 2, 4, 4), iota32(2, 1, 3, 3), nil, one, one, one, false, one, 1},
	} {
		sig := ParseSignature(k.Def.Schema)
		out := iota32(1, 2, 4, 4)
		if _, err := Prepare(k, &sig, vals(args...), []tensor.Meta{out.Meta}, Options{}); err == nil {
			t.Errorf("%s: Prepare takes it", name)
		}
	}
}
