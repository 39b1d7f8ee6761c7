package rt

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// nodeCase is a graph of one node. The inputs after the first vars ones are constants.
type nodeCase struct {
	name string
	node blob.Node
	vars int
	in   [][]uint32
	out  [][]uint32
	// from and step make the inputs' elements: from, from+step, … modulo 4·|step|·5, so that they repeat after 20.
	from, step float32
}

func scaled(typ blob.NodeType, factor float32) blob.Node { return blob.Node{Type: typ, Factor: factor} }

// bounded is n with its results held between low and high.
func bounded(n blob.Node, low, high float32) blob.Node {
	n.Bounded, n.Min, n.Max = true, low, high
	return n
}

func conv(typ blob.NodeType, params ...uint32) blob.Node { return blob.Node{Type: typ, Params: params} }

func listed(typ blob.NodeType, lists ...[]uint32) blob.Node {
	return blob.Node{Type: typ, Params: []uint32{uint32(len(lists[0]))}, Lists: lists}
}

// unaryCase is a node of one input of 24 elements that begin at from.
func unaryCase(name string, node blob.Node, from, step float32) nodeCase {
	return nodeCase{name: name, node: node, vars: 1, in: [][]uint32{{2, 3, 4}}, out: [][]uint32{{2, 3, 4}}, from: from, step: step}
}

func binaryCase(name string, node blob.Node, a, b []uint32) nodeCase {
	return nodeCase{name: name, node: node, vars: 2, in: [][]uint32{a, b}, out: [][]uint32{a}, from: -2.3, step: 0.35}
}

func imageCase(name string, node blob.Node, out []uint32, weights ...[]uint32) nodeCase {
	return nodeCase{name: name, node: node, vars: 1, in: append([][]uint32{{1, 6, 5, 4}}, weights...), out: [][]uint32{out}, from: -1.1, step: 0.13}
}

func catCase(name string, typ blob.NodeType, n uint32) nodeCase {
	c := nodeCase{name: name, node: blob.Node{Type: typ, Params: []uint32{1}}, vars: int(n), out: [][]uint32{{2, 0, 3}}, from: -1, step: 0.5}
	for i := range n {
		c.in = append(c.in, []uint32{2, i + 1, 3})
		c.out[0][1] += i + 1
	}
	return c
}

