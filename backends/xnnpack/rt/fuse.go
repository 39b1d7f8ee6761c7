package rt

import (
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
)

// clamps are the nodes that XNNPACK gives the bounds of a Clamp behind them.
var clamps = map[blob.NodeType]bool{
	blob.Add: true, blob.AvgPooling2d: true, blob.Clamp: true, blob.Conv2d: true, blob.ConvTranspose2d: true, blob.DepthwiseConv2d: true,
	blob.Div: true, blob.FullyConnected: true, blob.MaxPooling2d: true, blob.Multiply: true, blob.Subtract: true,
}

// fuseClamps gives nodes the bounds of a Clamp that alone reads their result, as XNNPACK does; the Clamp goes away, and
// the node has its handle. A quantized node then rounds once, to the scale of the Clamp's result.
func fuseClamps(g *blob.Graph) {
	if !slices.ContainsFunc(g.Nodes, func(n blob.Node) bool { return n.Type == blob.Clamp }) {
		return
	}
	readers, maker := map[uint32]int{}, map[uint32]int{}
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Inputs {
			readers[id]++
		}
	}
	types := map[uint32]blob.DataType{}
	for i := range g.Values {
		v := &g.Values[i]
		types[v.ID] = v.Type
		if v.External != blob.InvalidID {
			readers[v.ID]++
		}
	}
	kept := g.Nodes[:0]
	for _, n := range g.Nodes {
		if at, ok := maker[n.Inputs[0]]; ok && n.Type == blob.Clamp && clamps[kept[at].Type] && readers[n.Inputs[0]] == 1 &&
			types[n.Inputs[0]] == types[n.Outputs[0]] && boundBoth(&kept[at], &n) {
			maker[n.Outputs[0]] = at
			continue
		}
		kept = append(kept, n)
		maker[n.Outputs[0]] = len(kept) - 1
	}
	g.Nodes = kept
}

// boundBoth bounds the results of p by those of a Clamp behind it, and makes them the Clamp's; false if that leaves none.
func boundBoth(p, clamp *blob.Node) bool {
	low, high := max(p.Min, clamp.Min), min(p.Max, clamp.Max)
	if !(low <= high) {
		return false
	}
	p.Bounded, p.Min, p.Max, p.DebugHandle = true, low, high, clamp.DebugHandle
	p.Outputs = clamp.Outputs
	return true
}
