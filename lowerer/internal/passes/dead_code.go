package passes

import (
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// deadCode removes nodes without users, from the innermost graphs out, and then unused parameters, buffers and
// constants from the method's inputs. User inputs stay.
func deadCode(_ *Context, m *exir.Method) error {
	sweep(m.Graph)
	used := map[*exir.Value]bool{}
	markUses(m.Graph, used)
	mutated := map[string]bool{}
	for _, o := range m.Outputs {
		if o.Kind == exir.BufferMutation {
			mutated[o.Target] = true
		}
	}
	var inputs []*exir.Value
	var specs []exir.InputSpec
	for i, v := range m.Graph.Inputs {
		s := m.Inputs[i]
		if s.Kind == exir.UserInput || s.Kind == exir.ConstantInput || used[v] || mutated[s.Target] {
			inputs, specs = append(inputs, v), append(specs, s)
		}
	}
	m.Graph.Inputs, m.Inputs = inputs, specs
	return nil
}

func markUses(g *exir.Graph, used map[*exir.Value]bool) {
	mark := func(v **exir.Value) { used[*v] = true }
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].EachValue(mark)
			if n.Args[i].Graph != nil {
				markUses(n.Args[i].Graph, used)
			}
		}
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(mark)
	}
}

// sweep keeps the nodes of g whose results are used, or that have none to use.
func sweep(g *exir.Graph) {
	used := map[*exir.Value]bool{}
	mark := func(v **exir.Value) { used[*v] = true }
	for i := range g.Outputs {
		g.Outputs[i].EachValue(mark)
	}
	kept := make([]*exir.Node, 0, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		if !live(n, used) {
			continue
		}
		for j := range n.Args {
			n.Args[j].EachValue(mark)
			if n.Args[j].Graph != nil {
				sweep(n.Args[j].Graph)
				markUses(n.Args[j].Graph, used)
			}
		}
		kept = append(kept, n)
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	g.Nodes = kept
}

func live(n *exir.Node, used map[*exir.Value]bool) bool {
	if strings.HasSuffix(n.Op.Base(), "_") && n.Op.Kind == "inplace" {
		return true
	}
	for _, v := range n.Outs {
		if v != nil && used[v] {
			return true
		}
	}
	return false
}
