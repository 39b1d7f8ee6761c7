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

// countOf is how many calls of an operator a method runs.
func countOf(m *Method, name string) (n int) {
	for i := range m.m.steps {
		if m.m.steps[i].name == name {
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
			if n := countOf(m, copyName); n != c.copies {
				t.Errorf("%d copies to caches, want %d", n, c.copies)
			}
			file := *loadTest(t, "cache_put", LoadOptions{}).File()
			c.change(file.Plans[0])
			traced := instanceOf(t, loadOf(t, &file, LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}})).Method("forward")
			if countOf(traced, copyName) != 2 {
				t.Errorf("with a tracer, %d copies to caches, want 2", countOf(traced, copyName))
			}
			checkNear(t, name, cacheRuns(t, m), cacheRuns(t, traced), 1e-5)
		})
	}
}

// lines is a program on tensors of four elements that lie at these places; the value behind them is False. Calls name their operator by its place in
// lineOperators.
func lines(places []pte.Allocation, ins, outs []int32, more []pte.EValue, calls ...[]int32) *pte.Program {
	var values []pte.EValue
	sizes := []int64{0, 0, 0}
	for _, at := range places {
		v := tensorValue(4)
		v.Tensor.Allocation = &at
		values, sizes[at.MemoryID] = append(values, v), max(sizes[at.MemoryID], int64(at.Offset)+16)
	}
	if sizes[2] == 0 {
		sizes = sizes[:2]
	}
	var list []pte.Instruction
	for _, c := range calls {
		list = append(list, pte.Instruction{Type: pte.KernelCall, A: c[0], Args: c[1:]})
	}
	p := plan(append(append(values, pte.EValue{Type: pte.Bool}), more...), sizes, list...)
	p.Plans[0].Operators, p.Plans[0].Inputs, p.Plans[0].Outputs = lineOperators, ins, outs
	return p
}

var lineOperators = []pte.Operator{
	{Name: "aten::neg", Overload: "out"}, {Name: "aten::copy_"}, {Name: "aten::split_with_sizes_copy", Overload: "out"}, {Name: "aten::scatter", Overload: "src_out"},
}

// at are places of an arena, at these multiples of a tensor's size.
func at(offsets ...uint64) (list []pte.Allocation) {
	for _, o := range offsets {
		list = append(list, pte.Allocation{MemoryID: 1, Offset: 16 * o})
	}
	return list
}

// lineRuns are what three Runs of each method give, and what they leave in their inputs.
func lineRuns(t *testing.T, p *pte.Program, o LoadOptions, names ...string) (all [][]float32) {
	t.Helper()
	o.Kernels = op.Kernels
	in := instanceOf(t, loadOf(t, p, o))
	for round := range 3 {
		for _, name := range names {
			m := in.Method(name)
			var ins []Value
			for k, info := range m.Info().Inputs {
				x := float32(round + 10*k + 1)
				ins = append(ins, TensorOf(tensor.Of([]float32{x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7}[:info.Meta.Numel()], info.Meta.Sizes...)))
			}
			outs, err := m.Run(context.Background(), ins)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range append(outs, ins...) {
				for _, x := range append(v.Tensors, v.Tensor) {
					if x != nil {
						all = append(all, slices.Clone(tensor.Elements[float32](x)))
					}
				}
			}
		}
	}
	return all
}

// TestKeptTensors copies to a buffer what somebody else sees in other ways than by its name, so that it has to be there. The results are those of
// the instructions one by one.
func TestKeptTensors(t *testing.T) {
	const neg, cp = 0, 1
	two := func(a, b *pte.Program) *pte.Program {
		a.Plans[0].Name, b.Plans[0].Name = "forward", "read"
		a.Plans = append(a.Plans, b.Plans[0])
		return a
	}
	shared := append(at(0, 1, 2), pte.Allocation{MemoryID: 2})
	for name, c := range map[string]struct {
		program *pte.Program
		names   []string
	}{
		// x, y, buffer, out; out = -buffer, y = -x, buffer = y
		"in a list of outputs": {lines(at(0, 1, 2, 3), []int32{0}, []int32{5}, []pte.EValue{{Type: pte.TensorList, Items: []int64{1, 3}}},
			[]int32{neg, 2, 3, 3}, []int32{neg, 0, 1, 1}, []int32{cp, 2, 1, 4, 2}), nil},
		"an output by another name": {lines(at(0, 1, 2, 3, 1), []int32{0}, []int32{3, 4}, nil,
			[]int32{neg, 2, 3, 3}, []int32{neg, 0, 1, 1}, []int32{cp, 2, 1, 5, 2}), nil},
		"an input": {lines(at(0, 1, 2, 3), []int32{0, 1}, []int32{3}, nil, []int32{neg, 2, 3, 3}, []int32{neg, 0, 1, 1}, []int32{cp, 2, 1, 4, 2}), nil},
		// x, y, buffer, out, y by another name; out = -y of the Run before
		"read in the next Run": {lines(at(0, 1, 2, 3, 1), []int32{0}, []int32{3}, nil, []int32{neg, 4, 3, 3}, []int32{neg, 0, 1, 1}, []int32{cp, 2, 1, 5, 2}), nil},
		// x, buffer, out, state of both methods; state = x, buffer = state, out = -buffer, and out = -state
		"read by another method": {two(lines(shared, []int32{0}, []int32{2}, nil, []int32{cp, 3, 0, 4, 3}, []int32{cp, 1, 3, 4, 1}, []int32{neg, 1, 2, 2}),
			lines(shared, []int32{0}, []int32{2}, nil, []int32{neg, 3, 2, 2})), []string{"forward", "read"}},
		"a buffer that another method reads": {two(lines(shared, []int32{0}, []int32{2}, nil, []int32{neg, 0, 1, 1}, []int32{neg, 1, 2, 2}, []int32{cp, 3, 1, 4, 3}),
			lines(shared, []int32{0}, []int32{2}, nil, []int32{neg, 3, 2, 2})), []string{"forward", "read"}},
		// x, both its halves, the buffer in the place of the second, out
		"beside another result in the buffer's place": {halves(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			names := c.names
			if names == nil {
				names = []string{"forward"}
			}
			got, want := lineRuns(t, c.program, LoadOptions{}, names...), lineRuns(t, c.program, LoadOptions{Tracer: values{&scribe{}}}, names...)
			checkNear(t, name, got, want, 0)
		})
	}
}

