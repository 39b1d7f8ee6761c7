package kernel

import "unsafe"

// Taps is a sum of lines of float32, each times a weight:
//
//	out[i] = clamp(start + Σ weights[t] · inputs[t][i], Low, High)
//
// Its layout is known to the generator.
type Taps struct {
	Inputs  **float32 // the lines' first elements
	Weights *float32
	Step    uintptr // bytes from the weight, or weights, of a line to those of the next
	Count   uintptr // lines, at least 1
	Out     *float32
	// Start is what the sums start at: one number, or one for each element if Each is used.
	Start     *float32
	from      uintptr
	blocks    uintptr
	Low, High float32
}

// TapsF32 computes sums of lines in one tier.
type TapsF32 struct {
	// Lanes is the least number of elements that Run takes.
	Lanes int
	tier  Tier
}

// Line computes n elements, at least Lanes; each line has one weight.
func (f *TapsF32) Line(t *Taps, n int) { f.run(t, n, false) }

// Each computes n elements, at least Lanes; each line has n weights.
func (f *TapsF32) Each(t *Taps, n int) { f.run(t, n, true) }

// tapsBlock is how many vectors the larger kernels compute at a time, tapsMost how many lines of blocks one call may take
// at most, unless a block alone has more, so that the garbage collector need not wait for long.
const (
	tapsBlock = 4
	tapsMost  = 256 * 25
)

// run computes blocks, then single vectors; the last one ends with the line and overlaps the one before.
func (f *TapsF32) run(t *Taps, n int, each bool) {
	vectors := n / f.Lanes
	at, most := 0, max(tapsMost/int(t.Count), 1)
	for large := vectors / tapsBlock; large > 0; {
		m := min(large, most)
		f.part(t, at, m, tapsBlock, each)
		at += m * tapsBlock
		large -= m
	}
	if at < vectors {
		f.part(t, at, vectors-at, 1, each)
	}
	if rest := n % f.Lanes; rest != 0 {
		t.from, t.blocks = uintptr((n-f.Lanes)*int(unsafe.Sizeof(t.Low))), 1
		f.call(t, 1, each)
	}
}

// part computes m blocks of size vectors from vector at on.
func (f *TapsF32) part(t *Taps, at, m, size int, each bool) {
	t.from, t.blocks = uintptr(at*f.Lanes*int(unsafe.Sizeof(t.Low))), uintptr(m)
	f.call(t, size, each)
}
