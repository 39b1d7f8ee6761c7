package kernel

import (
	"math"
	"unsafe"
)

// soft is what a kernel of rows of softmax gets. Its layout is known to the generator.
//
//	top' = max(top, scale·max(x)), out = exp(scale·x - top'), factor = exp(top - top'), sum' = factor·sum + Σ out
type soft struct {
	x, out             *float32 // the first row; out may be x
	xStride, outStride uintptr  // bytes
	rows, vectors      uintptr  // at least 1
	state              *float32 // for each row top, sum and factor, each in all lanes of a vector
	table              *uint32  // constants
	scale              float32
}

// SoftStateF32 is how many float32 of state SoftmaxBlocksF32 takes for a row: top, sum and factor, in vectors of
// SoftStateF32(t)/3. Zero is of no use: see StartSoftF32.
func SoftStateF32(t Tier) int { return 3 * lanesOf(t) }

// StartSoftF32 makes state that of rows of which nothing has been seen.
func StartSoftF32(t Tier, state []float32) {
	lanes := lanesOf(t)
	clear(state)
	for ; len(state) >= 3*lanes; state = state[3*lanes:] {
		copy(state[:lanes], lows[:])
	}
}

// lows is a vector of -Inf.
var lows = func() (x [maxLanes]float32) {
	for i := range x {
		x[i] = float32(math.Inf(-1))
	}
	return x
}()

// Softs are rows of whole vectors for SoftmaxBlocksF32: X[i*XStride:], of Width elements each, to Out[i*OutStride:].
type Softs struct {
	X, Out             []float32
	XStride, OutStride int
	Rows, Width        int
	// State has SoftStateF32 numbers for each row.
	State []float32
	// Scale, which is positive, multiplies X.
	Scale float32
}

// SoftmaxBlocksF32 takes the next columns of some rows of a softmax: with top the largest Scale·x of a row so far, it writes
// exp(Scale·x - top) within 2 ulp, or 0 where it is less than 1.7e-38, adds those up, and leaves what earlier results of the row have to be multiplied
// by. Width is a multiple of the lanes of t, which is not Scalar; Rows and Width are at least 1, and together they are at most
// 16384 elements. A row of -Inf alone has the sum 0.
func SoftmaxBlocksF32(t Tier, s *Softs) {
	k := soft{x: &s.X[0], out: &s.Out[0], xStride: uintptr(4 * s.XStride), outStride: uintptr(4 * s.OutStride), rows: uintptr(s.Rows),
		vectors: uintptr(s.Width / lanesOf(t)), state: &s.State[0], table: &constants[0], scale: s.Scale}
	k.run(t)
}

// softMost is how many elements SoftmaxRowsF32 takes in a row.
const softMost = 16 << 10

// SoftmaxRowsF32 computes the softmax of rows of width elements, one after another, and reports whether t has a kernel for it,
// which is so for a width from 2 to 256, and for a multiple of the lanes of t up to 16384. o may be x.
func SoftmaxRowsF32(t Tier, o, x []float32, width int) bool {
	if t == Scalar || width < 2 || width > softMost {
		return false
	}
	lanes := lanesOf(t)
	if width%lanes != 0 {
		return softmaxPadded(t, o, x, width)
	}
	stride := uintptr(width) * unsafe.Sizeof(x[0])
	k := soft{xStride: stride, outStride: stride, vectors: uintptr(width / lanes), table: &constants[0]}
	for most := softMost / width; len(x) > 0; {
		n := min(most, len(x)/width)
		k.x, k.out, k.rows = &x[0], &o[0], uintptr(n)
		k.whole(t)
		x, o = x[n*width:], o[n*width:]
	}
	return true
}

// softPadded is how many elements a row that is no multiple of vectors has at most. As many rows as fit, with what is behind them, go
// through a buffer together; a larger one would take longer to clear than a single row takes.
const softPadded = 256

// softmaxPadded computes rows with -Inf behind each.
func softmaxPadded(t Tier, o, x []float32, width int) bool {
	if width > softPadded {
		return false
	}
	var buf [softPadded + maxLanes]float32
	lanes := lanesOf(t)
	padded := (width + lanes - 1) / lanes * lanes
	stride := uintptr(padded) * unsafe.Sizeof(x[0])
	k := soft{x: &buf[0], out: &buf[0], xStride: stride, outStride: stride, vectors: uintptr(padded / lanes), table: &constants[0]}
	for len(x) > 0 {
		n := min(len(buf)/padded, len(x)/width)
		for i := range n {
			copy(buf[i*padded+copy(buf[i*padded:], x[i*width:][:width]):][:padded-width], lows[:])
		}
		k.rows = uintptr(n)
		k.whole(t)
		for i := range n {
			copy(o[i*width:][:width], buf[i*padded:])
		}
		x, o = x[n*width:], o[n*width:]
	}
	return true
}
