package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fuser looks for steps that one step can replace. Tensors that share memory stand for each other: what a step reads is what
// the last one wrote that wrote there.
type fuser struct {
	*method
	views
	steps   []step
	gone    []bool
	areas   []area        // of every value
	touched firstUses     // nil until kept asks
	calls   []op.FlowCall // the steps before anything is fused; nil if nobody knows
	// uses is by how many steps each value is read, or made as a view; far more if somebody else writes it, or the caller sees it.
	uses []int
	// moves says that tensors may get other places, and moved that they must.
	moves, moved bool
	spans        *spans
	// first and next are the values by what stands for their group, one behind the other and from 1 on; 0 is none. They are nil until somebody
	// asks, and void when views change, or groups.
	first, next []int32
}

// area is where a tensor lies in a memory; one outside of planned memory has one of its own, with a negative number. That of
// what is no tensor is empty.
type area struct {
	memory   int32
	from, to uint64
}

func (a *area) overlaps(b *area) bool {
	return a.memory == b.memory && a.from < b.to && b.from < a.to
}

// findAreas sets areas.
func (f *fuser) findAreas() {
	f.areas = make([]area, len(f.vals))
	for i := range f.vals {
		if f.vals[i].Kind != op.Tensor {
			continue
		}
		r := f.base(int32(i))
		f.areas[i] = area{-1 - r, 0, 1}
		if f.place[r] == planned {
			f.areas[i] = f.areaOf(r)
		}
	}
}

// findUnread tells kernels that can leave results out which of them nobody reads.
func (m *method) findUnread() {
	skips := func(s step) bool { return s.plan != nil && s.plan.Kernel.Def.Tags&op.Skips != 0 }
	if m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, skips) || !m.inLine() {
		return
	}
	f := &fuser{method: m, views: m.findViews(), steps: m.steps}
	f.findAreas()
	calls := f.findFlow()
	for i := range calls {
		if skips(m.steps[i]) {
			m.steps[i].plan.SetUnread(calls[i].Unread)
		}
	}
}

// fuse replaces two products and the softmax between them by one attention, and the functions of the gates of an LSTM or a GRU
// by one cell, each with the place of its last step. Tensors that are read later then may get other places, if they fit; else
// what would need that stays.
func (m *method) fuse() {
	soft := func(s step) bool { return s.name == softmaxName }
	gates := func(s step) bool { return s.name == tanhName }
	attends := slices.ContainsFunc(m.steps, soft)
	if m.prog.tracesIntermediates() || !attends && !slices.ContainsFunc(m.steps, gates) || !m.inLine() {
		return
	}
	for _, moves := range [2]bool{true, false} {
		f := &fuser{method: m, views: m.findViews(), steps: slices.Clone(m.steps), gone: make([]bool, len(m.steps)), moves: moves}
		f.findAreas()
		if attends {
			f.calls = f.findFlow()
		}
		if !f.all() {
			return
		}
		if kept := without(f.steps, f.gone); !f.moved || f.spans.replan(kept) {
			m.steps = kept
			return
		}
	}
}

// all fuses what it finds, and reports whether that is anything.
func (f *fuser) all() (found bool) {
	for i := range f.steps {
		switch {
		case f.gone[i]:
		case f.steps[i].name == softmaxName && f.calls != nil:
			found = f.attention(i) || found
		case f.steps[i].name == splitName:
			found = f.lstm(i) || f.gru(i) || found
		}
	}
	return found
}

// attention replaces the steps around softmax soft, if they are an attention.
func (f *fuser) attention(soft int) bool {
	a := op.FindAttention(f.calls, soft)
	if a == nil || slices.ContainsFunc(a.Gone, func(i int) bool { return f.gone[i] }) {
		return false
	}
	s := &f.steps[a.Last]
	fused := step{kind: pte.KernelCall, name: op.AttentionName, a: s.a, outs: s.outs, chain: s.chain, index: s.index,
		plan: op.PrepareAttention(f.steps[a.First].plan, a.Attention)}
	if fused.plan == nil {
		return false
	}
	for _, r := range a.Args {
		v := f.steps[r.Call].args[r.Arg]
		if f.vals[v].Kind == op.Tensor && !f.intact(v, r.Call, a.Last, a.Gone) {
			return false
		}
		fused.args = append(fused.args, v)
		fused.params = append(fused.params, anyParam(&f.vals[v], s.params[0]))
	}
	fused.stable = !f.changes(&fused)
	fused.fixed = fused.stable && f.fixed(&fused)
	fused.fused = fusedOf(f.steps, a.Gone...)
	for _, i := range a.Gone {
		f.gone[i] = i != a.Last
	}
	*s = fused
	return true
}

