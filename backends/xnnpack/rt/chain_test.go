package rt

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// chainGraph is a graph of an image of 9 by 11 positions through nodes, each of which makes so many channels.
func chainGraph(nodes []blob.Node, channels []uint32) (*blob.Graph, []pte.NamedData) {
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", Constants: []blob.Constant{{}}, NumExterns: 2, Inputs: []uint32{0}, Outputs: []uint32{uint32(len(nodes))}}
	var named []pte.NamedData
	constant := func(id uint32, dims []uint32) {
		v := blob.Value{ID: id, Type: blob.FP32, Dims: dims, External: blob.InvalidID, Constant: uint32(len(g.Constants))}
		x := make([]float32, v.Numel())
		for i := range x {
			x[i] = float32(i*7%23)/23 - 0.5
		}
		key := strconv.Itoa(int(id))
		g.Constants = append(g.Constants, blob.Constant{Key: key, Size: uint64(4 * len(x))})
		named = append(named, pte.NamedData{Key: key, Data: bytesOfFloats(x), Alignment: 16})
		g.Values = append(g.Values, v)
	}
	for i, c := range channels {
		v := blob.Value{ID: uint32(i), Type: blob.FP32, Dims: []uint32{1, 9, 11, c}, External: blob.InvalidID}
		switch i {
		case 0:
			v.External, v.Flags = 0, blob.ExternalInput
		case len(nodes):
			v.External, v.Flags = 1, blob.ExternalOutput
		}
		g.Values = append(g.Values, v)
	}
	for i, n := range nodes {
		n.Min, n.Max = float32(math.Inf(-1)), float32(math.Inf(1))
		n.Inputs, n.Outputs = []uint32{uint32(i)}, []uint32{uint32(i + 1)}
		from, to, weights := channels[i], channels[i+1], uint32(100+2*i)
		switch n.Type {
		case blob.Multiply: // of what the node before gave by what that read
			n.Inputs = []uint32{uint32(i - 1), uint32(i)}
			g.Nodes = append(g.Nodes, n)
			continue
		case blob.Conv2d:
			n.Params = []uint32{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, from, to, 1, 0, 0}
			constant(weights, []uint32{to, 1, 1, from})
		case blob.DepthwiseConv2d:
			n.Params = []uint32{1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, to, 0, 0}
			constant(weights, []uint32{1, 3, 3, to})
		default:
			g.Nodes = append(g.Nodes, n)
			continue
		}
		constant(weights+1, []uint32{to})
		n.Inputs = append(n.Inputs, weights, weights+1)
		g.Nodes = append(g.Nodes, n)
	}
	return g, named
}

// TestChains holds convolutions that run together with depthwise ones behind them against the steps one by one, as a trace
// has them. What a chain reads may not lie where it writes.
func TestChains(t *testing.T) {
	conv, deep, swish := blob.Node{Type: blob.Conv2d}, blob.Node{Type: blob.DepthwiseConv2d}, blob.Node{Type: blob.Hardswish}
	sigmoid, multiply := blob.Node{Type: blob.Sigmoid}, blob.Node{Type: blob.Multiply}
	for _, c := range []struct {
		nodes    []blob.Node
		channels []uint32
	}{
		{[]blob.Node{conv, conv, deep, conv}, []uint32{8, 48, 40, 40, 8}},
		{[]blob.Node{conv, conv, swish, deep, conv}, []uint32{8, 48, 40, 40, 40, 8}},
		{[]blob.Node{conv, deep, deep, swish}, []uint32{5, 33, 33, 33, 33}},
		{[]blob.Node{conv, sigmoid, multiply, deep, conv}, []uint32{8, 40, 40, 40, 40, 8}},
	} {
		g, named := chainGraph(c.nodes, c.channels)
		file := programOf(t, g, named)
		x := make([]float32, numel([]uint32{9, 11, c.channels[0]}))
		for i := range x {
			x[i] = float32(i*5%17) - 8
		}
		in := floatsTensor(tensor.Float, []uint32{1, 9, 11, c.channels[0]}, x)
		for _, tier := range kernel.Tiers() {
			t.Setenv(kernel.TierVar, tier.String())
			want, err := run(t, file, executor.LoadOptions{Tracer: &tracer{}}, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, file, executor.LoadOptions{}, in)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[0].Tensor.Data, want[0].Tensor.Data) {
				t.Errorf("%v: %d nodes: other results together than one by one", tier, len(c.nodes))
			}
		}
	}
}
