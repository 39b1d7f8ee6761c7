package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRunCoversOnce(t *testing.T) {
	p := New(4)
	defer p.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 200 {
				hits := make([]atomic.Int32, n)
				p.Run(n, 1+n%7, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						hits[i].Add(1)
					}
				})
				for i := range hits {
					if hits[i].Load() != 1 {
						t.Errorf("n %d: index %d ran %d times", n, i, hits[i].Load())
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestNestedRun(t *testing.T) {
	p := New(2)
	defer p.Close()
	var sum atomic.Int64
	p.Run(8, 1, func(lo, hi int) {
		p.Run(hi-lo, 1, func(a, b int) { sum.Add(int64(b - a)) })
	})
	if sum.Load() != 8 {
		t.Errorf("sum %d, want 8", sum.Load())
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	p := New(4)
	defer p.Close()
	for range 20 {
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v, want boom", r)
				}
			}()
			p.Run(100, 1, func(lo, _ int) {
				if lo >= 40 {
					panic("boom")
				}
			})
		}()
	}
}

// TestSleepers runs loops after workers have fallen asleep, and wants Close to end them. There are none before a loop that is divided.
func TestSleepers(t *testing.T) {
	before := runtime.NumGoroutine()
	p := New(3)
	p.Run(100, 100, func(int, int) {})
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d workers have started for nothing", n-before)
	}
	for range 5 {
		var sum atomic.Int64
		p.Run(100, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
		if sum.Load() != 100 {
			t.Fatalf("%d of 100 ran", sum.Load())
		}
		for p.asleep.Load() < 2 {
			runtime.Gosched()
		}
	}
	p.Close()
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// TestOneProcessor has more threads than may run at a time.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := New(4)
	defer p.Close()
	for n := range 200 {
		var sum atomic.Int64
		p.Run(n, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
		if int(sum.Load()) != n {
			t.Fatalf("%d of %d ran", sum.Load(), n)
		}
	}
}

// TestClaims claims all of a loop: the caller its range from the front, then the worker's from the back.
func TestClaims(t *testing.T) {
	p := New(2)
	defer p.Close()
	tests := []struct {
		n, grain    int
		front, back []int // units of the chunks
	}{
		{n: 32, grain: 1, front: []int{4, 4, 4, 2, 1, 1}, back: []int{4, 4, 4, 2, 1, 1}},
		{n: 1000, grain: 100, front: []int{1, 1, 1, 1, 1}, back: []int{1, 1, 1, 1, 1}},
		{n: 3, grain: 1, front: []int{1}, back: []int{1, 1}},
		{n: 3, grain: 2, front: []int{1}, back: []int{1}},
	}
	for _, test := range tests {
		count := p.divide(test.n, test.grain)
		at := 0
		for _, want := range test.front {
			if lo, hi := p.claim(0, true); lo != at || hi != at+want {
				t.Errorf("n %d: claimed [%d,%d), want %d from %d on", test.n, lo, hi, want, at)
			}
			at += want
		}
		end := count
		for _, want := range test.back {
			if lo, hi := p.claim(1, false); lo != end-want || hi != end {
				t.Errorf("n %d: claimed [%d,%d), want %d up to %d", test.n, lo, hi, want, end)
			}
			end -= want
		}
		if lo, hi := p.claim(0, true); lo != hi || at != end {
			t.Errorf("n %d: [%d,%d) is left, and [%d,%d)", test.n, lo, hi, at, end)
		}
	}
}

// BenchmarkRun is a loop of two chunks that do next to nothing.
func BenchmarkRun(b *testing.B) {
	p := New(2)
	defer p.Close()
	var hits [2]atomic.Int64
	f := func(lo, hi int) { hits[lo].Add(1) }
	for b.Loop() {
		p.Run(2, 1, f)
	}
}
