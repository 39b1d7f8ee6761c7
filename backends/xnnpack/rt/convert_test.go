package rt

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// floats are float32 numbers as bytes.
func floats(x ...float32) []byte { return append([]byte(nil), bytesOfFloats(x)...) }

func TestConvert(t *testing.T) {
	perTensor := func(zero int32) blob.Quant { return blob.Quant{Kind: blob.PerTensor, Scale: 0.5, ZeroPoint: zero} }
	numbers := floats(0, 0.25, 0.75, -1, 1000, -1000)
	for _, c := range []struct {
		name     string
		from, to blob.DataType
		fromQ    blob.Quant
		toQ      blob.Quant
		in, want []byte
	}{
		{"to qint8", blob.FP32, blob.QInt8, blob.Quant{}, perTensor(3), numbers, []byte{3, 3, 5, 1, 127, 128}},
		{"to quint8", blob.FP32, blob.QUint8, blob.Quant{}, perTensor(3), numbers, []byte{3, 3, 5, 1, 255, 0}},
		{"to fp16", blob.FP32, blob.FP16, blob.Quant{}, blob.Quant{}, floats(1, -2), []byte{0, 0x3c, 0, 0xc0}},
		{"to bf16", blob.FP32, blob.BF16, blob.Quant{}, blob.Quant{}, floats(1, -2), []byte{0x80, 0x3f, 0, 0xc0}},
		{"from qint8", blob.QInt8, blob.FP32, perTensor(3), blob.Quant{}, []byte{3, 5, 128}, floats(0, 1, -65.5)},
		{"from quint8", blob.QUint8, blob.FP32, perTensor(3), blob.Quant{}, []byte{3, 5, 128}, floats(0, 1, 62.5)},
		{"from fp16", blob.FP16, blob.FP32, blob.Quant{}, blob.Quant{}, []byte{0, 0x3c, 0, 0xc0}, floats(1, -2)},
		{"from bf16", blob.BF16, blob.FP32, blob.Quant{}, blob.Quant{}, []byte{0x80, 0x3f, 0, 0xc0}, floats(1, -2)},
		{"to another qint8", blob.QInt8, blob.QInt8, perTensor(3), perTensor(0), []byte{3, 5, 128}, []byte{0, 2, 128}},
	} {
		n := uint32(len(c.in) * 8 / c.from.Bits())
		g := convertGraph(blob.Value{Type: c.from, Quant: c.fromQ}, blob.Value{Type: c.to, Quant: c.toQ}, n)
		in := &tensor.Tensor{Meta: tensor.Meta{DType: storages[c.from].argument, Sizes: []tensor.Dim{tensor.Dim(n)}}, Data: c.in}
		outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := outs[0].Tensor; got.DType != storages[c.to].argument || !bytes.Equal(got.Data[:got.Nbytes()], c.want) {
			t.Errorf("%s: got %v % x, want % x", c.name, got.DType, got.Data, c.want)
		}
	}
}

// convertGraph converts n elements of in to out.
func convertGraph(in, out blob.Value, n uint32) *blob.Graph {
	in.Dims, in.Flags, out.Dims = []uint32{n}, blob.ExternalInput, []uint32{n}
	out.ID, out.External, out.Flags = 1, 1, blob.ExternalOutput
	return &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 2, Inputs: []uint32{0}, Outputs: []uint32{1},
		Values: []blob.Value{in, out}, Nodes: []blob.Node{{Type: blob.Convert, Inputs: []uint32{0}, Outputs: []uint32{1}}}}
}

