package executor

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
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
		if in.Type == pte.KernelCall && operatorName(plan.Operators[in.A]) == name {
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

// TestFuse looks at what becomes of an attention whose parts are also used elsewhere, or are not what they should be.
func TestFuse(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier has no attention")
	}
	for name, c := range map[string]struct {
		change func(plan *pte.ExecutionPlan)
		fused  bool
	}{
		"keys that stay": {func(*pte.ExecutionPlan) {}, true},
		"keys whose memory others write": {func(plan *pte.ExecutionPlan) {
			plan.Values[instruction(t, plan, bmmName).Args[1]].Tensor.Allocation.Offset = 0
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

// TestRunFused runs an attention of several lengths; the second time it allocates nothing.
func TestRunFused(t *testing.T) {
	p := changedProgram(t, "attention", func(plan *pte.ExecutionPlan) { roomForKeys(t, plan) })
	z := readModel(t, "testdata/attention")
	for i := range z.Cases {
		runCalls(t, p, "testdata/attention", z.Rtol, z.Cases[i].Calls)
	}
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	ins := firstInputs(t, "attention")
	run := func() {
		if _, err := inst.Method("forward").Run(context.Background(), ins); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("%v allocations per Run, want 0", n)
	}
}

// TestFuseKeepsInstructions holds the instruction that an attention stands for against the program's.
func TestFuseKeepsInstructions(t *testing.T) {
	p := changedProgram(t, "attention", func(plan *pte.ExecutionPlan) { roomForKeys(t, plan) })
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
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
