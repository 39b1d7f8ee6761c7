package aot

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
)

// Text is g in lines: its values and nodes in their order, numbers of nodes in the order of their tables.
//
//	v0: fp32 [1, 3] input 0
//	v2: qcint8 [2, 3] constant 1, scales of dimension 0 in constant 2
//	v0, v2, none -> v1: FullyConnected in [0, +Inf] # 7
func Text(g *blob.Graph) string {
	var s strings.Builder
	for i := range g.Values {
		s.WriteString(valueText(&g.Values[i]) + "\n")
	}
	for i := range g.Nodes {
		s.WriteString(nodeText(&g.Nodes[i]) + "\n")
	}
	return s.String()
}

func valueText(v *blob.Value) string {
	s := fmt.Sprintf("v%d: %s [%s]", v.ID, v.Type, list(v.Dims))
	switch {
	case v.Flags == blob.ExternalInput:
		s += fmt.Sprintf(" input %d", v.External)
	case v.Flags == blob.ExternalOutput:
		s += fmt.Sprintf(" output %d", v.External)
	case v.Constant != 0:
		s += fmt.Sprintf(" constant %d", v.Constant)
	}
	switch q := &v.Quant; q.Kind {
	case blob.PerTensor:
		s += fmt.Sprintf(", scale %g zero %d", q.Scale, q.ZeroPoint)
	case blob.PerToken:
		s += fmt.Sprintf(", the last %d together", q.NonbatchDims)
	case blob.PerChannel:
		s += fmt.Sprintf(", scales of dimension %d in constant %d", q.ChannelDim, q.ScaleConstant)
	case blob.PerGroup:
		s += fmt.Sprintf(", scales of groups of %d in constant %d", q.GroupSize, q.ScaleConstant)
	}
	return s
}

func nodeText(n *blob.Node) string {
	s := ids(n.Inputs) + " -> " + ids(n.Outputs) + ": " + n.Type.String()
	if len(n.Params) > 0 {
		s += " " + list(n.Params)
	}
	for _, l := range n.Lists {
		s += " [" + list(l) + "]"
	}
	switch n.Type {
	case blob.ELU, blob.LeakyReLU, blob.StaticConstantPad:
		s += fmt.Sprintf(" factor %g", n.Factor)
	}
	if n.Flags != 0 {
		s += fmt.Sprintf(" flags %d", n.Flags)
	}
	if n.Bounded {
		s += fmt.Sprintf(" in [%g, %g]", n.Min, n.Max)
	}
	return s + fmt.Sprintf(" # %d", n.DebugHandle)
}

func list(numbers []uint32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

func ids(list []uint32) string {
	parts := make([]string, len(list))
	for i, id := range list {
		if parts[i] = "none"; id != blob.InvalidID {
			parts[i] = fmt.Sprintf("v%d", id)
		}
	}
	return strings.Join(parts, ", ")
}
