package rt

import (
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The values of inlineGraph.
const (
	inlineX = iota
	inlineNegated
	inlineFlat
	inlineWeight
	inlineOut
	inlineCopy
)

// inlineGraph negates x, sees it as rows of 3, and multiplies these with constant weights; another output has the same, as it lies.
func inlineGraph() *blob.Graph {
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
	}
	reshape := func(out, in uint32, dims ...uint32) blob.Node {
		n := listed(blob.StaticReshape, dims)
		n.Inputs, n.Outputs, n.DebugHandle = []uint32{in}, []uint32{out}, noHandle
		return n
	}
	weight := value(inlineWeight, blob.InvalidID, 0, 4, 3)
	weight.Constant = 1
	return &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 3, Inputs: []uint32{inlineX}, Outputs: []uint32{inlineOut, inlineCopy},
		Constants: []blob.Constant{{}, {Size: 48, Data: make([]byte, 48)}},
		Values: []blob.Value{value(inlineX, 0, blob.ExternalInput, 2, 1, 3), value(inlineNegated, blob.InvalidID, 0, 2, 1, 3), value(inlineFlat, blob.InvalidID, 0, 2, 3), weight,
			value(inlineOut, 1, blob.ExternalOutput, 2, 4), value(inlineCopy, 2, blob.ExternalOutput, 6)},
		Nodes: []blob.Node{{Type: blob.Negate, DebugHandle: 5, Inputs: []uint32{inlineX}, Outputs: []uint32{inlineNegated}}, reshape(inlineFlat, inlineNegated, 2, 3),
			{Type: blob.FullyConnected, DebugHandle: 7, Inputs: []uint32{inlineFlat, inlineWeight, blob.InvalidID}, Outputs: []uint32{inlineOut}}, reshape(inlineCopy, inlineFlat, 6)}}
}

// inlined is what Inline gives of a graph, with a delegate's arguments of these sizes.
func inlined(t *testing.T, g *blob.Graph, options []backend.Option, args ...[]tensor.Dim) *backend.Inlined {
	t.Helper()
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &backend.InitContext{Options: options, Kernels: op.NewTable(op.Kernels), Share: func(_ string, f func() (any, error)) (any, error) { return f() }}
	for _, sizes := range args {
		ctx.Args = append(ctx.Args, &backend.Value{Kind: op.Tensor, Tensor: &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: sizes}}})
	}
	return New().Inline(ctx, payload, nil)
}

// inlineArgs are the sizes of the arguments of inlineGraph.
var inlineArgs = [][]tensor.Dim{{2, 1, 3}, {2, 4}, {6}}

// TestInline makes calls of a graph, of which a reshape copies what is an output alone.
func TestInline(t *testing.T) {
	g := inlined(t, inlineGraph(), nil, inlineArgs...)
	if g == nil {
		t.Fatal("it is not inlined")
	}
	var names []string
	for _, in := range g.Calls {
		names = append(names, g.Operators[in.A].FullName())
	}
	if want := []string{"aten::neg.out", etViewName, "aten::linear.out", viewName}; !slices.Equal(names, want) {
		t.Errorf("calls %v, want %v", names, want)
	}
	if want := []int64{5, backend.NoHandle, 7, backend.NoHandle}; !slices.Equal(g.Handles, want) {
		t.Errorf("handles %v, want %v", g.Handles, want)
	}
	if g.Inputs != 1 || len(g.Args) != 3 || g.Calls[2].Args[3] != g.Args[1] || g.Calls[3].Args[2] != g.Args[2] || g.Calls[0].Args[0] != g.Args[0] {
		t.Errorf("arguments %v of calls %v, %d inputs", g.Args, g.Calls, g.Inputs)
	}
	if w := g.Values[g.Calls[2].Args[1]].Tensor; w.DataBufferIdx != 1 || len(g.Constants) != 2 || len(g.Constants[1]) != 48 {
		t.Errorf("weights %+v of %d constants", w, len(g.Constants)-1)
	}
}

