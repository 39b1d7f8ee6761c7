package backend

import (
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// PartitionByGroups is PartitionByCapability for backends that match patterns: groups gives, for one graph, the sets of
// nodes that are taken together. Sets with a node in common become one. There are as few partitions as can be: sets that
// have nothing to do with each other share one, too, and of those that a set can be in, it is in a later one if fewer bytes
// cross the border then. A set that cannot be convex, since a path leaves it and comes back, is refused with that reason,
// and so is one with a node that is not offered.
func PartitionByGroups(p *TaggedProgram, spec DelegationSpec, groups func(g *exir.Graph) [][]*exir.Node) *PartitionResult {
	return partitionUnits(p, spec, groups, func(c *contraction) []int32 { return layers(c.preds, c.supported, c.crossings(), nil) })
}

// PartitionEachGroup is PartitionByGroups with a partition for every set.
func PartitionEachGroup(p *TaggedProgram, spec DelegationSpec, groups func(g *exir.Graph) [][]*exir.Node) *PartitionResult {
	return partitionUnits(p, spec, groups, func(c *contraction) []int32 {
		parts := make([]int32, len(c.supported))
		for i, ok := range c.supported {
			if parts[i] = -1; ok {
				parts[i] = int32(i)
			}
		}
		return parts
	})
}

// partitionUnits tags groups; join gives those that share a partition the same number.
func partitionUnits(p *TaggedProgram, spec DelegationSpec, groups func(g *exir.Graph) [][]*exir.Node,
	join func(c *contraction) []int32) *PartitionResult {
	r := &PartitionResult{TaggedProgram: p, PartitionTags: map[string]DelegationSpec{}}
	for _, g := range p.Graphs() {
		u := newUnits(p, g, groups(g))
		order := u.order()
		if len(order) < u.count {
			u.splitCycles(p, g)
			order = u.order()
		}
		c := u.contracted(order)
		c.program, c.graph = p, g
		parts := join(c)
		tags := map[int32]string{}
		for i, n := range g.Nodes {
			part := parts[c.place[i]]
			if part < 0 {
				continue
			}
			if tags[part] == "" {
				tags[part] = "tag" + strconv.Itoa(len(r.PartitionTags))
				r.PartitionTags[tags[part]] = spec
			}
			p.Tag(n, tags[part])
		}
	}
	p.TagConstants()
	return r
}

// units are the nodes of a graph with each group as one.
type units struct {
	of      []int32 // unit of each node
	taken   []bool  // by unit
	members [][]int32
	preds   [][]int32 // of nodes
	count   int       // units with members
}

func newUnits(p *TaggedProgram, g *exir.Graph, groups [][]*exir.Node) *units {
	n := len(g.Nodes)
	u := &units{of: make([]int32, n), taken: make([]bool, n), preds: producers(g)}
	index := make(map[*exir.Node]int32, n)
	parent := clusters{parent: make([]int32, n)}
	for i, node := range g.Nodes {
		index[node], parent.parent[i] = int32(i), int32(i)
	}
	in := make([]bool, n)
	for _, group := range groups {
		for _, node := range group {
			in[index[node]] = true
			parent.parent[parent.root(index[node])] = parent.root(index[group[0]])
		}
	}
	for i := range g.Nodes {
		u.of[i] = parent.root(int32(i))
		u.taken[u.of[i]] = in[i]
	}
	u.dropKeptAway(p, g)
	u.collect()
	return u
}

// dropKeptAway leaves groups with a node that is not offered. The others of its nodes are refused for that.
func (u *units) dropKeptAway(p *TaggedProgram, g *exir.Graph) {
	kept := map[int32]*exir.Node{} // by unit
	for i, node := range g.Nodes {
		if u.taken[u.of[i]] && !p.Offered(node) {
			kept[u.of[i]] = node
		}
	}
	for i, node := range g.Nodes {
		if other := kept[u.of[i]]; other != nil {
			u.taken[u.of[i]] = false
			if p.Offered(node) {
				p.Refuse(node, "it is only taken together with node %s: %s", other.Name, p.Reasons(other)[0])
			}
		}
	}
}

// collect lists the members of every unit.
func (u *units) collect() {
	u.members, u.count = make([][]int32, len(u.of)), 0
	for i, at := range u.of {
		if u.members[at] == nil {
			u.count++
		}
		u.members[at] = append(u.members[at], int32(i))
	}
}

// after are, for each unit, those that use its results, once for each use.
func (u *units) after() [][]int32 {
	after := make([][]int32, len(u.of))
	for i, preds := range u.preds {
		for _, p := range preds {
			if from, to := u.of[p], u.of[i]; from != to {
				after[from] = append(after[from], to)
			}
		}
	}
	return after
}

// order lists the units such that producers come first; those on cycles and after them are left out.
func (u *units) order() []int32 {
	waits, after := make([]int, len(u.of)), u.after()
	for _, users := range after {
		for _, to := range users {
			waits[to]++
		}
	}
	var order []int32
	for i := range u.of {
		if u.members[i] != nil && waits[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for at := 0; at < len(order); at++ {
		for _, to := range after[order[at]] {
			if waits[to]--; waits[to] == 0 {
				order = append(order, to)
			}
		}
	}
	return order
}

// splitCycles makes single nodes, which are not taken, of the groups that lie on cycles.
func (u *units) splitCycles(p *TaggedProgram, g *exir.Graph) {
	cyclic := cycles(u.after())
	for at, members := range u.members {
		if !cyclic[at] || len(members) < 2 {
			continue
		}
		u.taken[at] = false
		for _, i := range members {
			u.of[i], u.taken[i] = i, false
			p.Refuse(g.Nodes[i], "its group would lie on a cycle")
		}
	}
	u.collect()
}

// cycles reports for each node of a graph, given by its edges, whether it lies on a cycle: whether its strongly connected
// component (Tarjan, 1972) has several nodes.
func cycles(edges [][]int32) []bool {
	w := &walk{edges: edges, number: make([]int32, len(edges)), low: make([]int32, len(edges)), open: make([]bool, len(edges)),
		cyclic: make([]bool, len(edges))}
	for at := range edges {
		if w.number[at] == 0 {
			w.visit(int32(at))
		}
	}
	return w.cyclic
}

// walk is Tarjan's depth-first search.
type walk struct {
	edges  [][]int32
	number []int32 // in the order of visits, from 1
	low    []int32 // the least number that is reached from here, of nodes in open components
	open   []bool  // the node is in stack
	stack  []int32
	last   int32
	cyclic []bool
}

func (w *walk) visit(at int32) {
	w.last++
	w.number[at], w.low[at], w.open[at] = w.last, w.last, true
	first := len(w.stack)
	w.stack = append(w.stack, at)
	for _, to := range w.edges[at] {
		if w.number[to] == 0 {
			w.visit(to)
			w.low[at] = min(w.low[at], w.low[to])
		} else if w.open[to] {
			w.low[at] = min(w.low[at], w.number[to])
		}
	}
	if w.low[at] < w.number[at] {
		return
	}
	for _, i := range w.stack[first:] {
		w.open[i], w.cyclic[i] = false, len(w.stack) > first+1
	}
	w.stack = w.stack[:first]
}

// contraction is a graph with units for nodes, in an order in which they can run.
type contraction struct {
	program   *TaggedProgram
	graph     *exir.Graph
	preds     [][]int32
	supported []bool
	place     []int32 // unit of each node
}

func (u *units) contracted(order []int32) *contraction {
	c := &contraction{preds: make([][]int32, len(order)), supported: make([]bool, len(order)), place: make([]int32, len(u.of))}
	for at, unit := range order {
		c.supported[at] = u.taken[unit]
		for _, i := range u.members[unit] {
			c.place[i] = int32(at)
		}
	}
	for at, unit := range order {
		for _, i := range u.members[unit] {
			for _, p := range u.preds[i] {
				if u.of[p] != unit {
					c.preds[at] = append(c.preds[at], c.place[p])
				}
			}
		}
	}
	return c
}
