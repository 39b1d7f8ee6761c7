package parallel

import (
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
