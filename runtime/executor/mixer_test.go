package executor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mixer is a backend whose payload is how many inputs it has; each output is a sum of all of them, weighted.
type mixer struct{}

// knownMixer is one that tells how many inputs it has.
type knownMixer struct{ mixer }

func (knownMixer) Inputs(p []byte) int { return int(p[0]) }

func (mixer) ID() string             { return "Mixer" }
func (mixer) Available() bool        { return true }
func (mixer) Destroy(backend.Handle) {}

func (mixer) Init(_ *backend.InitContext, p *backend.FreeableBuffer, _ []backend.CompileSpec) (backend.Handle, error) {
	return int(p.Data()[0]), nil
}

func (mixer) Execute(ctx *backend.ExecuteContext, h backend.Handle, args []*backend.Value) error {
	n := h.(int)
	if len(args) <= n {
		return errors.New("no outputs")
	}
	ins, outs := tensorsOf(args[:n]), tensorsOf(args[n:])
	for _, x := range slices.Concat(ins, outs) {
		if x.DType != tensor.Float || x.Numel() == 0 {
			return errors.New("no numbers")
		}
	}
	if len(ins) == 0 {
		return errors.New("no inputs")
	}
	var results [][]float32
	for k, t := range outs {
		if err := ctx.Resize(t, slices.Clone(ins[len(ins)-1].Sizes)); err != nil {
			return err
		}
		o := make([]float32, t.Numel())
		for i := range o {
			for j, x := range ins {
				e := tensor.Elements[float32](x)
				o[i] += e[i%len(e)] * float32((j+k)%3-1) * 0.75
			}
			o[i] = max(min(o[i]+float32(k)*0.125, 8), -8)
		}
		results = append(results, o)
	}
	for k, t := range outs { // which may be inputs, too
		copy(tensor.Elements[float32](t), results[k])
	}
	return nil
}