// TestInlineTransposed has weights that lie transposed, and rows that a node sees as a matrix.
func TestInlineTransposed(t *testing.T) {
	g := inlineGraph()
	g.Nodes[2].Flags = blob.TransposeWeights | blob.Reshape2D
	g.Values[inlineWeight].Dims = []uint32{3, 4}
	calls := inlined(t, g, nil, inlineArgs...)
	if calls == nil {
		t.Fatal("it is not inlined")
	}
	if w := calls.Values[calls.Calls[2].Args[1]].Tensor; !slices.Equal(w.Sizes, []int32{4, 3}) || !slices.Equal(w.DimOrder, []uint8{1, 0}) {
		t.Errorf("weights %+v", w)
	}
}

// TestInlineRefuses leaves what it cannot say.
func TestInlineRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(g *blob.Graph)
		args    [][]tensor.Dim
		options []backend.Option
	}{
		"a node of another kind": {edit: func(g *blob.Graph) { g.Nodes[0].Type = blob.Hardswish }},
		"a value of another type": {edit: func(g *blob.Graph) {
			for _, v := range []int{inlineX, inlineNegated} {
				g.Values[v].Type = blob.FP16
			}
		}},
		"an unknown option":          {options: []backend.Option{{Key: "none"}}},
		"sizes of an argument":       {args: [][]tensor.Dim{{2, 3}, {2, 4}, {6}}},
		"arguments that are missing": {args: inlineArgs[:2]},
		"sizes that do not follow":   {edit: func(g *blob.Graph) { g.Values[inlineNegated].Dims = []uint32{2, 1, 2} }},
		"weights that are no constant and transposed": {edit: func(g *blob.Graph) {
			g.Nodes[2].Flags, g.Nodes[2].Inputs[1] = blob.TransposeWeights, inlineFlat
			g.Values[inlineOut].Dims = []uint32{2, 3}
		}, args: [][]tensor.Dim{{2, 1, 3}, {2, 3}, {6}}},
		"rows of several dimensions that become a matrix": {edit: func(g *blob.Graph) {
			g.Nodes[2].Flags, g.Nodes[2].Inputs[0] = blob.Reshape2D, inlineNegated
		}},
		"an output before an input": {edit: func(g *blob.Graph) {
			g.Values[inlineX].External, g.Values[inlineOut].External = 1, 0
		}, args: [][]tensor.Dim{{2, 4}, {2, 1, 3}, {6}}},
	} {
		g := inlineGraph()
		if c.edit != nil {
			c.edit(g)
		}
		if c.args == nil {
			c.args = inlineArgs
		}
		if inlined(t, g, c.options, c.args...) != nil {
			t.Errorf("%s: it is inlined", name)
		}
	}
}

