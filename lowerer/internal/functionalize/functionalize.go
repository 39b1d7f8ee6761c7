// Package functionalize turns a graph of training IR into functional form:
// no operator writes to an argument, no value is a view of another, and what
// the program wrote to its inputs and buffers is an output.
package functionalize

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Run rewrites m.Graph and its sub-graphs in place.
//
// Views become *_copy operators; writes become functional operators whose
// result stands for the written tensor, and for every tensor that shares its
// memory, from there on. Written buffers and user inputs are added to
// m.Outputs, before the outputs that were there. Dropout in eval mode and
// no-op conversions go, and so do nodes without users. What asserts becomes
// exir.AssertScalar.
// Results carry no DimOrder but where an operator asks for a memory format.
func Run(p *exir.Program, m *exir.Method) error {
	if err := vmaps(m.Graph); err != nil {
		return err
	}
	s := newState(p.Shapes, m.Graph)
	if err := s.graph(m.Graph); err != nil {
		return err
	}
	s.mutations(m)
	m.Graph.Nodes = s.nodes
	RemoveDead(m.Graph)
	return nil
}

// state is what is known while one graph is rewritten, node by node.
type state struct {
	shapes *tensor.Shapes
	nodes  []*exir.Node
	names  map[string]bool
	cells  map[*exir.Value]*cell
	// at is the node being rewritten.
	at *exir.Node
	// region is the type of the torch.autocast region around at; Undefined outside of one.
	region tensor.ScalarType
}

func newState(shapes *tensor.Shapes, g *exir.Graph) *state {
	s := &state{shapes: shapes, names: map[string]bool{}, cells: map[*exir.Value]*cell{}, region: tensor.Undefined}
	collectNames(g, s.names)
	return s
}

func collectNames(g *exir.Graph, names map[string]bool) {
	for _, v := range g.Inputs {
		if v != nil {
			names[v.Name] = true
		}
	}
	for _, n := range g.Nodes {
		names[n.Name] = true
		for _, a := range n.Args {
			if a.Kind == exir.ArgGraph {
				collectNames(a.Graph, names)
			}
		}
	}
}

// graph rewrites the nodes of g into s.nodes and g's outputs in place.
func (s *state) graph(g *exir.Graph) error {
	for _, v := range g.Inputs {
		if v != nil && v.Kind == exir.TensorValue {
			s.fresh(v).store.input = v
		}
	}
	if err := s.body(g); err != nil {
		return err
	}
	for i := range g.Outputs {
		g.Outputs[i] = s.arg(g.Outputs[i])
	}
	return nil
}

func (s *state) body(g *exir.Graph) error {
	for _, n := range g.Nodes {
		s.at = n
		if err := s.node(n); err != nil {
			return wrap(n, err)
		}
	}
	return nil
}

// wrap says at which node and Python line err happened.
func wrap(n *exir.Node, err error) error {
	var at *diag.Error
	if errors.As(err, &at) {
		return err
	}
	return n.Fault(diag.UnsupportedFeature, "%w", err)
}

func (s *state) node(n *exir.Node) error {
	name := n.Op.Name
	if dropped(name) {
		return nil
	}
	s.autocast(n)
	if h, ok := handlers[name]; ok {
		return h(s, n)
	}
	if r, ok := views[name]; ok {
		return s.view(n, r)
	}
	switch {
	case n.Op.Kind == "inplace":
		return s.inplace(n)
	case n.Op.Kind == "view" && strings.HasPrefix(name, "aten::"):
		return fmt.Errorf("rewrite view: %s has no functional form here", name)
	case n.Op.Kind == "out":
		return fmt.Errorf("rewrite write: %s writes to an out argument", name)
	}
	return s.plain(n)
}

// dropped are operators that check what the program says of itself, whose checks torch.export also wrote as assertions,
// or that only matter to a profiler.
func dropped(name string) bool {
	switch name {
	case "aten::_assert_tensor_metadata", "aten::sym_constrain_range", "aten::sym_constrain_range_for_size", "aten::_print":
		return true
	}
	return strings.HasPrefix(name, "profiler::")
}

// plain keeps n, with the present values of its arguments.
func (s *state) plain(n *exir.Node) error {
	for i := range n.Args {
		n.Args[i] = s.arg(n.Args[i])
		if err := s.subgraph(n.Args[i]); err != nil {
			return err
		}
	}
	s.nodes = append(s.nodes, n)
	for _, v := range n.Outs {
		if v != nil && v.Kind == exir.TensorValue {
			s.fresh(v)
			v.Spec.DimOrder = nil
		}
	}
	return nil
}

// subgraph rewrites the graph that a is, if it is one.
func (s *state) subgraph(a exir.Arg) error {
	if a.Kind != exir.ArgGraph {
		return nil
	}
	sub := &state{shapes: s.shapes, names: s.names, cells: map[*exir.Value]*cell{}, region: s.region}
	if err := sub.graph(a.Graph); err != nil {
		return err
	}
	for _, v := range a.Graph.Inputs {
		if sub.written(v) {
			return fmt.Errorf("rewrite sub-graph: it writes to its argument %s", v.Name)
		}
	}
	a.Graph.Nodes = sub.nodes
	RemoveDead(a.Graph)
	return nil
}

// arg is a with the present values of the tensors in it.
func (s *state) arg(a exir.Arg) exir.Arg {
	switch a.Kind {
	case exir.ArgValue:
		a.Value = s.read(a.Value)
	case exir.ArgList:
		list := make([]exir.Arg, len(a.List))
		for i := range list {
			list[i] = s.arg(a.List[i])
		}
		a.List = list
	}
	return a
}

// mutations puts what was written to inputs before the outputs of m.
func (s *state) mutations(m *exir.Method) {
	var outs []exir.Arg
	var specs []exir.OutputSpec
	for i, v := range m.Graph.Inputs {
		if !s.written(v) {
			continue
		}
		spec := exir.OutputSpec{Kind: exir.BufferMutation, Target: m.Inputs[i].Target}
		if m.Inputs[i].Kind == exir.UserInput {
			spec = exir.OutputSpec{Kind: exir.UserInputMutation, Target: v.Name}
		} else {
			m.Inputs[i].Kind = exir.Buffer
			forgetValue(v)
		}
		outs, specs = append(outs, value(s.read(v))), append(specs, spec)
	}
	m.Graph.Nodes = s.nodes
	m.Graph.Outputs = append(outs, m.Graph.Outputs...)
	m.Outputs = append(specs, m.Outputs...)
}

// forgetValue keeps v's constant as what v starts with, but lets nobody
// compute with it, since v changes from call to call.
func forgetValue(v *exir.Value) {
	if v.Const != nil {
		v.Const.Literal = false
	}
}

// written reports whether the input v has another value at the end.
func (s *state) written(v *exir.Value) bool {
	return v != nil && s.cells[v] != nil && s.cells[v].store.version > 0 && s.read(v) != v
}
