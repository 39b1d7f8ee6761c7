package executor

import (
	"math/rand/v2"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// TestFirstUses says of each tensor of random programs whether the first step that reads or writes where it lies reads, as looking through the
// steps does, also once some have been moved.
func TestFirstUses(t *testing.T) {
	kept := map[bool]int{}
	for seed := range uint64(60) {
		m := loadOf(t, madeProgram(seed, false), LoadOptions{Kernels: op.Kernels}).methods[0]
		f := &fuser{method: m, views: m.findViews(), steps: m.steps, spans: m.findSpans()}
		f.findAreas()
		byDefinition := func(x int32) bool {
			for _, v := range f.plan.Inputs {
				if f.overlap(v, x) {
					return false
				}
			}
			for i := range f.steps {
				if f.any(f.steps[i].reads(), x) {
					return true
				}
				if f.any(f.steps[i].touches(), x) {
					return false
				}
			}
			return true
		}
		want := map[int32]bool{}
		for v := range f.vals {
			if x := int32(v); f.vals[v].Kind == op.Tensor && f.areas[x].from < f.areas[x].to {
				want[x] = byDefinition(x)
			}
		}
		r := rand.New(rand.NewPCG(seed, 1))
		move := func(v int) {
			if f.place[v] == planned && f.areas[v].memory == fusedArena && r.IntN(8) == 0 {
				f.isolate(f.spans.root(f.base(int32(v))))
			}
		}
		for v := 0; seed%2 == 1 && v < len(f.vals); v++ {
			move(v)
		}
		for v := range f.vals {
			if want, ok := want[int32(v)]; ok {
				kept[want]++
				if got := f.kept(int32(v)); got != want {
					t.Errorf("seed %d: value %d: kept: %v, want %v", seed, v, got, want)
				}
			}
			move(v)
		}
	}
	if kept[true] < 20 || kept[false] < 200 {
		t.Errorf("%d are kept, and %d are not", kept[true], kept[false])
	}
}
