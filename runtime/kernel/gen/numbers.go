package main

import (
	"fmt"
	"math"
)

// numbers are a machine's instructions on a vector and a number that lies in memory, at p plus off, and what is like them.
type numbers interface {
	// arithNumber computes to = x op number; t may change, unless it is x.
	arithNumber(op byte, to, x vec, p ptr, off int, t vec)
	// fmaNumber adds x times the number to acc, rounded once; t may change.
	fmaNumber(acc, x vec, p ptr, off int, t vec)
	// horner computes acc·x plus the number, rounded once. The result is in other if hornerMoves says so, else in acc;
	// the other one of them may change.
	horner(acc, other, x vec, p ptr, off int)
	hornerMoves() bool
	// quotient computes to = x/y within 1 ulp, where neither y nor 1/y is infinite; to is another than x and t, which may change.
	quotient(to, x, y, t vec)
	// inverse computes to = 1/y within 1 ulp, and 0 if y is infinite, with the number 1; t may change.
	inverse(to, y, t vec, p ptr, off int)
	// saturates says that scale takes all n: infinite ones and NaN, too.
	saturates() bool
	// nearest rounds x times the number to an integer, as round does, or to one of the two beside the tie; t may change.
	// magic is where 1.5·2²³ lies.
	nearest(to, x vec, p ptr, off, magic int, t vec)
	// boundNumber makes |v| at most the number, which NaN becomes, or less than 0. Machines that saturate have it, and
	// scaleAbove: scale, or 0 where n is less than the number.
	boundNumber(v vec, p ptr, off int)
	scaleAbove(v, n vec, p ptr, off int)
	// sharesNumbers says that vectors which are computed side by side have a register for numbers in common.
	sharesNumbers() bool
	// prefetchSoon is prefetch into the nearest cache.
	prefetchSoon(p ptr, off int)
}

// number is where the table has x.
func (g *maps) number(x float64) int { return g.numberBits(math.Float32bits(float32(x))) }

func (g *maps) numberBits(b uint32) int {
	for i, y := range table {
		if math.Float32bits(y) == b {
			return i * float32Size
		}
	}
	table = append(table, math.Float32frombits(b))
	return (len(table) - 1) * float32Size
}

// with computes to = x op c; t may change, unless it is x.
func (g *maps) with(op byte, to, x vec, c float64, t vec) {
	g.arithNumber(op, to, x, lineTable, g.number(c), t)
}

// plus adds x·c to acc, rounded once; t may change.
func (g *maps) plus(acc, x vec, c float64, t vec) { g.fmaNumber(acc, x, lineTable, g.number(c), t) }

func (m *x86) number(p ptr, off int) string { return fmt.Sprintf("%d(%s)", off, m.p(p)) }

func (m *x86) arithNumber(op byte, to, x vec, p ptr, off int, t vec) {
	if !m.wide {
		m.broadcast(t, p, off)
		m.arith(op, to, x, t)
		return
	}
	name := map[byte]string{'+': "VADDPS", '-': "VSUBPS", '*': "VMULPS", '/': "VDIVPS"}[op]
	m.line("%s.BCST %s, %s, %s", name, m.number(p, off), m.v(x), m.v(to))
}

func (m *x86) fmaNumber(acc, x vec, p ptr, off int, t vec) { m.fmaOperand(acc, x, m.number(p, off), t) }

// fmaOperand adds x times the number at an operand. A number that only one instruction reads is cheaper as its operand: Zen 4 takes
// 1.4 cycles to load one into a vector of 512 bits, where it multiplies in one.
func (m *x86) fmaOperand(acc, x vec, number string, t vec) {
	if !m.wide {
		m.line("VBROADCASTSS %s, %s", number, m.v(t))
		m.fma(acc, x, t)
		return
	}
	m.line("VFMADD231PS.BCST %s, %s, %s", number, m.v(x), m.v(acc))
}

func (m *x86) horner(acc, other, x vec, p ptr, off int) {
	if m.wide {
		m.line("VFMADD213PS.BCST %s, %s, %s", m.number(p, off), m.v(x), m.v(acc))
		return
	}
	m.broadcast(other, p, off)
	m.line("VFMADD213PS %s, %s, %s", m.v(other), m.v(x), m.v(acc))
}

func (m *x86) hornerMoves() bool { return false }

// quotient: AVX-512 divides four times as long as it takes to make a guess good: q = x·r, q + (x - q·y)·r.
func (m *x86) quotient(to, x, y, t vec) {
	if !m.wide {
		m.arith('/', to, x, y)
		return
	}
	m.line("VRCP14PS %s, %s", m.v(y), m.v(t))
	m.line("VMULPS %s, %s, %s", m.v(t), m.v(x), m.v(to))
	m.line("VFNMADD231PS %s, %s, %s", m.v(to), m.v(y), m.v(x))
	m.line("VFMADD231PS %s, %s, %s", m.v(t), m.v(x), m.v(to))
}

// inverse: of an infinite y the guess is 0 and what it lacks NaN, for which MINPS gives its second operand, 1.
func (m *x86) inverse(to, y, t vec, p ptr, off int) {
	m.broadcast(to, p, off)
	if !m.wide {
		m.arith('/', to, to, y)
		return
	}
	m.line("VRCP14PS %s, %s", m.v(y), m.v(t))
	m.line("VFNMADD231PS %s, %s, %s", m.v(t), m.v(y), m.v(to))
	m.line("VMINPS.BCST %s, %s, %[2]s", m.number(p, off), m.v(to))
	m.line("VFMADD213PS %s, %[1]s, %s", m.v(t), m.v(to))
}

