package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// parts is a backend whose payloads are numbers of lists of calls. It runs none itself.
type parts struct {
	list  []*backend.Inlined
	asked int
	away  bool // it is not available
}

func (*parts) ID() string        { return "Parts" }
func (p *parts) Available() bool { return !p.away }

func (p *parts) Inline(_ *backend.InitContext, processed []byte, specs []backend.CompileSpec) *backend.Inlined {
	p.asked++
	if len(specs) > 0 {
		return nil
	}
	return p.list[processed[0]]
}

// copyOf is g with values and calls that can be changed.
func copyOf(g *backend.Inlined) *backend.Inlined {
	c := *g
	c.Values, c.Calls = slices.Clone(g.Values), slices.Clone(g.Calls)
	for i := range c.Values {
		v := &c.Values[i]
		if v.Items = slices.Clone(v.Items); v.Tensor != nil {
			t := *v.Tensor
			v.Tensor = &t
		}
	}
	for i := range c.Calls {
		c.Calls[i].Args = slices.Clone(c.Calls[i].Args)
	}
	return &c
}

func (*parts) Init(ctx *backend.InitContext, _ *backend.FreeableBuffer, _ []backend.CompileSpec) (backend.Handle, error) {
	if ctx.Part == nil {
		return nil, errors.New("it was not inlined")
	}
	return ctx.Part, nil
}

func (*parts) Execute(_ *backend.ExecuteContext, h backend.Handle, args []*backend.Value) error {
	h.(func(args []*backend.Value))(args)
	return nil
}

func (*parts) Destroy(backend.Handle) {}

// methodOn is the only method of p, whose delegates b has.
func methodOn(t *testing.T, p *pte.Program, b backend.Backend) *Method {
	t.Helper()
	return instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}})).Method("forward")
}

// loadError is the error of loading p, whose delegates b has; nil if that works.
func loadError(t *testing.T, p *pte.Program, b backend.Backend) error {
	t.Helper()
	file, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	program, err := Load(file, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}})
	if err == nil {
		program.Close()
	}
	return err
}

// outline lets delegates compute some runs of a program's instructions, and gives what they compute.
func outline(r *rand.Rand, p *pte.Program) *parts {
	m, all := p.Plans[0], &parts{}
	old := m.Chains[0].Instructions
	m.Delegates, p.DelegateData = nil, nil
	var calls []pte.Instruction
	for i := 0; i < len(old); {
		n := min(1+r.IntN(8), len(old)-i)
		if part, args := outlined(r, p, i, i+n); part != nil && r.IntN(4) > 0 {
			calls = append(calls, pte.Instruction{Type: pte.DelegateCall, A: int32(len(all.list)), Args: args})
			m.Delegates, p.DelegateData = append(m.Delegates, pte.BackendDelegate{ID: "Parts", Processed: len(all.list)}), append(p.DelegateData, []byte{byte(len(all.list))})
			all.list = append(all.list, part)
		} else {
			calls = append(calls, old[i:i+n]...)
		}
		i += n
	}
	m.Chains[0].Instructions = calls
	return all
}

