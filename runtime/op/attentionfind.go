package op

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of the operators that an attention is made of.
const (
	bmmName        = "aten::bmm.out"
	softmaxName    = "aten::_softmax.out"
	addName        = "aten::add.out"
	whereName      = "aten::where.self_out"
	permuteName    = "aten::permute_copy.out"
	expandName     = "aten::expand_copy.out"
	equalName      = "aten::eq.Scalar_out"
	amaxName       = "aten::amax.out"
	anyName        = "aten::any.out"
	logicalNotName = "aten::logical_not.out"
)

// scaling are the operators that multiply a tensor by a number, and whether they divide.
var scaling = map[string]bool{"aten::mul.Scalar_out": false, "aten::mul.out": false, "aten::div.out": true}

// FoundAttention is an attention among calls.
type FoundAttention struct {
	Attention
	// First and Last are the two products.
	First, Last int
	// Args are the arguments of PrepareAttention's plan, as calls before Last read them.
	Args []FlowRef
	// Gone are the calls that the attention replaces, Last among them.
	Gone []int
}

// attentionFinder is an attention in the making.
type attentionFinder struct {
	FoundAttention
	calls []FlowCall
	lists []FlowRef
	mask  FlowRef // of call -1 for none
}

// FindAttention finds the attention that call soft, a softmax, is part of; nil if it is none. The calls before its Last one are
// as they were in the program.
func FindAttention(calls []FlowCall, soft int) *FoundAttention {
	f := attentionFinder{calls: calls, FoundAttention: FoundAttention{Attention: Attention{Scale: 1}}, mask: FlowRef{Call: -1}}
	c := &calls[soft]
	if c.Name != softmaxName || !f.plain(soft) || !f.alongLast(soft, 1) || !f.scores(FlowRef{soft, 0}, 2) {
		return nil
	}
	weights, ok := f.guard(soft)
	if !ok || !f.second(weights) || !f.sameScores() {
		return nil
	}
	q := f.operand(FlowRef{f.First, 0}, QuerySizes)
	k := f.operand(FlowRef{f.First, 1}, KeySizes)
	v := f.operand(FlowRef{f.Last, 1}, ValueSizes)
	f.Args = append([]FlowRef{q, k, v}, f.lists...)
	if f.mask.Call >= 0 {
		f.Args = append(f.Args, f.mask)
	}
	f.dropUnread()
	return &f.FoundAttention
}

func (f *attentionFinder) arg(r FlowRef) *FlowArg { return &f.calls[r.Call].Args[r.Arg] }

// plain reports whether call i gives one tensor of Float, or Bool, in row-major order, without bounds.
func (f *attentionFinder) plain(i int) bool {
	t := f.calls[i].Out
	p := f.calls[i].Plan
	return t != nil && (p == nil || p.bounds == nil) && (t.DType == tensor.Float || t.DType == tensor.Bool) && t.Contiguous() && len(t.Sizes) >= 2
}

// take notes that call i is part of the attention.
func (f *attentionFinder) take(i int) { f.Gone = append(f.Gone, i) }

// list notes the sizes that a call of moving says its result has, unless they never change.
func (f *attentionFinder) list(i int, of AttentionSizes) {
	if c := &f.calls[i]; sized[c.Name] && !c.Fixed {
		f.lists, f.Lists = append(f.lists, FlowRef{i, 1}), append(f.Lists, of)
	}
}

// scores follows argument r up to the first product; what gives it may have this many users.
func (f *attentionFinder) scores(r FlowRef, users int) bool {
	at := f.arg(r).From
	if at < 0 || f.calls[at].Open || len(f.calls[at].Users) > users || !f.plain(at) {
		return false
	}
	f.take(at)
	c := &f.calls[at]
	switch {
	case c.Name == bmmName:
		f.First = at
		return len(c.Out.Sizes) == 3
	case moving[c.Name]:
		f.list(at, ScoreSizes)
		return f.keeps(at) && f.scores(FlowRef{at, 0}, 1)
	case c.Name == whereName:
		low, ok := constantOf(f.calls, &c.Args[2])
		return ok && low == math.Inf(-1) && f.setMask(at, 0, 1, tensor.Bool) && f.scores(FlowRef{at, 1}, 1)
	case c.Name == addName:
		if alpha, ok := constantOf(f.calls, &c.Args[2]); !ok || alpha != 1 {
			return false
		}
		before := *f
		if f.setMask(at, 1, 0, tensor.Float) && f.scores(FlowRef{at, 0}, 1) {
			return true
		}
		*f = before
		return f.setMask(at, 0, 1, tensor.Float) && f.scores(FlowRef{at, 1}, 1)
	}
	x, ok := f.scale(at)
	return ok && f.scores(x, 1)
}

