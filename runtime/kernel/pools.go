package kernel

import "unsafe"

// Pool combines the inputs of positions whose channels lie side by side, by the mean with Mean, else by the largest, where NaN
// is larger than all:
//
//	out[p·Next+c] = Scale · Σ Inputs[t][p·Step+c]    or    max Inputs[t][p·Step+c]
//
// Its layout is known to the generator.
type Pool struct {
	Inputs       **float32 // of the first position, one for each element of the window
	Count        uintptr   // elements of the window, at least 1
	Out          *float32
	Step, Next   uintptr // bytes from the inputs and the results of a position to those of the next
	Positions    uintptr // at least 1
	from, blocks uintptr
	skip         uintptr // bytes into the inputs of positions that earlier calls have computed
	Scale        float32
	Mean         bool
}

// poolMost is how many vectors one call of a kernel reads at most, so that the garbage collector need not wait for long.
const poolMost = 16 << 10

// HasPool reports whether t has a kernel for windows of so many elements with so many channels.
func HasPool(t Tier, count, channels int) bool {
	lanes := lanesOf(t)
	return t != Scalar && channels >= lanes && count*(channels+lanes-1)/lanes <= poolMost
}

// Run computes the channels of all positions; HasPool says for which tier and how many.
func (p *Pool) Run(t Tier, channels int) {
	lanes := lanesOf(t)
	most := uintptr(poolMost / (int(p.Count) * (channels/lanes + 1)))
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
	lanes := lanesOf(t)
	size := uintptr(lanes) * unsafe.Sizeof(p.Scale)
	vectors := uintptr(n / lanes)
	if four := vectors / 4; four > 0 {
		p.from, p.blocks = 0, four
		p.run(t, p.Mean, true)
	}
	if vectors%4 > 0 {
		p.from, p.blocks = vectors/4*4*size, vectors%4
		p.run(t, p.Mean, false)
	}
	if n%lanes != 0 {
		p.from, p.blocks = uintptr(n-lanes)*unsafe.Sizeof(p.Scale), 1
		p.run(t, p.Mean, false)
	}
}