// outlined is what instructions from to to compute, and its arguments; nil where it writes what others have.
func outlined(r *rand.Rand, p *pte.Program, from, to int) (*backend.Inlined, []int32) {
	m, part := p.Plans[0], &backend.Inlined{Operators: p.Plans[0].Operators, Constants: [][]byte{nil}}
	list, at := m.Chains[0].Instructions, map[int32]int32{}
	written, elsewhere := map[int32]bool{}, map[int32]bool{}
	var each func(v int32, f func(v int32))
	each = func(v int32, f func(v int32)) {
		f(v)
		for _, item := range m.Values[v].Items {
			each(int32(item), f)
		}
	}
	for i := range list {
		for _, v := range list[i].Args {
			if i < from || i >= to {
				each(v, func(v int32) { elsewhere[v] = true })
			}
		}
	}
	for _, v := range append(slices.Clone(m.Outputs), m.Inputs...) {
		each(v, func(v int32) { elsewhere[v] = true })
	}
	var ins, outs []int32
	add := func(v int32) int32 {
		if k, ok := at[v]; ok {
			return k
		}
		e := m.Values[v]
		if t := e.Tensor; t != nil {
			e.Tensor = &pte.Tensor{ScalarType: t.ScalarType, Sizes: t.Sizes, DimOrder: t.DimOrder}
			constant := t.Allocation == nil && t.DataBufferIdx > 0
			switch {
			case constant && r.IntN(2) == 0:
				e.Tensor.DataBufferIdx = uint32(len(part.Constants))
				part.Constants = append(part.Constants, p.ConstantBuffers[t.DataBufferIdx])
			case !written[v]:
				ins = append(ins, v)
			case elsewhere[v]:
				outs = append(outs, v)
			}
		}
		part.Values = append(part.Values, e)
		at[v] = int32(len(part.Values) - 1)
		return at[v]
	}
	var value func(v int32) int32
	value = func(v int32) int32 {
		e := &m.Values[v]
		if e.Type != pte.TensorList && e.Type != pte.IntList {
			return add(v)
		}
		items := make([]int64, len(e.Items))
		for i, item := range e.Items {
			items[i] = int64(value(int32(item)))
		}
		part.Values = append(part.Values, pte.EValue{Type: e.Type, Items: items})
		return int32(len(part.Values) - 1)
	}
	for _, in := range list[from:to] {
		if in.Type != pte.KernelCall {
			return nil, nil
		}
		call := pte.Instruction{Type: pte.KernelCall, A: in.A}
		for k, v := range in.Args {
			if k >= len(in.Args)-2 { // the results
				each(v, func(v int32) {
					if _, ok := at[v]; !ok {
						written[v] = true
					}
				})
			}
			call.Args = append(call.Args, value(v))
		}
		part.Calls, part.Handles = append(part.Calls, call), append(part.Handles, int64(100*from+len(part.Calls)))
	}
	for _, v := range ins {
		if slices.ContainsFunc(list[from:to], func(in pte.Instruction) bool { return slices.Contains(in.Args[len(in.Args)-2:], v) }) {
			return nil, nil // it is written, too
		}
	}
	args := append(ins, outs...)
	part.Inputs = len(ins)
	for _, v := range args {
		part.Args = append(part.Args, at[v])
	}
	if (&method{plan: m}).overwrites(args, len(ins)) {
		return nil, nil
	}
	return part, args
}

// TestMadeInlined holds random programs some of whose instructions are inlined delegates against those that keep all values of the file.
func TestMadeInlined(t *testing.T) {
	inlined, shorter := 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 23))
		quantizes := kernel.Best() == kernel.Scalar
		want, all := resultsOf(t, madeProgram(seed, quantizes), seed, values{&scribe{}})
		p := madeProgram(seed, quantizes)
		b := outline(r, p)
		inlined += len(b.list)
		var tracer EventTracer
		if seed%4 == 3 {
			tracer = &scribe{}
		}
		m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, Threads: 1 + int(seed%2), Tracer: tracer})).Method("forward")
		got, err := runsOf(m, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if b.asked != len(b.list) {
			t.Errorf("seed %d: %d of %d parts were asked for", seed, b.asked, len(b.list))
		}
		if len(m.m.steps) < len(all) {
			shorter++
		}
		checkNear(t, "seed "+strconv.FormatUint(seed, 10), got, want, 5e-5)
	}
	if inlined < 800 || shorter < 200 {
		t.Errorf("%d parts, %d programs are shorter than their instructions", inlined, shorter)
	}
}