// scale takes the number that call i multiplies a tensor by, and gives the tensor.
func (f *attentionFinder) scale(i int) (x FlowRef, ok bool) {
	c := &f.calls[i]
	divides, ok := scaling[c.Name]
	if !ok {
		return x, false
	}
	x, by := FlowRef{i, 0}, 1
	factor, ok := constantOf(f.calls, &c.Args[by])
	if !ok && !divides {
		x.Arg, by = 1, 0
		factor, ok = constantOf(f.calls, &c.Args[by])
	}
	if divides {
		factor = 1 / factor
	}
	t := f.arg(x).tensor()
	if !ok || t == nil || !slices.Equal(t.Sizes, c.Out.Sizes) || !t.Contiguous() {
		return x, false
	}
	f.Scale *= float32(factor)
	return x, f.Scale > 0 && f.Scale <= math.MaxFloat32
}

// setMask takes an argument of call i as the mask of the scores that are another one.
func (f *attentionFinder) setMask(i, mask, scores int, want tensor.ScalarType) bool {
	c := &f.calls[i]
	t, x := c.Args[mask].tensor(), c.Args[scores].tensor()
	if f.mask.Call >= 0 || f.Scale != 1 || t == nil || x == nil || t.DType != want || !slices.Equal(x.Sizes, c.Out.Sizes) ||
		t.Rank() > 4 || x.Rank() > 4 && t.Rank() > 2 {
		return false
	}
	f.mask = FlowRef{i, mask}
	return true
}

// keeps reports whether the result of call i, of moving, has the elements of its argument, and rows and columns as that.
func (f *attentionFinder) keeps(i int) bool {
	c := &f.calls[i]
	t := c.Args[0].tensor()
	return t != nil && f.plain(i) && t.Contiguous() && t.Numel() == c.Out.Numel() && sameMatrices(t.Sizes, c.Out.Sizes)
}

// sameMatrices reports whether the last two sizes are the same.
func sameMatrices(a, b []tensor.Dim) bool {
	return len(a) >= 2 && len(b) >= 2 && slices.Equal(a[len(a)-2:], b[len(b)-2:])
}

// sameScores reports whether all results between the products have the rows and columns of the first one.
func (f *attentionFinder) sameScores() bool {
	scores := f.calls[f.First].Out
	for _, i := range f.Gone {
		out := f.calls[i].Out
		if last := out.Sizes[len(out.Sizes)-1]; i != f.Last && last != 1 && (!sameMatrices(out.Sizes, scores.Sizes) || out.Numel() != scores.Numel()) {
			return false
		}
	}
	return true
}

// alongLast reports whether argument k of call i says that it is along the last dimension.
func (f *attentionFinder) alongLast(i, k int) bool {
	c := &f.calls[i]
	v, rank := c.Args[k].Value, len(c.Args[0].tensor().Sizes)
	switch {
	case v == nil:
		return false
	case v.Kind == Ints:
		return len(v.Ints) == 1 && (v.Ints[0] == -1 || int(v.Ints[0]) == rank-1)
	}
	return v.Kind == Int && (v.Int == -1 || int(v.Int) == rank-1)
}

// only is the call that alone reads what call i gives.
func (f *attentionFinder) only(i int) (int, bool) {
	c := &f.calls[i]
	return slices.Max(append(c.Users, -1)), !c.Open && len(c.Users) == 1
}

// guard takes what gives zeros where a row of scores has no number, if anybody asks for such rows, and gives the call with the
// weights.
func (f *attentionFinder) guard(soft int) (weights int, ok bool) {
	f.take(soft)
	users := f.calls[f.calls[soft].Args[0].From].Users
	if len(users) == 1 {
		return soft, true
	}
	test := users[0]
	if test == soft {
		test = users[1]
	}
	empty, ok := f.emptyRows(test)
	if !ok {
		return 0, false
	}
	choice, ok := f.only(empty)
	if !ok || f.calls[choice].Name != whereName || !f.plain(choice) {
		return 0, false
	}
	args := f.calls[choice].Args
	zero, ok := constantOf(f.calls, &args[1])
	if !ok || zero != 0 || args[0].From != empty || args[2].From != soft || f.calls[soft].Open {
		return 0, false
	}
	for _, i := range f.calls[soft].Users {
		if i != choice && i != args[1].From {
			return 0, false
		}
	}
	f.take(choice)
	f.EmptyZero = true
	return choice, true
}

