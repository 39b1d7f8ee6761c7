package main

// pass is a function of rows, a vector at a time, whose operands are kernel.lines. What the last vector of a row
// overlaps is computed twice.
type pass struct {
	name     string
	from, to int  // bytes of an element of x and out
	operands int  // of a, b and c: 4 bytes for each element
	row      bool // a row has a kernel.DynamicRow
	unroll   int
	// emit computes one vector, which lies at these bytes behind the operands' registers.
	emit func(l *lines, j int)
}

// passes are the functions of rows.
var passes = []pass{
	{name: "requantS8", from: 4, to: 1, operands: 1, unroll: 4, emit: func(l *lines, j int) {
		l.load(l.v(j), lineAtX, j*l.width())
		l.toFloat(l.v(j), l.v(j))
		l.load(l.t(j), lineAtA, j*l.width())
		l.arith('*', l.v(j), l.v(j), l.t(j))
		l.narrow(j)
	}},
	{name: "quantizeS8", from: 4, to: 1, unroll: 4, emit: func(l *lines, j int) {
		l.load(l.v(j), lineAtX, j*l.width())
		l.arith('*', l.v(j), l.v(j), l.factor())
		l.narrow(j)
	}},
	{name: "dequantizeS8", from: 1, to: 4, unroll: 4, emit: func(l *lines, j int) { l.widen(j, true) }},
	{name: "dequantizeU8", from: 1, to: 4, unroll: 4, emit: func(l *lines, j int) { l.widen(j, false) }},
	{name: "scaleS8", from: 4, to: 4, operands: 2, row: true, unroll: 2, emit: func(l *lines, j int) {
		l.scaled(j)
		l.store(lineAtOut, j*l.width(), l.v(j))
	}},
	{name: "scaleAddS8", from: 4, to: 4, operands: 2, row: true, unroll: 2, emit: func(l *lines, j int) {
		l.scaled(j)
		l.load(l.t(j), lineAtOut, j*l.width())
		l.arith('+', l.v(j), l.t(j), l.v(j))
		l.store(lineAtOut, j*l.width(), l.v(j))
	}},
	{name: "completeS8", from: 4, to: 4, operands: 1, row: true, unroll: 2, emit: func(l *lines, j int) {
		l.load(l.v(j), lineAtX, j*l.width())
		l.arith('*', l.v(j), l.v(j), l.rowScale())
		l.load(l.t(j), lineAtA, j*l.width())
		l.arith('+', l.v(j), l.v(j), l.t(j))
		l.bound(l.v(j), l.low(), l.high())
		l.store(lineAtOut, j*l.width(), l.v(j))
	}},
	{name: "finishS8", from: 4, to: 4, operands: 3, row: true, unroll: 2, emit: func(l *lines, j int) {
		l.scaled(j)
		l.arith('*', l.v(j), l.v(j), l.rowScale())
		l.load(l.t(j), lineAtC, j*l.width())
		l.arith('+', l.v(j), l.v(j), l.t(j))
		l.bound(l.v(j), l.low(), l.high())
		l.store(lineAtOut, j*l.width(), l.v(j))
	}},
}

// The integer registers of a pass.
const (
	lineRowX ptr = args + 1 + iota
	lineRowOut
	lineRow
	lineRows
	lineCount // and what strides are loaded into
	lineAtX
	lineAtOut
	lineAtA
	lineAtB
	lineAtC
)

// linesOperands are where the operands of a pass lie.
var linesOperands = [...]int{linesA, linesB, linesC}

// Where the fields of kernel.lines lie.
const (
	linesX         = 0
	linesXStride   = 8
	linesOut       = 16
	linesOutStride = 24
	linesA         = 32
	linesB         = 40
	linesRow       = 48
	linesRows      = 56
	linesBlocks    = 64
	linesTail      = 72
	linesLow       = 80
	linesHigh      = 84
	linesScale     = 88
	linesZero      = 92
	linesOffset    = 96
	linesC         = 104
)

// lines writes a pass.
type lines struct {
	integers
	*pass
}

