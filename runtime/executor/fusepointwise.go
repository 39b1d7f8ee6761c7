package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// mostLinks is how many pointwise steps run as one at most.
const mostLinks = 16

// pointwise are the pointwise steps that may run as one.
type pointwise struct {
	*pairs
	links  []op.Link // of the steps; without a plan for the others
	writer []int     // the step that gives each value, -1 for none
}

// pointwises reports whether a step can run as one with others.
func pointwises(s step) bool {
	return s.plan != nil && s.stable && len(s.outs) == 1 && s.plan.Kernel.Def.Tags&(op.Pointwise|op.Copies) != 0
}

// fusePointwise lets pointwise steps run as one where nobody else reads what they give each other: some elements at a time go
// through all of them. Such a step runs where its last one was and has its handle.
func (p *pairs) fusePointwise() {
	f := pointwise{pairs: p, links: make([]op.Link, len(p.steps)), writer: make([]int, len(p.vals))}
	for v := range f.writer {
		f.writer[v] = -1
	}
	for i := range p.steps {
		s := &p.steps[i]
		for _, v := range s.outs {
			f.writer[v] = i
		}
		if pointwises(*s) {
			p.args = s.appendArgs(p.args[:0], p.vals)
			l := op.Link{Plan: s.plan, Args: p.args, Out: p.vals[s.outs[0]].Tensor.Meta}
			if l.Fuses() {
				l.Args, l.From = slices.Clone(l.Args), make([]int, len(s.args))
				f.links[i] = l
			}
		}
	}
	for j := len(p.steps) - 1; j > 0; j-- {
		if f.links[j].Plan != nil && !p.gone[j] {
			if list := f.linked(j); len(list) > 1 || f.castsMuch(j) {
				f.fuse(list)
			}
		}
	}
}

// leastCast is how many elements are cast in pieces, so that they stay in a cache meanwhile.
const leastCast = 1 << 12

// castsMuch reports whether step j by itself runs faster as a fused one.
func (f *pointwise) castsMuch(j int) bool {
	l := &f.links[j]
	return l.Casts() && f.vals[f.steps[j].outs[0]].Tensor.Numel() >= leastCast
}

// linked are the steps that can run where step j does, and that, in order.
func (f *pointwise) linked(j int) []int {
	list := []int{j}
	for grown := true; grown; {
		grown = false
		for _, k := range list {
			for _, v := range f.steps[k].args {
				if i := f.writer[v]; len(list) < mostLinks && f.joins(i, v, list) {
					list, grown = append(list, i), true
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// joins reports whether step i, which gives v to steps of list alone, can run where the first of these does.
func (f *pointwise) joins(i int, v int32, list []int) bool {
	j := list[0]
	if i < 0 || i >= j || j-i > farthest || f.gone[i] || f.links[i].Plan == nil || slices.Contains(list, i) || !f.alone(v) || f.given(v) {
		return false
	}
	reads := 0
	for _, k := range list {
		f.each(f.steps[k].args, func(w int32) {
			if w == v {
				reads++
			}
		})
	}
	from, to := &f.links[i].Out, &f.links[j].Out
	if reads != int(f.of[v].reads) || f.of[v].writes != 1 || !slices.Equal(from.Sizes, to.Sizes) || !slices.Equal(from.DimOrder, to.DimOrder) {
		return false
	}
	stays := true
	f.each(f.steps[i].args, func(w int32) { stays = stays && f.lasts(w, i, j, list) })
	return stays
}

// farthest is how many steps lie between two that run as one at most, so that loading takes no square of the program's length.
const farthest = 1 << 9

// lasts reports whether value v, which step i reads, can be there at step j, too: nobody writes it meanwhile, and where it lies
// in memory that is planned anew.
func (f *pointwise) lasts(v int32, i, j int, list []int) bool {
	v = f.base(v)
	if !f.moves(v) {
		return false
	}
	stays := true
	for k := i + 1; k < j; k++ {
		s := &f.steps[k]
		if f.gone[k] || slices.Contains(list, k) {
			continue
		}
		f.each(s.touches(), func(w int32) { stays = stays && f.root(f.base(w)) != f.root(v) })
	}
	return stays
}

// fuse lets the steps of list run as one.
func (f *pointwise) fuse(list []int) {
	last := list[len(list)-1]
	s := &f.steps[last]
	links := make([]op.Link, 0, len(list))
	var args []int32
	var params []*op.Param
	for _, i := range list {
		l, from := f.links[i], &f.steps[i]
		for k, v := range from.args {
			if f.vals[v].Kind != op.Tensor {
				continue
			}
			if at := slices.Index(list, f.writer[v]); at >= 0 && at < len(links) {
				l.From[k] = ^at
				continue
			}
			if f.root(f.base(v)) == f.root(s.outs[0]) {
				return
			}
			at := slices.Index(args, v)
			if at < 0 {
				at = len(args)
				args, params = append(args, v), append(params, from.params[k])
			}
			l.From[k] = at
		}
		links = append(links, l)
	}
	*s = step{kind: s.kind, name: op.PointwiseName, a: s.a, args: args, params: params, outs: s.outs,
		plan: op.PrepareFused(links), chain: s.chain, index: s.index, fused: fusedOf(f.steps, list...), stable: true}
	s.fixed = f.fixed(s)
	for _, i := range list {
		f.gone[i] = i != last
	}
}
