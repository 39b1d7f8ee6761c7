package backend

import (
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Takes reports whether a backend takes a node, and if not, why.
type Takes func(n *exir.Node) (reason string, ok bool)

// PartitionByCapability tags what takes says and the program offers, in convex partitions without cycles between them,
// few and large: a node joins the partition of a neighbour wherever nothing outside lies between them. Constants go
// with their users. The time is linear in the size of the graph.
func PartitionByCapability(p *TaggedProgram, spec DelegationSpec, takes Takes) *PartitionResult {
	r := &PartitionResult{TaggedProgram: p, PartitionTags: map[string]DelegationSpec{}}
	for _, g := range p.Graphs() {
		supported := make([]bool, len(g.Nodes))
		for i, n := range g.Nodes {
			if !p.Offered(n) {
				continue
			}
			reason, ok := takes(n)
			if supported[i] = ok; !ok {
				p.Refuse(n, "%s", reason)
			}
		}
		first := len(r.PartitionTags)
		for i, part := range cluster(producers(g), supported, nil) {
			if part >= 0 {
				tag := "tag" + strconv.Itoa(first+int(part))
				r.PartitionTags[tag] = spec
				p.Tag(g.Nodes[i], tag)
			}
		}
	}
	p.TagConstants()
	return r
}

// producers are, for each node of g, the indices of those whose results it uses.
func producers(g *exir.Graph) [][]int32 {
	index := make(map[*exir.Node]int32, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n] = int32(i)
	}
	list := make([][]int32, len(g.Nodes))
	for i, n := range g.Nodes {
		EachInput(n, func(v *exir.Value) {
			if at, ok := index[v.Node]; ok && v.Node != nil {
				list[i] = append(list[i], at)
			}
		})
	}
	return list
}

// EachInput calls f for every value that n uses, those within its nested graphs included.
func EachInput(n *exir.Node, f func(v *exir.Value)) {
	use := func(v **exir.Value) { f(*v) }
	for i := range n.Args {
		n.Args[i].EachValue(use)
		if g := n.Args[i].Graph; g != nil {
			for _, inner := range g.Nodes {
				EachInput(inner, f)
			}
			for j := range g.Outputs {
				g.Outputs[j].EachValue(use)
			}
		}
	}
}

// cluster gives every supported node the number of its partition, the others -1. Nodes are in an order in which they
// can run; preds are their producers; steps, if not nil, counts the edges and nodes looked at.
//
// A level is given to each node such that it never falls along an edge, and rises wherever an unsupported node lies
// between two supported ones. Connected nodes of one level are then convex, and no cycle passes through two of them.
// Nodes get the lowest level there is, and a part is afterwards lifted to the level of its users where that joins them.
func cluster(preds [][]int32, supported []bool, steps *int) []int32 {
	c := newClusters(preds, supported, steps)
	c.connect()
	return c.number()
}

// newClusters gives the nodes their levels.
func newClusters(preds [][]int32, supported []bool, steps *int) *clusters {
	c := &clusters{preds: preds, succs: make([][]int32, len(preds)), supported: supported,
		level: make([]int32, len(preds)), parent: make([]int32, len(preds)), steps: steps}
	c.levels()
	c.connect()
	c.lift()
	return c
}

// layers is cluster with all nodes of a level as one part, whether connected or not: no path from one of them to another
// leaves the level. Nodes go to later levels where fewer bytes of values cross the border then.
func layers(preds [][]int32, supported []bool, values []crossing, steps *int) []int32 {
	c := newClusters(preds, supported, steps)
	c.delay(values)
	parts := make([]int32, len(preds))
	numbers := map[int32]int32{}
	for i, at := range c.level {
		parts[i] = -1
		if c.supported[i] {
			if _, ok := numbers[at]; !ok {
				numbers[at] = int32(len(numbers))
			}
			parts[i] = numbers[at]
		}
	}
	return parts
}

type clusters struct {
	preds, succs [][]int32
	supported    []bool
	// level of a supported node is its own; of another the highest of the supported nodes before it, -1 for none.
	level  []int32
	parent []int32 // of a forest: nodes of one tree are one part
	steps  *int
}

