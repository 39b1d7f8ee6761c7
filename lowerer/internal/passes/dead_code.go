package passes

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// deadCode removes nodes without users, from the innermost graphs out, and then unused parameters, buffers and
// constants from the method's inputs. User inputs stay.
func deadCode(c *Context, m *exir.Method) error {
	used := sweep(m.Graph, !c.late)
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

// sweep keeps the nodes of g whose results are used, or that write or check, and gives the values that are used. The bodies of
// control flow use none of g's values, but for constants, which they use as such and not as inputs of g. As long as
// numbers are unbound, nodes stay that define a symbol, which sizes and arguments mention without using the value.
func sweep(g *exir.Graph, unbound bool) map[*exir.Value]bool {
	used := map[*exir.Value]bool{}
	mark := func(v **exir.Value) { used[*v] = true }
	for i := range g.Outputs {
		g.Outputs[i].EachValue(mark)
	}
	kept := make([]*exir.Node, 0, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		if !live(n, used) && !(unbound && n.Defines()) {
			continue
		}
		for j := range n.Args {
			n.Args[j].EachValue(mark)
			if n.Args[j].Graph != nil {
				sweep(n.Args[j].Graph, unbound)
			}
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	g.Nodes = kept
	return used
}

func live(n *exir.Node, used map[*exir.Value]bool) bool {
	if n.Asserts() || strings.HasSuffix(n.Op.Base(), "_") && n.Op.Kind == "inplace" {
		return true
	}
	for _, v := range n.Outs {
		if v != nil && used[v] {
			return true
		}
	}
	return false
}
