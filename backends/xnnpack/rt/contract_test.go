package rt

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// caseNamed is the case of TestNodes with this name.
func caseNamed(name string) *nodeCase {
	for i := range nodeCases {
		if nodeCases[i].name == name {
			return &nodeCases[i]
		}
	}
	return nil
}

// inputs are the case's inputs in float32.
func (c *nodeCase) inputs() []*tensor.Tensor {
	var ins []*tensor.Tensor
	for i := range c.vars {
		ins = append(ins, floatsTensor(tensor.Float, c.in[i], c.elements(i, numel(c.in[i]))))
	}
	return ins
}

func TestInitErrors(t *testing.T) {
	c := caseNamed("fully_connected")
	for _, test := range []struct {
		want string
		code pte.Code
		edit func(g *blob.Graph, named []pte.NamedData)
	}{
		{"named data fully_connected1 is missing", pte.NotFound, func(_ *blob.Graph, n []pte.NamedData) { n[0].Key = "other" }},
		{"constant 1 has 76 bytes, want 80", pte.DelegateInvalidCompatibility, func(_ *blob.Graph, n []pte.NamedData) { n[0].Data = n[0].Data[4:] }},
		{"value 0 of type pfp32", pte.NotImplemented, func(g *blob.Graph, _ []pte.NamedData) { g.Values[0].Type = blob.PFP32 }},
		{"value 0 of type qpint8", pte.NotImplemented, func(g *blob.Graph, _ []pte.NamedData) { g.Values[0].Type = blob.QPInt8 }},
	} {
		g, named := c.graph(blob.FP32)
		file := programOf(t, g, named) // types are changed after the description of the arguments was made
		test.edit(g, named)
		payload, err := blob.Write(g)
		if err != nil {
			t.Fatal(err)
		}
		_, err = run(t, withPayload(t, file, payload, named), executor.LoadOptions{}, c.inputs()...)
		if err == nil || executor.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// withPayload is a program with another payload and other named data.
func withPayload(t testing.TB, file, payload []byte, named []pte.NamedData) []byte {
	t.Helper()
	p, err := pte.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	p.DelegateData, p.NamedData = [][]byte{payload}, named
	var b bytes.Buffer
	if err := pte.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestConstantOperands has constants where there are values of the run in most graphs.
func TestConstantOperands(t *testing.T) {
	for _, test := range []struct {
		node string
		vars int
		edit func(g *blob.Graph)
		code pte.Code
	}{
		{"add", 1, func(g *blob.Graph) { g.Values[1].Type = blob.Int32 }, pte.Ok},
		{"add", 1, func(g *blob.Graph) { g.Values[1].Type = blob.PFP32 }, pte.NotImplemented},
		{"add", 1, func(g *blob.Graph) {
			g.Values[1].Type, g.Values[1].Quant = blob.QDInt8, blob.Quant{Kind: blob.PerToken, NonbatchDims: 1}
		}, pte.NotImplemented},
		{"conv_transpose", 0, func(*blob.Graph) {}, pte.Ok},
		{"fully_connected", 0, func(g *blob.Graph) {
			g.Nodes[0].Inputs[2] = blob.InvalidID
			for _, i := range []int{0, 1, 3} {
				g.Values[i].Type, g.Values[i].Quant = blob.QInt8, blob.Quant{Kind: blob.PerTensor, Scale: 1}
			}
		}, pte.Ok},
	} {
		c := *caseNamed(test.node)
		c.vars = test.vars
		g, named := c.graph(blob.FP32)
		test.edit(g)
		_, err := run(t, programOf(t, g, named), executor.LoadOptions{Tracer: &workTracer{}}, c.inputs()...)
		if executor.CodeOf(err) != test.code {
			t.Errorf("%s of constants of types %v, %v: got %v", test.node, g.Values[0].Type, g.Values[1].Type, err)
		}
	}
}

// TestBadArguments gives a delegate a result that is a constant, which stays as it is, and an input in an unknown order.
func TestBadArguments(t *testing.T) {
	c := caseNamed("negate")
	g, _ := c.graph(blob.FP32)
	content := bytes.Repeat([]byte{7}, 4*numel(c.out[0]))
	for want, edit := range map[string]func(p *pte.Program, values []pte.EValue){
		"the output is a constant": func(p *pte.Program, values []pte.EValue) {
			p.ConstantBuffers = append(p.ConstantBuffers, content)
			values[1].Tensor.Allocation, values[1].Tensor.DataBufferIdx, values[1].Tensor.Dynamism = nil, 1, pte.Static
		},
		"argument 0 is neither contiguous nor channels-last": func(_ *pte.Program, values []pte.EValue) {
			slices.Reverse(values[0].Tensor.DimOrder)
		},
	} {
		p, err := pte.Read(programOf(t, g, nil))
		if err != nil {
			t.Fatal(err)
		}
		edit(p, p.Plans[0].Values)
		var b bytes.Buffer
		if err := pte.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		file, in := b.Bytes(), c.inputs()[0]
		in.DimOrder = append(in.DimOrder, p.Plans[0].Values[0].Tensor.DimOrder...)
		if _, err = run(t, file, executor.LoadOptions{}, in); executor.CodeOf(err) != pte.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if strings.Contains(want, "constant") && !bytes.Contains(file, content) {
			t.Error("the constant was written")
		}
	}
}

func TestOtherVersions(t *testing.T) {
	c := caseNamed("abs")
	g, _ := c.graph(blob.FP32)
	file := programOf(t, g, nil)
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	payload[32+7] = '2'
	_, err = run(t, withPayload(t, file, payload, nil), executor.LoadOptions{}, c.inputs()...)
	if executor.CodeOf(err) != pte.DelegateInvalidCompatibility || !strings.Contains(err.Error(), `got identifier "XN02"`) {
		t.Errorf("got %v", err)
	}
}

func TestAttentionIsNotImplemented(t *testing.T) {
	c := nodeCase{node: blob.Node{Type: blob.ScaledDotProductAttention}, vars: 5, out: [][]uint32{{1}}}
	for range c.vars {
		c.in = append(c.in, []uint32{1})
	}
	g, _ := c.graph(blob.FP32)
	_, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, c.inputs()...)
	if executor.CodeOf(err) != pte.NotImplemented {
		t.Errorf("got %v, want NotImplemented", err)
	}
}

func TestOptions(t *testing.T) {
	number := func(n int64) backend.Value { return backend.Value{Kind: op.Int, Int: n} }
	c := caseNamed("conv_one_sided") // has temporaries
	g, named := c.graph(blob.FP32)
	file := programOf(t, g, named)
	for _, test := range []struct {
		key   string
		value backend.Value
		good  bool
	}{
		{"workspace_sharing_mode", number(0), true}, {"workspace_sharing_mode", number(2), true}, {"workspace_sharing_mode", number(3), false},
		{"weight_cache_enabled", backend.Value{Kind: op.Bool, Int: 1}, true}, {"weight_cache_enabled", number(1), false}, {"speed", number(1), false},
	} {
		opts := executor.LoadOptions{BackendOptions: map[string][]backend.Option{ID: {{Key: test.key, Value: test.value}}}}
		_, err := run(t, file, opts, c.inputs()...)
		if (err == nil) != test.good || !test.good && executor.CodeOf(err) != pte.InvalidArgument {
			t.Errorf("%s = %v: got %v", test.key, test.value, err)
		}
	}
}

// TestSmallerSizes runs a graph at sizes below its largest ones, and at those again.
func TestSmallerSizes(t *testing.T) {
	for _, name := range []string{"fully_connected", "add", "batch_matrix_multiply_rank4", "softmax", "prelu"} {
		c := caseNamed(name)
		g, named := c.graph(blob.FP32)
		file := programOf(t, g, named)
		whole, err := run(t, file, executor.LoadOptions{}, c.inputs()...)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]byte(nil), whole[0].Tensor.Data...)
		if c.in[0][0] == 1 {
			continue
		}
		half := c.inputs()
		for _, x := range half {
			x.Sizes[0] /= 2
			x.Data = x.Data[:x.Nbytes()]
		}
		part, err := run(t, file, executor.LoadOptions{}, half...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := part[0].Tensor
		if got.Sizes[0] != tensor.Dim(c.out[0][0]/2) || !bytes.Equal(got.Data[:got.Nbytes()], want[:got.Nbytes()]) {
			t.Errorf("%s: sizes %v and other elements than the whole", name, got.Sizes)
		}
	}
}

// tracer keeps the events of a trace in order.
type tracer struct{ log []string }

func (tr *tracer) StartProfilingDelegate(name string, id int64) backend.EventTracerEntry {
	tr.log = append(tr.log, "start "+name+strconv.FormatInt(id, 10))
	return 0
}

func (tr *tracer) EndProfilingDelegate(_ backend.EventTracerEntry, metadata []byte) {
	tr.log = append(tr.log, "end "+string(metadata))
}

func (tr *tracer) LogIntermediateOutputDelegate(name string, id int64, v *backend.Value) {
	tr.log = append(tr.log, "value "+name+strconv.FormatInt(id, 10)+" "+v.Tensor.DType.String())
}

// TestTrace runs a node of several steps, and one of a single step: each is one event with one value.
func TestTrace(t *testing.T) {
	for name, kind := range map[string]string{"conv_one_sided": "Conv2d", "max_pooling": "MaxPooling2d"} {
		c := *caseNamed(name)
		c.node.DebugHandle = 42
		g, named := c.graph(blob.FP32)
		tr := &tracer{}
		if _, err := run(t, programOf(t, g, named), executor.LoadOptions{Tracer: tr}, c.inputs()...); err != nil {
			t.Fatal(err)
		}
		if want := []string{"start 42", "end " + kind, "value 42 float32"}; !slices.Equal(tr.log, want) {
			t.Errorf("%s: trace %q, want %q", name, tr.log, want)
		}
	}
	if name, id := (&traced{handle: noHandle, name: "Copy"}).step(); name != "Copy" || id != 0 {
		t.Errorf("a node without a handle is step %q, %d", name, id)
	}
}

// TestWork holds what nodes say that they have to do.
func TestWork(t *testing.T) {
	for name, want := range map[string]backend.Work{
		"batch_matrix_multiply": {MACs: 120, Bytes: 376},
		"fully_connected":       {MACs: 120, Bytes: 316},
		"prelu":                 {Bytes: 4 * (24 + 4 + 24)},
		"conv": {MACs: 3 * 5 * 7 * 9 * 4, Bytes: 4 * (6*5*4 + 7*9*4 + 7 + 3*5*7),
			Window: backend.Window{Size: [3]int64{0, 3, 3}, Stride: [3]int64{0, 2, 1}, Dilation: [3]int64{0, 1, 1}, Groups: 1}},
		"max_pooling": {Bytes: 4 * (6*5*4 + 3*5*4),
			Window: backend.Window{Size: [3]int64{0, 3, 2}, Stride: [3]int64{0, 2, 1}, Dilation: [3]int64{0, 1, 2}}},
	} {
		c := caseNamed(name)
		g, named := c.graph(blob.FP32)
		tr := &workTracer{}
		if _, err := run(t, programOf(t, g, named), executor.LoadOptions{Tracer: tr}, c.inputs()...); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tr.work, []backend.Work{want}) {
			t.Errorf("%s: %+v, want %+v", name, tr.work, want)
		}
	}
}

