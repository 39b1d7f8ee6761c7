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
// Each thread has a range of the loop, the same one of equal loops, so that it finds in its cache what it wrote there. It
// claims chunks from the front of its range, and then from the back of the others'. The caller waits for nobody but workers
// that have joined its loop: one that wakes up late costs nothing. Workers look out for the next loop a while before they
// sleep, since waking one takes longer than many a loop.
type Pool struct {
	busy    sync.Mutex // held by the caller whose loop the workers run
	started bool       // the workers are there, from the first loop that is divided on
	threads int
	wake    chan struct{}
	once    sync.Once
	asleep  atomic.Int32 // workers that wait for wake

	// The loop that runs, written by the holder of busy before it opens the gate.
	f        func(lo, hi int)
	n, unit  int                 // its length, and into pieces of how many it is divided
	most     int                 // units of a chunk
	ranges   []units             // of each thread, the caller's first
	panicked atomic.Pointer[any] // what f panicked with first

	_    line
	gate atomic.Uint64 // the number of the loop, whether it is open, and how many workers have joined
	_    line
	left atomic.Uint64 // how many of them are through
	_    line
}

// line keeps what lies before it and behind it apart in caches.
type line [64]byte

// units are the units of a thread that nobody has claimed: the first one, and above it, shifted by above, the end.
type units struct {
	atomic.Uint64
	_ line
}

const above = 32

// The parts of gate.
const (
	joined = 1<<15 - 1
	open   = 1 << 15
	loop   = 1 << 16 // the lowest bit of the loop's number
)

// A range has at most rangeUnits units, and is claimed in at least rangeChunks chunks.
const (
	rangeUnits  = 16
	rangeChunks = 4
)

// While it looks out for a loop or waits for workers, a thread lets others run after some looks; a worker falls asleep after
// some of these turns, about 200 µs.
const (
	looks = 32
	turns = 1000
)

// New is a pool of this many threads, the caller's included; 0 means one for each CPU. Those that nothing is run on do not start.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	threads = min(threads, joined)
	return &Pool{threads: threads, wake: make(chan struct{}, threads), ranges: make([]units, threads)}
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
	p.chunks(0)
	p.finish()
	p.f = nil
	if e := p.panicked.Swap(nil); e != nil {
		panic(*e)
	}
}

// start publishes a loop and wakes as many sleepers as it has chunks for.
func (p *Pool) start(n, grain int, f func(lo, hi int)) {
	if !p.started {
		p.started = true
		for i := 1; i < p.threads; i++ {
			go p.work(i)
		}
	}
	count := p.divide(n, grain)
	p.f = f
	p.left.Store(0)
	p.gate.Store(p.gate.Load()&^(loop-1) + loop | open)
	for range min(int(p.asleep.Load()), count-1) {
		select {
		case p.wake <- struct{}{}:
		default: // as many are on their way
		}
	}
}

// divide gives each thread its range of the units of n, which it counts.
func (p *Pool) divide(n, grain int) int {
	p.n, p.unit = n, max(grain, (n+rangeUnits*p.threads-1)/(rangeUnits*p.threads))
	count := (n + p.unit - 1) / p.unit
	p.most = max(1, count/p.threads/rangeChunks)
	for i := range p.ranges {
		lo, hi := count*i/p.threads, count*(i+1)/p.threads
		p.ranges[i].Store(uint64(lo) | uint64(hi)<<above)
	}
	return count
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

// work runs chunks of loops, as this thread, until the pool is closed.
func (p *Pool) work(thread int) {
	last := uint64(0)
	for idle := 1; ; idle++ {
		if p.join(thread, &last) {
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
		if !p.sleep(thread, &last) {
			return
		}
		idle = 0
	}
}

// sleep waits to be woken; it is false when the pool is closed.
func (p *Pool) sleep(thread int, last *uint64) bool {
	p.asleep.Add(1)
	defer p.asleep.Add(-1)
	if p.join(thread, last) { // it was opened before the caller saw a sleeper
		return true
	}
	_, ok := <-p.wake
	return ok
}

// join takes part in the loop if it is open and another one than last.
func (p *Pool) join(thread int, last *uint64) bool {
	g := p.gate.Load()
	if g&open == 0 || g/loop == *last || !p.gate.CompareAndSwap(g, g+1) {
		return false
	}
	*last = g / loop
	p.chunks(thread)
	p.left.Add(1)
	return true
}

// chunks runs chunks of the loop, first those of this thread, until none is left or one has panicked.
func (p *Pool) chunks(thread int) {
	defer func() {
		if r := recover(); r != nil {
			why := r // only this one escapes
			p.panicked.CompareAndSwap(nil, &why)
			for i := range p.ranges {
				p.ranges[i].Store(0)
			}
		}
	}()
	for i := range p.ranges {
		from := (thread + i) % p.threads
		for {
			lo, hi := p.claim(from, i == 0)
			if lo == hi {
				break
			}
			p.f(lo*p.unit, min(hi*p.unit, p.n))
		}
	}
}

// claim takes units of a range, which are fewer towards its end: the first ones or the last ones. It is empty if none are left.
func (p *Pool) claim(from int, first bool) (lo, hi int) {
	r := &p.ranges[from]
	for {
		was := r.Load()
		lo, hi = int(was&(1<<above-1)), int(was>>above)
		if lo >= hi {
			return 0, 0
		}
		switch n := max(1, min(p.most, (hi-lo)/2)); {
		case first:
			if r.CompareAndSwap(was, was+uint64(n)) {
				return lo, lo + n
			}
		case r.CompareAndSwap(was, was-uint64(n)<<above):
			return hi - n, hi
		}
	}
}