// tensorsOf are the tensors of list, and of lists in it.
func tensorsOf(list []*backend.Value) (all []*tensor.Tensor) {
	for _, a := range list {
		if a.Tensor != nil {
			all = append(all, a.Tensor)
		}
		for _, t := range a.Tensors {
			if t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

// mix calls the mixer.
func (g *maker) mix(args []int32, inputs int) {
	d := len(g.plan.Delegates)
	g.plan.Delegates = append(g.plan.Delegates, pte.BackendDelegate{ID: "Mixer", Processed: d})
	g.program.DelegateData = append(g.program.DelegateData, []byte{byte(inputs)})
	g.calls = append(g.calls, pte.Instruction{Type: pte.DelegateCall, A: int32(d), Args: args})
}

func (g *maker) list(items []int32) int32 {
	l := pte.EValue{Type: pte.TensorList}
	for _, v := range items {
		l.Items = append(l.Items, int64(v))
	}
	return g.add(l)
}

// What programs with delegates may have.
const (
	mixRewrites = 1 << iota // outputs that somebody has written before
	mixNames                // values with two names
	mixLists                // outputs in a list
	mixAgain                // kernels whose results somebody has written before
	mixTurns                // permutations, most often there and back
)

// delegate adds a call of the mixer.
func (g *maker) delegate(mode int) {
	var ins, outs []int32
	for range 1 + g.r.IntN(3) {
		switch g.r.IntN(6) {
		case 0:
			ins = append(ins, g.constant(tensor.Float, g.shape...))
		case 1: // what is made of a constant
			ins = append(ins, g.float("aten::neg.out", g.r.IntN(2) == 0, g.constant(tensor.Float, g.shape...)))
		default:
			ins = append(ins, g.latest())
		}
	}
	at := len(g.calls)
	for range 1 + g.r.IntN(3) {
		if mode&mixRewrites != 0 && g.r.IntN(3) == 0 {
			if v := g.some(); !slices.Contains(g.plan.Inputs, v) && !slices.Contains(outs, v) {
				outs = append(outs, v)
			}
			continue
		}
		v := g.tensor(tensor.Float, g.shape...)
		g.first[v] = at
		outs, g.values = append(outs, v), append(g.values, v)
	}
	if len(outs) == 0 {
		return
	}
	args := slices.Concat(ins, outs)
	for _, v := range args {
		g.last[v] = max(g.last[v], at)
	}
	if mode&mixLists != 0 && g.r.IntN(3) == 0 {
		args = append(slices.Clone(ins), g.list(outs))
	}
	g.mix(args, len(ins))
}

// rewrite calls a kernel whose result is a value that is there.
func (g *maker) rewrite() {
	v := g.some()
	if slices.Contains(g.plan.Inputs, v) {
		return
	}
	first, last := g.first[v], g.last[v]
	g.call("aten::neg.out", []int32{v}, g.some())
	g.first[v], g.last[v] = first, max(last, g.last[v])
}

// again is another name of a value.
func (g *maker) again(alias map[int32]int32) {
	u := g.some()
	if _, is := alias[u]; is || slices.Contains(g.plan.Inputs, u) || slices.Contains(g.buffers, u) {
		return
	}
	v := g.tensor(tensor.Float, g.shape...)
	alias[v], g.values = u, append(g.values, v)
}

// turn permutes a value, most often twice, with other calls between, and may let somebody read what that gives, or a view of it.
func (g *maker) turn(mode int, alias map[int32]int32) {
	there, back := [2]int32{g.ints(1, 0), g.ints(-1, -2)}, g.r.IntN(2)
	if len(g.shape) == 4 { // which is 1 by 16 by 8 by 8
		there = [2]int32{g.ints(0, 1, 3, 2), g.ints(0, 1, -1, -2)}
	}
	turned := g.float("aten::permute_copy.out", g.r.IntN(4) == 0, g.some(), there[1-back])
	if g.between(); mode&mixAgain != 0 && g.r.IntN(2) == 0 {
		g.rewrite()
	}
	if g.r.IntN(6) == 0 {
		turned = g.some()
	}
	same := g.float("aten::permute_copy.out", true, turned, there[back])
	if g.r.IntN(3) == 0 {
		v, sizes := g.tensor(tensor.Float, g.shape...), make([]int64, len(g.shape))
		for d, n := range g.shape {
			sizes[d] = int64(n)
		}
		g.call(etViewName, []int32{v}, same, g.ints(sizes...))
		alias[v], g.values, same = same, append(g.values, v), v
	}
	if g.between(); mode&mixRewrites != 0 && g.r.IntN(2) == 0 {
		g.delegate(mode)
	}
	if g.r.IntN(2) == 0 {
		g.float("aten::mul.out", true, same, g.some())
	}
}

// mixedProgram is a random program with delegates.
func mixedProgram(seed uint64, mode int) *pte.Program {
	r := rand.New(rand.NewPCG(seed, 31))
	g := startMade(r)
	alias := map[int32]int32{}
	for range 2 + r.IntN(8) {
		switch k := r.IntN(4); {
		case k == 0 && mode&mixTurns == 0:
			g.delegate(mode)
		case k < 2 && mode&mixTurns != 0:
			g.turn(mode, alias)
		case k == 1 && mode&mixNames != 0:
			g.again(alias)
		case k == 1 && mode&mixAgain != 0:
			g.rewrite()
		default:
			g.step(false)
		}
		if r.IntN(4) == 0 {
			g.delegate(mode)
		}
	}
	g.outputs()
	return g.finishNamed(alias, 1+r.IntN(2))
}

// finishNamed is finish of a program whose values have other names, each in the place of what it names.
func (g *maker) finishNamed(alias map[int32]int32, arenas int) *pte.Program {
	for _, v := range g.plan.Outputs {
		g.last[v] = len(g.calls)
	}
	for v, u := range alias {
		delete(g.first, v)
		g.last[u] = max(g.last[u], g.last[v])
		if len(g.pending) > 0 {
			g.last[u] = len(g.calls) + len(g.pending)
		}
	}
	p := g.finish(arenas)
	for v, u := range alias {
		if a := p.Plans[0].Values[u].Tensor.Allocation; a != nil {
			b := *a
			p.Plans[0].Values[v].Tensor.Allocation = &b
		}
	}
	return p
}

// checkMixed is checkDelegated for programs of the mixer.
func checkMixed(t *testing.T, what string, p *pte.Program, seed uint64) {
	t.Helper()
	checkDelegated(t, what, p, seed, mixer{}, knownMixer{})
}

// checkDelegated holds a program with delegates, whose backend tells inputs from outputs or does not, against the same that keeps all values of
// the file. It gives the numbers of steps where inputs are unknown and where they are known.
func checkDelegated(t *testing.T, what string, p *pte.Program, seed uint64, unknown, known backend.Backend) (steps [2]int) {
	t.Helper()
	run := func(b backend.Backend, tracer EventTracer) ([][]float32, int) {
		m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2), Tracer: tracer, Backends: []backend.Backend{b}})).Method("forward")
		all, err := runsOf(m, seed)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return all, len(m.m.steps)
	}
	want, _ := run(unknown, values{&scribe{}})
	for k, b := range []backend.Backend{unknown, known} {
		var got [][]float32
		got, steps[k] = run(b, nil)
		for i := range want {
			size := 1.0
			for _, w := range want[i] {
				size = max(size, float64(w), -float64(w))
			}
			checkNear(t, fmt.Sprintf("%s, inputs known: %v", what, k > 0), got[i:i+1], want[i:i+1], 5e-5*size)
		}
	}
	return steps
}

