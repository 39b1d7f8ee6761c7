package op

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// MaxSlots is how many slots there may be.
const MaxSlots = bits.UintSize

// SlotGap is how many bytes should lie between the parts of two slots, so that no core fetches ahead what another one writes.
const SlotGap = 4096

// Slots are parts of scratch memory that threads take while they compute, at most MaxSlots.
type Slots struct {
	Count int
	Items int     // what the threads divide
	taken uintptr // a bit for each that is in use
}

// Enter takes a slot for items from this one on: if it is free that of the thread whose items these are, which has it in its
// cache. With as many slots as threads there is always a free one.
func (s *Slots) Enter(item int) int {
	first := item * s.Count / s.Items
	for {
		taken := atomic.LoadUintptr(&s.taken)
		for k := range s.Count {
			i := (first + k) % s.Count
			if bit := uintptr(1) << i; taken&bit == 0 && atomic.CompareAndSwapUintptr(&s.taken, taken, taken|bit) {
				return i
			}
		}
		runtime.Gosched()
	}
}

// Leave gives a slot back.
func (s *Slots) Leave(i int) { atomic.AndUintptr(&s.taken, ^(uintptr(1) << i)) }
