package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func loadTest(t testing.TB, name string, opts LoadOptions) *Program {
	t.Helper()
	if opts.Kernels == nil {
		opts.Kernels = op.Kernels
	}
	p, err := LoadFile("testdata/"+name+"/portable.pte", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func firstInputs(t testing.TB, name string) []Value {
	t.Helper()
	z := readModel(t, "testdata/"+name)
	var ins []Value
	for i := range z.Cases[0].Calls[0].Inputs {
		ins = append(ins, z.Cases[0].Calls[0].Inputs[i].load(t, "testdata/"+name))
	}
	return ins
}

// steadyRun is one Run of each small program.
func steadyRun(t testing.TB, name string) func() {
	p := loadTest(t, name, LoadOptions{Threads: 1})
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	m, ins := inst.Method(p.Methods()[0]), firstInputs(t, name)
	return func() {
		if _, err := m.Run(context.Background(), ins); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	for _, name := range []string{"add", "counter", "cond", "two_methods"} {
		run := steadyRun(t, name)
		run()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations per Run, want 0", name, n)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"add", "counter"} {
		b.Run(name, func(b *testing.B) {
			run := steadyRun(b, name)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func TestInstancesRunConcurrently(t *testing.T) {
	p := loadTest(t, "counter", LoadOptions{Threads: 4})
	z := readModel(t, "testdata/counter")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				runCalls(t, p, "testdata/counter", z.Rtol, z.Cases[0].Calls)
			}
		})
	}
	wg.Wait()
}

func TestInputErrors(t *testing.T) {
	p := loadTest(t, "add", LoadOptions{})
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	good := firstInputs(t, "add")
	with := func(dtype tensor.ScalarType, sizes ...tensor.Dim) []Value {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: sizes}}
		x.Data = make([]byte, x.Nbytes())
		return []Value{good[0], TensorOf(x)}
	}
	sizes := good[0].Tensor.Sizes
	for want, ins := range map[string][]Value{
		"got 1 inputs, want 2":             good[:1],
		"input 1 is an int, want a tensor": {good[0], IntOf(1)},
		"input 1 has dtype int64, want":    with(tensor.Long, sizes...),
		"input 1 has sizes [7, 7, 7, 7]":   with(tensor.Float, 7, 7, 7, 7),
		"input 1 is a nil tensor":          {good[0], TensorOf(nil)},
		"input 1 has 0 bytes":              {good[0], TensorOf(&tensor.Tensor{Meta: good[0].Tensor.Meta})},
	} {
		_, err := inst.Method("forward").Run(context.Background(), ins)
		if err == nil || !strings.Contains(err.Error(), want) || CodeOf(err) != pte.InvalidArgument {
			t.Errorf("Run = %v, want %q", err, want)
		}
	}
}

func TestBusyAndClosed(t *testing.T) {
	inst, err := loadTest(t, "add", LoadOptions{}).NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	m, ins := inst.Method("forward"), firstInputs(t, "add")
	inst.busy.Store(true)
	if _, err := m.Run(context.Background(), ins); CodeOf(err) != pte.InvalidState {
		t.Errorf("busy: %v", err)
	}
	inst.busy.Store(false)
	inst.Close()
	if _, err := m.Run(context.Background(), ins); CodeOf(err) != pte.InvalidState {
		t.Errorf("closed: %v", err)
	}
}

func TestCancelAndLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	inst, _ := loadTest(t, "counter", LoadOptions{MaxInstructions: 1}).NewInstance()
	m, ins := inst.Method("forward"), firstInputs(t, "counter")
	if _, err := m.Run(ctx, ins); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := m.Run(context.Background(), ins); CodeOf(err) != pte.InvalidProgram {
		t.Errorf("limit: %v", err)
	}
}

// kernelsBut is every kernel but those of one operator, whose Run is replaced if run is not nil.
func kernelsBut(name string, run func(*op.Call, op.State) error) []*op.Kernel {
	var out []*op.Kernel
	for _, k := range op.Kernels {
		if !strings.HasPrefix(k.Def.Schema, name+"(") {
			out = append(out, k)
		} else if run != nil {
			c := *k
			c.Run, c.Prepare = run, nil
			out = append(out, &c)
		}
	}
	return out
}

