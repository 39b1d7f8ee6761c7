package scalarmath

import (
	"math"
	"math/bits"
)

// reduce is n and r with x = n·π/2 + r and |r| ≤ π/4, up to a little; n counts modulo 4. x is finite.
func reduce(x float64) (n int, r pair) {
	if abs(x) > 1<<20 {
		return reduceLarge(x)
	}
	k, n := nearest(float64(x * (1 / halfPi1)))
	a := x - float64(k*halfPiParts[0])
	b := sum(a, -float64(k*halfPiParts[1]))
	c := sum(b.hi, -float64(k*halfPiParts[2]))
	return n, fastSum(c.hi, b.lo+c.lo-float64(k*halfPiParts[3]))
}

// reduceLarge multiplies the bits of x by those of 2/π (Payne and Hanek): of the product it needs two bits
// before the point and 128 behind it.
func reduceLarge(x float64) (n int, r pair) {
	u := math.Float64bits(x)
	exponent := int(u>>52&0x7ff) - 1075 // x = mantissa·2^exponent
	mantissa := u&(1<<52-1) | 1<<52
	var w [3]uint64 // the bits of 2/π from 2^-(exponent-1) on: what lies before gives multiples of 4
	for i := range w {
		w[i] = twoOverPiBits(exponent - 2 + 64*i)
	}
	c, lo := bits.Mul64(mantissa, w[2])
	h1, m1 := bits.Mul64(mantissa, w[1])
	mid, carry := bits.Add64(m1, c, 0)
	top := mantissa*w[0] + h1 + carry
	n = int(top >> 62)
	top, mid = top<<2|mid>>62, mid<<2|lo>>62
	negative := top>>63 != 0
	if negative {
		n++
		top, mid = ^top, ^mid
	}
	f := fraction(top, mid)
	r = times(f, pair{halfPi1, halfPi2})
	if negative != (x < 0) {
		r = r.neg()
	}
	if x < 0 {
		n = -n
	}
	return n & 3, r
}

// twoOverPiBits are 64 bits of 2/π; the first has weight 2^-(at+1).
func twoOverPiBits(at int) uint64 {
	if at < 0 {
		return twoOverPi[0] >> -at
	}
	word, shift := at/64, at%64
	v := twoOverPi[word] << shift
	if shift > 0 {
		v |= twoOverPi[word+1] >> (64 - shift)
	}
	return v
}

// fraction is the number whose bits behind the point are those of a and b.
func fraction(a, b uint64) pair {
	zeros := bits.LeadingZeros64(a)
	a, b = a<<zeros|b>>(64-zeros), b<<zeros
	hi := float64(float64(a>>11) * 0x1p-53)
	lo := float64(float64(a<<53|b>>11) * 0x1p-117)
	return pair{hi, lo}.scaled(power(-zeros))
}

// sinPart and cosPart are the functions for |r| ≤ π/4.
func sinPart(r pair) pair {
	z := float64(r.hi * r.hi)
	p := float64(r.hi * float64(z*poly(sinPoly[:], z)))
	return fastSum(r.hi, p+float64(r.lo*(1-half(z))))
}

func cosPart(r pair) pair {
	z := product(r.hi, r.hi)
	one := fastSum(1, -half(z.hi))
	p := float64(float64(z.hi*z.hi) * poly(cosPoly[:], z.hi))
	return fastSum(one.hi, one.lo-half(z.lo)+p-float64(r.hi*r.lo))
}

// quadrant is the sine of n·π/2+r.
func quadrant(n int, r pair) pair {
	p := sinPart
	if n&1 != 0 {
		p = cosPart
	}
	if n&2 != 0 {
		return p(r).neg()
	}
	return p(r)
}

func finite(x float64) bool { return abs(x) <= math.MaxFloat64 }

// invalid is the NaN for an infinite x, and x if that is a NaN. Machines disagree on the sign of Inf-Inf.
func invalid(x float64) float64 {
	if isNaN(x) {
		return x
	}
	return math.NaN()
}

func sin(x float64) float64 {
	switch {
	case !finite(x):
		return invalid(x)
	case abs(x) < 0x1p-27:
		return x
	}
	n, r := reduce(x)
	return quadrant(n, r).value()
}

func cos(x float64) float64 {
	if !finite(x) {
		return invalid(x)
	}
	n, r := reduce(x)
	return quadrant(n+1, r).value()
}

func tan(x float64) float64 {
	switch {
	case !finite(x):
		return invalid(x)
	case abs(x) < 0x1p-27:
		return x
	}
	n, r := reduce(x)
	s, c := sinPart(r), cosPart(r)
	if n&1 != 0 {
		return over(c.neg(), s).value()
	}
	return over(s, c).value()
}

// reduce32 is reduce for float32, with r up to 2⁻⁶⁶.
func reduce32(x float64) (n int, r float64) {
	const rest = 6.077100506506192e-11 // π/2 - halfPiParts[0]
	if abs(x) > 1<<20 {
		n, p := reduceLarge(x)
		return n, p.hi
	}
	k, n := nearest(float64(x * (1 / halfPi1)))
	return n, x - float64(k*halfPiParts[0]) - float64(k*rest)
}

func sinPart32(r float64) float64 {
	z, c := float64(r*r), &sinPoly
	q := c[3] + float64(z*c[4])
	q = c[2] + float64(z*q)
	q = c[1] + float64(z*q)
	q = c[0] + float64(z*q)
	return r + float64(float64(r*z)*q)
}

func cosPart32(r float64) float64 {
	z, c := float64(r*r), &cosPoly
	q := c[3] + float64(z*c[4])
	q = c[2] + float64(z*q)
	q = c[1] + float64(z*q)
	q = c[0] + float64(z*q)
	return 1 - half(z) + float64(float64(z*z)*q)
}

func quadrant32(n int, r float64) float64 {
	var y float64
	if n&1 != 0 {
		y = cosPart32(r)
	} else {
		y = sinPart32(r)
	}
	if n&2 != 0 {
		return -y
	}
	return y
}

func sin32(x float64) float64 {
	switch {
	case !finite(x):
		return invalid(x)
	case x == 0:
		return x
	}
	return quadrant32(reduce32(x))
}

func cos32(x float64) float64 {
	if !finite(x) {
		return invalid(x)
	}
	n, r := reduce32(x)
	return quadrant32(n+1, r)
}

func tan32(x float64) float64 {
	switch {
	case !finite(x):
		return invalid(x)
	case x == 0:
		return x
	}
	n, r := reduce32(x)
	if n&1 != 0 {
		return -cosPart32(r) / sinPart32(r)
	}
	return sinPart32(r) / cosPart32(r)
}
