package op

import (
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
)

// patchLen is how many elements are computed at a time where some may be outside of a kernel's range. Those are computed
// anew, one by one: what an element gives must not depend on its neighbours.
const patchLen = 512

// turns computes o = vector(a), and scalar where an element is larger than vector takes; it reports whether t has a kernel.
func turns(t kernel.Tier, o, a []float32, vector func(t kernel.Tier, o, x []float32) bool, scalar func(x float32) float32) bool {
	if len(a) != len(o) {
		return false
	}
	for len(o) > 0 {
		n := len(o)
		if n >= 2*patchLen {
			n = patchLen
		}
		if largest(a[:n]) <= kernel.TurnsF32 {
			if !vector(t, o[:n], a[:n]) {
				return false
			}
		} else if !turnsPatched(t, o[:n], a[:n], vector, scalar) {
			return false
		}
		o, a = o[n:], a[n:]
	}
	return true
}

// turnsPatched is turns of a part that has larger elements.
func turnsPatched(t kernel.Tier, o, a []float32, vector func(t kernel.Tier, o, x []float32) bool, scalar func(x float32) float32) bool {
	var buf [2 * patchLen]float32 // o may be a
	x := buf[:copy(buf[:], a)]
	if !vector(t, o, a) {
		return false
	}
	for i, v := range x {
		if !(absOf(v) <= kernel.TurnsF32) {
			o[i] = scalar(v)
		}
	}
	return true
}

// largest is the largest magnitude of x; infinity or NaN if there is one of them.
func largest(x []float32) float32 {
	var m [4]uint32
	for ; len(x) >= 4; x = x[4:] {
		m[0] = max(m[0], math.Float32bits(x[0])<<1)
		m[1] = max(m[1], math.Float32bits(x[1])<<1)
		m[2] = max(m[2], math.Float32bits(x[2])<<1)
		m[3] = max(m[3], math.Float32bits(x[3])<<1)
	}
	for _, v := range x {
		m[0] = max(m[0], math.Float32bits(v)<<1)
	}
	return math.Float32frombits(max(m[0], m[1], m[2], m[3]) >> 1)
}

// What kernel.PowPositiveF32 takes.
const (
	powLow, powHigh = 1e-30, 1e30
	powMost         = 65536
)

// powers computes o = a^b; it reports whether t has a kernel.
func powers(t kernel.Tier, o, a, b []float32) bool {
	for lo := 0; lo < len(o); {
		hi := len(o)
		if hi-lo >= 2*patchLen {
			hi = lo + patchLen
		}
		if !powersPart(t, o[lo:hi], lineOf(a, lo, hi), lineOf(b, lo, hi)) {
			return false
		}
		lo = hi
	}
	return true
}

// lineOf is elements lo to hi of x, or its only one.
func lineOf(x []float32, lo, hi int) []float32 {
	if len(x) == 1 {
		return x
	}
	return x[lo:hi]
}

func powersPart(t kernel.Tier, o, a, b []float32) bool {
	if powersFit(a, b) {
		return kernel.PowPositiveF32(t, o, a, b)
	}
	var bufA, bufB [2 * patchLen]float32 // o may be a or b
	x, y := bufA[:copy(bufA[:], a)], bufB[:copy(bufB[:], b)]
	if !kernel.PowPositiveF32(t, o, a, b) {
		return false
	}
	sx, sy := stepOf(len(x)), stepOf(len(y))
	for i := range o {
		if v, w := x[i*sx], y[i*sy]; !(v >= powLow && v <= powHigh && absOf(w) <= powMost) {
			o[i] = scalarmath.Pow(v, w)
		}
	}
	return true
}

// powersFit reports whether the kernel takes all of x and y.
func powersFit(x, y []float32) bool {
	for _, v := range x {
		if !(v >= powLow && v <= powHigh) {
			return false
		}
	}
	return largest(y) <= powMost
}

// How many bytes make a call of a kernel of bits worth it, and how many one that writes out an operand of one element.
const (
	bitsLeast   = 64
	spreadLeast = 256
)

// manyBits reports whether a kernel of bits is worth it for len(o) elements: it takes operands of one element that is no larger than a word.
func manyBits[T, U any](o []U, a, b []T) bool {
	n, size := len(o), int(unsafe.Sizeof(*new(T)))
	return n*size >= bitsLeast && (len(a) == n && len(b) == n || n*size >= spreadLeast && size <= f32Size)
}

// manyBytes is manyBits for elements of one byte; of others there are never enough.
func manyBytes[T, U any](o []U, a, b []T) bool {
	return unsafe.Sizeof(*new(T)) == 1 && manyBits(o, a, b)
}

// wordsOf is x as words of its bits, without elements that fill none. They may lie anywhere: nothing but vectors and copies of memory touches
// them.
func wordsOf[T any](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T)))/f32Size)
}

// wordsOr is wordsOf, or same, of copies of the only element of x.
func wordsOr[T any](same *[1]float32, x []T) []float32 {
	if len(x) != 1 {
		return wordsOf(x)
	}
	copies := unsafe.Slice((*T)(unsafe.Pointer(same)), f32Size/unsafe.Sizeof(x[0]))
	fillRun(copies, x[0])
	return same[:]
}

// elementsIn is how many T words have the bits of.
func elementsIn[T any](w []float32) int { return len(w) * f32Size / int(unsafe.Sizeof(*new(T))) }

// stepTile is how many elements are computed in two steps at a time where the first one may not overwrite what the second one reads; the
// last ones with what is left, which may be too few for kernels.
const stepTile = 256

// logits computes log(a/(1-a)), without bounds; it reports whether t has a kernel. o may be a.
func logits(t kernel.Tier, o, a []float32, eps float64) bool {
	if eps >= 0 || len(a) != len(o) || t == kernel.Scalar {
		return false
	}
	one := [1]float32{1}
	var tile [2 * stepTile]float32
	for len(o) > 0 {
		n := len(o)
		if n >= len(tile) {
			n = stepTile
		}
		if !kernel.SubF32(t, tile[:n], one[:], a[:n]) || !kernel.DivF32(t, o[:n], a[:n], tile[:n]) || !kernel.LogF32(t, o[:n], o[:n]) {
			return false
		}
		o, a = o[n:], a[n:]
	}
	return true
}

// quotients computes o = a/b without what is behind the point; it reports whether t has a kernel.
func quotients(t kernel.Tier, o, a, b []float32) bool {
	return kernel.DivF32(t, o, a, b) && kernel.TruncF32(t, o, o)
}

// clamps computes o = min(max(x, low), high); it reports whether t has a kernel, and o is not high.
func clamps(t kernel.Tier, o, x, low, high []float32) bool {
	if len(o) == 0 || &o[0] == &high[0] {
		return false
	}
	return kernel.MaxF32(t, o, x, low) && kernel.MinF32(t, o, o, high)
}

// gates computes o = x·sigmoid(y); it reports whether t has a kernel.
func gates(t kernel.Tier, o, x, y []float32) bool {
	return kernel.SigmoidF32(t, o, y) && kernel.MulF32(t, o, o, x)
}

// whereZero sets o to 1 where a is 0, and else to 0; it reports whether t has a kernel.
func whereZero(t kernel.Tier, o []uint8, a []float32) bool {
	if len(a) != len(o) {
		return false
	}
	n := kernel.ZeroF32(t, o, a, false)
	for i := n; i < len(o) && n > 0; i++ {
		o[i] = toBool(a[i] == 0)
	}
	return n > 0
}
