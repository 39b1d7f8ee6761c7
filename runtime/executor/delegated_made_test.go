package executor

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// counter is a negator that tells how many inputs it has.
type counter struct {
	*negator
	inputs int
}

func (c counter) Inputs([]byte) int { return c.inputs }

// delegateSome lets a delegate compute some of what a program negates, and reports whether there is any of that.
func delegateSome(r *rand.Rand, p *pte.Program) (some bool) {
	m := p.Plans[0]
	neg := slices.IndexFunc(m.Operators, func(o pte.Operator) bool { return o.Name == "aten::neg" })
	for i := range m.Chains[0].Instructions {
		in := &m.Chains[0].Instructions[i]
		if in.Type == pte.KernelCall && int(in.A) == neg && m.Values[in.Args[0]].Tensor.ScalarType == tensor.Float && r.IntN(3) > 0 {
			*in, some = pte.Instruction{Type: pte.DelegateCall, Args: in.Args[:2]}, true
		}
	}
	m.Delegates, p.DelegateData = []pte.BackendDelegate{{ID: "Negator"}}, [][]byte{{1}}
	return some
}

// TestMadeDelegates holds random programs with delegates, whose backend tells inputs from outputs or does not, against the same that keep all values
// of the file.
func TestMadeDelegates(t *testing.T) {
	delegated, shorter := 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 21))
		p := madeProgram(seed, kernel.Best() == kernel.Scalar) // as in TestMadePrograms
		if seed%3 == 0 {
			p, _ = byteProgram(seed)
		}
		if !delegateSome(r, p) {
			continue
		}
		delegated++
		run := func(b backend.Backend, tracer EventTracer) ([][]float32, int) {
			m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2), Tracer: tracer, Backends: []backend.Backend{b}})).Method("forward")
			all, err := runsOf(m, seed)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return all, len(m.m.steps)
		}
		want, _ := run(newNegator(), values{&scribe{}})
		unknown, most := run(newNegator(), nil)
		known, steps := run(counter{newNegator(), 1}, nil)
		if steps < most {
			shorter++
		}
		what := "seed " + strconv.FormatUint(seed, 10)
		for k := range want {
			size := 1.0
			for _, w := range want[k] {
				size = max(size, float64(w), -float64(w))
			}
			checkNear(t, what, unknown[k:k+1], want[k:k+1], 5e-5*size)
			checkNear(t, what+", inputs are known", known[k:k+1], want[k:k+1], 5e-5*size)
		}
	}
	if delegated < 150 || shorter < 15 {
		t.Errorf("%d programs have delegates, %d are shorter where their inputs are known", delegated, shorter)
	}
}