// TestHalvesBetween: what lies between nodes in a half type is rounded where a node converts it, and nowhere else; it meets constants,
// arguments and results, which have 2 bytes an element, where it is moved.
func TestHalvesBetween(t *testing.T) {
	const x, y, between, out = 0, 1, 2, 3
	value := func(id, external uint32, typ blob.DataType, flags uint32) blob.Value {
		return blob.Value{ID: id, External: external, Type: typ, Flags: flags, Dims: []uint32{2}}
	}
	node := func(typ blob.NodeType, result uint32, inputs ...uint32) blob.Node {
		return blob.Node{Type: typ, Inputs: inputs, Outputs: []uint32{result}}
	}
	cat := node(blob.Concatenate2, out, between, y)
	cat.Params = []uint32{0}
	for _, typ := range []blob.DataType{blob.FP16, blob.BF16} {
		const small = 0x1p-12 // 1 + small is 1 in both types
		for _, c := range []struct {
			name  string
			x     blob.DataType
			nodes []blob.Node
			want  []float32
		}{
			{"added and taken away", typ, []blob.Node{node(blob.Add, between, x, y), node(blob.Subtract, out, between, y)}, []float32{small, 2 * small}},
			{"converted", blob.FP32, []blob.Node{node(blob.Convert, between, x), node(blob.Subtract, out, between, y)}, []float32{0, 1}},
			{"copied", typ, []blob.Node{node(blob.Square, between, x), node(blob.Copy, out, between)}, []float32{small * small, 4 * small * small}},
			{"copied before", typ, []blob.Node{node(blob.Copy, between, x), node(blob.Square, out, between)}, []float32{small * small, 4 * small * small}},
			{"beside an argument", typ, []blob.Node{node(blob.Square, between, x), cat}, []float32{small * small, 4 * small * small, 1, 1}},
		} {
			g := &blob.Graph{Identifier: blob.XN01, Version: "0", NumExterns: 3, Inputs: []uint32{x, y}, Outputs: []uint32{out}, Nodes: c.nodes,
				Values: []blob.Value{value(x, 0, c.x, blob.ExternalInput), value(y, 1, typ, blob.ExternalInput), value(between, blob.InvalidID, typ, 0),
					value(out, 2, typ, blob.ExternalOutput)}}
			g.Values[out].Dims = []uint32{uint32(len(c.want))}
			in := []float32{small, 2 * small}
			if c.x == blob.FP32 {
				in = []float32{1 + small, 2 + small}
			}
			outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, floatsTensor(storages[c.x].argument, []uint32{2}, in),
				floatsTensor(storages[typ].argument, []uint32{2}, []float32{1, 1}))
			if err != nil {
				t.Errorf("%s, %v: %v", c.name, typ, err)
				continue
			}
			if want := floatsTensor(storages[typ].argument, []uint32{uint32(len(c.want))}, c.want); !bytes.Equal(outs[0].Tensor.Data[:want.Nbytes()], want.Data) {
				t.Errorf("%s, %v: got % x, want % x", c.name, typ, outs[0].Tensor.Data[:want.Nbytes()], want.Data)
			}
		}
	}
}

// TestHalfWeights multiplies with weights of half types that are an argument, which float32 stands for as for any other.
func TestHalfWeights(t *testing.T) {
	for _, typ := range []blob.DataType{blob.FP16, blob.BF16} {
		g := convertGraph(blob.Value{Type: typ}, blob.Value{Type: typ}, 0)
		g.Values[0].Dims, g.Values[1].Dims, g.Values[1].External, g.NumExterns, g.Inputs = []uint32{1, 2}, []uint32{1, 3}, 2, 3, []uint32{0, 2}
		g.Values = append(g.Values, blob.Value{ID: 2, External: 1, Type: typ, Dims: []uint32{3, 2}, Flags: blob.ExternalInput})
		g.Nodes[0] = blob.Node{Type: blob.FullyConnected, Inputs: []uint32{0, 2, blob.InvalidID}, Outputs: []uint32{1}, Min: float32(math.Inf(-1)), Max: float32(math.Inf(1))}
		dtype := storages[typ].argument
		outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, floatsTensor(dtype, []uint32{1, 2}, []float32{1, -2}),
			floatsTensor(dtype, []uint32{3, 2}, []float32{1, 2, 3, 4, 5, -6}))
		if err != nil {
			t.Fatal(err)
		}
		if want := floatsTensor(dtype, []uint32{3}, []float32{-3, -5, 17}).Data; !bytes.Equal(outs[0].Tensor.Data[:6], want) {
			t.Errorf("%v: got % x, want % x", typ, outs[0].Tensor.Data[:6], want)
		}
	}
}

