package executor

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
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
		if steps := checkDelegated(t, "seed "+strconv.FormatUint(seed, 10), p, seed, newNegator(), counter{newNegator(), 1}); steps[1] < steps[0] {
			shorter++
		}
	}
	if delegated < 150 || shorter < 15 {
		t.Errorf("%d programs have delegates, %d are shorter where their inputs are known", delegated, shorter)
	}
}
