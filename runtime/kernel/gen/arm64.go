package main

import "fmt"

// neon is arm64 with its 128-bit vectors.
type neon struct {
	source
	dots bool
}

func (m *neon) tier() string {
	if m.dots {
		return "NEONDot"
	}
	return "NEON"
}

func (m *neon) arch() string { return "arm64" }
func (m *neon) lanes() int   { return 4 }
func (m *neon) vectors() int { return 32 }

// scratch is the register for addresses that no instruction can hold.
const scratch = "R26"

// neonPtrs is how many integer registers there are: R18 is the system's, R26 to R28 are scratch and Go's.
const neonPtrs = 18

func (m *neon) v(v vec) string { return fmt.Sprintf("V%d", within(v, m.vectors())) }
func (m *neon) p(p ptr) string { return fmt.Sprintf("R%d", within(p, neonPtrs)) }

func (m *neon) begin(name, arg string) {
	m.source.begin(name, arg)
	m.line("MOVD a+0(FP), R0")
}

func (m *neon) end() { m.line("RET") }

func (m *neon) get(to, from ptr, off int)     { m.line("MOVD %d(%s), %s", off, m.p(from), m.p(to)) }
func (m *neon) put(to ptr, off int, from ptr) { m.line("MOVD %s, %d(%s)", m.p(from), off, m.p(to)) }

func (m *neon) set(to, from ptr, factor int) {
	m.line("MOVD %s, %s", m.p(from), m.p(to))
	for range factor - 1 {
		m.addPtr(to, from)
	}
}

func (m *neon) add(p ptr, n int) { m.line("ADD $%d, %s, %[2]s", n, m.p(p)) }
func (m *neon) addPtr(p, q ptr)  { m.line("ADD %s, %s, %[2]s", m.p(q), m.p(p)) }

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

func (m *neon) load(v vec, p ptr, off int)       { m.line("FMOVQ %d(%s), F%d", off, m.p(p), v) }
func (m *neon) store(p ptr, off int, v vec)      { m.line("FMOVQ F%d, %d(%s)", v, off, m.p(p)) }
func (m *neon) storeFirst(p ptr, off int, v vec) { m.line("FMOVS F%d, %d(%s)", v, off, m.p(p)) }

func (m *neon) prefetch(p ptr, off int) { m.line("PRFM %d(%s), PLDL2KEEP", off, m.p(p)) }

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

func (m *neon) pickAt(v vec, p, index ptr, places vec) {
	m.loadAt(v, p, index, 0)
	m.line("VTBL %s.B16, [%s.B16], %[2]s.B16", m.v(places), m.v(v))
}

func (m *neon) fma(acc, x, y vec) { m.line("VFMLA %s.S4, %s.S4, %s.S4", m.v(x), m.v(y), m.v(acc)) }

func (m *neon) fmaColumn(acc, x vec, p, stride, triple ptr, j int, t vec) {
	at := m.p(p)
	if j > 0 {
		by := map[int]string{1: m.p(stride), 2: m.p(stride) + "<<1", 3: m.p(triple), 4: m.p(stride) + "<<2"}[j]
		m.line("ADD %s, %s, %s", by, at, scratch)
		at = scratch
	}
	m.line("FMOVQ (%s), F%d", at, t)
	m.fma(acc, t, x)
}

// word writes an instruction that Go's assembler has no name for, with its registers.
func (m *neon) word(name string, code int, to, x, y vec) {
	m.line("WORD $0x%08x // %s V%d.4S, V%d.4S, V%d.4S", code|int(y)<<16|int(x)<<5|int(to), name, to, x, y)
}

func (m *neon) arith(op byte, to, x, y vec) {
	switch op {
	case '+':
		m.word("FADD", 0x4e20d400, to, x, y)
	case '-':
		m.word("FSUB", 0x4ea0d400, to, x, y)
	case '*':
		m.word("FMUL", 0x6e20dc00, to, x, y)
	case '/':
		m.word("FDIV", 0x6e20fc00, to, x, y)
	}
}

func (m *neon) round(to, from vec) {
	m.line("WORD $0x%08x // FRINTN V%d.4S, V%d.4S", 0x4e218800|int(from)<<5|int(to), to, from)
}

// scale makes two powers of 2, since one cannot be as small as 2^-150 or as large as 2^129.
func (m *neon) scale(v, n vec, t [2]vec, bias vec) {
	m.line("WORD $0x%08x // FCVTNS V%d.4S, V%[2]d.4S", 0x4e21a800|int(n)<<5|int(n), n)
	m.line("WORD $0x%08x // SSHR V%d.4S, V%d.4S, #1", 0x4f3f0400|int(n)<<5|int(t[0]), t[0], n)
	m.line("VSUB %s.S4, %s.S4, %s.S4", m.v(t[0]), m.v(n), m.v(t[1]))
	for _, r := range t {
		m.line("VADD %s.S4, %s.S4, %[2]s.S4", m.v(bias), m.v(r))
		m.line("VSHL $23, %s.S4, %[1]s.S4", m.v(r))
		m.arith('*', v, v, r)
	}
}

func (m *neon) larger(to, x, y vec) { m.word("FMAX", 0x4e20f400, to, x, y) }
func (m *neon) swapLanes(to, from vec, n int) {
	if n == 1 {
		m.line("VREV64 %s.S4, %s.S4", m.v(from), m.v(to))
		return
	}
	m.line("VEXT $8, %s.B16, %[1]s.B16, %s.B16", m.v(from), m.v(to))
}

func (m *neon) largerNaN(to, x, y, _ vec) { m.larger(to, x, y) }

// largerBytes: SMAX of 16 bytes, which Go's assembler has no name for.
func (m *neon) largerBytes(to, x, y vec) { m.word("SMAX", 0x4e206400, to, x, y) }

// clamp: FMAX and FMIN of four float32, which Go's assembler has no names for.
func (m *neon) clamp(acc, lo, hi vec) {
	m.word("FMAX", 0x4e20f400, acc, acc, lo)
	m.word("FMIN", 0x4ea0f400, acc, acc, hi)
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
func (r *neonRows) fmaNumber(acc, x vec, row, off int, t vec) {
	r.m.fmaNumber(acc, x, r.base[row], off, t)
}
func (r *neonRows) load(v vec, row, off int)  { r.m.load(v, r.base[row], off) }
func (r *neonRows) store(row, off int, v vec) { r.m.store(r.base[row], off, v) }

func (m *neon) masks(ptr, int, int)                      {}
func (r *neonRows) loadPart(v vec, row, off, _ int)      { r.load(v, row, off) }
func (r *neonRows) storePart(row, off int, v vec, _ int) { r.store(row, off, v) }

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