// TestQuantizedPointwise runs an operator on quantized values: they are computed in float32 and rounded to the result's
// parameters, within its bounds.
func TestQuantizedPointwise(t *testing.T) {
	params := func(scale float32, zero int32) blob.Quant {
		return blob.Quant{Kind: blob.PerTensor, Scale: scale, ZeroPoint: zero}
	}
	g := convertGraph(blob.Value{Type: blob.QInt8, Quant: params(0.5, 1)}, blob.Value{Type: blob.QInt8, Quant: params(0.25, -2)}, 4)
	g.Nodes[0] = blob.Node{Type: blob.Add, Inputs: []uint32{0, 0}, Outputs: []uint32{1}, Bounded: true, Min: -1, Max: 5}
	in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: []tensor.Dim{4}}, Data: []byte{1, 2, 9, 0xf0}}
	outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, in)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0xfe, 2, 18, 0xfa}; !bytes.Equal(outs[0].Tensor.Data[:4], want) { // -2, 1/0.25-2, 5/0.25-2, -1/0.25-2
		t.Errorf("got % x, want % x", outs[0].Tensor.Data[:4], want)
	}
}

// TestQuantizedMaxPool: the largest of integers stay integers where result and input have the same parameters, and get the result's where not.
func TestQuantizedMaxPool(t *testing.T) {
	params := func(scale float32) blob.Quant { return blob.Quant{Kind: blob.PerTensor, Scale: scale, ZeroPoint: 1} }
	for _, c := range []struct {
		name  string
		scale float32
		high  float32
		want  []byte
	}{
		{"same parameters", 0.5, 0, []byte{9, 0xf0}},
		{"bounded", 0.5, 3, []byte{7, 0xf0}}, // 3/0.5+1
		{"another scale", 0.25, 0, []byte{17, 0xdf}},
	} {
		g := convertGraph(blob.Value{Type: blob.QInt8, Quant: params(0.5)}, blob.Value{Type: blob.QInt8, Quant: params(c.scale)}, 0)
		g.Values[0].Dims, g.Values[1].Dims = []uint32{1, 2, 2, 1}, []uint32{1, 1, 2, 1}
		g.Nodes[0] = conv(blob.MaxPooling2d, 0, 0, 0, 0, 2, 1, 1, 1, 1, 1)
		g.Nodes[0].Inputs, g.Nodes[0].Outputs = []uint32{0}, []uint32{1}
		if c.high != 0 {
			g.Nodes[0] = bounded(g.Nodes[0], -100, c.high)
		}
		in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: []tensor.Dim{1, 2, 2, 1}}, Data: []byte{1, 0xe0, 9, 0xf0}}
		outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, in)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := outs[0].Tensor.Data[:2]; !bytes.Equal(got, c.want) {
			t.Errorf("%s: got % x, want % x", c.name, got, c.want)
		}
	}
}

