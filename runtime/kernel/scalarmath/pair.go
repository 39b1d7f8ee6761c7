package scalarmath

import "math"

// pair is the number hi+lo with |lo| ≤ ulp(hi)/2, about 106 bits.
type pair struct{ hi, lo float64 }

// value rounds p.
func (p pair) value() float64 { return p.hi + p.lo }

func (p pair) neg() pair { return pair{-p.hi, -p.lo} }

// scaled is p·f for a power of two f.
func (p pair) scaled(f float64) pair { return pair{float64(p.hi * f), float64(p.lo * f)} }

// fastSum is a+b exactly, for |a| ≥ |b| or a = 0.
func fastSum(a, b float64) pair {
	s := a + b
	return pair{s, b - (s - a)}
}

// sum is a+b exactly (Knuth).
func sum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

// product is a·b up to 2⁻¹⁰⁵ of it (Dekker), if nothing overflows.
func product(a, b float64) pair {
	ah, bh := upper(a), upper(b)
	al, bl := a-ah, b-bh
	p := float64(a * b)
	lo := float64(ah*bh) - p
	lo += float64(ah * bl) // in this order every sum is exact
	lo += float64(al * bh)
	return pair{p, lo + float64(al*bl)}
}

// upper is the upper half of the bits of x.
func upper(x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) &^ (1<<27 - 1))
}

func add(a, b pair) pair {
	s := sum(a.hi, b.hi)
	return fastSum(s.hi, s.lo+(a.lo+b.lo))
}

func times(a, b pair) pair {
	p := product(a.hi, b.hi)
	return fastSum(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func timesFloat(a pair, b float64) pair { return times(a, pair{hi: b}) }

// over is a/b.
func over(a, b pair) pair {
	q := a.hi / b.hi
	p := product(q, b.hi)
	rest := (a.hi - p.hi) - p.lo + a.lo - float64(q*b.lo)
	return fastSum(q, rest/b.hi)
}

// root is √a for a > 0, and 0 for 0.
func root(a pair) pair {
	s := math.Sqrt(a.hi)
	if s == 0 {
		return pair{}
	}
	p := product(s, s)
	return fastSum(s, ((a.hi-p.hi)-p.lo+a.lo)/(2*s))
}

// power is 2ᵏ for a normal result.
func power(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// scale is x·2ᵏ for x of magnitude near 1.
func scale(x float64, k int) float64 {
	if k > -1000 && k < 1000 {
		return x * power(k)
	}
	k = max(min(k, 2000), -2000)
	return x * power(k/2) * power(k-k/2)
}

// poly is the polynomial with coefficients c, the constant first.
func poly(c []float64, x float64) float64 {
	y := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		y = c[i] + float64(x*y)
	}
	return y
}

// nearest is the integer next to x for |x| < 2⁵¹, as a float and as an int.
func nearest(x float64) (float64, int) {
	const big = 3 << 51
	k := float64(x+big) - big
	return k, int(k)
}

// half is x/2, rounded, so that it is not fused with what follows.
func half(x float64) float64 { return float64(0.5 * x) }

func isNaN(x float64) bool { return x != x }

func abs(x float64) float64 { return math.Abs(x) }