// chainOf is a program y = -(relu(-(a·x)) + x) of a product, whose result a delegate negates and bounds, with a view between, adds and negates.
func chainOf(edit func(m *pte.ExecutionPlan)) (*pte.Program, *parts) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	x := g.input()
	w := g.constant(tensor.Float, 3, 3)
	product := g.tensor(tensor.Float, 2, 3)
	g.call("aten::mm.out", []int32{product}, x, w)
	y := g.tensor(tensor.Float, 2, 3)
	at := len(g.calls)
	g.first[y], g.last[product], g.last[x] = at, at, at
	g.calls = append(g.calls, pte.Instruction{Type: pte.DelegateCall, Args: []int32{product, x, y}})
	g.output(y)
	p := g.finish(1)
	p.Plans[0].Delegates, p.DelegateData = []pte.BackendDelegate{{ID: "Parts"}}, [][]byte{{0}}
	if edit != nil {
		edit(p.Plans[0])
	}
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, by, to := in.input(), in.input(), in.tensor(tensor.Float, 2, 3)
	negated, seen, bounded := in.float("aten::neg.out", false, from), in.tensor(tensor.Float, 6), in.tensor(tensor.Float, 6)
	in.call(etViewName, []int32{seen}, negated, in.ints(6))
	in.call("aten::relu.out", []int32{bounded}, seen)
	back := in.tensor(tensor.Float, 2, 3)
	in.call(etViewName, []int32{back}, bounded, in.ints(2, 3))
	sum := in.float("aten::add.out", false, back, by, in.int(1))
	in.call("aten::neg.out", []int32{to}, sum)
	return p, &parts{list: []*backend.Inlined{{Values: in.plan.Values, Operators: in.plan.Operators, Calls: in.calls, Handles: []int64{7, backend.NoHandle, 9, 9, backend.NoHandle, 8},
		Constants: [][]byte{nil}, Args: []int32{from, by, to}, Inputs: 2}}}
}

// TestInlineTrace shows steps of an inlined delegate to who traces, as a backend would, and an error's place, as the file has them.
func TestInlineTrace(t *testing.T) {
	p, b := chainOf(nil)
	tr := &scribe{}
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, Tracer: tr})).Method("forward")
	if got := m.Info().Backends; !slices.Equal(got, []string{"Parts"}) {
		t.Errorf("backends %v", got)
	}
	tr.log = nil
	if _, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))}); err != nil {
		t.Fatal(err)
	}
	want := []string{"block Execute", "at -1:0", "start Method::execute", "at 0:0", "start native_call_mm.out", "end", "value false",
		"at 0:1", "step 7", "end step aten::neg.out", "value false",
		"step " + etViewName + "0", "end step " + etViewName, "value false",
		"step 9", "end step aten::relu.out", "value false",
		"step 9", "end step " + etViewName, "value false",
		"step 8", "end step " + op.PointwiseName, "value false",
		"at -1:0", "end", "value true"}
	if diff := cmp.Diff(want, tr.log); diff != "" {
		t.Error(diff)
	}
	if got := m.m.instruction(len(m.m.plan.Chains[0].Instructions) - 1); got != 1 {
		t.Errorf("the last call belongs to instruction %d, want 1", got)
	}
	p, b = chainOf(func(m *pte.ExecutionPlan) {
		for _, v := range m.Values {
			if v.Tensor != nil && v.Tensor.DataBufferIdx == 0 {
				v.Tensor.Dynamism = pte.DynamicBound
			}
		}
	})
	b.list[0].Values[b.list[0].Calls[1].Args[1]].Items = b.list[0].Values[b.list[0].Calls[3].Args[1]].Items[:1] // a view of 2 elements
	m = methodOn(t, p, b)
	if _, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3}, 1, 3))}); err == nil || !strings.Contains(err.Error(), "instruction 1 ("+etViewName) {
		t.Errorf("got %v", err)
	}
}

// TestInlineFuses runs a sum that a delegate has with what another instruction computes, and says so.
func TestInlineFuses(t *testing.T) {
	p, b := chainOf(nil)
	m := p.Plans[0]
	m.Operators = append(m.Operators, pte.Operator{Name: "aten::sigmoid", Overload: "out"}, pte.Operator{Name: "aten::tanh", Overload: "out"})
	for _, name := range []string{"sigmoid", "tanh"} { // behind the delegate
		at := slices.IndexFunc(m.Operators, func(o pte.Operator) bool { return o.Name == "aten::"+name })
		out := int32(len(m.Values))
		m.Values = append(m.Values, tensorValue(2, 3))
		m.Values[out].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(m.NonConstBufferSizes[1])}
		m.NonConstBufferSizes[1] += 64
		m.Chains[0].Instructions = append(m.Chains[0].Instructions, pte.Instruction{Type: pte.KernelCall, A: int32(at), Args: []int32{m.Outputs[0], out, out}})
		m.Outputs[0] = out
	}
	tr := &fusedScribe{}
	method := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, Tracer: tr})).Method("forward")
	if _, err := method.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))}); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(tr.fused, func(list []int) bool { return slices.Equal(list, []int{1, 2, 3}) }) {
		t.Errorf("the instructions that run as one are %v; the events %q", tr.fused, tr.log)
	}
}

