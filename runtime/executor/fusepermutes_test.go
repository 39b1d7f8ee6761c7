package executor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestTurnBacks has a tensor turned there and back before kernels read it, or something that must not be left out. Results are those of the
// instructions one by one.
func TestTurnBacks(t *testing.T) {
	const permute, neg, mul, relu = "aten::permute_copy.out", "aten::neg.out", "aten::mul.out", "aten::relu.out"
	type made struct{ x, there, back int32 }
	turn := func(g *maker, there, back []int64, x int32) made {
		turned := g.float(permute, false, x, g.ints(there...))
		m := made{x, turned, g.float(permute, false, turned, g.ints(back...))}
		g.last[x] = 100 // so that nothing else gets its place
		return m
	}
	// computed makes a number of the order of the k-th permutation one that the program computes.
	computed := func(g *maker, k int) {
		at := slices.IndexFunc(g.calls, func(c pte.Instruction) bool { return g.plan.Operators[c.A].Name == "aten::permute_copy" }) + k
		n := g.int(2)
		g.plan.Values[g.calls[at].Args[1]].Items[1] = int64(n)
		g.plan.Operators = append(g.plan.Operators, pte.Operator{Name: "executorch_prim::add", Overload: "Scalar"})
		g.calls = slices.Insert(g.calls, 0, pte.Instruction{Type: pte.KernelCall, A: int32(len(g.plan.Operators) - 1), Args: []int32{g.int(1), g.int(1), n}})
		for v := range g.first {
			if g.first[v] >= 0 {
				g.first[v]++
			}
		}
		for v := range g.last {
			g.last[v]++
		}
	}
	// view is a view of v, which nobody else gets the place of.
	view := func(g *maker, v int32) int32 {
		o := g.tensor(tensor.Float, g.shape...)
		g.call(etViewName, []int32{o}, v, g.ints(6, 6, 6))
		delete(g.first, o) // lies there
		g.last[v] = 100
		return o
	}
	// rewrite has a kernel that writes v again.
	rewrite := func(g *maker, v, from int32) {
		first := g.first[v]
		g.call(neg, []int32{v}, from)
		g.first[v] = first
	}
	swap := []int64{0, 2, 1}
	swapped := func(g *maker) made { return turn(g, swap, swap, g.float(neg, false, g.latest())) }
	for name, c := range map[string]struct {
		make  func(g *maker) int32 // what it gives
		wants int                  // permutations
	}{
		"there and back": {func(g *maker) int32 { return g.float(relu, false, swapped(g).back) }, 0},
		"counted from the end": {func(g *maker) int32 {
			return g.float(relu, false, turn(g, swap, []int64{-3, -1, -2}, g.float(neg, false, g.latest())).back)
		}, 0},
		"round and back": {func(g *maker) int32 {
			return g.float(relu, false, turn(g, []int64{1, 2, 0}, []int64{2, 0, 1}, g.float(neg, false, g.latest())).back)
		}, 0},
		"an input": {func(g *maker) int32 { return g.float(relu, false, turn(g, swap, swap, g.latest()).back) }, 0},
		"its place is taken": {func(g *maker) int32 {
			m := swapped(g)
			g.last[m.x] = g.first[m.there]
			return g.float(relu, false, m.back)
		}, 0},
		"the place of what a view is of is taken": {func(g *maker) int32 {
			base := g.float(neg, false, g.latest())
			m := turn(g, swap, swap, view(g, base))
			delete(g.last, m.x)
			g.last[base] = g.first[m.there]
			return g.float(relu, false, view(g, m.back))
		}, 0},
		"its place is taken, and there is no other": {func(g *maker) int32 {
			x := g.float(neg, false, g.latest())
			there := g.float(permute, false, x, g.ints(swap...))
			b := g.float(mul, false, g.float(neg, false, g.latest()), there)
			return g.float(mul, false, g.float(permute, false, there, g.ints(swap...)), b)
		}, 2},
		"a constant": {func(g *maker) int32 {
			return g.float(mul, false, turn(g, swap, swap, g.constant(tensor.Float, 6, 6, 6)).back, g.plan.Inputs[0])
		}, 0},
		"in two orders": {func(g *maker) int32 { // what the second pair turns is what the first one does
			x := g.float(neg, false, g.latest())
			there := g.float(permute, false, x, g.ints(swap...))
			m := turn(g, []int64{1, 2, 0}, []int64{2, 0, 1}, there)
			g.output(g.float(relu, false, m.back))
			o := g.float(mul, false, g.float(permute, false, there, g.ints(swap...)), m.back)
			g.last[x], g.last[there] = 100, 100
			return o
		}, 1},
		"an input that is written": {func(g *maker) int32 {
			m := swapped(g)
			in := g.input()
			g.calls[len(g.calls)-1].Args = []int32{m.there, g.ints(swap...), in, in}
			return g.float(relu, false, in)
		}, 2},
		"sizes that stay of some that change": {func(g *maker) int32 {
			m := swapped(g)
			g.plan.Values[m.x].Tensor.Dynamism = pte.DynamicBound
			return g.float(relu, false, m.back)
		}, 2},
		"sizes that change of some that stay": {func(g *maker) int32 {
			m := swapped(g)
			g.plan.Values[m.back].Tensor.Dynamism = pte.DynamicBound
			return g.float(relu, false, m.back)
		}, 0},
		"room for more": {func(g *maker) int32 {
			m := swapped(g)
			b := g.plan.Values[m.back].Tensor
			b.Dynamism, b.Sizes = pte.DynamicBound, []int32{6, 6, 7}
			return g.float(relu, false, m.back)
		}, 2},
		"there by what is computed": {func(g *maker) int32 {
			m := swapped(g)
			computed(g, 0)
			return g.float(relu, false, m.back)
		}, 2},
		"back by what is computed": {func(g *maker) int32 {
			m := swapped(g)
			computed(g, 1)
			return g.float(relu, false, m.back)
		}, 2},
		"with control flow": {func(g *maker) int32 {
			m := swapped(g)
			g.calls = append(g.calls, pte.Instruction{Type: pte.MoveCall, A: g.int(1), B: g.int(2)})
			return g.float(relu, false, m.back)
		}, 2},
		"twice": {func(g *maker) int32 {
			m := swapped(g)
			return g.float(relu, false, turn(g, swap, swap, m.back).back)
		}, 0},
		"what was turned is read, too": {func(g *maker) int32 {
			m := swapped(g)
			g.output(g.float(neg, false, m.there))
			return g.float(relu, false, m.back)
		}, 1},
		"read twice": {func(g *maker) int32 {
			m := swapped(g)
			return g.float(mul, false, g.float(relu, false, m.back), m.back)
		}, 0},
		"an output": {func(g *maker) int32 { return swapped(g).back }, 2},
		"what was turned is an output": {func(g *maker) int32 {
			m := swapped(g)
			g.output(m.there)
			return g.float(relu, false, m.back)
		}, 1},
		"nobody reads it": {func(g *maker) int32 { return swapped(g).x }, 2},
		"written meanwhile": {func(g *maker) int32 {
			m := swapped(g)
			rewrite(g, m.x, g.plan.Inputs[0])
			g.output(g.float(relu, false, m.x))
			return g.float(relu, false, m.back)
		}, 2},
		"written by who reads it": {func(g *maker) int32 {
			m := swapped(g)
			first := g.first[m.x]
			g.call(relu, []int32{m.x}, m.back)
			g.first[m.x] = first
			return g.float(neg, false, m.x)
		}, 2},
		"written over where it lies": {func(g *maker) int32 {
			m := swapped(g)
			first := g.first[m.back]
			g.call(mul, []int32{m.back}, m.back, g.plan.Inputs[0])
			g.first[m.back] = first
			return g.float(relu, false, m.back)
		}, 2},
		"read by a delegate": {func(g *maker) int32 {
			m := swapped(g)
			o := g.tensor(tensor.Float, g.shape...)
			g.first[o], g.last[m.back] = len(g.calls), len(g.calls)
			g.mix([]int32{m.back, o}, 1)
			return g.float(relu, false, o)
		}, 2},
		"read in a list": {func(g *maker) int32 {
			m := swapped(g)
			o := g.tensor(tensor.Float, 12, 6, 6)
			g.call("aten::cat.out", []int32{o}, g.list([]int32{m.back, m.back}), g.int(0))
			g.output(o)
			return g.float(relu, false, m.back)
		}, 2},
		"read by a view": {func(g *maker) int32 {
			v := view(g, swapped(g).back)
			return g.float(mul, false, v, g.float(relu, false, v))
		}, 0},
		"read by a view of a view": {func(g *maker) int32 { return g.float(relu, false, view(g, view(g, swapped(g).back))) }, 0},
		"of a view, read by a view": {func(g *maker) int32 {
			return g.float(relu, false, view(g, turn(g, swap, swap, view(g, g.float(neg, false, g.latest()))).back))
		}, 0},
		"twice, with a view between": {func(g *maker) int32 {
			x := view(g, swapped(g).back)
			return g.float(relu, false, view(g, turn(g, swap, swap, x).back))
		}, 0},
		"written before a view of it is read": {func(g *maker) int32 {
			m := swapped(g)
			v := view(g, m.back)
			rewrite(g, m.x, g.plan.Inputs[0])
			g.output(g.float(relu, false, m.x))
			return g.float(relu, false, v)
		}, 2},
		"a view that is an output": {func(g *maker) int32 { return view(g, swapped(g).back) }, 2},
		"a view that is an input": {func(g *maker) int32 {
			v := view(g, swapped(g).back)
			g.plan.Inputs = append(g.plan.Inputs, v)
			return g.float(relu, false, v)
		}, 2},
		"a view that is written": {func(g *maker) int32 {
			m := swapped(g)
			v := view(g, m.back)
			one := g.float(relu, false, v)
			rewrite(g, v, g.plan.Inputs[0])
			delete(g.first, v)
			return g.float(mul, false, g.float(mul, false, one, v), m.x)
		}, 2},
		"a view that is written, which nobody reads": {func(g *maker) int32 {
			m := swapped(g)
			v := view(g, m.back)
			one := g.float(relu, false, v)
			rewrite(g, v, g.plan.Inputs[0])
			delete(g.first, v)
			return g.float(mul, false, one, m.x)
		}, 2},
		"a view that is an output, of what is written by then": {func(g *maker) int32 {
			m := swapped(g)
			v := view(g, m.back)
			g.output(g.float(relu, false, v))
			rewrite(g, m.back, g.plan.Inputs[0])
			return v
		}, 2},
		"a view that a delegate reads": {func(g *maker) int32 {
			v := view(g, swapped(g).back)
			o := g.tensor(tensor.Float, g.shape...)
			g.first[o] = len(g.calls)
			g.mix([]int32{v, o}, 1)
			return g.float(relu, false, o)
		}, 2},
		"round and round": {func(g *maker) int32 {
			return g.float(relu, false, turn(g, []int64{1, 2, 0}, []int64{1, 2, 0}, g.float(neg, false, g.latest())).back)
		}, 2},
		"turned twice from there": {func(g *maker) int32 {
			m := swapped(g)
			again := g.float(permute, false, m.there, g.ints(swap...))
			return g.float(mul, false, again, m.back)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newMaker(rand.New(rand.NewPCG(1, 1)), 6, 6, 6)
			g.input()
			o := c.make(g)
			g.output(o)
			for _, v := range append(slices.Clone(g.plan.Outputs), g.plan.Inputs...) {
				g.last[v] = len(g.calls)
			}
			p := g.finish(1)
			checkMixed(t, name, p, 1)
			m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{knownMixer{}}})).Method("forward")
			if n := countOf(m, permuteName); n != c.wants {
				t.Errorf("%d permutations, want %d", n, c.wants)
			}
			all := 0
			for _, in := range p.Plans[0].Chains[0].Instructions {
				if in.Type == pte.KernelCall && p.Plans[0].Operators[in.A].Name == "aten::permute_copy" {
					all++
				}
			}
			traced := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}, Backends: []backend.Backend{knownMixer{}}})).Method("forward")
			if n := countOf(traced, permuteName); n != all {
				t.Errorf("%d permutations with a tracer, want %d", n, all)
			}
			if ran := m.m.steps[len(m.m.steps)-1].fused; name == "there and back" && !slices.Equal(ran, []int{0, 1, 2, 3}) {
				t.Errorf("the last step runs instructions %v, want all", ran)
			}
		})
	}
}

