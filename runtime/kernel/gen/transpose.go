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

// pairer is a machine whose vectors have 16 bytes, and which takes pairs of two.
type pairer interface {
	machine
	// pairs takes elements of size bytes: what x and y have in even places, side by side, then what they have in odd ones.
	pairs(size int, x, y, even, odd vec)
}

func (m *neon) pairs(size int, x, y, even, odd vec) {
	arrangement := map[int]string{1: "B16", 2: "H8", 4: "S4", 8: "D2"}[size]
	for i, v := range []vec{even, odd} {
		m.line("VTRN%d %s.%s, %s.%s, %s.%s", i+1, m.v(y), arrangement, m.v(x), arrangement, m.v(v), arrangement)
	}
}

func (m *wasm) pairs(size int, x, y, even, odd vec) {
	for i, v := range []vec{even, odd} {
		var places [16]byte
		for b := range places {
			element, part := b/size, b%size
			places[b] = byte(element%2*16 + (element/2*2+i)*size + part)
		}
		m.do(wasmCode{}.getVec(x).getVec(y).vec(vecShuffle, places[:]...).setVec(v))
	}
}

func (m *neon) turnWords(from rows, put func(v vec)) { pairWords(m, from, put) }
func (m *wasm) turnWords(from rows, put func(v vec)) { pairWords(m, from, put) }

func pairWords(m pairer, from rows, put func(v vec)) {
	for i := range 4 {
		from.load(vec(i), i, 0)
	}
	m.pairs(4, 0, 1, 4, 5)
	m.pairs(4, 2, 3, 6, 7)
	m.pairs(8, 4, 6, 8, 10)
	m.pairs(8, 5, 7, 9, 11)
	for i := range vec(4) {
		put(8 + i)
	}
}

func (m *neon) turnHalves(from rows, put func(v vec)) { pairHalves(m, from, put) }
func (m *wasm) turnHalves(from rows, put func(v vec)) { pairHalves(m, from, put) }

func pairHalves(m pairer, from rows, put func(v vec)) {
	for i := range 8 {
		from.load(vec(i), i, 0)
	}
	for i := range vec(4) { // two rows each: even columns, odd ones
		m.pairs(2, 2*i, 2*i+1, 8+2*i, 9+2*i)
	}
	for i := range vec(2) { // four rows each: columns 0 and 4, 2 and 6, then 1 and 5, 3 and 7
		m.pairs(4, 8+4*i, 10+4*i, 4*i, 4*i+2)
		m.pairs(4, 9+4*i, 11+4*i, 4*i+1, 4*i+3)
	}
	for i := range vec(4) {
		m.pairs(8, i, 4+i, 8+i, 12+i)
	}
	for i := range vec(8) {
		put(8 + i)
	}
}

func (m *neon) turnBytes(src, step, free ptr, put func(v vec, quarter int)) {
	pairBytes(m, src, step, free, put)
}

func (m *wasm) turnBytes(src, step, free ptr, put func(v vec, quarter int)) {
	pairBytes(m, src, step, free, put)
}

func pairBytes(m pairer, src, step, free ptr, put func(v vec, quarter int)) {
	m.set(free, src, 1)
	for i := range vec(16) {
		m.load(i, free, 0)
		m.addPtr(free, step)
	}
	// Of n rows that are apart as far as there are pairs of them: even columns, and odd ones.
	for step, size := range []int{1, 2, 4, 8} {
		in, out, apart := vec(step%2*16), vec((1-step%2)*16), vec(size)
		for i := range vec(16) {
			if i&apart == 0 {
				m.pairs(size, in+i, in+i+apart, out+i, out+i+apart)
			}
		}
	}
	for v := range vec(16) {
		put(v, 0)
	}
}

func (m *neon) storeQuarter(p ptr, v vec, _ int) { m.store(p, 0, v) }
func (m *wasm) storeQuarter(p ptr, v vec, _ int) { m.store(p, 0, v) }