func (c *clusters) count(n int) {
	if c.steps != nil {
		*c.steps += n
	}
}

func (c *clusters) levels() {
	for i, preds := range c.preds {
		c.count(1 + len(preds))
		c.parent[i] = int32(i)
		at := int32(-1)
		if c.supported[i] {
			at = 0
		}
		for _, p := range preds {
			c.succs[p] = append(c.succs[p], int32(i))
			if c.supported[i] && !c.supported[p] {
				at = max(at, c.level[p]+1)
			} else {
				at = max(at, c.level[p])
			}
		}
		c.level[i] = at
	}
}

// connect joins neighbours of one level.
func (c *clusters) connect() {
	for i, preds := range c.preds {
		c.count(1 + len(preds))
		for _, p := range preds {
			if c.supported[i] && c.supported[p] && c.level[i] == c.level[p] {
				c.parent[c.root(int32(i))] = c.root(p)
			}
		}
	}
}

func (c *clusters) root(i int32) int32 {
	for c.parent[i] != i {
		c.count(1)
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

// none is above every level.
const none = int32(1) << 30

// lift raises parts to the level of their users, highest parts first, where all their users are at least there and
// no supported node behind an unsupported user is.
func (c *clusters) lift() {
	c.descend(func(members, behind []int32) {
		if to, limit := c.above(members, behind); to != none && limit > to {
			c.move(members, to)
		}
	})
}

// descend calls f for every part, highest first. behind has, for unsupported nodes, the lowest level of the supported
// nodes after them.
func (c *clusters) descend(f func(members, behind []int32)) {
	parts := map[int32][]int32{} // members by root
	byLevel := c.byLevel()
	behind := make([]int32, len(c.preds))
	for i := range c.preds {
		if c.supported[i] {
			parts[c.root(int32(i))] = append(parts[c.root(int32(i))], int32(i))
		}
	}
	for at := len(byLevel) - 1; at >= 0; at-- {
		for k := len(byLevel[at]) - 1; k >= 0; k-- {
			if i := byLevel[at][k]; !c.supported[i] {
				behind[i] = c.lowestAfter(i, behind)
			}
		}
		for _, i := range byLevel[at] {
			if c.supported[i] && c.root(i) == i {
				f(parts[i], behind)
			}
		}
	}
}

// byLevel lists the nodes of each level, -1 first, in their order.
func (c *clusters) byLevel() [][]int32 {
	var lists [][]int32
	for i, at := range c.level {
		c.count(1)
		for int(at)+1 >= len(lists) {
			lists = append(lists, nil)
		}
		lists[at+1] = append(lists[at+1], int32(i))
	}
	return lists
}

func (c *clusters) lowestAfter(i int32, behind []int32) int32 {
	lowest := none
	c.count(1 + len(c.succs[i]))
	for _, s := range c.succs[i] {
		if c.supported[s] {
			lowest = min(lowest, c.level[s])
		} else {
			lowest = min(lowest, behind[s])
		}
	}
	return lowest
}

// above is the lowest level of the supported nodes that use a part, and of those behind its other users.
func (c *clusters) above(members, behind []int32) (users, beyond int32) {
	users, beyond = none, none
	for _, i := range members {
		c.count(1 + len(c.succs[i]))
		for _, s := range c.succs[i] {
			switch {
			case !c.supported[s]:
				beyond = min(beyond, behind[s])
			case c.root(s) != c.root(members[0]):
				users = min(users, c.level[s])
			}
		}
	}
	return users, beyond
}

func (c *clusters) move(members []int32, to int32) {
	for _, i := range members {
		c.level[i] = to
	}
}

// number counts the parts in the order of their first nodes.
func (c *clusters) number() []int32 {
	out := make([]int32, len(c.preds))
	numbers := map[int32]int32{}
	for i := range out {
		out[i] = -1
		if c.supported[i] {
			root := c.root(int32(i))
			if _, ok := numbers[root]; !ok {
				numbers[root] = int32(len(numbers))
			}
			out[i] = numbers[root]
		}
	}
	return out
}
