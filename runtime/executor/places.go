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
	of []span // each value
	groups
	views
}

// span is when a value is in use, by the numbers of steps: -1 is before the first one.
type span struct {
	first, last int32
	reads       int32 // how often it is an argument
	writes      int32 // how many steps may write it
	reader      int32 // the last step that reads it
	members     int32 // how many values the group has that it stands for
	stays       bool  // whether it is there before the first step and behind the last
}

// never is the first step of a value that is not in use.
const never = math.MaxInt32

// inLine reports whether steps run one after another, each once.
func (m *method) inLine() bool {
	for i := range m.steps {
		if s := &m.steps[i]; s.kind != pte.KernelCall && s.kind != pte.DelegateCall && s.assert == nil {
			return false
		}
	}
	return len(m.plan.Chains) == 1
}

// findSpans finds when values are in use, as the plan of the file has it. It takes the memory of what it found before, which is void then.
func (m *method) findSpans() *spans {
	if m.found == nil {
		m.found = &spans{method: m, of: make([]span, len(m.vals)), groups: make(groups, len(m.vals))}
	}
	p := m.found
	p.views = m.findViews()
	p.groups.part()
	clear(p.of)
	for v := range p.of {
		p.of[v].stays = p.vals[v].Kind == op.Tensor && p.state(int32(v))
	}
	p.renames()
	p.measure(m.steps)
	p.overlaps()
	return p
}

// measure sets the spans of all values for these steps.
func (p *spans) measure(steps []step) {
	for v := range p.of {
		s := &p.of[v]
		s.first, s.last, s.reads, s.writes = never, never, 0, 0
	}
	for v := range p.of {
		if p.vals[v].Kind == op.Tensor && (p.isInput[v] || p.of[v].stays) {
			p.use(int32(v), -1)
		}
	}
	for i := range steps {
		p.step(&steps[i], int32(i))
	}
	end := int32(len(steps))
	p.each(p.plan.Outputs, func(v int32) { p.use(v, end) })
	for k, v := range p.plan.Inputs {
		if p.writesBack[k] {
			p.use(v, end)
		}
	}
	for v := range p.of {
		if p.of[v].stays {
			p.use(int32(v), end)
		}
	}
}

// step says that step i uses its values.
func (p *spans) step(s *step, i int32) {
	p.each(s.reads(), func(v int32) {
		p.of[v].reads++
		p.of[v].reader = i
		p.use(v, i)
	})
	p.each(s.touches(), func(v int32) {
		p.of[v].writes++
		p.use(v, i)
	})
}

// given reports whether the caller sees v behind the last step: as an output, or a member of one, or as an input, which may be written back.
func (m *method) given(v int32) (yes bool) {
	m.each(m.plan.Outputs, func(w int32) { yes = yes || w == v })
	return yes || m.isInput[v]
}

// alike reports whether two tensors have the same type, sizes and order.
func (m *method) alike(v, w int32) bool {
	x, y := &m.vals[v].Tensor.Meta, &m.vals[w].Tensor.Meta
	return x.DType == y.DType && slices.Equal(x.Sizes, y.Sizes) && slices.Equal(x.DimOrder, y.DimOrder)
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
func (p *spans) use(v, i int32) {
	for _, v := range [2]int32{v, p.base(v)} {
		s := &p.of[v]
		s.first = min(s.first, i)
		s.last = i
	}
}

// renames puts values that nobody has written when they are read into one group with what was written there last. What
// a built-in operator, and some delegates, write is not known: their arguments count as read first. The result of a view is given by it, and
// nothing is where it has a place of its own.
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
		if s.name == etViewName {
			p.each(s.args[:2], read)
			p.each(s.args, func(v int32) { order = append(order, v) })
			written[s.args[2]] = true
			continue
		}
		p.each(s.reads(), read)
		p.each(s.touches(), func(v int32) {
			written[v] = true
			order = append(order, v)
		})
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
	p.of[v].stays = true
}

// overlaps joins the values that share bytes and are in use at the same time.
func (p *spans) overlaps() {
	var order []int32
	for v := range p.vals {
		if p.place[v] == planned && p.of[v].first != never {
			order = append(order, int32(v))
		}
	}
	slices.SortStableFunc(order, func(v, w int32) int { return cmp.Compare(p.of[v].first, p.of[w].first) })
	var used pieces
	for _, v := range order {
		if at := p.areaOf(v); at.from < at.to {
			used.put(p, piece{at, v})
			continue
		}
		for _, w := range order { // an empty one within w counts
			if p.shares(v, w) && p.of[v].first <= p.of[w].last && p.of[w].first <= p.of[v].last {
				p.join(v, w)
			}
		}
	}
	for v := range p.of {
		p.of[v].members = 0
	}
	for v := range p.of {
		p.of[p.root(int32(v))].members++
	}
}

