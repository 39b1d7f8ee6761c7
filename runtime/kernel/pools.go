package kernel

import "unsafe"

// PoolKind is what a Pool makes of the elements of a window.
type PoolKind uint8

// The mean and the largest of float32, where NaN is larger than all, and the largest of int8. Of equal zeros it may be the one of either
// sign, and of several NaN, any one.
const (
	PoolMean PoolKind = iota
	PoolLargest
	PoolLargestS8
)

// lanes is how many elements a vector of t has.
func (k PoolKind) lanes(t Tier) int {
	if k == PoolLargestS8 {
		return 4 * lanesOf(t)
	}
	return lanesOf(t)
}

// Tier is t or, where so many channels fill no vector of it, a tier with smaller vectors that its machines have, too.
func (k PoolKind) Tier(t Tier, channels int) Tier {
	return t.Narrow(channels * lanesOf(t) / k.lanes(t))
}

// Pool combines the inputs of positions whose channels lie side by side:
//
//	out[p·Next+c] = Scale · Σ Inputs[t][p·Step+c]    or    max Inputs[t][p·Step+c]
//
// Its layout is known to the generator.
type Pool struct {
	Inputs       **float32 // of the first position, one for each element of the window; of int8 for PoolLargestS8, as Out
	Count        uintptr   // elements of the window, at least 1
	Out          *float32
	Step, Next   uintptr // bytes from the inputs and the results of a position to those of the next
	Positions    uintptr // at least 1
	from, blocks uintptr
	skip         uintptr // bytes into the inputs of positions that earlier calls have computed
	Scale        float32
	Kind         PoolKind
}

// poolMost is how many vectors one call of a kernel reads at most, so that the garbage collector need not wait for long.
const poolMost = 16 << 10

// Has reports whether t has a kernel for windows of so many elements with so many channels.
func (k PoolKind) Has(t Tier, count, channels int) bool {
	lanes := k.lanes(t)
	return t != Scalar && channels >= lanes && count*(channels+lanes-1)/lanes <= poolMost
}

// Run computes the channels of all positions; Has says for which tier and how many.
func (p *Pool) Run(t Tier, channels int) {
	most := uintptr(poolMost / (int(p.Count) * (channels/p.Kind.lanes(t) + 1)))
	q := *p
	for left := p.Positions; ; {
		q.Positions = min(left, max(most, 1))
		q.channels(t, channels)
		if left -= q.Positions; left == 0 {
			return
		}
		q.skip += q.Positions * q.Step
		q.Out = floatAt(q.Out, q.Positions*q.Next)
	}
}

// channels computes them by blocks of four vectors, then one by one; the last one ends with the channels.
func (p *Pool) channels(t Tier, n int) {
	lanes := p.Kind.lanes(t)
	vectors, size := uintptr(n/lanes), uintptr(lanesOf(t))*unsafe.Sizeof(p.Scale)
	if four := vectors / 4; four > 0 {
		p.from, p.blocks = 0, four
		p.run(t, true)
	}
	if vectors%4 > 0 {
		p.from, p.blocks = vectors/4*4*size, vectors%4
		p.run(t, false)
	}
	if n%lanes != 0 {
		p.from, p.blocks = uintptr(n-lanes)*size/uintptr(lanes), 1
		p.run(t, false)
	}
}