// fusedScribe notes what runs as one, too.
type fusedScribe struct {
	scribe
	fused [][]int
}

func (s *fusedScribe) LogFused(list []int) { s.fused = append(s.fused, list) }

// TestInlineRefuses leaves a delegate alone where its calls could see each other's results, or where somebody looks at its steps alone.
func TestInlineRefuses(t *testing.T) {
	last := func(m *pte.ExecutionPlan) *pte.Instruction { return &m.Chains[0].Instructions[1] }
	for name, c := range map[string]struct {
		edit func(m *pte.ExecutionPlan)
		opts LoadOptions
	}{
		"output in an input's place": {edit: func(m *pte.ExecutionPlan) {
			m.Values[last(m).Args[2]].Tensor.Allocation = m.Values[last(m).Args[0]].Tensor.Allocation
		}},
		"output is an input":   {edit: func(m *pte.ExecutionPlan) { last(m).Args[2] = last(m).Args[1] }},
		"sizes without bounds": {edit: func(m *pte.ExecutionPlan) { m.Values[last(m).Args[1]].Tensor.Dynamism = pte.DynamicUnbound }},
		"argument is no tensor": {edit: func(m *pte.ExecutionPlan) {
			m.Values = append(m.Values, pte.EValue{Type: pte.Int})
			last(m).Args = append(last(m).Args, int32(len(m.Values)-1))
		}},
		"compile specs":      {edit: func(m *pte.ExecutionPlan) { m.Delegates[0].CompileSpecs = []pte.CompileSpec{{Key: "mode"}} }},
		"control flow":       {edit: func(m *pte.ExecutionPlan) { appendFree(m) }},
		"two chains":         {edit: func(m *pte.ExecutionPlan) { m.Chains = append(m.Chains, pte.Chain{}) }},
		"steps of delegates": {opts: LoadOptions{Tracer: &tracer{}}},
		"values between":     {opts: LoadOptions{Tracer: values{&scribe{}}}},
		"an output of a constant": {edit: func(m *pte.ExecutionPlan) {
			*m.Values[last(m).Args[2]].Tensor = *m.Values[m.Chains[0].Instructions[0].Args[1]].Tensor
		}},
	} {
		p, b := chainOf(c.edit)
		c.opts.Kernels, c.opts.Backends = op.Kernels, []backend.Backend{b}
		file, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		program, err := Load(file, c.opts)
		if err == nil {
			_, err = program.NewInstance()
			program.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "it was not inlined") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestInlineNumbers says which instruction of the file cannot be loaded behind an inlined delegate, or writes a constant.
func TestInlineNumbers(t *testing.T) {
	for want, call := range map[string]func(m *pte.ExecutionPlan) []int32{
		"load instruction 2: aten::mm.out has 1 arguments": func(m *pte.ExecutionPlan) []int32 { return m.Inputs[:1] },
		"instruction 2: executorch_prim::et_copy_index.tensor writes value": func(m *pte.ExecutionPlan) []int32 {
			m.Operators[0] = pte.Operator{Name: "executorch_prim::et_copy_index", Overload: "tensor"}
			m.Values = append(m.Values, pte.EValue{Type: pte.Int})
			weight := m.Chains[0].Instructions[0].Args[1]
			m.Chains[0].Instructions[0] = pte.Instruction{Type: pte.MoveCall}
			return []int32{weight, m.Inputs[0], int32(len(m.Values) - 1)}
		},
	} {
		p, b := chainOf(func(m *pte.ExecutionPlan) {
			args := call(m)
			m.Chains[0].Instructions = append(m.Chains[0].Instructions, pte.Instruction{Type: pte.KernelCall, Args: args})
		})
		if err := loadError(t, p, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// appendFree ends a method with an instruction that frees its input.
func appendFree(m *pte.ExecutionPlan) {
	m.Chains[0].Instructions = append(m.Chains[0].Instructions, pte.Instruction{Type: pte.FreeCall, A: m.Inputs[0]})
}

// TestInlineAsserts finds the instruction of an assertion behind an inlined delegate.
func TestInlineAsserts(t *testing.T) {
	p, b := chainOf(func(m *pte.ExecutionPlan) {
		v := int32(len(m.Values))
		m.Values = append(m.Values, pte.EValue{Type: pte.Bool}, pte.EValue{Type: pte.String, String: pte.AssertsPrefix + "2\tn is 3\tmodel.py:1\n"})
		m.Chains[0].Instructions = append(m.Chains[0].Instructions, pte.Instruction{Type: pte.MoveCall, A: v, B: v})
	})
	m := methodOn(t, p, b)
	_, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))})
	if want := "instruction 2: assertion n is 3 does not hold (model.py:1)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestInlinePart runs a part of a delegate that no operator computes, between operators.
func TestInlinePart(t *testing.T) {
	const pad = 64
	p, b := chainOf(func(m *pte.ExecutionPlan) { m.NonConstBufferSizes[1] += pad })
	g, runs := b.list[0], 0
	relu := &g.Calls[2]
	relu.Type, relu.A, relu.B, relu.Args = pte.DelegateCall, 0, 1, relu.Args[:2]
	g.Handles[2] = backend.NoHandle
	g.Parts = []any{func(args []*backend.Value) {
		runs++
		x, y := tensor.Elements[float32](args[0].Tensor), tensor.Elements[float32](args[1].Tensor)
		for i := range x {
			y[i] = max(x[i], 0)
		}
	}}
	x := TensorOf(tensor.Of([]float32{1, 2, 3, -4, 5, -6}, 2, 3))
	tr := &scribe{}
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, Tracer: tr})).Method("forward")
	got, err := m.Run(context.Background(), []Value{x})
	if err != nil {
		t.Fatal(err)
	}
	p, b = chainOf(nil)
	want, err := methodOn(t, p, b).Run(context.Background(), []Value{x})
	if err != nil || !slices.Equal(floatsOf(got)[0], floatsOf(want)[0]) || runs != 1 {
		t.Errorf("got %v, want %v, %v; the part ran %d times", floatsOf(got), floatsOf(want), err, runs)
	}
	if got := m.Info().Backends; !slices.Equal(got, []string{"Parts"}) {
		t.Errorf("backends %v", got)
	}
	if n, end := m.m.arenas[1], m.m.endOf(1); n < end+pad {
		t.Errorf("an arena of %d bytes, whose tensors end at %d", n, end)
	}
	if s := &m.m.steps[slices.IndexFunc(m.m.steps, func(s step) bool { return s.backend != nil })]; !s.known || s.inputs != 1 {
		t.Errorf("%d inputs, known: %v", s.inputs, s.known)
	}
	if at := slices.Index(tr.log, "start DELEGATE_CALL"); at < 1 || tr.log[at-1] != "value false" || slices.Contains(tr.log[at:], "at 0:1") {
		t.Errorf("trace %q", tr.log)
	}
}

