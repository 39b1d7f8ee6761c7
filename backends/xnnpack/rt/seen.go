package rt

// findSeen lets results of a reshape lie where its argument does, if both are values within the graph: a value that is there does not
// change any more.
func (p *program) findSeen() {
	writes := make([]int, len(p.slots))
	for i := range p.steps {
		for _, o := range p.steps[i].outs {
			writes[o.slot]++
		}
	}
	lies := make([]int, len(p.slots)) // where a slot lies
	for i := range p.slots {
		lies[i] = i
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.plan == nil || operatorOf(s.plan) != "aten::view_copy.out" {
			continue
		}
		from, to := &s.args[0], &s.outs[0]
		x, o := &p.slots[from.slot], &p.slots[to.slot]
		if from.view != nil || to.view != nil || x.data != nil || x.external >= 0 || o.external >= 0 || x.dtype != o.dtype || writes[to.slot] != 1 {
			continue
		}
		root := lies[from.slot]
		o.seen, lies[to.slot] = true, root
		p.slots[root].last = max(p.slots[root].last, o.last)
	}
}
