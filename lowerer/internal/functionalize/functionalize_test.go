package functionalize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// program builds a graph of training IR by hand.
type program struct {
	m      *exir.Method
	values map[string]*exir.Value
}

func newProgram() *program {
	return &program{&exir.Method{Name: "forward", Graph: &exir.Graph{}}, map[string]*exir.Value{}}
}

func (p *program) input(name string, kind exir.InputKind, sizes ...int64) {
	v := &exir.Value{Name: name, Spec: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
	p.values[name] = v
	p.m.Graph.Inputs = append(p.m.Graph.Inputs, v)
	p.m.Inputs = append(p.m.Inputs, exir.InputSpec{Kind: kind, Target: name})
}

// call adds a node; strings among args name values.
func (p *program) call(name, op string, sizes []int64, args ...any) {
	s := exir.MustSchema(op)
	n := &exir.Node{Name: name, Op: s}
	for i, param := range s.Args {
		a := param.Default
		if i < len(args) {
			if text, ok := args[i].(string); ok {
				args[i] = p.values[text]
			}
			a = exir.ToArg(args[i])
		}
		n.Args = append(n.Args, a)
	}
	v := &exir.Value{Name: name, Node: n, Spec: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
	p.values[name] = v
	n.Outs = []*exir.Value{v}
	p.m.Graph.Nodes = append(p.m.Graph.Nodes, n)
}

func (p *program) output(names ...string) {
	for _, name := range names {
		p.m.Graph.Outputs = append(p.m.Graph.Outputs, exir.ToArg(p.values[name]))
		p.m.Outputs = append(p.m.Outputs, exir.OutputSpec{})
	}
}

// text prints a graph, values numbered in the order in which they are made.
func text(m *exir.Method) string {
	var b strings.Builder
	names := map[*exir.Value]string{}
	for _, v := range m.Graph.Inputs {
		names[v] = v.Name
	}
	var show func(a exir.Arg) string
	show = func(a exir.Arg) string {
		switch a.Kind {
		case exir.ArgValue:
			return names[a.Value]
		case exir.ArgList:
			var parts []string
			for _, m := range a.List {
				parts = append(parts, show(m))
			}
			return "[" + strings.Join(parts, " ") + "]"
		case exir.ArgNone:
			return "None"
		}
		return fmt.Sprint(a.Int)
	}
	for _, n := range m.Graph.Nodes {
		for _, v := range n.Outs {
			names[v] = fmt.Sprintf("%%%d", len(names)-len(m.Graph.Inputs))
		}
		fmt.Fprintf(&b, "%s = %s", names[n.Outs[0]], strings.TrimPrefix(n.Op.Name, "aten::"))
		for _, a := range n.Args {
			b.WriteString(" " + show(a))
		}
		b.WriteByte('\n')
	}
	for i, a := range m.Graph.Outputs {
		fmt.Fprintf(&b, "%s %s %s\n", []string{"output", "buffer", "input"}[m.Outputs[i].Kind], show(a), m.Outputs[i].Target)
	}
	return b.String()
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(p *program)
		want  string
	}{
		{"write to a buffer", func(p *program) {
			p.input("n", exir.Buffer, 2)
			p.call("a", "aten::add_.Tensor", []int64{2}, "n", "n")
			p.call("b", "aten::copy_", []int64{2}, "n", "a")
			p.output("b")
		}, `
%0 = add.Tensor n n 1
buffer %0 n
output %0 
`},
		{"write through views, read through another", func(p *program) {
			p.input("x", exir.UserInput, 4, 3)
			p.call("row", "aten::select.int", []int64{3}, "x", 0, 1)
			p.call("t", "aten::t", []int64{3, 4}, "x")
			p.call("part", "aten::slice.Tensor", []int64{2}, "row", 0, 0, 2)
			p.call("z", "aten::zero_", []int64{2}, "part")
			p.output("t")
		}, `
%0 = select_copy.int x 0 1
%1 = slice_copy.Tensor %0 0 0 2 1
%2 = full_like %1 0 None None None None None
%3 = slice_scatter %0 %2 0 0 2 1
%4 = select_scatter x %3 0 1
%5 = permute_copy %4 [1 0]
input %4 x
output %5 
`},
		{"rows of a cache", func(p *program) {
			p.input("cache", exir.Buffer, 2, 8, 3, 4)
			p.input("rows", exir.UserInput, 2, 5, 3, 4)
			p.input("at", exir.UserInput, 2, 5)
			p.call("a", "llama::update_cache", []int64{1}, "rows", "cache", 2)
			p.call("b", "llama::update_cache_with_indices", []int64{1}, "rows", "cache", 0, "at")
			p.output("b")
		}, `
%0 = arange 5 None None None None
%1 = add.Scalar %0 2 1
%2 = index_put cache [None %1] rows 0
%3 = arange 2 None None None None
%4 = unsqueeze_copy %3 1
%5 = index_put %2 [%4 at] rows 0
%6 = full [1] 0 None None None None
buffer %5 cache
output %6 
`},
		{"attention that writes its caches", func(p *program) {
			p.input("q", exir.UserInput, 1, 2, 4, 8)
			p.input("k", exir.UserInput, 1, 2, 2, 8)
			p.input("v", exir.UserInput, 1, 2, 2, 8)
			p.input("keys", exir.Buffer, 1, 16, 2, 8)
			p.input("values", exir.Buffer, 1, 16, 2, 8)
			p.call("a", "llama::sdpa_with_kv_cache", []int64{1, 2, 4, 8}, "q", "k", "v", "keys", "values", 3, 2, nil, 0.0, true)
			p.output("a")
		}, `
%0 = arange 2 None None None None
%1 = add.Scalar %0 3 1
%2 = index_put keys [None %1] k 0
%3 = arange 2 None None None None
%4 = add.Scalar %3 3 1
%5 = index_put values [None %4] v 0
%6 = llama::custom_sdpa q %2 %5 3 None 0 1 None
buffer %2 keys
buffer %5 values
output %6 
`},
		{"axes swapped in place", func(p *program) {
			p.input("n", exir.Buffer, 2, 3)
			p.call("swapped", "aten::swapaxes_", []int64{3, 2}, "n", 0, 1)
			p.call("again", "aten::swapdims_", []int64{2, 3}, "swapped", 0, 1)
			p.output("again")
		}, `
%0 = permute_copy n [1 0]
%1 = permute_copy %0 [1 0]
output %1 
`},
		{"a view of columns shows them, a reshape of a transpose does not", func(p *program) {
			p.input("n", exir.Buffer, 4, 4)
			p.call("columns", "aten::slice.Tensor", []int64{4, 2}, "n", 1, 0, 2)
			p.call("pairs", "aten::reshape", []int64{2, 2, 2}, "columns", []int64{2, 2, 2})
			p.call("shown", "aten::relu_", []int64{2, 2, 2}, "pairs")
			p.call("t", "aten::t", []int64{4, 4}, "n")
			p.call("row", "aten::reshape", []int64{16}, "t", []int64{16})
			p.call("copied", "aten::relu_", []int64{16}, "row")
			p.output("copied")
		}, `
%0 = slice_copy.Tensor n 1 0 2 1
%1 = view_copy %0 [2 2 2]
%2 = relu %1
%3 = view_copy %2 [4 2]
%4 = slice_scatter n %3 1 0 2 1
%5 = permute_copy %4 [1 0]
%6 = view_copy %5 [16]
%7 = relu %6
buffer %4 n
output %7 
`},
		{"what is computed from a transpose lies as it does, and contiguous copies it", func(p *program) {
			p.input("x", exir.UserInput, 2, 3, 4)
			p.call("t", "aten::mT", []int64{2, 4, 3}, "x")
			p.call("y", "aten::relu", []int64{2, 4, 3}, "t")
			p.values["y"].Order = []uint8{0, 2, 1}
			p.call("z", "aten::contiguous", []int64{2, 4, 3}, "y")
			p.call("row", "aten::flatten.using_ints", []int64{2, 12}, "y", 1)
			p.call("a", "aten::sin_", []int64{2, 4, 3}, "z")
			p.call("b", "aten::cos_", []int64{2, 12}, "row")
			p.call("back", "aten::mT", []int64{2, 3, 4}, "y")
			p.call("same", "aten::contiguous", []int64{2, 3, 4}, "back")
			p.call("c", "aten::exp_", []int64{2, 3, 4}, "same")
			p.output("y", "a", "b")
		}, `
%0 = permute_copy x [0 2 1]
%1 = relu %0
%2 = view_copy %1 [2 12]
%3 = sin %1
%4 = cos %2
%5 = permute_copy %1 [0 2 1]
%6 = exp %5
%7 = permute_copy %6 [0 2 1]
output %7 
output %3 
output %4 
`},
		{"ravel copies what is not contiguous", func(p *program) {
			p.input("x", exir.UserInput, 4, 2)
			p.call("column", "aten::slice.Tensor", []int64{4, 1}, "x", 1, 0, 1)
			p.call("copy", "aten::ravel", []int64{4}, "column")
			p.call("a", "aten::sin_", []int64{4}, "copy")
			p.call("all", "aten::ravel", []int64{8}, "x")
			p.call("b", "aten::cos_", []int64{8}, "all")
			p.output("a")
		}, `
%0 = slice_copy.Tensor x 1 0 1 1
%1 = view_copy %0 [4]
%2 = sin %1
%3 = view_copy x [8]
%4 = cos %3
%5 = view_copy %4 [4 2]
input %5 x
output %2 
`},
		{"a write through as_strided", func(p *program) {
			p.input("n", exir.Buffer, 2, 3)
			p.call("part", "aten::as_strided", []int64{2, 2}, "n", []int64{2, 2}, []int64{3, 1}, 1)
			p.call("a", "aten::relu_", []int64{2, 2}, "part")
		}, `
%0 = as_strided_copy n [2 2] [3 1] 1
%1 = relu %0
%2 = as_strided_scatter n %1 [2 2] [3 1] 1
buffer %2 n
`},
		{"as_strided of a view counts in the memory of the whole", func(p *program) {
			p.input("n", exir.Buffer, 4, 4)
			p.call("rows", "aten::slice.Tensor", []int64{2, 4}, "n", 0, 2, 4)
			p.call("column", "aten::select.int", []int64{2}, "rows", 1, -1)
			p.call("part", "aten::as_strided", []int64{2}, "column", []int64{2}, []int64{2})
			p.call("a", "aten::relu_", []int64{2}, "part")
			p.output("column")
		}, `
%0 = as_strided_copy n [2] [2] 11
%1 = relu %0
%2 = as_strided_scatter n %1 [2] [2] 11
%3 = slice_copy.Tensor %2 0 2 4 1
%4 = select_copy.int %3 1 -1
buffer %2 n
output %4 
`},
		{"a power written in place", func(p *program) {
			p.input("n", exir.Buffer, 2)
			p.call("a", "aten::pow_.Scalar", []int64{2}, "n", 3)
		}, `
%0 = pow.Tensor_Scalar n 3
buffer %0 n
`},
		{"the diagonal of a matrix", func(p *program) {
			p.input("n", exir.Buffer, 3, 2)
			p.call("a", "aten::fill_diagonal_", []int64{3, 2}, "n", 7)
		}, `
%0 = diagonal_copy n 0 0 1
%1 = full_like %0 7 None None None None None
%2 = diagonal_scatter n %1 0 0 1
buffer %2 n
`},
		{"a copy keeps what was", func(p *program) {
			p.input("x", exir.Buffer, 2)
			p.call("old", "aten::clone", []int64{2}, "x")
			p.call("new", "aten::relu_", []int64{2}, "x")
			p.output("old", "new")
		}, `
%0 = clone x None
%1 = relu x
buffer %1 x
output %0 
output %1 
`},
		{"dropout and detach vanish", func(p *program) {
			p.input("x", exir.UserInput, 2)
			p.call("d", "aten::dropout", []int64{2}, "x", 0.5, false)
			p.call("e", "aten::detach", []int64{2}, "d")
			p.call("dead", "aten::relu", []int64{2}, "e")
			p.call("c", "aten::cos", []int64{2}, "e")
			p.output("c")
		}, `
%0 = cos x
output %0 
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram()
			c.build(p)
			if err := Run(&exir.Program{Shapes: &tensor.Shapes{}}, p.m); err != nil {
				t.Fatal(err)
			}
			if got := text(p.m); got != c.want[1:] {
				t.Errorf("got\n%swant%s", got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(p *program)
	}{
		{"cannot write through aten::expand_copy", func(p *program) {
			p.input("x", exir.UserInput, 1)
			p.call("wide", "aten::expand", []int64{2}, "x", []int64{2})
			p.call("w", "aten::relu_", []int64{2}, "wide")
			p.output("w")
		}},
		{"it is not known where its argument begins", func(p *program) {
			p.input("x", exir.UserInput, 4, 4)
			p.call("d", "aten::diagonal", []int64{3}, "x", 1)
			p.call("s", "aten::as_strided", []int64{2}, "d", []int64{2}, []int64{1})
			p.output("s")
		}},
	} {
		p := newProgram()
		c.build(p)
		if err := Run(&exir.Program{Shapes: &tensor.Shapes{}}, p.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestTables checks that every operator that a table names exists.
func TestTables(t *testing.T) {
	for name := range views {
		exir.MustSchema(name)
	}
	for name, functional := range irregular {
		exir.MustSchema(name)
		exir.MustSchema(functional)
	}
	for name := range handlers {
		if strings.HasPrefix(name, "aten::") {
			exir.MustSchema(name)
		}
	}
}