// TestInlineUnavailable says that a backend is not available, though it would tell what to run.
func TestInlineUnavailable(t *testing.T) {
	p, b := chainOf(nil)
	b.away = true
	if err := loadError(t, p, b); err == nil || !strings.Contains(err.Error(), "backend Parts is not available on this machine") {
		t.Errorf("got %v", err)
	}
}

// TestInlinePanics loads a payload that a backend panics about.
func TestInlinePanics(t *testing.T) {
	p, b := chainOf(nil)
	p.DelegateData[0] = []byte{9}
	if err := loadError(t, p, b); err == nil || !strings.Contains(err.Error(), "inline delegates: panic: runtime error") {
		t.Errorf("got %v", err)
	}
}

// TestInlineMost runs delegates as such behind so many calls.
func TestInlineMost(t *testing.T) {
	defer func(most int) { mostInlined = most }(mostInlined)
	for most, want := range map[int]int{3: 1, 7: 2, 13: 3} { // a delegate has 6 calls
		mostInlined = most
		p, b := chainOf(func(m *pte.ExecutionPlan) {
			for range 2 {
				m.Chains[0].Instructions = append(m.Chains[0].Instructions, m.Chains[0].Instructions[1])
			}
		})
		inlined := 0
		m := loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}}).methods[0]
		for i := range m.plan.Chains[0].Instructions {
			if m.handles[i] != notInlined {
				inlined++
			}
		}
		if inlined != 6*want {
			t.Errorf("most %d: %d calls of delegates, want %d", most, inlined, 6*want)
		}
	}
}

