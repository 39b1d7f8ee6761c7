package main

import "bytes"

// The integer registers of a cell, beside lineTable; see cell in package kernel for what they hold.
const (
	cellA     = args + 1 // where a gate's next vector lies, from its first number on
	cellB     = args + 2
	cellState = args + 3
	cellFrom  = args + 4
	cellRows  = args + 6
	cellLeft  = args + 7
	cellStep  = args + 8
)

// Where the fields of kernel.cell lie.
const (
	cellAAt       = 0
	cellBAt       = 32
	cellStateAt   = 64
	cellHiddenAt  = 72
	cellNextAt    = 80
	cellTableAt   = 88
	cellFirstAt   = 96
	cellBFirstAt  = 104
	cellVectorsAt = 112
	cellRowsAt    = 120
	cellAGapAt    = 128
	cellBGapAt    = 136
	cellGapAt     = 144
	cellBStepAt   = 152
)

// cells writes the cells of recurrent networks.
type cells struct{ maps }

// cellSigmoids is the first vector of the gates that have a sigmoid; those before it are of the tanh.
const cellSigmoids = 4

// cellsF32 writes the cells of an LSTM and of a GRU, vector by vector, with the arithmetic of the functions they are made of.
func cellsF32(m machine) {
	g := cells{maps{m}}
	g.cell("lstm", g.lstm)
	g.cell("gru", g.gru)
}

// cell writes a loop over rows and their vectors around body.
func (g cells) cell(name string, body func()) {
	g.begin(name+"F32"+g.tier(), "cell")
	g.get(lineTable, args, cellTableAt)
	g.get(cellRows, args, cellRowsAt)
	g.get(cellA, args, cellFirstAt)
	g.get(cellB, args, cellBFirstAt)
	g.get(cellState, args, cellFirstAt)
	g.label("row")
	g.get(cellLeft, args, cellVectorsAt)
	g.label("vector")
	body()
	width := g.lanes() * float32Size
	g.get(cellStep, args, cellBStepAt)
	g.addPtr(cellB, cellStep)
	g.add(cellA, width)
	g.add(cellState, width)
	g.more(cellLeft, "vector")
	for _, gap := range []struct {
		of ptr
		at int
	}{{cellA, cellAGapAt}, {cellB, cellBGapAt}, {cellState, cellGapAt}} {
		g.get(cellStep, args, gap.at)
		g.addPtr(gap.of, cellStep)
	}
	g.more(cellRows, "row")
	g.end()
}

// lstm computes a vector of an LSTM's cell, whose gates are those of input, forget and output, and the candidate.
func (g cells) lstm() {
	const candidate, state = 0, 1
	input, forget, output := g.sigmoids(0)[0], g.sigmoids(1)[0], g.sigmoids(2)[0]
	g.open(3)
	g.sum(candidate, state, 3)
	g.tanh(g.tanhs())
	g.old(state)
	g.arith('*', forget, forget, state)
	g.arith('*', input, input, candidate)
	g.arith('+', forget, forget, input)
	g.result(cellNextAt, forget)
	g.copy(candidate, forget)
	g.tanh(g.tanhs())
	g.arith('*', output, output, candidate)
	g.result(cellHiddenAt, output)
}

// gru computes a vector of a GRU's cell, whose gates are those of reset and update, and the new one.
func (g cells) gru() {
	const fresh, other = 0, 1
	reset, update := g.sigmoids(0)[0], g.sigmoids(1)[0]
	g.open(2)
	g.gate(fresh, cellBAt, 2, cellB)
	g.arith('*', fresh, reset, fresh)
	g.gate(other, cellAAt, 2, cellA)
	g.arith('+', fresh, other, fresh)
	g.tanh(g.tanhs())
	g.old(other)
	g.arith('-', other, other, fresh)
	g.arith('*', other, other, update)
	g.arith('+', other, other, fresh)
	g.result(cellHiddenAt, other)
}

// open computes the sigmoids of the first n gates, each in the first of its registers.
func (g cells) open(n int) {
	for k := range n {
		g.sum(g.sigmoids(k)[0], g.sigmoids(k)[1], k)
	}
	g.beside(n, func(k int) { g.sigmoid(g.sigmoids(k)) })
}

// sigmoids are the registers of the sigmoid of gate k.
func (g cells) sigmoids(k int) []vec { return registersOf(g, cellSigmoids, k, 4, 3) }

// tanhs are the registers of a tanh: the first ones, and one that sigmoids need no more.
func (g cells) tanhs() []vec { return []vec{0, 1, 2, 3, g.sigmoids(0)[1]} }

// sum loads gate k, the sum of both.
func (g cells) sum(to, other vec, k int) {
	g.gate(to, cellAAt, k, cellA)
	g.gate(other, cellBAt, k, cellB)
	g.arith('+', to, to, other)
}

// gate loads the next vector of gate k, one of those whose pointers are off bytes into the arguments.
func (g cells) gate(to vec, off, k int, index ptr) {
	g.get(cellFrom, args, off+k*pointerSize)
	g.loadAt(to, cellFrom, index, 0)
}

// old loads the next vector of the state.
func (g cells) old(to vec) {
	g.get(cellFrom, args, cellStateAt)
	g.loadAt(to, cellFrom, cellState, 0)
}

// result stores the next vector of what a cell gives.
func (g cells) result(off int, v vec) {
	g.get(cellFrom, args, off)
	g.storeAt(cellFrom, cellState, 0, v)
}

// cellsGo writes the methods that call the cells.
func cellsGo(b *bytes.Buffer, arch string) {
	runsGo(b, arch, "cell", "runLSTM", "computes an LSTM's cell", "lstmF32")
	runsGo(b, arch, "cell", "runGRU", "computes a GRU's cell", "gruF32")
}
