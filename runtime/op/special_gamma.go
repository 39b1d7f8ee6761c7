package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
)

// The functions here follow Cephes (S. Moshier), as ATen/native/Math.h does, in float64.

// polynomial evaluates coefficients, the highest first.
func polynomial(x float64, coefficients []float64) float64 {
	y := 0.0
	for _, c := range coefficients {
		y = float64(y*x) + c
	}
	return y
}

// lgamma is the logarithm of |Γ(x)|.
func lgamma(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.Inf(1)
	}
	if x < 0.5 { // Γ(x)·Γ(1-x) = π / sin(πx)
		if x == math.Floor(x) {
			return math.Inf(1)
		}
		turn := x - math.RoundToEven(x) // exact; the sine of a whole turn and a little more would not be
		return scalarmath.Log(math.Pi/math.Abs(scalarmath.Sin(math.Pi*turn))) - lgamma(1-x)
	}
	if x == 1 || x == 2 {
		return 0
	}
	product := 1.0
	for ; x < 15; x++ {
		product *= x
	}
	return stirling(x) - scalarmath.Log(product)
}

// stirling is the asymptotic series of lgamma, for large x (Abramowitz and Stegun 6.1.41).
func stirling(x float64) float64 {
	const halfLogTwoPi = 0.918938533204672741780
	series := polynomial(1/(x*x), []float64{-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}) / x
	return float64((x-0.5)*scalarmath.Log(x)) - x + halfLogTwoPi + series
}

// digamma is the derivative of lgamma.
func digamma(x float64) float64 {
	const atTen = 2.25175258906672110764
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0 && x == math.Trunc(x):
		return math.NaN()
	case x < 0:
		_, r := math.Modf(x)
		return digamma(1-x) - math.Pi/scalarmath.Tan(math.Pi*r)
	}
	sum := 0.0
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	if x == 10 {
		return sum + atTen
	}
	y := 0.0
	if x < 1e17 {
		z := 1 / (x * x)
		y = z * polynomial(z, digammaA[:])
	}
	return sum + scalarmath.Log(x) - 0.5/x - y
}

// zeta is Hurwitz's: the sum of (q+k)^-x over k ≥ 0.
func zeta(x, q float64) float64 {
	const eps = 1.11022302462515654042e-16
	switch {
	case x == 1:
		return math.Inf(1)
	case x < 1:
		return math.NaN()
	case q <= 0 && q == math.Floor(q):
		return math.Inf(1)
	case x != x || q != q:
		return math.NaN()
	case q <= 0 && x != math.Floor(x):
		return math.NaN()
	}
	s, a, b := scalarmath.Pow(q, -x), q, 0.0
	for i := 0; i < 9 || a <= 9; i++ {
		a++
		b = scalarmath.Pow(a, -x)
		s += b
		if -eps*s < b && b < eps*s {
			return s
		}
	}
	return zetaTail(s, x, a, b)
}

// zetaTail adds Euler and Maclaurin's remainder to the sum s, whose last term is b = w^-x.
func zetaTail(s, x, w, b float64) float64 {
	const eps = 1.11022302462515654042e-16
	s += b * w / (x - 1)
	s -= float64(0.5 * b)
	a, k := 1.0, 0.0
	for _, c := range zetaA {
		a *= x + k
		b /= w
		t := a * b / c
		s += t
		if math.Abs(t/s) < eps {
			break
		}
		k++
		a *= x + k
		b /= w
		k++
	}
	return s
}

// gammaP is the regularized lower incomplete gamma function of a and x.
func gammaP(a, x float64) float64 {
	if y, known := gammaLimit(a, x); known {
		return y
	}
	if x < a+1 {
		return gammaSeries(a, x)
	}
	return 1 - gammaFraction(a, x)
}

// gammaQ is 1 - gammaP, without cancellation.
func gammaQ(a, x float64) float64 {
	if y, known := gammaLimit(a, x); known {
		return 1 - y
	}
	if x < a+1 {
		return 1 - gammaSeries(a, x)
	}
	return gammaFraction(a, x)
}

