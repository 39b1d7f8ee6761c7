package main

import "math"

// The bits of a float32 that is negative, and of ones that are not finite.
const (
	signBit  = 0x80000000
	nanBits  = 0x7fc00000
	infBits  = 0x7f800000
	oneBytes = 0x01010101 // four bytes of 1
	halfRoot = 0x3f3504f3 // √½
)

// simple are functions that have an instruction, or nearly so.
var simple = []mapped{
	{name: "Hardswish", doc: "x·clamp(x+3, 0, 6)/6, within 2 ulp", operands: 1, registers: 4, constants: 3, emit: func(g *maps, r []vec) {
		g.with('+', r[1], r[0], 3, r[3])
		g.constant(r[2], 0)
		g.constant(r[3], 6)
		g.clamp(r[1], r[2], r[3])
		g.arith('*', r[0], r[0], r[1])
		g.with('*', r[0], r[0], 1.0/6, r[3])
	}},
	{name: "PRelu", doc: "x if x > 0, else y·x", operands: 2, registers: 4, emit: func(g *maps, r []vec) {
		g.bits(r[2], 0)
		g.compare('<', r[3], r[2], r[0])
		g.arith('*', r[1], r[0], r[1])
		g.choose(r[1], r[3], r[0])
		g.copy(r[0], r[1])
	}},
	{name: "Abs", doc: "|x|", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
		g.bits(r[1], signBit)
		g.bitwise('\\', r[0], r[0], r[1])
	}},
	{name: "Neg", doc: "-x", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
		g.bits(r[1], signBit)
		g.bitwise('^', r[0], r[0], r[1])
	}},
	{name: "Sign", doc: "1, 0 or -1, the sign of x; 0 for NaN", operands: 1, registers: 5, emit: func(g *maps, r []vec) {
		g.bits(r[1], 0)
		g.compare('<', r[2], r[1], r[0])
		g.compare('<', r[3], r[0], r[1])
		g.constant(r[4], 1)
		g.bitwise('&', r[2], r[2], r[4])
		g.bitwise('&', r[3], r[3], r[4])
		g.arith('-', r[0], r[2], r[3])
	}},
	{name: "And", doc: "the bits of x and y", operands: 2, registers: 2, emit: bits('&')},
	{name: "Or", doc: "the bits of x or y", operands: 2, registers: 2, emit: bits('|')},
	{name: "Xor", doc: "the bits of x or y, not both", operands: 2, registers: 2, emit: bits('^')},
	{name: "AddBytes", doc: "the sums of the bytes of x and y", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.addBytes(r[0], r[0], r[1])
	}},
	{name: "SubBytes", doc: "the differences of the bytes of x and y", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.subBytes(r[0], r[0], r[1])
	}},
	{name: "EqBytes", doc: "1 for each byte that x and y have alike, else 0", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.bitwise('^', r[0], r[0], r[1])
		g.truth(r[0], r[1])
		g.bitwise('^', r[0], r[0], r[1])
	}},
	{name: "NeBytes", doc: "0 for each byte that x and y have alike, else 1", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.bitwise('^', r[0], r[0], r[1])
		g.truth(r[0], r[1])
	}},
	{name: "LogicalNotBytes", doc: "1 for each byte that is 0 in x, else 0", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
		g.truth(r[0], r[1])
		g.bitwise('^', r[0], r[0], r[1])
	}},
	{name: "LogicalAndBytes", doc: "1 for each byte that is 0 neither in x nor in y, else 0", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.smallerBytes(r[0], r[0], r[1])
		g.truth(r[0], r[1])
	}},
	{name: "LogicalOrBytes", doc: "0 for each byte that is 0 in x and in y, else 1", operands: 2, registers: 2, emit: func(g *maps, r []vec) {
		g.bitwise('|', r[0], r[0], r[1])
		g.truth(r[0], r[1])
	}},
	{name: "LogicalXorBytes", doc: "1 for each byte that is 0 in x or in y, not in both, else 0", operands: 2, registers: 3, emit: func(g *maps, r []vec) {
		g.truth(r[0], r[2])
		g.smallerBytes(r[1], r[1], r[2])
		g.bitwise('^', r[0], r[0], r[1])
	}},
	{name: "Floor", doc: "the integer at most x", operands: 1, registers: 1, emit: rounding('<')},
	{name: "Ceil", doc: "the integer at least x", operands: 1, registers: 1, emit: rounding('>')},
	{name: "Trunc", doc: "the integer next to x towards 0", operands: 1, registers: 1, emit: rounding('0')},
	{name: "Round", doc: "the integer next to x, the even one of two", operands: 1, registers: 1, emit: rounding('n')},
	{name: "Sqrt", doc: "√x", operands: 1, registers: 1, emit: func(g *maps, r []vec) { g.sqrt(r[0], r[0]) }},
	{name: "Rsqrt", doc: "1/√x, within 2 ulp", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
		g.sqrt(r[0], r[0])
		g.constant(r[1], 1)
		g.arith('/', r[0], r[1], r[0])
	}},
	{name: "Reciprocal", doc: "1/x", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
		g.constant(r[1], 1)
		g.arith('/', r[0], r[1], r[0])
	}},
	{name: "Max", doc: "the larger of x and y; NaN if one is", operands: 2, registers: 4, emit: larger(false)},
	{name: "Min", doc: "the smaller of x and y; NaN if one is", operands: 2, registers: 4, emit: larger(true)},
	{name: "AddScaled", doc: "x + p[0]·y, rounded twice", operands: 2, registers: 3, numbers: true, emit: func(g *maps, r []vec) {
		g.broadcast(r[2], args, lineLow)
		g.arith('*', r[1], r[1], r[2])
		g.arith('+', r[0], r[0], r[1])
	}},
	{name: "LeakyRelu", doc: "x if x > 0, else p[0]·x", operands: 1, registers: 4, numbers: true, emit: func(g *maps, r []vec) {
		g.bits(r[1], 0)
		g.compare('<', r[2], r[1], r[0])
		g.broadcast(r[1], args, lineLow)
		g.arith('*', r[3], r[0], r[1])
		g.choose(r[3], r[2], r[0])
		g.copy(r[0], r[3])
	}},
}

