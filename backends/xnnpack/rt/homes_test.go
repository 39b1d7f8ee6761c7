package rt

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestHomes reshapes values that others read before and after, as they were and reshaped again, beside values that could take their place.
func TestHomes(t *testing.T) {
	const x, a, r1, r2, b, c, d, sum, bounded, whole, clamped, last, early = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	inner := func(id uint32, dims ...uint32) blob.Value { return value(id, blob.InvalidID, 0, dims...) }
	node := func(typ blob.NodeType, result, input uint32, lists ...[]uint32) blob.Node {
		n := blob.Node{Type: typ}
		if len(lists) > 0 {
			n = listed(typ, lists...)
		}
		n.Inputs, n.Outputs = []uint32{input}, []uint32{result}
		return n
	}
	limited := node(blob.StaticReshape, bounded, b, []uint32{6})
	limited.Bounded, limited.Min, limited.Max = true, -9, 0
	add := node(blob.Add, sum, r2)
	add.Inputs = append(add.Inputs, d)
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 5, Inputs: []uint32{x}, Outputs: []uint32{sum, whole, clamped, last},
		Values: []blob.Value{value(x, 0, blob.ExternalInput, 2, 3), inner(a, 2, 3), inner(r1, 6), inner(r2, 3, 2), inner(b, 3, 2), inner(c, 3, 2), inner(d, 3, 2),
			value(sum, 1, blob.ExternalOutput, 3, 2), inner(bounded, 6), value(whole, 2, blob.ExternalOutput, 3, 2), value(clamped, 3, blob.ExternalOutput, 6),
			value(last, 4, blob.ExternalOutput, 6), inner(early, 6)},
		Nodes: []blob.Node{node(blob.StaticReshape, early, x, []uint32{6}), node(blob.Square, a, x), node(blob.StaticReshape, r1, a, []uint32{6}), node(blob.StaticReshape, r2, r1, []uint32{3, 0}), node(blob.Negate, b, r2),
			limited, node(blob.StaticSlice, whole, b, []uint32{0, 0}, []uint32{3, 0}), node(blob.StaticReshape, c, b, []uint32{3, 2}), node(blob.Square, d, c), add,
			node(blob.Abs, clamped, bounded), node(blob.StaticReshape, last, d, []uint32{6})}}
	file := programOf(t, g, nil)
	in := []float32{1, 2, 3, -1, -2, -4}
	outs, err := run(t, file, executor.LoadOptions{}, floatsTensor(tensor.Float, []uint32{2, 3}, in))
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]float32, 4)
	for _, v := range in {
		for k, y := range []float32{v*v + v*v*v*v, -v * v, min(v*v, 9), v * v * v * v} {
			want[k] = append(want[k], y)
		}
	}
	for k := range want {
		if got := sliceOf[float32](outs[k].Tensor.Data, 6); !slices.Equal(got, want[k]) {
			t.Errorf("result %d: got %v, want %v", k, got, want[k])
		}
	}
	seen := 0
	for i, home := range compiled(t, g).homes() {
		if home != i {
			seen++
		}
	}
	if seen != 5 {
		t.Errorf("%d values lie where others do, want 5", seen)
	}
}

// TestGrownHomes reshapes a value that is larger than the graph says, or the input, again and again.
func TestGrownHomes(t *testing.T) {
	for _, first := range []bool{false, true} {
		testGrownHomes(t, first)
	}
}

