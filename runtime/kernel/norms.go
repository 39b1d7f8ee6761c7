package kernel

import "unsafe"

// norm is what the kernel of NormRowsF32 gets. Its layout is known to the generator.
//
//	mean = Σ x / count, rstd = 1 / √(Σ (x - mean)² / count + eps), out = (x - mean)·rstd·a + b
type norm struct {
	x, out, a, b *float32 // the first row, and factors and addends of all rows; out may be x
	moments      *float32 // for each row mean and rstd, each in all lanes of a vector
	stride       uintptr  // bytes from a row to the next
	rows         uintptr  // at least 1
	vectors      uintptr  // of a row, in front of its last one
	aStep, bStep uintptr  // bytes from a vector to the next
	// last, aLast and bLast are where the last vector of a row begins, in bytes; it may share elements with the one before.
	last, aLast, bLast uintptr
	mask               *uint32 // the lanes of the last vector that it shares with no other
	count, eps, one    float32
}

// Norms are rows of Width elements, one after another, for NormRowsF32.
type Norms struct {
	X, Out []float32 // the same, or apart
	// A and B, of Width elements, are factors and addends of each element; nil for none.
	A, B []float32
	// Means and Rstds get, for each row, the mean and 1 / √(variance + Eps).
	Means, Rstds []float32
	Width        int
	Eps          float32
}

// normRows is how many rows NormRowsF32 takes at a time.
const normRows = 16

// masks are the bits of a vector of nothing and one of everything.
var masks = func() (m [2 * maxLanes]uint32) {
	for i := range maxLanes {
		m[maxLanes+i] = ^uint32(0)
	}
	return m
}()

// NormRowsF32 normalizes rows by their means and biased variances, all in float32, and reports whether t has a kernel for it, which is so for
// widths of at least a vector to 16384.
func NormRowsF32(t Tier, n *Norms) bool {
	t = t.Narrow(n.Width)
	lanes := lanesOf(t)
	if t == Scalar || n.Width < lanes || n.Width > softMost {
		return false
	}
	const size = unsafe.Sizeof(n.Eps)
	vectors := (n.Width - 1) / lanes
	step, last := uintptr(lanes)*size, uintptr(n.Width-lanes)*size
	k := norm{a: &ones[0], b: &none[0], stride: uintptr(n.Width) * size, vectors: uintptr(vectors), last: last,
		mask: &masks[n.Width-vectors*lanes+maxLanes-lanes], count: float32(n.Width), eps: n.Eps, one: 1}
	if n.A != nil {
		k.a, k.aStep, k.aLast = &n.A[:n.Width][0], step, last
	}
	if n.B != nil {
		k.b, k.bStep, k.bLast = &n.B[:n.Width][0], step, last
	}
	var moments [2 * normRows * maxLanes]float32
	k.moments = &moments[0]
	for at := 0; at < len(n.Means); {
		rows := min(normRows, max(1, softMost/n.Width), len(n.Means)-at)
		from, to := at*n.Width, (at+rows)*n.Width
		k.x, k.out, k.rows = &n.X[from:to][0], &n.Out[from:to][0], uintptr(rows)
		k.run(t)
		for i := range rows {
			n.Means[at+i], n.Rstds[at+i] = moments[2*i*lanes], moments[(2*i+1)*lanes]
		}
		at += rows
	}
	return true
}
