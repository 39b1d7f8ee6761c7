package scalarmath

import "math"

// atanPair is atan(y/x) for 0 ≤ y ≤ x, x > 0: with c = i/16 near y/x it is atan(c) + atan((y-c·x)/(x+c·y)).
func atanPair(y, x pair) pair {
	i := int(float64(16*(y.hi/x.hi)) + 0.5)
	c := float64(i) / 16
	cx, cy := timesFloat(x, c), timesFloat(y, c)
	t := over(add(y, cx.neg()), add(x, cy))
	z := float64(t.hi * t.hi)
	q := 1.0/13 - float64(z*(1.0/15))
	q = -1.0/11 + float64(z*q)
	q = 1.0/9 + float64(z*q)
	q = -1.0/7 + float64(z*q)
	q = 1.0/5 + float64(z*q)
	q = -1.0/3 + float64(z*q)
	s := sum(atanTable[i].hi, t.hi)
	return fastSum(s.hi, s.lo+(atanTable[i].lo+t.lo+float64(float64(t.hi*z)*q)))
}

// anglePair is atan2(y, x) for y ≥ 0 and x ≥ 0, not both 0.
func anglePair(y, x pair) pair {
	if y.hi > x.hi {
		return add(pair{halfPi1, halfPi2}, atanPair(x, y).neg())
	}
	return atanPair(y, x)
}

// atan2 is computed by anglePair after both are scaled to near 1.
func atan2(y, x float64) float64 {
	a, b := abs(y), abs(x)
	if !(a > 0 && b > 0 && a <= math.MaxFloat64 && b <= math.MaxFloat64) {
		return atan2Edge(y, x)
	}
	if x > 0 && a/b < 0x1p-28 {
		return y / x
	}
	_, e := math.Frexp(max(a, b))
	p := anglePair(pair{hi: math.Ldexp(a, -e)}, pair{hi: math.Ldexp(b, -e)})
	if x < 0 {
		p = add(pair{pi1, pi2}, p.neg())
	}
	return math.Copysign(p.value(), y)
}

// atan2Edge is atan2 where one argument is 0, infinite or NaN.
func atan2Edge(y, x float64) float64 {
	angle := 0.0
	switch {
	case isNaN(x) || isNaN(y):
		return math.NaN()
	case math.IsInf(x, 0) && math.IsInf(y, 0):
		angle = halfPi1 / 2
		if x < 0 {
			angle = 3 * halfPi1 / 2
		}
	case math.IsInf(y, 0) || x == 0 && y != 0:
		angle = halfPi1
	case math.Signbit(x):
		angle = pi1
	}
	return math.Copysign(angle, y)
}

// cosine is √(1-x²).
func cosine(x float64) pair { return root(times(sum(1, x), sum(1, -x))) }

func asin(x float64) float64 {
	a := abs(x)
	switch {
	case a > 1:
		return math.NaN()
	case a < 0x1p-28 || isNaN(x):
		return x
	}
	return math.Copysign(anglePair(pair{hi: a}, cosine(x)).value(), x)
}

func acos(x float64) float64 {
	switch {
	case abs(x) > 1:
		return math.NaN()
	case isNaN(x):
		return x
	}
	p := anglePair(cosine(x), pair{hi: abs(x)})
	if x < 0 {
		p = add(pair{pi1, pi2}, p.neg())
	}
	return p.value()
}

// angle32 is anglePair up to 2⁻⁴⁴.
func angle32(y, x float64) float64 {
	if y > x {
		return halfPi1 - angle32(x, y)
	}
	i := int(float64(16*(y/x)) + 0.5)
	c := float64(i) / 16
	t := (y - float64(c*x)) / (x + float64(c*y))
	z := float64(t * t)
	q := -1.0/3 + float64(z*(1.0/5-float64(z*(1.0/7))))
	return atanTable[i].hi + (t + float64(float64(t*z)*q))
}

func atan232(y, x float64) float64 {
	if !(abs(y) > 0 && abs(x) > 0 && finite(x) && finite(y)) {
		return atan2Edge(y, x)
	}
	a := angle32(abs(y), abs(x))
	if x < 0 {
		a = pi1 - a
	}
	return math.Copysign(a, y)
}

func asin32(x float64) float64 {
	switch {
	case abs(x) > 1:
		return math.NaN()
	case isNaN(x):
		return x
	}
	return math.Copysign(angle32(abs(x), math.Sqrt(float64((1-x)*(1+x)))), x)
}

func acos32(x float64) float64 {
	switch {
	case abs(x) > 1:
		return math.NaN()
	case isNaN(x):
		return x
	}
	a := angle32(math.Sqrt(float64((1-x)*(1+x))), abs(x))
	if x < 0 {
		return pi1 - a
	}
	return a
}
