package passes

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// removeCopies lets users of a copy that changes nothing use the original, and what permutes a permuted tensor permute the original.
// Copies that a graph returns stay where the original is an input, so that no output aliases an input.
func removeCopies(_ *Context, m *exir.Method) error {
	return m.Graph.Walk(func(g *exir.Graph) error {
		same := replacements{}
		for _, n := range g.Nodes {
			same.in(n.Args)
			if joinPermutes(n); isPlainCopy(n) {
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
	case copyName, "dim_order_ops::_clone_dim_order", "aten::alias_copy", "aten::detach_copy", "aten::lift_fresh_copy":
		in, out := &n.Args[0].Value.Spec, &n.Outs[0].Spec
		return in.DType == out.DType && slices.Equal(in.DimOrder, out.DimOrder)
	case permuteName:
		for i, d := range n.Args[1].List {
			if wrapped(d.Int, len(n.Args[1].List)) != i {
				return false
			}
		}
		return slices.Equal(n.Args[0].Value.Spec.DimOrder, n.Outs[0].Spec.DimOrder)
	}
	return false
}

const permuteName = "aten::permute_copy"

// joinPermutes lets n, if it permutes what another node has permuted, permute that node's argument.
func joinPermutes(n *exir.Node) {
	if n.Op.Name != permuteName || n.Args[0].Value.Node == nil || n.Args[0].Value.Node.Op.Name != permuteName {
		return
	}
	first := n.Args[0].Value.Node
	dims := make([]exir.Arg, len(n.Args[1].List))
	for i, d := range n.Args[1].List {
		dims[i] = first.Args[1].List[wrapped(d.Int, len(dims))]
	}
	n.Args = []exir.Arg{first.Args[0], {Kind: exir.ArgList, List: dims}}
}

// wrapped is dimension d of so many, which counts from the end if it is negative.
func wrapped(d int64, rank int) int {
	if d < 0 {
		d += int64(rank)
	}
	return int(d)
}
