package emit

import (
	"fmt"

	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// allocate plans the one arena of the method and writes the places into its tensors.
func (e *emitter) allocate() error {
	end := len(e.ins)
	for _, s := range e.order {
		s.last = min(s.last, end)
		if s.pinned {
			s.first, s.last = 0, end
		}
	}
	e.extendOverLoops()
	items := make([]memory.Item, len(e.order))
	for i, s := range e.order {
		items[i] = memory.Item{Size: s.size, First: s.first, Last: s.last, Align: int64(e.opts.Alignment)}
	}
	offsets, total, err := memory.Plan(items)
	if err != nil {
		return fmt.Errorf("plan memory of method %s: %w", e.m.Name, err)
	}
	for i, s := range e.order {
		for _, at := range s.values {
			e.plan.Values[at].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(offsets[i])}
		}
	}
	e.plan.NonConstBufferSizes = []int64{0, total}
	e.stats.LowerBound = memory.LowerBound(items)
	return nil
}

// extendOverLoops lets whatever lives when a loop begins live until it ends. Inner loops come before outer ones.
func (e *emitter) extendOverLoops() {
	for _, l := range e.loops {
		for _, s := range e.order {
			if s.first < l[0] && s.last >= l[0] && s.last < l[1] {
				s.last = l[1]
			}
		}
	}
}