// TestMixedDelegates has random programs.
func TestMixedDelegates(t *testing.T) {
	for _, mode := range []int{0, mixRewrites, mixNames, mixLists, mixAgain, mixTurns, mixTurns | mixRewrites | mixAgain, mixRewrites | mixNames | mixLists | mixAgain | mixTurns,
		mixRewrites | mixNames | mixLists | mixAgain} {
		for seed := range uint64(100) {
			checkMixed(t, fmt.Sprintf("mode %d, seed %d", mode, seed), mixedProgram(seed, mode), seed)
		}
	}
}

// TestRewritten has a value that a kernel writes and then another step, a kernel or a delegate, by its name or by a list, before somebody reads it.
func TestRewritten(t *testing.T) {
	for _, first := range []string{"linear", "neg"} {
		for _, second := range []string{"kernel", "delegate", "list"} {
			g := newMaker(rand.New(rand.NewPCG(1, 1)), 24, 24)
			x, y := g.input(), g.input()
			v := g.tensor(tensor.Float, 24, 24)
			if first == "linear" {
				g.call("aten::linear.out", []int32{v}, x, g.constant(tensor.Float, 24, 24), g.none())
			} else {
				g.call("aten::neg.out", []int32{v}, x)
			}
			switch second {
			case "kernel":
				at := g.first[v]
				g.call("aten::abs.out", []int32{v}, y)
				g.first[v] = at
			case "delegate":
				g.mix([]int32{y, v}, 1)
			default:
				g.mix([]int32{y, g.list([]int32{v})}, 1)
			}
			o := g.float("aten::relu.out", false, v)
			g.output(o)
			g.last[y], g.last[o] = len(g.calls), len(g.calls)
			checkMixed(t, first+", then "+second, g.finish(1), 1)
		}
	}
}

// TestListOutputs has a delegate that writes, by a list or not, what a pointwise step before it has read.
func TestListOutputs(t *testing.T) {
	for _, list := range []bool{false, true} {
		g := newMaker(rand.New(rand.NewPCG(1, 1)), 24, 24)
		x, y := g.input(), g.input()
		v := g.float("aten::_softmax.out", false, x, g.int(-1), g.no())
		a := g.float("aten::neg.out", false, v)
		out := v
		if list {
			out = g.list([]int32{v})
		}
		g.mix([]int32{y, out}, 1)
		g.output(g.float("aten::relu.out", false, a))
		g.output(g.float("aten::_softmax.out", false, v, g.int(-1), g.no()))
		for _, o := range append(g.plan.Outputs, v, y) {
			g.last[o] = len(g.calls)
		}
		checkMixed(t, fmt.Sprint("list: ", list), g.finish(1), 1)
	}
}

// TestDelegatesWriteNoConstants has delegates for which a constant is an output: by its name, in a list, moved to a value, and made of another one
// at load. That is an error, whatever the backend tells.
func TestDelegatesWriteNoConstants(t *testing.T) {
	for _, how := range []string{"name", "list", "moved", "folded"} {
		for _, b := range []backend.Backend{mixer{}, knownMixer{}} {
			g := newMaker(rand.New(rand.NewPCG(1, 1)), 24, 24)
			x, c := g.input(), g.constant(tensor.Float, 24, 24)
			inputs := 1
			switch how {
			case "name":
				g.mix([]int32{x, c}, inputs)
			case "list":
				g.mix([]int32{x, g.list([]int32{c})}, inputs)
			case "moved":
				v := g.tensor(tensor.Float, 24, 24)
				g.calls = append(g.calls, pte.Instruction{Type: pte.MoveCall, A: c, B: v})
				g.mix([]int32{x, v}, inputs)
			case "folded": // what it calls an input, it writes
				if _, ok := b.(knownMixer); !ok {
					continue
				}
				b = liar{}
				v := g.float("aten::neg.out", false, c)
				g.mix([]int32{x, v}, inputs)
				g.last[v] = len(g.calls)
			}
			g.output(g.float("aten::relu.out", false, x))
			g.last[x], g.last[g.plan.Outputs[0]] = len(g.calls), len(g.calls)
			m := instanceOf(t, loadOf(t, g.finish(1), LoadOptions{Kernels: op.Kernels, Threads: 1, Backends: []backend.Backend{b}})).Method("forward")
			if _, err := runsOf(m, 1); err == nil || !strings.Contains(err.Error(), "constant") {
				t.Errorf("%s: got %v, want an error", how, err)
			}
		}
	}
}

// liar is a mixer that calls all of its arguments inputs.
type liar struct{ mixer }

func (liar) Inputs([]byte) int { return 2 }
