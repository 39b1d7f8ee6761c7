package functionalize

import "github.com/rules-pte/rules_pte/lowerer/exir"

// RemoveDead removes the nodes of g that nothing uses. It keeps checks, and
// those that define a symbol by a value, since sizes may mention it.
func RemoveDead(g *exir.Graph) {
	used := map[*exir.Value]bool{}
	for _, a := range g.Outputs {
		mark(a, used)
	}
	keep := make([]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		keep[i] = n.Defines() || n.Asserts()
		for _, v := range n.Outs {
			keep[i] = keep[i] || v != nil && used[v]
		}
		if keep[i] {
			for _, a := range n.Args {
				mark(a, used)
			}
		}
	}
	nodes := g.Nodes[:0]
	for i, n := range g.Nodes {
		if keep[i] {
			nodes = append(nodes, n)
		}
	}
	g.Nodes = nodes
}

func mark(a exir.Arg, used map[*exir.Value]bool) {
	if a.Kind == exir.ArgValue {
		used[a.Value] = true
	}
	for _, b := range a.List {
		mark(b, used)
	}
}