// emptyRows takes the calls from test on that say which rows of scores are -Inf throughout, and gives the last one: the largest
// element is, or not any element is not.
func (f *attentionFinder) emptyRows(test int) (int, bool) {
	at, names := test, []string{amaxName, equalName}
	if f.calls[at].Name == equalName {
		names = []string{equalName, logicalNotName, anyName, logicalNotName}
	}
	for k, name := range names {
		c := &f.calls[at]
		if c.Name != name || !f.plain(at) {
			return 0, false
		}
		switch name {
		case equalName:
			if x, ok := constantOf(f.calls, &c.Args[1]); !ok || x != math.Inf(-1) {
				return 0, false
			}
		case amaxName, anyName:
			if keep, ok := constantOf(f.calls, &c.Args[2]); !ok || keep == 0 || !f.alongLast(at, 1) {
				return 0, false
			}
		}
		f.take(at)
		if k == len(names)-1 {
			break
		}
		next, ok := f.only(at)
		if !ok {
			return 0, false
		}
		at = next
	}
	return at, true
}

// second finds the product of the weights that call at gives.
func (f *attentionFinder) second(at int) bool {
	for {
		next, ok := f.only(at)
		if !ok {
			return false
		}
		c := &f.calls[next]
		switch {
		case c.Name == bmmName:
			f.Last = next
			f.take(next)
			return f.plain(next) && c.Args[0].From == at && c.Args[1].From != at
		case !moving[c.Name] || !f.keeps(next):
			return false
		}
		f.list(next, ScoreSizes)
		f.take(next)
		at = next
	}
}

// operand follows an operand of a product to where it lies as the attention can read it, too.
func (f *attentionFinder) operand(r FlowRef, of AttentionSizes) FlowRef {
	for {
		t, at := f.arg(r).tensor(), f.arg(r).From
		if at < 0 || !t.Contiguous() || f.calls[at].Out == nil || !f.plain(at) || t.Numel() != f.calls[at].Out.Numel() || !sameMatrices(t.Sizes, f.calls[at].Out.Sizes) {
			return r
		}
		c, next := &f.calls[at], FlowRef{at, 0}
		switch {
		case moving[c.Name] && f.keeps(at):
		case c.Name == expandName && f.repeats(at) && f.setGrouped(of):
		case c.Name == permuteName && of == KeySizes && f.swaps(at):
			f.KeyRows, of = true, KeyRowSizes
		default:
			before := f.Scale
			x, ok := f.scale(at)
			if of == ValueSizes || !ok {
				f.Scale = before
				return r
			}
			next = x
		}
		f.list(at, of)
		r = next
	}
}

// repeats reports whether call i, which expands, gives each matrix several times.
func (f *attentionFinder) repeats(i int) bool {
	t, out := f.calls[i].Args[0].tensor(), f.calls[i].Out
	k := len(out.Sizes) - 3
	return t != nil && k >= 0 && len(t.Sizes) == len(out.Sizes) && t.Contiguous() && t.Sizes[k] == 1 && slices.Equal(t.Sizes[:k], out.Sizes[:k]) &&
		sameMatrices(t.Sizes, out.Sizes)
}

// setGrouped notes that several heads read the same keys, or values.
func (f *attentionFinder) setGrouped(of AttentionSizes) bool {
	var grouped *bool
	switch of {
	case KeySizes, KeyRowSizes:
		grouped = &f.KeyGroups
	case ValueSizes:
		grouped = &f.ValueGroups
	default:
		return false
	}
	first := !*grouped
	*grouped = true
	return first
}

// swaps reports whether call i transposes matrices.
func (f *attentionFinder) swaps(i int) bool {
	t, order := f.calls[i].Args[0].tensor(), f.calls[i].Args[1].Value
	return t != nil && order != nil && t.Contiguous() && order.Kind == Ints && len(order.Ints) == t.Rank() && SwapsMatrices(order.Ints)
}

// SwapsMatrices reports whether dimensions in this order are those before with the last two swapped.
func SwapsMatrices(order []int64) bool {
	n := len(order)
	for d, from := range order {
		want := d
		if d >= n-2 {
			want = 2*n - 3 - d
		}
		if int(from) != want {
			return false
		}
	}
	return n >= 2
}

// dropUnread takes the calls whose results only calls of the attention read, which do so no longer.
func (f *attentionFinder) dropUnread() {
	gone := make([]bool, f.Last+1)
	for _, i := range f.Gone {
		gone[i] = true
	}
	kept := make([]bool, f.Last+1)
	for _, r := range f.Args {
		if at := f.arg(r).From; at >= 0 {
			kept[at] = true
		}
	}
	for i := f.Last - 1; i >= 0; i-- {
		c := &f.calls[i]
		if gone[i] || kept[i] || c.Open || len(c.Users) == 0 || !droppable(c.Name) || slices.ContainsFunc(c.Users, func(u int) bool { return u > f.Last || !gone[u] }) {
			continue
		}
		gone[i] = true
		f.take(i)
	}
}

// droppable reports whether a call of an operator does nothing but give its result, which an attention can do without.
func droppable(name string) bool {
	_, scales := scaling[name]
	_, fills := filling[name]
	return scales || fills || moving[name] || name == permuteName
}
