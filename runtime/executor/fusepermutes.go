package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// turnBacks leaves out permutations that undo the one before, where kernels alone read the result, or views of it, and the tensor that was
// turned is still there, or can have a place where it is: they read that. The official exporter's decoders turn each cache of keys and values
// twice before attention, and programs whose attention it decomposes turn what that gives.
func (m *method) turnBacks() {
	if m.prog.tracesIntermediates() || !m.turnsTwice() || !m.inLine() {
		return
	}
	for _, moves := range [2]bool{true, false} {
		f := &fuser{method: m, views: m.findViews(), steps: slices.Clone(m.steps), gone: make([]bool, len(m.steps)), moves: moves}
		f.findAreas()
		if f.calls = f.findFlow(); f.calls == nil {
			return
		}
		f.findUses()
		for j := range f.steps {
			f.turnBack(j)
		}
		if !slices.Contains(f.gone, true) {
			return
		}
		if f.moved {
			f.spans.views = f.views
		}
		if kept := without(f.steps, f.gone); !f.moved || f.spans.replan(kept) {
			m.steps = kept
			return
		}
	}
}

// findUses sets uses.
func (f *fuser) findUses() {
	f.uses = make([]int, len(f.vals))
	taken := func(v int32) { f.uses[v] += len(f.steps) + 1 }
	last := make([]int, len(f.vals)) // the step that has been counted, and one
	for i := range f.steps {
		s := &f.steps[i]
		f.each(s.reads(), func(v int32) {
			if last[v] != i+1 {
				f.uses[v], last[v] = f.uses[v]+1, i+1
			}
		})
		if s.name != etViewName {
			f.each(s.touches(), taken)
		}
	}
	f.each(f.plan.Inputs, taken)
	f.each(f.plan.Outputs, taken)
}

// turnsTwice reports whether a permutation reads the value that another one gave.
func (m *method) turnsTwice() bool {
	var turned []bool
	for i := range m.steps {
		s := &m.steps[i]
		if s.plan == nil || s.name != permuteName {
			continue
		}
		if turned == nil {
			turned = make([]bool, len(m.vals))
		}
		if turned[s.args[0]] {
			return true
		}
		turned[s.outs[0]] = true
	}
	return false
}

// turnBack leaves out step j if it undoes the permutation that it reads, and that one, too, if nobody else reads it.
func (f *fuser) turnBack(j int) {
	if f.calls[j].Name != permuteName || f.calls[j].Open || len(f.calls[j].Users) == 0 {
		return
	}
	i := f.calls[j].Args[0].From
	if i < 0 || f.gone[i] || f.calls[i].Name != permuteName || !f.undoes(j, i) {
		return
	}
	from, back := f.steps[i].args[0], f.steps[j].outs[0]
	readers, ok := f.readersOf(j, back)
	if !ok || f.isInput[back] || f.static(back) && !f.static(from) || f.place[from] == constant || !f.alike(from, back) ||
		!f.intact(f.base(from), i, slices.Max(readers)+1, nil) {
		return
	}
	f.gone[j] = true
	f.gone[i] = !f.calls[i].Open && !slices.ContainsFunc(f.calls[i].Users, func(k int) bool { return !f.gone[k] })
	users := f.calls[j].Users
	runs := []int{j, users[0]}
	if f.gone[i] {
		runs = append(runs, i)
	}
	f.steps[users[0]].fused = fusedOf(f.steps, runs...)
	for _, k := range readers {
		s := &f.steps[k]
		if s.args = instead(s.args, back, from); s.name == etViewName {
			f.views[s.args[2]] = s.args[0]
			f.first, f.next = nil, nil
		}
	}
	if a := f.calls[i].Args[0].From; a >= 0 {
		f.calls[a].Users = append(f.calls[a].Users, users...)
	}
}

// readersOf are the steps that read what step j writes, the tensor v, or views of it. They are kernels, and what makes the views; false if there are
// others, or who reads v by another name, or writes where it lies.
func (f *fuser) readersOf(j int, v int32) (all []int, ok bool) {
	all = slices.Clone(f.calls[j].Users)
	for n := 0; n < len(all); n++ {
		s := &f.steps[all[n]]
		view := s.name == etViewName
		switch {
		case !view && s.plan == nil, !f.named(s.args, v), f.any(s.outs, v):
			return nil, false
		case view:
			users := f.calls[all[n]].Users
			if f.uses[s.args[2]] != len(users)+1 { // it lies elsewhere then, also for who writes it or reads what others wrote
				return nil, false
			}
			all = append(all, users...)
		}
	}
	return all, true
}

// undoes reports whether step j puts the dimensions back in the places where they were before step i, both permutations whose order stays.
func (f *fuser) undoes(j, i int) bool {
	v, w := f.steps[i].args[1], f.steps[j].args[1]
	there, back := f.vals[v].Ints, f.vals[w].Ints
	if f.varies[v] || f.varies[w] || len(there) != len(back) {
		return false
	}
	for d, from := range back {
		at, err := op.WrapDim(from, len(there))
		if err != nil {
			return false
		}
		if was, err := op.WrapDim(there[at], len(there)); err != nil || was != d {
			return false
		}
	}
	return true
}
