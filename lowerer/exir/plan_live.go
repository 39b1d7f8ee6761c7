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
	v.numberTensors()
	ins := v.instructions()
	before := make([]liveSet, len(ins)+1)
	for i := range before {
		before[i] = make(liveSet, (len(v.tensors)+63)/64)
	}
	for _, list := range [][]int32{v.Outputs, v.State} {
		for _, i := range list {
			v.add(before[len(ins)], v.tensorsOf(nil, i))
		}
	}
	scratch := make(liveSet, len(before[0]))
	for changed := true; changed; {
		changed = false
		for i := len(ins) - 1; i >= 0; i-- {
			v.afterwards(i, before, scratch)
			for _, w := range v.writes[i] {
				scratch.remove(v.index[w])
			}
			v.add(scratch, v.reads[i])
			if !slices.Equal(scratch, before[i]) {
				copy(before[i], scratch)
				changed = true
			}
		}
	}
	if v.Planned {
		v.conflicts(before, scratch)
	}
	v.unwritten(before[0])
}

// numberTensors gives the tensors that are no views and no constants numbers of their own.
func (v *planVerifier) numberTensors() {
	v.index = make([]int, len(v.Values))
	for i := range v.Values {
		v.index[i] = -1
		if v.Values[i].Type == pte.TensorValue && v.root[i] == int32(i) && !v.fixed(int32(i)) {
			v.index[i] = len(v.tensors)
			v.tensors = append(v.tensors, int32(i))
		}
	}
}

// liveSet is a set of tensors by their numbers.
type liveSet []uint64

func (s liveSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s liveSet) remove(i int) {
	if i >= 0 {
		s[i/64] &^= 1 << (i % 64)
	}
}

// add puts roots into s, but for constants.
func (v *planVerifier) add(s liveSet, roots []int32) {
	for _, r := range roots {
		if i := v.index[r]; i >= 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}
}

// afterwards sets live to what is live after instruction i.
func (v *planVerifier) afterwards(i int, before []liveSet, live liveSet) {
	in := &v.instructions()[i]
	switch {
	case in.Type != pte.JumpFalseCall:
		copy(live, before[i+1])
	case v.never(in.A):
		copy(live, before[in.B])
	default:
		for w := range live {
			live[w] = before[i+1][w] | before[in.B][w]
		}
	}
}

// never reports a condition that is the constant false: such a jump is always taken.
func (v *planVerifier) never(i int32) bool {
	if v.Values[i].Type != pte.Bool || v.Values[i].Int != 0 || slices.Contains(v.Inputs, i) {
		return false
	}
	return !slices.ContainsFunc(v.instructions(), func(in pte.Instruction) bool {
		return in.Type == pte.MoveCall && in.B == i || in.Type == pte.KernelCall && len(in.Args) > 0 && in.Args[len(in.Args)-1] == i
	})
}

// conflicts reports tensors that an instruction writes over others that are still to be read.
func (v *planVerifier) conflicts(before []liveSet, busy liveSet) {
	for v.at = range v.instructions() {
		written := slices.Concat(v.writes[v.at], v.partial[v.at])
		if len(written) == 0 {
			continue
		}
		v.afterwards(v.at, before, busy)
		v.add(busy, v.reads[v.at]) // a kernel may write before it has read all
		for _, w := range written {
			for i, r := range v.tensors {
				if busy.has(i) && r != w && v.overlap(r, w) {
					v.fail("it writes %s over %s, which is still in use", valueName(w), valueName(r))
				}
			}
		}
	}
	v.at = -1
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
	for i, t := range v.tensors {
		if live.has(i) && !slices.Contains(v.Inputs, t) && !slices.Contains(v.State, t) {
			v.failAt(t, "%s is read before it is written", valueName(t))
		}
	}
}
