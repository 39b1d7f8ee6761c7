package executor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestNumberForTensor has a number that the caller gives where an operator takes a tensor.
func TestNumberForTensor(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 1, 16, 8, 8)
	x := g.int(3)
	g.plan.Inputs = []int32{x}
	g.output(g.convolution(x, g.constant(tensor.Float, 16, 16, 1, 1), false))
	b, err := pte.Marshal(g.finish(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Load(b, LoadOptions{Kernels: op.Kernels})
	if want := "aten::convolution.out: argument input is 3, want Tensor"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
