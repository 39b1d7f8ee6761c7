package main

import "fmt"

// neon is arm64 with its 128-bit vectors.
type neon struct{ source }

func (m *neon) tier() string { return "NEON" }
func (m *neon) arch() string { return "arm64" }
func (m *neon) lanes() int   { return 4 }
func (m *neon) vectors() int { return 32 }

// scratch is the register for addresses that no instruction can hold.
const scratch = "R26"

func (m *neon) v(v vec) string { return fmt.Sprintf("V%d", v) }
func (m *neon) p(p ptr) string { return fmt.Sprintf("R%d", p) }

func (m *neon) begin(name, arg string) {
	m.source.begin(name, arg)
	m.line("MOVD a+0(FP), R0")
}

func (m *neon) end() { m.line("RET") }

func (m *neon) get(to, from ptr, off int) { m.line("MOVD %d(%s), %s", off, m.p(from), m.p(to)) }
func (m *neon) add(p ptr, n int)          { m.line("ADD $%d, %s, %[2]s", n, m.p(p)) }
func (m *neon) addPtr(p, q ptr)           { m.line("ADD %s, %s, %[2]s", m.p(q), m.p(p)) }

func (m *neon) less(p ptr, n int, label string) {
	m.line("SUBS $%d, %s, %[2]s", n, m.p(p))
	m.line("BLT %s", label)
}

func (m *neon) loop(p ptr, n int, label string) {
	m.line("SUBS $%d, %s, %[2]s", n, m.p(p))
	m.line("BGE %s", label)
}

func (m *neon) more(p ptr, label string) {
	m.line("SUBS $1, %s, %[1]s", m.p(p))
	m.line("BNE %s", label)
}

func (m *neon) jump(label string)          { m.line("B %s", label) }
func (m *neon) ifZero(p ptr, label string) { m.line("CBZ %s, %s", m.p(p), label) }

func (m *neon) copy(to, from vec) { m.line("VMOV %s.B16, %s.B16", m.v(from), m.v(to)) }

func (m *neon) load(v vec, p ptr, off int)  { m.line("FMOVQ %d(%s), F%d", off, m.p(p), v) }
func (m *neon) store(p ptr, off int, v vec) { m.line("FMOVQ F%d, %d(%s)", v, off, m.p(p)) }

func (m *neon) broadcast(v vec, p ptr, off int) {
	at := m.p(p)
	if off != 0 {
		m.line("ADD $%d, %s, %s", off, at, scratch)
		at = scratch
	}
	m.line("VLD1R (%s), [%s.S4]", at, m.v(v))
}

func (m *neon) loadAt(v vec, p, index ptr, off int) {
	m.line("ADD %s, %s, %s", m.p(index), m.p(p), scratch)
	m.line("FMOVQ %d(%s), F%d", off, scratch, v)
}

func (m *neon) storeAt(p, index ptr, off int, v vec) {
	m.line("ADD %s, %s, %s", m.p(index), m.p(p), scratch)
	m.line("FMOVQ F%d, %d(%s)", v, off, scratch)
}

func (m *neon) fma(acc, x, y vec) { m.line("VFMLA %s.S4, %s.S4, %s.S4", m.v(x), m.v(y), m.v(acc)) }

// clamp: FMAX and FMIN of four float32, which Go's assembler has no names for.
func (m *neon) clamp(acc, lo, hi vec) {
	m.line("WORD $0x%08x // FMAX %s.4S, %s.4S, %[2]s.4S", 0x4e20f400|int(lo)<<16|int(acc)<<5|int(acc), m.v(acc), m.v(lo))
	m.line("WORD $0x%08x // FMIN %s.4S, %s.4S, %[2]s.4S", 0x4ea0f400|int(hi)<<16|int(acc)<<5|int(acc), m.v(acc), m.v(hi))
}

// neonRows has a pointer for every row.
type neonRows struct {
	m    *neon
	base []ptr
}

func (m *neon) rows(p, stride ptr, n int, free ptr) rows {
	r := &neonRows{m: m, base: []ptr{p}}
	for range n - 1 {
		m.line("ADD %s, %s, %s", m.p(stride), m.p(r.base[len(r.base)-1]), m.p(free))
		r.base = append(r.base, free)
		free++
	}
	return r
}

func (r *neonRows) broadcast(v vec, row, off int) { r.m.broadcast(v, r.base[row], off) }
func (r *neonRows) load(v vec, row, off int)      { r.m.load(v, r.base[row], off) }
func (r *neonRows) store(row, off int, v vec)     { r.m.store(r.base[row], off, v) }

func (r *neonRows) advance(n int) {
	for _, b := range r.base {
		r.m.add(b, n)
	}
}

func (r *neonRows) advancePtr(p ptr) {
	for _, b := range r.base {
		r.m.addPtr(b, p)
	}
}
