package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// flow says that a value may get what another one holds.
type flow struct{ from, to int32 }

// checkWrites refuses a method that may write into the file: a constant, what MoveCall takes from one, or a view of one.
func (m *method) checkWrites() error {
	moves, views := m.flows()
	held := make([]bool, len(m.vals)) // values that may hold a constant tensor itself
	for i := range held {
		held[i] = m.place[i] == constant
	}
	spread(held, moves)
	for _, f := range views {
		if held[f.to] {
			return fail(pte.InvalidProgram, "value ", itoa(f.to), " is a constant and the result of a view")
		}
	}
	m.readOnly = slices.Clone(held)
	spread(m.readOnly, append(moves, views...))
	for _, v := range m.plan.Inputs {
		if m.readOnly[v] {
			return fail(pte.InvalidProgram, "input is value ", itoa(v), ", a constant or a view of one")
		}
	}
	for i := range m.steps {
		for _, v := range m.steps[i].writes() {
			if m.readOnly[v] {
				return fail(pte.InvalidProgram, "instruction ", itoa(m.instruction(m.steps[i].index)), ": ", m.steps[i].name, " writes value ", itoa(v), ", a constant or a view of one")
			}
		}
	}
	return nil
}

// flows are the method's moves and its views.
func (m *method) flows() (moves, views []flow) {
	for i := range m.steps {
		switch s := &m.steps[i]; {
		case s.kind == pte.MoveCall:
			moves = append(moves, flow{s.a, s.b})
		case s.name == etViewName:
			views = append(views, flow{s.args[0], s.args[2]})
		}
	}
	return moves, views
}

// spread marks what flows reach from marked values.
func spread(marked []bool, flows []flow) {
	flows = slices.Clone(flows)
	slices.SortFunc(flows, func(a, b flow) int { return int(a.from - b.from) })
	var queue []int32
	for v, yes := range marked {
		if yes {
			queue = append(queue, int32(v))
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		at, _ := slices.BinarySearchFunc(flows, v, func(f flow, v int32) int { return int(f.from - v) })
		for ; at < len(flows) && flows[at].from == v; at++ {
			if to := flows[at].to; !marked[to] {
				marked[to] = true
				queue = append(queue, to)
			}
		}
	}
}

// writes are the tensors whose elements a step writes; what a delegate writes is known to its backend.
func (s *step) writes() []int32 {
	if s.name == etCopyName {
		return s.args[:1]
	}
	return s.outs
}

// touches are the tensors that a step may write: all of its arguments, where only a backend or a built-in operator knows which.
func (s *step) touches() []int32 {
	switch {
	case s.known:
		return s.args[s.inputs:]
	case s.plan == nil && s.name != etViewName:
		return s.args
	}
	return s.outs
}

// reads are the values that a step may read.
func (s *step) reads() []int32 {
	if s.known {
		return s.args[:s.inputs]
	}
	return s.args
}

// static reports whether the sizes of value v never change.
func (m *method) static(v int32) bool {
	t := m.plan.Values[v].Tensor
	return t != nil && t.Dynamism == pte.Static && !m.varies[v]
}

// restriction is what an instance does not let delegates do with a tensor.
type restriction uint8

const (
	noWrite  restriction = 1 << iota // it is a constant
	noResize                         // its sizes are static
)

// restrict notes what delegates may not do with tensors: with their arguments, members of those, and, where a method moves values, all.
func (m *Method) restrict() {
	is := func(kind pte.InstructionType) bool {
		return slices.ContainsFunc(m.m.steps, func(s step) bool { return s.kind == kind })
	}
	switch {
	case !is(pte.DelegateCall):
	case is(pte.MoveCall):
		for i := range m.vals {
			m.m.each([]int32{int32(i)}, m.restrictOne)
		}
	default:
		for i := range m.m.steps {
			if s := &m.m.steps[i]; s.kind == pte.DelegateCall {
				m.m.each(s.args, m.restrictOne)
			}
		}
	}
}

func (m *Method) restrictOne(v int32) {
	t := m.vals[v].Tensor
	if m.m.readOnly[v] || m.m.place[v] == constant {
		m.restricted[t] |= noWrite
	}
	if m.m.static(v) {
		m.restricted[t] |= noResize
	}
}
