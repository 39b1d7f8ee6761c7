package kernel

import "unsafe"

// Largest takes the largest elements of lines of float32, and which of the lines has each:
//
//	out[i], where[i] = inputs[t][i], places[t]
//
// for the first line t whose element is the largest, or the last one whose element is NaN. Its layout is known to the
// generator.
type Largest struct {
	Inputs       **float32 // the lines' first elements
	Places       *float32  // a number for each line
	Count        uintptr   // lines, at least 1
	Out, Where   *float32
	from, blocks uintptr
}

// largestMost is how many vectors one call of a kernel reads about at most, so that the garbage collector need not wait for
// long.
const largestMost = 8 << 10

// Run computes n elements; it does nothing and is false in a tier without a kernel and for less than a vector.
func (l *Largest) Run(t Tier, n int) bool {
	lanes := lanesOf(t)
	if t == Scalar || n < lanes {
		return false
	}
	t = t.float()
	most := max(1, largestMost/int(l.Count))
	for at, pairs := 0, n/(2*lanes); at < pairs; at += most {
		l.part(t, 2*at*lanes, min(most, pairs-at), 2)
	}
	if n%(2*lanes) >= lanes {
		l.part(t, n/(2*lanes)*2*lanes, 1, 1)
	}
	if n%lanes != 0 { // the last vector overlaps the one before
		l.part(t, n-lanes, 1, 1)
	}
	return true
}

// part computes m blocks of size vectors from element at on.
func (l *Largest) part(t Tier, at, m, size int) {
	l.from, l.blocks = uintptr(at)*unsafe.Sizeof(*l.Out), uintptr(m)
	l.run(t, size)
}
