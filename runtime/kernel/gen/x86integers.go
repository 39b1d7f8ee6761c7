package main

import "fmt"

func (m *x86) group() int {
	if m.vnni {
		return 4
	}
	return 2
}

func (m *x86) sums() int { return 1 }

func (m *x86) flips() bool       { return m.vnni }
func (m *x86) move(to, from ptr) { m.line("MOVQ %s, %s", m.p(from), m.p(to)) }
func (m *x86) clear(p ptr)       { m.line("XORL %s, %[1]s", m.p(p)) }

func (m *x86) weights(v vec, p ptr, off int) {
	if m.vnni {
		m.load(v, p, off)
		return
	}
	m.line("VPMOVSXBW %d(%s), %s", off, m.p(p), m.v(v))
}

func (m *x86) dot(acc, x, w, t vec) {
	if m.vnni {
		m.line("VPDPBUSD %s, %s, %s", m.v(w), m.v(x), m.v(acc))
		return
	}
	m.line("VPMADDWD %s, %s, %s", m.v(w), m.v(x), m.v(t))
	m.intArith('+', acc, acc, t)
}

func (m *x86) fold(vec) {}

func (m *x86) mulInts(to, x, y vec) { m.line("VPMULLD %s, %s, %s", m.v(y), m.v(x), m.v(to)) }

// bound: MAXPS gives its second operand, which Go writes first, if one is a NaN.
func (m *x86) bound(v, lo, hi vec) {
	m.line("VMAXPS %s, %s, %[2]s", m.v(lo), m.v(v))
	m.line("VMINPS %s, %s, %[2]s", m.v(hi), m.v(v))
}

func (m *x86) storeBytes(p ptr, off int, v, t vec) {
	if m.wide {
		m.line("VPMOVDB %s, %d(%s)", m.v(v), off, m.p(p))
		return
	}
	m.line("VPSLLD $24, %s, %[1]s", m.v(v))
	m.line("VPSRLD $24, %s, %[1]s", m.v(v))
	m.line("VEXTRACTI128 $1, %s, X%d", m.v(v), t)
	m.line("VPACKUSDW X%d, X%d, X%[2]d", t, v)
	m.line("VPACKUSWB X%d, X%[1]d, X%[1]d", v)
	m.line("VMOVQ X%d, %d(%s)", v, off, m.p(p))
}

func (m *x86) loadBytes(v vec, p ptr, off int, signed bool) {
	name := "VPMOVZXBD"
	if signed {
		name = "VPMOVSXBD"
	}
	m.line("%s %d(%s), %s", name, off, m.p(p), m.v(v))
}

func (m *x86) tap(acc, x, w, t vec) {
	if m.vnni {
		m.line("VPDPWSSD %s, %s, %s", m.v(w), m.v(x), m.v(acc))
		return
	}
	m.line("VPMADDWD %s, %s, %s", m.v(w), m.v(x), m.v(t))
	m.intArith('+', acc, acc, t)
}

// quad puts rows beside each other, and then bytes of equal places in two steps, which have the same order: 4 bytes at a time,
// and within each part of 128 bits.
func (m *x86) quad(v vec, rows []ptr, column ptr, order, bytes vec) {
	at := func(i int) string { return fmt.Sprintf("(%s)(%s*1)", m.p(rows[i]), m.p(column)) }
	if len(rows) == 1 {
		m.line("VPMOVZXBD %s, %s", at(0), m.v(v))
		return
	}
	m.line("VMOVUPS %s, X%d", at(0), v)
	for i := 1; i < len(rows); i++ {
		m.line("VINSERTF32X4 $%d, %s, %s, %[3]s", i, at(i), m.v(v))
	}
	m.line("VPERMPS %s, %s, %[1]s", m.v(v), m.v(order))
	m.line("VPSHUFB %s, %s, %[2]s", m.v(bytes), m.v(v))
}