// TestInlineViews reads a view behind a call whose result could lie where what it is a view of does.
func TestInlineViews(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	x, y := g.input(), g.tensor(tensor.Float, 3, 3)
	g.calls, g.first[y], g.last[x] = []pte.Instruction{{Type: pte.DelegateCall, Args: []int32{x, y}}}, 0, 0
	g.output(y)
	p := g.finish(1)
	p.Plans[0].Delegates, p.DelegateData = []pte.BackendDelegate{{ID: "Parts"}}, [][]byte{{0}}
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, to, seen, again := in.input(), in.tensor(tensor.Float, 3, 3), in.tensor(tensor.Float, 6), in.tensor(tensor.Float, 3, 2)
	negated := in.float("aten::neg.out", false, from)
	in.call(etViewName, []int32{seen}, negated, in.ints(6))
	in.call(etViewName, []int32{again}, seen, in.ints(3, 2))
	in.call("aten::mm.out", []int32{to}, again, in.float("aten::abs.out", false, from))
	b := partsOf(in, []int32{from, to}, 1)
	outs, err := methodOn(t, p, b).Run(context.Background(),
		[]Value{TensorOf(tensor.Of([]float32{1, -2, 3, -4, 5, -6}, 2, 3))})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := floatsOf(outs)[0], []float32{7, 8, 9, 13, 14, 15, 19, 20, 21}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// partsOf is a backend whose payload computes what calls the maker has.
func partsOf(g *maker, args []int32, inputs int) *parts {
	return &parts{list: []*backend.Inlined{{Values: g.plan.Values, Operators: g.plan.Operators, Calls: g.calls, Handles: make([]int64, len(g.calls)),
		Constants: [][]byte{nil}, Args: args, Inputs: inputs}}}
}

// TestInlineViewOfArgument takes no memory for views of an argument that has a place.
func TestInlineViewOfArgument(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	x := g.input()
	negated, y := g.float("aten::neg.out", false, x), g.tensor(tensor.Float, 3, 3)
	g.calls, g.first[y], g.last[negated] = append(g.calls, pte.Instruction{Type: pte.DelegateCall, Args: []int32{negated, y}}), 1, 1
	g.output(y)
	p := g.finish(1)
	p.Plans[0].Delegates, p.DelegateData = []pte.BackendDelegate{{ID: "Parts"}}, [][]byte{{0}}
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, to, seen, again := in.input(), in.tensor(tensor.Float, 3, 3), in.tensor(tensor.Float, 6), in.tensor(tensor.Float, 3, 2)
	in.call(etViewName, []int32{seen}, from, in.ints(6))
	in.call(etViewName, []int32{again}, seen, in.ints(3, 2))
	in.call("aten::mm.out", []int32{to}, again, from)
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{partsOf(in, []int32{from, to}, 1)}})).Method("forward")
	outs, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, -2, 3, -4, 5, -6}, 2, 3))})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := floatsOf(outs)[0], []float32{9, -12, 15, 19, -26, 33, 29, -40, 51}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, most := m.m.plan.NonConstBufferSizes[1], (p.Plans[0].NonConstBufferSizes[1]+15)&^15; got > most {
		t.Errorf("the arena has %d bytes, the file's %d", got, most)
	}
}

// TestInlineMemory counts what lies between the calls against the limit, lets delegates run as such where it exceeds that, and takes none
// where a file has no arena.
func TestInlineMemory(t *testing.T) {
	p, b := chainOf(func(m *pte.ExecutionPlan) {
		first := &m.Chains[0].Instructions[0]
		m.Operators[first.A], first.Args = pte.Operator{Name: "aten::relu", Overload: "out"}, slices.Delete(first.Args, 1, 2) // no constants are packed
	})
	file, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []int64{30, 1 << 10} {
		program, err := Load(file, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, MaxMemory: p.Plans[0].NonConstBufferSizes[1] + more})
		if err != nil {
			t.Fatal(err)
		}
		if program.methods[0].hasInlined() != (more > 30) {
			t.Errorf("%d bytes more than the file's arenas: it is inlined, or not", more)
		}
		program.Close()
	}
	p, b = chainOf(func(m *pte.ExecutionPlan) {
		for _, v := range m.Values {
			if v.Tensor != nil {
				v.Tensor.Allocation = nil
			}
		}
		m.NonConstBufferSizes = []int64{0}
	})
	x := TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	got, err := methodOn(t, p, b).Run(context.Background(), []Value{x})
	if err != nil {
		t.Fatal(err)
	}
	p, b = chainOf(func(m *pte.ExecutionPlan) { m.NonConstBufferSizes[1]++ }) // where no tensor can lie
	want, err := methodOn(t, p, b).Run(context.Background(), []Value{x})
	if err != nil || !slices.Equal(floatsOf(got)[0], floatsOf(want)[0]) {
		t.Errorf("got %v, want %v, %v", floatsOf(got), floatsOf(want), err)
	}
}

