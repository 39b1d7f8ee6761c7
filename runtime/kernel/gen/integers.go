package main

import "fmt"

// integers is a machine with instructions for integers of 8 and 32 bits. A vector has lanes of 32 bits, as it has of float32.
type integers interface {
	machine
	extremes
	// group is how many products of a column dot adds up: 4 of int8, or 2 of int16 that weights are widened to.
	// Either way a group of the left factor has 4 bytes.
	group() int
	// sums is how many registers hold the sums of a vector of columns until fold makes one of them.
	sums() int
	// flips says that dot takes the left factor as 0 to 255, 128 more than it is.
	flips() bool

	move(to, from ptr)
	clear(p ptr)

	prefetchSoon(p ptr, off int)

	// weights loads lanes groups of int8, column by column.
	weights(v vec, p ptr, off int)
	// dot adds products of groups to acc; t is changed.
	dot(acc, x, w, t vec)
	fold(acc vec)

	mulInts(to, x, y vec)
	// bound gives v at least lo and at most hi; NaN becomes lo.
	bound(v, lo, hi vec)
	// storeBytes stores the low bytes of lanes; v and t are changed.
	storeBytes(p ptr, off int, v, t vec)
	// loadBytes loads bytes, signed or not, into lanes.
	loadBytes(v vec, p ptr, off int, signed bool)
	// tap adds lanes of x times lanes of w to acc, both of which are int8 once; t is changed. The lanes of w are as
	// tapWeight in package kernel makes them.
	tap(acc, x, w, t vec)
}

// tileS8 writes a tile of mr rows and nv vectors of columns of a product of integers.
type tileS8 struct {
	integers
	mr, nv, sets int
	panel        int // vectors of columns that a panel has
	left         rows
}

// Where the fields of kernel.TileS8 lie.
const (
	s8Left      = 0
	s8Stride    = 8
	s8Panel     = 16
	s8Out       = 24
	s8OutStride = 32
	s8Depth     = 40
	s8Start     = 48
	s8Factors   = 56
	s8Low       = 64
	s8High      = 68
	s8Zero      = 72
	s8Segments  = 80
	s8Gap       = 88
)

// groupBytes is the size of a group of the left factor.
const groupBytes = 4

// gemmS8 writes the tiles of 1 to mr rows and nv vectors, and the narrow ones of one vector.
func gemmS8(m integers, mr, nv int) {
	for _, kind := range []struct {
		name string
		nv   int
	}{{"gemmS8", nv}, {"narrowS8", 1}} {
		for n := 1; n <= mr; n++ {
			g := &tileS8{integers: m, mr: n, nv: kind.nv, sets: 1, panel: nv}
			if 2*n*kind.nv*m.sums() <= 8 { // two sums for each result hide how long an instruction takes
				g.sets = 2
			}
			g.begin(rowsName(kind.name, m, n), "TileS8")
			g.sum()
			g.get(factors, args, s8Factors)
			g.ifZero(factors, "sums")
			g.requantize()
			g.jump("end")
			g.label("sums")
			g.finish()
			g.label("end")
			g.end()
		}
	}
}

// acc is the sum of row r and vector j in one of the sets.
func (g *tileS8) acc(r, j, set int) vec { return vec(((set*g.mr+r)*g.nv + j) * g.integers.sums()) }

func (g *tileS8) first() int        { return g.sets * g.mr * g.nv * g.integers.sums() }
func (g *tileS8) right(j int) vec   { return vec(g.first() + j) }
func (g *tileS8) factor() vec       { return vec(g.first() + g.nv) }
func (g *tileS8) product() vec      { return vec(g.first() + g.nv + 1) }
func (g *tileS8) width() int        { return g.lanes() * float32Size }
func (g *tileS8) weightsWidth() int { return g.lanes() * g.group() }
func (g *tileS8) everyAcc(f func(vec)) {
	for i := range g.first() {
		f(vec(i))
	}
}

// sum adds the products of all groups of all segments.
func (g *tileS8) sum() {
	g.everyAcc(func(v vec) { g.bitwise('^', v, v, v) })
	g.get(left, args, s8Left)
	g.get(stride, args, s8Stride)
	g.left = g.rows(left, stride, g.mr, free)
	g.get(panel, args, s8Panel)
	g.get(segments, args, s8Segments)
	g.get(gap, args, s8Gap)
	g.label("segment")
	g.get(depth, args, s8Depth)
	stream(g, depth, unrolled(g), "", g.steps)
	g.left.advancePtr(gap)
	g.more(segments, "segment")
	for r := range g.mr {
		for j := range g.nv {
			for s := vec(0); g.sets == 2 && s < vec(g.integers.sums()); s++ {
				g.intArith('+', g.acc(r, j, 0)+s, g.acc(r, j, 0)+s, g.acc(r, j, 1)+s)
			}
			g.fold(g.acc(r, j, 0))
		}
	}
}

