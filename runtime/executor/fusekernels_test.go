package executor

import (
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
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
