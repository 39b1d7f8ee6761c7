package main

import (
	"bytes"
	"fmt"
	"log"
	"math"
	"slices"
)

// mapped is a function of one or two float32, element by element.
type mapped struct {
	name, doc string
	operands  int
	// registers is how many vectors an element of the result needs at a time; the operands lie in the first ones,
	// and the result in the first.
	registers int
	// constants, if not 0, is the one of them that has nothing but constants where a machine shares it (see sharesNumbers).
	constants int
	// numbers says that it takes two numbers p, which kernel.line has as low and high.
	numbers bool
	// once says that it is as exact as said only where fma rounds once.
	once bool
	emit func(g *maps, r []vec)
}

// functions are the functions that have kernels.
var functions = slices.Concat(arithmetics, simple, curves)

var arithmetics = []mapped{
	{name: "Add", doc: "x + y", operands: 2, registers: 2, emit: arithmetic('+')},
	{name: "Sub", doc: "x - y", operands: 2, registers: 2, emit: arithmetic('-')},
	{name: "Mul", doc: "x · y", operands: 2, registers: 2, emit: arithmetic('*')},
	{name: "Div", doc: "x / y", operands: 2, registers: 2, emit: arithmetic('/')},
	{name: "Clamp", doc: "x, at least p[0] and at most p[1]; NaN stays", operands: 1, registers: 3, numbers: true, emit: func(g *maps, r []vec) {
		g.broadcast(r[1], args, lineLow)
		g.broadcast(r[2], args, lineHigh)
		g.clamp(r[0], r[1], r[2])
	}},
	{name: "Exp", doc: "exp(x), within 2 ulp", operands: 1, registers: 6, constants: 3, emit: (*maps).exp},
	{name: "Sigmoid", doc: "1/(1+exp(-x)), within 3 ulp down to x = -87, then 0", operands: 1, registers: 4, constants: 3, emit: (*maps).sigmoid},
	{name: "Silu", doc: "x · Sigmoid of it, which is NaN for -Inf", operands: 1, registers: 5, constants: 3, emit: func(g *maps, r []vec) {
		g.copy(r[4], r[0])
		g.sigmoid(r)
		g.arith('*', r[0], r[0], r[4])
	}},
	{name: "Tanh", doc: "tanh(x), within 6 ulp", operands: 1, registers: 5, constants: 4, emit: (*maps).tanh},
	{name: "Erf", doc: "erf(x), within 1e-6 of the result", operands: 1, registers: 5, constants: 4, emit: (*maps).erf},
	{name: "Gelu", doc: "x/2 · (1+erf(x/√2)), within 3e-7·(1+|x|)", operands: 1, registers: 6, constants: 4, emit: func(g *maps, r []vec) {
		g.copy(r[5], r[0])
		g.erfOf(r, math.Sqrt2/2, false)
		g.halfPlus(r)
	}},
	{name: "GeluTanh", doc: "x/2 · (1+tanh(√(2/π)·(x+0.044715x³))), within 5e-7·(1+|x|)", operands: 1, registers: 6, constants: 4, emit: func(g *maps, r []vec) {
		g.copy(r[5], r[0])
		g.arith('*', r[1], r[0], r[0])
		g.constant(r[2], 1)
		g.plus(r[2], r[1], 0.044715, r[4])
		g.arith('*', r[0], r[0], r[2])
		g.with('*', r[0], r[0], math.Sqrt(2/math.Pi), r[4])
		g.tanhOf(r, false)
		g.halfPlus(r)
	}},
}

func arithmetic(op byte) func(g *maps, r []vec) {
	return func(g *maps, r []vec) { g.arith(op, r[0], r[0], r[1]) }
}

// The integer registers of a line; see Line in package kernel for what they hold.
const (
	lineX      = args + 1
	lineY      = args + 2
	lineOut    = args + 3
	lineBlocks = args + 4
	lineTable  = args + 5
	lineXStep  = args + 6
	lineYStep  = args + 7
)

// Where the fields of kernel.line lie.
const (
	atX      = 0
	atY      = 8
	atOut    = 16
	atBlocks = 24
	atTable  = 32
	atXStep  = 40
	atYStep  = 48
	lineLow  = 56
	lineHigh = 60
)

// maps writes functions of float32 for a machine.
type maps struct{ machine }

// table has the numbers that functions use.
var table []float32

// constant gives v a number of the table.
func (g *maps) constant(v vec, x float64) { g.bits(v, math.Float32bits(float32(x))) }

func (g *maps) bits(v vec, b uint32) { g.broadcast(v, lineTable, g.numberBits(b)) }

