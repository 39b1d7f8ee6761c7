package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// scatters are the operators that give their first argument with some elements replaced, and do so in it where it is their out.
var scatters = []string{"aten::index_put.out", "aten::slice_scatter.out", "aten::select_scatter.out", "aten::scatter.src_out", "aten::scatter.value_out"}

const (
	copyName     = "aten::copy_"
	indexPutName = "aten::index_put.out"
)

// updateBuffers lets operators write into a buffer what the program copies there afterwards, where nobody reads meanwhile what the buffer
// held. One row of a cache of keys and values then takes no copy of the cache, where the program has two.
func (m *method) updateBuffers() {
	copies := func(s step) bool { return s.plan != nil && s.name == copyName }
	if m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, copies) || !m.inLine() {
		return
	}
	f := &fuser{method: m, views: m.findViews(), steps: m.steps, gone: make([]bool, len(m.steps))}
	f.findAreas()
	for c := range f.steps {
		if copies(f.steps[c]) {
			f.updateBuffer(c)
		}
	}
	m.steps = without(f.steps, f.gone)
}

// updateBuffer leaves out step c, which copies to a buffer, if what it copies can be made there.
func (f *fuser) updateBuffer(c int) {
	buffer, from := f.steps[c].args[0], f.steps[c].args[1]
	i := slices.IndexFunc(f.steps[:c], func(s step) bool { return slices.Contains(s.outs, from) })
	if i < 0 || !f.internal(buffer) || !f.internal(from) || !f.mayWrite(i, buffer) || !f.updatable(i, c, buffer, from) {
		return
	}
	f.gone[c] = true
	f.steps[i].fused = fusedOf(f.steps, i, c)
	f.steps[i].outs = instead(f.steps[i].outs, from, buffer)
	for j := i + 1; j < len(f.steps); j++ {
		f.steps[j].args = instead(f.steps[j].args, from, buffer)
	}
}

// instead is list, or a copy of it, with w for v.
func instead(list []int32, v, w int32) []int32 {
	if slices.Contains(list, v) {
		list = slices.Clone(list)
		for i := range list {
			if list[i] == v {
				list[i] = w
			}
		}
	}
	return list
}

// mayWrite reports whether step i can write a buffer. It does not read it, nor leaves out what nobody reads, which another method may do; or it
// replaces elements of the buffer, and would give the same if it did so twice, as after a Run that failed.
func (f *fuser) mayWrite(i int, buffer int32) bool {
	s := &f.steps[i]
	switch {
	case f.gone[i] || s.plan == nil:
		return false
	case !f.any(s.args, buffer):
		return s.plan.Kernel.Def.Tags&op.Skips == 0 && !f.sharedArena[f.areas[buffer].memory]
	case !slices.Contains(scatters, s.name) || s.args[0] != buffer || f.any(s.args[1:], buffer):
		return false
	}
	return s.name != indexPutName || !f.varies[s.args[3]] && f.vals[s.args[3]].Int == 0
}

// updatable reports whether step i can write a buffer instead of the tensor `from`, which step c copies there: nobody else writes the
// buffer, nobody reads between the two what it held, and what is read where the tensor lies is read by its name, or a view's.
func (f *fuser) updatable(i, c int, buffer, from int32) bool {
	if !f.alike(buffer, from) || f.any(f.steps[i].args, from) || f.any(f.plan.Outputs, buffer) || f.sharedArena[f.areas[from].memory] || f.kept(from) {
		return false
	}
	for _, v := range f.steps[i].outs { // from among them
		if f.overlap(v, buffer) {
			return false
		}
	}
	for k, v := range f.plan.Inputs { // the caller gets what lies there at last
		if f.writesBack[k] && (f.overlap(v, buffer) || f.overlap(v, from)) {
			return false
		}
	}
	last := c
	for j := c + 1; j < len(f.steps); j++ {
		if slices.ContainsFunc(f.steps[j].args, func(v int32) bool { return f.base(v) == from }) {
			last = j
		}
	}
	there := true // until something else takes its place
	for j := range f.steps {
		s := &f.steps[j]
		if j == i || j == c || f.gone[j] {
			continue
		}
		writes := s.touches()
		switch {
		case f.any(writes, buffer) || j > i && j < c && f.any(s.args, buffer) || j < i && slices.Contains(s.args, from) || slices.Contains(s.outs, from):
			return false
		case j < i || !there:
		case !f.named(s.args, from) || j <= last && f.any(writes, from):
			return false
		default:
			there = !slices.ContainsFunc(writes, func(v int32) bool { return f.covers(v, from) })
		}
	}
	return !there || !f.any(f.plan.Outputs, from)
}

// covers reports whether v lies wherever w does.
func (f *fuser) covers(v, w int32) bool {
	a, b := &f.areas[v], &f.areas[w]
	return a.memory == b.memory && a.from <= b.from && a.to >= b.to
}

// named reports whether all of a step's arguments that lie where the tensor v does are v, or views of it.
func (f *fuser) named(args []int32, v int32) bool {
	for _, w := range args {
		if f.any([]int32{w}, v) && (f.vals[w].Kind != op.Tensor || f.base(w) != v) {
			return false
		}
	}
	return true
}

// internal reports whether v has a place in memory that is planned, and sizes that stay, and is neither a view nor an input.
func (f *fuser) internal(v int32) bool {
	return f.vals[v].Kind == op.Tensor && f.place[v] == planned && f.static(v) && f.base(v) == v && !f.isInput[v]
}
