// Package scalarmath has the transcendental functions of the portable kernels and of constant folding.
//
// They give the same bits on every machine: they are plain Go in which every product is rounded before it is
// added to anything (Go may fuse the two otherwise, and does on arm64 and riscv64), and they call nothing of
// package math but what is exact. NaN, ±Inf, -0 and denormals are treated as in C99, Annex F.
//
// A float64 result is within 1 ulp of the true value, but for these: Erf, Erfc and Gelu, 2 ulp; GeluTanh, whose
// argument of tanh is computed in float64, 2 ulp and 2 more for each unit of that argument. A float32 result is
// computed in float64 and rounded once; it is within 0.51 ulp. Denormal results are rounded once more.
package scalarmath

import "unsafe"

// Float are the types that the functions take.
type Float interface{ float32 | float64 }

// single reports whether T is float32; the compiler knows the answer.
func single[T Float]() bool {
	var x T
	return unsafe.Sizeof(x) == 4
}

// Exp is eˣ.
func Exp[T Float](x T) T {
	if single[T]() {
		return T(exp32(float64(x)))
	}
	return T(exp(float64(x)))
}

// ExpIn is eˣ, exact enough to be rounded to a T.
func ExpIn[T Float](x float64) float64 {
	if single[T]() {
		return exp32(x)
	}
	return exp(x)
}

// Exp2 is 2ˣ.
func Exp2[T Float](x T) T {
	if single[T]() {
		return T(exp32(float64(x) * ln21))
	}
	return T(exp2(float64(x)))
}

// Expm1 is eˣ-1, exact near 0.
func Expm1[T Float](x T) T {
	if single[T]() {
		return T(expm132(float64(x)))
	}
	return T(expm1(float64(x)))
}

// Log is the natural logarithm.
func Log[T Float](x T) T {
	if single[T]() {
		return T(log32(float64(x)))
	}
	return T(log(float64(x)))
}

// Log2 is the logarithm to base 2.
func Log2[T Float](x T) T {
	if single[T]() {
		return T(log32(float64(x)) * log2e1)
	}
	return T(logBase(float64(x), pair{log2e1, log2e2}))
}

// Log10 is the logarithm to base 10.
func Log10[T Float](x T) T {
	if single[T]() {
		return T(log32(float64(x)) * log10e1)
	}
	return T(logBase(float64(x), pair{log10e1, log10e2}))
}

// Log1p is log(1+x), exact near 0.
func Log1p[T Float](x T) T {
	if single[T]() {
		return T(log1p32(float64(x)))
	}
	return T(log1p(float64(x)))
}

// Pow is xʸ.
func Pow[T Float](x, y T) T {
	if single[T]() {
		return T(powWith(float64(x), float64(y), powCore32))
	}
	return T(powWith(float64(x), float64(y), powCore))
}

// Sin is the sine of x in radians.
func Sin[T Float](x T) T {
	if single[T]() {
		return T(sin32(float64(x)))
	}
	return T(sin(float64(x)))
}

// Cos is the cosine of x in radians.
func Cos[T Float](x T) T {
	if single[T]() {
		return T(cos32(float64(x)))
	}
	return T(cos(float64(x)))
}

// Tan is the tangent of x in radians.
func Tan[T Float](x T) T {
	if single[T]() {
		return T(tan32(float64(x)))
	}
	return T(tan(float64(x)))
}

// Asin is the inverse of the sine, in [-π/2,π/2].
func Asin[T Float](x T) T {
	if single[T]() {
		return T(asin32(float64(x)))
	}
	return T(asin(float64(x)))
}

// Acos is the inverse of the cosine, in [0,π].
func Acos[T Float](x T) T {
	if single[T]() {
		return T(acos32(float64(x)))
	}
	return T(acos(float64(x)))
}

// Atan is the inverse of the tangent, in [-π/2,π/2].
func Atan[T Float](x T) T {
	if single[T]() {
		return T(atan232(float64(x), 1))
	}
	return T(atan2(float64(x), 1))
}

// Atan2 is the angle of the point (x,y), in [-π,π].
func Atan2[T Float](y, x T) T {
	if single[T]() {
		return T(atan232(float64(y), float64(x)))
	}
	return T(atan2(float64(y), float64(x)))
}

// Sinh is the hyperbolic sine.
func Sinh[T Float](x T) T {
	if single[T]() {
		return T(sinh32(float64(x)))
	}
	return T(sinh(float64(x)))
}

// Cosh is the hyperbolic cosine.
func Cosh[T Float](x T) T {
	if single[T]() {
		return T(cosh32(float64(x)))
	}
	return T(cosh(float64(x)))
}

// Tanh is the hyperbolic tangent.
func Tanh[T Float](x T) T {
	if single[T]() {
		return T(tanh32(float64(x)))
	}
	return T(tanh(float64(x)))
}

// Asinh is the inverse of Sinh.
func Asinh[T Float](x T) T {
	if single[T]() {
		return T(asinh32(float64(x)))
	}
	return T(asinh(float64(x)))
}

// Acosh is the inverse of Cosh, at least 0.
func Acosh[T Float](x T) T {
	if single[T]() {
		return T(acosh32(float64(x)))
	}
	return T(acosh(float64(x)))
}

// Atanh is the inverse of Tanh.
func Atanh[T Float](x T) T {
	if single[T]() {
		return T(atanh32(float64(x)))
	}
	return T(atanh(float64(x)))
}

// Erf is 2/√π ∫ e^(-t²) dt from 0 to x.
func Erf[T Float](x T) T {
	if single[T]() {
		return T(erf32(float64(x)))
	}
	return T(erf(float64(x)))
}

// Erfc is 1-Erf(x), exact for large x.
func Erfc[T Float](x T) T {
	if single[T]() {
		return T(erfc32(float64(x)))
	}
	return T(erfc(pair{hi: float64(x)}))
}

// Sigmoid is 1/(1+e⁻ˣ).
func Sigmoid[T Float](x T) T {
	if single[T]() {
		return T(1 / (1 + exp32(-float64(x))))
	}
	return T(sigmoid(float64(x)))
}

// Gelu is x·Φ(x), with Φ the normal distribution; NaN for -Inf, as in PyTorch.
func Gelu[T Float](x T) T {
	const invSqrt2Hi, invSqrt2Lo = 0.7071067811865476, -4.833646656726457e-17
	z := float64(x)
	switch {
	case !finite(z):
		return T(geluLimit(z))
	case single[T]():
		return T(0.5 * z * erfc32(-z*invSqrt2Hi))
	}
	return T(0.5 * z * erfc(timesFloat(pair{-invSqrt2Hi, -invSqrt2Lo}, z)))
}

// GeluTanh is x/2·(1+tanh(√(2/π)·(x+0.044715·x³))), the approximation of Gelu; NaN for -Inf.
func GeluTanh[T Float](x T) T {
	const twice = 2 * 0.79788456080286535588 // 2·√(2/π)
	z := float64(x)
	if !finite(z) {
		return T(geluLimit(z))
	}
	cubic := float64(0.044715 * z * z * z)
	u := float64(twice * (z + cubic))
	if single[T]() {
		return T(z / (1 + exp32(-u)))
	}
	return T(z * sigmoid(u))
}

// geluLimit is Gelu of NaN and ±Inf.
func geluLimit(x float64) float64 {
	if x > 0 {
		return x
	}
	return invalid(x)
}
