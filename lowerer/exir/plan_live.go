package exir

import (
	"math/bits"
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
// that are still to be read. What is live is stored for the targets of jumps alone, so that memory does not grow with
// the square of the plan.
func (v *planVerifier) lifetimes() {
	v.numberTensors()
	at := map[int]liveSet{} // by target
	for i := range v.instructions() {
		if in := &v.instructions()[i]; in.Type == pte.JumpFalseCall {
			at[int(in.B)] = v.newSet()
		}
	}
	var live liveSet
	for changed := true; changed; {
		live, changed = v.backwards(at, func(int, liveSet) {})
	}
	v.unwritten(live)
	if v.Planned {
		v.backwards(at, v.conflicts)
	}
}

func (v *planVerifier) newSet() liveSet { return make(liveSet, (len(v.tensors)+63)/64) }

// backwards walks once over the instructions and calls visit with what is live after each. It gives what is live before
// the first, and whether what is live at a target, which it writes to at, has changed.
func (v *planVerifier) backwards(at map[int]liveSet, visit func(i int, after liveSet)) (live liveSet, changed bool) {
	live = v.newSet()
	for _, list := range [][]int32{v.Outputs, v.State} {
		for _, i := range list {
			v.add(live, v.tensorsOf(nil, i))
		}
	}
	for i := len(v.instructions()); ; i-- {
		if known := at[i]; known != nil && !slices.Equal(known, live) {
			copy(known, live)
			changed = true
		}
		if i == 0 {
			return live, changed
		}
		v.before(i-1, at, live, visit)
	}
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

// before turns what is live after instruction i and what follows it into what is live before it.
func (v *planVerifier) before(i int, at map[int]liveSet, live liveSet, visit func(i int, after liveSet)) {
	in := &v.instructions()[i]
	switch target := at[int(in.B)]; {
	case in.Type != pte.JumpFalseCall:
	case v.never(in.A):
		copy(live, target)
	default:
		for w := range live {
			live[w] |= target[w]
		}
	}
	visit(i, live)
	for _, w := range v.writes[i] {
		live.remove(v.index[w])
	}
	v.add(live, v.reads[i])
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

// conflicts reports the tensors that instruction at writes over others that are read after it, or by it: a kernel may
// write before it has read all.
func (v *planVerifier) conflicts(at int, after liveSet) {
	written := slices.Concat(v.writes[at], v.partial[at])
	if len(written) == 0 {
		return
	}
	busy := slices.Clone(after)
	v.add(busy, v.reads[at])
	v.at = at
	for word, set := range busy {
		for ; set != 0; set &= set - 1 {
			r := v.tensors[word*64+bits.TrailingZeros64(set)]
			for _, w := range written {
				if r != w && v.overlap(r, w) {
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