// nodeCases have every node type at least once.
var nodeCases = []nodeCase{
	unaryCase("abs", blob.Node{Type: blob.Abs}, -2, 0.25), unaryCase("ceiling", blob.Node{Type: blob.Ceiling}, -2, 0.3),
	unaryCase("clamp", bounded(blob.Node{Type: blob.Clamp}, -1, 1.5), -3, 0.3), unaryCase("copy", blob.Node{Type: blob.Copy}, -2, 0.25),
	unaryCase("cos", blob.Node{Type: blob.Cos}, -4, 0.4), unaryCase("elu", scaled(blob.ELU, 0.7), -3, 0.3),
	unaryCase("exp", blob.Node{Type: blob.Exp}, -5, 0.5), unaryCase("floor", blob.Node{Type: blob.Floor}, -2, 0.3),
	unaryCase("gelu", blob.Node{Type: blob.Gelu}, -4, 0.4), unaryCase("hardswish", blob.Node{Type: blob.Hardswish}, -4, 0.4),
	unaryCase("leaky_relu", scaled(blob.LeakyReLU, 0.3), -3, 0.3), unaryCase("log", blob.Node{Type: blob.Log}, 0.01, 0.3),
	unaryCase("negate", blob.Node{Type: blob.Negate}, -2, 0.25), unaryCase("rsqrt", blob.Node{Type: blob.ReciprocalSquareRoot}, 0.1, 0.3),
	unaryCase("sigmoid", blob.Node{Type: blob.Sigmoid}, -6, 0.6), unaryCase("sin", blob.Node{Type: blob.Sin}, -4, 0.4),
	unaryCase("softmax", blob.Node{Type: blob.Softmax}, -2, 0.6), unaryCase("sqrt", blob.Node{Type: blob.SquareRoot}, 0, 0.3),
	unaryCase("square", blob.Node{Type: blob.Square}, -2, 0.25), unaryCase("tanh", blob.Node{Type: blob.Tanh}, -4, 0.4),

	binaryCase("add", blob.Node{Type: blob.Add}, []uint32{2, 3, 4}, []uint32{2, 3, 4}),
	binaryCase("add_broadcast", bounded(blob.Node{Type: blob.Add}, -1, 2), []uint32{2, 3, 4}, []uint32{3, 1}),
	binaryCase("divide", blob.Node{Type: blob.Div}, []uint32{2, 3, 4}, []uint32{4}),
	binaryCase("maximum", blob.Node{Type: blob.Maximum}, []uint32{2, 3, 4}, []uint32{1, 4}),
	binaryCase("minimum", blob.Node{Type: blob.Minimum}, []uint32{2, 3, 4}, []uint32{1, 4}),
	binaryCase("multiply", bounded(blob.Node{Type: blob.Multiply}, 0, 1), []uint32{2, 3, 4}, []uint32{2, 3, 4}),
	binaryCase("subtract", blob.Node{Type: blob.Subtract}, []uint32{2, 3, 4}, []uint32{3, 4}),
	{name: "prelu", node: blob.Node{Type: blob.PReLU}, vars: 1, in: [][]uint32{{1, 3, 2, 4}, {4}}, out: [][]uint32{{1, 3, 2, 4}}, from: -2.3, step: 0.35},
	{name: "batch_matrix_multiply", node: blob.Node{Type: blob.BatchMatrixMultiply}, vars: 2,
		in: [][]uint32{{2, 3, 4}, {2, 4, 5}}, out: [][]uint32{{2, 3, 5}}, from: -1, step: 0.2},
	{name: "batch_matrix_multiply_transposed", node: blob.Node{Type: blob.BatchMatrixMultiply, Flags: blob.TransposeWeights}, vars: 2,
		in: [][]uint32{{2, 3, 4}, {2, 5, 4}}, out: [][]uint32{{2, 3, 5}}, from: -1, step: 0.2},
	{name: "batch_matrix_multiply_rank4", node: blob.Node{Type: blob.BatchMatrixMultiply}, vars: 2,
		in: [][]uint32{{2, 2, 3, 4}, {2, 2, 4, 5}}, out: [][]uint32{{2, 2, 3, 5}}, from: -1, step: 0.2},
	{name: "fully_connected", node: bounded(blob.Node{Type: blob.FullyConnected}, 0, float32(math.Inf(1))), vars: 1,
		in: [][]uint32{{2, 3, 4}, {5, 4}, {5}}, out: [][]uint32{{2, 3, 5}}, from: -1, step: 0.2},
	{name: "fully_connected_transposed", node: blob.Node{Type: blob.FullyConnected, Flags: blob.TransposeWeights}, vars: 1,
		in: [][]uint32{{2, 3, 4}, {4, 5}, {5}}, out: [][]uint32{{2, 3, 5}}, from: -1, step: 0.2},

	imageCase("conv", conv(blob.Conv2d, 1, 1, 1, 1, 3, 3, 2, 1, 1, 1, 4, 7, 1, 0, 0), []uint32{1, 3, 5, 7}, []uint32{7, 3, 3, 4}, []uint32{7}),
	imageCase("conv_groups", conv(blob.Conv2d, 0, 0, 0, 0, 3, 2, 1, 1, 1, 2, 2, 3, 2, 0, 0), []uint32{1, 4, 3, 6}, []uint32{6, 3, 2, 2}, []uint32{6}),
	imageCase("conv_one_sided", conv(blob.Conv2d, 0, 1, 2, 0, 3, 3, 1, 1, 1, 1, 4, 7, 1, 0, 0), []uint32{1, 6, 4, 7}, []uint32{7, 3, 3, 4}, []uint32{7}),
	imageCase("depthwise", conv(blob.DepthwiseConv2d, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 4, 0, 0), []uint32{1, 6, 5, 4}, []uint32{1, 3, 3, 4}, []uint32{4}),
	imageCase("depthwise_multiplier", bounded(conv(blob.DepthwiseConv2d, 1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 1, 2, 4, 0, 0), -1, 1), []uint32{1, 3, 3, 8}, []uint32{1, 3, 3, 8}, []uint32{8}),
	imageCase("conv_transpose", conv(blob.ConvTranspose2d, 1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 4, 5, 1, 1, 0), []uint32{1, 12, 9, 5}, []uint32{5, 3, 3, 4}, []uint32{5}),
	imageCase("conv_transpose_groups", conv(blob.ConvTranspose2d, 0, 0, 0, 0, 2, 3, 2, 1, 1, 1, 2, 3, 2, 0, 0), []uint32{1, 12, 7, 6}, []uint32{6, 2, 3, 2}, []uint32{6}),
	imageCase("conv_transpose_one_sided", conv(blob.ConvTranspose2d, 2, 1, 0, 0, 3, 3, 2, 2, 1, 1, 4, 5, 1, 1, 0), []uint32{1, 12, 10, 5}, []uint32{5, 3, 3, 4}, []uint32{5}),
	imageCase("average_pooling", conv(blob.AvgPooling2d, 1, 1, 1, 1, 3, 3, 2, 2, 1, 1), []uint32{1, 3, 3, 4}),
	imageCase("average_pooling_one_sided", conv(blob.AvgPooling2d, 0, 1, 1, 0, 2, 3, 2, 2, 1, 1), []uint32{1, 3, 2, 4}),
	imageCase("max_pooling", conv(blob.MaxPooling2d, 1, 1, 1, 1, 3, 2, 2, 1, 1, 2), []uint32{1, 3, 5, 4}),
	imageCase("max_pooling_one_sided", conv(blob.MaxPooling2d, 0, 1, 0, 0, 2, 2, 2, 2, 1, 1), []uint32{1, 3, 3, 4}),
	imageCase("global_average_pooling", blob.Node{Type: blob.GlobalAvgPooling2d, Flags: keepDims}, []uint32{1, 1, 1, 4}),
	imageCase("resize", conv(blob.StaticResizeBilinear2D, 9, 7), []uint32{1, 9, 7, 4}),
	imageCase("resize_align_corners", blob.Node{Type: blob.StaticResizeBilinear2D, Params: []uint32{4, 11}, Flags: blob.AlignCorners}, []uint32{1, 4, 11, 4}),
	imageCase("pad", blob.Node{Type: blob.StaticConstantPad, Lists: [][]uint32{{0, 1, 0, 2}, {0, 2, 1, 0}}, Factor: -0.5}, []uint32{1, 9, 6, 6}),
	imageCase("slice", listed(blob.StaticSlice, []uint32{0, 1, 2, 0}, []uint32{1, 3, 2, 4}), []uint32{1, 3, 2, 4}),
	imageCase("reshape", listed(blob.StaticReshape, []uint32{4, 30}), []uint32{4, 30}),
	imageCase("transpose", listed(blob.StaticTranspose, []uint32{0, 3, 1, 2}), []uint32{1, 4, 6, 5}),
	{name: "arg_max_pooling", node: conv(blob.ArgMaxPooling2d, 0, 0, 0, 0, 3, 2), vars: 1, in: [][]uint32{{1, 6, 4, 3}},
		out: [][]uint32{{1, 2, 2, 3}, {1, 2, 2, 3}}, from: -1.1, step: 0.37},
	catCase("concatenate2", blob.Concatenate2, 2), catCase("concatenate3", blob.Concatenate3, 3),
	catCase("concatenate4", blob.Concatenate4, 4), catCase("concatenate5", blob.Concatenate5, 5),
}