// TestInlineMisuse refuses what a backend may not give.
func TestInlineMisuse(t *testing.T) {
	type graph = backend.Inlined
	between := func(g *graph) *pte.EValue { return &g.Values[g.Calls[0].Args[1]] }
	for name, edit := range map[string]func(g *graph){
		"no constants":      func(g *graph) { g.Constants = nil },
		"no handles":        func(g *graph) { g.Handles = nil },
		"a move":            func(g *graph) { g.Calls[2].Type = pte.MoveCall },
		"a jump":            func(g *graph) { g.Calls[2].Type = pte.JumpFalseCall },
		"operator":          func(g *graph) { g.Calls[0].A = int32(len(g.Operators)) },
		"call's argument":   func(g *graph) { g.Calls[0].Args[0] = -1 },
		"view's arguments":  func(g *graph) { g.Calls[1].Args = g.Calls[1].Args[:2] },
		"view as an output": func(g *graph) { g.Calls[3].Args[2] = g.Args[2] },
		"constant":          func(g *graph) { between(g).Tensor.DataBufferIdx = 1 },
		"inputs":            func(g *graph) { g.Inputs = 4 },
		"too few arguments": func(g *graph) { g.Args = g.Args[:2] },
		"argument":          func(g *graph) { g.Args[0] = int32(len(g.Values)) },
		"argument twice":    func(g *graph) { g.Args[1] = g.Args[2] },
		"constant argument": func(g *graph) {
			g.Constants, g.Values[g.Args[0]].Tensor.DataBufferIdx = append(g.Constants, nil), 1
		},
		"number":             func(g *graph) { g.Values[g.Calls[1].Args[1]].Items[0] = int64(g.Args[0]) },
		"member":             func(g *graph) { g.Values[g.Calls[1].Args[1]].Items[0] = -1 },
		"no tensor":          func(g *graph) { between(g).Tensor = nil },
		"output not written": func(g *graph) { g.Calls, g.Handles = g.Calls[:4], g.Handles[:4] },
	} {
		p, b := chainOf(nil)
		b.list[0] = copyOf(b.list[0])
		edit(b.list[0])
		if err := loadError(t, p, b); err == nil || !strings.Contains(err.Error(), "inline a payload of Parts: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestInlineLists takes elements by lists with members that are not there, of tensors that nothing else refers to when it runs.
func TestInlineLists(t *testing.T) {
	p, b := chainOf(nil)
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, by, to := in.input(), in.input(), in.tensor(tensor.Float, 2, 3)
	at, flipped, taken := in.tensor(tensor.Long, 3), in.tensor(tensor.Float, 2, 3), in.tensor(tensor.Float, 2, 3)
	first := in.add(pte.EValue{Type: pte.TensorValue, Tensor: &pte.Tensor{ScalarType: tensor.Long, Sizes: []int32{3}, DimOrder: []uint8{0}, DataBufferIdx: 1}})
	in.call("aten::neg.out", []int32{at}, first)
	in.call("aten::flip.out", []int32{flipped}, by, in.ints(1))
	in.call("aten::index.Tensor_out", []int32{taken}, flipped, in.add(pte.EValue{Type: pte.OptionalTensorList, Items: []int64{-1, int64(at)}}))
	in.call("aten::mul.out", []int32{to}, taken, in.float("aten::relu.out", false, from))
	b.list[0] = &backend.Inlined{Values: in.plan.Values, Operators: in.plan.Operators, Calls: in.calls, Handles: make([]int64, len(in.calls)),
		Constants: [][]byte{nil, {0: 255, 1: 255, 2: 255, 3: 255, 4: 255, 5: 255, 6: 255, 7: 255, 23: 0}}, Args: []int32{from, by, to}, Inputs: 2}
	m := methodOn(t, p, b)
	if _, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))}); err != nil {
		t.Error(err)
	}
	list := m.m.plan.Chains[0].Instructions
	place := func(v int32) *pte.Allocation { return m.m.plan.Values[v].Tensor.Allocation }
	if at, flipped := place(list[1].Args[1]), place(list[2].Args[2]); at.Offset == flipped.Offset {
		t.Errorf("indices and what they take lie at %d", at.Offset)
	}
}

