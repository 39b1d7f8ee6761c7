package op

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// maxSlots is how many slots there may be.
const maxSlots = bits.UintSize

// slots are parts of scratch memory that threads take while they compute, at most maxSlots.
type slots struct {
	count int
	taken uintptr // a bit for each that is in use
}

// enter takes a slot. With as many slots as threads there is always a free one.
func (s *slots) enter() int {
	for {
		taken := atomic.LoadUintptr(&s.taken)
		for i := range s.count {
			if bit := uintptr(1) << i; taken&bit == 0 && atomic.CompareAndSwapUintptr(&s.taken, taken, taken|bit) {
				return i
			}
		}
		runtime.Gosched()
	}
}

// leave gives a slot back.
func (s *slots) leave(i int) { atomic.AndUintptr(&s.taken, ^(uintptr(1) << i)) }
