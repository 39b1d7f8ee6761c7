package executor

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// copiesOf is how many copies to buffers a method runs.
func copiesOf(m *Method) (n int) {
	for i := range m.m.steps {
		if m.m.steps[i].name == copyName {
			n++
		}
	}
	return n
}

// cacheRuns are the outputs of three Runs of cache_put.
func cacheRuns(t *testing.T, m *Method) (all [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, at := range []int64{0, 2, 7} {
		ins := Values(randomOf(r, tensor.Float, 1, 4, 2, 8), randomOf(r, tensor.Float, 1, 2, 2, 8), randomOf(r, tensor.Float, 1, 2, 2, 8), tensor.Of([]int64{at, at + 1}, 2))
		for len(ins) < len(m.Info().Inputs) {
			ins = append(ins, TensorOf(randomOf(r, tensor.Float, 1, 2, 16, 8)))
		}
		outs, err := m.Run(context.Background(), ins)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, floatsOf(outs)...)
	}
	return all
}

// TestUpdateBuffers has two caches written in place, or one of them not, where somebody could see the difference. Results are those of the
// instructions one by one.
func TestUpdateBuffers(t *testing.T) {
	const put, unsqueeze = "aten::index_put.out", "aten::unsqueeze_copy.out"
	move := func(plan *pte.ExecutionPlan, from, to int) {
		calls := plan.Chains[0].Instructions
		in := calls[from]
		plan.Chains[0].Instructions = slices.Insert(slices.Delete(calls, from, from+1), to, in)
	}
	for name, c := range map[string]struct {
		change func(plan *pte.ExecutionPlan)
		copies int
	}{
		"as they are":    {func(*pte.ExecutionPlan) {}, 0},
		"copied at once": {func(plan *pte.ExecutionPlan) { move(plan, 16, 1) }, 0},
		"the cache read before": {func(plan *pte.ExecutionPlan) {
			plan.Operators = append(plan.Operators, pte.Operator{Name: "aten::neg", Overload: "out"})
			o := tensorValue(1, 2, 16, 8)
			o.Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(plan.NonConstBufferSizes[1])}
			plan.NonConstBufferSizes[1] += 1 << 10
			v := int32(len(plan.Values))
			plan.Values, plan.Outputs = append(plan.Values, o), append(plan.Outputs, v)
			call := pte.Instruction{Type: pte.KernelCall, A: int32(len(plan.Operators) - 1), Args: []int32{instruction(t, plan, put).Args[0], v, v}}
			plan.Chains[0].Instructions = slices.Insert(plan.Chains[0].Instructions, 0, call)
		}, 0},
		"the cache read behind the copy": {func(plan *pte.ExecutionPlan) {
			move(plan, 16, 1)
			instruction(t, plan, unsqueeze, 1).Args[0] = instruction(t, plan, put).Args[0]
		}, 0},
		"the cache read meanwhile": {func(plan *pte.ExecutionPlan) {
			instruction(t, plan, unsqueeze, 1).Args[0] = instruction(t, plan, put).Args[0]
		}, 1},
		"read before it is there": {func(plan *pte.ExecutionPlan) { move(plan, 4, 0) }, 1},
		"written twice": {func(plan *pte.ExecutionPlan) {
			in := &plan.Chains[0].Instructions[17]
			in.Args[0], in.Args[3] = plan.Chains[0].Instructions[16].Args[0], plan.Chains[0].Instructions[16].Args[0]
		}, 2},
		"the result is an output": {func(plan *pte.ExecutionPlan) {
			in := instruction(t, plan, put)
			plan.Outputs = append(plan.Outputs, in.Args[4])
			plan.Values[in.Args[4]].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 2
		}, 1},
		"the cache is an output": {func(plan *pte.ExecutionPlan) { plan.Outputs = append(plan.Outputs, instruction(t, plan, put).Args[0]) }, 1},
		"the cache is an input":  {func(plan *pte.ExecutionPlan) { plan.Inputs = append(plan.Inputs, instruction(t, plan, put).Args[0]) }, 1},
		"added up": {func(plan *pte.ExecutionPlan) {
			plan.Values = append(plan.Values, pte.EValue{Type: pte.Bool, Int: 1})
			instruction(t, plan, put).Args[3] = int32(len(plan.Values) - 1)
		}, 1},
		"in one place": {func(plan *pte.ExecutionPlan) {
			in := instruction(t, plan, put)
			*plan.Values[in.Args[4]].Tensor.Allocation = *plan.Values[in.Args[0]].Tensor.Allocation
		}, 1},
		"another cache's elements": {func(plan *pte.ExecutionPlan) {
			instruction(t, plan, put).Args[0] = instruction(t, plan, put, 1).Args[0]
		}, 0},
		"no operator that replaces elements": {func(plan *pte.ExecutionPlan) {
			plan.Operators = append(plan.Operators, pte.Operator{Name: "aten::neg", Overload: "out"})
			in := instruction(t, plan, put)
			in.A, in.Args = int32(len(plan.Operators)-1), []int32{in.Args[0], in.Args[4], in.Args[4]}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := instanceOf(t, changedProgram(t, "cache_put", c.change)).Method("forward")
			if n := copiesOf(m); n != c.copies {
				t.Errorf("%d copies to caches, want %d", n, c.copies)
			}
			file := *loadTest(t, "cache_put", LoadOptions{}).File()
			c.change(file.Plans[0])
			traced := instanceOf(t, loadOf(t, &file, LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}})).Method("forward")
			if copiesOf(traced) != 2 {
				t.Errorf("with a tracer, %d copies to caches, want 2", copiesOf(traced))
			}
			checkNear(t, name, cacheRuns(t, m), cacheRuns(t, traced), 1e-5)
		})
	}
}

// TestSharedBuffers has a method copy to a buffer what it has no other use for, which another method reads.
func TestSharedBuffers(t *testing.T) {
	neg, cp := pte.Operator{Name: "aten::neg", Overload: "out"}, pte.Operator{Name: "aten::copy_"}
	call := func(op int32, args ...int32) pte.Instruction {
		return pte.Instruction{Type: pte.KernelCall, A: op, Args: args}
	}
	// x, -x, the buffer, -(-x) or -buffer, False
	values := func() []pte.EValue {
		list := []pte.EValue{tensorValue(4), tensorValue(4), tensorValue(4), tensorValue(4), {Type: pte.Bool}}
		for i, at := range []pte.Allocation{{MemoryID: 1}, {MemoryID: 1, Offset: 16}, {MemoryID: 2}, {MemoryID: 1, Offset: 32}} {
			list[i].Tensor.Allocation = &at
		}
		return list
	}
	p := plan(values(), []int64{0, 48, 16}, call(0, 0, 1, 1), call(0, 1, 3, 3), call(1, 2, 1, 4, 2))
	other := plan(values(), []int64{0, 48, 16}, call(0, 2, 3, 3))
	p.Plans = append(p.Plans, other.Plans[0])
	for i, name := range []string{"write", "read"} {
		p.Plans[i].Name, p.Plans[i].Operators, p.Plans[i].Inputs, p.Plans[i].Outputs = name, []pte.Operator{neg, cp}, []int32{0}, []int32{3}
	}
	in := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels}))
	x := Values(tensor.Of([]float32{1, 2, 3, 4}, 4))
	for _, name := range []string{"write", "read"} {
		outs, err := in.Method(name).Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if got := floatsOf(outs)[0]; !slices.Equal(got, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