// mapsF32 writes every function twice: in blocks of several vectors, and of one.
func mapsF32(m machine) {
	g := &maps{m}
	for i := range functions {
		f := &functions[i]
		if f.once && m.arch() == "wasm" {
			continue
		}
		g.function(f, blockOf(m, f))
		g.function(f, 1)
	}
}

// blockOf is how many vectors of f are computed side by side.
func blockOf(m machine, f *mapped) int { return sideBySide(m, m.vectors(), f.registers, f.constants) }

// sideBySide is how many vectors are computed side by side in so many registers, of which each takes some, with one for constants, or 0.
func sideBySide(m machine, registers, each, constants int) int {
	if constants > 0 && m.sharesNumbers() {
		return min(4, (registers-1)/(each-1))
	}
	return min(4, registers/each)
}

// function writes f for blocks of nv vectors. Steps that take other registers than f's row gives them are a mistake, which it names.
func (g *maps) function(f *mapped, nv int) {
	defer func() {
		if mistake := recover(); mistake != nil {
			log.Panicf("gen: %s, whose row has %d registers, on %s: %v", f.name, f.registers, g.tier(), mistake)
		}
	}()
	g.begin(kernelName(f, nv > 1, g), "line")
	g.get(lineX, args, atX)
	g.get(lineOut, args, atOut)
	g.get(lineBlocks, args, atBlocks)
	g.get(lineTable, args, atTable)
	g.get(lineXStep, args, atXStep)
	if f.operands == 2 {
		g.get(lineY, args, atY)
		g.get(lineYStep, args, atYStep)
	}
	g.label("block")
	width := g.lanes() * float32Size
	for j := range nv {
		r := g.registers(f, j)
		g.load(r[0], lineX, j*width)
		if nv > 1 {
			g.prefetchSoon(lineX, j*width+prefetchAhead)
		}
		if f.operands == 2 {
			g.load(r[1], lineY, j*width)
		}
	}
	g.beside(nv, func(j int) { f.emit(g, g.registers(f, j)) })
	for j := range nv {
		g.store(lineOut, j*width, g.registers(f, j)[0])
	}
	g.addPtr(lineX, lineXStep)
	if f.operands == 2 {
		g.addPtr(lineY, lineYStep)
	}
	g.add(lineOut, nv*width)
	g.more(lineBlocks, "block")
	g.end()
}

// prefetchAhead is how many bytes before their use operands are asked for: while machines compute, they look ahead for less.
const prefetchAhead = 1024

// registers are those of vector j of a block.
func (g *maps) registers(f *mapped, j int) []vec {
	return registersOf(g, 0, j, f.registers, f.constants)
}

// registersOf are the n registers of vector j of those that are computed side by side, from first on, one of them for constants, or 0:
// where a machine shares that, it is the last of the machine.
func registersOf(m machine, first vec, j, n, constants int) []vec {
	shared := constants > 0 && m.sharesNumbers()
	r, next := make([]vec, n), first+vec(j*n)
	if shared {
		next -= vec(j)
	}
	for i := range r {
		if shared && i == constants {
			r[i] = vec(m.vectors() - 1)
			continue
		}
		r[i] = next
		next++
	}
	return r
}

// polynomial computes r[to] = Σ c[i]·x^i, the last coefficient first; other is a second register for it.
func (g *maps) polynomial(to, other, x vec, c ...float64) {
	moves := g.hornerMoves()
	if moves && len(c)%2 == 0 {
		to, other = other, to
	}
	g.constant(to, c[0])
	for _, y := range c[1:] {
		g.horner(to, other, x, lineTable, g.number(y))
		if moves {
			to, other = other, to
		}
	}
}

// bound gives x the bounds beyond which exp is 0 or infinite; p and q are free.
func (g *maps) bound(x, p, q vec) {
	g.constant(p, expZero)
	g.constant(q, 89)
	g.clamp(x, p, q)
}

// reduce leaves the rest of sign·x = n·ln 2 + rest, times sign, in x, |x| ≤ ln 2/2; p and q are free. A machine that saturates does it
// without bounds: n is what it is then, and x a number that is not large. For others sign is 1.
func (g *maps) reduce(sign float64, x, n, p, q vec) {
	if !g.saturates() {
		g.bound(x, p, q)
	}
	g.parts(sign, x, n, q)
	if g.saturates() {
		g.boundNumber(x, lineTable, g.number(0.5))
	}
}

// parts takes sign·x apart: n·ln 2, and the rest, which, times sign, is left in x; p is free.
func (g *maps) parts(sign float64, x, n, p vec) {
	g.nearest(n, x, lineTable, g.number(sign*math.Log2E), g.number(0x1.8p23), p)
	g.plus(x, n, -sign*0.693359375, p)
	g.plus(x, n, sign*2.12194440e-4, p)
}

