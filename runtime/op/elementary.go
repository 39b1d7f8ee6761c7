package op

import "math"

// exp and the functions made of it give the same bits on every machine: they
// are plain Go in which no product and sum can be fused. Their error in
// float64 is below 1 ulp (2 for the derived ones), so that of float32 is rounding.

const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// exp is eˣ.
func exp(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.1332191019411:
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	hi := x - float64(k*ln2Hi)
	lo := float64(k * ln2Lo)
	return scale(expReduced(hi, lo), int(k))
}

// expReduced is e^(hi-lo) for |hi-lo| ≤ ln 2 / 2.
func expReduced(hi, lo float64) float64 {
	const (
		p1 = 1.66666666666666019037e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	r := hi - lo
	t := r * r
	q := p4 + float64(t*p5)
	q = p3 + float64(t*q)
	q = p2 + float64(t*q)
	q = p1 + float64(t*q)
	c := r - float64(t*q)
	return 1 - ((lo - float64(r*c)/(2-c)) - hi)
}

// scale is x·2ᵏ for x in [0.5,2].
func scale(x float64, k int) float64 {
	if k > -1000 && k < 1000 {
		return x * math.Float64frombits(uint64(k+1023)<<52)
	}
	half := k / 2
	x *= math.Float64frombits(uint64(half+1023) << 52)
	return x * math.Float64frombits(uint64(k-half+1023)<<52)
}

// expm1 is eˣ-1, exact near 0.
func expm1(x float64) float64 {
	if x > -0.01 && x < 0.01 { // 6 terms of Taylor's series: below 1e-18
		s := 1 + float64(x*(1.0/6))
		s = 1 + float64(float64(x*(1.0/5))*s)
		s = 1 + float64(float64(x*(1.0/4))*s)
		s = 1 + float64(float64(x*(1.0/3))*s)
		s = 1 + float64(float64(x*0.5)*s)
		return x * s
	}
	return exp(x) - 1
}

// log is the natural logarithm.
func log(x float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	frac, exponent := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac *= 2
		exponent--
	}
	f, k := frac-1, float64(exponent)
	s := f / (2 + f)
	s2 := s * s
	s4 := s2 * s2
	t1 := s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7))))))
	t2 := s4 * (l2 + float64(s4*(l4+float64(s4*l6))))
	r := float64(t1) + float64(t2)
	half := 0.5 * f * f
	return float64(k*ln2Hi) - ((half - (float64(s*(half+r)) + float64(k*ln2Lo))) - f)
}

// tanh is the hyperbolic tangent.
func tanh(x float64) float64 {
	switch {
	case x > 20:
		return 1
	case x < -20:
		return -1
	}
	e := expm1(2 * x)
	return e / (e + 2)
}

// sigmoid is 1/(1+e⁻ˣ).
func sigmoid(x float64) float64 { return 1 / (1 + exp(-x)) }

// geluErf is x·Φ(x).
func geluErf(x float64) float64 {
	return 0.5 * x * (1 + math.Erf(x*(math.Sqrt2/2)))
}

// geluTanh is the approximation of geluErf with tanh.
func geluTanh(x float64) float64 {
	const k = 0.79788456080286535588 // √(2/π)
	cubic := float64(0.044715 * x * x * x)
	return 0.5 * x * (1 + tanh(k*(x+cubic)))
}
