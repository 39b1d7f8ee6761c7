package main

import (
	"bytes"
	"fmt"
)

// nibbles is a machine with products of int8 and weights of 4 bits.
type nibbles interface {
	integers
	// constants is how many vectors of kernel.TileS4.masks unpack and dotNibbles need, in registers from consts on.
	constants() int
	// unpack loads weights of 4 bits, two groups of 4 for each lane: even gets the low halves of bytes and odd the high ones, as
	// int8, or 16 times that where sixteen says so.
	unpack(even, odd vec, p ptr, off int, consts vec)
	sixteen() bool
	// dotNibbles adds the 4 products of each lane to acc; t is changed.
	dotNibbles(acc, x, w, t, consts vec)
}

// tileS4 writes a tile of mr rows and nv vectors of columns of a product of integers with weights of 4 bits.
type tileS4 struct {
	nibbles
	mr, nv int
	left   rows
}

// Where the fields of kernel.TileS4 lie.
const (
	s4Left         = 0
	s4Stride       = 8
	s4Panel        = 16
	s4Out          = 24
	s4OutStride    = 32
	s4Pairs        = 40
	s4Blocks       = 48
	s4Params       = 56
	s4ColumnScales = 64
	s4Bias         = 72
	s4Low          = 80
	s4High         = 84
	s4Masks        = 88

	rowZero  = 0 // in a kernel.DynamicRow
	rowScale = 4
	rowSize  = 8
)

// The integer registers of a tile of weights of 4 bits.
const (
	nibblePanel ptr = args + 1 + iota
	nibblePairs
	nibbleBlocks
	nibbleParams
	nibbleStride
	nibbleLeft
	nibbleFree

	nibbleOut     = nibblePanel // once the sums are made
	nibbleColumns = nibblePairs
	nibbleBias    = nibbleBlocks
)

// gemmS4 writes the tiles of 1 to mr rows and nv vectors.
func gemmS4(m nibbles, mr, nv int) {
	for n := 1; n <= mr; n++ {
		g := &tileS4{nibbles: m, mr: n, nv: nv}
		g.begin(rowsName("gemmS4", m, n), "TileS4")
		g.sum()
		g.finish()
		g.end()
	}
}

// total is the sum of all blocks of row r and vector j in float32, acc that of a block in integers.
func (g *tileS4) total(r, j int) vec { return vec(r*g.nv + j) }
func (g *tileS4) acc(r, j int) vec {
	return vec(g.mr*g.nv + (r*g.nv+j)*g.nibbles.sums())
}

// temp are registers behind the sums: two of weights, a factor, and one that is changed.
func (g *tileS4) temp(i int) vec { return vec(g.mr*g.nv*(1+g.nibbles.sums()) + i) }
func (g *tileS4) consts() vec    { return g.temp(4) }
func (g *tileS4) width() int     { return g.lanes() * float32Size }

// sum adds up all blocks.
func (g *tileS4) sum() {
	for i := range g.mr * g.nv {
		g.bitwise('^', vec(i), vec(i), vec(i))
	}
	for i := range g.nibbles.constants() {
		g.broadcast(g.consts()+vec(i), args, s4Masks+i*4)
	}
	g.get(nibbleLeft, args, s4Left)
	g.get(nibbleStride, args, s4Stride)
	g.left = g.rows(nibbleLeft, nibbleStride, g.mr, nibbleFree)
	g.get(nibblePanel, args, s4Panel)
	g.get(nibbleBlocks, args, s4Blocks)
	g.get(nibbleParams, args, s4Params)
	g.label("block")
	for i := g.mr * g.nv; vec(i) < g.temp(0); i++ {
		g.bitwise('^', vec(i), vec(i), vec(i))
	}
	g.get(nibblePairs, args, s4Pairs)
	stream(g, nibblePairs, unroll, "", g.steps)
	g.block()
	g.more(nibbleBlocks, "block")
	g.zeros()
}

// steps adds the products of n pairs of groups. Where registers hold the weights of all vectors, elements of the left factor are read once.
func (g *tileS4) steps(n int) {
	x, t := g.temp(2), g.temp(3)
	free := g.consts() + vec(g.nibbles.constants())
	together := int(free)+2*(g.nv-1) <= g.vectors()
	weights := func(j, k int) vec {
		if j > 0 && together {
			return free + vec(2*(j-1)+k)
		}
		return g.temp(k)
	}
	dots := func(s, from, to int) {
		for k := range 2 {
			for r := range g.mr {
				g.left.broadcast(x, r, (2*s+k)*groupBytes)
				for j := from; j < to; j++ {
					g.dotNibbles(g.acc(r, j), x, weights(j, k), t, g.consts())
				}
			}
		}
	}
	for s := range n {
		for j := range g.nv {
			at := (s*g.nv + j) * g.width()
			soon(g, nibblePanel, at, g.mr)
			g.unpack(weights(j, 0), weights(j, 1), nibblePanel, at, g.consts())
			if !together {
				dots(s, j, j+1)
			}
		}
		if together {
			dots(s, 0, g.nv)
		}
	}
	g.left.advance(2 * n * groupBytes)
	g.add(nibblePanel, n*g.nv*g.width())
}