// TestInlineLimit counts the calls of a delegate as one instruction.
func TestInlineLimit(t *testing.T) {
	p, b := chainOf(nil)
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, MaxInstructions: 2, Tracer: &scribe{}})).Method("forward")
	if _, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))}); err != nil {
		t.Error(err)
	}
}

// other is a backend that is no Inliner and does nothing.
type other struct{ parts }

func (*other) ID() string { return "Other" }

func (*other) Inline(*backend.InitContext, []byte, []backend.CompileSpec) *backend.Inlined {
	return nil
}

func (*other) Init(*backend.InitContext, *backend.FreeableBuffer, []backend.CompileSpec) (backend.Handle, error) {
	return 0, nil
}

// TestInlinePads leaves what backends of other delegates may read behind the last tensor.
func TestInlinePads(t *testing.T) {
	const pad = 64
	p, b := chainOf(func(m *pte.ExecutionPlan) {
		out, end := int32(len(m.Values)), (m.NonConstBufferSizes[1]+15)&^15
		m.Values = append(m.Values, tensorValue(2, 3))
		m.Values[out].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(end)}
		m.NonConstBufferSizes[1] = end + 24 + pad
		m.Delegates = append(m.Delegates, pte.BackendDelegate{ID: "Other"})
		m.Chains[0].Instructions = append(m.Chains[0].Instructions, pte.Instruction{Type: pte.DelegateCall, A: 1, Args: []int32{m.Outputs[0], out}})
		m.Outputs[0] = out
	})
	m := loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b, &other{}}}).methods[0]
	if n, end := m.arenas[1], m.endOf(1); !m.hasInlined() || n < end+pad {
		t.Errorf("an arena of %d bytes, whose tensors end at %d", n, end)
	}
}

// endOf is where the last tensor of an arena ends that instances have.
func (m *method) endOf(arena int32) (end int64) {
	for _, v := range m.own {
		if m.place[v] == planned && m.areaOf(v).memory == arena {
			end = max(end, int64(m.areaOf(v).to))
		}
	}
	return end
}

// TestInlineTraceOnce says once where the steps of a delegate belong, though one between them runs with another instruction: who counts them
// goes on.
func TestInlineTraceOnce(t *testing.T) {
	p, b := chainOf(func(m *pte.ExecutionPlan) {
		first := &m.Chains[0].Instructions[0]
		m.Operators[first.A], first.Args = pte.Operator{Name: "aten::sigmoid", Overload: "out"}, slices.Delete(first.Args, 1, 2)
	})
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, by, to := in.input(), in.input(), in.tensor(tensor.Float, 2, 3)
	softmax := func(x int32) int32 { return in.float("aten::_softmax.out", false, x, in.int(1), in.no()) }
	one, other := softmax(by), softmax(in.float("aten::neg.out", false, from))
	in.call("aten::add.out", []int32{to}, one, other, in.int(1))
	b.list[0] = &backend.Inlined{Values: in.plan.Values, Operators: in.plan.Operators, Calls: in.calls, Handles: []int64{6, 7, 8, 9},
		Constants: [][]byte{nil}, Args: []int32{from, by, to}, Inputs: 2}
	tr := &fusedScribe{}
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}, Tracer: tr})).Method("forward")
	tr.log = nil
	if _, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))}); err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(slices.Clone(tr.log), func(s string) bool { return s != "at 0:1" })); n != 1 || len(tr.fused) != 1 || !slices.Equal(tr.fused[0], []int{0, 1}) {
		t.Errorf("the log %q, and what runs as one %v", tr.log, tr.fused)
	}
}
