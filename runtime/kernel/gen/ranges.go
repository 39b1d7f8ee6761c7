package main

// extremes are machines that find the least and the largest numbers.
type extremes interface {
	// least and most make acc the smaller or the larger of acc and x; it stays where x is NaN.
	least(acc, x vec)
	most(acc, x vec)
}

// rangeSets is how many pairs of extremes a kernel keeps, so that it need not wait for one of them.
const rangeSets = 4

// rangeS8 writes what finds the extremes of a line, with zero among them: a vector that holds the least number, and one that
// holds the largest.
func rangeS8(m integers) {
	low := func(set int) vec { return vec(set) }
	high := func(set int) vec { return vec(rangeSets + set) }
	step := func(set int) {
		x := vec(2*rangeSets + set)
		m.load(x, lineAtX, set*m.lanes()*float32Size)
		m.least(low(set), x)
		m.most(high(set), x)
	}
	m.begin("rangeS8"+m.tier(), "lines")
	for v := range vec(2 * rangeSets) {
		m.bitwise('^', v, v, v)
	}
	m.get(lineAtX, args, linesX)
	m.get(lineCount, args, linesBlocks)
	stream(m, lineCount, rangeSets, "", func(n int) {
		for set := range n {
			step(set)
		}
		m.add(lineAtX, n*m.lanes()*float32Size)
	})
	m.get(lineAtX, args, linesX)
	m.get(lineCount, args, linesTail)
	for range float32Size {
		m.addPtr(lineAtX, lineCount)
	}
	step(0)
	for set := 1; set < rangeSets; set++ {
		m.least(low(0), low(set))
		m.most(high(0), high(set))
	}
	t := vec(2 * rangeSets)
	for n := m.lanes() / 2; n > 0; n /= 2 {
		m.swapLanes(t, low(0), n)
		m.least(low(0), t)
		m.swapLanes(t, high(0), n)
		m.most(high(0), t)
	}
	m.get(lineAtOut, args, linesOut)
	m.store(lineAtOut, 0, low(0))
	m.store(lineAtOut, m.lanes()*float32Size, high(0))
	m.end()
}

// least and most: MINPS gives its second operand, which Go writes first, if one is a NaN.
func (m *x86) least(acc, x vec) { m.line("VMINPS %s, %s, %[1]s", m.v(acc), m.v(x)) }
func (m *x86) most(acc, x vec)  { m.line("VMAXPS %s, %s, %[1]s", m.v(acc), m.v(x)) }

func (m *neon) least(acc, x vec) { m.word("FMINNM", 0x4ea0c400, acc, acc, x) }
func (m *neon) most(acc, x vec)  { m.word("FMAXNM", 0x4e20c400, acc, acc, x) }

func (m *wasm) least(acc, x vec) { m.two(vecPMin, acc, acc, x) }
func (m *wasm) most(acc, x vec)  { m.two(vecPMax, acc, acc, x) }
