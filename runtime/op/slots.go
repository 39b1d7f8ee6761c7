package op

import (
	"runtime"
	"sync/atomic"
)

// maxSlots is how many slots there may be.
const maxSlots = 64

// slots are parts of scratch memory that threads take while they compute, at most maxSlots.
type slots struct {
	count int
	taken uint64 // a bit for each that is in use
}

// enter takes a slot. With as many slots as threads there is always a free one.
func (s *slots) enter() int {
	for {
		taken := atomic.LoadUint64(&s.taken)
		for i := range s.count {
			if bit := uint64(1) << i; taken&bit == 0 && atomic.CompareAndSwapUint64(&s.taken, taken, taken|bit) {
				return i
			}
		}
		runtime.Gosched()
	}
}

// leave gives a slot back.
func (s *slots) leave(i int) { atomic.AndUint64(&s.taken, ^(uint64(1) << i)) }