// TestInlineNumbers has arguments of rank 0 that the graph has with a dimension of one element.
func TestInlineNumbers(t *testing.T) {
	const x, y, z, out = 0, 1, 2, 3
	graph := func(n blob.Node, dims ...uint32) *blob.Graph {
		value := func(id, external, flags uint32, dims ...uint32) blob.Value {
			return blob.Value{ID: id, External: external, Type: blob.FP32, Flags: flags, Dims: dims}
		}
		number := value(4, blob.InvalidID, 0)
		n.Outputs, number.Constant = []uint32{out}, 1
		return &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 4, Inputs: []uint32{x, y, z}, Outputs: []uint32{out}, Constants: []blob.Constant{{}, {Size: 4, Data: make([]byte, 4)}},
			Values: []blob.Value{value(x, 0, blob.ExternalInput, 2, 3), value(y, 1, blob.ExternalInput, 1), value(z, 2, blob.ExternalInput, 1), value(out, 3, blob.ExternalOutput, dims...), number},
			Nodes:  []blob.Node{n}}
	}
	reshape := listed(blob.StaticReshape, []uint32{1, 1})
	reshape.Inputs = []uint32{y}
	for name, c := range map[string]struct {
		graph *blob.Graph
		want  bool
	}{
		"beside a matrix": {graph(blob.Node{Type: blob.Add, Inputs: []uint32{x, y}}, 2, 3), true},
		"before a matrix": {graph(blob.Node{Type: blob.Div, Inputs: []uint32{y, x}}, 2, 3), true},
		"beside another":  {graph(blob.Node{Type: blob.Multiply, Inputs: []uint32{y, z}}, 1), false},
		"beside itself":   {graph(blob.Node{Type: blob.Maximum, Inputs: []uint32{y, y}}, 1), false},
		"beside a number": {graph(blob.Node{Type: blob.Add, Inputs: []uint32{y, 4}}, 1), false},
		"alone":           {graph(blob.Node{Type: blob.Negate, Inputs: []uint32{y}}, 1), false},
		"reshaped":        {graph(reshape, 1, 1), false},
		"joined":          {graph(blob.Node{Type: blob.Concatenate2, Params: []uint32{0}, Inputs: []uint32{y, z}}, 2), false},
	} {
		sizes := []tensor.Dim{}
		for _, n := range c.graph.Values[out].Dims {
			sizes = append(sizes, tensor.Dim(n))
		}
		if got := inlined(t, c.graph, nil, []tensor.Dim{2, 3}, nil, nil, sizes) != nil; got != c.want {
			t.Errorf("%s: inlined %v, want %v", name, got, c.want)
		}
	}
	if g := graph(blob.Node{Type: blob.Add, Inputs: []uint32{x, y}}, 2, 3); inlined(t, g, nil, nil, nil, nil, []tensor.Dim{2, 3}) != nil {
		t.Error("a matrix of rank 0 is inlined")
	}
	for _, dims := range [][]uint32{{3}, {1, 3}} {
		row := graph(blob.Node{Type: blob.Add, Inputs: []uint32{x, y}}, 2, 3)
		if row.Values[y].Dims = dims; inlined(t, row, nil, []tensor.Dim{2, 3}, nil, nil, []tensor.Dim{2, 3}) != nil {
			t.Errorf("%v of rank 0 is inlined", dims)
		}
	}
	if g := graph(blob.Node{Type: blob.Add, Inputs: []uint32{y, z}}, 1); inlined(t, g, nil, []tensor.Dim{2, 3}, []tensor.Dim{1}, []tensor.Dim{1}, nil) != nil {
		t.Error("a result of rank 0 is inlined")
	}
}