// TestQuantizedAdd adds integers of several scales, more than are added at a time and one beside them, on two threads and on one, against the
// same computed one by one; and a vector to each row of a matrix, also where it could have been a matrix.
func TestQuantizedAdd(t *testing.T) {
	params := func(scale float32, zero int32) blob.Quant {
		return blob.Quant{Kind: blob.PerTensor, Scale: scale, ZeroPoint: zero}
	}
	const rows, n = 2, shareMin/2 + sumPart + 1
	for i, cols := range [][2]uint32{{rows, n}, {1, n}, {1, n}} {
		a, b, out := params(0.5, 1), params(0.3, -7), params(0.4, 3)
		g := convertGraph(blob.Value{Type: blob.QInt8, Quant: a}, blob.Value{Type: blob.QInt8, Quant: out}, 0)
		g.Values = append(g.Values, blob.Value{ID: 2, External: 2, Type: blob.QInt8, Quant: b, Dims: cols[:], Flags: blob.ExternalInput})
		g.Values[0].Dims, g.Values[1].Dims = []uint32{rows, n}, []uint32{rows, n}
		g.Values[1].External, g.Values[2].External = 2, 1
		if g.NumExterns, g.Inputs = 3, []uint32{0, 2}; i == 2 {
			g.Values[2].Dims = []uint32{rows, n}
		}
		g.Nodes[0] = blob.Node{Type: blob.Add, Inputs: []uint32{0, 2}, Outputs: []uint32{1}, Bounded: true, Min: -20, Max: 25}
		in := make([]*tensor.Tensor, 2)
		for k, rows := range []uint32{rows, cols[0]} {
			in[k] = &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: []tensor.Dim{tensor.Dim(rows), n}}, Data: make([]byte, rows*n)}
			for i := range in[k].Data {
				in[k].Data[i] = byte(i * (37 + 2*k) % 251)
			}
		}
		for _, threads := range []int{1, 2} {
			outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{Threads: threads}, in...)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range outs[0].Tensor.Data[:rows*n] {
				x := float32((float32(int8(in[0].Data[i])) - 1) * a.Scale)
				y := float32((float32(int8(in[1].Data[i%len(in[1].Data)])) + 7) * b.Scale)
				sum := min(max(float32(x+y), -20), 25)
				if want := int8(quant.Round(sum*(1/out.Scale), 3, -128, 127)); int8(got) != want {
					t.Fatalf("%d rows of at most %d, %d threads, element %d: got %d, want %d", cols[0], g.Values[2].Dims[0], threads, i, int8(got), want)
				}
			}
		}
	}
}

// addIntegers adds two tensors of int8 with a scale of 1, unbounded.
func addIntegers(x, y *tensor.Tensor) (*tensor.Tensor, error) {
	v, inf := &blob.Value{Type: blob.QInt8, Quant: blob.Quant{Kind: blob.PerTensor, Scale: 1}}, float32(math.Inf(1))
	out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char}}
	err := sumOf(v, v, v, &blob.Node{Min: -inf, Max: inf}).run()(&ownCall{args: []*tensor.Tensor{x, y}, outs: []*tensor.Tensor{out},
		alloc: new(op.Temp).Alloc, resize: resizeNew})
	return out, err
}

// TestExpand holds what a sum does with sizes that become different: nothing is added to x but zeros.
func TestExpand(t *testing.T) {
	for _, c := range []struct {
		sizes, of []tensor.Dim
		want      []int8
	}{
		{[]tensor.Dim{2, 3}, []tensor.Dim{2, 1}, []int8{0, 0, 0, 1, 1, 1}},
		{[]tensor.Dim{2, 3}, []tensor.Dim{1, 3}, []int8{0, 1, 2, 0, 1, 2}},
		{[]tensor.Dim{2, 3}, []tensor.Dim{3}, []int8{0, 1, 2, 0, 1, 2}},
		{[]tensor.Dim{2, 2, 2}, []tensor.Dim{2, 1, 2}, []int8{0, 1, 0, 1, 2, 3, 2, 3}},
		{[]tensor.Dim{3}, nil, []int8{0, 0, 0}},
		{[]tensor.Dim{0, 3}, []tensor.Dim{1, 3}, []int8{}},
	} {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: c.of}, Data: []byte{0, 1, 2, 3}}
		zeros := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: c.sizes}, Data: make([]byte, len(c.want))}
		for _, args := range [][2]*tensor.Tensor{{x, zeros}, {zeros, x}} {
			out, err := addIntegers(args[0], args[1])
			if err != nil {
				t.Fatalf("%v of %v: %v", c.sizes, c.of, err)
			}
			if got := sliceOf[int8](out.Data, out.Numel()); !slices.Equal(got, c.want) || !slices.Equal(out.Sizes, c.sizes) {
				t.Errorf("%v of %v: got %v of %v, want %v", c.sizes, c.of, got, out.Sizes, c.want)
			}
		}
	}
}

