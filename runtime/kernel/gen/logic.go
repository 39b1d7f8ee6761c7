package main

// logic are a machine's instructions on the bits of numbers, and on what is like them.
type logic interface {
	// bitwise computes to = x op y, op one of & | ^, or \ for the bits of x that y does not have.
	bitwise(op byte, to, x, y vec)
	// intArith computes to = x op y of int32, op + or -.
	intArith(op byte, to, x, y vec)
	// addBytes and subBytes compute the sums and differences of bytes.
	addBytes(to, x, y vec)
	subBytes(to, x, y vec)
	// smallerBytes computes the smaller of two uint8 each.
	smallerBytes(to, x, y vec)
	// shift moves the bits of each 32 by n, to the left with op <, and to the right with op >, or / for copies of the
	// first bit.
	shift(op byte, to, from vec, n int)
	// toInt rounds to the nearest int32, ties to even; toFloat makes a float32 of an int32.
	toInt(to, from vec)
	toFloat(to, from vec)
	sqrt(to, from vec)
	// roundTo rounds to an integer: with op n to the nearest, ties to even, with < down, > up, 0 to zero.
	roundTo(op byte, to, from vec)
	// compare sets all bits of to where x op y, op one of < and =, or l for ≤; NaN is none of them.
	compare(op byte, to, x, y vec)
	// choose copies yes to to where mask has bits.
	choose(to, mask, yes vec)
}

func (m *x86) bitwise(op byte, to, x, y vec) {
	if op == '\\' {
		m.line("VANDNPS %s, %s, %s", m.v(x), m.v(y), m.v(to))
		return
	}
	name := map[byte]string{'&': "VANDPS", '|': "VORPS", '^': "VXORPS"}[op]
	m.line("%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to))
}

func (m *x86) intArith(op byte, to, x, y vec) {
	name := map[byte]string{'+': "VPADDD", '-': "VPSUBD"}[op]
	m.line("%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to))
}

func (m *x86) addBytes(to, x, y vec) { m.line("VPADDB %s, %s, %s", m.v(y), m.v(x), m.v(to)) }
func (m *x86) subBytes(to, x, y vec) { m.line("VPSUBB %s, %s, %s", m.v(y), m.v(x), m.v(to)) }

func (m *x86) smallerBytes(to, x, y vec) { m.line("VPMINUB %s, %s, %s", m.v(y), m.v(x), m.v(to)) }

func (m *x86) shift(op byte, to, from vec, n int) {
	name := map[byte]string{'<': "VPSLLD", '>': "VPSRLD", '/': "VPSRAD"}[op]
	m.line("%s $%d, %s, %s", name, n, m.v(from), m.v(to))
}

func (m *x86) toInt(to, from vec)   { m.line("VCVTPS2DQ %s, %s", m.v(from), m.v(to)) }
func (m *x86) toFloat(to, from vec) { m.line("VCVTDQ2PS %s, %s", m.v(from), m.v(to)) }
func (m *x86) sqrt(to, from vec)    { m.line("VSQRTPS %s, %s", m.v(from), m.v(to)) }

func (m *x86) roundTo(op byte, to, from vec) {
	name := "VROUNDPS"
	if m.wide {
		name = "VRNDSCALEPS"
	}
	m.line("%s $%d, %s, %s", name, map[byte]int{'n': 8, '<': 9, '>': 10, '0': 11}[op], m.v(from), m.v(to))
}

func (m *x86) compare(op byte, to, x, y vec) {
	code := map[byte]int{'=': 0x00, '<': 0x11, 'l': 0x12}[op] // ordered, quiet
	if m.wide {
		m.line("VCMPPS $%d, %s, %s, K1", code, m.v(y), m.v(x))
		m.line("VPMOVM2D K1, %s", m.v(to))
		return
	}
	m.line("VCMPPS $%d, %s, %s, %s", code, m.v(y), m.v(x), m.v(to))
}

func (m *x86) choose(to, mask, yes vec) {
	if m.wide {
		m.line("VPTERNLOGD $0xb8, %s, %s, %s", m.v(yes), m.v(mask), m.v(to))
		return
	}
	m.line("VBLENDVPS %s, %s, %s, %[3]s", m.v(mask), m.v(yes), m.v(to))
}

func (m *neon) bitwise(op byte, to, x, y vec) {
	switch op {
	case '&':
		m.word("AND", 0x4e201c00, to, x, y)
	case '|':
		m.word("ORR", 0x4ea01c00, to, x, y)
	case '^':
		m.word("EOR", 0x6e201c00, to, x, y)
	case '\\':
		m.word("BIC", 0x4e601c00, to, x, y)
	}
}

func (m *neon) intArith(op byte, to, x, y vec) {
	if op == '-' {
		m.word("SUB", 0x6ea08400, to, x, y)
		return
	}
	m.word("ADD", 0x4ea08400, to, x, y)
}

func (m *neon) addBytes(to, x, y vec) { m.word("ADD 16B of", 0x4e208400, to, x, y) }
func (m *neon) subBytes(to, x, y vec) { m.word("SUB 16B of", 0x6e208400, to, x, y) }

func (m *neon) smallerBytes(to, x, y vec) { m.word("UMIN 16B of", 0x6e206c00, to, x, y) }

func (m *neon) shift(op byte, to, from vec, n int) {
	name, code, by := "SHL", 0x4f005400, 32+n
	switch op {
	case '>':
		name, code, by = "USHR", 0x6f000400, 64-n
	case '/':
		name, code, by = "SSHR", 0x4f000400, 64-n
	}
	m.line("WORD $0x%08x // %s V%d.4S, V%d.4S, #%d", code|by<<16|int(from)<<5|int(to), name, to, from, n)
}

// convert writes an instruction of one operand that Go's assembler has no name for.
func (m *neon) convert(name string, code int, to, from vec) {
	m.line("WORD $0x%08x // %s V%d.4S, V%d.4S", code|int(from)<<5|int(to), name, to, from)
}

func (m *neon) toInt(to, from vec)   { m.convert("FCVTNS", 0x4e21a800, to, from) }
func (m *neon) toFloat(to, from vec) { m.convert("SCVTF", 0x4e21d800, to, from) }
func (m *neon) sqrt(to, from vec)    { m.convert("FSQRT", 0x6ea1f800, to, from) }

func (m *neon) roundTo(op byte, to, from vec) {
	switch op {
	case 'n':
		m.convert("FRINTN", 0x4e218800, to, from)
	case '<':
		m.convert("FRINTM", 0x4e219800, to, from)
	case '>':
		m.convert("FRINTP", 0x4ea18800, to, from)
	case '0':
		m.convert("FRINTZ", 0x4ea19800, to, from)
	}
}

func (m *neon) compare(op byte, to, x, y vec) {
	switch op {
	case '<':
		m.word("FCMGT", 0x6ea0e400, to, y, x)
	case 'l':
		m.word("FCMGE", 0x6e20e400, to, y, x)
	case '=':
		m.word("FCMEQ", 0x4e20e400, to, x, y)
	}
}

func (m *neon) choose(to, mask, yes vec) { m.word("BIT", 0x6ea01c00, to, yes, mask) }
