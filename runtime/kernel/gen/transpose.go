package main

// The integer registers of a transposition; see transposition in package kernel for what they hold.
const (
	squareSrc   = args + 1
	squareFrom  = args + 2
	squareOut   = args + 3
	squareTo    = args + 4
	squareCount = args + 5
	squareStep  = args + 6
	squareIn    = args + 7 // and up to two after it
	squareRows  = args + 10
)

// turner is a machine that transposes squares of 4-byte elements, as many as a vector has in a row.
type turner interface {
	machine
	// turn writes the transpose of the square at from to to, whose rows have lanes elements.
	turn(from, to rows)
}

// transposeWords writes the transposition of squares along rows of the input.
func transposeWords(m turner) {
	m.begin("transpose"+m.tier(), "transposition")
	for i, p := range []ptr{squareSrc, squareFrom, squareOut, squareTo, squareCount} {
		m.get(p, args, i*pointerSize)
	}
	m.set(squareStep, squareTo, 2)
	for n := 2; n < m.lanes(); n *= 2 {
		m.addPtr(squareStep, squareStep)
	}
	from := m.rows(squareSrc, squareFrom, m.lanes(), squareIn)
	to := m.rows(squareOut, squareTo, m.lanes(), squareRows)
	m.label("square")
	m.turn(from, to)
	from.advance(m.lanes() * float32Size)
	to.advancePtr(squareStep)
	m.more(squareCount, "square")
	m.end()
}

// turn puts rows 0 to 3 into the lower halves of registers and 4 to 7 into the upper ones, whose squares of 4 it turns.
func (m *x86) turn(from, to rows) {
	in := from.(*x86Rows)
	for i := range 4 {
		for half := range 2 {
			v := i + 4*half
			m.line("VMOVUPS %s, X%d", in.at(i, 16*half), v)
			m.line("VINSERTF128 $1, %s, Y%d, Y%[2]d", in.at(i+4, 16*half), v)
		}
	}
	for v := 0; v < 8; v += 4 {
		for i, name := range []string{"VUNPCKLPS", "VUNPCKHPS"} {
			m.line("%s Y%d, Y%d, Y%d", name, v+1, v, 8+i)
			m.line("%s Y%d, Y%d, Y%d", name, v+3, v+2, 10+i)
		}
		for i := range 4 {
			name := [...]string{"VUNPCKLPD", "VUNPCKHPD"}[i%2]
			m.line("%s Y%d, Y%d, Y%d", name, 10+i/2, 8+i/2, 12+i)
			to.store(v+i, 0, vec(12+i))
		}
	}
}

func (m *neon) turn(from, to rows) {
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
	for i := range 4 {
		to.store(i, 0, vec(8+i))
	}
}
