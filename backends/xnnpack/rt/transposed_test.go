package rt

import (
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// transposedGraph is a product of q, [6, 5, 8], and keys that are turned and reshaped before: values 0 and 1 are q and the keys, 2 and 3
// what is made of these, 4 is the result.
func transposedGraph(keys, turned, reshaped []uint32, order ...uint32) *blob.Graph {
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	node := func(n blob.Node, out uint32, in ...uint32) blob.Node {
		n.Inputs, n.Outputs = in, []uint32{out}
		return n
	}
	return &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 3, Inputs: []uint32{0, 1}, Outputs: []uint32{4},
		Values: []blob.Value{value(0, 0, blob.ExternalInput, 6, 5, 8), value(1, 1, blob.ExternalInput, keys...), value(2, blob.InvalidID, 0, turned...),
			value(3, blob.InvalidID, 0, reshaped...), value(4, 2, blob.ExternalOutput, 6, 5, 7)},
		Nodes: []blob.Node{node(listed(blob.StaticTranspose, order), 2, 1), node(listed(blob.StaticReshape, reshaped), 3, 2),
			node(blob.Node{Type: blob.BatchMatrixMultiply}, 4, 0, 3)}}
}

// TestFuseTransposes has products of keys that were turned, which they can read as they were or not, against the program as it is written.
func TestFuseTransposes(t *testing.T) {
	list := func(dims ...uint32) []uint32 { return dims }
	swap := list(0, 1, 3, 2)
	for _, c := range []struct {
		name  string
		graph *blob.Graph
		more  func(g *blob.Graph)
		fused bool
	}{
		{name: "turned", graph: transposedGraph(list(2, 3, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), swap...), fused: true},
		{name: "no other rank", graph: transposedGraph(list(6, 7, 8), list(6, 8, 7), list(6, 8, 7), 0, 2, 1), fused: true},
		{name: "heads turned", graph: transposedGraph(list(3, 2, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), 1, 0, 3, 2)},
		{name: "other matrices", graph: transposedGraph(list(2, 3, 8, 7), list(2, 3, 7, 8), list(6, 8, 7), swap...)},
		{name: "read twice", graph: transposedGraph(list(2, 3, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), swap...), more: func(g *blob.Graph) {
			g.NumExterns, g.Outputs = 4, append(g.Outputs, 5)
			g.Values = append(g.Values, blob.Value{ID: 5, External: 3, Type: blob.FP32, Flags: blob.ExternalOutput, Dims: list(6, 8, 7)})
			g.Nodes = append(g.Nodes, blob.Node{Type: blob.Abs, Inputs: list(3), Outputs: list(5)})
		}},
		{name: "bounded", graph: transposedGraph(list(2, 3, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), swap...), more: func(g *blob.Graph) {
			g.Nodes[0].Bounded, g.Nodes[0].Min, g.Nodes[0].Max = true, -3, 2
		}},
		{name: "a result", graph: transposedGraph(list(2, 3, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), swap...), more: func(g *blob.Graph) {
			g.NumExterns, g.Outputs = 4, append(g.Outputs, 2)
			g.Values[2].External, g.Values[2].Flags = 3, blob.ExternalOutput
		}},
		{name: "turned back by the product", graph: transposedGraph(list(2, 3, 8, 7), list(2, 3, 7, 8), list(6, 7, 8), swap...), more: func(g *blob.Graph) {
			g.Nodes[2].Flags = blob.TransposeWeights
		}},
	} {
		if c.more != nil {
			c.more(c.graph)
		}
		fused, p := true, compiled(t, c.graph)
		for _, s := range p.steps {
			fused = fused && (s.plan == nil || operatorOf(s.plan) != permuteName)
			for _, slot := range p.nodes[s.node].operands {
				if p.slots[slot].first < 0 {
					t.Errorf("%s: a trace counts what nobody makes", c.name)
				}
			}
		}
		if fused != c.fused {
			t.Errorf("%s: fused is %v", c.name, fused)
		}
		file := programOf(t, c.graph, nil)
		in := []*tensor.Tensor{counted(c.graph.Values[0].Dims), counted(c.graph.Values[1].Dims)}
		want, err := run(t, file, executor.LoadOptions{Tracer: &intermediateTracer{}}, in...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, tier := range kernel.Tiers() {
			t.Setenv(kernel.TierVar, tier.String())
			got, err := run(t, file, executor.LoadOptions{}, in...)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for k := range want {
				a, b := sliceOf[float32](got[k].Tensor.Data, got[k].Tensor.Numel()), sliceOf[float32](want[k].Tensor.Data, want[k].Tensor.Numel())
				for i := range b {
					if a[i] != b[i] {
						t.Fatalf("%s, %v: element %d of result %d is %v, want %v", c.name, tier, i, k, a[i], b[i])
					}
				}
			}
		}
	}
}

// TestFuseTransposesSizes has a transpose of a value whose largest sizes are others than those of its result, as sizes within a graph may be.
func TestFuseTransposesSizes(t *testing.T) {
	list := func(dims ...uint32) []uint32 { return dims }
	g := transposedGraph(list(2, 3, 7, 8), list(2, 3, 8, 7), list(6, 8, 7), 0, 1, 3, 2)
	g.Values = append(g.Values, blob.Value{ID: 5, External: blob.InvalidID, Type: blob.FP32, Dims: list(2, 3, 7, 3)})
	g.Nodes = append([]blob.Node{{Type: blob.Abs, Inputs: list(1), Outputs: list(5)}}, g.Nodes...)
	g.Nodes[1].Inputs = list(5)
	file := programOf(t, g, nil)
	in := []*tensor.Tensor{counted(g.Values[0].Dims), counted(g.Values[1].Dims)}
	want, err := run(t, file, executor.LoadOptions{Tracer: &intermediateTracer{}}, in...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, file, executor.LoadOptions{}, in...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].Tensor.Data, want[0].Tensor.Data) {
		t.Error("other results than step by step")
	}
}

// counted is a tensor of small numbers, whose products and sums are exact.
func counted(dims []uint32) *tensor.Tensor {
	x := make([]float32, numel(dims))
	for i := range x {
		x[i] = float32(i*i%17) - 8
	}
	return floatsTensor(tensor.Float, dims, x)
}
