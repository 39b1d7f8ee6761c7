package functionalize

import (
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestComposed gives the results of operators on x after relu was written to it: those that show x are of what it is then.
func TestComposed(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int64 // of x
		op    string
		args  func(x *exir.Value) []any
		outs  [][]int64
		want  string
	}{
		{"a permutation", []int64{2, 3, 4}, "aten::einsum", equation("...ij -> ...ji"), [][]int64{{2, 4, 3}}, `
%0 = relu x
%1 = permute_copy %0 [0 2 1]
input %0 x
output %1 
`},
		{"letters in order", []int64{2, 3}, "aten::einsum", equation("ba"), [][]int64{{3, 2}}, `
%0 = relu x
%1 = permute_copy %0 [1 0]
input %0 x
output %1 
`},
		{"diagonals", []int64{2, 3, 2, 3}, "aten::einsum", equation("abab->ba"), [][]int64{{3, 2}}, `
%0 = relu x
%1 = diagonal_copy %0 0 0 2
%2 = diagonal_copy %1 0 0 1
%3 = permute_copy %2 [1 0]
input %0 x
output %3 
`},
		{"a trace", []int64{3, 3}, "aten::einsum", equation("ii"), [][]int64{{}}, `
%0 = einsum 0 [x] None
%1 = relu x
input %1 x
output %0 
`},
		{"a sum of what comes before", []int64{2, 3, 4}, "aten::einsum", equation("...ij->ij"), [][]int64{{3, 4}}, `
%0 = einsum 0 [x] None
%1 = relu x
input %1 x
output %0 
`},
		{"letters of another rank", []int64{2, 3}, "aten::einsum", equation("abb->ab"), [][]int64{{2, 3}}, `
%0 = einsum 0 [x] None
%1 = relu x
input %1 x
output %0 
`},
		{"a grid", []int64{3}, "aten::meshgrid.indexing", func(x *exir.Value) []any {
			return []any{[]*exir.Value{x, x}, exir.ToArg("xy")}
		}, [][]int64{{3, 3}, {3, 3}}, `
%0 = relu x
%1 = view_copy %0 [1 3]
%2 = expand_copy %1 [3 3] 0
%3 = view_copy %0 [3 1]
%4 = expand_copy %3 [3 3] 0
input %0 x
output %2 
output %4 
`},
		{"a grid of one", []int64{3}, "aten::meshgrid", list(1), [][]int64{{3}}, `
%0 = relu x
input %0 x
output %0 
`},
		{"a broadcast", []int64{3, 1}, "aten::broadcast_tensors", list(2), [][]int64{{3, 2}, {3, 2}}, `
%0 = relu x
%1 = expand_copy %0 [3 2] 0
%2 = expand_copy %0 [3 2] 0
input %0 x
output %1 
output %2 
`},
		{"the product of one", []int64{3}, "aten::cartesian_prod", list(1), [][]int64{{3}}, `
%0 = relu x
input %0 x
output %0 
`},
		{"the product of two", []int64{2}, "aten::cartesian_prod", list(2), [][]int64{{4, 2}}, `
%0 = cartesian_prod [x x]
%1 = relu x
input %1 x
output %0 
`},
		{"each of a list", []int64{3}, "aten::atleast_2d.Sequence", list(2), [][]int64{{1, 3}, {1, 3}}, `
%0 = relu x
%1 = view_copy %0 [1 3]
%2 = view_copy %0 [1 3]
input %0 x
output %1 
output %2 
`},
		{"a sum to the same sizes", []int64{3, 4}, "aten::sum_to_size", sizes(3, 4), [][]int64{{3, 4}}, `
%0 = relu x
input %0 x
output %0 
`},
		{"a sum of no dimensions", []int64{}, "aten::sum_to_size", sizes(), [][]int64{{}}, `
%0 = sum_to_size x []
%1 = relu x
input %1 x
output %0 
`},
		{"a sum to fewer", []int64{3, 4}, "aten::sum_to_size", sizes(3, 1), [][]int64{{3, 1}}, `
%0 = sum_to_size x [3 1]
%1 = relu x
input %1 x
output %0 
`},
		{"a real conjugate", []int64{3}, "aten::conj_physical", sizes(), [][]int64{{3}}, `
%0 = relu x
input %0 x
output %0 
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram()
			p.input("x", exir.UserInput, c.sizes...)
			p.call("y", c.op, c.outs[0], c.args(p.values["x"])...)
			names := []string{"y"}
			for _, sizes := range c.outs[1:] {
				n := p.values["y"].Node
				v := &exir.Value{Name: "z", Node: n, Spec: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
				p.values["z"], n.Outs, names = v, append(n.Outs, v), append(names, "z")
			}
			p.call("w", "aten::relu_", c.sizes, "x")
			p.output(names...)
			if err := Run(&exir.Program{Shapes: &tensor.Shapes{}}, p.m); err != nil {
				t.Fatal(err)
			}
			if got := "\n" + text(p.m); got != c.want {
				t.Errorf("got%swant%s", got, c.want)
			}
		})
	}
}

func equation(text string) func(x *exir.Value) []any {
	return func(x *exir.Value) []any { return []any{exir.ToArg(text), []*exir.Value{x}} }
}

// list is x n times.
func list(n int) func(x *exir.Value) []any {
	return func(x *exir.Value) []any { return []any{slices.Repeat([]*exir.Value{x}, n)} }
}

func sizes(want ...int64) func(x *exir.Value) []any {
	return func(x *exir.Value) []any { return []any{x, want} }
}
