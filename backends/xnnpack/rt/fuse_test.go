package rt

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
)

// TestFuseClamps: value 1 is an Add's result, 2 that of a Clamp behind it.
func TestFuseClamps(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name             string
		second           blob.NodeType // reads value 1, too
		external         uint32
		of               blob.DataType
		low, high, bound float32 // high is the Add's, low and bound the Clamp's
		want             int
	}{
		{name: "fused", external: blob.InvalidID, of: blob.FP32, high: inf, bound: 6, want: 1},
		{name: "bounded before", external: blob.InvalidID, of: blob.FP32, high: 3, bound: 6, want: 1},
		{name: "read twice", second: blob.Abs, external: blob.InvalidID, of: blob.FP32, high: inf, bound: 6, want: 3},
		{name: "a result", external: 1, of: blob.FP32, high: inf, bound: 6, want: 2},
		{name: "another type", external: blob.InvalidID, of: blob.QInt8, high: inf, bound: 6, want: 2},
		{name: "nothing left", external: blob.InvalidID, of: blob.FP32, low: 4, high: 3, bound: 6, want: 2},
	} {
		g := &blob.Graph{
			Values: []blob.Value{{ID: 0, Type: blob.FP32}, {ID: 1, Type: c.of, External: c.external}, {ID: 2, Type: blob.FP32}},
			Nodes: []blob.Node{
				{Type: blob.Add, DebugHandle: 1, Inputs: []uint32{0, 0}, Outputs: []uint32{1}, Min: -inf, Max: c.high},
				{Type: blob.Clamp, DebugHandle: 2, Inputs: []uint32{1}, Outputs: []uint32{2}, Bounded: true, Min: c.low, Max: c.bound},
			},
		}
		if c.second != blob.NoNode {
			g.Nodes = append(g.Nodes, blob.Node{Type: c.second, Inputs: []uint32{1}, Outputs: []uint32{3}})
		}
		fuseClamps(g)
		n := g.Nodes[0]
		if len(g.Nodes) != c.want {
			t.Errorf("%s: %d nodes are left, want %d", c.name, len(g.Nodes), c.want)
		}
		if fused := n.Outputs[0] == 2; fused != (c.want == 1) || fused && (!n.Bounded || n.Min != c.low || n.Max != min(c.high, c.bound) || n.DebugHandle != 2) {
			t.Errorf("%s: the first node is %+v", c.name, n)
		}
	}
}
