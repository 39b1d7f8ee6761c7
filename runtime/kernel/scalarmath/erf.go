package scalarmath

import "math"

// erfLimit is where the series of erf(x)/x ends.
const erfLimit = 0.85

func erf(x float64) float64 {
	switch a := abs(x); {
	case isNaN(x):
		return x
	case a < 0x1p-28:
		return scale(x+float64(x*erfPoly[0]), 0)
	case a < erfLimit:
		return x + float64(x*poly(erfPoly[:], float64(x*x)))
	case a > 6:
		return math.Copysign(1, x)
	default:
		return math.Copysign(1-erfc(pair{hi: a}), x)
	}
}

func erfc(x pair) float64 {
	switch {
	case isNaN(x.hi):
		return x.hi
	case x.hi > 28:
		return 0
	case x.hi < -6:
		return 2
	case abs(x.hi) < 0.5:
		return erfcSmall(x.hi)
	case x.hi < 0:
		return 2 - erfc(x.neg())
	}
	square := times(x, x)
	e, k := expPair(square.neg())
	return scale(times(e, erfcx(x.hi)).value(), k)
}

// erfcSmall is 1-erf(x) for |x| < 0.5.
func erfcSmall(x float64) float64 {
	rest := float64(x * poly(erfPoly[:], float64(x*x)))
	s := fastSum(1, -x)
	return s.hi + (s.lo - rest)
}

// erfcx is exp(x²)·erfc(x) for x in [0.5,28].
func erfcx(x float64) pair {
	switch {
	case x < 1:
		return polyPair(erfcxHalf[:], x-0.75)
	case x < 2:
		return polyPair(erfcxOne[:], x-1.5)
	case x < 4:
		return polyPair(erfcxTwo[:], x-3)
	}
	p := polyPair(erfcxFour[:], 1/float64(x*x))
	return over(p, pair{hi: x})
}

// polyPair is poly for coefficients whose constant is c[0]+c[1].
func polyPair(c []float64, x float64) pair {
	return fastSum(c[0], c[1]+float64(x*poly(c[2:], x)))
}

func erf32(x float64) float64 {
	switch a := abs(x); {
	case a < erfLimit:
		return x + float64(x*poly(erfPoly32[:], float64(x*x)))
	case isNaN(x):
		return x
	case a > 4:
		return math.Copysign(1, x)
	default:
		return math.Copysign(1-erfc32(a), x)
	}
}

func erfc32(x float64) float64 {
	a := abs(x)
	var y float64
	switch {
	case a < 0.5:
		return 1 - x - float64(x*poly(erfPoly32[:], float64(x*x)))
	case a < 1:
		y = poly(erfcxHalf32[:], a-0.75)
	case a < 2:
		y = poly(erfcxOne32[:], a-1.5)
	case a < 4:
		y = poly(erfcxTwo32[:], a-3)
	case a < 28:
		y = poly(erfcxFour32[:], 1/float64(a*a)) / a
	case isNaN(x):
		return x
	}
	y = float64(y * exp32(-float64(a*a)))
	if x < 0 {
		return 2 - y
	}
	return y
}
