package executor

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// bounders are the operators that bound a tensor by numbers, and what the bounds are: arguments, or numbers without any.
var bounders = map[string]struct {
	args      [2]int // 0: none
	low, high float32
}{
	"aten::relu.out":     {low: 0, high: float32(math.Inf(1))},
	"aten::hardtanh.out": {args: [2]int{1, 2}},
	"aten::clamp.out":    {args: [2]int{1, 2}, low: float32(math.Inf(-1)), high: float32(math.Inf(1))},
}

// pairs are the steps that two steps become.
type pairs struct {
	*spans
	steps []step
	gone  []bool
}

// fuseKernels lets products and convolutions bound their results themselves, where a bound alone reads these, and pointwise
// operators run as one. A bound gives the same bits, but for the sign of what rounds to zero in Half. Such a step has the handle of its
// last instruction. Pointwise operators write where an operand lies that nobody reads afterwards. Memory is planned anew, in an arena that
// is not larger.
func (m *method) fuseKernels() {
	fuses := func(s step) bool { return clamps(s) || pointwises(s) }
	if m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, fuses) || !m.inLine() {
		return
	}
	p := pairs{spans: m.findSpans(), steps: slices.Clone(m.steps), gone: make([]bool, len(m.steps))}
	for i := range p.steps {
		p.bound(i)
	}
	bounded := without(p.steps, p.gone)
	p.steps, p.gone = slices.Clone(bounded), make([]bool, len(bounded))
	p.measure(p.steps)
	p.fusePointwise()
	for _, steps := range [2][]step{without(p.steps, p.gone), bounded} {
		offsets, groups := p.offsets, slices.Clone(p.groups)
		if p.putInPlace(steps) && p.replan(steps) {
			m.steps = steps
			return
		}
		p.offsets, p.groups = offsets, groups
		if len(steps) < len(m.steps) && p.replan(steps) {
			m.steps = steps
			return
		}
	}
}

// putInPlace lets each pointwise step write where an operand like its result lies, if nobody reads that afterwards: what is at hand in a
// cache is written there. It reports whether there is any.
func (p *pairs) putInPlace(steps []step) (found bool) {
	p.measure(steps)
	alone := make([]bool, len(p.vals)) // before any share a place
	for v := range alone {
		alone[v] = p.apart(int32(v))
	}
	for j := range steps {
		s := &steps[j]
		if s.plan == nil || s.name != op.PointwiseName && s.plan.Kernel.Def.Tags&op.Pointwise == 0 || len(s.outs) != 1 {
			continue
		}
		to := s.outs[0]
		if !alone[to] || int(p.of[to].first) != j {
			continue
		}
		for _, v := range s.args {
			dies := alone[v] && int(p.of[v].first) < j && int(p.of[v].last) == j
			if dies && p.alike(v, to) && !p.seen(s, v) {
				if !found {
					p.offsets = p.allOffsets()
				}
				p.offsets[to], found = p.offsets[v], true
				p.join(to, v)
				break
			}
		}
	}
	return found
}

// apart reports whether v, which is neither an input nor an output, has a place that is planned anew and that nobody shares meanwhile.
func (p *pairs) apart(v int32) bool {
	return p.vals[v].Kind == op.Tensor && p.alone(v) && p.moves(v) && p.static(v) && p.base(v) == v && !p.given(v)
}

// seen reports whether s reads a view of v.
func (p *pairs) seen(s *step, v int32) (yes bool) {
	p.each(s.args, func(w int32) { yes = yes || w != v && p.base(w) == v })
	return yes
}

// clamps reports whether a step can bound its results.
func clamps(s step) bool { return s.plan != nil && s.plan.Kernel.Def.Tags&op.Clamps != 0 }

// onlyReader is the step that alone reads what step i writes, its first result.
func (p *pairs) onlyReader(i int) (int, bool) {
	s := &p.steps[i]
	if !p.alone(s.outs[0]) || p.of[s.outs[0]].reads != 1 || p.of[s.outs[0]].writes != 1 || p.given(s.outs[0]) || slices.ContainsFunc(s.outs[1:], p.isRead) {
		return 0, false
	}
	j := int(p.of[s.outs[0]].reader)
	return j, j > i && len(p.steps[j].args) > 0 && p.steps[j].args[0] == s.outs[0] && p.steps[j].plan != nil && len(p.steps[j].outs) == 1
}

// isRead reports whether somebody reads v, or sees it.
func (p *pairs) isRead(v int32) bool { return p.of[v].reads > 0 || p.given(v) }

// bound lets step i bound its results, if its reader is a bound.
func (p *pairs) bound(i int) {
	s := &p.steps[i]
	if !clamps(*s) {
		return
	}
	j, ok := p.onlyReader(i)
	if !ok {
		return
	}
	t := &p.steps[j]
	low, high, ok := p.boundsOf(t)
	from, to := s.outs[0], t.outs[0]
	if !ok || int(p.of[to].first) != j || p.of[to].stays || !p.moves(to) || p.tied(s.args, to) || p.static(from) != p.static(to) || !p.alike(from, to) ||
		p.inUse(to, i, j) {
		return
	}
	plan := s.plan.Within(low, high)
	if plan == nil {
		return
	}
	s.fused = fusedOf(p.steps, i, j)
	s.plan, s.outs, s.chain, s.index = plan, slices.Concat(t.outs, s.outs[1:]), t.chain, t.index
	p.of[t.outs[0]].first = int32(i)
	p.gone[j] = true
}

// inUse reports whether what keeps its place beside v, where v lies, is in use at a step from i to j.
func (p *pairs) inUse(v int32, i, j int) bool {
	if p.of[p.root(v)].members < 2 {
		return false
	}
	for w := range p.of {
		if s := &p.of[w]; int32(w) != v && int(s.first) <= j && int(s.last) >= i && p.root(int32(w)) == p.root(v) && p.shares(int32(w), v) {
			return true
		}
	}
	return false
}

// tied reports whether one of list lies where v does, or keeps its distance to it when places are planned anew.
func (p *spans) tied(list []int32, v int32) (yes bool) {
	p.each(list, func(w int32) { yes = yes || p.root(p.base(w)) == p.root(v) })
	return yes
}

// boundsOf are the bounds of a step that bounds its first argument.
func (p *pairs) boundsOf(t *step) (low, high float32, ok bool) {
	b, ok := bounders[t.name]
	if !ok {
		return 0, 0, false
	}
	bounds := [2]float32{b.low, b.high}
	for k, arg := range b.args {
		if arg == 0 {
			continue
		}
		v := t.args[arg]
		switch x := &p.vals[v]; {
		case p.varies[v]:
			return 0, 0, false
		case x.Kind != op.None:
			bounds[k] = float32(x.Scalar())
		}
	}
	return bounds[0], bounds[1], true
}
