package rt

// homes are the slots in whose places slots lie: their own, but for both sides of a reshape, which finds its elements where they have
// to be. An argument is a home of values within the graph: one that is reshaped of what is made of it, one that a reshape makes of
// what that is made of. What is in a home does not change any more, and it lives as long as what lies there.
func (p *program) homes() []int {
	writes, homes := make([]int, len(p.slots)), make([]int, len(p.slots))
	for i := range homes {
		homes[i] = i
	}
	for i := range p.steps {
		for _, o := range p.steps[i].outs {
			writes[o.slot]++
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.plan == nil || operatorOf(s.plan) != viewName {
			continue
		}
		from, to := s.args[0].slot, s.outs[0].slot
		x, o := &p.slots[from], &p.slots[to]
		if s.args[0].view != nil || s.outs[0].view != nil || x.data != nil || x.bytes() != o.bytes() || writes[to] != 1 {
			continue
		}
		home := homes[from]
		switch {
		case o.planned():
			homes[to], p.slots[home].last = home, max(p.slots[home].last, o.last)
		case home == from && x.planned():
			homes[from] = to
		}
	}
	for i, home := range homes {
		homes[i] = homes[home]
	}
	return homes
}
