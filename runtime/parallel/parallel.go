// Package parallel is the worker pool of kernels.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool runs loops on several threads. Its methods may be called by several goroutines: a caller that
// finds the pool busy runs its own chunks.
//
// Threads claim chunks, the caller too, and it waits for nobody but workers that have joined its loop: one that wakes up
// late costs nothing. Workers look out for the next loop a while before they sleep, since waking one takes longer than many
// a loop.
type Pool struct {
	busy    sync.Mutex // held by the caller whose loop the workers run
	threads int
	wake    chan struct{}
	once    sync.Once
	asleep  atomic.Int32 // workers that wait for wake

	// The loop that runs, written by the holder of busy before it opens the gate.
	f        func(lo, hi int)
	n, chunk int
	next     atomic.Int64
	panicked atomic.Pointer[any] // what f panicked with first

	gate atomic.Uint64 // the number of the loop, whether it is open, and how many workers have joined
	left atomic.Uint64 // how many of them are through
}

// The parts of gate.
const (
	joined = 1<<15 - 1
	open   = 1 << 15
	loop   = 1 << 16 // the lowest bit of the loop's number
)

// While it looks out for a loop or waits for workers, a thread lets others run after some looks; a worker falls asleep after
// some of these turns, about 200 µs.
const (
	looks = 32
	turns = 1000
)

// New is a pool of this many threads, the caller's included; 0 means one for each CPU.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	threads = min(threads, joined)
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
	p.finish()
	p.f = nil
	if e := p.panicked.Swap(nil); e != nil {
		panic(*e)
	}
}

// start publishes a loop and wakes as many sleepers as it has chunks for.
func (p *Pool) start(n, grain int, f func(lo, hi int)) {
	p.f, p.n = f, n
	p.chunk = max(grain, (n+4*p.threads-1)/(4*p.threads))
	p.next.Store(0)
	p.left.Store(0)
	p.gate.Store(p.gate.Load()&^(loop-1) + loop | open)
	for range min(int(p.asleep.Load()), (n+p.chunk-1)/p.chunk-1) {
		select {
		case p.wake <- struct{}{}:
		default: // as many are on their way
		}
	}
}

// finish lets nobody else join the loop and waits for those who have.
func (p *Pool) finish() {
	g := p.gate.And(^uint64(open))
	for i := 1; p.left.Load() != g&joined; i++ {
		if i%looks == 0 {
			runtime.Gosched()
		}
	}
}

// work runs chunks of loops until the pool is closed.
func (p *Pool) work() {
	last := uint64(0)
	for idle := 1; ; idle++ {
		if p.join(&last) {
			idle = 0
			continue
		}
		if idle%looks != 0 {
			continue
		}
		if idle < looks*turns {
			runtime.Gosched()
			continue
		}
		if !p.sleep(&last) {
			return
		}
		idle = 0
	}
}

// sleep waits to be woken; it is false when the pool is closed.
func (p *Pool) sleep(last *uint64) bool {
	p.asleep.Add(1)
	defer p.asleep.Add(-1)
	if p.join(last) { // it was opened before the caller saw a sleeper
		return true
	}
	_, ok := <-p.wake
	return ok
}

// join takes part in the loop if it is open and another one than last.
func (p *Pool) join(last *uint64) bool {
	g := p.gate.Load()
	if g&open == 0 || g/loop == *last || !p.gate.CompareAndSwap(g, g+1) {
		return false
	}
	*last = g / loop
	p.chunks()
	p.left.Add(1)
	return true
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
