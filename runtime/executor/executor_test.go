package executor

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/parallel"
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
	inst := instanceOf(t, p)
	m, ins := inst.Method(p.Methods()[0]), firstInputs(t, name)
	return func() {
		if _, err := m.Run(context.Background(), ins); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	for _, name := range []string{"add", "counter", "cond", "two_methods", "unbounded", "attention", "images", "recurrent", "quantized", "quantized_rows", "quantized_tokens", "quantized_bytes", "kv_cache", "cache_put", "sdpa_cache", "sdpa_bytes", "hadamard", "gated_delta"} {
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
	inst := instanceOf(t, p)
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
		if _, err := inst.Method("forward").Run(context.Background(), good); err != nil { // what the next inputs are compared with
			t.Fatal(err)
		}
		_, err := inst.Method("forward").Run(context.Background(), ins)
		if err == nil || !strings.Contains(err.Error(), want) || CodeOf(err) != pte.InvalidArgument {
			t.Errorf("Run = %v, want %q", err, want)
		}
	}
}

// TestInputAfterResize gives sizes that are refused once more, after a method gave an input that it writes just those.
func TestInputAfterResize(t *testing.T) {
	from, to := tensorValue(2, 8), tensorValue(4, 4)
	from.Tensor.Allocation, to.Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: 64}, &pte.Allocation{MemoryID: 1}
	from.Tensor.Dynamism, to.Tensor.Dynamism = pte.DynamicBound, pte.DynamicBound
	p := plan([]pte.EValue{from, to, {Type: pte.IntList, Items: []int64{3, 4}}, {Type: pte.Int, Int: 1}, {Type: pte.Int}}, []int64{0, 128},
		pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 2, 1, 1}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::permute_copy", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0, 1}, []int32{1}
	m := methodOf(t, p, op.Kernels)
	for _, c := range []struct {
		sizes []tensor.Dim
		want  string
	}{
		{[]tensor.Dim{8, 2}, "input 1 has sizes [8, 2], want at most [4, 4]"},
		{[]tensor.Dim{4, 4}, "the method changes them to [8, 2]"},
		{[]tensor.Dim{8, 2}, "input 1 has sizes [8, 2], want at most [4, 4]"},
	} {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 8}}, Data: make([]byte, 64)}
		y := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: c.sizes}, Data: make([]byte, 64)}
		if _, err := m.Run(context.Background(), Values(x, y)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.sizes, err, c.want)
		}
	}
}

// TestInputWithoutRoom runs with an input for which there is no room; then with one that fits, and with the first again.
func TestInputWithoutRoom(t *testing.T) {
	x, out := tensorValue(1), tensorValue(1)
	x.Tensor.Dynamism, out.Tensor.Dynamism = pte.DynamicUnbound, pte.DynamicUnbound
	m := sumOf(t, x, out)
	m.inst.prog.opts.MaxMemory = 1 << 10
	misaligned := func(n int) []Value {
		return []Value{TensorOf(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{int64(n)}}, Data: make([]byte, 4*n+4)[1 : 4*n+1]})}
	}
	for _, n := range []int{8, 250, 250, 8, 250} {
		outs, err := m.Run(context.Background(), misaligned(n))
		switch {
		case n == 8 && (err != nil || outs[0].Tensor.Sizes[0] != 8 || len(outs[0].Tensor.Data) != 32):
			t.Fatalf("Run = %v, %v", outs, err)
		case n == 250 && (CodeOf(err) != pte.MemoryAllocationFailed || strings.Contains(err.Error(), "instruction")):
			t.Errorf("Run with %d numbers = %v", n, err)
		}
	}
}

