package executor

import (
	"cmp"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// fusedArena is the arena whose plan changes when steps are fused. Others may belong to a bank of memory, or to the caller.
const fusedArena = 1

// spans are from which to which step the tensors of an arena are in use, and which of them share bytes meanwhile: those keep
// their distance.
type spans struct {
	*method
	first, last []int
	reads       []int  // how often each value is an argument
	reader      []int  // the last step that reads it
	stays       []bool // values that are there before the first step and behind the last
	members     []int  // how many values the group has that a value stands for
	groups
	views
}

// never is the first step of a value that is not in use.
const never = math.MaxInt

// inLine reports whether steps run one after another, each once.
func (m *method) inLine() bool {
	for i := range m.steps {
		if s := &m.steps[i]; s.kind != pte.KernelCall && s.kind != pte.DelegateCall && s.assert == nil {
			return false
		}
	}
	return len(m.plan.Chains) == 1
}

// findSpans finds when values are in use, as the plan of the file has it.
func (m *method) findSpans() *spans {
	n := len(m.vals)
	p := &spans{method: m, reads: make([]int, n), reader: make([]int, n), stays: make([]bool, n), groups: newGroups(n),
		views: m.findViews()}
	for v := range p.stays {
		p.stays[v] = p.vals[v].Kind == op.Tensor && p.state(int32(v))
	}
	p.renames()
	p.measure(m.steps)
	p.overlaps()
	return p
}

// measure sets the spans of all values for these steps.
func (p *spans) measure(steps []step) {
	n := len(p.vals)
	p.first, p.last = make([]int, n), make([]int, n)
	for v := range p.first {
		p.first[v], p.last[v] = never, never
	}
	clear(p.reads)
	for v := range p.vals {
		if p.vals[v].Kind == op.Tensor && (p.isInput[v] || p.stays[v]) {
			p.use(int32(v), -1)
		}
	}
	for i := range steps {
		p.step(&steps[i], i)
	}
	p.each(p.plan.Outputs, func(v int32) { p.use(v, len(steps)) })
	for v, stays := range p.stays {
		if stays {
			p.use(int32(v), len(steps))
		}
	}
}

// step says that step i uses its values.
func (p *spans) step(s *step, i int) {
	p.each(s.args, func(v int32) {
		p.reads[v]++
		p.reader[v] = i
		p.use(v, i)
	})
	p.each(s.outs, func(v int32) { p.use(v, i) })
}

// each calls f with the tensors of list, and of lists in it.
func (m *method) each(list []int32, f func(v int32)) {
	for _, v := range list {
		switch m.vals[v].Kind {
		case op.Tensor:
			f(v)
		case op.Tensors:
			for _, item := range m.plan.Values[v].Items {
				if item >= 0 {
					f(int32(item))
				}
			}
		}
	}
}

// use says that v, and what it is a view of, is in use at step i.
func (p *spans) use(v int32, i int) {
	for _, v := range [2]int32{v, p.base(v)} {
		if p.first[v] == never {
			p.first[v] = i
		}
		p.last[v] = i
	}
}

// renames puts values that nobody has written when they are read into one group with what was written there last. What
// a delegate or a built-in operator writes is not known: their arguments count as read first.
func (p *spans) renames() {
	written := make([]bool, len(p.vals))
	var order []int32
	for _, v := range p.plan.Inputs {
		written[v] = true
		if p.vals[v].Kind == op.Tensor {
			order = append(order, v)
		}
	}
	read := func(v int32) {
		if !written[v] && p.place[v] == planned {
			p.rename(v, order)
		}
		written[v] = true
	}
	for i := range p.steps {
		s := &p.steps[i]
		p.each(s.args, read)
		if s.plan == nil {
			p.each(s.args, func(v int32) { order = append(order, v) })
		}
		for _, v := range s.outs {
			written[v] = true
			order = append(order, v)
		}
	}
	p.each(p.plan.Outputs, read)
}

// rename joins v with those of order that wrote its bytes last.
func (p *spans) rename(v int32, order []int32) {
	for k := len(order) - 1; k >= 0; k-- {
		w := order[k]
		if w == v || !p.shares(v, w) {
			continue
		}
		p.join(v, w)
		if p.offset(w) <= p.offset(v) && p.offset(w)+uint64(p.vals[w].Tensor.Nbytes()) >= p.offset(v)+uint64(p.vals[v].Tensor.Nbytes()) {
			return
		}
	}
	p.stays[v] = true
}

// overlaps joins the values that share bytes and are in use at the same time.
func (p *spans) overlaps() {
	var order, active []int32
	for v := range p.vals {
		if p.place[v] == planned && p.first[v] != never {
			order = append(order, int32(v))
		}
	}
	slices.SortStableFunc(order, func(v, w int32) int { return cmp.Compare(p.first[v], p.first[w]) })
	for _, v := range order {
		active = slices.DeleteFunc(active, func(w int32) bool { return p.last[w] < p.first[v] })
		for _, w := range active {
			if p.shares(v, w) {
				p.join(v, w)
			}
		}
		active = append(active, v)
	}
	p.members = make([]int, len(p.vals))
	for v := range p.vals {
		p.members[p.root(int32(v))]++
	}
}

// alone reports whether nothing shares bytes with v while it is in use.
func (p *spans) alone(v int32) bool {
	return p.place[v] == planned && !p.stays[v] && p.members[p.root(v)] == 1
}

// moves reports whether v may be in use at other steps than the file's plan has it: its place is planned anew, or nobody else's.
func (p *spans) moves(v int32) bool {
	return p.place[v] != planned || p.plan.Values[v].Tensor.Allocation.MemoryID == fusedArena
}

// tenant is a group of values of an arena: the bytes from low to high.
type tenant struct {
	first, last int
	low, high   uint64
}

// tenants are the groups of an arena that are in use, by the value that stands for them.
func (p *spans) tenants(arena uint32) map[int32]*tenant {
	all := make(map[int32]*tenant)
	for i := range p.vals {
		v := int32(i)
		if p.place[v] != planned || p.first[v] == never || p.plan.Values[v].Tensor.Allocation.MemoryID != arena {
			continue
		}
		low := p.offset(v)
		high := low + uint64(p.vals[v].Tensor.Nbytes())
		t := all[p.root(v)]
		if t == nil {
			all[p.root(v)] = &tenant{p.first[v], p.last[v], low, high}
			continue
		}
		t.first, t.last = min(t.first, p.first[v]), max(t.last, p.last[v])
		t.low, t.high = min(t.low, low), max(t.high, high)
	}
	return all
}

// tenantAlign is what the offsets of tenants are multiples of, as ExecuTorch's plans have them.
const tenantAlign = 16

// replan gives the tensors of the arena places for these steps, and reports whether they fit into what the file has for it.
// Outputs lie apart from inputs, so that a caller can still give what one Run returned as inputs of the next.
func (p *spans) replan(steps []step) bool {
	if fusedArena >= len(p.sharedArena) || p.sharedArena[fusedArena] {
		return false
	}
	p.measure(steps)
	return p.move()
}

// move plans the arena, and reports whether that fits.
func (p *spans) move() bool {
	all := p.tenants(fusedArena)
	roots := make([]int32, 0, len(all))
	for v := range all {
		roots = append(roots, v)
	}
	slices.Sort(roots)
	items := make([]memory.Item, len(roots))
	for i, v := range roots {
		t := all[v]
		t.low -= t.low % tenantAlign
		items[i] = memory.Item{Size: int64(t.high - t.low), First: t.first, Last: t.last, Align: tenantAlign}
	}
	outside := func(v int32) {
		if at, ok := slices.BinarySearch(roots, p.root(p.base(v))); ok {
			items[at].Apart = true
		}
	}
	p.each(p.plan.Inputs, outside)
	p.each(p.plan.Outputs, outside)
	limit := p.plan.NonConstBufferSizes[fusedArena]
	offsets, total, err := memory.PlanWithin(items, limit)
	if err != nil || total > limit {
		return false
	}
	moved := make([]uint64, len(p.vals))
	for v := range p.vals {
		if p.place[v] == planned {
			moved[v] = p.offset(int32(v))
			if at, ok := slices.BinarySearch(roots, p.root(int32(v))); ok && p.plan.Values[v].Tensor.Allocation.MemoryID == fusedArena {
				moved[v] += uint64(offsets[at]) - all[roots[at]].low
			}
		}
	}
	p.offsets = moved
	return true
}
