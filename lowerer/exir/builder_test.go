package exir

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestWrappedNumbers checks that a number has no part in the type of a result.
func TestWrappedNumbers(t *testing.T) {
	for _, sizes := range [][]tensor.Dim{nil, {3}} {
		b := NewBuilder(&Program{Shapes: &tensor.Shapes{}}, &Graph{})
		x := &Value{Name: "x", Kind: TensorValue, Spec: tensor.Meta{DType: tensor.Half, Sizes: sizes}}
		y := b.Op("aten::div.Tensor", x, 5)
		if b.Err != nil {
			t.Fatal(b.Err)
		}
		if y.Spec.DType != tensor.Half {
			t.Errorf("float16%v / 5 is %v, want float16", sizes, y.Spec.DType)
		}
	}
}
