package main

// The integer registers of a transposition; see transposition in package kernel for what they hold.
const (
	squareSrc   = args + 1
	squareFrom  = args + 2
	squareOut   = args + 3
	squareTo    = args + 4
	squareCount = args + 5
	squareIn    = args + 6 // and up to three after it
)

// turner is a machine that transposes squares of elements of 4 and 2 bytes, as many as a vector has in a row, and of 16 bytes in a row.
type turner interface {
	machine
	// turnWords and turnHalves transpose the square at from: put gets the registers that hold its rows, in order.
	turnWords(from rows, put func(v vec))
	turnHalves(from rows, put func(v vec))
	// turnBytes transposes the square at src, whose rows are step bytes apart: put gets the registers that hold its rows, in order, and
	// which 16 bytes of each. free and three after it may change.
	turnBytes(src, step, free ptr, put func(v vec, quarter int))
	// storeQuarter stores 16 bytes of v.
	storeQuarter(p ptr, v vec, quarter int)
	// pixels writes to out, one after another, the elements of 4 bytes that three rows have in the places of a vector.
	pixels(from rows, out ptr)
}

// transposePixels writes the transposition of three rows.
func transposePixels(m turner) {
	m.begin("transposePixels"+m.tier(), "transposition")
	m.get(squareSrc, args, 0)
	m.get(squareFrom, args, pointerSize)
	m.get(squareOut, args, 2*pointerSize)
	m.get(squareCount, args, 4*pointerSize)
	from := m.rows(squareSrc, squareFrom, 3, squareIn)
	m.label("pixels")
	m.pixels(from, squareOut)
	from.advance(m.lanes() * float32Size)
	m.add(squareOut, 3*m.lanes()*float32Size)
	m.more(squareCount, "pixels")
	m.end()
}

// transposeWords writes the transposition of squares of elements of 4 bytes, transposeHalves of those of 2, transposeBytes of bytes.
func transposeWords(m turner) { transposeRows(m, "transpose", m.lanes(), m.turnWords) }

func transposeHalves(m turner) { transposeRows(m, "transposeHalves", 2*m.lanes(), m.turnHalves) }

func transposeBytes(m turner) {
	beginSquares(m, "transposeBytes")
	m.label("square")
	m.turnBytes(squareSrc, squareFrom, squareIn, func(v vec, quarter int) {
		m.storeQuarter(squareOut, v, quarter)
		m.addPtr(squareOut, squareTo)
	})
	m.add(squareSrc, 16)
	m.more(squareCount, "square")
	m.end()
}

// transposeRows writes the transposition of squares along rows of the input, with so many rows of a vector each.
func transposeRows(m turner, name string, side int, turn func(from rows, put func(v vec))) {
	beginSquares(m, name)
	from := m.rows(squareSrc, squareFrom, side, squareIn)
	m.label("square")
	turn(from, func(v vec) {
		m.store(squareOut, 0, v)
		m.addPtr(squareOut, squareTo)
	})
	from.advance(m.lanes() * float32Size)
	m.more(squareCount, "square")
	m.end()
}

func beginSquares(m machine, name string) {
	m.begin(name+m.tier(), "transposition")
	for i, p := range []ptr{squareSrc, squareFrom, squareOut, squareTo, squareCount} {
		m.get(p, args, i*pointerSize)
	}
}