// TestQuantizedSumSizes: sizes that do not broadcast are an error.
func TestQuantizedSumSizes(t *testing.T) {
	of := func(n tensor.Dim) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: []tensor.Dim{n}}, Data: make([]byte, n)}
	}
	if _, err := addIntegers(of(3), of(2)); err == nil || !strings.Contains(err.Error(), "broadcast: sizes differ and neither is 1") {
		t.Errorf("got %v", err)
	}
}

// TestIntegerSteps: which nodes of int8 stay integers. With another zero point, a constant or another type they run in float32, and
// results are right as well.
func TestIntegerSteps(t *testing.T) {
	q := func(scale float32, zero int32) blob.Quant {
		return blob.Quant{Kind: blob.PerTensor, Scale: scale, ZeroPoint: zero}
	}
	sum := func(change func(g *blob.Graph)) *blob.Graph {
		g := convertGraph(blob.Value{Type: blob.QInt8, Quant: q(0.5, 1)}, blob.Value{Type: blob.QInt8, Quant: q(0.5, 2)}, 2)
		g.Nodes[0] = blob.Node{Type: blob.Add, Inputs: []uint32{0, 0}, Outputs: []uint32{1}}
		change(g)
		return g
	}
	pool := func(zero int32) *blob.Graph {
		g := sum(func(*blob.Graph) {})
		g.Values[1].Quant.ZeroPoint = zero
		g.Values[0].Dims, g.Values[1].Dims = []uint32{1, 1, 2, 1}, []uint32{1, 1, 2, 1}
		g.Nodes[0] = conv(blob.MaxPooling2d, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
		g.Nodes[0].Inputs, g.Nodes[0].Outputs = []uint32{0}, []uint32{1}
		return g
	}
	for _, c := range []struct {
		name  string
		g     *blob.Graph
		steps int
		want  []byte
	}{
		{"sum", sum(func(*blob.Graph) {}), 1, []byte{10, 14}}, // (5-1)·0.5·2/0.5+2
		{"sum to float32", sum(func(g *blob.Graph) { g.Values[1].Type, g.Values[1].Quant = blob.FP32, blob.Quant{} }), 2, floats(4, 6)},
		{"sum with a constant", sum(func(g *blob.Graph) {
			g.Values = append(g.Values, blob.Value{ID: 2, External: blob.InvalidID, Type: blob.QInt8, Quant: q(1, 0), Dims: []uint32{2}, Constant: 1})
			g.Constants = []blob.Constant{{}, {Size: 2, Data: []byte{1, 2}}}
			g.Nodes[0].Inputs = []uint32{0, 2}
		}), 3, []byte{8, 12}}, // 2+1, 3+2
		{"pool", pool(1), 1, []byte{5, 7}},
		{"pool to another zero point", pool(2), 3, []byte{6, 8}},
	} {
		dims := c.g.Values[0].Dims
		sizes := make([]tensor.Dim, len(dims))
		for i, d := range dims {
			sizes[i] = tensor.Dim(d)
		}
		file := programOf(t, c.g, nil)
		outs, err := run(t, file, executor.LoadOptions{}, &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: sizes}, Data: []byte{5, 7}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := outs[0].Tensor.Data[:len(c.want)]; !bytes.Equal(got, c.want) {
			t.Errorf("%s: got % x, want % x", c.name, got, c.want)
		}
		if got := stepsOf(t, c.g); got != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.steps)
		}
	}
}

// stepsOf is how many steps a graph compiles to.
func stepsOf(t *testing.T, g *blob.Graph) int { return len(compiled(t, g).steps) }

// compiled is the program of a graph.
func compiled(t *testing.T, g *blob.Graph) *program {
	t.Helper()
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	g, err = read(payload)
	if err != nil {
		t.Fatal(err)
	}
	p, err := compile(&backend.InitContext{Kernels: op.NewTable(op.Kernels), Share: func(_ string, make func() (any, error)) (any, error) { return make() }}, g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
