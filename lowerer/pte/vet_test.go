package pte

import (
	"bytes"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer"
)

// TestPrintMethod checks the text of every kind of input.
func TestPrintMethod(t *testing.T) {
	eight := int64(8)
	m := lowerer.MethodInputs{Method: "de-code", Model: "m.pt2", Inputs: []lowerer.Input{
		{Name: "n", Kind: "int"},
		{Kind: "none"},
		{Name: "x", Kind: "tensor", DType: "int64", Sizes: []string{}},
		{Name: "y", Kind: "tensor", DType: "float32", Sizes: []string{"s0", "2*s1", "s1", "3"}, Dynamic: []lowerer.Dynamic{
			{Dim: 0, Size: "s0", Min: 1, Max: &eight},
			{Dim: 1, Size: "2*s1", Min: 0},
			{Dim: 2, Size: "s1", Min: 0, Exported: 600},
		}},
	}}
	var out bytes.Buffer
	printMethod(&out, "", &m)
	want := `method de-code of m.pt2
  n int
  none
  x int64 []
  y float32 [s0, 2*s1, s1, 3]
    dimension 0: s0 is 1 to 8
    dimension 1: 2*s1 is 0 or more, without a bound
    dimension 2: s1 is 0 or more, without a bound
      hint: methods: "de-code": dynamic_shapes: y: "2": max: 1024
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