// TestInlineParts keeps linear operators of quantized rows, and what quantizes these, together in graphs, and calls operators between them.
func TestInlineParts(t *testing.T) {
	const x, q, w, a, s, b, m, q2, w2, out = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	float := func(id uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: blob.InvalidID, Type: blob.FP32, Dims: dims}
	}
	rows := func(id uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: blob.InvalidID, Type: blob.QDInt8, Dims: dims, Quant: blob.Quant{Kind: blob.PerToken, NonbatchDims: 1}}
	}
	weight := func(id, constant uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, External: blob.InvalidID, Type: blob.QCInt8, Dims: dims, Constant: constant,
			Quant: blob.Quant{Kind: blob.PerChannel, Scales: []float32{0.5, 0.25, 0.125}[:dims[0]], NumScales: dims[0]}}
	}
	node := func(typ blob.NodeType, handle uint32, out uint32, in ...uint32) blob.Node {
		return blob.Node{Type: typ, DebugHandle: handle, Inputs: in, Outputs: []uint32{out}}
	}
	input, output := float(x, 2, 4), float(out, 2, 2)
	input.External, input.Flags = 0, blob.ExternalInput
	output.External, output.Flags = 1, blob.ExternalOutput
	data := func(n int) []byte {
		list := make([]byte, n)
		for i := range list {
			list[i] = byte(i*37%200 - 100)
		}
		return list
	}
	graph := func() *blob.Graph {
		g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 2, Inputs: []uint32{x}, Outputs: []uint32{out},
			Constants: []blob.Constant{{}, {Size: 12, Data: data(12)}, {Size: 6, Data: data(6)}},
			Values: []blob.Value{input, rows(q, 2, 4), weight(w, 1, 3, 4), float(a, 2, 3), float(s, 2, 3), float(b, 2, 3), float(m, 2, 3), rows(q2, 2, 3),
				weight(w2, 2, 2, 3), output},
			Nodes: []blob.Node{node(blob.Convert, 1, q, x), node(blob.FullyConnected, 2, a, q, w, blob.InvalidID), node(blob.Sigmoid, 3, s, a),
				node(blob.FullyConnected, 4, b, q, w, blob.InvalidID), node(blob.Multiply, 5, m, s, b), node(blob.Convert, 6, q2, m), node(blob.FullyConnected, 7, out, q2, w2, blob.InvalidID)}}
		for i := range g.Nodes {
			g.Nodes[i].Min, g.Nodes[i].Max = float32(math.Inf(-1)), float32(math.Inf(1))
		}
		return g
	}
	calls := inlined(t, graph(), nil, []tensor.Dim{2, 4}, []tensor.Dim{2, 2})
	if calls == nil {
		t.Fatal("it is not inlined")
	}
	var got [][]uint32
	for _, p := range calls.Parts {
		var handles []uint32
		for _, n := range p.(*part).graph.Nodes {
			handles = append(handles, n.DebugHandle)
		}
		got = append(got, handles)
	}
	if want := [][]uint32{{1, 2, 4}, {6, 7}}; !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
		t.Errorf("parts have the nodes %v, want %v", got, want)
	}
	if want := []int64{backend.NoHandle, 3, 5, backend.NoHandle}; !slices.Equal(calls.Handles, want) {
		t.Errorf("handles %v, want %v", calls.Handles, want)
	}
	if c := calls.Calls[0]; c.Type != pte.DelegateCall || c.B != 1 || len(c.Args) != 3 {
		t.Errorf("the first call is %+v", c)
	}
	if _, err := run(t, programOf(t, graph(), nil), executor.LoadOptions{}, floatsTensor(tensor.Float, []uint32{2, 4}, []float32{1, -2, 3, 0.5, 4, 0, -7, 2})); err != nil {
		t.Error(err)
	}
	// What multiplies quantized rows by what is computed stays whole, and so does a graph without other operators.
	g := graph()
	g.Nodes = slices.Delete(g.Nodes, 2, 3)
	g.Nodes[3].Inputs[0] = a
	g.Values = slices.DeleteFunc(g.Values, func(v blob.Value) bool { return v.ID == s })
	if inlined(t, g, nil, []tensor.Dim{2, 4}, []tensor.Dim{2, 2}) == nil {
		t.Error("a product between is not inlined")
	}
	mixed := graph()
	mixed.Nodes = []blob.Node{mixed.Nodes[0], mixed.Nodes[1], node(blob.Sigmoid, 3, s, x), node(blob.FullyConnected, 4, out, q, s, blob.InvalidID)}
	mixed.Values = []blob.Value{input, rows(q, 2, 4), weight(w, 1, 3, 4), float(a, 2, 3), float(s, 2, 4), output}
	if inlined(t, mixed, nil, []tensor.Dim{2, 4}, []tensor.Dim{2, 2}) != nil {
		t.Error("quantized rows that two parts read are inlined")
	}
	g.Nodes = g.Nodes[:2]
	g.Outputs, g.Values = []uint32{a}, g.Values[:4]
	g.Values[3].External, g.Values[3].Flags = 1, blob.ExternalOutput
	if inlined(t, g, nil, []tensor.Dim{2, 4}, []tensor.Dim{2, 3}) != nil {
		t.Error("a graph of quantized rows alone is inlined")
	}
}
