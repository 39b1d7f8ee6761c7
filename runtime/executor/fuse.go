package executor

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of the operators that an attention is made of.
const (
	bmmName     = "aten::bmm.out"
	viewName    = "aten::view_copy.out"
	scaleName   = "aten::mul.Scalar_out"
	addName     = "aten::add.out"
	whereName   = "aten::where.self_out"
	softmaxName = "aten::_softmax.out"
	amaxName    = "aten::amax.out"
	equalName   = "aten::eq.Scalar_out"
)

// fuser looks for steps that one step can replace. Tensors that share memory stand for each other: what a step reads is what
// the last one wrote that wrote there.
type fuser struct {
	*method
	views
	areas []area        // of every value
	known map[area]bool // what kept has said of areas
	gone  []bool
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
			a := f.plan.Values[r].Tensor.Allocation
			f.areas[i] = area{int32(a.MemoryID), a.Offset, a.Offset + uint64(f.vals[r].Tensor.Nbytes())}
		}
	}
}

// fuse replaces two products and the softmax between them by one attention, and the functions of the gates of an LSTM or a GRU
// by one cell, each with the place of its last step. Nothing else moves, and the plan of the memory stays.
func (m *method) fuse() {
	if !m.straight() {
		return
	}
	f := &fuser{method: m, views: m.findViews(), known: make(map[area]bool), gone: make([]bool, len(m.steps))}
	f.findAreas()
	found := false
	for i := range m.steps {
		switch {
		case f.gone[i]:
		case m.steps[i].name == bmmName:
			found = f.attention(i) || found
		case m.steps[i].name == splitName:
			found = f.lstm(i) || f.gru(i) || found
		}
	}
	if found {
		m.steps = without(m.steps, f.gone)
	}
}

// straight reports whether steps run one after another, with a softmax or a tanh among them.
func (m *method) straight() bool {
	soft := false
	for i := range m.steps {
		s := &m.steps[i]
		if s.kind != pte.KernelCall && s.kind != pte.DelegateCall {
			return false
		}
		soft = soft || s.name == softmaxName || s.name == tanhName
	}
	return soft && len(m.plan.Chains) == 1
}

// candidate is an attention in the making.
type candidate struct {
	op.Attention
	steps  []int // all of its steps in the end
	at     int   // the last one found so far
	sizes  int32 // a list of sizes of scores that are known at run time; -1 for none
	mask   int32 // -1 for none
	masked int   // the step that reads the mask
}

// attention replaces the steps from product first on, if they are an attention.
func (f *fuser) attention(first int) bool {
	c := candidate{Attention: op.Attention{Scale: 1}, steps: []int{first}, at: first, sizes: -1, mask: -1}
	if !f.scores(&c) || !f.softmax(&c) {
		return false
	}
	last, ok := f.secondProduct(&c)
	if !ok || !f.plain(&c) {
		return false
	}
	q, k, v := f.steps[first].args[0], f.steps[first].args[1], f.steps[last].args[1]
	if !f.intact(q, first, last, c.steps) || !f.intact(k, first, last, c.steps) || c.mask >= 0 && !f.intact(c.mask, c.masked, last, c.steps) {
		return false
	}
	plan := op.PrepareAttention(f.steps[first].plan, c.Attention)
	if plan == nil {
		return false
	}
	s := &f.steps[last]
	params := f.steps[first].params
	fused := step{kind: pte.KernelCall, name: op.AttentionName, a: s.a, outs: s.outs, plan: plan, chain: s.chain, index: s.index,
		args: []int32{q, k, v}, params: []*op.Param{params[0], params[1], params[1]}}
	for _, extra := range []int32{c.sizes, c.mask} {
		if extra >= 0 {
			fused.args = append(fused.args, extra)
			fused.params = append(fused.params, anyParam(&f.vals[extra], params[0]))
		}
	}
	fused.floats = make([]bool, len(fused.args))
	fused.stable = !f.changes(&fused)
	fused.fixed = fused.stable && f.fixed(&fused)
	for _, i := range c.steps {
		f.gone[i] = i != last
	}
	*s = fused
	return true
}

// sizesParam is the parameter of the sizes of scores.
var sizesParam = op.Param{Name: "sizes", Type: "int[]"}

func anyParam(v *op.Value, t *op.Param) *op.Param {
	if v.Kind == op.Ints {
		return &sizesParam
	}
	return t
}

// scores follows a product to the softmax: it may be scaled, and then masked.
func (f *fuser) scores(c *candidate) bool {
	for {
		users, ok := f.users(c.at)
		if !ok {
			return false
		}
		next := users[0]
		if f.steps[next].name == softmaxName {
			return true
		}
		if len(users) != 1 || !f.score(c, next) {
			return false
		}
		c.take(next)
	}
}

func (c *candidate) take(i int) {
	c.steps = append(c.steps, i)
	c.at = i
}

// score reports whether step i does something to the scores that an attention can do.
func (f *fuser) score(c *candidate, i int) bool {
	s := &f.steps[i]
	switch s.name {
	case viewName:
		if !s.fixed {
			c.sizes = s.args[1]
		}
		return c.mask < 0
	case scaleName:
		x := &f.vals[s.args[1]]
		if c.mask >= 0 || c.Scale != 1 || f.varies[s.args[1]] || x.Kind != op.Float && x.Kind != op.Int {
			return false
		}
		c.Scale = float32(x.Scalar())
		return c.Scale > 0 && c.Scale <= math.MaxFloat32
	case whereName:
		return f.reads(c.at, s.args[1]) && f.number(s.args[2], math.Inf(-1)) && f.setMask(c, i, s.args[0], tensor.Bool)
	case addName:
		x := &f.vals[s.args[2]]
		return f.reads(c.at, s.args[0]) && !f.varies[s.args[2]] && x.Kind != op.None && x.Scalar() == 1 && f.setMask(c, i, s.args[1], tensor.Float)
	}
	return false
}