// rowAhead is how many bytes before their use weights of a single row are asked for, which takes each of them once: a page, since what machines
// fetch by themselves ends with the page.
const rowAhead = 4096

// soon asks for what is at bytes into p, a panel of a tile of so many rows, if that is a single one.
func soon(m machine, p ptr, at, rows int) {
	if rows == 1 && at%cacheLine == 0 {
		m.prefetchSoon(p, at+rowAhead)
	}
}

// steps adds the products of n groups.
func (g *tileS8) steps(n int) {
	for s := range n {
		for j := range g.nv {
			at := (s*g.panel + j) * g.weightsWidth()
			soon(g, panel, at, g.mr)
			g.weights(g.right(j), panel, at)
		}
		for r := range g.mr {
			g.left.broadcast(g.factor(), r, s*groupBytes)
			for j := range g.nv {
				g.dot(g.acc(r, j, s%g.sets), g.factor(), g.right(j), g.product())
			}
		}
	}
	g.left.advance(n * groupBytes)
	g.add(panel, n*g.panel*g.weightsWidth())
}

// finish adds what the sums of columns start at and stores them.
func (g *tileS8) finish() {
	g.get(start, args, s8Start)
	g.get(out, args, s8Out)
	g.get(outStride, args, s8OutStride)
	for j := range g.nv {
		g.load(g.right(j), start, j*g.width())
	}
	rows := g.rows(out, outStride, g.mr, gap)
	for r := range g.mr {
		for j := range g.nv {
			g.intArith('+', g.acc(r, j, 0), g.acc(r, j, 0), g.right(j))
			rows.store(r, j*g.width(), g.acc(r, j, 0))
		}
	}
}

// requantize adds what the sums of columns start at and stores them as bytes.
func (g *tileS8) requantize() {
	low, high, zero, t := g.right(0), g.right(0)+1, g.right(0)+2, g.right(0)+3
	g.get(start, args, s8Start)
	g.get(out, args, s8Out)
	g.get(outStride, args, s8OutStride)
	for j := range g.nv {
		g.load(low, start, j*g.width())
		g.load(high, factors, j*g.width())
		for r := range g.mr {
			acc := g.acc(r, j, 0)
			g.intArith('+', acc, acc, low)
			g.toFloat(acc, acc)
			g.arith('*', acc, acc, high)
		}
	}
	g.broadcast(low, args, s8Low)
	g.broadcast(high, args, s8High)
	g.broadcast(zero, args, s8Zero)
	for r := range g.mr {
		for j := range g.nv {
			narrowed(g, out, j*g.lanes(), g.acc(r, j, 0), low, high, zero, t)
		}
		g.addPtr(out, outStride)
	}
}

// stream writes a loop that runs as often as the register count says: in steps of most, then of 1. Labels end with
// suffix.
func stream(m machine, count ptr, most int, suffix string, step func(n int)) {
	if most > 1 {
		m.less(count, most, "rest"+suffix)
		m.label("steps" + suffix)
		step(most)
		m.loop(count, most, "steps"+suffix)
		m.label("rest" + suffix)
		m.add(count, most)
	}
	m.less(count, 1, "done"+suffix)
	m.label("step" + suffix)
	step(1)
	m.loop(count, 1, "step"+suffix)
	m.label("done" + suffix)
}

// leftS8 writes what makes the left factor of bytes: widened, or flipped.
func leftS8(m integers) {
	m.begin("leftS8"+m.tier(), "lines")
	m.get(lineAtX, args, linesX)
	m.get(lineAtOut, args, linesOut)
	m.get(lineCount, args, linesBlocks)
	mask, in := vec(unroll), m.lanes()*m.group()
	if m.flips() {
		m.broadcast(mask, args, linesZero)
	}
	stream(m, lineCount, unroll, "", func(n int) {
		for j := range n {
			if m.weights(vec(j), lineAtX, j*in); m.flips() {
				m.bitwise('^', vec(j), vec(j), mask)
			}
			m.store(lineAtOut, j*m.lanes()*float32Size, vec(j))
		}
		m.add(lineAtX, n*in)
		m.add(lineAtOut, n*m.lanes()*float32Size)
	})
	m.end()
}

// rowsName is the name of a function of n rows.
func rowsName(name string, m machine, n int) string { return fmt.Sprintf("%s%sx%d", name, m.tier(), n) }
