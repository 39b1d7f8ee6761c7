package npy

import (
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestRoundTrip(t *testing.T) {
	for _, sizes := range [][]tensor.Dim{{}, {3}, {2, 3}, {0, 2}, {500, 500, 0}} {
		in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Short, Sizes: sizes}}
		in.Data = make([]byte, in.Nbytes())
		for i := range in.Data {
			in.Data[i] = byte(i)
		}
		out, err := Parse(Format(in))
		if err != nil || !slices.Equal(out.Sizes, sizes) || !slices.Equal(out.Data, in.Data) || out.DType != in.DType {
			t.Errorf("Parse(Format(%v)) = %+v, %v", sizes, out, err)
		}
	}
}

func TestFormatReorders(t *testing.T) {
	in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{2, 3}, DimOrder: []uint8{1, 0}}, Data: []byte{1, 4, 2, 5, 3, 6}}
	out, err := Parse(Format(in))
	if err != nil || !slices.Equal(out.Data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("got %v, %v", out, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Format(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{1}}, Data: []byte{1}}))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = Parse(b) })
}