// testGrownHomes squares the input twice and reshapes it in between, or first.
func testGrownHomes(t *testing.T, first bool) {
	const x, a, r, d, out = 0, 1, 2, 3, 4
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	reshape := listed(blob.StaticReshape, []uint32{0})
	reshape.Inputs, reshape.Outputs = []uint32{a}, []uint32{r}
	square, sizes := blob.Node{Type: blob.Square, Inputs: []uint32{x}, Outputs: []uint32{a}}, []uint32{2, 3}
	if first {
		reshape.Inputs, reshape.Outputs, square.Inputs, square.Outputs, sizes = []uint32{x}, []uint32{a}, []uint32{a}, []uint32{r}, []uint32{150}
	}
	slice := listed(blob.StaticSlice, []uint32{3}, []uint32{3})
	slice.Inputs, slice.Outputs = []uint32{d}, []uint32{out}
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 2, Inputs: []uint32{x}, Outputs: []uint32{out},
		Values: []blob.Value{value(x, 0, blob.ExternalInput, 50, 3), value(a, blob.InvalidID, 0, sizes...), value(r, blob.InvalidID, 0, 6),
			value(d, blob.InvalidID, 0, 6), value(out, 1, blob.ExternalOutput, 3)},
		Nodes: []blob.Node{square, reshape, {Type: blob.Square, Inputs: []uint32{r}, Outputs: []uint32{d}}, slice}}
	if first {
		g.Nodes[0], g.Nodes[1] = reshape, square
	}
	file := programOf(t, g, nil)
	p, err := executor.Load(file, executor.LoadOptions{Kernels: kernelsOf(t, file), Backends: []backend.Backend{New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	in := make([]float32, 150)
	for i := range in {
		in[i] = float32(i)
	}
	for call, rows := range []uint32{50, 20, 50} {
		outs, err := inst.Method("forward").Run(context.Background(), []executor.Value{executor.TensorOf(floatsTensor(tensor.Float, []uint32{rows, 3}, in[:3*rows]))})
		if err != nil {
			t.Fatalf("call %d: %v", call, err)
		}
		if got := sliceOf[float32](outs[0].Tensor.Data, 3); !slices.Equal(got, []float32{81, 256, 625}) {
			t.Errorf("call %d: got %v", call, got)
		}
	}
}

// TestGrownOutput computes a value in the place of an output that is too small for it, again and again, and one that fits.
func TestGrownOutput(t *testing.T) {
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	reshape := listed(blob.StaticReshape, []uint32{0})
	reshape.Inputs, reshape.Outputs = []uint32{1}, []uint32{2}
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 2, Inputs: []uint32{0}, Outputs: []uint32{2},
		Values: []blob.Value{value(0, 0, blob.ExternalInput, 50, 3), value(1, blob.InvalidID, 0, 2, 3), value(2, 1, blob.ExternalOutput, 6)},
		Nodes:  []blob.Node{{Type: blob.Square, Inputs: []uint32{0}, Outputs: []uint32{1}}, reshape}}
	file := programOf(t, g, nil)
	p, err := executor.Load(file, executor.LoadOptions{Kernels: kernelsOf(t, file), Backends: []backend.Backend{New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	in := make([]float32, 150)
	for i := range in {
		in[i] = float32(i)
	}
	for call, rows := range []uint32{50, 50, 2, 50, 50, 1} {
		outs, err := inst.Method("forward").Run(context.Background(), []executor.Value{executor.TensorOf(floatsTensor(tensor.Float, []uint32{rows, 3}, in[:3*rows]))})
		if rows > 2 {
			if err == nil || !strings.Contains(err.Error(), "a result needs 600 bytes, its place has ") {
				t.Errorf("call %d: %v", call, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("call %d: %v", call, err)
		} else if got, want := sliceOf[float32](outs[0].Tensor.Data, 3), []float32{0, 1, 4}; !slices.Equal(got, want) {
			t.Errorf("call %d: got %v, want %v", call, got, want)
		}
	}
}

// TestHomesOfOutputs computes a value in an output that is a reshape of it, with another reshape of it that lies there, too.
func TestHomesOfOutputs(t *testing.T) {
	const x, a, r, abs, same = 0, 1, 2, 3, 4
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	reshape := func(out uint32, sizes ...uint32) blob.Node {
		n := listed(blob.StaticReshape, sizes)
		n.Inputs, n.Outputs = []uint32{a}, []uint32{out}
		return n
	}
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 3, Inputs: []uint32{x}, Outputs: []uint32{abs, same},
		Values: []blob.Value{value(x, 0, blob.ExternalInput, 2, 3), value(a, blob.InvalidID, 0, 2, 3), value(r, blob.InvalidID, 0, 6),
			value(abs, 1, blob.ExternalOutput, 6), value(same, 2, blob.ExternalOutput, 3, 2)},
		Nodes: []blob.Node{{Type: blob.Negate, Inputs: []uint32{x}, Outputs: []uint32{a}}, reshape(r, 6), reshape(same, 3, 2),
			{Type: blob.Abs, Inputs: []uint32{r}, Outputs: []uint32{abs}}}}
	p := compiled(t, g)
	home := p.outputs[2]
	if want := []lodger{{p.steps[0].outs[0].slot, home}, {p.steps[1].outs[0].slot, home}}; !slices.Equal(p.lodgers, want) || p.workspace != 0 {
		t.Errorf("slots %v lie in arguments, want %v; the workspace has %d bytes, want none", p.lodgers, want, p.workspace)
	}
	outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, floatsTensor(tensor.Float, []uint32{2, 3}, []float32{1, -2, 3, -4, 5, -6}))
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range [][]float32{{1, 2, 3, 4, 5, 6}, {-1, 2, -3, 4, -5, 6}} {
		if got := sliceOf[float32](outs[k].Tensor.Data, 6); !slices.Equal(got, want) {
			t.Errorf("result %d: got %v, want %v", k, got, want)
		}
	}
}
