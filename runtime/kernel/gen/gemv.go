package main

import "bytes"

// The integer registers of a product of a matrix and a vector, in the order of the fields of kernel.gemv.
const (
	gemvA = args + 1 + iota
	gemvStride
	gemvX
	gemvOut
	gemvDepth
	gemvBlocks
	gemvRows // and those behind it
)

// Where the fields of kernel.gemv lie that a kernel reads more than once.
const (
	gemvXAt     = 2 * pointerSize
	gemvDepthAt = 4 * pointerSize
)

// gemvHeight is how many rows a product of a matrix and a vector takes at a time, and how many vectors of columns, but gemvWidth
// columns at most, that of a transposed one.
const (
	gemvHeight = 8
	gemvWidth  = 64
)

// gemvF32 writes the products of a matrix, and of a transposed one, with a vector.
func gemvF32(m machine) {
	gemvRowsF32(m)
	gemvColumnsF32(m, "Wide", min(gemvWidth/m.lanes(), gemvHeight))
	gemvColumnsF32(m, "One", 1)
}

// gemvRowsF32 writes sums of rows times the vector.
func gemvRowsF32(m machine) {
	const x, t = vec(gemvHeight), vec(gemvHeight + 1)
	beginGemv(m, "gemvRows", gemvBlocks)
	m.label("block")
	for r := range gemvHeight {
		m.bitwise('^', vec(r), vec(r), vec(r))
	}
	m.get(gemvX, args, gemvXAt)
	m.get(gemvDepth, args, gemvDepthAt)
	rows := m.rows(gemvA, gemvStride, gemvHeight, gemvRows)
	m.label("vector")
	m.load(x, gemvX, 0)
	for r := range gemvHeight {
		rows.load(t, r, 0)
		m.fma(vec(r), x, t)
	}
	m.add(gemvX, m.lanes()*float32Size)
	rows.advance(m.lanes() * float32Size)
	m.more(gemvDepth, "vector")
	for n := m.lanes() / 2; n > 0; n /= 2 {
		m.beside(gemvHeight, func(r int) {
			m.swapLanes(x+vec(r), vec(r), n)
			m.arith('+', vec(r), vec(r), x+vec(r))
		})
	}
	for r := range gemvHeight {
		m.storeFirst(gemvOut, r*float32Size, vec(r))
	}
	m.add(gemvOut, gemvHeight*float32Size)
	m.add(gemvBlocks, -1)
	m.ifZero(gemvBlocks, "end")
	m.get(gemvA, args, 0)
	m.set(gemvRows, gemvStride, 2)
	for range gemvHeight / 2 {
		m.addPtr(gemvA, gemvRows)
	}
	m.put(args, 0, gemvA) // which lies in the matrix: the garbage collector sees it
	m.jump("block")
	m.label("end")
	m.end()
}

// gemvColumnsF32 writes the sums of rows, each times an element of the vector, for nv vectors of columns.
func gemvColumnsF32(m machine, name string, nv int) {
	x, t := vec(nv), vec(nv+1)
	beginGemv(m, "gemvColumns"+name, gemvDepth)
	for j := range nv {
		m.load(vec(j), gemvOut, j*m.lanes()*float32Size)
	}
	m.label("row")
	m.broadcast(x, gemvX, 0)
	for j := range nv {
		m.load(t, gemvA, j*m.lanes()*float32Size)
		m.fma(vec(j), t, x)
	}
	m.add(gemvX, float32Size)
	m.addPtr(gemvA, gemvStride)
	m.more(gemvDepth, "row")
	for j := range nv {
		m.store(gemvOut, j*m.lanes()*float32Size, vec(j))
	}
	m.end()
}

// beginGemv begins a kernel and gets the registers up to the last.
func beginGemv(m machine, name string, last ptr) {
	m.begin(name+"F32"+m.tier(), "gemv")
	for p := gemvA; p <= last; p++ {
		m.get(p, args, int(p-gemvA)*pointerSize)
	}
}

// gemvGo writes the function that calls these kernels.
func gemvGo(b *bytes.Buffer, arch string) {
	runsGo(b, arch, "gemv", "rows", "multiplies a matrix", "gemvRowsF32")
	runsGo(b, arch, "gemv", "wide", "multiplies many columns of a transposed matrix", "gemvColumnsWideF32")
	runsGo(b, arch, "gemv", "narrow", "multiplies a vector of columns of a transposed matrix", "gemvColumnsOneF32")
}