// elements are n floats of the case's pattern; each input begins at another place of it.
func (c *nodeCase) elements(input, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = c.from + float32(float32((i+3*input)*7%20)*c.step) // rounded twice on every machine
	}
	return x
}

func numel(dims []uint32) int { v := blob.Value{Dims: dims}; return v.Numel() }

// graph is graphOf with constants in float32.
func (c *nodeCase) graph(typ blob.DataType) (*blob.Graph, []pte.NamedData) {
	return c.graphOf(typ, blob.FP32)
}

// graph is the case's graph and its named data.
func (c *nodeCase) graphOf(typ, constants blob.DataType) (*blob.Graph, []pte.NamedData) {
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", Constants: []blob.Constant{{}}}
	n := c.node
	if !n.Bounded {
		n.Min, n.Max = float32(math.Inf(-1)), float32(math.Inf(1))
	}
	var named []pte.NamedData
	for i, dims := range c.in {
		v := blob.Value{ID: uint32(i), Type: typ, Dims: dims, External: uint32(i), Flags: blob.ExternalInput}
		if i >= c.vars {
			v.Type, v.External, v.Flags, v.Constant = constants, blob.InvalidID, 0, uint32(len(g.Constants))
			data := floatsTensor(storages[constants].argument, dims, c.elements(i, numel(dims))).Data
			key := c.name + string(rune('0'+i))
			g.Constants = append(g.Constants, blob.Constant{Key: key, Size: uint64(len(data))})
			named = append(named, pte.NamedData{Key: key, Data: data, Alignment: 16})
		} else {
			g.Inputs = append(g.Inputs, v.ID)
		}
		g.Values, n.Inputs = append(g.Values, v), append(n.Inputs, v.ID)
	}
	for i, dims := range c.out {
		id := uint32(c.vars + i)
		v := blob.Value{ID: 100 + id, Type: typ, Dims: dims, External: id, Flags: blob.ExternalOutput}
		if i == 1 {
			v.Type = blob.Int32
		}
		g.Values, n.Outputs, g.Outputs = append(g.Values, v), append(n.Outputs, v.ID), append(g.Outputs, v.ID)
	}
	g.NumExterns, g.Nodes = uint32(c.vars+len(c.out)), []blob.Node{n}
	return g, named
}

