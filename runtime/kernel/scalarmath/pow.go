package scalarmath

import "math"

// powWith is xʸ; core computes it for positive and finite x other than 1, and finite y other than 0.
func powWith(x, y float64, core func(x, y float64) float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case isNaN(x) || isNaN(y):
		return math.NaN()
	case math.IsInf(y, 0):
		return powInf(abs(x), y)
	}
	whole, odd := parity(y)
	sign := 1.0
	if math.Signbit(x) {
		if odd {
			sign = -1
		}
		if !whole && x < 0 && !math.IsInf(x, 0) {
			return math.NaN()
		}
		x = -x
	}
	switch {
	case x == 0 || math.IsInf(x, 1):
		if (x == 0) == (y < 0) {
			return math.Copysign(math.Inf(1), sign)
		}
		return math.Copysign(0, sign)
	case x == 1:
		return sign
	}
	return sign * core(x, y)
}

// powInf is xʸ for x ≥ 0 and infinite y.
func powInf(x, y float64) float64 {
	switch {
	case x == 1:
		return 1
	case (x > 1) == (y > 0):
		return math.Inf(1)
	}
	return 0
}

// parity reports whether the finite y is a whole number, and an odd one.
func parity(y float64) (whole, odd bool) {
	if abs(y) >= 1<<53 {
		return true, false
	}
	n := int64(y)
	return float64(n) == y, float64(n) == y && n&1 != 0
}

func powCore(x, y float64) float64 {
	l := logPair(pair{hi: x})
	switch size := float64(y * l.hi); {
	case size > 710:
		return math.Inf(1)
	case size < -746:
		return 0
	case abs(size) < 0x1p-60:
		return 1
	}
	p, k := expPair(timesFloat(l, y))
	return scale(p.value(), k)
}

func powCore32(x, y float64) float64 { return exp32(y * log32(x)) }