func rounding(op byte) func(g *maps, r []vec) {
	return func(g *maps, r []vec) { g.roundTo(op, r[0], r[0]) }
}

func bits(op byte) func(g *maps, r []vec) {
	return func(g *maps, r []vec) { g.bitwise(op, r[0], r[0], r[1]) }
}

// truth makes 1 of each byte of x that is not 0; ones gets bytes that are 1.
func (g *maps) truth(x, ones vec) {
	g.bits(ones, oneBytes)
	g.smallerBytes(x, x, ones)
}

// larger chooses x where it is larger, or smaller, and where it is NaN; else y, NaN among them.
func larger(smaller bool) func(g *maps, r []vec) {
	return func(g *maps, r []vec) {
		x, y, mask, t := r[0], r[1], r[2], r[3]
		if smaller {
			g.compare('<', mask, x, y)
		} else {
			g.compare('<', mask, y, x)
		}
		g.copy(t, y)
		g.choose(t, mask, x)
		g.compare('=', mask, x, x)
		g.choose(x, mask, t)
	}
}

// curves are functions that polynomials compute.
var curves = []mapped{
	{name: "Log", doc: "log(x), within 2 ulp", operands: 1, registers: 7, emit: func(g *maps, r []vec) {
		g.logarithm(r)
		g.constant(r[5], -2.12194440e-4)
		g.fma(r[3], r[2], r[5])
		g.arith('+', r[1], r[1], r[3])
		g.constant(r[5], 0.693359375)
		g.fma(r[1], r[2], r[5])
		g.logSpecials(r)
	}},
	{name: "Log2", doc: "log₂(x), within 3 ulp", operands: 1, registers: 7, emit: func(g *maps, r []vec) {
		g.logarithm(r)
		g.arith('+', r[1], r[1], r[3])
		g.constant(r[5], math.Log2E)
		g.fma(r[2], r[1], r[5])
		g.copy(r[1], r[2])
		g.logSpecials(r)
	}},
	{name: "Log10", doc: "log₁₀(x), within 3 ulp", operands: 1, registers: 7, emit: func(g *maps, r []vec) {
		g.logarithm(r)
		g.arith('+', r[1], r[1], r[3])
		g.constant(r[5], math.Log10E)
		g.arith('*', r[1], r[1], r[5])
		g.constant(r[5], 4.605103970e-6) // log₁₀ 2 in two parts
		g.fma(r[1], r[2], r[5])
		g.constant(r[5], 0.301025390625)
		g.fma(r[1], r[2], r[5])
		g.logSpecials(r)
	}},
	{name: "Log1p", doc: "log(1+x), within 3 ulp", operands: 1, registers: 8, emit: (*maps).log1p},
	{name: "Expm1", doc: "exp(x)-1, within 3 ulp", operands: 1, registers: 6, emit: (*maps).expm1},
	{name: "Elu", doc: "p[1]·x if x > 0, else p[0]·(exp(x)-1), within 4 ulp", operands: 1, registers: 7, numbers: true, emit: func(g *maps, r []vec) {
		g.copy(r[6], r[0])
		g.expm1(r)
		g.broadcast(r[1], args, lineLow)
		g.arith('*', r[0], r[0], r[1])
		g.broadcast(r[1], args, lineHigh)
		g.arith('*', r[2], r[6], r[1])
		g.bits(r[1], 0)
		g.compare('<', r[3], r[1], r[6])
		g.choose(r[0], r[3], r[2])
	}},
	{name: "Sin", doc: "sin(x) for |x| at most TurnsF32, within 2 ulp", operands: 1, registers: 7, once: true, emit: func(g *maps, r []vec) {
		g.quadrant(r)
		g.circle(r)
		g.swap(r, 0)
	}},
	{name: "Cos", doc: "cos(x) for |x| at most TurnsF32, within 2 ulp", operands: 1, registers: 7, once: true, emit: func(g *maps, r []vec) {
		g.quadrant(r)
		g.circle(r)
		g.swap(r, 1)
	}},
	{name: "Tan", doc: "tan(x) for |x| at most TurnsF32, within 4 ulp", operands: 1, registers: 7, once: true, emit: func(g *maps, r []vec) {
		g.quadrant(r)
		g.circle(r)
		g.copy(r[5], r[2])
		g.copy(r[6], r[3])
		g.copy(r[4], r[1])
		g.swap(r, 0)
		g.copy(r[2], r[5])
		g.copy(r[3], r[6])
		g.copy(r[1], r[4])
		g.copy(r[4], r[0])
		g.swap(r, 1)
		g.arith('/', r[0], r[4], r[0])
	}},
	{name: "PowPositive", doc: "x^y for x from 1e-30 to 1e30 and |y| at most 65536, within 4 ulp", operands: 2, registers: 8, once: true, emit: (*maps).power},
	{name: "Atan", doc: "atan(x), within 3 ulp", operands: 1, registers: 6, emit: (*maps).atan},
	{name: "Asin", doc: "asin(x), within 3 ulp; NaN for |x| > 1", operands: 1, registers: 7, emit: func(g *maps, r []vec) {
		g.arc(r)
		x, s, z, mask, t := r[0], r[1], r[2], r[4], r[5]
		g.arith('+', z, s, s)
		g.constant(t, math.Pi/2)
		g.arith('-', z, t, z)
		g.constant(t, math.Pi/2-float64(float32(math.Pi/2)))
		g.arith('+', z, z, t)
		g.choose(s, mask, z)
		g.bits(t, signBit)
		g.bitwise('&', x, x, t)
		g.bitwise('^', x, x, s)
	}},
	{name: "Acos", doc: "acos(x), within 3 ulp; NaN for |x| > 1", operands: 1, registers: 7, emit: func(g *maps, r []vec) {
		g.arc(r)
		x, s, z, mask, t, u := r[0], r[1], r[2], r[4], r[5], r[6]
		g.arith('+', z, s, s)
		g.bits(t, signBit)
		g.bitwise('^', s, s, t)
		g.choose(s, mask, z) // ±2s where |x| is large, to which 0 or π are added, else ∓s and π/2
		g.bitwise('&', u, x, t)
		g.bitwise('^', s, s, u)
		g.shift('/', u, x, 31)
		g.constant(t, math.Pi)
		g.bitwise('&', u, u, t)
		g.constant(t, math.Pi/2)
		g.choose(t, mask, u)
		g.arith('+', x, t, s)
	}},
}

