// Package parallel is the worker pool of kernels.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool runs loops on several threads. Its methods may be called by several goroutines: a caller that
// finds the pool busy runs its own chunks.
type Pool struct {
	busy    sync.Mutex // held by the caller whose loop the workers run
	threads int
	wake    chan struct{}
	done    sync.WaitGroup
	once    sync.Once

	// The loop that runs, written by the holder of busy before it wakes workers.
	f        func(lo, hi int)
	n, chunk int
	next     atomic.Int64
	panicked atomic.Pointer[any] // what f panicked with first
}

// New is a pool of this many threads, the caller's included; 0 means one for each CPU.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads, wake: make(chan struct{}, threads)}
	for i := 1; i < threads; i++ {
		go p.work()
	}
	return p
}

// Threads is the number of threads, the caller's included.
func (p *Pool) Threads() int { return p.threads }

// Close ends the workers; no Run may be under way or follow.
func (p *Pool) Close() {
	p.once.Do(func() { close(p.wake) })
}

// Run runs f over [0,n) in chunks of at least grain and returns when all have run. A panic of f is
// raised again here, from whichever thread it came.
func (p *Pool) Run(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if p.threads == 1 || n <= grain || !p.busy.TryLock() {
		f(0, n)
		return
	}
	defer p.busy.Unlock()
	p.start(n, grain, f)
	p.chunks()
	p.done.Wait()
	p.f = nil
	if e := p.panicked.Swap(nil); e != nil {
		panic(*e)
	}
}

// start publishes a loop and wakes as many workers as it has chunks for.
func (p *Pool) start(n, grain int, f func(lo, hi int)) {
	p.f, p.n = f, n
	p.chunk = max(grain, (n+4*p.threads-1)/(4*p.threads))
	p.next.Store(0)
	workers := min(p.threads, (n+p.chunk-1)/p.chunk) - 1
	p.done.Add(workers)
	for range workers {
		p.wake <- struct{}{}
	}
}

func (p *Pool) work() {
	for range p.wake {
		p.chunks()
		p.done.Done()
	}
}

// chunks runs chunks of the loop until none is left or one has panicked.
func (p *Pool) chunks() {
	defer func() {
		if r := recover(); r != nil {
			why := r // only this one escapes
			p.panicked.CompareAndSwap(nil, &why)
			p.next.Store(int64(p.n))
		}
	}()
	for {
		hi := int(p.next.Add(int64(p.chunk)))
		lo := hi - p.chunk
		if lo >= p.n {
			return
		}
		p.f(lo, min(hi, p.n))
	}
}
