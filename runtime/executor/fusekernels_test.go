package executor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// firstConvolution is what the first convolution of testdata/images gives.
const firstConvolution = 2

// TestFuseKernels counts the bounds of images that stay steps of their own. Fusing changes no result, and no tensor lies
// outside of the arena.
func TestFuseKernels(t *testing.T) {
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		bounds int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, 0},
		"spans are traced":  {&scribe{}, func(*pte.ExecutionPlan) {}, 0},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 6},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			plan.Outputs = append([]int32{firstConvolution}, plan.Outputs...)
			plan.Values[firstConvolution].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 2
		}, 1},
		"read again": {nil, func(plan *pte.ExecutionPlan) {
			chain := &plan.Chains[0]
			again := chain.Instructions[1]
			chain.Instructions = slices.Insert(chain.Instructions, 2, again)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadImages(t, LoadOptions{Tracer: c.tracer}, c.change).methods[0]
			got := 0
			for i := range m.steps {
				if _, ok := bounders[m.steps[i].name]; ok {
					got++
				}
			}
			if got != c.bounds {
				t.Errorf("%d bounds are steps of their own, want %d", got, c.bounds)
			}
			checkPlaces(t, m)
			if ran := instructionsOf(m); len(ran) != len(m.plan.Chains[0].Instructions) {
				t.Errorf("the steps run instructions %v, want all %d", ran, len(m.plan.Chains[0].Instructions))
			}
		})
	}
}

// instructionsOf are the instructions that the steps of a method run, in their order.
func instructionsOf(m *method) []int {
	var ran []int
	for i := range m.steps {
		ran = append(ran, fusedOf(m.steps, i)...)
	}
	slices.Sort(ran)
	return ran
}

// checkPlaces holds the places of tensors against the arenas, and steps against their instructions, of which none runs twice.
func checkPlaces(t *testing.T, m *method) {
	t.Helper()
	for v := range m.vals {
		if m.place[v] != planned || !m.used[v] {
			continue
		}
		id := m.plan.Values[v].Tensor.Allocation.MemoryID
		if end := m.offset(int32(v)) + uint64(m.vals[v].Tensor.Nbytes()); end > uint64(m.plan.NonConstBufferSizes[id]) {
			t.Errorf("value %d ends at %d, behind its arena", v, end)
		}
	}
	for i := range m.steps {
		s := &m.steps[i]
		if in := &m.plan.Chains[s.chain].Instructions[s.index]; len(s.outs) > 0 && !slices.Contains(in.Args, s.outs[0]) {
			t.Errorf("step %d (%s) does not write what its instruction %d does", i, s.name, s.index)
		}
	}
	if ran := instructionsOf(m); len(slices.Compact(slices.Clone(ran))) < len(ran) {
		t.Errorf("the steps run instructions %v", ran)
	}
}

// TestInPlace looks at where pointwise operators write: over an operand of the same sizes that nobody reads afterwards, not over one that
// somebody does, over one of other sizes, an input or a view, nor where the result is an output.
func TestInPlace(t *testing.T) {
	product := func(g *maker, x int32) int32 { return g.float("aten::mm.out", false, x, x) }
	for name, c := range map[string]struct {
		build func(g *maker, x int32) (from, to, out int32)
		same  bool
	}{
		"read by it alone": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			b := g.float("aten::sigmoid.out", false, a)
			return a, b, product(g, b)
		}, true},
		"read twice by it": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			b := g.float("aten::mul.out", false, a, a)
			return a, b, product(g, b)
		}, true},
		"the second operand": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			b := g.float("aten::mul.out", false, x, a)
			return a, b, product(g, b)
		}, true},
		"read later": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			b := g.float("aten::sigmoid.out", false, a)
			return a, b, g.float("aten::mm.out", false, b, a)
		}, false},
		"an input": {func(g *maker, x int32) (int32, int32, int32) {
			b := g.float("aten::sigmoid.out", false, x)
			return x, b, product(g, b)
		}, false},
		"an output": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			b := g.float("aten::sigmoid.out", false, a)
			return a, b, b
		}, false},
		"read as a view, too": {func(g *maker, x int32) (int32, int32, int32) {
			a := product(g, x)
			v := g.tensor(tensor.Float, 4, 4)
			g.call("executorch_prim::et_view.default", []int32{v}, a, g.ints(4, 4))
			g.calls[len(g.calls)-1].Args = g.calls[len(g.calls)-1].Args[:3]
			delete(g.first, v) // it lies where a does
			b := g.float("aten::mul.out", false, a, v)
			return a, b, product(g, b)
		}, false},
		"other sizes": {func(g *maker, x int32) (int32, int32, int32) {
			a := g.tensor(tensor.Float, 4, 1)
			g.call("aten::mm.out", []int32{a}, x, g.constant(tensor.Float, 4, 1))
			b := g.float("aten::mul.out", false, x, a)
			return a, b, product(g, b)
		}, false},
	} {
		for seed := range uint64(9) { // with inputs that have a place, and without
			g := newMaker(rand.New(rand.NewPCG(seed, 1)), 4, 4)
			x := g.input()
			from, to, out := c.build(g, x)
			g.output(out)
			p := g.finish(1)
			p.Plans[0].NonConstBufferSizes[1] *= 2 // so that no other plan fails for want of room
			m := loadOf(t, p, LoadOptions{Kernels: op.Kernels}).methods[0]
			if same := m.shares(from, to); same != c.same {
				t.Errorf("%s: the result's place is the operand's: %v, want %v", name, same, c.same)
			}
			checkPlaces(t, m)
			checkAlone(t, name, p)
		}
	}
}

// TestBoundKeepsPlaces lets a product bound its results, though these lie where a value does that is in use between the two.
func TestBoundKeepsPlaces(t *testing.T) {
	made := func() *pte.Program {
		g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
		x := g.input()
		at := map[int32]uint64{}
		value := func(offset uint64, sizes ...int32) int32 {
			v := g.tensor(tensor.Float, sizes...)
			at[v] = offset
			return v
		}
		softmax := func(to, from int32) { g.call("aten::_softmax.out", []int32{to}, from, g.int(0), g.no()) }
		product, view, soft, softer := value(64, 2, 3), value(0, 6), value(32, 6), value(0, 6)
		last, bounded, out := value(96, 6), value(0, 2, 3), value(128, 2, 3)
		g.call("aten::linear.out", []int32{product}, x, g.constant(tensor.Float, 3, 3), g.none())
		g.call(etViewName, []int32{view}, x, g.ints(6))
		softmax(soft, view)
		softmax(softer, soft)
		softmax(last, softer)
		g.call("aten::relu.out", []int32{bounded}, product)
		softmax(out, bounded)
		g.output(last)
		g.output(out)
		p := g.finish(1)
		m := p.Plans[0]
		m.Values[x].Tensor.Allocation = nil
		for v, offset := range at {
			m.Values[v].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: offset}
		}
		m.NonConstBufferSizes[1] = 152
		return p
	}
	want, err := runsOf(instanceOf(t, loadOf(t, made(), LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}})).Method("forward"), 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runsOf(instanceOf(t, loadOf(t, made(), LoadOptions{Kernels: op.Kernels})).Method("forward"), 1)
	if err != nil {
		t.Fatal(err)
	}
	checkNear(t, "bounded", got, want, 1e-6)
}