// block adds the sums of a block times its scales.
func (g *tileS4) block() {
	scale := g.temp(0)
	for j := range g.nv {
		g.load(scale, nibblePanel, j*g.width())
		for r := range g.mr {
			g.fold(g.acc(r, j))
			g.toFloat(g.acc(r, j), g.acc(r, j))
			g.fma(g.total(r, j), g.acc(r, j), scale)
		}
	}
	g.add(nibblePanel, g.nv*g.width())
}

// zeros adds what the zero points of rows make of the sums of weights.
func (g *tileS4) zeros() {
	sums, zero := g.temp(0), g.temp(1)
	for j := range g.nv {
		g.load(sums, nibblePanel, j*g.width())
		for r := range g.mr {
			g.broadcast(zero, nibbleParams, r*rowSize+rowZero)
			g.fma(g.total(r, j), sums, zero)
		}
	}
}

// finish scales the sums, adds the bias, bounds and stores.
func (g *tileS4) finish() {
	columns, bias, low, high := g.temp(0), g.temp(1), g.temp(2), g.temp(3)
	scale := g.acc(0, 0)
	g.broadcast(low, args, s4Low)
	g.broadcast(high, args, s4High)
	g.get(nibbleOut, args, s4Out)
	g.get(nibbleStride, args, s4OutStride)
	rows := g.rows(nibbleOut, nibbleStride, g.mr, nibbleLeft)
	g.get(nibbleColumns, args, s4ColumnScales)
	g.get(nibbleBias, args, s4Bias)
	for j := range g.nv {
		g.load(columns, nibbleColumns, j*g.width())
		g.load(bias, nibbleBias, j*g.width())
		for r := range g.mr {
			v := g.total(r, j)
			g.broadcast(scale, nibbleParams, r*rowSize+rowScale)
			g.arith('*', v, v, columns)
			g.arith('*', v, v, scale)
			g.arith('+', v, v, bias)
			g.bound(v, low, high)
			rows.store(r, j*g.width(), v)
		}
	}
}

// gemmS4Go writes the table of tiles of weights of 4 bits, and the method that computes one.
func gemmS4Go(b *bytes.Buffer, tiers []integersTier) {
	b.WriteString("\n// gemmsS4 are the tiles of weights of 4 bits of this architecture.\nvar gemmsS4 = []GemmS4{\n")
	for _, t := range tiers {
		m := t.m.(nibbles)
		fmt.Fprintf(b, "{Rows: %d, Cols: %d, sixteen: %t, flips: %t, tier: %s},\n", t.rowsS4, t.nv*m.lanes(), m.sixteen(), m.arch() == "amd64", m.tier())
	}
	b.WriteString("}\n\n// run has a frame of its own, like Gemm.Run.\n//\n//go:noinline\nfunc (g *GemmS4) run(t *TileS4, rows int) {\n")
	if len(tiers) > 0 {
		b.WriteString("switch g.tier {\n")
	}
	for _, t := range tiers {
		fmt.Fprintf(b, "case %s:\nswitch rows {\n", t.m.tier())
		for n := 1; n <= t.rowsS4; n++ {
			fmt.Fprintf(b, "case %d:\n%s(t)\n", n, rowsName("gemmS4", t.m, n))
		}
		b.WriteString("}\n")
	}
	if len(tiers) > 0 {
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}

func (m *x86) sixteen() bool { return m.vnni }

func (m *x86) constants() int {
	if m.vnni {
		return 1
	}
	return 3
}

func (m *x86) unpack(even, odd vec, p ptr, off int, consts vec) {
	m.load(odd, p, off)
	if m.vnni {
		m.shift('<', even, odd, 4)
		m.bitwise('&', even, even, consts)
		m.bitwise('&', odd, odd, consts)
		return
	}
	m.bitwise('&', even, odd, consts)
	m.subBytes(even, even, consts+1)
	m.shift('>', odd, odd, 4)
	m.bitwise('&', odd, odd, consts)
	m.subBytes(odd, odd, consts+1)
}

// dotNibbles: the sum of two products of an uint8 and a weight of 4 bits fits int16.
func (m *x86) dotNibbles(acc, x, w, t, consts vec) {
	if m.vnni {
		m.dot(acc, x, w, t)
		return
	}
	m.line("VPMADDUBSW %s, %s, %s", m.v(w), m.v(x), m.v(t))
	m.line("VPMADDWD %s, %s, %[2]s", m.v(consts+2), m.v(t))
	m.intArith('+', acc, acc, t)
}

func (m *neon) sixteen() bool  { return true }
func (m *neon) constants() int { return 1 }

func (m *neon) unpack(even, odd vec, p ptr, off int, consts vec) {
	m.load(odd, p, off)
	m.line("VSHL $4, %s.B16, %s.B16", m.v(odd), m.v(even))
	m.bitwise('&', odd, odd, consts)
}

func (m *neon) dotNibbles(acc, x, w, t, _ vec) {
	if m.dots {
		m.dot(acc, x, w, t)
		return
	}
	m.word("SMULL", 0x0e20c000, t, w, x)
	m.code("SADALP 4S", 0x4e606800, acc, t)
	m.word("SMULL2", 0x4e20c000, t, w, x)
	m.code("SADALP 4S", 0x4e606800, acc+1, t)
}