// workTracer keeps the work of all steps.
type workTracer struct {
	tracer
	work []backend.Work
}

func (tr *workTracer) LogWork(w backend.Work) { tr.work = append(tr.work, w) }

// TestSharedProgram makes two instances: the graph is compiled and its weights are packed once. Another method's payload
// with the same weights does not pack them again.
func TestSharedProgram(t *testing.T) {
	c := caseNamed("conv")
	g, named := c.graph(blob.FP32)
	made := map[string]int{}
	shared := map[string]any{}
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &backend.InitContext{
		Kernels: op.NewTable(op.Kernels),
		NamedData: func(key string) []byte {
			for _, n := range named {
				if n.Key == key {
					return n.Data
				}
			}
			return nil
		},
		Share: func(key string, make func() (any, error)) (any, error) {
			if v, ok := shared[key]; ok {
				return v, nil
			}
			made[key]++
			v, err := make()
			shared[key] = v
			return v, err
		},
	}
	b := New()
	first, err := b.Init(ctx, backend.NewFreeableBuffer(payload, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	freed := 0
	second, err := b.Init(ctx, backend.NewFreeableBuffer(payload, func([]byte) { freed++ }), nil)
	if err != nil || freed != 1 {
		t.Fatalf("Init = %v and freed the payload %d times", err, freed)
	}
	if first.(*instance).prog != second.(*instance).prog || len(made) != 2 {
		t.Errorf("two handles have different programs, or %d things were made, want the graph and the packed weights", len(made))
	}
	other, err := b.Init(ctx, backend.NewFreeableBuffer(slices.Clone(payload), nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if other.(*instance).prog == first.(*instance).prog || len(made) != 3 {
		t.Errorf("another payload has the same program, or %d things were made, want another graph with the same packed weights", len(made))
	}
}

// TestReleaseParts gives back the panels of a large convolution's weights one after another, while the others are packed, and then the whole.
func TestReleaseParts(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier does not pack by Winograd's algorithm")
	}
	c := imageCase("large", conv(blob.Conv2d, 0, 0, 0, 0, 1, 32, 1, 1, 1, 1, 64, 192, 1, 0, 0), []uint32{1, 1, 169, 192}, []uint32{192, 1, 32, 64}, []uint32{192})
	c.in[0] = []uint32{1, 1, 200, 64}
	g, named := c.graph(blob.FP32)
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	const whole = 192 * 32 * 64 * 4
	var parts []int
	sum := 0
	ctx := &backend.InitContext{
		Kernels: op.NewTable(op.Kernels),
		Tier:    kernel.Best(),
		NamedData: func(key string) []byte {
			return named[slices.IndexFunc(named, func(n pte.NamedData) bool { return n.Key == key })].Data
		},
		Share: func(_ string, make func() (any, error)) (any, error) { return make() },
		Release: func(b []byte) {
			if len(b) < whole && len(b) > 192*4 {
				parts = append(parts, len(b))
				sum += len(b)
			}
		},
	}
	if _, err := New().Init(ctx, backend.NewFreeableBuffer(payload, nil), nil); err != nil {
		t.Fatal(err)
	}
	if len(parts) < 2 || sum != whole {
		t.Errorf("released %v bytes, want parts of %d", parts, whole)
	}
}

// TestInlineConstants keeps a payload that constants lie in.
func TestInlineConstants(t *testing.T) {
	c := caseNamed("fully_connected")
	g, named := c.graph(blob.FP32)
	for i := range named {
		g.Constants[i+1] = blob.Constant{Size: uint64(len(named[i].Data)), Data: named[i].Data}
	}
	payload, err := blob.Write(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &backend.InitContext{Kernels: op.NewTable(op.Kernels), Share: func(_ string, make func() (any, error)) (any, error) { return make() }}
	freed := 0
	if _, err := New().Init(ctx, backend.NewFreeableBuffer(payload, func([]byte) { freed++ }), nil); err != nil || freed != 0 {
		t.Errorf("Init = %v and freed the payload %d times", err, freed)
	}
	outs, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, c.inputs()...)
	if err != nil {
		t.Fatal(err)
	}
	g, named = c.graph(blob.FP32)
	want, err := run(t, programOf(t, g, named), executor.LoadOptions{}, c.inputs()...)
	if err != nil || !bytes.Equal(outs[0].Tensor.Data, want[0].Tensor.Data) {
		t.Errorf("other results than with named data: %v", err)
	}
}

// TestInstancesRunConcurrently runs instances of one program at once.
func TestInstancesRunConcurrently(t *testing.T) {
	p, m := loadModel(t, "testdata/net_int8_channel/xnnpack.pte")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if err := runCalls(t, p, "testdata/net_int8_channel", m.Rtol, m.Cases[0].Calls); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRunAllocatesNothing runs programs in steady state.
func TestRunAllocatesNothing(t *testing.T) {
	for _, name := range []string{"linear_int4_groups", "conv_dynamic_int8", "linear_int8_static"} {
		dir := "testdata/" + name
		p, m := loadModel(t, dir+"/xnnpack.pte")
		inst, err := p.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		var ins []executor.Value
		for k := range m.Cases[0].Calls[0].Inputs {
			ins = append(ins, m.Cases[0].Calls[0].Inputs[k].load(t, dir))
		}
		n := testing.AllocsPerRun(10, func() {
			if _, err := inst.Method("forward").Run(context.Background(), ins); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations per Run, want 0", name, n)
		}
		inst.Close()
	}
}

// TestMutatedPayloads changes payloads: nothing may panic, which the executor would report as such.
func TestMutatedPayloads(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range nodeCases {
		c := &nodeCases[i]
		g, named := c.graph(blob.FP32)
		file := programOf(t, g, named)
		good, err := blob.Write(g)
		if err != nil {
			t.Fatal(err)
		}
		ins := c.inputs()
		for range 25 {
			b := append([]byte(nil), good...)
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.IntN(8))
			}
			if _, err := blob.Read(b); err != nil {
				continue
			}
			if _, err := run(t, withPayload(t, file, b, named), executor.LoadOptions{MaxMemory: 64 << 20, Threads: 1}, ins...); err != nil && strings.Contains(err.Error(), "panic") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestPReLUSlopes gives PReLU slopes that are neither one nor one for each channel.
func TestPReLUSlopes(t *testing.T) {
	c := *caseNamed("prelu")
	c.in = [][]uint32{c.in[0], {3}}
	g, named := c.graph(blob.FP32)
	_, err := run(t, programOf(t, g, named), executor.LoadOptions{}, c.inputs()...)
	if err == nil || !strings.Contains(err.Error(), "3 slopes for 4 channels") {
		t.Errorf("got %v", err)
	}
}

// TestLimit makes two instances of a program: what the first one packs counts against its limit as it does against the second one's.
func TestLimit(t *testing.T) {
	for _, path := range []string{"testdata/convs/xnnpack.pte", "testdata/net_float16/xnnpack.pte"} {
		least := [2]int64{}
		for k := range least {
			for limit := int64(1 << 10); least[k] == 0; limit += limit / 16 {
				p, err := executor.LoadFile(path, executor.LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{New()}, MaxMemory: limit})
				if err != nil {
					continue
				}
				var made []*executor.Instance
				for range k + 1 {
					if inst, err := p.NewInstance(); err == nil {
						made = append(made, inst)
					}
				}
				if len(made) == k+1 {
					least[k] = limit
				}
				for _, inst := range made {
					inst.Close()
				}
				p.Close()
			}
		}
		if least[0] != least[1] {
			t.Errorf("%s: an instance takes %d bytes, two take %d each", path, least[0], least[1])
		}
	}
}

// TestPackColumns packs weights whose rows lie side by side as those whose rows follow each other.
func TestPackColumns(t *testing.T) {
	const rows, depth = 5, 9
	var byRows, byColumns [rows * depth]byte
	for i := range byRows {
		byRows[i] = byte(3*i - 60)
		byColumns[i%depth*rows+i/depth] = byRows[i]
	}
	f := quant.Factors{Tier: kernel.Best(), Count: 1, Rows: rows, Depth: depth, Segments: 1}
	pack := func(raw []byte, columns bool) []byte {
		p := &product{columns: columns, IntegerProduct: op.IntegerProduct{Rows: rows, Depth: depth, Blocks: 1}}
		dst := op.AlignedBytes(f.Bytes())
		p.pack(dst, f, raw, &blob.Value{Type: blob.QInt8, Dims: []uint32{rows, depth}})
		return dst
	}
	if got, want := pack(byColumns[:], true), pack(byRows[:], false); !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestNumbers runs a graph of values without dimensions.
func TestNumbers(t *testing.T) {
	inf := float32(math.Inf(1))
	value := func(id, external, flags uint32, dims ...uint32) blob.Value {
		return blob.Value{ID: id, Type: blob.FP32, Dims: dims, External: external, Flags: flags}
	}
	g := &blob.Graph{Identifier: blob.XN01, Version: "0", Constants: []blob.Constant{{}}, NumExterns: 2, Inputs: []uint32{0}, Outputs: []uint32{1},
		Values: []blob.Value{value(0, 0, blob.ExternalInput), value(1, 1, blob.ExternalOutput)},
		Nodes:  []blob.Node{{Type: blob.Negate, Inputs: []uint32{0}, Outputs: []uint32{1}, Min: -inf, Max: inf}}}
	got, err := run(t, programOf(t, g, nil), executor.LoadOptions{}, floatsTensor(tensor.Float, nil, []float32{3}))
	if err != nil || op.NumberAt(got[0].Tensor, 0) != -3 {
		t.Errorf("got %v, %v", got, err)
	}
}