// gammaLimit is gammaP where an argument is 0, infinite or outside of the domain.
func gammaLimit(a, x float64) (y float64, known bool) {
	switch {
	case a < 0 || x < 0 || a == 0 && !(x > 0) || math.IsInf(a, 1) && math.IsInf(x, 1):
		return math.NaN(), true
	case a == 0:
		return 1, true
	case x == 0 || math.IsInf(a, 1):
		return 0, true
	case math.IsInf(x, 1):
		return 1, true
	case a != a || x != x:
		return math.NaN(), true
	}
	return 0, false
}

// maxTerms bounds the series and the fraction: they need about as many terms as the root of a.
const maxTerms = 100000

// gammaSeries is the power series, for x < a+1 (Abramowitz and Stegun 6.5.29).
func gammaSeries(a, x float64) float64 {
	term := 1 / a
	sum := term
	for n := 1; n < maxTerms && math.Abs(term) > math.Abs(sum)*1e-17; n++ {
		term = float64(term * (x / (a + float64(n))))
		sum += term
	}
	return sum * gammaFactor(a, x)
}

// gammaFraction is the continued fraction by Lentz's method, for x ≥ a+1 (Abramowitz and Stegun 6.5.31).
func gammaFraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < maxTerms; i++ {
		n := -i * (i - a)
		b += 2
		if d = float64(n*d) + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + n/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		h *= d * c
		if math.Abs(float64(d*c)-1) < 1e-16 {
			break
		}
	}
	return h * gammaFactor(a, x)
}

// gammaFactor is x^a·e^-x / Γ(a).
func gammaFactor(a, x float64) float64 {
	return scalarmath.Exp(float64(a*scalarmath.Log(x)) - x - lgamma(a))
}

// erfcx is e^(x²)·erfc(x).
func erfcx(x float64) float64 {
	switch {
	case x < -26.7:
		return math.Inf(1)
	case x < 8:
		return scalarmath.Exp(x*x) * scalarmath.Erfc(x)
	}
	f := 0.0 // the continued fraction of Laplace
	for k := 40.0; k > 0; k-- {
		f = k / 2 / (x + f)
	}
	return 1 / (math.SqrtPi * (x + f))
}

// logNdtr is the logarithm of the normal distribution function.
func logNdtr(x float64) float64 {
	t := x / math.Sqrt2
	if x < -1 {
		return scalarmath.Log(erfcx(-t)/2) - float64(t*t)
	}
	return scalarmath.Log1p(-scalarmath.Erfc(t) / 2)
}

// ndtri is the inverse of the normal distribution function.
func ndtri(p float64) float64 {
	const tail = 0.13533528323661269189 // e^-2
	switch {
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case !(p > 0 && p < 1):
		return math.NaN()
	}
	y, sign := p, -1.0
	if y > 1-tail {
		y, sign = 1-y, 1
	}
	if y > tail {
		return ndtriMiddle(y - 0.5)
	}
	return sign * ndtriTail(y)
}

// ndtriMiddle is ndtri(y + 1/2) for |y| up to 3/8.
func ndtriMiddle(y float64) float64 {
	const rootTwoPi = 2.50662827463100050242
	z := y * y
	return rootTwoPi * (y + float64(y*(z*polynomial(z, ndtriP0[:])/polynomial(z, ndtriQ0[:]))))
}

// ndtriTail is -ndtri(y) for a small y.
func ndtriTail(y float64) float64 {
	x := math.Sqrt(-2 * scalarmath.Log(y))
	z := 1 / x
	low := z * polynomial(z, ndtriP1[:]) / polynomial(z, ndtriQ1[:])
	if x >= 8 {
		low = z * polynomial(z, ndtriP2[:]) / polynomial(z, ndtriQ2[:])
	}
	return x - scalarmath.Log(x)/x - low
}

// erfinv is the inverse of the error function.
func erfinv(y float64) float64 {
	switch z := math.Abs(y); {
	case z < 0.72:
		return ndtriMiddle(float64(y/2)) / math.Sqrt2
	case z < 1:
		return math.Copysign(ndtriTail((1-z)/2)/math.Sqrt2, y)
	case z == 1:
		return math.Copysign(math.Inf(1), y)
	}
	return math.NaN()
}