// setMask takes value v as the mask that step i reads.
func (f *fuser) setMask(c *candidate, i int, v int32, want tensor.ScalarType) bool {
	t, scores := f.vals[v].Tensor, f.out(c.at)
	if c.mask >= 0 || t == nil || t.DType != want || t.Rank() > 4 || scores.Rank() > 4 || f.reads(c.at, v) || !slices.Equal(f.out(i).Sizes, scores.Sizes) {
		return false
	}
	c.mask, c.masked = v, i
	return true
}

// softmax takes the softmax of the scores, and what gives zeros where a row has no number.
func (f *fuser) softmax(c *candidate) bool {
	users, _ := f.users(c.at)
	soft := users[0]
	s := &f.steps[soft]
	if dim := &f.vals[s.args[1]]; f.varies[s.args[1]] || dim.Int != -1 && int(dim.Int) != f.out(soft).Rank()-1 {
		return false
	}
	if len(users) == 1 {
		c.take(soft)
		return true
	}
	if len(users) != 2 || f.steps[users[1]].name != amaxName || !f.alongLast(&f.steps[users[1]]) {
		return false
	}
	equal, ok := f.only(users[1], equalName)
	if !ok || f.varies[f.steps[equal].args[1]] || f.vals[f.steps[equal].args[1]].Scalar() != math.Inf(-1) {
		return false
	}
	choice, ok := f.only(equal, whereName)
	other, same := f.only(soft, whereName)
	if !ok || !same || choice != other {
		return false
	}
	args := f.steps[choice].args
	if !f.reads(equal, args[0]) || !f.number(args[1], 0) || !f.reads(soft, args[2]) {
		return false
	}
	c.EmptyZero = true
	c.steps = append(c.steps, soft, users[1], equal)
	c.take(choice)
	return true
}

// alongLast reports whether a reduction takes the last dimension, and keeps it.
func (f *fuser) alongLast(s *step) bool {
	dims, keep := &f.vals[s.args[1]], &f.vals[s.args[2]]
	return !f.varies[s.args[1]] && !f.varies[s.args[2]] && keep.Int != 0 && len(dims.Ints) == 1 &&
		(dims.Ints[0] == -1 || int(dims.Ints[0]) == f.vals[s.args[0]].Tensor.Rank()-1)
}

// secondProduct finds the product of what the softmax gives.
func (f *fuser) secondProduct(c *candidate) (int, bool) {
	for {
		users, ok := f.users(c.at)
		if !ok || len(users) != 1 {
			return 0, false
		}
		i := users[0]
		s := &f.steps[i]
		if s.name != viewName && (s.name != bmmName || !f.reads(c.at, s.args[0]) || f.reads(c.at, s.args[1])) {
			return 0, false
		}
		c.take(i)
		if s.name == bmmName {
			return i, true
		}
	}
}

// plain reports whether all steps of a candidate give Float, or Bool, in row-major order, and scores keep their last
// dimensions.
func (f *fuser) plain(c *candidate) bool {
	scores := f.out(c.steps[0]).Sizes
	if len(scores) != 3 {
		return false
	}
	for _, i := range c.steps {
		t := f.out(i)
		if t.DType != tensor.Float && t.DType != tensor.Bool || !t.Contiguous() || f.steps[i].plan == nil || len(f.steps[i].outs) != 1 {
			return false
		}
		if s := &f.steps[i]; s.name == softmaxName && (t.Rank() < 2 || !slices.Equal(t.Sizes[t.Rank()-2:], scores[1:])) {
			return false
		}
	}
	return true
}

// out is the tensor that step i writes.
func (f *fuser) out(i int) *tensor.Tensor { return f.vals[f.steps[i].outs[0]].Tensor }

// number reports whether value v is a constant tensor of the one number x.
func (f *fuser) number(v int32, x float64) bool {
	t := f.vals[v].Tensor
	if t == nil || f.place[v] != constant || t.DType != tensor.Float || t.Numel() != 1 || len(t.Data) < 4 {
		return false
	}
	return float64(math.Float32frombits(uint32(t.Data[0])|uint32(t.Data[1])<<8|uint32(t.Data[2])<<16|uint32(t.Data[3])<<24)) == x
}

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
		if f.any(s.args, x) {
			if f.gone[j] || s.plan == nil {
				return nil, false
			}
			list = append(list, j)
		}
		if s.plan != nil && f.any(s.outs, x) {
			return list, len(list) > 0
		}
	}
	for _, v := range f.plan.Outputs {
		if f.overlap(v, x) {
			return nil, false
		}
	}
	return list, len(list) > 0
}

// kept reports whether what lies where x does may be read in the next Run.
func (f *fuser) kept(x int32) bool {
	yes, ok := f.known[f.areas[x]]
	if !ok {
		yes = f.readFirst(x)
		f.known[f.areas[x]] = yes
	}
	return yes
}

// readFirst reports whether the first step that reads or writes where x lies reads; not where an input lies.
func (f *fuser) readFirst(x int32) bool {
	for _, v := range f.plan.Inputs {
		if f.overlap(v, x) {
			return false
		}
	}
	for i := range f.steps {
		s := &f.steps[i]
		if f.any(s.args, x) {
			return true
		}
		if f.any(s.outs, x) {
			return false
		}
	}
	return true
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
	for i := from + 1; i < to; i++ {
		s := &f.steps[i]
		if slices.Contains(gone, i) || f.gone[i] {
			continue
		}
		if f.any(s.outs, v) || s.plan == nil && s.name != etViewName && f.any(s.args, v) {
			return false
		}
	}
	return true
}