func TestBusyAndClosed(t *testing.T) {
	inst, err := loadTest(t, "add", LoadOptions{}).NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	m, ins := inst.Method("forward"), firstInputs(t, "add")
	inst.busy.Lock()
	if _, err := m.Run(context.Background(), ins); CodeOf(err) != pte.InvalidState {
		t.Errorf("busy: %v", err)
	}
	inst.busy.Unlock()
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

// TestEachMissingKernel loads programs without one of their kernels each: whatever Load makes of the others, it names that one.
func TestEachMissingKernel(t *testing.T) {
	files, err := filepath.Glob("testdata/*/portable.pte")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		missing := 0
		seen := map[*op.Def]bool{}
		for _, k := range op.Kernels {
			name, _, _ := strings.Cut(k.Def.Schema, "(")
			base, _, _ := strings.Cut(name, ".")
			if seen[k.Def] || !bytes.Contains(src, []byte(base+"\x00")) {
				continue
			}
			seen[k.Def] = true
			switch _, err := Load(src, LoadOptions{Kernels: kernelsBut(name, nil)}); {
			case err == nil: // another overload is called
			case CodeOf(err) != pte.OperatorMissing || !strings.Contains(err.Error(), name+" "):
				t.Errorf("%s without %s: %v", file, name, err)
			default:
				missing++
			}
		}
		if missing == 0 {
			t.Errorf("%s: no kernel is missed", file)
		}
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

// TestTierByName loads for a tier of any machine, and not for what is none.
func TestTierByName(t *testing.T) {
	for name, want := range map[string]string{"": "", "scalar": "", "neondot": "", "wasm": "",
		"avx3": `PTE_ISA is "avx3", want one of scalar, avx2, avx512, avx512vnni, neon, neondot, wasm: InvalidArgument (0x12)`} {
		t.Setenv(kernel.TierVar, name)
		p, err := LoadFile("testdata/add/portable.pte", LoadOptions{Kernels: op.Kernels})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			p.Close()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
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

// TestConstantsAreNotWritten has programs that would write into the file: nothing but Load may find out.
func TestConstantsAreNotWritten(t *testing.T) {
	values := func() []pte.EValue {
		constant := tensorValue(2)
		constant.Tensor.DataBufferIdx = 1
		return []pte.EValue{constant, tensorValue(2), {Type: pte.Int, Int: 1}, {Type: pte.IntList, Items: []int64{3}}, {Type: pte.Int, Int: 2}}
	}
	add := pte.Instruction{Type: pte.KernelCall, A: 0, Args: []int32{1, 1, 2, 1, 1}}
	view := pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{0, 3, 1}}
	for name, test := range map[string]struct {
		inputs []int32
		ins    []pte.Instruction
		want   string
	}{
		"input": {[]int32{0}, nil, "input is value 0, a constant"},
		"out":   {nil, []pte.Instruction{{Type: pte.KernelCall, A: 0, Args: []int32{1, 1, 2, 0, 0}}}, "writes value 0"},
		"move":  {nil, []pte.Instruction{{Type: pte.MoveCall, A: 0, B: 1}, add}, "aten::add.out writes value 1"},
		"view":  {nil, []pte.Instruction{view, add}, "aten::add.out writes value 1"},
		"moved and viewed": {nil, []pte.Instruction{{Type: pte.MoveCall, A: 0, B: 1}, view},
			"value 1 is a constant and the result of a view"},
	} {
		p := plan(values(), []int64{0, 0}, test.ins...)
		p.ConstantBuffers = append(p.ConstantBuffers, make([]byte, 8))
		p.Plans[0].Inputs, p.Plans[0].Delegates = test.inputs, nil
		p.Plans[0].Values[3].Items = []int64{4}
		p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}, {Name: "executorch_prim::et_view", Overload: "default"}}
		b, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = Load(b, LoadOptions{Kernels: op.Kernels})
		if err == nil || !strings.Contains(err.Error(), test.want) || CodeOf(err) != pte.InvalidProgram {
			t.Errorf("%s: Load = %v, want %q", name, err, test.want)
		}
	}
}

// TestDimOrderOfInputs has inputs whose dim orders are no permutations.
func TestDimOrderOfInputs(t *testing.T) {
	inst, err := loadTest(t, "add", LoadOptions{}).NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]uint8{{9}, {0, 0}, {0, 1, 2}} {
		ins := firstInputs(t, "add")
		x := *ins[0].Tensor
		x.DimOrder = order
		_, err := inst.Method("forward").Run(context.Background(), []Value{TensorOf(&x), ins[1]})
		if CodeOf(err) != pte.InvalidArgument || !strings.Contains(err.Error(), "not a permutation") {
			t.Errorf("order %v: %v", order, err)
		}
	}
}

// TestCloseWaits closes a program and its instance while the instance runs.
func TestCloseWaits(t *testing.T) {
	running, finish := make(chan bool), make(chan bool)
	slow := func(*op.Call, op.State) error {
		running <- true
		<-finish
		return nil
	}
	p := loadTest(t, "add", LoadOptions{Kernels: kernelsBut("aten::add.out", slow)})
	inst := instanceOf(t, p)
	ins := firstInputs(t, "add")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := inst.Method("forward").Run(context.Background(), ins); err != nil {
			t.Error(err)
		}
	})
	<-running
	if _, err := inst.Method("forward").Run(context.Background(), ins); CodeOf(err) != pte.InvalidState {
		t.Errorf("second Run: %v", err)
	}
	p.Close()
	wg.Go(inst.Close)
	if p.mapped.data == nil {
		t.Error("the file is unmapped while an instance runs")
	}
	close(finish)
	wg.Wait()
	if p.mapped.data != nil {
		t.Error("the file is still mapped")
	}
	if _, err := p.NewInstance(); CodeOf(err) != pte.InvalidState {
		t.Errorf("NewInstance after Close: %v", err)
	}
}

