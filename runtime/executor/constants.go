package executor

import (
	"slices"
	"sync/atomic"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/parallel"
)

// hugePage is the size of a large page of the system.
const hugePage = 2 << 20

// The least and the most bytes of a chunk. Memory that is reserved and not used costs only addresses.
const (
	leastChunk = 64 << 10
	roomyChunk = 32 << 20 // those of less have twice the room
	mostChunk  = 256 << 20
)

// constants is the memory of packed constants: pieces of a few large chunks, so that the system can give them large pages and
// takes all back at once.
type constants struct {
	chunks []chunk
	least  int // the least size of a chunk
}

// chunk is a piece of memory of which the first used bytes are given out, and the first ready ones have been prepared.
type chunk struct {
	data        []byte
	used, ready int
	unmap       func() // nil: Go's heap
}

// newConstants is for constants that a file of n bytes has.
func newConstants(n int) constants {
	return constants{least: min(max(n, leastChunk), mostChunk)}
}

// take gives n zero bytes at a multiple of 64. Chunks have room for twice as much as the file has, since packed weights may be larger: two chunks
// of less than a large page each would have none.
func (s *constants) take(n int) []byte {
	size := (n + 63) &^ 63
	if k := len(s.chunks); k == 0 || size > len(s.chunks[k-1].data)-s.chunks[k-1].used {
		least := max(size, s.least)
		s.chunks = append(s.chunks, newChunk(least, max(least, min(2*least, roomyChunk))))
	}
	c := &s.chunks[len(s.chunks)-1]
	at := c.used
	c.used += size
	return c.data[at : at+n : at+n]
}

// add keeps c, which is full, until the others are given back.
func (s *constants) add(c chunk) {
	c.used, c.ready = len(c.data), len(c.data)
	s.chunks = slices.Insert(s.chunks, 0, c)
}

// newChunk is a chunk of n bytes, or of room, which is not less, where they cost only addresses.
func newChunk(n, room int) chunk {
	if data, unmap := mapMemory(room); unmap != nil {
		return chunk{data: data, unmap: unmap}
	}
	return chunk{data: op.AlignedBytes(n)}
}

// prepare asks for large pages for what was taken since the last time.
func (s *constants) prepare() {
	for i := range s.chunks {
		c := &s.chunks[i]
		if from, until := c.largePages(); c.unmap != nil && until > from {
			useHugePages(c.data[from:until])
		}
		c.ready = c.used
	}
}

// largePages is where the large pages lie that what was taken since the last time fills, the last of them by three quarters: small pages for as
// much take the system several times as long, and at most half a MiB of memory is in vain.
func (c *chunk) largePages() (from, until int) {
	return (c.ready + hugePage - 1) &^ (hugePage - 1), min(c.used+hugePage/4, len(c.data)) &^ (hugePage - 1)
}

func (s *constants) close() {
	for i := range s.chunks {
		s.chunks[i].close()
	}
	s.chunks = nil
}

func (c *chunk) close() {
	if c.unmap != nil {
		c.unmap()
	}
}

// populateLeast is from how many bytes on a job's pages come before it runs; the system gives the others' one by one.
const populateLeast = 32 << 10

// shareLeast is from how many bytes on all jobs are divided among threads: to start those takes as long as to pack so much.
const shareLeast = 512 << 10

// largeShare is which part of all bytes makes a job a large one.
const largeShare = 8

// packAll runs jobs, on the threads of pool where there is much to do. The large ones are first, so that no thread has one left in the
// end; the others keep their order, which is that of the file: what the system maps around a job's weights is the next one's, who gives it back.
func packAll(pool *parallel.Pool, jobs []backend.Packing) {
	threads, sum := min(pool.Threads(), len(jobs)), 0
	for i := range jobs {
		sum += jobs[i].Bytes
	}
	if sum < shareLeast {
		threads = min(threads, 1)
	}
	if threads > 1 {
		large := sum/largeShare + 1
		slices.SortStableFunc(jobs, func(a, b backend.Packing) int { return b.Bytes/large - a.Bytes/large })
	}
	var next atomic.Int64
	pool.Run(threads, 1, func(int, int) {
		for i := next.Add(1); i <= int64(len(jobs)); i = next.Add(1) {
			job := &jobs[i-1]
			if len(job.Into) >= populateLeast {
				populate(job.Into) // now, so that the pages are still in the cache when they are written
			}
			job.Run()
		}
	})
}
