package main

func (m *neon) group() int {
	if m.dots {
		return 4
	}
	return 2
}

// sums: without SDOT the products of an instruction stay apart, in two registers.
func (m *neon) sums() int {
	if m.dots {
		return 1
	}
	return 2
}

// code writes an instruction of two registers that Go's assembler has no name for.
func (m *neon) code(name string, code int, to, from vec) {
	m.line("WORD $0x%08x // %s V%d, V%d", code|int(from)<<5|int(to), name, to, from)
}

func (m *neon) flips() bool       { return false }
func (m *neon) move(to, from ptr) { m.line("MOVD %s, %s", m.p(from), m.p(to)) }
func (m *neon) clear(p ptr)       { m.line("MOVD ZR, %s", m.p(p)) }

func (m *neon) weights(v vec, p ptr, off int) {
	if m.dots {
		m.load(v, p, off)
		return
	}
	m.line("FMOVD %d(%s), F%d", off, m.p(p), v)
	m.code("SXTL 8H", 0x0f08a400, v, v)
}

func (m *neon) dot(acc, x, w, _ vec) {
	if m.dots {
		m.word("SDOT", 0x4e809400, acc, w, x)
		return
	}
	m.word("SMLAL", 0x0e608000, acc, w, x)
	m.word("SMLAL2", 0x4e608000, acc+1, w, x)
}

func (m *neon) fold(acc vec) {
	if !m.dots {
		m.word("ADDP", 0x4ea0bc00, acc, acc, acc+1)
	}
}

func (m *neon) mulInts(to, x, y vec) { m.word("MUL", 0x4ea09c00, to, x, y) }

// bound: FMAXNM gives the number if one operand is a NaN.
func (m *neon) bound(v, lo, hi vec) {
	m.word("FMAXNM", 0x4e20c400, v, v, lo)
	m.word("FMINNM", 0x4ea0c400, v, v, hi)
}

func (m *neon) storeBytes(p ptr, off int, v, _ vec) {
	m.code("XTN 4H", 0x0e612800, v, v)
	m.code("XTN 8B", 0x0e212800, v, v)
	m.line("FMOVS F%d, %d(%s)", v, off, m.p(p))
}

func (m *neon) loadBytes(v vec, p ptr, off int, signed bool) {
	m.line("FMOVS %d(%s), F%d", off, m.p(p), v)
	if signed {
		m.code("SXTL 8H", 0x0f08a400, v, v)
		m.code("SXTL 4S", 0x0f10a400, v, v)
		return
	}
	m.code("UXTL 8H", 0x2f08a400, v, v)
	m.code("UXTL 4S", 0x2f10a400, v, v)
}

func (m *neon) tap(acc, x, w, _ vec) { m.word("MLA", 0x4ea09400, acc, x, w) }
