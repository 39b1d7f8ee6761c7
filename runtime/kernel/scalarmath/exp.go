package scalarmath

import "math"

// The reduction of exp: x = (32·k+j)·ln2/32 + r, so eˣ = 2ᵏ·exp2Table[j]·eʳ with |r| ≤ ln2/64.

const perOctave = 32 / ln21

// expReduce is j+32k and r, for |x| < 2000.
func expReduce(x pair) (n int, r pair) {
	f, n := nearest(float64(x.hi * perOctave))
	return n, fastSum(x.hi-float64(f*step32Hi), x.lo-float64(f*step32Lo))
}

// expTail is eʳ-1.
func expTail(r pair) pair {
	q := 1.0/5040 + float64(r.hi*(1.0/40320))
	q = 1.0/720 + float64(r.hi*q)
	q = 1.0/120 + float64(r.hi*q)
	q = 1.0/24 + float64(r.hi*q)
	q = 1.0/6 + float64(r.hi*q)
	q = 0.5 + float64(r.hi*q)
	return fastSum(r.hi, r.lo+float64(float64(r.hi*r.hi)*q))
}

// expPair is eˣ as p·2ᵏ, for |x| < 2000.
func expPair(x pair) (p pair, k int) {
	n, r := expReduce(x)
	t, e := exp2Table[n&31], expTail(r)
	m := product(t.hi, e.hi)
	s := fastSum(t.hi, m.hi)
	lo := m.lo + float64(t.hi*e.lo) + float64(t.lo*(1+e.hi))
	return fastSum(s.hi, s.lo+lo), n >> 5
}

func exp(x float64) float64 {
	switch {
	case isNaN(x):
		return x
	case x > 709.8:
		return math.Inf(1)
	case x < -745.2:
		return 0
	}
	p, k := expPair(pair{hi: x})
	return scale(p.value(), k)
}

func exp2(x float64) float64 {
	switch {
	case isNaN(x):
		return x
	case x >= 1024:
		return math.Inf(1)
	case x < -1075.1:
		return 0
	}
	p, k := expPair(timesFloat(pair{ln21, ln22}, x))
	return scale(p.value(), k)
}

// expm1Pair is eˣ-1 for |x| ≤ 80.
func expm1Pair(x float64) pair {
	n, r := expReduce(pair{hi: x})
	if n == 0 {
		return expTail(r)
	}
	p, k := expPair(pair{hi: x})
	f := power(k)
	return add(p.scaled(f), pair{hi: -1})
}

func expm1(x float64) float64 {
	switch {
	case x == 0 || isNaN(x):
		return x
	case x > 80:
		return exp(x)
	case x < -80:
		return -1
	}
	return expm1Pair(x).value()
}

// hyperbolic is (eˣ + sign·e⁻ˣ)/2 for x > 0.3, at least.
func hyperbolic(x, sign float64) float64 {
	if x > 711 {
		return math.Inf(1)
	}
	e, k := expPair(pair{hi: x})
	if x > 40 {
		return scale(e.value(), k-1)
	}
	f := power(k - 1)
	e = e.scaled(f)
	back := over(pair{hi: 0.25 * sign}, e)
	return add(e, back).value()
}

func sinh(x float64) float64 {
	a := abs(x)
	switch {
	case x == 0 || isNaN(x):
		return x
	case a > 0.5:
		return math.Copysign(hyperbolic(a, -1), x)
	}
	e := expm1Pair(x) // (e + e/(1+e))/2
	s := add(e, over(e, add(pair{hi: 1}, e)))
	return 0.5 * s.value()
}

func cosh(x float64) float64 {
	if isNaN(x) {
		return x
	}
	return hyperbolic(abs(x), 1)
}

func tanh(x float64) float64 {
	switch {
	case x == 0 || isNaN(x):
		return x
	case abs(x) > 22:
		return math.Copysign(1, x)
	}
	e := expm1Pair(2 * x)
	return over(e, add(e, pair{hi: 2})).value()
}

func sigmoid(x float64) float64 {
	switch {
	case isNaN(x):
		return x
	case x < -40:
		return exp(x)
	case x > 40:
		return 1
	}
	p, k := expPair(pair{hi: -x})
	f := power(k)
	return over(pair{hi: 1}, add(pair{hi: 1}, p.scaled(f))).value()
}

// expTail32 is eʳ-1 up to 2⁻⁴⁸.
func expTail32(r float64) float64 {
	q := 1.0/24 + float64(r*(1.0/120))
	q = 1.0/6 + float64(r*q)
	q = 0.5 + float64(r*q)
	return r + float64(float64(r*r)*q)
}

// exp32 is eˣ up to 2⁻⁴⁷, but Inf and 0 where float32 has nothing else.
func exp32(x float64) float64 {
	if !(x > -170 && x < 170) {
		return expEdge32(x)
	}
	f, n := nearest(float64(x * perOctave))
	r := (x - float64(f*step32Hi)) - float64(f*step32Lo)
	t := float64(exp2Table[n&31].hi * power(n>>5))
	return t + float64(t*expTail32(r))
}

func expEdge32(x float64) float64 {
	switch {
	case isNaN(x):
		return x
	case x > 0:
		return math.Inf(1)
	}
	return 0
}

func expm132(x float64) float64 {
	if abs(x) < 0.01 {
		if x == 0 {
			return x
		}
		return expTail32(x)
	}
	return exp32(x) - 1
}

func sinh32(x float64) float64 {
	if a := abs(x); a > 0.5 {
		e := exp32(a)
		return math.Copysign(0.5*(e-1/e), x)
	}
	e := expm132(x)
	return 0.5 * (e + e/(1+e))
}

func cosh32(x float64) float64 {
	e := exp32(abs(x))
	return 0.5 * (e + 1/e)
}

func tanh32(x float64) float64 {
	if abs(x) > 10 {
		return math.Copysign(1, x)
	}
	e := expm132(2 * x)
	return e / (e + 2)
}
