package delegate

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// schedule is an order of g's nodes in which every piece is one call, as close to the old order as it can be.
func schedule(g *exir.Graph, pieces []*piece, method string) ([]*exir.Node, error) {
	s := &scheduler{home: map[*exir.Node]*piece{}, calls: map[*exir.Node]*piece{}, state: map[*exir.Node]visit{}, inGraph: map[*exir.Node]bool{}}
	for _, n := range g.Nodes {
		s.inGraph[n] = true
	}
	for _, pc := range pieces {
		s.calls[pc.call] = pc
		for _, n := range pc.members {
			s.home[n] = pc
		}
	}
	for _, n := range g.Nodes {
		if pc := s.visit(n); pc != nil {
			return nil, diag.New(diag.NotConvex, "method "+method, "%s: partition %q is not convex: a path leaves it and comes back, seen from node %s (%s)",
				pc.spec.BackendID, pc.tag, n.Name, n.Op.Name)
		}
	}
	return s.order, nil
}

type visit uint8

const (
	unseen visit = iota
	open
	done
)

type scheduler struct {
	home    map[*exir.Node]*piece
	calls   map[*exir.Node]*piece // by their call
	state   map[*exir.Node]visit
	inGraph map[*exir.Node]bool
	order   []*exir.Node
}

// frame is a unit, a node or a piece, whose producers are being visited.
type frame struct {
	unit  *exir.Node
	needs []*exir.Node
}

// unit is the call of n's piece, or n itself.
func (s *scheduler) unit(n *exir.Node) *exir.Node {
	if pc := s.home[n]; pc != nil {
		return pc.call
	}
	return n
}

// visit appends n's unit after all that it needs, without recursion. It gives a piece on a cycle, or nil.
func (s *scheduler) visit(n *exir.Node) *piece {
	if s.state[s.unit(n)] != unseen {
		return nil
	}
	stack := []frame{s.open(n)}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.needs) == 0 {
			s.state[top.unit] = done
			s.order = append(s.order, top.unit)
			stack = stack[:len(stack)-1]
			continue
		}
		next := top.needs[0]
		top.needs = top.needs[1:]
		switch s.state[s.unit(next)] {
		case unseen:
			stack = append(stack, s.open(next))
		case open:
			return s.pieceOn(stack, next)
		}
	}
	return nil
}

// pieceOn is a piece among the units that wait for n: a graph has no cycle but through one.
func (s *scheduler) pieceOn(stack []frame, n *exir.Node) *piece {
	if pc := s.home[n]; pc != nil {
		return pc
	}
	for i := len(stack) - 1; i > 0; i-- {
		if pc := s.calls[stack[i].unit]; pc != nil {
			return pc
		}
	}
	return s.calls[stack[0].unit]
}

func (s *scheduler) open(n *exir.Node) frame {
	unit := s.unit(n)
	s.state[unit] = open
	members := []*exir.Node{n}
	if pc := s.home[n]; pc != nil {
		members = pc.members
	}
	f := frame{unit: unit}
	for _, m := range members {
		backend.EachInput(m, func(v *exir.Value) {
			if v.Node != nil && s.inGraph[v.Node] && s.unit(v.Node) != unit {
				f.needs = append(f.needs, v.Node)
			}
		})
	}
	return f
}

// usersOutside are the values that something outside of the piece that makes them uses.
func usersOutside(g *exir.Graph, pieces []*piece) map[*exir.Value]bool {
	home := map[*exir.Node]*piece{}
	for _, pc := range pieces {
		for _, n := range pc.members {
			home[n] = pc
		}
	}
	used := map[*exir.Value]bool{}
	for _, n := range g.Nodes {
		backend.EachInput(n, func(v *exir.Value) {
			if v.Node != nil && home[v.Node] != home[n] {
				used[v] = true
			}
		})
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(func(v **exir.Value) { used[*v] = true })
	}
	return used
}

// extract fills in the piece's program and call.
func extract(p *exir.EdgeProgram, t *backend.TaggedProgram, pc *piece, used map[*exir.Value]bool) {
	x := &extractor{t: t, pc: pc, with: map[*exir.Value]*exir.Value{}, owned: t.OwnedBuffers(pc.tag)}
	g := &exir.Graph{}
	for _, n := range pc.members {
		g.Nodes = append(g.Nodes, x.clone(n))
	}
	m := &exir.Method{Name: pc.method.Name, Graph: g, Ranges: pc.method.Ranges}
	x.inputs(m)
	x.outputs(m, used)
	sub := *p
	sub.Methods, sub.NamedData, sub.Requirements = []*exir.Method{m}, nil, nil
	pc.program, pc.module.Program = &sub, &sub
	pc.call.Name = "executorch_call_delegate_" + pc.members[0].Name
	pc.call.Origin = pc.members[0].Origin
	pc.call.Args = append([]exir.Arg{{Kind: exir.ArgLowered, Lowered: pc.module}}, x.args...)
	for _, v := range pc.call.Outs {
		v.Node = pc.call
	}
}

// extractor copies the members of a piece.
type extractor struct {
	t    *backend.TaggedProgram
	pc   *piece
	with map[*exir.Value]*exir.Value // copies by what they are of
	// owned are the mutated buffers that the piece keeps.
	owned []*exir.Value
	// constants and border are values of the old graph that come in, in the order of their first use.
	constants, border []*exir.Value
	args              []exir.Arg
}

