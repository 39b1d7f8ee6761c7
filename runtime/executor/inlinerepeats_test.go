package executor

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// repeated is a program that calls delegates of one payload three times, z = f(f(f(x·a, x), x), x), and a backend that says what f(x, y) is:
// relu of the parts of a join of x, a constant, the negative of y and x, with a view between and a part that doubles the numbers.
func repeated(edit func(p *pte.Program)) (*pte.Program, *parts) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	x := g.input()
	a := g.tensor(tensor.Float, 2, 3)
	g.call("aten::mm.out", []int32{a}, x, g.constant(tensor.Float, 3, 3))
	values := []int32{a}
	for i := range 3 {
		at, out := len(g.calls), g.tensor(tensor.Float, 2, 3)
		args := []int32{values[i], x, out}
		g.first[out], g.last[values[i]], g.last[x] = at, at, at
		g.calls, values = append(g.calls, pte.Instruction{Type: pte.DelegateCall, A: int32(i), Args: args}), append(values, out)
	}
	g.output(values[3])
	p := g.finish(1)
	p.Plans[0].Delegates, p.DelegateData = make([]pte.BackendDelegate, 3), [][]byte{{0}}
	for i := range p.Plans[0].Delegates {
		p.Plans[0].Delegates[i].ID = "Parts"
	}
	if edit != nil {
		edit(p)
	}
	in := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3)
	from, by, to := in.input(), in.input(), in.tensor(tensor.Float, 2, 3)
	weight := in.add(pte.EValue{Type: pte.TensorValue, Tensor: &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{1, 3}, DimOrder: []uint8{0, 1}, DataBufferIdx: 1}})
	joined, doubled, seen, taken := in.tensor(tensor.Float, 7, 3), in.tensor(tensor.Float, 7, 3), in.tensor(tensor.Float, 21), in.tensor(tensor.Float, 6)
	list := in.add(pte.EValue{Type: pte.TensorList, Items: []int64{int64(from), int64(weight), int64(in.float("aten::neg.out", false, by)), int64(from)}})
	in.call("aten::cat.out", []int32{joined}, list, in.int(0))
	in.calls = append(in.calls, pte.Instruction{Type: pte.DelegateCall, B: 1, Args: []int32{joined, doubled}})
	in.call(etViewName, []int32{seen}, doubled, in.ints(21))
	in.call("aten::slice_copy.Tensor_out", []int32{taken}, seen, in.int(0), in.int(4), in.int(10), in.int(1))
	back := in.tensor(tensor.Float, 2, 3)
	in.call(etViewName, []int32{back}, taken, in.ints(2, 3))
	in.call("aten::relu.out", []int32{to}, back)
	b := partsOf(in, []int32{from, by, to}, 2)
	b.list[0].Constants = append(b.list[0].Constants, tensor.Of([]float32{1, 2, 3}, 3).Data)
	b.list[0].Parts = []any{func(args []*backend.Value) {
		x, y := tensor.Elements[float32](args[0].Tensor), tensor.Elements[float32](args[1].Tensor)
		for i := range x {
			y[i] = x[i] + x[i]
		}
	}}
	return p, b
}

