package exir

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// places checks that every tensor that needs a place in an arena has one, and lies within it.
func (v *planVerifier) places() {
	callers := map[int32]bool{} // may be in the caller's memory
	for _, i := range slices.Concat(v.Inputs, v.Outputs) {
		callers[i] = true
	}
	for i := range v.Values {
		t := v.Values[i].Tensor
		if v.Values[i].Type != pte.TensorValue {
			continue
		}
		a := t.Allocation
		switch {
		case a == nil:
			if !callers[v.root[i]] && !v.fixed(v.root[i]) && t.Dynamism != pte.DynamicUnbound {
				v.failAt(v.root[i], "%s has no place", valueName(int32(i)))
			}
		case a.MemoryID == 0 || int(a.MemoryID) >= len(v.NonConstBufferSizes):
			v.failAt(v.root[i], "%s lies in arena %d, which does not exist", valueName(int32(i)), a.MemoryID)
		case a.Offset+uint64(planBytes(t)) > uint64(v.NonConstBufferSizes[a.MemoryID]):
			v.failAt(v.root[i], "%s ends at %d of arena %d, which has %d bytes", valueName(int32(i)), a.Offset+uint64(planBytes(t)),
				a.MemoryID, v.NonConstBufferSizes[a.MemoryID])
		}
		if base := v.root[i]; base != int32(i) && !samePlace(a, v.Values[base].Tensor.Allocation) {
			v.failAt(v.root[i], "%s is a view of %s and lies elsewhere", valueName(int32(i)), valueName(base))
		}
	}
}

func samePlace(a, b *pte.Allocation) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// planBytes is the largest number of bytes of a tensor.
func planBytes(t *pte.Tensor) int64 {
	n := int64(t.ScalarType.Size())
	for _, s := range t.Sizes {
		n *= int64(s)
	}
	return n
}

// fixed reports a constant.
func (v *planVerifier) fixed(i int32) bool {
	return v.Values[i].Tensor.DataBufferIdx != 0 && !slices.Contains(v.State, i)
}

// lifetimes walks backwards from the end of the plan, in rounds while jumps change something, and keeps the tensors
// that are still to be read.
func (v *planVerifier) lifetimes() {
	ins := v.instructions()
	before := make([]liveSet, len(ins)+1)
	end := liveSet{}
	for _, list := range [][]int32{v.Outputs, v.State} {
		for _, i := range list {
			for _, r := range v.tensorsOf(nil, i) {
				end[r] = true
			}
		}
	}
	before[len(ins)] = end
	for changed := true; changed; {
		changed = false
		for i := len(ins) - 1; i >= 0; i-- {
			live := v.step(i, before)
			if len(live) != len(before[i]) || before[i] == nil { // sets only grow
				before[i], changed = live, true
			}
		}
	}
	v.conflicts(before)
	v.unwritten(before[0])
}

// liveSet is a set of tensors.
type liveSet map[int32]bool

// step is what is live before instruction i.
func (v *planVerifier) step(i int, before []liveSet) liveSet {
	live := v.afterwards(i, before)
	for _, w := range v.writes[i] {
		delete(live, w)
	}
	for _, r := range v.reads[i] {
		live[r] = true
	}
	return live
}

// afterwards is what is live after instruction i.
func (v *planVerifier) afterwards(i int, before []liveSet) liveSet {
	live := liveSet{}
	next, jump := i+1, -1
	if in := &v.instructions()[i]; in.Type == pte.JumpFalseCall {
		jump = int(in.B)
		if v.never(in.A) {
			next = jump
		}
	}
	for _, at := range []int{next, jump} {
		if at >= 0 {
			for r := range before[at] {
				live[r] = true
			}
		}
	}
	return live
}

// never reports a condition that is the constant false: such a jump is always taken.
func (v *planVerifier) never(i int32) bool {
	if v.Values[i].Type != pte.Bool || v.Values[i].Int != 0 || slices.Contains(v.Inputs, i) {
		return false
	}
	return !slices.ContainsFunc(v.instructions(), func(in pte.Instruction) bool {
		return in.Type == pte.MoveCall && in.B == i || slices.Contains(in.Args, i) && in.Type == pte.KernelCall && in.Args[len(in.Args)-1] == i
	})
}

// conflicts reports tensors that an instruction writes over others that are still to be read.
func (v *planVerifier) conflicts(before []liveSet) {
	for v.at = range v.instructions() {
		written := slices.Concat(v.writes[v.at], v.partial[v.at])
		if len(written) == 0 {
			continue
		}
		busy := v.afterwards(v.at, before)
		for _, r := range v.reads[v.at] {
			busy[r] = true // a kernel may write before it has read all
		}
		for _, w := range written {
			for _, r := range sortedSet(busy) {
				if r != w && v.overlap(r, w) {
					v.fail("it writes %s over %s, which is still in use", valueName(w), valueName(r))
				}
			}
		}
	}
	v.at = -1
}

func sortedSet(s liveSet) []int32 {
	list := make([]int32, 0, len(s))
	for i := range s {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

// overlap reports that two tensors have a byte of an arena in common.
func (v *planVerifier) overlap(i, j int32) bool {
	s, t := v.Values[i].Tensor, v.Values[j].Tensor
	a, b := s.Allocation, t.Allocation
	return a != nil && b != nil && a.MemoryID == b.MemoryID &&
		a.Offset < b.Offset+uint64(planBytes(t)) && b.Offset < a.Offset+uint64(planBytes(s))
}

// unwritten reports tensors that are read at the start and have no contents then.
func (v *planVerifier) unwritten(live liveSet) {
	for _, i := range sortedSet(live) {
		if !slices.Contains(v.Inputs, i) && !slices.Contains(v.State, i) && !v.fixed(i) {
			v.failAt(i, "%s is read before it is written", valueName(i))
		}
	}
}
