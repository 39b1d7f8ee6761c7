package op

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestSlots lets more goroutines than there are slots take and leave them: no slot has two of them at a time.
func TestSlots(t *testing.T) {
	s := Slots{Count: 3, Items: 1000}
	var users [3]atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for item := range 1000 {
				i := s.Enter(item)
				if n := users[i].Add(1); n != 1 {
					t.Errorf("slot %d has %d users", i, n)
				}
				users[i].Add(-1)
				s.Leave(i)
			}
		})
	}
	group.Wait()
	if s.taken != 0 {
		t.Errorf("taken %b after all have left", s.taken)
	}
}