// turnWords takes four columns at a time: rows 0 to 3 go into the first quarters of registers, 4 to 7 into the second ones, and so
// on; these squares of 4 are turned.
func (m *x86) turnWords(from rows, put func(v vec)) {
	in := from.(*x86Rows)
	insert := "VINSERTF128"
	if m.wide {
		insert = "VINSERTF32X4"
	}
	for at := 0; at < m.lanes()*float32Size; at += 16 {
		for i := range 4 {
			m.line("VMOVUPS %s, X%d", in.at(i, at), i)
			for quarter := 1; quarter < m.lanes()/4; quarter++ {
				m.line("%s $%d, %s, %s, %[4]s", insert, quarter, in.at(i+4*quarter, at), m.v(vec(i)))
			}
		}
		for i, name := range []string{"VUNPCKLPS", "VUNPCKHPS"} {
			m.line("%s %s, %s, %s", name, m.v(1), m.v(0), m.v(vec(4+i)))
			m.line("%s %s, %s, %s", name, m.v(3), m.v(2), m.v(vec(6+i)))
		}
		for i := range vec(4) {
			name := [...]string{"VUNPCKLPD", "VUNPCKHPD"}[i%2]
			m.line("%s %s, %s, %s", name, m.v(6+i/2), m.v(4+i/2), m.v(8+i))
			put(8 + i)
		}
	}
}

