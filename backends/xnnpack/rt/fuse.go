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
	readers, types := readersOf(g)
	maker := map[uint32]int{}
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

// readersOf counts who reads each value, the caller among them, and gives the values' types.
func readersOf(g *blob.Graph) (readers map[uint32]int, types map[uint32]blob.DataType) {
	readers, types = map[uint32]int{}, map[uint32]blob.DataType{}
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Inputs {
			readers[id]++
		}
	}
	for i := range g.Values {
		v := &g.Values[i]
		types[v.ID] = v.Type
		if v.External != blob.InvalidID {
			readers[v.ID]++
		}
	}
	return readers, types
}

// fuseSilu makes x·sigmoid(x) a Multiply of one value, which lowerMultiply knows, where nobody else reads the Sigmoid's result and nothing
// bounds that.
func fuseSilu(g *blob.Graph) {
	if !slices.ContainsFunc(g.Nodes, func(n blob.Node) bool { return n.Type == blob.Sigmoid }) {
		return
	}
	readers, types := readersOf(g)
	maker, gone := map[uint32]int{}, make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Type == blob.Sigmoid && !n.Bounded && readers[n.Outputs[0]] == 1 && types[n.Inputs[0]] == blob.FP32 && types[n.Outputs[0]] == blob.FP32 {
			maker[n.Outputs[0]] = i
		}
		if n.Type != blob.Multiply || len(n.Inputs) != 2 {
			continue
		}
		for k, x := range [2]uint32{n.Inputs[1], n.Inputs[0]} {
			if at, ok := maker[n.Inputs[k]]; ok && g.Nodes[at].Inputs[0] == x {
				n.Inputs, gone[at] = []uint32{x}, true
				break
			}
		}
	}
	kept := g.Nodes[:0]
	for i, n := range g.Nodes {
		if !gone[i] {
			kept = append(kept, n)
		}
	}
	g.Nodes = kept
}
