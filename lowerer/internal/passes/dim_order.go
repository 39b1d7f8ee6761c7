package passes

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// c10's memory formats.
const (
	contiguousFormat = iota
	preserveFormat
	channelsLast
	channelsLast3d
)

// dimOrder rewrites _to_copy, clone and empty to their dim_order_ops forms, as ExecuTorch's MemoryFormatOpsPass does.
func dimOrder(_ *Context, m *exir.Method) error {
	return m.Graph.Walk(func(g *exir.Graph) error {
		for _, n := range g.Nodes {
			var name string
			switch n.Op.Name {
			case "aten::_to_copy":
				name = copyName
			case "aten::clone":
				name = "dim_order_ops::_clone_dim_order"
			case "aten::empty.memory_format":
				name = "dim_order_ops::_empty_dim_order"
			default:
				continue
			}
			if err := toDimOrder(n, exir.MustSchema(name)); err != nil {
				return n.Fault(diag.UnsupportedFeature, "%w", err)
			}
		}
		return nil
	})
}

func toDimOrder(n *exir.Node, to *exir.Schema) error {
	order, err := orderOf(n)
	if err != nil {
		return err
	}
	args := make([]exir.Arg, len(to.Args))
	for i, p := range to.Args {
		args[i] = p.Default
		if at := n.Op.Arg(p.Name); at >= 0 {
			args[i] = n.Args[at]
		}
	}
	dims := make([]int64, len(order))
	for i, d := range order {
		dims[i] = int64(d)
	}
	args[to.Arg("dim_order")] = exir.ToArg(dims)
	n.Op, n.Args = to, args
	n.Outs[0].Spec.DimOrder = nil
	if n.Outs[0].Spec.DimOrder = order; (&n.Outs[0].Spec).Contiguous() && isIdentity(order) {
		n.Outs[0].Spec.DimOrder = nil
	}
	return nil
}

func isIdentity(order []uint8) bool {
	for i, d := range order {
		if int(d) != i {
			return false
		}
	}
	return true
}

// orderOf is the dim order that the node's memory_format argument asks for.
func orderOf(n *exir.Node) ([]uint8, error) {
	rank := n.Outs[0].Spec.Rank()
	format := int64(preserveFormat)
	if n.Op.Name == "aten::empty.memory_format" {
		format = contiguousFormat
	}
	if a := n.Args[n.Op.Arg("memory_format")]; a.Kind != exir.ArgNone {
		format = a.Int
	}
	order := make([]uint8, rank)
	for i := range order {
		order[i] = uint8(i)
	}
	switch {
	case format == channelsLast && rank == 4:
		return []uint8{0, 2, 3, 1}, nil
	case format == channelsLast3d && rank == 5:
		return []uint8{0, 2, 3, 4, 1}, nil
	case format == preserveFormat && n.Args[0].Value != nil && n.Args[0].Value.Spec.DimOrder != nil:
		return n.Args[0].Value.Spec.DimOrder, nil
	case format != contiguousFormat && format != preserveFormat:
		return nil, fmt.Errorf("memory format %d does not fit a tensor of %d dimensions", format, rank)
	}
	return order, nil
}