// programOf is a .pte that delegates g and has g's external values as inputs and outputs, those in wide as int64.
func programOf(t testing.TB, g *blob.Graph, named []pte.NamedData) []byte {
	t.Helper()
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	types := map[blob.DataType]tensor.ScalarType{blob.FP32: tensor.Float, blob.FP16: tensor.Half, blob.BF16: tensor.BFloat16,
		blob.Int32: tensor.Long, blob.QInt8: tensor.Char, blob.QUint8: tensor.Byte}
	plan := &pte.ExecutionPlan{Name: "forward", Values: make([]pte.EValue, g.NumExterns), NonConstBufferSizes: []int64{0, 0}}
	plan.Delegates = []pte.BackendDelegate{{ID: ID}}
	call := pte.Instruction{Type: pte.DelegateCall}
	for i := range g.Values {
		v := &g.Values[i]
		if v.External == blob.InvalidID {
			continue
		}
		x := &pte.Tensor{ScalarType: types[v.Type], Allocation: &pte.Allocation{MemoryID: 1, Offset: uint64(plan.NonConstBufferSizes[1])}, Dynamism: pte.DynamicBound}
		for d, n := range v.Dims {
			x.Sizes, x.DimOrder = append(x.Sizes, int32(n)), append(x.DimOrder, uint8(d))
		}
		plan.NonConstBufferSizes[1] += int64(8*v.Numel()+64) &^ 63
		plan.Values[v.External] = pte.EValue{Type: pte.TensorValue, Tensor: x}
		if v.Flags == blob.ExternalInput {
			plan.Inputs = append(plan.Inputs, int32(v.External))
		} else {
			plan.Outputs = append(plan.Outputs, int32(v.External))
		}
	}
	for i := range plan.Values {
		call.Args = append(call.Args, int32(i))
	}
	plan.NonConstBufferSizes[1] += 64
	plan.Chains = []pte.Chain{{Instructions: []pte.Instruction{call}}}
	var b bytes.Buffer
	if err := pte.Write(&b, &pte.Program{Plans: []*pte.ExecutionPlan{plan}, DelegateData: [][]byte{payload}, NamedData: named, ConstantBuffers: [][]byte{nil}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// floatsTensor is x as a tensor of type Float, Half or BFloat16.
func floatsTensor(dtype tensor.ScalarType, dims []uint32, x []float32) *tensor.Tensor {
	out := &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: dimsOf(dims)}}
	if dtype == tensor.Float {
		out.Data = bytesOfFloats(x)
		return out
	}
	for _, v := range x {
		h := tensor.Float32ToHalf(v)
		if dtype == tensor.BFloat16 {
			h = tensor.Float32ToBFloat16(v)
		}
		out.Data = append(out.Data, byte(h), byte(h>>8))
	}
	return out
}

// kernelsOf are the kernels that Kernels names for the payloads of a program.
func kernelsOf(t testing.TB, file []byte) (list []*op.Kernel) {
	t.Helper()
	p, err := pte.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range p.DelegateData {
		list = append(list, New().Kernels(payload, op.NewTable(op.Kernels))...)
	}
	return list
}

// delegated is the delegate, none of whose graphs become calls of operators.
type delegated struct{ *Backend }

func (delegated) Inline(*backend.InitContext, []byte, []backend.CompileSpec) *backend.Inlined {
	return nil
}

// run runs a program on these inputs, with no kernels but those that Kernels names; the results stay valid. They are those of Execute,
// which have to be near those of what Inline gives, where that gives anything and nobody traces.
func run(t testing.TB, file []byte, opts executor.LoadOptions, inputs ...*tensor.Tensor) ([]executor.Value, error) {
	t.Helper()
	opts.Kernels = kernelsOf(t, file)
	outs, err := runOn(delegated{New()}, file, opts, inputs...)
	if opts.Tracer != nil {
		return outs, err
	}
	inlined, inlinedErr := runOn(New(), file, opts, inputs...)
	if executor.CodeOf(err) != executor.CodeOf(inlinedErr) {
		t.Errorf("error %v, as calls of operators %v", err, inlinedErr)
	}
	for k := range inlined {
		if a, b := outs[k].Tensor, inlined[k].Tensor; !slices.Equal(a.Sizes, b.Sizes) {
			t.Errorf("result %d has sizes %v, as calls of operators %v", k, a.Sizes, b.Sizes)
		} else if a.DType == tensor.Float {
			x, y := sliceOf[float32](a.Data, a.Numel()), sliceOf[float32](b.Data, a.Numel())
			for i := range x {
				if x[i] != y[i] && !(math.Abs(float64(x[i]-y[i])) <= 1e-5*max(1, math.Abs(float64(x[i])))) && (x[i] == x[i] || y[i] == y[i]) {
					t.Fatalf("element %d of result %d is %v, as calls of operators %v", i, k, x[i], y[i])
				}
			}
		} else if !bytes.Equal(a.Data, b.Data) {
			t.Errorf("result %d is %v, as calls of operators %v", k, a.Data, b.Data)
		}
	}
	return outs, err
}

// runOn runs a program on a backend.
func runOn(b backend.Backend, file []byte, opts executor.LoadOptions, inputs ...*tensor.Tensor) ([]executor.Value, error) {
	opts.Backends = []backend.Backend{b}
	p, err := executor.Load(file, opts)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	var ins []executor.Value
	for _, x := range inputs {
		ins = append(ins, executor.TensorOf(x))
	}
	outs, err := inst.Method("forward").Run(context.Background(), ins)
	for _, v := range outs {
		if v.Tensor != nil {
			v.Tensor.Data = bytes.Clone(v.Tensor.Data) // what lies there is gone with the instance
		}
	}
	return outs, err
}

// TestNodes holds every node type in float32 against the results of the official runtime, which are in
// testdata/nodes.json (those of conv, conv_one_sided and the resizes are PyTorch's, as that runtime crashes now and then;
// average_pooling_one_sided is the mean in double precision), and in the half types against those in float32. With
// PTE_NODES=DIR it writes the programs there.
func TestNodes(t *testing.T) {
	want := map[string][][]float64{}
	b, err := os.ReadFile("testdata/nodes.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Error(err)
	}
	seen := map[blob.NodeType]bool{blob.Convert: true} // has tests of its own
	for i := range nodeCases {
		c := &nodeCases[i]
		seen[c.node.Type] = true
		t.Run(c.name, func(t *testing.T) { c.test(t, want[c.name]) })
	}
	for typ := range lowerings {
		if !seen[typ] {
			t.Errorf("no case of %v", typ)
		}
	}
}

func (c *nodeCase) test(t *testing.T, want [][]float64) {
	g, named := c.graph(blob.FP32)
	file := programOf(t, g, named)
	var ins []*tensor.Tensor
	for i := range c.vars {
		ins = append(ins, floatsTensor(tensor.Float, c.in[i], c.elements(i, numel(c.in[i]))))
	}
	if dir := os.Getenv("PTE_NODES"); dir != "" {
		c.write(t, filepath.Join(dir, c.name), file, ins)
	}
	outs, err := run(t, file, executor.LoadOptions{}, ins...)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != len(outs) {
		t.Fatalf("%d golden results, want %d", len(want), len(outs))
	}
	for k := range outs {
		c.compare(t, k, outs[k].Tensor, want[k], 1e-5)
	}
	if len(c.out) > 1 {
		return
	}
	for _, constants := range []blob.DataType{blob.FP32, blob.FP16} {
		c.testHalf(t, blob.FP16, constants, want[0], 4e-3)
	}
	for _, constants := range []blob.DataType{blob.FP32, blob.BF16} {
		c.testHalf(t, blob.BF16, constants, want[0], 3e-2)
	}
}

func (c *nodeCase) testHalf(t *testing.T, typ, constants blob.DataType, want []float64, rtol float64) {
	if c.node.Type == blob.Ceiling || c.node.Type == blob.Floor {
		return // rounded inputs are on other sides of integers
	}
	g, named := c.graphOf(typ, constants)
	dtype := storages[typ].argument
	var ins []*tensor.Tensor
	for i := range c.vars {
		ins = append(ins, floatsTensor(dtype, c.in[i], c.elements(i, numel(c.in[i]))))
	}
	outs, err := run(t, programOf(t, g, named), executor.LoadOptions{}, ins...)
	if err != nil {
		t.Fatal(err)
	}
	if outs[0].Tensor.DType != dtype {
		t.Errorf("result of type %v, want %v", outs[0].Tensor.DType, dtype)
	}
	c.compare(t, 0, outs[0].Tensor, want, rtol)
}

// compare holds a result against floats, with rtol times the largest one as tolerance.
func (c *nodeCase) compare(t *testing.T, k int, got *tensor.Tensor, want []float64, rtol float64) {
	t.Helper()
	x := make([]float32, len(want))
	largest := 1.0
	for i, v := range want {
		x[i] = float32(v)
		largest = max(largest, math.Abs(v))
	}
	w := floatsTensor(tensor.Float, c.out[k], x)
	if got.DType == tensor.Long {
		w.DType, w.Data = tensor.Long, nil
		for _, v := range want {
			w.Data = append(w.Data, byte(v), 0, 0, 0, 0, 0, 0, 0)
		}
	} else if got.DType != tensor.Float {
		w = floatsTensor(got.DType, c.out[k], x)
	}
	if err := golden.Same(got, w, rtol, rtol*largest); err != nil {
		t.Errorf("%v: %v", got.DType, err)
	}
}

// write writes a program and its inputs for the official runtime.
func (c *nodeCase) write(t *testing.T, dir string, file []byte, ins []*tensor.Tensor) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node.pte"), file, 0o666); err != nil {
		t.Fatal(err)
	}
	for i, x := range ins {
		if err := os.WriteFile(filepath.Join(dir, "in_"+string(rune('0'+i))+".npy"), npy.Format(x), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
