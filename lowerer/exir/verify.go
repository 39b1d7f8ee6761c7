package exir

import (
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Dialect says what a graph may hold, as a set of properties.
type Dialect uint16

// The properties. Each forbids something; a rule of the verifier checks it.
const (
	Functional   Dialect = 1 << iota // no operator writes to an argument, no result is a view
	CoreOps                          // every operator has a row, or is a prim op or control flow; results are the row's
	TensorArgs                       // no number where an operator takes a tensor, nor the other way round
	DimOrders                        // no memory formats
	NumbersBound                     // no symbolic number but as a value of its graph
	// NoDeadCode: every node has a user or, until numbers are bound, defines a symbol; every parameter, buffer and constant
	// has a reader or a writer.
	NoDeadCode
)

// The dialects, in the order of lowering. OutVariant and Planned are those of plans: see VerifyPlan.
const (
	ATen           Dialect = 0 // training IR, as torch.export wrote it
	FunctionalATen         = Functional
	CoreATen               = Functional | CoreOps
	Edge                   = CoreATen | TensorArgs | DimOrders | NumbersBound | NoDeadCode
)

// Verify checks that m is well formed and has the properties of d. The error is a diag.List that names every
// offending node with its Python line. In the dialect ATen it is the file's fault, in all others the tool's.
func Verify(m *Method, shapes *tensor.Shapes, d Dialect) error {
	v := &verifier{method: m, shapes: shapes, dialect: d, code: diag.Bug}
	if d == ATen {
		v.code = diag.ModelMalformed
	}
	if v.signature() {
		v.graph(m.Graph)
	}
	return v.errs.Err()
}

// verifier checks one method.
type verifier struct {
	method  *Method
	shapes  *tensor.Shapes
	dialect Dialect
	code    diag.Code
	errs    diag.List
	node    *Node // being checked; nil for inputs and outputs
	consts  map[*Constant]bool
}

// fail reports a fault of the present node, or of the method.
func (v *verifier) fail(format string, args ...any) {
	if v.node == nil {
		v.errs = append(v.errs, diag.New(v.code, v.method.Name, format, args...))
		return
	}
	e := v.node.Fault(v.code, format, args...)
	if v.node.Method == "" {
		e.Where = v.method.Name + e.Where
	}
	v.errs = append(v.errs, e)
}

// signature checks the inputs and outputs of the method against their specs, and reports that there are as many.
func (v *verifier) signature() bool {
	m := v.method
	if len(m.Inputs) != len(m.Graph.Inputs) || len(m.Outputs) != len(m.Graph.Outputs) {
		v.fail("%d inputs and %d outputs in the graph, %d and %d in the signature",
			len(m.Graph.Inputs), len(m.Graph.Outputs), len(m.Inputs), len(m.Outputs))
		return false
	}
	targets := map[OutputSpec]bool{}
	for i, s := range m.Inputs {
		in := m.Graph.Inputs[i]
		switch {
		case s.Kind == UserInput && in != nil:
			targets[OutputSpec{UserInputMutation, in.Name}] = true
		case s.Kind == ConstantInput && in != nil:
			v.fail("input %d is both a constant and the value %s", i, in.Name)
		case s.Kind == Parameter || s.Kind == Buffer || s.Kind == TensorConstant:
			targets[OutputSpec{BufferMutation, s.Target}] = true
			if in == nil || in.Kind != TensorValue {
				v.fail("input %d is %s %s, but no tensor", i, inputWords[s.Kind], s.Target)
			}
		}
	}
	for i, s := range m.Outputs {
		if s.Kind != UserOutput && !targets[s] {
			v.fail("output %d writes to %q, which is no input", i, s.Target)
		}
	}
	return true
}

// graph checks g and the graphs in it.
func (v *verifier) graph(g *Graph) {
	known := map[*Value]bool{}
	names := map[string]bool{}
	v.node = nil
	for _, in := range g.Inputs {
		if in != nil {
			if in.Node != nil {
				v.fail("input %s is the result of node %s", in.Name, in.Node.Name)
			}
			v.define(in, known, names)
		}
	}
	nodes := map[string]bool{}
	for _, n := range g.Nodes {
		v.node = n
		if n.Op == nil {
			v.fail("it calls no operator")
			continue
		}
		if nodes[n.Name] || n.Name == "" {
			v.fail("another node is called %q", n.Name)
		}
		nodes[n.Name] = true
		for i := range n.Args {
			v.uses(fmt.Sprintf("argument %d", i), &n.Args[i], known)
		}
		v.checkNode(n)
		for _, out := range n.Outs {
			if out != nil {
				if out.Node != n {
					v.fail("result %s belongs to another node", out.Name)
				}
				v.define(out, known, names)
			}
		}
	}
	v.node = nil
	for i := range g.Outputs {
		v.uses(fmt.Sprintf("output %d", i), &g.Outputs[i], known)
	}
	if v.dialect&NoDeadCode != 0 {
		v.dead(g, usedIn(g))
	}
}

// checkNode applies the rules of the dialect to n.
func (v *verifier) checkNode(n *Node) {
	faults := len(v.errs)
	for _, r := range rules {
		if v.dialect&r.property == r.property && len(v.errs) == faults {
			r.check(v, n)
		}
	}
	for i := range n.Args {
		if n.Args[i].Kind == ArgGraph && n.Args[i].Graph != nil {
			v.graph(n.Args[i].Graph)
			v.node = n
		}
	}
}

// define makes x known, and checks its name and type.
func (v *verifier) define(x *Value, known map[*Value]bool, names map[string]bool) {
	if names[x.Name] || x.Name == "" {
		v.fail("another value is called %q", x.Name)
	}
	names[x.Name], known[x] = true, true
	if x.Kind == TensorValue {
		v.meta(x.Name, &x.Spec)
	}
	v.constant(x.Const)
}

// meta checks the type of a tensor.
func (v *verifier) meta(name string, m *tensor.Meta) {
	switch {
	case !m.DType.Valid():
		v.fail("tensor %s has no element type", name)
	case m.Rank() > tensor.MaxRank:
		v.fail("tensor %s has %d dimensions, want at most %d", name, m.Rank(), tensor.MaxRank)
	case slices.ContainsFunc(m.Sizes, func(d tensor.Dim) bool { return d < 0 && !tensor.IsSymbol(d) }):
		v.fail("tensor %s has a negative size: %s", name, v.typeText(m))
	case m.DimOrder != nil && !isPermutation(m.DimOrder, m.Rank()):
		v.fail("tensor %s has dim order %v, want each of its %d dimensions once", name, m.DimOrder, m.Rank())
	}
}

// typeText is m as texts have it.
func (v *verifier) typeText(m *tensor.Meta) string {
	p := &printer{}
	if v.shapes != nil {
		p.symbols, _ = v.shapes.Table.(Symbols)
	}
	return p.meta(m)
}

func isPermutation(order []uint8, rank int) bool {
	var seen [tensor.MaxRank]bool
	for _, d := range order {
		if int(d) >= rank || int(d) >= len(seen) || seen[d] {
			return false
		}
		seen[d] = true
	}
	return len(order) == rank
}

// uses checks that every value in a is made before, or is a constant.
func (v *verifier) uses(where string, a *Arg, known map[*Value]bool) {
	a.EachValue(func(x **Value) {
		switch {
		case *x == nil:
			v.fail("%s is a value that is missing", where)
		case known[*x]:
		case (*x).Const == nil:
			v.fail("%s uses %s, which nothing before it makes", where, (*x).Name)
		case (*x).Node != nil:
			v.fail("%s uses %s, which is both a constant and the result of node %s", where, (*x).Name, (*x).Node.Name)
		default:
			v.constant((*x).Const)
		}
	})
}

// constant checks a constant, and what it is made of, once.
func (v *verifier) constant(c *Constant) {
	if c == nil || v.consts[c] {
		return
	}
	if v.consts == nil {
		v.consts = map[*Constant]bool{}
	}
	v.consts[c] = true
	v.meta(c.Name, &c.Meta)
	switch {
	case !c.Meta.Static():
		v.fail("constant %s has a symbolic size", c.Name)
	case c.Node != nil:
		for i := range c.Node.Args {
			c.Node.Args[i].EachValue(func(x **Value) {
				if (*x).Const == nil {
					v.fail("constant %s is made of %s, which is none", c.Name, (*x).Name)
				}
				v.constant((*x).Const)
			})
		}
	case c.Weight == nil && len(c.Data) != c.Meta.Nbytes():
		v.fail("constant %s has %d bytes, want %d", c.Name, len(c.Data), c.Meta.Nbytes())
	case c.Weight != nil && len(c.Weight.Strides) != c.Meta.Rank():
		v.fail("constant %s has %d dimensions and %d strides", c.Name, c.Meta.Rank(), len(c.Weight.Strides))
	}
}

// usedIn are the values that nodes and outputs of g use. A graph in it uses none of them, but for constants, which it
// uses as such and not as g's inputs.
func usedIn(g *Graph) map[*Value]bool {
	used := map[*Value]bool{}
	mark := func(x **Value) { used[*x] = true }
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].EachValue(mark)
		}
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(mark)
	}
	return used
}

// dead reports the nodes of g whose results nothing uses, but for operators that write, check or define a symbol, and, of the method's own graph,
// the inputs that the user does not give and nothing reads or writes.
func (v *verifier) dead(g *Graph, used map[*Value]bool) {
	unbound := v.dialect&NumbersBound == 0
	for _, n := range g.Nodes {
		if !slices.ContainsFunc(n.Outs, func(x *Value) bool { return used[x] }) && !writes(n.Op) && !n.Asserts() && !(unbound && n.Defines()) {
			v.node = n
			v.fail("nothing uses its results")
		}
	}
	v.node = nil
	if g != v.method.Graph {
		return
	}
	for i, x := range g.Inputs {
		s := &v.method.Inputs[i]
		if s.Kind != UserInput && s.Kind != ConstantInput && !used[x] && !slices.Contains(v.method.Outputs, OutputSpec{BufferMutation, s.Target}) {
			v.fail("nothing reads %s %s", inputWords[s.Kind], s.Target)
		}
	}
}
