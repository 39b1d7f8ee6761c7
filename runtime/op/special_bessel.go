package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
)

// chebyshev evaluates a Chebyshev series, the highest coefficient first.
func chebyshev(x float64, coefficients []float64) float64 {
	var a, q, p float64
	for i, c := range coefficients {
		if i == 0 {
			a = c
			continue
		}
		p, q = q, a
		a = float64(x*q) - p + c
	}
	return float64(0.5 * (a - p))
}

// besselI0e is the modified Bessel function I₀, times e^-|x|.
func besselI0e(x float64) float64 {
	x = math.Abs(x)
	if x <= 8 {
		return chebyshev(float64(x/2)-2, besselI0A[:])
	}
	return chebyshev(32/x-2, besselI0B[:]) / math.Sqrt(x)
}

// besselI1e is I₁ times e^-|x|.
func besselI1e(x float64) float64 {
	z := math.Abs(x)
	y := 0.0
	if z <= 8 {
		y = chebyshev(float64(z/2)-2, besselI1A[:]) * z
	} else {
		y = chebyshev(32/z-2, besselI1B[:]) / math.Sqrt(z)
	}
	return math.Copysign(y, x)
}

func besselI0(x float64) float64 { return scalarmath.Exp(math.Abs(x)) * besselI0e(x) }

func besselI1(x float64) float64 { return scalarmath.Exp(math.Abs(x)) * besselI1e(x) }

// besselK0e is the modified Bessel function K₀, times e^x.
func besselK0e(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(1)
	case x < 0:
		return math.NaN()
	case x <= 2:
		return (chebyshev(float64(x*x)-2, besselK0A[:]) - float64(scalarmath.Log(0.5*x)*besselI0(x))) * scalarmath.Exp(x)
	}
	return chebyshev(8/x-2, besselK0B[:]) / math.Sqrt(x)
}

// besselK1e is K₁ times e^x.
func besselK1e(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(1)
	case x < 0:
		return math.NaN()
	case x <= 2:
		return (float64(scalarmath.Log(0.5*x)*besselI1(x)) + chebyshev(float64(x*x)-2, besselK1A[:])/x) * scalarmath.Exp(x)
	}
	return chebyshev(8/x-2, besselK1B[:]) / math.Sqrt(x)
}

func besselK0(x float64) float64 { return scalarmath.Exp(-x) * besselK0e(x) }

func besselK1(x float64) float64 { return scalarmath.Exp(-x) * besselK1e(x) }

// besselJ0 is the Bessel function J₀; NaN at the infinities, as ATen's.
func besselJ0(x float64) float64 { return ofFinite(x, math.J0(x)) }

// besselJ1 is the Bessel function J₁, which is odd; math.J1 loses the sign of small x.
func besselJ1(x float64) float64 {
	return ofFinite(x, float64(math.Copysign(1, x)*math.J1(math.Abs(x))))
}

// besselY0 is the Bessel function Y₀; NaN at infinity.
func besselY0(x float64) float64 { return ofFinite(x, math.Y0(x)) }

// besselY1 is the Bessel function Y₁; NaN at infinity.
func besselY1(x float64) float64 { return ofFinite(x, math.Y1(x)) }

// ofFinite is y for a finite x and NaN else.
func ofFinite(x, y float64) float64 { return y + float64(x-x) }

// sphericalJ0 is sin(x)/x.
func sphericalJ0(x float64) float64 {
	switch {
	case math.IsInf(x, 0):
		return 0
	case math.Abs(x) < 1e-4:
		return 1 - float64(x*x)/6
	}
	return scalarmath.Sin(x) / x
}

// airyAi is Airy's function Ai.
func airyAi(x float64) float64 {
	const rootPi = 5.64189583547756286948e-01 // 1/√π
	switch {
	case math.IsInf(x, 0):
		return math.NaN()
	case x > 103.892:
		return 0
	case x < -2.09:
		root := math.Sqrt(-x)
		t := -2 * x * root / 3
		z := 1 / t
		f := 1 + float64(z*z*polynomial(z*z, airyAFN[:]))/polynomial(z*z, airyAFD[:])
		g := z * polynomial(z*z, airyAGN[:]) / polynomial(z*z, airyAGD[:])
		s, c := scalarmath.Sin(t+math.Pi/4), scalarmath.Cos(t+math.Pi/4)
		return rootPi / math.Sqrt(root) * (float64(s*f) - float64(c*g))
	case x >= 2.09:
		t := 2 * x * math.Sqrt(x) / 3
		y := polynomial(1/t, airyAN[:]) / polynomial(1/t, airyAD[:])
		return rootPi * y / (2 * math.Sqrt(math.Sqrt(x)) * scalarmath.Exp(t))
	}
	return airySeries(x)
}

// airySeries is the power series of Ai, for small x.
func airySeries(x float64) float64 {
	f, g, k := 1.0, x, 1.0
	m, n, z := 1.0, x, x*x*x
	for t := 1.0; t > 0x1p-52; {
		m *= z
		k++
		m /= k
		n *= z
		k++
		n /= k
		m /= k
		f += m
		k++
		n /= k
		g += n
		t = math.Abs(m / f)
	}
	return float64(0.355028053887817239260*f) - float64(0.258819403792806798405*g)
}
