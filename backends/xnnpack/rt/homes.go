package rt

// homes are the slots in whose places slots lie: their own, but for results of a reshape, which finds its elements where they have to be.
// Argument and result are values within the graph; what is there does not change any more. Homes live as long as what lies there.
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
		if s.plan == nil || operatorOf(s.plan) != "aten::view_copy.out" {
			continue
		}
		from, to := &s.args[0], &s.outs[0]
		x, o := &p.slots[from.slot], &p.slots[to.slot]
		if from.view == nil && to.view == nil && x.planned() && o.planned() && x.bytes() == o.bytes() && writes[to.slot] == 1 {
			home := homes[from.slot]
			homes[to.slot], p.slots[home].last = home, max(p.slots[home].last, o.last)
		}
	}
	return homes
}