func TestPanicIsAnError(t *testing.T) {
	for _, where := range []string{"caller", "worker"} {
		bad := func(c *op.Call, _ op.State) error {
			if where == "caller" {
				panic("boom")
			}
			c.Parallel(100, 1, func(lo, _ int) {
				if lo > 50 {
					panic("boom")
				}
			})
			return nil
		}
		inst, err := loadTest(t, "add", LoadOptions{Kernels: kernelsBut("aten::add.out", bad), Threads: 4}).NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		_, err = inst.Method("forward").Run(context.Background(), firstInputs(t, "add"))
		if err == nil || !strings.Contains(err.Error(), "aten::add.out") || !strings.Contains(err.Error(), "boom") {
			t.Errorf("panic on the %s: %v", where, err)
		}
	}
}

func TestMissingKernels(t *testing.T) {
	_, err := LoadFile("testdata/counter/portable.pte", LoadOptions{Kernels: op.Kernels[:0:0]})
	if CodeOf(err) != pte.OperatorMissing || !strings.Contains(err.Error(), "aten::copy_ (float32)") ||
		!strings.Contains(err.Error(), "aten::add.out (float32)") {
		t.Errorf("Load = %v", err)
	}
}

// tensorValue is a value of a plan that Load has to judge.
func tensorValue(sizes ...int32) pte.EValue {
	order := make([]uint8, len(sizes))
	for i := range order {
		order[i] = uint8(i)
	}
	return pte.EValue{Type: pte.TensorValue, Tensor: &pte.Tensor{ScalarType: tensor.Float, Sizes: sizes, DimOrder: order}}
}

func plan(values []pte.EValue, arenas []int64, ins ...pte.Instruction) *pte.Program {
	return &pte.Program{ConstantBuffers: [][]byte{nil}, Plans: []*pte.ExecutionPlan{{Name: "forward", Values: values,
		NonConstBufferSizes: arenas, Chains: []pte.Chain{{Instructions: ins}},
		Delegates: []pte.BackendDelegate{{ID: "NoSuchBackend"}}}}, DelegateData: [][]byte{{1}}}
}

func TestLoadRefuses(t *testing.T) {
	planned := tensorValue(4)
	planned.Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: 8}
	for name, test := range map[string]struct {
		p    *pte.Program
		code pte.Code
	}{
		"huge arena":   {plan([]pte.EValue{tensorValue(1)}, []int64{0, 1 << 40}), pte.MemoryAllocationFailed},
		"huge tensor":  {plan([]pte.EValue{tensorValue(1<<30, 1<<30, 1<<30)}, []int64{0, 16}), pte.InvalidProgram},
		"beyond arena": {plan([]pte.EValue{planned}, []int64{0, 16}), pte.MemoryAllocationFailed},
		"jump":         {plan([]pte.EValue{{Type: pte.Bool}}, []int64{0, 0}, pte.Instruction{Type: pte.JumpFalseCall, B: 9}), pte.InvalidProgram},
		"backend":      {plan([]pte.EValue{tensorValue(1)}, []int64{0, 0}, pte.Instruction{Type: pte.DelegateCall}), pte.NotFound},
	} {
		b, err := pte.Marshal(test.p)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := Load(b, LoadOptions{}); err == nil || CodeOf(err) != test.code {
			t.Errorf("%s: Load = %v, want code %v", name, err, test.code)
		}
	}
}

func TestInfiniteLoopEnds(t *testing.T) {
	b, err := pte.Marshal(plan([]pte.EValue{{Type: pte.Bool}}, []int64{0, 0}, pte.Instruction{Type: pte.JumpFalseCall, B: 0}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(b, LoadOptions{MaxInstructions: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, _ := p.NewInstance()
	if _, err := inst.Method("forward").Run(context.Background(), nil); CodeOf(err) != pte.InvalidProgram {
		t.Errorf("Run = %v", err)
	}
}