// turnHalves takes eight columns at a time, of registers with two halves: rows 0 to 7 go into the first ones, 8 to 15 into the
// second ones.
func (m *x86) turnHalves(from rows, put func(v vec)) {
	in := from.(*x86Rows)
	for at := 0; at < m.lanes()*float32Size; at += 16 {
		for i := range 8 {
			m.line("VMOVUPS %s, X%d", in.at(i, at), i)
			m.line("VINSERTF128 $1, %s, Y%d, Y%[2]d", in.at(i+8, at), i)
		}
		unpack := func(name string, x, y, to vec) {
			m.line("VPUNPCKL%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to))
			m.line("VPUNPCKH%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to+1))
		}
		for i := range vec(4) { // two rows each, of the columns 0 to 3 and 4 to 7
			unpack("WD", 2*i, 2*i+1, 8+2*i)
		}
		for i := range vec(2) { // four rows each, of two columns
			unpack("DQ", 8+4*i, 10+4*i, 4*i)
			unpack("DQ", 9+4*i, 11+4*i, 2+4*i)
		}
		for i := range vec(4) {
			unpack("QDQ", i, 4+i, 8+2*i)
			put(8 + 2*i)
			put(9 + 2*i)
		}
	}
}

// turnBytes has rows 0 to 7 in the first halves of registers, 8 to 15 in the second ones. Bytes of two rows that are 4 apart come
// side by side, then those of four rows that are 2 apart, then those of eight, of two columns; halves of one column meet in the end.
func (m *x86) turnBytes(src, step, free ptr, put func(v vec, quarter int)) {
	in := m.rows(src, step, 16, free).(*x86Rows)
	for i := range 8 {
		m.line("VMOVUPS %s, X%d", in.at(i, 0), i)
		m.line("VINSERTF128 $1, %s, Y%d, Y%[2]d", in.at(i+8, 0), i)
	}
	unpack := func(x, y, low, high vec) {
		m.line("VPUNPCKLBW %s, %s, %s", m.v(y), m.v(x), m.v(low))
		m.line("VPUNPCKHBW %s, %s, %s", m.v(y), m.v(x), m.v(high))
	}
	for i := range vec(4) { // rows i and i+4, of the first eight columns and the others
		unpack(i, i+4, 8+i, 12+i)
	}
	for i := range vec(4) { // rows i, i+2, i+4, i+6, of four columns
		at, of := i/2*4+i%2, 8+i/2*4+i%2
		unpack(of, of+2, at, at+2)
	}
	for i := range vec(4) {
		unpack(2*i, 2*i+1, 8+2*i, 9+2*i)
	}
	for v := vec(8); v < 16; v++ {
		m.line("VPERMQ $0xd8, %s, %[1]s", m.v(v)) // the quarters 0 2 1 3
		put(v, 0)
		put(v, 1)
	}
}

func (m *x86) storeQuarter(p ptr, v vec, quarter int) {
	m.line("VEXTRACTF128 $%d, %s, (%s)", quarter, m.v(v), m.p(p))
}

// pixels makes, in quarters, of x0 to x3, y0 to y3 and z0 to z3 first x0 x2 y0 y2, y1 y3 z1 z3 and z0 z2 x1 x3, and of these x0 y0 z0 x1,
// y1 z1 x2 y2 and z2 x3 y3 z3.
func (m *x86) pixels(from rows, out ptr) {
	in := from.(*x86Rows)
	shuffle := func(picks int, x, y, to vec) { m.line("VSHUFPS $%#x, %s, %s, %s", picks, m.v(y), m.v(x), m.v(to)) }
	for i := range 3 {
		m.line("VMOVUPS %s, %s", in.at(i, 0), m.v(vec(i)))
	}
	const even, odd, evenOdd = 0x88, 0xdd, 0xd8 // the places 0 2 0 2, 1 3 1 3 and 0 2 1 3
	shuffle(even, 0, 1, 3)
	shuffle(odd, 1, 2, 4)
	shuffle(evenOdd, 2, 0, 5)
	shuffle(even, 3, 5, 6)
	shuffle(evenOdd, 4, 3, 7)
	shuffle(odd, 5, 4, 8)
	for quarter := range m.lanes() / 4 {
		for i := range 3 {
			m.line("VEXTRACTF128 $%d, %s, %d(%s)", quarter, m.v(vec(6+i)), 48*quarter+16*i, m.p(out))
		}
	}
}

// pairs takes what x and y have in even places of the arrangement, then what they have in odd ones.
func (m *neon) pairs(arrangement string, x, y, even, odd vec) {
	for i, v := range []vec{even, odd} {
		m.line("VTRN%d %s.%s, %s.%s, %s.%s", i+1, m.v(y), arrangement, m.v(x), arrangement, m.v(v), arrangement)
	}
}

func (m *neon) turnWords(from rows, put func(v vec)) {
	for i := range 4 {
		from.load(vec(i), i, 0)
	}
	m.pairs("S4", 0, 1, 4, 5)
	m.pairs("S4", 2, 3, 6, 7)
	m.pairs("D2", 4, 6, 8, 10)
	m.pairs("D2", 5, 7, 9, 11)
	for i := range vec(4) {
		put(8 + i)
	}
}

func (m *neon) turnHalves(from rows, put func(v vec)) {
	for i := range 8 {
		from.load(vec(i), i, 0)
	}
	for i := range vec(4) { // two rows each: even columns, odd ones
		m.pairs("H8", 2*i, 2*i+1, 8+2*i, 9+2*i)
	}
	for i := range vec(2) { // four rows each: columns 0 and 4, 2 and 6, then 1 and 5, 3 and 7
		m.pairs("S4", 8+4*i, 10+4*i, 4*i, 4*i+2)
		m.pairs("S4", 9+4*i, 11+4*i, 4*i+1, 4*i+3)
	}
	for i := range vec(4) {
		m.pairs("D2", i, 4+i, 8+i, 12+i)
	}
	for i := range vec(8) {
		put(8 + i)
	}
}

func (m *neon) turnBytes(src, step, free ptr, put func(v vec, quarter int)) {
	m.set(free, src, 1)
	for i := range vec(16) {
		m.load(i, free, 0)
		m.addPtr(free, step)
	}
	// Of n rows that are apart as far as there are pairs of them: even columns, and odd ones.
	for step, arrangement := range []string{"B16", "H8", "S4", "D2"} {
		in, out, apart := vec(step%2*16), vec((1-step%2)*16), vec(1)<<step
		for i := range vec(16) {
			if i&apart == 0 {
				m.pairs(arrangement, in+i, in+i+apart, out+i, out+i+apart)
			}
		}
	}
	for v := range vec(16) {
		put(v, 0)
	}
}

func (m *neon) storeQuarter(p ptr, v vec, _ int) { m.store(p, 0, v) }

func (m *neon) pixels(from rows, out ptr) {
	for i := range 3 {
		from.load(vec(i), i, 0)
	}
	m.line("VST3 [V0.S4, V1.S4, V2.S4], (%s)", m.p(out))
}
