package passes

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// removeCopies lets users of a copy that changes nothing use the original. Copies that a graph returns stay where
// the original is an input, so that no output aliases an input.
func removeCopies(_ *Context, m *exir.Method) error {
	return m.Graph.Walk(func(g *exir.Graph) error {
		same := replacements{}
		for _, n := range g.Nodes {
			same.in(n.Args)
			if isPlainCopy(n) {
				same[n.Outs[0]] = n.Args[0].Value
			}
		}
		for i := range g.Outputs {
			g.Outputs[i].EachValue(func(v **exir.Value) {
				if w := same[*v]; w != nil && w.Node != nil {
					*v = w
				}
			})
		}
		return nil
	})
}

func isPlainCopy(n *exir.Node) bool {
	switch n.Op.Name {
	case "dim_order_ops::_to_dim_order_copy", "dim_order_ops::_clone_dim_order", "aten::alias_copy", "aten::detach_copy", "aten::lift_fresh_copy":
		in, out := &n.Args[0].Value.Spec, &n.Outs[0].Spec
		return in.DType == out.DType && slices.Equal(in.DimOrder, out.DimOrder)
	}
	return false
}
