package executor

import "slices"

// firstUses are bytes of memories, in order and apart from each other, each with the first step that reads or writes it.
type firstUses []firstUse

type firstUse struct {
	area
	step  int
	reads bool // whether that step reads it, be it that it also writes it
}

// findFirstUses finds them, by the places that the file has.
func (f *fuser) findFirstUses() firstUses {
	list, seen := make(firstUses, 0, 64), make([]bool, len(f.vals))
	step, reads := 0, false
	put := func(v int32) {
		if !seen[v] {
			seen[v] = true
			list.put(firstUse{f.before(v), step, reads})
		}
	}
	for step = range f.steps {
		s := &f.steps[step]
		reads = true
		f.each(s.reads(), put)
		reads = false
		f.each(s.touches(), put)
	}
	return list
}

// from is the first of the list that ends behind the start of an area.
func (l firstUses) from(at *area) int {
	low, high := 0, len(l)
	for low < high {
		middle := (low + high) / 2
		if u := &l[middle]; u.memory < at.memory || u.memory == at.memory && u.to <= at.from {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// put adds what nobody has used before; uses come in the order of their steps.
func (l *firstUses) put(u firstUse) {
	i := l.from(&u.area)
	for u.from < u.to {
		fresh := u
		if i < len(*l) && (*l)[i].overlaps(&u.area) {
			fresh.to, u.from = (*l)[i].from, (*l)[i].to
		} else {
			u.from = u.to
		}
		if fresh.from < fresh.to {
			*l = slices.Insert(*l, i, fresh)
			i++
		}
		i++
	}
}

// readFirst reports whether the first step that uses any of an area's bytes reads, or there is none.
func (l firstUses) readFirst(at *area) bool {
	first := firstUse{step: -1, reads: true}
	for i := l.from(at); i < len(l) && l[i].overlaps(at); i++ {
		if first.step < 0 || l[i].step < first.step {
			first = l[i]
		}
	}
	return first.reads
}
