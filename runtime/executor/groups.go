package executor

// groups puts values into groups: it has for each a member of its group, which in the end stands for itself.
type groups []int32

// newGroups is n values, each in a group of its own.
func newGroups(n int) groups {
	g := make(groups, n)
	g.part()
	return g
}

// part puts each value into a group of its own.
func (g groups) part() {
	for v := range g {
		g[v] = int32(v)
	}
}

// root is what stands for the group of v.
func (g groups) root(v int32) int32 {
	for g[v] != v {
		g[v] = g[g[v]]
		v = g[v]
	}
	return v
}

// join makes one group of those of v and w.
func (g groups) join(v, w int32) { g[g.root(v)] = g.root(w) }

// views are the results of et_view and what they are views of.
type views map[int32]int32

// findViews gives the views that steps make.
func (m *method) findViews() views {
	list := make(views)
	for i := range m.steps {
		if s := &m.steps[i]; s.name == etViewName {
			list[s.args[2]] = s.args[0]
		}
	}
	return list
}

// base is what v is a view of, in the end.
func (l views) base(v int32) int32 {
	for range len(l) {
		from, ok := l[v]
		if !ok {
			break
		}
		v = from
	}
	return v
}

// without are the steps that are not gone, in the same memory.
func without(steps []step, gone []bool) []step {
	kept := steps[:0]
	for i := range steps {
		if !gone[i] {
			kept = append(kept, steps[i])
		}
	}
	clear(steps[len(kept):])
	return kept
}