// TestKernelErrors compares the text and the code of what a kernel says.
func TestKernelErrors(t *testing.T) {
	boom := errors.New("divide: by zero")
	for _, c := range []struct {
		err  error
		want string
		code pte.Code
	}{
		{boom, "divide: by zero", pte.InvalidArgument},
		{op.ErrTemp, "temporary memory exceeds the limit", pte.MemoryAllocationFailed},
	} {
		kernels := kernelsBut("aten::add.out", func(*op.Call, op.State) error { return c.err })
		inst, err := loadTest(t, "add", LoadOptions{Kernels: kernels}).NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		_, err = inst.Method("forward").Run(context.Background(), firstInputs(t, "add"))
		if CodeOf(err) != c.code || !errors.Is(err, c.err) || !strings.Contains(err.Error(), "instruction 0 (aten::add.out(float32[") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Run = %v", err)
		}
	}
}

// BenchmarkEmptyKernel is what the executor takes for an instruction: a thousand calls of a kernel that does nothing.
func BenchmarkEmptyKernel(b *testing.B) {
	const calls = 1000
	kernels := kernelsBut("aten::add.out", func(*op.Call, op.State) error { return nil })
	for name, dynamism := range map[string]pte.Dynamism{"static": pte.Static, "dynamic": pte.DynamicBound} {
		b.Run(name, func(b *testing.B) {
			var ins []pte.Instruction
			for range calls {
				ins = append(ins, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 0, 1, 2, 2}})
			}
			p := plan([]pte.EValue{tensorValue(2, 3), {Type: pte.Int, Int: 1}, tensorValue(2, 3)}, []int64{0, 0}, ins...)
			p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}}
			for _, v := range []int{0, 2} {
				p.Plans[0].Values[v].Tensor.Dynamism = dynamism
			}
			m := methodOf(b, p, kernels)
			for b.Loop() {
				if _, err := m.Run(context.Background(), nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/instruction")
		})
	}
}

// TestLoadAllocates bounds how many pieces of memory an instruction takes while a program is loaded and an instance is made.
func TestLoadAllocates(t *testing.T) {
	const calls, most = 1000, 16
	values := []pte.EValue{tensorValue(2, 3), {Type: pte.Int, Int: 1}}
	var ins []pte.Instruction
	for range calls {
		out := int32(len(values))
		values = append(values, tensorValue(2, 3))
		ins = append(ins, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, out, 1, out, out}})
	}
	p := plan(values, []int64{0, 0}, ins...)
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}}
	file, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	took := testing.AllocsPerRun(3, func() {
		prog, err := Load(file, LoadOptions{Kernels: op.Kernels, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer prog.Close()
		inst := instanceOf(t, prog)
		inst.Close()
	})
	if took > most*calls {
		t.Errorf("%.2f allocations an instruction, want at most %d", took/calls, most)
	}
}

// TestSizesThatFollowFromValues runs a repeat whose counts, and so its result's size, change from call to call.
func TestSizesThatFollowFromValues(t *testing.T) {
	counts, none, out := tensorValue(2), pte.EValue{Type: pte.Null}, tensorValue(9)
	counts.Tensor.ScalarType, out.Tensor.ScalarType = tensor.Long, tensor.Long
	out.Tensor.Dynamism = pte.DynamicBound
	p := plan([]pte.EValue{counts, none, out}, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 2}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::repeat_interleave", Overload: "Tensor_out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{2}
	m := methodOf(t, p, op.Kernels)
	for _, n := range []byte{1, 4, 2} {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Long, Sizes: []tensor.Dim{2}}, Data: make([]byte, 16)}
		x.Data[0], x.Data[8] = n, n
		outs, err := m.Run(context.Background(), []Value{TensorOf(x)})
		if err != nil {
			t.Fatal(err)
		}
		if got := outs[0].Tensor.Sizes[0]; got != 2*int64(n) {
			t.Errorf("counts %d: %d elements, want %d", n, got, 2*n)
		}
	}
}

