package passes

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// bindNumbers gives every symbolic number that a node or an output uses a value in its graph: the result of
// sym_size or item where one exists, else prim ops over those. Python's operators become prim ops.
func bindNumbers(c *Context, m *exir.Method) error {
	return m.Graph.Walk(func(g *exir.Graph) error {
		b := &binder{c: c, g: g, known: map[tensor.Dim]*exir.Value{}, names: map[string]int{}}
		return b.run()
	})
}

type dimAt struct {
	v   *exir.Value
	dim int
}

type binder struct {
	c     *Context
	g     *exir.Graph
	nodes []*exir.Node
	// known has the values of numbers that were computed so far; sizes says which tensor shows a size.
	known  map[tensor.Dim]*exir.Value
	sizes  []dimAt
	origin exir.Origin
	names  map[string]int
}

func (b *binder) run() error {
	for _, v := range b.g.Inputs {
		b.learn(v)
	}
	for _, n := range b.g.Nodes {
		b.origin = n.Origin
		if err := b.node(n); err != nil {
			return n.Fault(diag.UnsupportedFeature, "%w", err)
		}
		for _, v := range n.Outs {
			b.learn(v)
		}
	}
	for i := range b.g.Outputs {
		if err := b.g.Outputs[i].EachArg(b.bind); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	b.g.Nodes = b.nodes
	return nil
}

func (b *binder) learn(v *exir.Value) {
	switch {
	case v == nil:
	case v.Kind == exir.SymInt && tensor.IsSymbol(v.Sym):
		if b.known[v.Sym] == nil {
			b.known[v.Sym] = v
		}
	case v.Kind == exir.TensorValue && v.Const == nil:
		for i, d := range v.Spec.Sizes {
			if tensor.IsSymbol(d) {
				b.sizes = append(b.sizes, dimAt{v, i})
			}
		}
	}
}

// node binds the arguments of n and appends it, or what it becomes.
func (b *binder) node(n *exir.Node) error {
	for i := range n.Args {
		if err := n.Args[i].EachArg(b.bind); err != nil {
			return err
		}
	}
	if strings.HasPrefix(n.Op.Name, "python::") {
		return b.python(n)
	}
	b.nodes = append(b.nodes, n)
	return nil
}

func isSymbolic(a *exir.Arg) bool { return a.Kind == exir.ArgInt && tensor.IsSymbol(a.Int) }

// bind replaces a symbolic number, and a value of this graph's parents that stands for one, by a value of this graph.
func (b *binder) bind(a *exir.Arg) error {
	switch {
	case a.Kind == exir.ArgValue && a.Value.Kind == exir.SymInt && !tensor.IsSymbol(a.Value.Sym):
		*a = exir.Arg{Kind: exir.ArgInt, Int: a.Value.Sym}
	case isSymbolic(a):
		v, err := b.value(a.Int)
		if err != nil {
			return err
		}
		*a = exir.ToArg(v)
	}
	return nil
}

func (b *binder) value(d tensor.Dim) (exir.Arg, error) {
	if !tensor.IsSymbol(d) {
		return exir.ToArg(d), nil
	}
	if v := b.known[d]; v != nil {
		return exir.ToArg(v), nil
	}
	for _, at := range b.sizes {
		if at.v.Spec.Sizes[at.dim] == d {
			return exir.ToArg(b.call("aten::sym_size.int", d, exir.ToArg(at.v), exir.ToArg(at.dim))), nil
		}
	}
	op, args, name := b.c.Table.Node(d)
	if op == "symbol" {
		return b.solve(d, name)
	}
	if r := b.c.Table.Real(d); r != nil {
		return b.rounding(d, op, r)
	}
	prim := map[string]string{"max": "sym_max", "min": "sym_min"}[op]
	if prim == "" {
		prim = op
	}
	acc, err := b.value(args[0])
	for i := 1; i < len(args) && err == nil; i++ {
		var next exir.Arg
		if next, err = b.value(args[i]); err == nil {
			sym := d
			if i < len(args)-1 {
				sym = 0
			}
			acc = exir.ToArg(b.call("executorch_prim::"+prim+".Scalar", sym, acc, next))
		}
	}
	return acc, err
}

// solve finds a symbol that no tensor shows alone in a size a·s + c.
func (b *binder) solve(d tensor.Dim, name string) (exir.Arg, error) {
	for _, at := range b.sizes {
		size := at.v.Spec.Sizes[at.dim]
		scale, offset, ok := b.linear(size, d)
		if !ok {
			continue
		}
		x := exir.ToArg(b.call("aten::sym_size.int", size, exir.ToArg(at.v), exir.ToArg(at.dim)))
		if offset != 0 {
			x = exir.ToArg(b.call("executorch_prim::sub.Scalar", 0, x, exir.ToArg(offset)))
		}
		return exir.ToArg(b.call("executorch_prim::floordiv.Scalar", d, x, exir.ToArg(scale))), nil
	}
	return exir.Arg{}, fmt.Errorf("nothing before it tells the size %s", name)
}

// linear reports a and c where size = a·d + c.
func (b *binder) linear(size, d tensor.Dim) (scale, offset int64, ok bool) {
	if size == d {
		return 1, 0, true
	}
	op, args, _ := b.c.Table.Node(size)
	if len(args) != 2 {
		return 0, 0, false
	}
	for i, arg := range args {
		other := args[1-i]
		if tensor.IsSymbol(other) {
			continue
		}
		scale, offset, ok = b.linear2(arg, d)
		switch {
		case !ok:
		case op == "add":
			return scale, offset + other, true
		case op == "mul" && other != 0:
			return scale * other, offset * other, true
		}
	}
	return 0, 0, false
}

func (b *binder) linear2(arg, d tensor.Dim) (scale, offset int64, ok bool) {
	if !tensor.IsSymbol(arg) {
		return 0, 0, false
	}
	return b.linear(arg, d)
}

// call appends a node that computes a number; d is what it is equal to, 0 for an intermediate one.
func (b *binder) call(name string, d tensor.Dim, args ...exir.Arg) *exir.Value {
	s := exir.MustSchema(name)
	hint := "bound_" + s.Base()
	b.names[hint]++
	n := &exir.Node{Name: fmt.Sprintf("%s_%d", hint, b.names[hint]), Op: s, Args: args, Origin: b.origin}
	v := &exir.Value{Name: n.Name, Kind: exir.SymInt, Sym: d, Node: n}
	n.Outs = []*exir.Value{v}
	b.nodes = append(b.nodes, n)
	if d != 0 {
		b.known[d] = v
	}
	return v
}
