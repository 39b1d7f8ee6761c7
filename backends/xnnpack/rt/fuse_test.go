package rt

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
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

// TestFuseSilu: value 1 is the sigmoid of value 0, 2 their product.
func TestFuseSilu(t *testing.T) {
	for _, c := range []struct {
		name     string
		inputs   []uint32      // of the Multiply
		second   blob.NodeType // reads value 1, too
		external uint32
		of       blob.DataType
		bounded  bool
		fused    bool
	}{
		{name: "fused", inputs: []uint32{0, 1}, external: blob.InvalidID, of: blob.FP32, fused: true},
		{name: "the other way round", inputs: []uint32{1, 0}, external: blob.InvalidID, of: blob.FP32, fused: true},
		{name: "by something else", inputs: []uint32{1, 3}, external: blob.InvalidID, of: blob.FP32},
		{name: "squared", inputs: []uint32{1, 1}, external: blob.InvalidID, of: blob.FP32},
		{name: "read twice", inputs: []uint32{0, 1}, second: blob.Abs, external: blob.InvalidID, of: blob.FP32},
		{name: "a result", inputs: []uint32{0, 1}, external: 1, of: blob.FP32},
		{name: "halves", inputs: []uint32{0, 1}, external: blob.InvalidID, of: blob.FP16},
		{name: "bounded", inputs: []uint32{0, 1}, external: blob.InvalidID, of: blob.FP32, bounded: true},
	} {
		g := &blob.Graph{
			Values: []blob.Value{{ID: 0, Type: c.of, External: 0}, {ID: 1, Type: c.of, External: c.external}, {ID: 2, Type: c.of, External: 2}, {ID: 3, Type: c.of, External: 3}},
			Nodes: []blob.Node{{Type: blob.Sigmoid, Inputs: []uint32{0}, Outputs: []uint32{1}, Bounded: c.bounded, Max: 0.5},
				{Type: blob.Multiply, Inputs: c.inputs, Outputs: []uint32{2}}},
		}
		if c.second != blob.NoNode {
			g.Nodes = append(g.Nodes, blob.Node{Type: c.second, Inputs: []uint32{1}, Outputs: []uint32{4}})
		}
		fuseSilu(g)
		if n := g.Nodes[0]; (n.Type == blob.Multiply) != c.fused || c.fused && (len(n.Inputs) != 1 || n.Inputs[0] != 0) {
			t.Errorf("%s: the first node is %+v", c.name, n)
		}
	}
}

// TestSilu holds the product of numbers and their sigmoids, which is one step, against its definition.
func TestSilu(t *testing.T) {
	g, named := chainGraph([]blob.Node{{Type: blob.Sigmoid}, {Type: blob.Multiply}}, []uint32{3, 3, 3})
	x := make([]float32, 9*11*3)
	for i := range x {
		x[i] = float32(i-150) / 10
	}
	for _, tier := range kernel.Tiers() {
		t.Setenv(kernel.TierVar, tier.String())
		got, err := run(t, programOf(t, g, named), executor.LoadOptions{}, floatsTensor(tensor.Float, []uint32{1, 9, 11, 3}, x))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			want := float64(v) / (1 + math.Exp(-float64(v)))
			if y := op.NumberAt(got[0].Tensor, i); math.Abs(y-want) > 1e-6*(1e-3+math.Abs(want)) {
				t.Fatalf("%v: of %v is %v, want %v", tier, v, y, want)
			}
		}
	}
}