// TestSizesThatAKernelFinds runs a nonzero, whose kernel gives its result the size, and a sum of that.
func TestSizesThatAKernelFinds(t *testing.T) {
	x, found, one, sum := tensorValue(4), tensorValue(4, 1), pte.EValue{Type: pte.Int, Int: 1}, tensorValue(4, 1)
	found.Tensor.ScalarType, sum.Tensor.ScalarType = tensor.Long, tensor.Long
	found.Tensor.Dynamism, sum.Tensor.Dynamism = pte.DynamicBound, pte.DynamicBound
	p := plan([]pte.EValue{x, found, one, sum}, []int64{0, 0},
		pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 1}},
		pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{1, 1, 2, 3, 3}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::nonzero", Overload: "out"}, {Name: "aten::add", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{1, 3}
	m := methodOf(t, p, op.Kernels)
	for _, n := range []int{2, 4, 1, 1, 4, 3} { // 4 is what is inferred
		in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{4}}, Data: make([]byte, 16)}
		for i := range n {
			in.Data[4*i+3] = 1
		}
		outs, err := m.Run(context.Background(), []Value{TensorOf(in)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range outs {
			if got := outs[i].Tensor.Sizes[0]; got != int64(n) {
				t.Errorf("output %d has %d elements, want %d", i, got, n)
			}
		}
		if last := outs[1].Tensor.Data[8*(n-1)]; int(last) != 2*(n-1) {
			t.Errorf("the last of %d sums is %d, want %d", n, last, 2*(n-1))
		}
	}
}

// loadOf loads p.
func loadOf(t testing.TB, p *pte.Program, opts LoadOptions) *Program {
	t.Helper()
	file, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := Load(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(prog.Close)
	return prog
}

// instanceOf is an instance of p.
func instanceOf(t testing.TB, p *Program) *Instance {
	t.Helper()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

// methodOf is method forward of an instance of p.
func methodOf(t testing.TB, p *pte.Program, kernels []*op.Kernel) *Method {
	t.Helper()
	inst := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: kernels, Threads: 1}))
	t.Cleanup(inst.Close)
	return inst.Method("forward")
}

// sumOf is a method that gives out, its input x added to itself.
func sumOf(t testing.TB, x, out pte.EValue) *Method {
	t.Helper()
	p := plan([]pte.EValue{x, {Type: pte.Int, Int: 1}, out}, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 0, 1, 2, 2}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{2}
	return methodOf(t, p, op.Kernels)
}

// TestStaticSizesStay runs an addition whose result would not have the sizes that the file gives it.
func TestStaticSizesStay(t *testing.T) {
	x, out := tensorValue(4), tensorValue(4)
	x.Tensor.Dynamism = pte.DynamicBound
	m := sumOf(t, x, out)
	for n, want := range map[tensor.Dim]bool{4: true, 3: false} {
		in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{n}}, Data: make([]byte, 16)}
		_, err := m.Run(context.Background(), []Value{TensorOf(in)})
		if want != (err == nil) || err != nil && !strings.Contains(err.Error(), "output has the static sizes [4], want [3]") {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

// TestDynamicSizes gives one instance inputs of sizes that go up and down.
func TestDynamicSizes(t *testing.T) {
	x, out := tensorValue(4), tensorValue(4)
	x.Tensor.Dynamism, out.Tensor.Dynamism = pte.DynamicBound, pte.DynamicBound
	m := sumOf(t, x, out)
	for _, n := range []tensor.Dim{4, 4, 2, 2, 0, 3, 4} {
		in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{n}}, Data: make([]byte, 4*n)}
		outs, err := m.Run(context.Background(), []Value{TensorOf(in)})
		if err != nil {
			t.Fatal(err)
		}
		if got := outs[0].Tensor; got.Sizes[0] != n || len(got.Data) != int(4*n) {
			t.Errorf("%d elements: sizes %v, %d bytes", n, got.Sizes, len(got.Data))
		}
	}
}

// TestPackShapes packs bytes that several constants have for each of them, and for one constant once.
func TestPackShapes(t *testing.T) {
	data := make([]byte, 24)
	p := &Program{packs: map[packKey][]byte{}}
	p.opts.MaxMemory = 1 << 20
	made := 0
	for range 2 {
		for _, m := range []tensor.Meta{
			{DType: tensor.Float, Sizes: []tensor.Dim{2, 3}}, {DType: tensor.Float, Sizes: []tensor.Dim{3, 2}},
			{DType: tensor.Float, Sizes: []tensor.Dim{2, 3}, DimOrder: []uint8{1, 0}}, {DType: tensor.Double, Sizes: []tensor.Dim{3}},
		} {
			p.packOf(&tensor.Tensor{Meta: m, Data: data}, op.Packing{Layout: "panels", Bytes: 24, Fill: func([]byte) { made++ }})
		}
	}
	p.pool = parallel.New(1)
	defer p.pool.Close()
	if err := p.fill(); err != nil || made != 4 {
		t.Errorf("packed %d times, want once for each of 4 constants; %v", made, err)
	}
}

