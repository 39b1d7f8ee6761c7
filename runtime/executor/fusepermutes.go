package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// turnBacks leaves out permutations that undo the one before, where kernels alone read the result and the tensor that was turned is still there:
// they read that. The official exporter's decoders turn each cache of keys and values twice before attention.
func (m *method) turnBacks() {
	if m.prog.tracesIntermediates() || !m.turnsTwice() || !m.inLine() {
		return
	}
	f := &fuser{method: m, views: m.findViews(), steps: m.steps, gone: make([]bool, len(m.steps))}
	f.findAreas()
	if f.calls = f.findFlow(); f.calls == nil {
		return
	}
	for j := range f.steps {
		f.turnBack(j)
	}
	m.steps = without(f.steps, f.gone)
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
	from, back, users := f.steps[i].args[0], f.steps[j].outs[0], f.calls[j].Users
	if f.isInput[back] || f.static(back) && !f.static(from) || f.place[from] == constant || !f.alike(from, back) || !f.intact(from, i, slices.Max(users)+1, nil) {
		return
	}
	for _, k := range users {
		if s := &f.steps[k]; s.plan == nil || !f.named(s.args, back) || f.any(s.outs, back) {
			return
		}
	}
	f.gone[j] = true
	f.gone[i] = !f.calls[i].Open && !slices.ContainsFunc(f.calls[i].Users, func(k int) bool { return !f.gone[k] })
	first := &f.steps[users[0]]
	if first.fused = fusedOf(f.steps, j, users[0]); f.gone[i] {
		first.fused = fusedOf(f.steps, i, users[0])
	}
	for _, k := range users {
		f.steps[k].args = instead(f.steps[k].args, back, from)
	}
	if a := f.calls[i].Args[0].From; a >= 0 {
		f.calls[a].Users = append(f.calls[a].Users, users...)
	}
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