// TestTurnBacksDynamic has images of changing sizes, turned there and back between other operators.
func TestTurnBacksDynamic(t *testing.T) {
	left := 0
	for seed := range uint64(60) {
		g := newMaker(rand.New(rand.NewPCG(seed, 17)), 1, 16, 8, 8)
		for range 1 + g.r.IntN(3) {
			g.input()
		}
		for range 2 + g.r.IntN(3) {
			g.float("aten::neg.out", true, g.some())
			turned := g.float("aten::permute_copy.out", false, g.some(), g.ints(0, 1, 3, 2))
			g.between()
			same := g.float("aten::permute_copy.out", true, turned, g.ints(0, 1, 3, 2))
			g.float("aten::mul.out", true, same, g.some())
		}
		g.outputs()
		for _, v := range g.values {
			g.last[v] = len(g.calls)
		}
		p := g.finish(1)
		checkDynamic(t, p, tensor.Float, seed)
		left += countOf(instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels})).Method("forward"), permuteName)
	}
	if left > 100 { // of some 360, those whose result is an output, or which nobody reads
		t.Errorf("%d permutations are left", left)
	}
}

// TestTurnBacksConstant has weights turned there and back, which are packed.
func TestTurnBacksConstant(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 24, 24)
	x, w := g.input(), g.constant(tensor.Float, 24, 24)
	same := g.float(permuteName, false, g.float(permuteName, false, w, g.ints(1, 0)), g.ints(1, 0))
	g.output(g.float(linearName, false, x, same, g.none()))
	g.last[x] = len(g.calls)
	p := loadOf(t, g.finish(1), LoadOptions{Kernels: op.Kernels})
	m := instanceOf(t, p).Method("forward")
	if len(m.m.steps) != 1 || p.packed == 0 {
		t.Errorf("%d steps and %d bytes of packed constants, want 1 step, and weights that are packed", len(m.m.steps), p.packed)
	}
}