// TestRelease gives back the bytes of constants that were packed, and only what lies in the mapped file.
func TestRelease(t *testing.T) {
	file := make([]byte, 100)
	var got []int
	p := &Program{mapped: mapping{data: file[10:90:90], release: func(b []byte) { got = append(got, len(b)) }}, packs: map[packKey][]byte{}}
	p.opts.MaxMemory = 1 << 20
	for _, b := range [][]byte{file[10:90], file[12:20], file[:20], file[80:], file[10:10], make([]byte, 8)} {
		p.release(b)
	}
	if want := []int{80, 8}; !slices.Equal(got, want) {
		t.Errorf("released %v bytes, want %v", got, want)
	}
	weights := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{7}}, Data: file[20:27]}
	for range 2 {
		p.packOf(weights, op.Packing{Layout: "rows", Now: true, Fill: func([]byte) {}})
	}
	if want := []int{80, 8, 7}; !slices.Equal(got, want) {
		t.Errorf("released %v bytes, want %v", got, want)
	}
	(&Program{}).release(file)

	got = nil
	src, err := pte.Marshal(productProgram())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(src, mapping{data: src, release: func(b []byte) { got = append(got, len(b)) }}, LoadOptions{Kernels: op.Kernels}); err != nil {
		t.Fatal(err)
	}
	if want := []int{24}; !slices.Equal(got, want) {
		t.Errorf("a product released %v bytes of weights, want %v", got, want)
	}
}

// TestReleaseParts gives back the panels of a large convolution's weights one after another, while the others are packed, and then the whole.
func TestReleaseParts(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier does not pack by Winograd's algorithm")
	}
	image := func(channels, size int32) pte.EValue {
		v := tensorValue(1, channels, 1, size)
		v.Tensor.DimOrder = []uint8{0, 2, 3, 1}
		return v
	}
	weights := tensorValue(192, 64, 1, 32)
	weights.Tensor.DataBufferIdx, weights.Tensor.Allocation = 1, nil
	values := []pte.EValue{image(64, 200), weights, {Type: pte.Null}, {Type: pte.IntList, Items: []int64{4, 4}}, {Type: pte.Int, Int: 1},
		{Type: pte.IntList, Items: []int64{6, 6}}, {Type: pte.Int}, {Type: pte.Bool}, image(192, 169)}
	p := plan(values, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 3, 5, 3, 7, 5, 4, 8, 8}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::convolution", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{8}
	whole := make([]byte, 192*64*32*4)
	p.ConstantBuffers = [][]byte{nil, whole}
	src, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	if _, err := load(src, mapping{data: src, release: func(b []byte) { got = append(got, len(b)) }}, LoadOptions{Kernels: op.Kernels, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	parts, sum := got, 0
	if n := len(got); n > 0 {
		parts = got[:n-1]
	}
	for _, n := range parts {
		sum += n
	}
	if len(parts) < 2 || sum != len(whole) || got[len(parts)] != len(whole) {
		t.Errorf("released %v bytes, want parts of %d and then those", got, len(whole))
	}
}

// TestMapFile wants the pages of a large file to be given back, and not those of a small one.
func TestMapFile(t *testing.T) {
	for _, n := range []int{0, 1, 256<<10 - 1, 256 << 10} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := mapFile(path)
		if err != nil || len(m.data) != n {
			t.Fatalf("%d bytes: %d, %v", n, len(m.data), err)
		}
		if large := n == 256<<10; runtime.GOOS == "linux" && (m.release != nil) != large {
			t.Errorf("%d bytes: gives pages back: %v", n, !large)
		}
		if m.unmap != nil {
			m.unmap()
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := mapFile(missing); !errors.Is(err, fs.ErrNotExist) || runtime.GOOS == "linux" && err.Error() != "open "+missing+": no such file or directory" {
		t.Errorf("a missing file: %v", err)
	}
}

// productProgram multiplies a 4 × 3 input by a constant 3 × 2 matrix.
func productProgram() *pte.Program {
	weights := tensorValue(3, 2)
	weights.Tensor.DataBufferIdx, weights.Tensor.Allocation = 1, nil
	p := plan([]pte.EValue{tensorValue(4, 3), weights, tensorValue(4, 2)}, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 2}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::mm", Overload: "out"}}
	p.ConstantBuffers = [][]byte{nil, make([]byte, 24)}
	return p
}
