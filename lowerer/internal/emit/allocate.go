package emit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// allocate plans the arenas of the method and writes the places into its tensors.
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
	places, err := e.place(items)
	if err != nil {
		return err
	}
	for i, s := range e.order {
		for _, at := range s.values {
			e.plan.Values[at].Tensor.Allocation = &pte.Allocation{
				MemoryID: uint32(e.opts.Banks[places[i].Bank].MemoryID), Offset: uint64(places[i].Offset),
			}
		}
	}
	e.stats.LowerBound = memory.LowerBound(items)
	return nil
}

// place gives the items their places in what the methods before left of the banks.
func (e *emitter) place(items []memory.Item) ([]memory.Place, error) {
	banks, used := e.opts.Banks, e.shared.used
	limits := make([]int64, len(banks))
	for i, b := range banks {
		if limits[i] = b.Limit; b.Limit != memory.NoLimit {
			limits[i] = max(b.Limit-used[i]-e.padding, 0)
		}
	}
	places, sizes, err := memory.PlanBanks(items, limits)
	var overflow *memory.OverflowError
	switch {
	case errors.As(err, &overflow):
		i := overflow.Bank
		taken := used[i] + e.padding
		return nil, &OverflowError{e.m.Name, banks[i].Name, overflow.Need + taken, overflow.Bound + taken, banks[i].Limit}
	case err != nil:
		return nil, fmt.Errorf("plan memory of method %s: %w", e.m.Name, err)
	}
	e.plan.NonConstBufferSizes = []int64{0, 0}
	e.stats.Banks = map[string]int64{}
	for i, b := range banks {
		if sizes[i] > 0 {
			sizes[i] += e.padding
		}
		setArena(e.plan, b.MemoryID, sizes[i])
		e.stats.Banks[b.Name] = sizes[i]
		used[i] += sizes[i]
	}
	return places, nil
}

// setArena sets the size of arena id, which may be past the last one so far.
func setArena(plan *pte.ExecutionPlan, id int, size int64) {
	for len(plan.NonConstBufferSizes) <= id {
		plan.NonConstBufferSizes = append(plan.NonConstBufferSizes, 0)
	}
	plan.NonConstBufferSizes[id] = size
}

// stateArena is the first arena from 2 on that is no bank's.
func stateArena(banks []Bank) int {
	for id := 2; ; id++ {
		if !slices.ContainsFunc(banks, func(b Bank) bool { return b.MemoryID == id }) {
			return id
		}
	}
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
