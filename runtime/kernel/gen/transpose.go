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

// turner is a machine that transposes squares of 4-byte elements, as many as a vector has in a row.
type turner interface {
	machine
	// turn transposes the square at from: put gets the registers that hold its rows, in order.
	turn(from rows, put func(v vec))
}

// transposeWords writes the transposition of squares along rows of the input.
func transposeWords(m turner) {
	m.begin("transpose"+m.tier(), "transposition")
	for i, p := range []ptr{squareSrc, squareFrom, squareOut, squareTo, squareCount} {
		m.get(p, args, i*pointerSize)
	}
	from := m.rows(squareSrc, squareFrom, m.lanes(), squareIn)
	m.label("square")
	m.turn(from, func(v vec) {
		m.store(squareOut, 0, v)
		m.addPtr(squareOut, squareTo)
	})
	from.advance(m.lanes() * float32Size)
	m.more(squareCount, "square")
	m.end()
}

// turn takes four columns at a time: rows 0 to 3 go into the first quarters of registers, 4 to 7 into the second ones, and so
// on; these squares of 4 are turned.
func (m *x86) turn(from rows, put func(v vec)) {
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

func (m *neon) turn(from rows, put func(v vec)) {
	pairs := func(lanes string, x, y, even, odd vec) {
		for i, v := range []vec{even, odd} {
			m.line("VTRN%d %s, %s, %s", i+1, m.v(y)+lanes, m.v(x)+lanes, m.v(v)+lanes)
		}
	}
	for i := range 4 {
		from.load(vec(i), i, 0)
	}
	pairs(".S4", 0, 1, 4, 5)
	pairs(".S4", 2, 3, 6, 7)
	pairs(".D2", 4, 6, 8, 10)
	pairs(".D2", 5, 7, 9, 11)
	for i := range vec(4) {
		put(8 + i)
	}
}