func (x *extractor) clone(n *exir.Node) *exir.Node {
	c := *n
	c.Args = exir.CloneArgs(n.Args)
	for i := range c.Args {
		c.Args[i].EachValue(func(v **exir.Value) { *v = x.value(*v) })
	}
	c.Outs = make([]*exir.Value, len(n.Outs))
	for i, v := range n.Outs {
		if v != nil {
			out := *v
			out.Node = &c
			c.Outs[i], x.with[v] = &out, &out
		}
	}
	return &c
}

// value is the copy of v; one that no member made comes in as a constant of the piece, or over the border.
func (x *extractor) value(v *exir.Value) *exir.Value {
	if c := x.with[v]; c != nil {
		return c
	}
	c := *v
	c.Node = nil
	if x.t.HasConstant(v, x.pc.tag) {
		x.constants = append(x.constants, v)
	} else {
		c.Const = nil
		x.border = append(x.border, v)
	}
	x.with[v] = &c
	return &c
}

// inputs lists parameters and other constants, then buffers, then what comes over the border.
func (x *extractor) inputs(m *exir.Method) {
	for _, v := range x.owned {
		x.value(v)
	}
	slices.SortStableFunc(x.constants, func(a, b *exir.Value) int { return x.rank(a) - x.rank(b) })
	for _, v := range x.constants {
		spec, ok := x.t.Input(v)
		if !ok {
			spec = exir.InputSpec{Kind: exir.TensorConstant, Target: v.Const.Name}
		}
		m.Graph.Inputs, m.Inputs = append(m.Graph.Inputs, x.with[v]), append(m.Inputs, spec)
	}
	for _, v := range x.border {
		m.Graph.Inputs, m.Inputs = append(m.Graph.Inputs, x.with[v]), append(m.Inputs, exir.InputSpec{Kind: exir.UserInput})
		x.args = append(x.args, exir.ToArg(v))
	}
}

func (x *extractor) rank(v *exir.Value) int {
	if spec, _ := x.t.Input(v); spec.Kind == exir.Buffer {
		return 1
	}
	return 0
}

// outputs lists the new contents of owned buffers, then what something outside uses; only the latter are results of the
// call.
func (x *extractor) outputs(m *exir.Method, used map[*exir.Value]bool) {
	own := map[*exir.Value]bool{}
	for i, o := range x.pc.method.Outputs {
		if x.ownedOutput(i) {
			v := x.pc.method.Graph.Outputs[i].Value
			own[v] = true
			m.Graph.Outputs, m.Outputs = append(m.Graph.Outputs, exir.ToArg(x.with[v])), append(m.Outputs, o)
		}
	}
	for _, n := range x.pc.members {
		for _, v := range n.Outs {
			if v != nil && used[v] && (!own[v] || x.usedElsewhere(v)) {
				m.Graph.Outputs = append(m.Graph.Outputs, exir.ToArg(x.with[v]))
				m.Outputs = append(m.Outputs, exir.OutputSpec{Kind: exir.UserOutput})
				x.pc.call.Outs = append(x.pc.call.Outs, v)
			}
		}
	}
}

// ownedOutput reports that output i of the method is the new content of a buffer that the piece owns.
func (x *extractor) ownedOutput(i int) bool {
	o := x.pc.method.Outputs[i]
	return o.Kind == exir.BufferMutation && slices.ContainsFunc(x.owned, func(v *exir.Value) bool {
		spec, _ := x.t.Input(v)
		return spec.Target == o.Target
	})
}

// usedElsewhere reports that v, the new content of an owned buffer, is also used outside of the piece.
func (x *extractor) usedElsewhere(v *exir.Value) bool {
	for i := range x.pc.method.Graph.Outputs {
		if a := &x.pc.method.Graph.Outputs[i]; a.Kind == exir.ArgValue && a.Value == v && !x.ownedOutput(i) {
			return true
		}
	}
	member := map[*exir.Node]bool{}
	for _, n := range x.pc.members {
		member[n] = true
	}
	found := false
	for _, n := range x.pc.graph.Nodes {
		if !member[n] {
			backend.EachInput(n, func(u *exir.Value) { found = found || u == v })
		}
	}
	return found
}

// dropOwned takes the buffers that pieces keep out of the method's signature, with their mutations.
func dropOwned(t *backend.TaggedProgram) {
	m := t.Method
	owned, targets := map[*exir.Value]bool{}, map[string]bool{}
	for _, tag := range t.Tags() {
		for _, v := range t.OwnedBuffers(tag) {
			owned[v] = true
		}
	}
	if len(owned) == 0 {
		return
	}
	var ins []*exir.Value
	var inSpecs []exir.InputSpec
	for i, v := range m.Graph.Inputs {
		if owned[v] {
			targets[m.Inputs[i].Target] = true
			continue
		}
		ins, inSpecs = append(ins, v), append(inSpecs, m.Inputs[i])
	}
	var outs []exir.Arg
	var outSpecs []exir.OutputSpec
	for i, o := range m.Outputs {
		if o.Kind != exir.BufferMutation || !targets[o.Target] {
			outs, outSpecs = append(outs, m.Graph.Outputs[i]), append(outSpecs, o)
		}
	}
	m.Graph.Inputs, m.Inputs, m.Graph.Outputs, m.Outputs = ins, inSpecs, outs, outSpecs
}