// sizesParam is the parameter of a list of sizes.
var sizesParam = op.Param{Name: "sizes", Type: "int[]"}

func anyParam(v *op.Value, t *op.Param) *op.Param {
	if v.Kind == op.Ints {
		return &sizesParam
	}
	return t
}

// out is the tensor that step i writes.
func (f *fuser) out(i int) *tensor.Tensor { return f.vals[f.steps[i].outs[0]].Tensor }

// only is the step that alone reads what step i writes, if it has this name.
func (f *fuser) only(i int, name string) (int, bool) {
	users, ok := f.users(i)
	if !ok || len(users) != 1 || f.steps[users[0]].name != name {
		return 0, false
	}
	return users[0], true
}

// users are the steps that read what step i writes, at least one; false if it may also be read behind the last step, or if
// i has not one result.
func (f *fuser) users(i int) (list []int, ok bool) {
	if len(f.steps[i].outs) != 1 {
		return nil, false
	}
	return f.readers(i, f.steps[i].outs[0])
}

// readers is users for one of several results.
func (f *fuser) readers(i int, x int32) (list []int, ok bool) {
	if f.steps[i].plan == nil || f.kept(x) {
		return nil, false
	}
	for j := i + 1; j < len(f.steps); j++ {
		s := &f.steps[j]
		if f.any(s.reads(), x) {
			if f.gone[j] || s.plan == nil {
				return nil, false
			}
			list = append(list, j)
		}
		if f.any(s.touches(), x) {
			return list, len(list) > 0
		}
	}
	if f.any(f.plan.Outputs, x) {
		return nil, false
	}
	return list, len(list) > 0
}

// kept reports whether what lies where x does may be read in the next Run, by the places that the file has.
func (f *fuser) kept(x int32) bool {
	if f.touched == nil {
		f.touched = f.findFirstUses()
	}
	at := f.before(x)
	isThere := func(v int32) bool { before := f.before(v); return before.overlaps(&at) }
	return !slices.ContainsFunc(f.plan.Inputs, isThere) && f.touched.readFirst(&at)
}

// before is where a tensor lay before isolate.
func (f *fuser) before(v int32) area {
	at := f.areas[v]
	if at.memory < -int32(len(f.vals)) {
		at.memory = fusedArena
	}
	return at
}

// reads reports whether value v is what step i writes.
func (f *fuser) reads(i int, v int32) bool { return f.overlap(v, f.steps[i].outs[0]) }

// any reports whether a value of list, or a member of one, overlaps x.
func (f *fuser) any(list []int32, x int32) bool {
	at := &f.areas[x]
	for _, v := range list {
		if f.areas[v].overlaps(at) {
			return true
		}
		if f.vals[v].Kind != op.Tensors {
			continue
		}
		for _, item := range f.plan.Values[v].Items {
			if item >= 0 && f.areas[item].overlaps(at) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two tensors have bytes in common.
func (f *fuser) overlap(v, w int32) bool {
	return f.areas[v].overlaps(&f.areas[w])
}

// intact reports whether value v, which step from reads, is still there at step to, if those of gone do not run.
func (f *fuser) intact(v int32, from, to int, gone []int) bool {
	whole := true
	for i := from + 1; i < to && whole; i++ {
		s := &f.steps[i]
		if slices.Contains(gone, i) || f.gone[i] {
			continue
		}
		f.each(s.touches(), func(w int32) { whole = whole && (!f.overlap(v, w) || f.parts(v, w)) })
	}
	return whole
}

// parts reports whether two tensors that share memory can get places apart. The first one then has such a place for all that follows.
func (f *fuser) parts(v, w int32) bool {
	if !f.moves || f.areas[v].memory != fusedArena {
		return false
	}
	if f.spans == nil {
		f.spans = f.findSpans()
	}
	apart := f.spans.root(v) != f.spans.root(w)
	if apart {
		f.moved = true
		f.isolate(f.spans.root(v))
	}
	return apart
}

// isolate puts the tensors of a group into a memory of their own: what the file has there at other times is no longer there.
func (f *fuser) isolate(root int32) {
	if f.first == nil {
		f.findGroups()
	}
	for v := f.first[root]; v > 0; v = f.next[v-1] {
		f.areas[v-1].memory = -1 - int32(len(f.vals)) - root
	}
}

// findGroups sets first and next.
func (f *fuser) findGroups() {
	f.first, f.next = make([]int32, len(f.areas)), make([]int32, len(f.areas))
	for v := range f.areas {
		root := f.spans.root(f.base(int32(v)))
		f.first[root], f.next[v] = int32(v)+1, f.first[root]
	}
}