// logarithm takes x = r[0] apart: 2^r[2] · (1+f), log(1+f) ≈ r[1] + r[3], with f = r[1] from √½-1 to √2-1, by Cephes,
// logf.c. r[0] stays.
func (g *maps) logarithm(r []vec) {
	x, f, e, p, z, t, u := r[0], r[1], r[2], r[3], r[4], r[5], r[6]
	g.constant(t, 0x1p-126) // numbers below are scaled
	g.compare('<', z, x, t)
	g.constant(t, 0x1p23)
	g.arith('*', t, x, t)
	g.copy(f, x)
	g.choose(f, z, t)
	g.constant(t, -23)
	g.bitwise('&', z, z, t)
	g.bits(t, halfRoot)
	g.intArith('-', e, f, t)
	g.shift('/', e, e, 23)
	g.shift('<', u, e, 23)
	g.intArith('-', f, f, u)
	g.toFloat(e, e)
	g.arith('+', e, e, z)
	g.constant(t, 1)
	g.arith('-', f, f, t)
	g.arith('*', z, f, f)
	g.polynomial(p, t, f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
		2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	g.arith('*', p, p, f)
	g.arith('*', p, p, z)
	g.constant(t, -0.5)
	g.fma(p, z, t)
}

// logSpecials gives r[0] the logarithm r[1], and what that is for 0, +Inf, and numbers that have none.
func (g *maps) logSpecials(r []vec) {
	x, y, mask, t, u := r[0], r[1], r[2], r[3], r[4]
	g.bits(t, 0)
	g.compare('=', mask, x, t)
	g.bits(u, infBits|signBit)
	g.choose(y, mask, u)
	g.compare('l', mask, t, x)
	g.bits(u, nanBits)
	g.choose(u, mask, y)
	g.bits(t, infBits)
	g.compare('=', mask, x, t)
	g.choose(u, mask, t)
	g.copy(x, u)
}

// log1p: with u = 1+x rounded, log(u)·x/(u-1) makes good what was rounded away (Kahan).
func (g *maps) log1p(r []vec) {
	x := r[7]
	g.copy(x, r[0])
	g.constant(r[1], 1)
	g.arith('+', r[0], r[0], r[1])
	g.logarithm(r[:7])
	g.constant(r[5], -2.12194440e-4)
	g.fma(r[3], r[2], r[5])
	g.arith('+', r[1], r[1], r[3])
	g.constant(r[5], 0.693359375)
	g.fma(r[1], r[2], r[5])
	u, mask, t := r[5], r[2], r[3]
	g.copy(u, r[0])
	g.logSpecials(r[:5])
	g.constant(t, 1)
	g.arith('-', r[4], u, t)
	g.compare('=', mask, u, t) // 1+x = 1
	g.arith('/', r[4], x, r[4])
	g.arith('*', r[4], r[4], r[0])
	g.choose(r[4], mask, x)
	g.bits(t, infBits)
	g.compare('=', mask, x, t)
	g.choose(r[4], mask, t)
	g.copy(r[0], r[4])
}

// expm1: exp as (*maps).exp computes it, but 1 is taken from 2^n: 2·(2^(n-1)·(exp(r)-1) + 2^(n-1) - ½).
func (g *maps) expm1(r []vec) {
	x, n, p, q := r[0], r[1], r[2], r[3]
	g.bound(x, p, q)
	g.parts(1, x, n, p)
	g.polynomial(p, q, x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	g.arith('*', q, x, x)
	g.fma(x, p, q)
	g.constant(p, 1)
	g.arith('-', n, n, p)
	g.bits(q, 127)
	g.scale(p, n, [2]vec{r[4], r[5]}, q)
	g.constant(q, 0.5)
	g.arith('-', q, p, q)
	g.fma(q, p, x)
	g.arith('+', x, q, q)
}

// arc leaves the arcsine of s in r[1], by Cephes, asinf.c: s is |x| up to ½, else, where r[4] is set, √(½-|x|/2), so that
// asin(|x|) = π/2 - 2·asin(s). x = r[0] stays.
func (g *maps) arc(r []vec) {
	x, s, z, p, mask, t, u := r[0], r[1], r[2], r[3], r[4], r[5], r[6]
	g.bits(t, signBit-1)
	g.bitwise('&', s, x, t)
	g.constant(t, 0.5)
	g.compare('<', mask, t, s)
	g.arith('*', u, s, t)
	g.arith('-', u, t, u)
	g.arith('*', z, s, s)
	g.choose(z, mask, u)
	g.sqrt(u, u)
	g.choose(s, mask, u)
	g.polynomial(p, u, z, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
	g.arith('*', p, p, z)
	g.fma(s, p, s)
}

// quadrant takes x = r[0] apart: n·π/2 + r[0], with n as an integer in r[1].
func (g *maps) quadrant(r []vec) {
	x, n, t := r[0], r[1], r[2]
	g.constant(t, 2/math.Pi)
	g.arith('*', n, x, t)
	g.round(n, n)
	for _, part := range []float64{1.57079637050628662109375, -4.37113882867379e-08, -1.71512451000588e-15} { // π/2
		g.constant(t, -part)
		g.fma(x, n, t)
	}
	g.toInt(n, n)
}

// circle computes the sine r[2] and the cosine r[3] of r[0], which is at most π/4; by Cephes, sinf.c.
func (g *maps) circle(r []vec) {
	x, sin, cos, z, t, u := r[0], r[2], r[3], r[4], r[5], r[6]
	g.arith('*', z, x, x)
	g.polynomial(t, u, z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	g.arith('*', t, t, z)
	g.copy(sin, x)
	g.fma(sin, t, x)
	g.polynomial(t, u, z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5)
	g.constant(cos, 1)
	g.fma(cos, t, z)
}

// swap gives r[0] the sine of the sum of r[0] and as many right angles as r[1] and more say.
func (g *maps) swap(r []vec, more uint32) {
	n, sin, cos, t := r[1], r[2], r[3], r[0]
	if more != 0 {
		g.bits(t, more)
		g.intArith('+', n, n, t)
	}
	g.shift('<', t, n, 31)
	g.shift('/', t, t, 31)
	g.choose(sin, t, cos)
	g.shift('>', n, n, 1)
	g.shift('<', n, n, 31)
	g.bitwise('^', t, sin, n)
}

// atan: of |x| or, above 1, of 1/|x|, which lacks as much of π/2; a polynomial of degree 17. NaN counts as above 1, and 1/NaN is NaN.
func (g *maps) atan(r []vec) {
	x, z, above, square, p, t := r[0], r[1], r[2], r[3], r[4], r[5]
	g.bits(t, signBit)
	g.bitwise('\\', z, x, t)
	g.bitwise('&', x, x, t)
	g.constant(above, 1)
	g.intArith('-', above, above, z) // bits of numbers without a sign are in their order
	g.shift('/', above, above, 31)
	g.inverse(p, z, t, lineTable, g.number(1))
	g.choose(z, above, p)
	g.arith('*', square, z, z)
	g.polynomial(p, t, square, 2.78569828e-3, -1.58660226e-2, 4.24722321e-2, -7.49753043e-2, 1.06448799e-1, -1.42070308e-1, 1.99934542e-1,
		-3.33331466e-1)
	g.arith('*', p, p, square)
	g.fma(z, p, z)
	g.constant(t, math.Pi/2)
	g.arith('-', t, t, z)
	g.choose(z, above, t)
	g.bitwise('|', x, x, z)
}

// power: exp(y·log x), with log x as the sum of two numbers.
func (g *maps) power(r []vec) {
	x, y, s, lo, z, t, u, e := r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
	g.bits(t, halfRoot)
	g.intArith('-', e, x, t)
	g.shift('/', e, e, 23)
	g.shift('<', u, e, 23)
	g.intArith('-', x, x, u)
	g.toFloat(e, e)
	// s + lo = (x-1)/(x+1), and log x = 2·atanh(s + lo)
	g.constant(t, 1)
	g.arith('-', z, x, t)
	g.arith('+', u, x, t)
	g.arith('/', s, z, u)
	g.arith('-', lo, u, t) // x less what u lost of it
	g.arith('-', lo, x, lo)
	g.bits(x, signBit)
	g.bitwise('^', x, s, x)
	g.fma(z, x, u)  // z - s·u, exact
	g.fma(z, x, lo) // z - s·(x+1)
	g.arith('/', lo, z, u)
	// atanh(s)/s - 1, times 2·s
	g.arith('*', z, s, s)
	g.polynomial(t, u, z, 2.0/11, 2.0/9, 2.0/7, 2.0/5, 2.0/3)
	g.arith('*', t, t, z)
	g.arith('*', t, t, s)
	g.constant(u, 2)
	g.arith('*', s, s, u)
	g.fma(t, lo, u)
	// hi + lo = e·log 2 + s + t
	g.constant(u, 0.693359375) // e times it is exact
	g.arith('*', z, e, u)
	g.arith('+', x, z, s)
	g.sumRest(x, z, s, u, lo)
	g.arith('+', t, t, lo)
	g.constant(u, -2.12194440e-4)
	g.fma(t, e, u)
	g.arith('+', z, x, t)
	g.sumRest(z, x, t, u, lo)
	g.copy(x, z)
	// (hi + lo) · y
	g.arith('*', s, x, y)
	g.bits(u, signBit)
	g.bitwise('^', z, s, u)
	g.fma(z, x, y)
	g.fma(z, lo, y)
	// exp(s)·(1+z)
	g.copy(r[0], s)
	g.copy(r[7], z)
	g.exp(r[:6])
	g.constant(r[1], 1)
	g.arith('+', r[7], r[7], r[1]) // the product of infinity and this is no NaN
	g.arith('*', r[0], r[0], r[7])
}

// sumRest gives rest what sum = a + b, |a| ≥ |b| or a = 0, lost; t changes.
func (g *maps) sumRest(sum, a, b, t, rest vec) {
	g.arith('-', t, sum, a)
	g.arith('-', rest, b, t)
}
