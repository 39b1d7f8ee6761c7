package executor

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of operators of the test's attention.
const (
	bmmName    = "aten::bmm.out"
	scaleName  = "aten::mul.Scalar_out"
	selectName = "aten::select_copy.int_out"
	rangeName  = "aten::arange.start_out"
)

// stepNames are the operators that a method runs.
func stepNames(p *Program) (names []string) {
	for i := range p.methods[0].steps {
		names = append(names, p.methods[0].steps[i].name)
	}
	return names
}

// changedProgram loads a program after a change.
func changedProgram(t *testing.T, name string, change func(plan *pte.ExecutionPlan)) *Program {
	t.Helper()
	file := *loadTest(t, name, LoadOptions{}).File()
	change(file.Plans[0])
	b, err := pte.Marshal(&file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(b, LoadOptions{Kernels: op.Kernels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// instruction is the instruction of the first call of an operator, or of that after some.
func instruction(t *testing.T, plan *pte.ExecutionPlan, name string, after ...int) *pte.Instruction {
	t.Helper()
	skip := 0
	for _, n := range after {
		skip += n
	}
	for i := range plan.Chains[0].Instructions {
		in := &plan.Chains[0].Instructions[i]
		if in.Type == pte.KernelCall && plan.Operators[in.A].FullName() == name {
			if skip--; skip < 0 {
				return in
			}
		}
	}
	t.Fatal("the program has no " + name)
	return nil
}

// roomForKeys lets the keys stay where they are until the second product, as they do in most programs.
func roomForKeys(t *testing.T, plan *pte.ExecutionPlan) {
	keys := plan.Values[instruction(t, plan, bmmName).Args[1]].Tensor
	keys.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
	plan.NonConstBufferSizes[1] += 1 << 12
}

// keysWritten puts the keys where a step writes before the second product.
func keysWritten(t *testing.T) func(*pte.ExecutionPlan) {
	return func(plan *pte.ExecutionPlan) {
		keys, other := instruction(t, plan, selectName, 1).Args[3], instruction(t, plan, rangeName).Args[3]
		plan.Values[other].Tensor.Allocation.Offset = plan.Values[keys].Tensor.Allocation.Offset
	}
}

// TestFuse looks at what becomes of an attention whose parts are also used elsewhere, or are not what they should be.
func TestFuse(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier has no attention")
	}
	for name, c := range map[string]struct {
		change func(plan *pte.ExecutionPlan)
		fused  bool
	}{
		"keys that stay":                 {func(*pte.ExecutionPlan) {}, true},
		"keys whose memory others write": {keysWritten(t), true},
		"keys that others write and that cannot move": {func(plan *pte.ExecutionPlan) {
			plan.NonConstBufferSizes = append(plan.NonConstBufferSizes, 1<<12)
			for _, v := range [2]int32{instruction(t, plan, selectName, 1).Args[3], instruction(t, plan, rangeName).Args[3]} {
				plan.Values[v].Tensor.Allocation = &pte.Allocation{MemoryID: 2}
			}
		}, false},
		"scores are an output": {func(plan *pte.ExecutionPlan) {
			in := instruction(t, plan, scaleName)
			plan.Outputs = append(plan.Outputs, in.Args[2])
			plan.Values[in.Args[2]].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 2
		}, false},
		"a negative scale": {func(plan *pte.ExecutionPlan) {
			plan.Values[instruction(t, plan, scaleName).Args[1]].Double = -1
		}, false},
		"a product without dimensions": {func(plan *pte.ExecutionPlan) {
			product := plan.Values[instruction(t, plan, bmmName).Args[2]].Tensor
			product.Sizes, product.DimOrder = nil, nil
		}, false},
		"softmax along rows": {func(plan *pte.ExecutionPlan) {
			plan.Values[instruction(t, plan, softmaxName).Args[1]].Int = -2
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			names := stepNames(changedProgram(t, "attention", func(plan *pte.ExecutionPlan) {
				roomForKeys(t, plan)
				c.change(plan)
			}))
			if got := slices.Contains(names, op.AttentionName); got != c.fused || got == slices.Contains(names, softmaxName) {
				t.Errorf("the steps are %v, want an attention: %v", names, c.fused)
			}
		})
	}
}

// TestRunFused runs attentions of several lengths; the second time they allocate nothing. The heads of attention_grouped, a
// program of the official exporter, read their keys and values by two.
func TestRunFused(t *testing.T) {
	for _, c := range []struct {
		name, model string
		change      func(plan *pte.ExecutionPlan)
	}{
		{"as they lie", "attention", func(plan *pte.ExecutionPlan) { roomForKeys(t, plan) }},
		{"moved", "attention", keysWritten(t)},
		{"grouped", "attention_grouped", func(*pte.ExecutionPlan) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := changedProgram(t, c.model, c.change)
			if names := stepNames(p); kernel.Best() != kernel.Scalar && (!slices.Contains(names, op.AttentionName) || slices.Contains(names, "aten::expand_copy.out")) {
				t.Errorf("the steps are %v, want an attention and no copies for groups", names)
			}
			dir := "testdata/" + c.model
			z := readModel(t, dir)
			for i := range z.Cases {
				runCalls(t, p, dir, z.Rtol, z.Cases[i].Calls)
			}
			inst := instanceOf(t, p)
			ins := firstInputs(t, c.model)
			run := func() {
				if _, err := inst.Method("forward").Run(context.Background(), ins); err != nil {
					t.Fatal(err)
				}
			}
			run()
			if n := testing.AllocsPerRun(50, run); n != 0 {
				t.Errorf("%v allocations per Run, want 0", n)
			}
		})
	}
}

// TestFuseKeepsInstructions holds the instruction that an attention stands for against the program's.
func TestFuseKeepsInstructions(t *testing.T) {
	p := changedProgram(t, "attention", func(plan *pte.ExecutionPlan) { roomForKeys(t, plan) })
	inst := instanceOf(t, p)
	m := inst.Method("forward")
	for i := range p.methods[0].steps {
		s := &p.methods[0].steps[i]
		m.pc = i
		if want := "instruction " + strconv.Itoa(s.index) + " ("; !strings.HasPrefix(m.where(), want) {
			t.Errorf("step %d is called %q, want %q", i, m.where(), want)
		}
		in := &p.File().Plans[0].Chains[s.chain].Instructions[s.index]
		if len(s.outs) > 0 && !slices.Contains(in.Args, s.outs[0]) {
			t.Errorf("step %d (%s) does not write what its instruction %d does", i, s.name, s.index)
		}
	}
}

// TestIsolate gives all tensors of a group, and views of them, a memory of their own, and nobody else.
func TestIsolate(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	var made [5]int32
	for i := range made {
		made[i] = g.float("aten::neg.out", false, g.input())
		g.output(made[i])
	}
	seen := g.tensor(tensor.Float, 6)
	g.call(etViewName, []int32{seen}, made[0], g.ints(6))
	g.output(seen)
	m := loadOf(t, g.finish(1), LoadOptions{Kernels: op.Kernels}).methods[0]
	f := &fuser{method: m, views: m.findViews(), steps: m.steps, spans: m.findSpans()}
	f.findAreas()
	f.spans.part()
	f.spans.join(made[0], made[1])
	f.spans.join(made[3], made[4])
	check := func(apart ...int32) {
		t.Helper()
		for v, a := range f.areas {
			if m.place[v] != planned {
				continue
			}
			if moved := a.memory != fusedArena; moved != slices.Contains(apart, int32(v)) {
				t.Errorf("value %d has memory %d", v, a.memory)
			}
		}
	}
	f.isolate(f.spans.root(made[1]))
	check(made[0], made[1], seen)
	f.isolate(f.spans.root(made[3]))
	check(made[0], made[1], seen, made[3], made[4])
	if a, b, c := f.areas[made[0]].memory, f.areas[seen].memory, f.areas[made[4]].memory; a != b || a == c {
		t.Errorf("memories %d of a group, %d of its view, and %d of another group", a, b, c)
	}
}
