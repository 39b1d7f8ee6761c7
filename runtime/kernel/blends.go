package kernel

import (
	"math"
	"unsafe"
)

// Blend computes lines of n float32, each a sum of some of other lines, each times a weight:
//
//	out[i·n+k] = Σ weight[i·taps+t] · x[at[i·taps+t]·step+k]
//
// Its layout is known to the generator.
type Blend struct {
	x, out       *float32
	plan         *uint32
	taps, blocks uintptr
	from, next   uintptr // bytes into a line of the first block and of the second, which may begin within the first
	lines        uintptr // at least 1
	stride       uintptr // bytes from a line of results to the next

	tier    Tier
	words   []uint32 // of all lines
	vectors int      // of a block
	n       int
}

// blendMost is how many sums of how many taps one call takes at most, so that the garbage collector need not wait for long.
const blendMost = 64 << 10

// blendWords is how many words a tap of a line has: where what it takes begins, of 64 bits, then its weight.
const blendWords = 4

// BlendOf are the blends of lines of n elements by this many taps for each result; false if t has no kernel for them.
func BlendOf(t Tier, taps, n int) (Blend, bool) {
	t = t.float().Narrow(n)
	b := Blend{tier: t, taps: uintptr(taps), n: n, vectors: 1}
	lanes := lanesOf(t)
	if t == Scalar || taps == 0 || n < lanes {
		return b, false
	}
	for b.vectors < 4 && 2*b.vectors*lanes <= n {
		b.vectors *= 2
	}
	size := b.vectors * lanes
	b.blocks = uintptr((n + size - 1) / size)
	b.from, b.next = 0, uintptr(n-int(b.blocks-1)*size)*unsafe.Sizeof(float32(0))
	b.stride = uintptr(n) * unsafe.Sizeof(float32(0))
	return b, true
}

// Words is how many words Plan fills for so many lines.
func (b *Blend) Words(lines int) int { return lines * int(b.taps) * blendWords }

// Plan fills words, as many as Words says; at and weight have as many elements as the lines have taps.
func (b *Blend) Plan(words []uint32, at []int, weight []float32, step int) {
	b.words = words[:b.Words(len(at)/int(b.taps))]
	for i, w := range weight {
		from := uint64(at[i]*step) * uint64(unsafe.Sizeof(w))
		tap := words[i*blendWords : (i+1)*blendWords]
		tap[0], tap[1], tap[2], tap[3] = uint32(from), uint32(from>>32), math.Float32bits(w), 0
	}
}

// Run computes the lines of the plan, which lie behind each other in out, from those that x begins with.
func (b *Blend) Run(out, x []float32) {
	per := b.Words(1)
	lines := len(b.words) / per
	most := max(1, blendMost/(int(b.taps)*b.n))
	b.x = &x[0]
	for at := 0; at < lines; at += most {
		n := min(lines-at, most)
		b.out, b.plan, b.lines = &out[at*b.n : (at+n)*b.n][0], &b.words[at*per], uintptr(n)
		b.run(b.tier, b.vectors)
	}
}