// TestInlineRepeats inlines calls of the same payload from one graph, whose constants and numbers they share, if their arguments are alike; the
// results are those of as many payloads.
func TestInlineRepeats(t *testing.T) {
	apart := func(p *pte.Program) {
		p.DelegateData = [][]byte{{0, 0}, {0, 1}, {0, 2}} // equal ones are written once
		for i := range p.Plans[0].Delegates {
			p.Plans[0].Delegates[i].Processed = i
		}
	}
	last := func(p *pte.Program) *pte.Tensor { return p.Plans[0].Values[p.Plans[0].Outputs[0]].Tensor }
	var want []float32
	values := map[string]int{}
	for _, c := range []struct {
		name      string
		edit      func(p *pte.Program)
		asked     int
		constants int
	}{
		{"three payloads", apart, 3, 3},
		{"one payload", nil, 1, 1},
		{"one delegate", func(p *pte.Program) {
			for i := range p.Plans[0].Chains[0].Instructions {
				p.Plans[0].Chains[0].Instructions[i].A = 0
			}
		}, 1, 1},
		{"an output without a place", func(p *pte.Program) { last(p).Allocation = nil }, 2, 2},
		{"sizes that change", func(p *pte.Program) { last(p).Dynamism = pte.DynamicBound }, 2, 2},
	} {
		p, b := repeated(c.edit)
		before := copyOf(b.list[0])
		m := methodOn(t, p, b)
		outs, err := m.Run(context.Background(), []Value{TensorOf(tensor.Of([]float32{1, -2, 3, -4, 5, -6}, 2, 3))})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := slices.Clone(floatsOf(outs)[0])
		if diff := cmp.Diff(before, b.list[0], cmpopts.IgnoreFields(backend.Inlined{}, "Parts")); diff != "" {
			t.Errorf("%s: the backend's graph has changed: %s", c.name, diff)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || slices.Max(got) == 0 {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
		if b.asked != c.asked || len(m.m.inlinedData) != c.constants {
			t.Errorf("%s: %d graphs were asked for, want %d; they have %d constants, want %d", c.name, b.asked, c.asked, len(m.m.inlinedData), c.constants)
		}
		values[c.name] = len(m.m.plan.Values)
	}
	if one, three := values["one payload"], values["three payloads"]; one >= three {
		t.Errorf("one payload has %d values, three have %d", one, three)
	}
}

// TestInlineRepeatsNot asks again where a payload has other compile specs, or arguments of other sizes, and leaves alone a call that overwrites what it reads.
func TestInlineRepeatsNot(t *testing.T) {
	specs := func(p *pte.Program) { p.Plans[0].Delegates[1].CompileSpecs = []pte.CompileSpec{{Key: "mode"}} }
	p, b := repeated(specs)
	m := loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}}).methods[0]
	if m.handles[1] == notInlined || b.asked != 3 {
		t.Errorf("%d graphs were asked for, want 3", b.asked)
	}
	p, b = repeated(func(p *pte.Program) {
		third := p.Plans[0].Chains[0].Instructions[3].Args
		p.Plans[0].Values[third[2]].Tensor.Allocation = p.Plans[0].Values[third[0]].Tensor.Allocation
	})
	m = loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{b}}).methods[0]
	if last := len(m.handles) - 1; last != 15 || m.handles[last-1] == notInlined || m.handles[last] != notInlined { // a product, 7 calls and 7, and a delegate's
		t.Errorf("the third call, which overwrites its input, is inlined, or others are not: %v", m.handles)
	}
	p, _ = repeated(nil)
	l := &inliner{method: &method{plan: p.Plans[0]}}
	calls := p.Plans[0].Chains[0].Instructions[1:]
	d := &p.Plans[0].Delegates[0]
	g := &inlining{delegate: d, args: calls[0].Args}
	if !l.repeats(g, d, calls[1].Args) {
		t.Error("the second call does not compute what the first does")
	}
	x := p.Plans[0].Values[calls[1].Args[0]].Tensor
	for name, edit := range map[string]func(){
		"type":  func() { x.ScalarType = tensor.Int },
		"sizes": func() { x.Sizes = []int32{3, 2} },
		"order": func() { x.DimOrder = []uint8{1, 0} },
	} {
		old := *x
		edit()
		if l.repeats(g, d, calls[1].Args) {
			t.Errorf("another %s is said to be alike", name)
		}
		*x = old
	}
	for name, args := range map[string][]int32{"fewer": calls[1].Args[:2], "no value": {-1, 0, 0}, "none behind": {0, 0, 1 << 20}} {
		if l.repeats(g, d, args) {
			t.Errorf("arguments, %s, are said to be alike", name)
		}
	}
	if l.repeats(g, &pte.BackendDelegate{ID: "Other"}, calls[1].Args) {
		t.Error("another backend's delegate is said to compute the same")
	}
}