func (l *lines) low() vec       { return 0 }
func (l *lines) high() vec      { return 1 }
func (l *lines) factor() vec    { return 2 }
func (l *lines) zeroPoint() vec { return 3 }
func (l *lines) offset() vec    { return 4 }
func (l *lines) rowZero() vec   { return 5 }
func (l *lines) rowScale() vec  { return 6 }
func (l *lines) v(j int) vec    { return vec(7 + 2*j) }
func (l *lines) t(j int) vec    { return vec(8 + 2*j) }
func (l *lines) width() int     { return l.lanes() * float32Size }

// narrow stores vector j of float32 as bytes.
func (l *lines) narrow(j int) {
	narrowed(l, lineAtOut, j*l.lanes(), l.v(j), l.low(), l.high(), l.zeroPoint(), l.t(j))
}

// narrowed bounds and rounds a vector of float32, adds the zero point and stores it as bytes; v and t are changed.
func narrowed(m integers, p ptr, off int, v, low, high, zero, t vec) {
	m.bound(v, low, high)
	m.toInt(v, v)
	m.intArith('+', v, v, zero)
	m.storeBytes(p, off, v, t)
}

// widen makes float32 of bytes.
func (l *lines) widen(j int, signed bool) {
	l.loadBytes(l.v(j), lineAtX, j*l.lanes(), signed)
	l.toFloat(l.v(j), l.v(j))
	l.arith('-', l.v(j), l.v(j), l.offset())
	l.arith('*', l.v(j), l.v(j), l.factor())
	l.store(lineAtOut, j*l.width(), l.v(j))
}

// scaled is a vector of sums without the row's zero point, times the scales.
func (l *lines) scaled(j int) {
	l.load(l.v(j), lineAtX, j*l.width())
	l.load(l.t(j), lineAtA, j*l.width())
	l.mulInts(l.t(j), l.t(j), l.rowZero())
	l.intArith('-', l.v(j), l.v(j), l.t(j))
	l.toFloat(l.v(j), l.v(j))
	l.load(l.t(j), lineAtB, j*l.width())
	l.arith('*', l.v(j), l.v(j), l.t(j))
}

func linesS8(m integers) {
	rangeS8(m)
	for i := range passes {
		l := &lines{m, &passes[i]}
		l.begin(l.name+l.tier(), "lines")
		l.write()
		l.end()
	}
}

func (l *lines) write() {
	for v, off := range []int{linesLow, linesHigh, linesScale, linesZero, linesOffset} {
		l.broadcast(vec(v), args, off)
	}
	l.get(lineRowX, args, linesX)
	l.get(lineRowOut, args, linesOut)
	l.get(lineRow, args, linesRow)
	l.get(lineRows, args, linesRows)
	l.label("row")
	if l.row {
		l.broadcast(l.rowZero(), lineRow, rowZero)
		l.broadcast(l.rowScale(), lineRow, rowScale)
		l.add(lineRow, rowSize)
	}
	l.rewind()
	l.get(lineCount, args, linesBlocks)
	stream(l, lineCount, l.unroll, "", l.steps)
	l.get(lineCount, args, linesTail)
	l.ifZero(lineCount, "next")
	l.rewind()
	l.skip(lineAtX, l.from)
	l.skip(lineAtOut, l.to)
	for p := range l.operands {
		l.skip(lineAtA+ptr(p), float32Size)
	}
	l.emit(l, 0)
	l.label("next")
	l.get(lineCount, args, linesXStride)
	l.addPtr(lineRowX, lineCount)
	l.get(lineCount, args, linesOutStride)
	l.addPtr(lineRowOut, lineCount)
	l.more(lineRows, "row")
}

// rewind goes to the first element of the row.
func (l *lines) rewind() {
	l.move(lineAtX, lineRowX)
	l.move(lineAtOut, lineRowOut)
	for p := range l.operands {
		l.get(lineAtA+ptr(p), args, linesOperands[p])
	}
}

// skip moves p by as many elements as lineCount says.
func (l *lines) skip(p ptr, size int) {
	for range size {
		l.addPtr(p, lineCount)
	}
}

// steps computes n vectors.
func (l *lines) steps(n int) {
	for j := range n {
		l.emit(l, j)
	}
	l.add(lineAtX, n*l.lanes()*l.from)
	l.add(lineAtOut, n*l.lanes()*l.to)
	for p := range l.operands {
		l.add(lineAtA+ptr(p), n*l.width())
	}
}
