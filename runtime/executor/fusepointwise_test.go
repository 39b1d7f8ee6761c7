package executor

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// TestFusePointwise counts the steps of testdata/images that several pointwise operators have become. Results are what they
// are without them, and no tensor lies outside of the arena.
func TestFusePointwise(t *testing.T) {
	const addNumber = "aten::add.Scalar_out"
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		fused  int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, 2},
		"spans are traced":  {&scribe{}, func(*pte.ExecutionPlan) {}, 2},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 0},
		"a result between is an output": {nil, func(plan *pte.ExecutionPlan) {
			args := instruction(t, plan, addNumber).Args
			v := args[len(args)-1]
			plan.Outputs = append([]int32{v}, plan.Outputs...)
			plan.Values[v].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 2
		}, 2},
		"an arena that is not planned anew": {nil, func(plan *pte.ExecutionPlan) {
			plan.NonConstBufferSizes = append(plan.NonConstBufferSizes, plan.NonConstBufferSizes[1])
			for i := range plan.Values {
				if v := &plan.Values[i]; v.Tensor != nil && v.Tensor.Allocation != nil {
					v.Tensor.Allocation.MemoryID = 2
				}
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadImages(t, LoadOptions{Tracer: c.tracer}, c.change).methods[0]
			got := 0
			for i := range m.steps {
				if m.steps[i].name == op.PointwiseName {
					got++
				}
			}
			if got != c.fused {
				t.Errorf("%d steps are pointwise operators in one, want %d", got, c.fused)
			}
			checkPlaces(t, m)
		})
	}
}
