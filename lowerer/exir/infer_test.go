package exir_test

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestCeilMode gives a pooling whose last window may or may not start inside of the input: torch.export assumes either, by its example.
func TestCeilMode(t *testing.T) {
	table := symint.NewTable()
	s := table.Symbol("s", 2, math.MaxInt64, 7)
	shapes := &tensor.Shapes{Table: table}
	infer := op.Infer{Shapes: shapes, Out: make([]tensor.Meta, 2), Args: []op.Value{
		{Kind: op.Tensor, Tensor: &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{3, 2, s, 7}}}},
		{Kind: op.Ints, Ints: []int64{2, 2}}, {Kind: op.Ints, Ints: []int64{2, 2}}, {Kind: op.Ints, Ints: []int64{1, 0}}, {Kind: op.Ints, Ints: []int64{1, 1}},
		{Kind: op.Bool, Int: 1},
	}}
	if err := op.MaxPool2dWithIndices.Infer(&infer); err != nil {
		t.Fatal(err)
	}
	got, half := infer.Out[0].Sizes[2], shapes.FloorDiv(shapes.Add(s, 1), 2)
	for _, want := range []tensor.Dim{half, shapes.Add(half, 1)} {
		if shapes.Equal(got, want) == tensor.No {
			t.Errorf("%s is never %s", table.String(got), table.String(want))
		}
	}
	if shapes.Equal(got, shapes.Add(half, 2)) != tensor.No {
		t.Errorf("%s may be %s", table.String(got), table.String(shapes.Add(half, 2)))
	}
}
