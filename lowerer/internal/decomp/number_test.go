package decomp

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// numberProgram is where(condition, self, other) over vectors of self's type and of size.
func numberProgram(table *symint.Table, t tensor.ScalarType, size tensor.Dim, other exir.Arg) (*exir.Program, *exir.Method) {
	vector := func(name string, t tensor.ScalarType) *exir.Value {
		return &exir.Value{Name: name, Spec: tensor.Meta{DType: t, Sizes: []tensor.Dim{size}}}
	}
	condition, self, out := vector("condition", tensor.Bool), vector("self", t), vector("out", t)
	n := &exir.Node{Name: "out", Op: exir.MustSchema("aten::where.ScalarOther"), Outs: []*exir.Value{out},
		Args: []exir.Arg{exir.ToArg(condition), exir.ToArg(self), other}}
	out.Node = n
	m := &exir.Method{Name: "forward", Inputs: make([]exir.InputSpec, 2), Outputs: make([]exir.OutputSpec, 1),
		Graph: &exir.Graph{Inputs: []*exir.Value{condition, self}, Nodes: []*exir.Node{n}, Outputs: []exir.Arg{exir.ToArg(out)}}}
	return &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}, m
}

// TestNumberKeepsWholeNumbers: int64 numbers that float64 cannot hold stay as they are.
func TestNumberKeepsWholeNumbers(t *testing.T) {
	const big = 1<<60 + 1
	p, m := numberProgram(symint.NewTable(), tensor.Long, 2, exir.ToArg(big))
	if err := Run(p, m, nil); err != nil {
		t.Fatal(err)
	}
	number := m.Graph.Nodes[0].Args[2].Value
	if got := int64(binary.LittleEndian.Uint64(number.Const.Data)); got != big {
		t.Errorf("got %d, want %d", got, big)
	}
}

// TestNumberOfSize: a size that is known only at run time becomes a tensor then.
func TestNumberOfSize(t *testing.T) {
	table := symint.NewTable()
	n, err := table.Parse("Symbol('s0', positive=True, integer=True)")
	if err != nil {
		t.Fatal(err)
	}
	p, m := numberProgram(table, tensor.Long, n, exir.ToArg(n))
	if err := Run(p, m, nil); err != nil {
		t.Fatal(err)
	}
	if text := m.Text(table); !strings.Contains(text, "aten::scalar_tensor(s0, dtype=torch.int64") {
		t.Errorf("got\n%s", text)
	}
}

// TestSizeForTensor: a size in the place of a tensor becomes one of the other's type.
func TestSizeForTensor(t *testing.T) {
	table := symint.NewTable()
	n, err := table.Parse("Symbol('s0', positive=True, integer=True)")
	if err != nil {
		t.Fatal(err)
	}
	p, m := numberProgram(table, tensor.Float, n, exir.Arg{})
	size := &exir.Value{Name: "size", Kind: exir.SymInt, Sym: n}
	m.Graph.Inputs[0] = size
	div := m.Graph.Nodes[0]
	div.Op, div.Args = exir.MustSchema("aten::div.Tensor"), []exir.Arg{exir.ToArg(m.Graph.Inputs[1]), exir.ToArg(size)}
	if err := Run(p, m, nil); err != nil {
		t.Fatal(err)
	}
	if text := m.Text(table); !strings.Contains(text, "aten::scalar_tensor(%size, dtype=torch.float32") {
		t.Errorf("got\n%s", text)
	}
}

// TestNormOfHalves: the norm of halves has the type that its dtype names, and theirs without.
func TestNormOfHalves(t *testing.T) {
	for _, want := range []tensor.ScalarType{tensor.Undefined, tensor.Half, tensor.Float, tensor.Double} {
		x := &exir.Value{Name: "x", Spec: tensor.Meta{DType: tensor.Half, Sizes: []tensor.Dim{2}}}
		out := &exir.Value{Name: "out", Spec: tensor.Meta{DType: tensor.Half}}
		dtype := exir.Arg{Kind: exir.ArgNone}
		if want != tensor.Undefined {
			out.Spec.DType, dtype = want, exir.ToArg(want)
		}
		n := &exir.Node{Name: "out", Op: exir.MustSchema("aten::linalg_vector_norm"), Outs: []*exir.Value{out},
			Args: []exir.Arg{exir.ToArg(x), exir.ToArg(2.0), {Kind: exir.ArgNone}, exir.ToArg(false), dtype}}
		out.Node = n
		m := &exir.Method{Name: "forward", Inputs: make([]exir.InputSpec, 1), Outputs: make([]exir.OutputSpec, 1),
			Graph: &exir.Graph{Inputs: []*exir.Value{x}, Nodes: []*exir.Node{n}, Outputs: []exir.Arg{exir.ToArg(out)}}}
		p := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: symint.NewTable()}}
		if err := Run(p, m, nil); err != nil {
			t.Errorf("dtype %v: %v", want, err)
		}
	}
}
