package executor

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestKeepBytes counts the products of testdata/quantized_bytes that multiply Float with weights of int8 as they are: three, but those whose
// weights somebody else writes or sees in Float.
func TestKeepBytes(t *testing.T) {
	if kernel.MixedOf(kernel.Best(), kernel.StoredS8) == nil {
		t.Skip("the tier has no tiles for weights of int8 and rows of Float, so that they become Float at load")
	}
	// makes reports whether an instruction makes Float of int8 weights.
	makes := func(plan *pte.ExecutionPlan, in *pte.Instruction) bool {
		x := plan.Values[in.Args[0]].Tensor
		return x != nil && x.ScalarType == tensor.Char && x.DataBufferIdx > 0
	}
	first := func(plan *pte.ExecutionPlan) int {
		return slices.IndexFunc(plan.Chains[0].Instructions, func(in pte.Instruction) bool { return makes(plan, &in) })
	}
	out := func(plan *pte.ExecutionPlan) int32 {
		args := plan.Chains[0].Instructions[first(plan)].Args
		return args[len(args)-1]
	}
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		want   int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, 3},
		"spans are traced":  {&scribe{}, func(*pte.ExecutionPlan) {}, 3},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 0},
		"written again": {nil, func(plan *pte.ExecutionPlan) {
			chain, i := &plan.Chains[0], first(plan)
			chain.Instructions = slices.Insert(chain.Instructions, i, chain.Instructions[i])
		}, 2},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			v := out(plan)
			plan.Outputs = append([]int32{v}, plan.Outputs...)
			plan.Values[v].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 4
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := loadChanged(t, "quantized_bytes", LoadOptions{Tracer: c.tracer}, c.change)
			m := p.methods[0]
			if got := keptBytes(m); got != c.want {
				t.Errorf("%d products read weights of int8, want %d", got, c.want)
			}
			checkPlaces(t, m)
		})
	}
}

// keptBytes is how many products of m read weights of int8 as they are.
func keptBytes(m *method) (n int) {
	for i := range m.steps {
		if p := m.steps[i].plan; p != nil && strings.HasPrefix(p.Kernel.Def.Schema, "rules_pte::bytes") {
			n++
		}
	}
	return n
}
