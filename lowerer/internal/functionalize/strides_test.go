package functionalize

import (
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestOrderOf(t *testing.T) {
	channelsLast, permuted := []uint8{0, 2, 3, 1}, []uint8{0, 2, 1, 3}
	for _, c := range []struct {
		op                    string
		dimOrder, order, want []uint8
	}{
		{op: "aten::relu", order: permuted, want: permuted},
		{op: "aten::relu", dimOrder: channelsLast, want: channelsLast},
		{op: "aten::log_sigmoid", dimOrder: channelsLast, order: channelsLast},
		{op: "aten::batch_norm", order: permuted},
		{op: "aten::batch_norm", dimOrder: channelsLast, order: channelsLast, want: channelsLast},
	} {
		v := &exir.Value{Spec: tensor.Meta{DimOrder: c.dimOrder}, Order: c.order, Node: &exir.Node{Op: exir.MustSchema(c.op)}}
		if got := orderOf(v); !slices.Equal(got, c.want) {
			t.Errorf("%s of %v, %v: got %v, want %v", c.op, c.dimOrder, c.order, got, c.want)
		}
	}
}

func TestReshapedStrides(t *testing.T) {
	for _, c := range []struct{ sizes, strides, to, want []tensor.Dim }{
		{[]int64{2, 3}, []int64{3, 1}, []int64{6}, []int64{1}},
		{[]int64{2, 3}, []int64{1, 2}, []int64{6}, nil},
		{[]int64{2, 3}, []int64{1, 2}, []int64{2, 3, 1}, []int64{1, 2, 2}},
		{[]int64{4, 2}, []int64{4, 1}, []int64{2, 2, 2}, []int64{8, 4, 1}},
		{[]int64{4, 2}, []int64{4, 1}, []int64{8}, nil},
		{[]int64{4, 1, 2}, []int64{8, 5, 1}, []int64{4, 2}, []int64{8, 1}},
		{[]int64{6, 2}, []int64{1, 6}, []int64{3, 2, 2}, []int64{2, 1, 6}},
		{[]int64{3}, []int64{0}, []int64{1, 3}, []int64{0, 0}},
		{nil, nil, []int64{1, 1}, []int64{1, 1}},
		{[]int64{1}, []int64{7}, nil, []int64{}},
	} {
		s := &state{shapes: &tensor.Shapes{}}
		got := s.reshapedStrides(c.sizes, c.strides, c.to)
		if !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%v with strides %v as %v: got %v, want %v", c.sizes, c.strides, c.to, got, c.want)
		}
	}
}
