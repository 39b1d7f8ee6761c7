package rt

import (
	"math"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// attentionGraph is an attention of 3 heads, 5 rows of scores and 7 columns, as the partitioner takes it: inputs are values 0 to
// 2, the result is value 13. If bounded, the masked scores have bounds, which no attention has.
func attentionGraph(bounded bool) (*blob.Graph, []pte.NamedData) {
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 4, Inputs: []uint32{0, 1, 2}, Outputs: []uint32{13}, Constants: []blob.Constant{{}}}
	for i, dims := range [][]uint32{
		{1, 3, 5, 8}, {1, 3, 7, 8}, {1, 3, 7, 4}, // q, k and v
		{1, 3, 8, 7}, {3, 5, 8}, {3, 8, 7}, {3, 5, 7}, {1, 3, 5, 7}, {1, 3, 5, 7}, {1, 3, 5, 7}, {1, 3, 5, 7}, {3, 5, 7}, {3, 7, 4}, {3, 5, 4},
	} {
		v := blob.Value{ID: uint32(i), Type: blob.FP32, Dims: dims, External: blob.InvalidID}
		switch {
		case i < 3:
			v.External, v.Flags = uint32(i), blob.ExternalInput
		case i == 13:
			v.External, v.Flags = 3, blob.ExternalOutput
		}
		g.Values = append(g.Values, v)
	}
	scale, mask := []float32{0.25}, make([]float32, 35)
	for i := range mask {
		mask[i] = float32(i%3) - 1
	}
	named := []pte.NamedData{{Key: "scale", Data: bytesOfFloats(scale), Alignment: 16}, {Key: "mask", Data: bytesOfFloats(mask), Alignment: 16}}
	g.Constants = append(g.Constants, blob.Constant{Key: "scale", Size: 4}, blob.Constant{Key: "mask", Size: 140})
	g.Values = append(g.Values, blob.Value{ID: 14, Type: blob.FP32, Dims: []uint32{1}, External: blob.InvalidID, Constant: 1},
		blob.Value{ID: 15, Type: blob.FP32, Dims: []uint32{5, 7}, External: blob.InvalidID, Constant: 2})
	add := func(typ blob.NodeType, list []uint32, out uint32, in ...uint32) {
		n := blob.Node{Type: typ}
		if list != nil {
			n = listed(typ, list)
		}
		n.Inputs, n.Outputs, n.Min, n.Max = in, []uint32{out}, float32(math.Inf(-1)), float32(math.Inf(1))
		g.Nodes = append(g.Nodes, n)
	}
	add(blob.StaticTranspose, []uint32{0, 1, 3, 2}, 3, 1)
	add(blob.StaticReshape, []uint32{3, 5, 8}, 4, 0)
	add(blob.StaticReshape, []uint32{3, 8, 7}, 5, 3)
	add(blob.BatchMatrixMultiply, nil, 6, 4, 5)
	add(blob.StaticReshape, []uint32{1, 3, 5, 7}, 7, 6)
	add(blob.Multiply, nil, 8, 7, 14)
	add(blob.Add, nil, 9, 15, 8)
	add(blob.Softmax, nil, 10, 9)
	add(blob.StaticReshape, []uint32{3, 5, 7}, 11, 10)
	add(blob.StaticReshape, []uint32{3, 7, 4}, 12, 2)
	add(blob.BatchMatrixMultiply, nil, 13, 11, 12)
	if n := &g.Nodes[6]; bounded {
		n.Bounded, n.Min, n.Max = true, -1, 1
	}
	return g, named
}

// intermediateTracer is a tracer that looks at what nodes give.
type intermediateTracer struct{ tracer }

func (*intermediateTracer) TracesIntermediates() bool { return true }

// TestAttention holds an attention against the scalar tier, which has none; one whose scores are bounded stays as it is.
func TestAttention(t *testing.T) {
	inputs := []*tensor.Tensor{}
	for k, dims := range [][]uint32{{1, 3, 5, 8}, {1, 3, 7, 8}, {1, 3, 7, 4}} {
		x := make([]float32, numel(dims))
		for i := range x {
			x[i] = float32((i*7+k*5)%19)/8 - 1
		}
		inputs = append(inputs, floatsTensor(tensor.Float, dims, x))
	}
	for _, bounded := range []bool{false, true} {
		g, named := attentionGraph(bounded)
		file := programOf(t, g, named)
		t.Setenv(kernel.TierVar, kernel.Scalar.String())
		want, err := run(t, file, executor.LoadOptions{}, inputs...)
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			t.Setenv(kernel.TierVar, tier.String())
			tr := &tracer{}
			if _, err := run(t, file, executor.LoadOptions{Tracer: tr}, inputs...); err != nil {
				t.Fatal(err)
			}
			if log := strings.Join(tr.log, "\n"); strings.Contains(log, "Softmax") == (tier != kernel.Scalar && !bounded) {
				t.Errorf("%v: bounded %v: the nodes are\n%s", tier, bounded, log)
			}
			all := &intermediateTracer{}
			if _, err := run(t, file, executor.LoadOptions{Tracer: all}, inputs...); err != nil {
				t.Fatal(err)
			}
			if log := strings.Join(all.log, "\n"); !strings.Contains(log, "Softmax") {
				t.Errorf("%v: bounded %v: who looks at what nodes give sees\n%s", tier, bounded, log)
			}
			got, err := run(t, file, executor.LoadOptions{}, inputs...)
			if err != nil {
				t.Fatal(err)
			}
			y := sliceOf[float32](got[0].Tensor.Data, 60)
			for i, x := range sliceOf[float32](want[0].Tensor.Data, 60) {
				if !(math.Abs(float64(y[i]-x)) <= 1e-5) {
					t.Fatalf("%v: bounded %v: element %d is %v, want %v", tier, bounded, i, y[i], x)
				}
			}
		}
	}
}
