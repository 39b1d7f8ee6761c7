package op

import (
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
)

// Functions of single elements. Products that are added to something are
// converted explicitly, so that no machine fuses the two.

func toBool(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// maxOf is the larger; NaN if one is.
func maxOf[T number](x, y T) T {
	if x > y || x != x {
		return x
	}
	return y
}

// minOf is the smaller; NaN if one is.
func minOf[T number](x, y T) T {
	if x < y || x != x {
		return x
	}
	return y
}

func absOf[T number](x T) T {
	if isFloat[T]() {
		return T(math.Abs(float64(x)))
	}
	if x < 0 {
		return -x
	}
	return x
}

func reluOf[T number](x T) T {
	if x < 0 {
		return 0
	}
	return x
}

func signOf[T number](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -T(1)
	}
	return 0
}

// clampBounds are the bounds that clampScalars put into p.
func clampBounds[T number](p par) (low, high T) {
	low, high = lowest[T](), highest[T]()
	if int(p.z)&hasLow != 0 {
		low = boundAs[T](p.x, p.i)
	}
	if int(p.z)&hasHigh != 0 {
		high = boundAs[T](p.y, p.j)
	}
	return low, high
}

// boundAs is x or i in T; an integer outside of T becomes the nearest in it.
func boundAs[T number](x float64, i int64) T {
	if isFloat[T]() {
		return T(x)
	}
	if low := lowest[T](); i < int64(low) {
		return low
	}
	if high := highest[T](); i > int64(high) {
		return high
	}
	return T(i)
}

// lowest is the least T, -Inf for floats.
func lowest[T number]() T {
	if isFloat[T]() {
		return T(math.Inf(-1))
	}
	minusOne := T(0)
	minusOne--
	if minusOne > 0 {
		return 0
	}
	bits := 8 * unsafe.Sizeof(minusOne)
	return T(int64(math.MinInt64) >> (64 - bits))
}

// highest is the largest T, Inf for floats.
func highest[T number]() T {
	if isFloat[T]() {
		return T(math.Inf(1))
	}
	minusOne := T(0)
	minusOne--
	if minusOne > 0 {
		return minusOne
	}
	bits := 8 * unsafe.Sizeof(minusOne)
	return T(int64(math.MaxInt64) >> (64 - bits))
}

// clampOf bounds x; the upper bound wins, NaN stays.
func clampOf[T number](x, low, high T) T {
	if x < low {
		x = low
	}
	if x > high {
		x = high
	}
	return x
}

func leakyOf[T float](x, slope T) T {
	if x > 0 {
		return x
	}
	return x * slope
}

// eluOf is elu with alpha p.x, scale p.y and input scale p.z.
func eluOf[T float](x T, p par) T {
	if x > 0 {
		return T(float64(x) * p.y)
	}
	return T(float64(scalarmath.Expm1(T(float64(x)*p.z))) * p.x * p.y)
}

func logitOf[T float](x T, eps float64) T {
	z := float64(x)
	if eps >= 0 {
		z = clampOf(z, eps, 1-eps)
	}
	return T(scalarmath.Log(z / (1 - z)))
}

func rsqrtOf[T float](x T) T { return T(1 / math.Sqrt(float64(x))) }

// floorDivFloat is Python's floor division.
func floorDivFloat[T float](x, y T) T {
	a, b := float64(x), float64(y)
	q := a / b
	if b == 0 {
		return T(q)
	}
	if exactQuotient[T](q, b) {
		return T(math.Floor(q))
	}
	mod := float64(modOf(x, y))
	div := (a - mod) / b
	if mod != 0 && (b < 0) != (mod < 0) {
		div--
	}
	if div == 0 {
		return T(math.Copysign(0, q))
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return T(floor)
}

func floorDivInt[T integer](x, y T) T {
	if small(x, y) {
		return T(uint32(x) / uint32(y))
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// modOf is what C's fmod gives.
func modOf[T float](x, y T) T {
	a, b := float64(x), float64(y)
	if q := a / b; exactQuotient[T](q, b) {
		return T(math.Copysign(a-float64(math.Trunc(q)*b), a))
	}
	return T(math.Mod(a, b))
}

// exactQuotient reports whether the integers next to q, the quotient of a float32 by b, are those next to the true one, and
// their products with b exact: the quotient of float32 is no closer than 2^-25 to an integer that it is not.
func exactQuotient[T float](q, b float64) bool {
	return isFloat32[T]() && math.Abs(q) < 1<<28 && math.Abs(b) <= math.MaxFloat32
}

// small reports whether x and y are from 0 to below 2^31, where dividing takes less time.
func small[T integer](x, y T) bool { return uint64(x|y)>>31 == 0 }

// remainderFloat has the sign of y.
func remainderFloat[T float](x, y T) T {
	mod := modOf(x, y)
	// What has the sign is chosen by bits, without a branch.
	bits, other := math.Float64bits(float64(mod)), math.Float64bits(float64(mod+y))
	negative := uint64(truth(mod)) & (math.Float64bits(float64(mod)*float64(y)) >> 63)
	return T(math.Float64frombits(bits ^ (bits^other)&-negative))
}

// remainderInt has the sign of y.
func remainderInt[T integer](x, y T) T {
	if small(x, y) {
		return T(uint32(x) % uint32(y))
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// powInt wraps around; a negative power is 0 but for bases 1 and -1.
func powInt[T integer](x, n T) T {
	if n < 0 {
		switch {
		case x == 1, x+1 == 0 && n%2 == 0:
			return 1
		case x+1 == 0:
			return x
		}
		return 0
	}
	r := T(1)
	for ; n > 0; n /= 2 {
		if n%2 != 0 {
			r *= x
		}
		x *= x
	}
	return r
}

// shiftLeft gives 0 for a count outside of T's bits.
func shiftLeft[T integer](x, n T) T {
	if n < 0 || int64(n) >= int64(8*unsafe.Sizeof(x)) {
		return 0
	}
	return x << uint(n)
}

// shiftRight is arithmetic; a count outside of T's bits leaves the sign.
func shiftRight[T integer](x, n T) T {
	if bits := int64(8 * unsafe.Sizeof(x)); n < 0 || int64(n) >= bits {
		if x < 0 {
			return x >> uint(bits-1)
		}
		return 0
	}
	return x >> uint(n)
}