func (m *x86) saturates() bool { return m.wide }

// nearest: the sum with a number whose last digit is 1 has no digits behind the point.
func (m *x86) nearest(to, x vec, p ptr, off, magic int, t vec) {
	if !m.wide {
		m.arithNumber('*', to, x, p, off, t)
		m.round(to, to)
		return
	}
	m.broadcast(to, p, magic)
	m.fmaNumber(to, x, p, off, t)
	m.arithNumber('-', to, to, p, magic, t)
}

// boundNumber: VRANGEPS 2 gives the one that is less without its sign, with the sign of the first.
func (m *x86) boundNumber(v vec, p ptr, off int) {
	m.line("VRANGEPS.BCST $2, %s, %s, %[2]s", m.number(p, off), m.v(v))
}

// scaleAbove has the masks of vectors that are computed in turn in different registers.
func (m *x86) scaleAbove(v, n vec, p ptr, off int) {
	mask := fmt.Sprintf("K%d", 1+v%7)
	m.line("VCMPPS.BCST $0x15, %s, %s, %s", m.number(p, off), m.v(n), mask) // not less, or no number
	m.line("VSCALEFPS.Z %s, %s, %s, %[2]s", m.v(n), m.v(v), mask)
}

// sharesNumbers: AVX-512 takes them from memory.
func (m *x86) sharesNumbers() bool { return !m.wide }

func (m *x86) prefetchSoon(p ptr, off int)  { m.line("PREFETCHT0 %d(%s)", off, m.p(p)) }
func (m *neon) prefetchSoon(p ptr, off int) { m.line("PRFM %d(%s), PLDL1KEEP", off, m.p(p)) }
func (m *wasm) prefetchSoon(ptr, int)       {}

// inMemory are the methods of numbers for machines whose instructions take vectors alone.
type inMemory struct{ machine }

func (m *neon) arithNumber(op byte, to, x vec, p ptr, off int, t vec) {
	inMemory{m}.arithNumber(op, to, x, p, off, t)
}
func (m *neon) fmaNumber(acc, x vec, p ptr, off int, t vec) { inMemory{m}.fmaNumber(acc, x, p, off, t) }
func (m *neon) horner(acc, other, x vec, p ptr, off int)    { inMemory{m}.horner(acc, other, x, p, off) }
func (m *neon) hornerMoves() bool                           { return true }
func (m *neon) quotient(to, x, y, _ vec)                    { m.arith('/', to, x, y) }
func (m *neon) nearest(to, x vec, p ptr, off, _ int, t vec) {
	inMemory{m}.nearest(to, x, p, off, t)
}
func (m *neon) inverse(to, y, _ vec, p ptr, off int) { inMemory{m}.inverse(to, y, p, off) }
func (m *neon) saturates() bool                      { return false }
func (m *neon) boundNumber(vec, ptr, int)            {}
func (m *neon) scaleAbove(vec, vec, ptr, int)        {}
func (m *neon) sharesNumbers() bool                  { return false }

func (m *wasm) arithNumber(op byte, to, x vec, p ptr, off int, t vec) {
	inMemory{m}.arithNumber(op, to, x, p, off, t)
}
func (m *wasm) fmaNumber(acc, x vec, p ptr, off int, t vec) { inMemory{m}.fmaNumber(acc, x, p, off, t) }
func (m *wasm) horner(acc, other, x vec, p ptr, off int)    { inMemory{m}.horner(acc, other, x, p, off) }
func (m *wasm) hornerMoves() bool                           { return true }
func (m *wasm) quotient(to, x, y, _ vec)                    { m.arith('/', to, x, y) }
func (m *wasm) nearest(to, x vec, p ptr, off, _ int, t vec) {
	inMemory{m}.nearest(to, x, p, off, t)
}
func (m *wasm) inverse(to, y, _ vec, p ptr, off int) { inMemory{m}.inverse(to, y, p, off) }
func (m *wasm) saturates() bool                      { return false }
func (m *wasm) boundNumber(vec, ptr, int)            {}
func (m *wasm) scaleAbove(vec, vec, ptr, int)        {}
func (m *wasm) sharesNumbers() bool                  { return false }

func (m inMemory) arithNumber(op byte, to, x vec, p ptr, off int, t vec) {
	m.broadcast(t, p, off)
	m.arith(op, to, x, t)
}

func (m inMemory) fmaNumber(acc, x vec, p ptr, off int, t vec) {
	m.broadcast(t, p, off)
	m.fma(acc, x, t)
}

func (m inMemory) nearest(to, x vec, p ptr, off int, t vec) {
	m.arithNumber('*', to, x, p, off, t)
	m.round(to, to)
}

func (m inMemory) horner(acc, other, x vec, p ptr, off int) {
	m.broadcast(other, p, off)
	m.fma(other, acc, x)
}

func (m inMemory) inverse(to, y vec, p ptr, off int) {
	m.broadcast(to, p, off)
	m.arith('/', to, to, y)
}
