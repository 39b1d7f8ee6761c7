package executor

import (
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/parallel"
)

// TestConstants takes memory of several chunks, before and after it has its pages.
func TestConstants(t *testing.T) {
	for _, file := range []int{0, 1 << 20, 5 << 20} {
		s := newConstants(file)
		var all [][]byte
		for i, n := range []int{0, 1, 63, 64, 100 << 10, 1 << 20, hugePage + 4096, 3, 3 * hugePage, 700 << 10} {
			b := s.take(n)
			if len(b) != n || cap(b) != n {
				t.Fatalf("%d bytes: got %d of %d", n, len(b), cap(b))
			}
			if n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
				t.Errorf("%d bytes lie at %p", n, &b[0])
			}
			if i%3 == 0 {
				s.prepare()
			}
			all = append(all, b)
		}
		s.prepare()
		for i, b := range all {
			for j := range b {
				if b[j] != 0 {
					t.Fatalf("piece %d: byte %d is %d", i, j, b[j])
				}
				b[j] = byte(i + 1)
			}
		}
		for i, b := range all {
			for j := range b {
				if b[j] != byte(i+1) {
					t.Fatalf("piece %d: byte %d is piece %d's", i, j, b[j]-1)
				}
			}
		}
		s.close()
	}
}

// TestPackAll runs every job once, on one thread and on several.
func TestPackAll(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := parallel.New(threads)
		var runs [20]atomic.Int32
		var jobs []backend.Packing
		for i := range runs {
			jobs = append(jobs, backend.Packing{Bytes: i % 7, Run: func() { runs[i].Add(1) }})
		}
		packAll(pool, jobs)
		packAll(pool, nil)
		pool.Close()
		for i := range runs {
			if n := runs[i].Load(); n != 1 {
				t.Errorf("%d threads: job %d ran %d times", threads, i, n)
			}
		}
	}
}

// TestPackingFails has no instance after a job that panics.
func TestPackingFails(t *testing.T) {
	p := &Program{pool: parallel.New(1)}
	defer p.pool.Close()
	p.users.Store(1)
	p.opts.setDefaults()
	p.later([]backend.Packing{{Run: func() { panic("no weights") }}})
	for range 2 {
		if _, err := p.NewInstance(); err == nil || !strings.Contains(err.Error(), "no weights") {
			t.Errorf("got %v, want an error with the panic", err)
		}
	}
	if n := p.users.Load(); n != 1 {
		t.Errorf("%d users are left, want 1", n)
	}
}