// sigmoid takes 4 registers, the last one for constants.
func (g *maps) sigmoid(r []vec) {
	if g.saturates() {
		g.expOf(r, -1)
	} else {
		g.expShifted(r, -1)
	}
	g.with('+', r[0], r[0], 1, r[3])
	g.inverse(r[1], r[0], r[2], lineTable, g.number(1))
	g.copy(r[0], r[1])
}

// expZero is where exp is 0.
const expZero = -104

// exp: x = n·ln 2 + r, |r| ≤ ln 2/2; a polynomial of degree 5 in r, the one with the least error, times 2^n.
func (g *maps) exp(r []vec) { g.expOf(r, 1) }

// expOf is exp of sign·x, sign 1, or -1 on a machine that saturates.
func (g *maps) expOf(r []vec, sign float64) {
	x, n, p, q := r[0], r[1], r[2], r[3]
	g.reduce(sign, x, n, p, q)
	g.expPolynomial(sign, p, q, x)
	if g.saturates() {
		g.scale(p, n, [2]vec{}, q)
	} else {
		g.bits(q, 127)
		g.scale(p, n, [2]vec{r[4], r[5]}, q)
	}
	g.copy(x, p)
}

func (g *maps) expPolynomial(sign float64, p, q, x vec) {
	g.polynomial(p, q, x, g.expCoefficients(sign)...)
}

// expCoefficients are those of exp(sign·x), |x| ≤ ln 2/2.
func (g *maps) expCoefficients(sign float64) []float64 {
	if g.arch() == "wasm" { // its sums round more often: degree 6 (Cephes, expf.c)
		return []float64{sign * 1.9875691500e-4, 1.3981999507e-3, sign * 8.3334519073e-3, 4.1665795894e-2, sign * 1.6666665459e-1, 5.0000001201e-1, sign, 1}
	}
	return []float64{sign * 0x1.0f9f9cp-7, 0x1.573a1ap-5, sign * 0x1.555a80p-3, 0x1.fffdc6p-2, sign * 0x1.fffff6p-1, 1}
}

// expNormal is exp without denormals, which take machines a long time: 0 below -125.5·ln 2. exp(+Inf) may be NaN. It takes 4
// registers, the last one for constants.
func (g *maps) expNormal(r []vec) {
	if !g.saturates() {
		g.expShifted(r, 1)
		return
	}
	x, n, p, q := r[0], r[1], r[2], r[3]
	g.parts(1, x, n, p)
	g.expPolynomial(1, p, q, x)
	g.scaleAbove(p, n, lineTable, g.number(-125.5))
	g.copy(x, p)
}

// expShifted is exp of sign·x without denormals, as expNormal has it. The last bits of n and a number whose last digit is 1 are n, and
// 126 more than that is the exponent of 2^(n-1), which is 0 where n is -126; so the polynomial is twice exp. The low bound must round to
// n = -126, so that all below it is 0: it lies between -126.5·ln 2 = -87.68 and -125.5·ln 2 = -86.99.
func (g *maps) expShifted(r []vec, sign float64) {
	const magic, low, high = 0x1.8p23 + 126, -87.2, 89
	x, n, power, q := r[0], r[1], r[2], r[3]
	g.constant(n, min(sign*low, sign*high))
	g.constant(q, max(sign*low, sign*high))
	g.clamp(x, n, q)
	g.constant(n, magic)
	g.plus(n, x, sign*math.Log2E, q)
	g.shift('<', power, n, 23)
	g.with('-', n, n, magic, q)
	g.plus(x, n, -sign*0.693359375, q)
	g.plus(x, n, sign*2.12194440e-4, q)
	g.polynomial(n, q, x, multiplied(2, g.expCoefficients(sign))...)
	g.arith('*', x, n, power)
}

// tanh: a rational function (Eigen, ptanh_float), of odd numerator and even denominator.
func (g *maps) tanh(r []vec) { g.tanhOf(r, true) }

func (g *maps) tanhOf(r []vec, nan bool) {
	g.rational(r, 9, nan,
		[]float64{-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03},
		[]float64{1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03})
}

// erf: a rational function (Eigen, generic_fast_erf_float), of odd numerator and even denominator.
func (g *maps) erf(r []vec) { g.erfOf(r, 1, true) }

