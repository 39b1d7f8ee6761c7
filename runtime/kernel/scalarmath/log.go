package scalarmath

import "math"

// The reduction of log: x = 2ᵏ·z with z in [√½,√2), and z = (1+r)/logTable[i].inv.

const logFirst = 0x3fe6a09e667f3bcd

// logSplit is k, i and z of a normal x > 0.
func logSplit(x float64) (k float64, i int, z float64) {
	u := math.Float64bits(x)
	t := u - logFirst
	e := int64(t) >> 52
	return float64(e), int(t >> 46 & 63), math.Float64frombits(u - uint64(e)<<52)
}

// logSpecial is log(x) for x that is not positive and finite.
func logSpecial(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	}
	return x // NaN, +Inf
}

// positive reports whether x is positive and finite.
func positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// logPair is log(x) for positive and finite x.
func logPair(x pair) pair {
	more := 0.0
	if x.hi < 0x1p-1000 {
		x, more = x.scaled(0x1p100), 100
	}
	k, i, z := logSplit(x.hi)
	k -= more
	c := &logTable[i]
	p := product(z, c.inv)
	r := fastSum(p.hi-1, p.lo+float64(x.lo/x.hi*p.hi))
	s := product(r.hi, r.hi)
	a := sum(float64(k*ln2Hi), c.hi)
	b := sum(a.hi, r.hi)
	d := sum(b.hi, -half(s.hi))
	lo := float64(k*ln2Lo) + c.lo + a.lo + b.lo + d.lo
	lo += r.lo - float64(r.hi*r.lo) - half(s.lo) + float64(float64(s.hi*r.hi)*logTail(r.hi))
	return fastSum(d.hi, lo)
}

// logTail is (log(1+r)-r+r²/2)/r³ for |r| < 2⁻⁶.
func logTail(r float64) float64 {
	q := 1.0/11 - float64(r*(1.0/12))
	q = -1.0/10 + float64(r*q)
	q = 1.0/9 + float64(r*q)
	q = -1.0/8 + float64(r*q)
	q = 1.0/7 + float64(r*q)
	q = -1.0/6 + float64(r*q)
	q = 1.0/5 + float64(r*q)
	q = -1.0/4 + float64(r*q)
	return 1.0/3 + float64(r*q)
}

func log(x float64) float64 {
	if !positive(x) {
		return logSpecial(x)
	}
	return logPair(pair{hi: x}).value()
}

// logBase is log(x) times factor.
func logBase(x float64, factor pair) float64 {
	if !positive(x) {
		return logSpecial(x)
	}
	return times(logPair(pair{hi: x}), factor).value()
}

func log1p(x float64) float64 {
	switch {
	case x <= -1 || !(x <= math.MaxFloat64):
		return logSpecial(1 + x)
	case abs(x) < 0x1p-54:
		return x
	}
	return logPair(sum(1, x)).value()
}

func asinh(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-28 || !(a <= math.MaxFloat64):
		return x
	case a > 0x1p60:
		return math.Copysign(add(logPair(pair{hi: a}), pair{ln21, ln22}).value(), x)
	}
	s := root(add(product(a, a), pair{hi: 1}))
	return math.Copysign(logPair(add(s, pair{hi: a})).value(), x)
}

func acosh(x float64) float64 {
	switch {
	case x < 1:
		return math.NaN()
	case !(x <= math.MaxFloat64):
		return x
	case x > 0x1p60:
		return add(logPair(pair{hi: x}), pair{ln21, ln22}).value()
	}
	s := root(add(product(x, x), pair{hi: -1}))
	return logPair(add(s, pair{hi: x})).value()
}

func atanh(x float64) float64 {
	a := abs(x)
	switch {
	case a > 1:
		return math.NaN()
	case a == 1:
		return math.Copysign(math.Inf(1), x)
	case a < 0x1p-28 || isNaN(x):
		return x
	}
	return math.Copysign(0.5*logPair(over(sum(1, a), sum(1, -a))).value(), x)
}

// log32 is log(x) up to 2⁻⁴⁴, for x that is no denormal.
func log32(x float64) float64 {
	if !positive(x) {
		return logSpecial(x)
	}
	k, i, z := logSplit(x)
	c := &logTable[i]
	r := float64(z*c.inv) - 1
	q := 1.0/5 - float64(r*(1.0/6-float64(r*(1.0/7))))
	q = 1.0/3 - float64(r*(1.0/4-float64(r*q)))
	q = 0.5 - float64(r*q)
	return (float64(k*ln21) + c.hi) + (r - float64(float64(r*r)*q))
}

func log1p32(x float64) float64 {
	if abs(x) < 0x1p-12 {
		return x - float64(float64(x*x)*(0.5-float64(x*(1.0/3-float64(x*0.25)))))
	}
	return log32(1 + x)
}

func asinh32(x float64) float64 {
	a := abs(x)
	if a > 1e30 {
		return math.Copysign(log32(a)+ln21, x)
	}
	z := float64(a * a)
	return math.Copysign(log1p32(a+z/(1+math.Sqrt(z+1))), x)
}

func acosh32(x float64) float64 {
	switch {
	case x < 1:
		return math.NaN()
	case x > 1e30:
		return log32(x) + ln21
	}
	t := x - 1
	return log1p32(t + math.Sqrt(float64(t*(x+1))))
}

func atanh32(x float64) float64 {
	a := abs(x)
	if a > 1 {
		return math.NaN()
	}
	return math.Copysign(0.5*log1p32(2*a/(1-a)), x)
}