// names are the planned values that are in use, by what stands for their group.
func (p *spans) names() [][]int32 {
	list := make([][]int32, len(p.vals))
	for i := range p.vals {
		if v := int32(i); p.place[v] == planned && p.of[v].first != never {
			list[p.root(v)] = append(list[p.root(v)], v)
		}
	}
	return list
}

// alone reports whether nothing shares bytes with v while it is in use.
func (p *spans) alone(v int32) bool {
	return p.place[v] == planned && !p.of[v].stays && p.of[p.root(v)].members == 1
}

// moves reports whether v may be in use at other steps than the file's plan has it: its place is planned anew, or nobody else's.
func (p *spans) moves(v int32) bool {
	return p.place[v] != planned || p.plan.Values[v].Tensor.Allocation.MemoryID == fusedArena
}

// tenant is a group of values of an arena: the bytes from low to high.
type tenant struct {
	first, last int32
	low, high   uint64
}

// tenants are the groups of an arena that are in use, in the order of the values that stand for them; at says of each of these where
// its group is in the list, from 1 on, and is 0 for others.
func (p *spans) tenants(arena uint32) (all []tenant, at []int32) {
	at = make([]int32, len(p.vals))
	lives := func(v int32) bool {
		return p.place[v] == planned && p.of[v].first != never && p.plan.Values[v].Tensor.Allocation.MemoryID == arena
	}
	count := 0
	for i := range at {
		if v := int32(i); lives(v) && at[p.root(v)] == 0 {
			at[p.root(v)] = 1
			count++
		}
	}
	all = make([]tenant, 0, count)
	for v := range at {
		if at[v] > 0 {
			all = append(all, tenant{math.MaxInt32, math.MinInt32, math.MaxUint64, 0})
			at[v] = int32(len(all))
		}
	}
	for i := range at {
		if v := int32(i); lives(v) {
			t, low := &all[at[p.root(v)]-1], p.offset(v)
			t.first, t.last = min(t.first, p.of[v].first), max(t.last, p.of[v].last)
			t.low, t.high = min(t.low, low), max(t.high, low+uint64(p.vals[v].Tensor.Nbytes()))
		}
	}
	return all, at
}

// tenantAlign is what the offsets of tenants are multiples of, as ExecuTorch's plans have them.
const tenantAlign = 16

// replan gives the tensors of the arena places for these steps, and reports whether they fit into what the file has for it.
// Outputs lie apart from inputs where there are several of these, so that a caller can still give what one Run returned as inputs of the
// next: to copy one input would overwrite what another is given.
func (p *spans) replan(steps []step) bool {
	if fusedArena >= len(p.sharedArena) || p.sharedArena[fusedArena] {
		return false
	}
	p.measure(steps)
	return p.move()
}

// allOffsets are the offsets of all planned values, to be changed.
func (m *method) allOffsets() []uint64 {
	list := make([]uint64, len(m.vals))
	for v := range list {
		if m.place[v] == planned {
			list[v] = m.offset(int32(v))
		}
	}
	return list
}

// severalTensors reports whether more than one of these values is a tensor.
func (m *method) severalTensors(values []int32) bool {
	n := 0
	for _, v := range values {
		if m.vals[v].Kind == op.Tensor {
			n++
		}
	}
	return n > 1
}

// move plans the arena, and reports whether that fits.
func (p *spans) move() bool {
	all, at := p.tenants(fusedArena)
	items := make([]memory.Item, len(all))
	for i := range all {
		t := &all[i]
		t.low -= t.low % tenantAlign
		items[i] = memory.Item{Size: int64(t.high - t.low), First: int(t.first), Last: int(t.last), Align: tenantAlign}
	}
	outside := func(v int32) {
		if k := at[p.root(p.base(v))]; k > 0 {
			items[k-1].Apart = true
		}
	}
	if p.severalTensors(p.plan.Inputs) {
		p.each(p.plan.Inputs, outside)
		p.each(p.plan.Outputs, outside)
	}
	limit := p.plan.NonConstBufferSizes[fusedArena]
	offsets, total, err := memory.PlanWithin(items, limit)
	if err != nil || total > limit {
		return false
	}
	moved := p.allOffsets()
	for v := range p.vals {
		if k := at[p.root(int32(v))]; k > 0 && p.place[v] == planned && p.plan.Values[v].Tensor.Allocation.MemoryID == fusedArena {
			moved[v] += uint64(offsets[k-1]) - all[k-1].low
		}
	}
	p.offsets = moved
	return true
}