// erfOf is erf of factor·x.
func (g *maps) erfOf(r []vec, factor float64, nan bool) {
	g.rational(r, 4/factor, nan,
		ofMultiple(factor, factor, -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
		ofMultiple(factor, 1, -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02))
}

// multiplied are the numbers c times x.
func multiplied(x float64, c []float64) []float64 {
	for i := range c {
		c[i] *= x
	}
	return c
}

// ofMultiple are the coefficients, the last one first, of times·Σ c[i]·(factor·x)^(2i) as a polynomial in x².
func ofMultiple(factor, times float64, c ...float64) []float64 {
	for i := len(c) - 1; i >= 0; i-- {
		c[i] *= times
		times *= factor * factor
	}
	return c
}

// rational computes x·p(x²)/q(x²) for x bounded by limit, the result by 1; of NaN it need not be NaN unless nan.
func (g *maps) rational(r []vec, limit float64, nan bool, p, q []float64) {
	x, square, t, u, v := r[0], r[1], r[2], r[3], r[4]
	g.within(x, limit, nan, t, v)
	g.arith('*', square, x, x)
	g.polynomial(t, v, square, p...)
	g.polynomial(u, v, square, q...)
	g.quotient(square, t, u, v) // about 1 for small x, where x·p would be too small
	g.arith('*', x, x, square)
	g.within(x, 1, nan, t, v)
}

// within makes |x| at most limit; NaN stays, or may if nan is not set. t and u may change.
func (g *maps) within(x vec, limit float64, nan bool, t, u vec) {
	if !nan && g.saturates() {
		g.boundNumber(x, lineTable, g.number(limit))
		return
	}
	g.constant(t, -limit)
	g.constant(u, limit)
	g.clamp(x, t, u)
}

// halfPlus computes r[5]/2 · (1 + r[0]).
func (g *maps) halfPlus(r []vec) {
	g.with('*', r[1], r[5], 0.5, r[2])
	g.copy(r[2], r[1])
	g.fma(r[2], r[0], r[1])
	g.copy(r[0], r[2])
}

func kernelName(f *mapped, block bool, m machine) string {
	if block {
		return "block" + f.name + m.tier()
	}
	return "one" + f.name + m.tier()
}

// mapsGo are the Go functions of an architecture, or of those that have no kernels.
func mapsGo(arch string) []byte {
	b := goFile(arch)
	for i := range functions {
		f := &functions[i]
		params := "o, x []float32"
		if f.operands == 2 {
			params = "o, x, y []float32"
		}
		if f.numbers {
			params += ", p [2]float32"
		}
		fmt.Fprintf(b, "\n// %sF32 computes o[i] = %s, and reports whether t has a kernel for it; o may be an operand.\nfunc %[1]sF32(t Tier, %[3]s) bool {\n", f.name, f.doc, params)
		bodyGo(b, f, arch)
		b.WriteString("}\n")
	}
	return formatted(b.Bytes())
}

func bodyGo(b *bytes.Buffer, f *mapped, arch string) {
	if arch == "" || f.once && arch == "wasm" {
		b.WriteString("return false\n")
		return
	}
	b.WriteString("if !mappable(t, len(o)) {\nreturn false\n}\n")
	b.WriteString("l := line{table: &constants[0]}\nc := cut{n: len(o), lanes: lanesOf(t)}\n")
	lines := "len(x)"
	if f.operands == 2 {
		lines += ", len(y)"
	}
	fmt.Fprintf(b, "if !c.whole(%s) {\nc.buffers = &buffers{}\n}\nx, xs := c.operand(0, x)\n", lines)
	places := "l.x, l.xStep = c.from(0, x, xs)\n"
	if f.operands == 2 {
		b.WriteString("y, ys := c.operand(1, y)\n")
		places += "l.y, l.yStep = c.from(1, y, ys)\n"
	}
	if f.numbers {
		b.WriteString("l.low, l.high = p[0], p[1]\n")
	}
	places += "l.out, l.blocks = c.to(o), uintptr(c.blocks)\n"
	b.WriteString("switch t.float() {\n")
	for _, m := range machinesOf(arch) {
		fmt.Fprintf(b, "case %s:\nfor c.next(%d) {\n%sif c.single {\n%s(&l)\n} else {\n%s(&l)\n}\n}\n", m.tier(), blockOf(m, f), places, kernelName(f, false, m), kernelName(f, true, m))
	}
	b.WriteString("}\nc.finish(o)\nreturn true\n")
}

// machinesOf are the machines of an architecture.
func machinesOf(arch string) []machine {
	switch arch {
	case "amd64":
		return []machine{&x86{wide: true}, &x86{}}
	case "wasm":
		return []machine{&wasm{}}
	}
	return []machine{&neon{}}
}

func constantsGo() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by runtime/kernel/gen. DO NOT EDIT.\n\npackage kernel\n\n// constants are the bits of the numbers that functions use.\nvar constants = [...]uint32{\n")
	for _, x := range table {
		fmt.Fprintf(&b, "0x%08x, // %g\n", math.Float32bits(x), x)
	}
	b.WriteString("}\n")
	return formatted(b.Bytes())
}
