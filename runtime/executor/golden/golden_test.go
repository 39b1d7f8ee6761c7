package golden

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func floats(order []uint8, x ...float32) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 2}, DimOrder: order}}
	for _, v := range x {
		b := math.Float32bits(v)
		t.Data = append(t.Data, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	return t
}

func TestSame(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	want := floats(nil, 1, nan, inf, 4)
	longs := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Long, Sizes: want.Sizes}, Data: make([]byte, 32)}
	op.CastBytes(longs.Data, tensor.Long, floats(nil, 1, 2, 3, 4).Data, tensor.Float, 4)
	for _, c := range []struct {
		name      string
		got, want *tensor.Tensor
		problem   string
	}{
		{"equal", floats(nil, 1, nan, inf, 4.25), want, ""},
		{"other order", floats([]uint8{1, 0}, 1, inf, nan, 4), want, ""},
		{"far", floats(nil, 1, nan, inf, 4.5), want, "element 3: got 4.5, want 4 (within 0.25 + 0·|want|)"},
		{"infinity", floats(nil, 1, nan, 3, 4), want, "element 2: got 3, want +Inf (within 0.25 + 0·|want|)"},
		{"type", longs, want, "got int64[2 2], want float32[2 2]"},
		{"integers", longs, longs, ""},
	} {
		problem := ""
		if err := Same(c.got, c.want, 0, 0.25); err != nil {
			problem = err.Error()
		}
		if problem != c.problem {
			t.Errorf("%s: got %q, want %q", c.name, problem, c.problem)
		}
	}
}
