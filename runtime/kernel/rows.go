package kernel

import (
	"math"
	"unsafe"
)

// fold is what a kernel that adds up a line gets. Its layout is known to the generator.
type fold struct {
	x, out  *float32
	sum     *[maxLanes]float32 // the first element of what it writes is the sum
	vectors uintptr            // at least 1
	table   *uint32            // constants
	number  float32
}

// rowLeast is how many elements make it worth to call the kernels of this file.
const rowLeast = 8

// overRow calls a fold for x: as many vectors as it has, and one for the rest, which pad fills. It joins what the calls give, and
// reports whether t has a kernel for x.
func overRow(t Tier, f fold, o, x []float32, pad float32, kind int) (float32, bool) {
	if t == Scalar || len(x) < rowLeast {
		return 0, false
	}
	var sum, tail [maxLanes]float32
	lanes, all, first := lanesOf(t), float32(0), true
	f.table, f.sum = &constants[0], &sum
	for len(x) > 0 {
		n := min(len(x), mapMost) / lanes * lanes
		f.x, f.vectors = &x[0], uintptr(n/lanes)
		switch {
		case n == 0:
			n = copy(tail[:], x)
			for i := n; i < lanes; i++ {
				tail[i] = pad
			}
			f.x, f.out, f.vectors = &tail[0], &tail[0], 1
		case o != nil:
			f.out = &o[0]
		}
		f.run(t, kind)
		if f.out == &tail[0] {
			copy(o, tail[:])
		} else if o != nil {
			o = o[n:]
		}
		if x = x[n:]; first {
			all, first = sum[0], false
		} else {
			all = joined(kind, all, sum[0])
		}
	}
	return all, true
}

// joined is what two calls of a fold give together.
func joined(kind int, a, b float32) float32 {
	switch {
	case kind != foldMax && kind != foldMin:
		return a + b
	case b > a == (kind == foldMax):
		return b
	}
	return a
}

// MaxRowF32 is the largest of x and whether t has a kernel for it. It may or may not be NaN if an
// element is.
func MaxRowF32(t Tier, x []float32) (float32, bool) {
	return overRow(t, fold{}, nil, x, float32(math.Inf(-1)), foldMax)
}

// MinRowF32 is MaxRowF32 of the smallest.
func MinRowF32(t Tier, x []float32) (float32, bool) {
	return overRow(t, fold{}, nil, x, float32(math.Inf(1)), foldMin)
}

// SumRowF32 is the sum of x in some order, and whether t has a kernel for it.
func SumRowF32(t Tier, x []float32) (float32, bool) {
	return overRow(t, fold{}, nil, x, 0, foldSum)
}

// SquaresRowF32 is the sum of the squares of what elements of x are apart from center, and whether t has a kernel for it.
func SquaresRowF32(t Tier, x []float32, center float32) (float32, bool) {
	return overRow(t, fold{number: center}, nil, x, center, foldSquares)
}

// ExpRowF32 computes o = exp(x - shift) within 2 ulp, or 0 where it is less than 1.7e-38, and gives the sum of o; false if t has no kernel for it. o may be x.
func ExpRowF32(t Tier, o, x []float32, shift float32) (float32, bool) {
	return overRow(t, fold{number: shift}, o, x, float32(math.Inf(-1)), foldExp)
}

// affine is what the kernel of AffineRowF32 gets. Its layout is known to the generator.
type affine struct {
	x, a, b, out *float32
	vectors      uintptr // at least 1
	aStep, bStep uintptr // bytes from a vector to the next
	shift, scale float32
}

// ones and none are factors and addends that change nothing.
var ones, none = [maxLanes]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, [maxLanes]float32{}

// AffineRowF32 computes o = (x - shift)·scale·a + b, and reports whether t has a kernel for it; a and b may be nil, and o
// may be x.
func AffineRowF32(t Tier, o, x, a, b []float32, shift, scale float32) bool {
	return len(x) >= rowLeast && affineRow(t, o, x, a, b, shift, scale)
}

// ScaleRowF32 computes x = x·a + b, rounded once wherever an element lies; b may be nil. t is not Scalar.
func ScaleRowF32(t Tier, x, a, b []float32) { affineRow(t, x, x, a, b, 0, 1) }

// affineRow is AffineRowF32 of a row of any length.
func affineRow(t Tier, o, x, a, b []float32, shift, scale float32) bool {
	if t == Scalar {
		return false
	}
	lanes := lanesOf(t)
	f := affine{a: &ones[0], b: &none[0], shift: shift, scale: scale}
	step := uintptr(lanes) * unsafe.Sizeof(shift)
	for at := 0; at+lanes <= len(x); {
		n := min(len(x)-at, mapMost) / lanes
		f.x, f.out, f.vectors = &x[at], &o[at], uintptr(n)
		if a != nil {
			f.a, f.aStep = &a[at], step
		}
		if b != nil {
			f.b, f.bStep = &b[at], step
		}
		f.run(t)
		at += n * lanes
	}
	rest := len(x) % lanes
	if rest == 0 {
		return true
	}
	var tail [3][maxLanes]float32
	from := len(x) - rest
	copy(tail[0][:], x[from:])
	f.x, f.out, f.vectors = &tail[0][0], &tail[0][0], 1
	if a != nil {
		copy(tail[1][:], a[from:])
		f.a = &tail[1][0]
	}
	if b != nil {
		copy(tail[2][:], b[from:])
		f.b = &tail[2][0]
	}
	f.run(t)
	copy(o[from:], tail[0][:rest])
	return true
}
