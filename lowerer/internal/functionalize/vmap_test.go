package functionalize

import (
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mark appends one of vmap's own nodes, which has a result if sizes are given; strings among args name values.
func (p *program) mark(op string, result string, sizes []int64, args ...any) {
	n := &exir.Node{Name: op, Op: &exir.Schema{Name: predispatch + op, Kind: "functional"}}
	for _, a := range args {
		if text, ok := a.(string); ok && p.values[text] != nil {
			a = p.values[text]
		}
		n.Args = append(n.Args, exir.ToArg(a))
	}
	if sizes != nil {
		v := &exir.Value{Name: result, Node: n, Spec: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
		p.values[result], n.Outs = v, []*exir.Value{v}
	}
	p.m.Graph.Nodes = append(p.m.Graph.Nodes, n)
}

// TestVmap makes a map of a region; what does not depend on the element runs once, and is repeated as a result.
func TestVmap(t *testing.T) {
	p := newProgram()
	p.input("x", exir.UserInput, 2, 5)
	p.input("y", exir.UserInput, 3)
	p.mark("lazy_load_decompositions", "", nil)
	p.mark("_vmap_increment_nesting", "", nil, 5, "error")
	p.mark("_add_batch_dim", "row", []int64{2}, "x", -1, 1)
	p.call("sum", "aten::sum", nil, "y")
	p.call("scaled", "aten::mul.Tensor", []int64{2}, "row", "sum")
	p.mark("_remove_batch_dim", "rows", []int64{2, 5}, "scaled", 1, 5, 1)
	p.mark("_remove_batch_dim", "sums", []int64{5}, "sum", 1, 5, 0)
	p.mark("_vmap_decrement_nesting", "", nil)
	p.output("rows", "sums")
	if err := vmaps(p.m.Graph); err != nil {
		t.Fatal(err)
	}
	var ops []string
	for _, n := range p.m.Graph.Nodes {
		ops = append(ops, n.Op.Name)
	}
	want := "aten::movedim.int aten::sum aten::unsqueeze aten::expand higher_order::map_impl aten::movedim.int"
	if got := strings.Join(ops, " "); got != want {
		t.Fatalf("nodes %s, want %s", got, want)
	}
	loop := p.m.Graph.Nodes[4]
	if g := loop.Args[0].Graph; len(g.Inputs) != 2 || len(g.Nodes) != 1 || len(loop.Args[1].List) != 1 || len(loop.Args[2].List) != 1 {
		t.Errorf("the map has %d inputs, %d nodes, %d batches and %d other operands, want 2, 1, 1 and 1",
			len(g.Inputs), len(g.Nodes), len(loop.Args[1].List), len(loop.Args[2].List))
	}
}

func TestVmapErrors(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(p *program)
	}{
		{"not closed", func(p *program) { p.mark("_vmap_increment_nesting", "", nil, 5, "error") }},
		{"end of no region", func(p *program) { p.mark("_vmap_decrement_nesting", "", nil) }},
		{"no size", func(p *program) { p.mark("_vmap_increment_nesting", "", nil, 0.5, "error") }},
		{"other arguments", func(p *program) { p.mark("_vmap_increment_nesting", "", nil) }},
		{"outside of a region", func(p *program) { p.mark("_add_batch_dim", "e", []int64{2}, "x", 0, 1) }},
		{"no batch of that dimension", func(p *program) {
			p.mark("_vmap_increment_nesting", "", nil, 5, "error")
			p.mark("_add_batch_dim", "e", []int64{2}, "x", 2, 1)
		}},
		{"writes to a tensor outside", func(p *program) {
			p.mark("_vmap_increment_nesting", "", nil, 5, "error")
			p.mark("_add_batch_dim", "e", []int64{2}, "x", 0, 1)
			p.call("sum", "aten::add.Tensor", []int64{2}, "e", "y")
			p.call("w", "aten::relu_", []int64{2}, "y")
		}},
	} {
		p := newProgram()
		p.input("x", exir.UserInput, 5, 2)
		p.input("y", exir.UserInput, 2)
		c.build(p)
		if err := vmaps(p.m.Graph); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