// TestUpdateInput writes inputs: by a copy, one without a place of its own too, and by an operator; and a member of an output.
func TestUpdateInput(t *testing.T) {
	p := lines(at(0, 1, 2), []int32{0, 1}, []int32{2}, nil, []int32{0, 0, 2, 2}, []int32{1, 1, 2, 3, 1})
	p.Plans[0].Values[1].Tensor.Allocation = nil
	checkNear(t, "input", lineRuns(t, p, LoadOptions{}, "forward"), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, "forward"), 0)
	// y is written, not copied, and read by what y is fused with elsewhere
	p = lines(at(0, 1, 2), []int32{0, 1}, []int32{2}, nil, []int32{0, 0, 1, 1}, []int32{0, 1, 2, 2})
	checkNear(t, "written input", lineRuns(t, p, LoadOptions{}, "forward"), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, "forward"), 0)
	// y and out are members of an output
	p = lines(at(0, 1, 2), []int32{0}, []int32{4}, []pte.EValue{{Type: pte.TensorList, Items: []int64{1, 2}}}, []int32{0, 0, 1, 1}, []int32{0, 1, 2, 2})
	checkNear(t, "list", lineRuns(t, p, LoadOptions{}, "forward"), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, "forward"), 0)
	p = lines(at(0, 1, 2), []int32{0, 1}, []int32{0}, nil, []int32{0, 0, 2, 2}, []int32{1, 1, 2, 3, 1})
	p.Plans[0].Values[1].Tensor.Allocation = nil
	checkNear(t, "input alone", lineRuns(t, p, LoadOptions{}, "forward"), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, "forward"), 0)
}

// halves splits x, of eight elements, and copies the first half to a buffer where the second one lies.
func halves() *pte.Program {
	p := lines(at(0, 2, 3, 3, 4), []int32{0}, []int32{4}, []pte.EValue{
		{Type: pte.TensorList, Items: []int64{1, 2}}, {Type: pte.Int, Int: 4}, {Type: pte.IntList, Items: []int64{7, 7}}, {Type: pte.Int},
	}, []int32{2, 0, 8, 9, 6, 6}, []int32{1, 3, 1, 5, 3}, []int32{0, 3, 4, 4})
	p.Plans[0].Values[0].Tensor.Sizes[0] = 8
	return p
}

// TestScatterBuffer replaces elements of a buffer by scatter.
func TestScatterBuffer(t *testing.T) {
	// x, indices, buffer, result, out
	p := lines(at(0, 1, 3, 4, 5), []int32{0}, []int32{4}, []pte.EValue{{Type: pte.Int}, {Type: pte.IntList, Items: []int64{6, 6}}},
		[]int32{3, 2, 6, 1, 0, 3, 3}, []int32{1, 2, 3, 5, 2}, []int32{0, 3, 4, 4})
	indices := p.Plans[0].Values[1].Tensor
	indices.ScalarType, indices.Sizes[0], indices.Allocation, indices.DataBufferIdx = tensor.Long, 2, nil, 1
	p.ConstantBuffers = [][]byte{nil, tensor.Of([]int64{3, 0}, 2).Data}
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels})).Method("forward")
	if countOf(m, copyName) != 0 {
		t.Error("the buffer is copied")
	}
	checkNear(t, "scatter", lineRuns(t, p, LoadOptions{}, "forward"), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, "forward"), 0)
}
