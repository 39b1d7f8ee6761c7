package main

import (
	"bytes"
	"fmt"
)

// The integer registers of a window of integers; see WindowS8 in package kernel for what they hold.
const (
	s8WindowStride ptr = args + 1 + iota
	s8WindowColumn     // bytes from a row's first column to the one that is read
	s8WindowOut
	s8WindowCount
	s8WindowNext
	s8WindowAt // scratch
	s8WindowRow
)

// Where the fields of kernel.WindowS8 lie.
const (
	s8WindowRowsAt        = 0
	s8WindowWeightsAt     = 40
	s8WindowStartAt       = 48
	s8WindowFactorsAt     = 56
	s8WindowOutAt         = 64
	s8WindowStrideAt      = 72
	s8WindowNextAt        = 88
	s8WindowOrderAt       = 104
	s8WindowFromAt        = 112
	s8WindowBlocksAt      = 120
	s8WindowGroupsAt      = 128
	s8WindowBackAt        = 136
	s8WindowRestAt        = 144
	s8WindowAgainAt       = 152
	s8WindowAgainOutAt    = 160
	s8WindowLeftAt        = 168
	s8WindowNextWeightsAt = 176
	s8WindowLowAt         = 184
	s8WindowHighAt        = 188
	s8WindowZeroAt        = 192
)

// windowSizesS8 are the heights and widths of windows of integers that have kernels.
var windowSizesS8 = []int{3, 5}

// groupMostS8 is how many positions a group has: a divisor of the widths that images of most models have.
const groupMostS8 = 7

// quads is a machine whose dot adds products of four bytes, for which it brings bytes of four rows together.
type quads interface {
	integers
	// quad gives lane i of v byte i of each of one to four rows, and 0 for rows that are missing. A row's bytes are at its
	// register plus column; bytes is kernel.quadBytes, and order has its first bytes, one to a lane.
	quad(v vec, rows []ptr, column ptr, order, bytes vec)
}

// windowInts writes a depthwise convolution of integers with the weights of a vector of channels in registers. A column of the
// image is brought together once, and multiplied with the weights of all columns of the window that see it.
type windowInts struct {
	quads
	size, step int
}

func windowS8(m quads) {
	for _, size := range windowSizesS8 {
		for _, step := range windowSteps {
			(&windowInts{m, size, step}).write()
		}
	}
}

func (w *windowInts) name() string { return fmt.Sprintf("window%dBy%dS8%s", w.size, w.step, w.tier()) }

// quadsOf is how many quads a column of the window has.
func (w *windowInts) quadsOf() int { return (w.size + groupBytes - 1) / groupBytes }

func (w *windowInts) weight(q, j int) vec { return vec(q*w.size + j) }
func (w *windowInts) start() vec          { return vec(w.quadsOf() * w.size) }
func (w *windowInts) factor() vec         { return w.start() + 1 }
func (w *windowInts) low() vec            { return w.start() + 2 }
func (w *windowInts) high() vec           { return w.start() + 3 }
func (w *windowInts) zero() vec           { return w.start() + 4 }
func (w *windowInts) order() vec          { return w.start() + 5 }
func (w *windowInts) bytes() vec          { return w.start() + 6 }
func (w *windowInts) column() vec         { return w.start() + 7 }
func (w *windowInts) sum(p int) vec       { return w.start() + 8 + vec(p) }
func (w *windowInts) width() int          { return w.lanes() * float32Size }

// rowsOf are the registers of the rows of quad q.
func (w *windowInts) rowsOf(q int) (rows []ptr) {
	for i := q * groupBytes; i < min(w.size, (q+1)*groupBytes); i++ {
		rows = append(rows, s8WindowRow+ptr(i))
	}
	return rows
}

func (w *windowInts) write() {
	w.begin(w.name(), "WindowS8")
	w.broadcast(w.low(), args, s8WindowLowAt)
	w.broadcast(w.high(), args, s8WindowHighAt)
	w.broadcast(w.zero(), args, s8WindowZeroAt)
	w.get(s8WindowAt, args, s8WindowOrderAt)
	w.load(w.bytes(), s8WindowAt, 0)
	w.loadBytes(w.order(), s8WindowAt, 0, false)
	w.get(s8WindowStride, args, s8WindowStrideAt)
	w.get(s8WindowNext, args, s8WindowNextAt)
	for i := range w.size {
		w.get(s8WindowRow+ptr(i), args, s8WindowRowsAt+i*pointerSize)
	}
	w.label("block")
	w.loadWeights()
	w.get(s8WindowOut, args, s8WindowOutAt)
	w.addPtr(s8WindowOut, s8WindowColumn)
	w.get(s8WindowAt, args, s8WindowAgainAt)
	w.put(args, s8WindowLeftAt, s8WindowAt)
	w.get(s8WindowCount, args, s8WindowGroupsAt)
	w.ifZero(s8WindowCount, "rest")
	w.label("positions")
	w.positions(groupMostS8)
	w.more(s8WindowCount, "positions")
	groupAgain(w, s8WindowAt, s8WindowCount, s8WindowColumn, s8WindowOut, s8WindowLeftAt, s8WindowAgainOutAt)
	w.label("rest")
	w.get(s8WindowCount, args, s8WindowRestAt)
	w.ifZero(s8WindowCount, "next")
	w.label("position")
	w.positions(1)
	w.more(s8WindowCount, "position")
	w.label("next")
	w.get(s8WindowColumn, args, s8WindowFromAt)
	w.add(s8WindowColumn, w.lanes())
	w.put(args, s8WindowFromAt, s8WindowColumn)
	endLoop(w, s8WindowCount, s8WindowBlocksAt, "block")
}

// loadWeights loads what a block of channels needs; s8WindowColumn is the block's place afterwards.
func (w *windowInts) loadWeights() {
	w.get(s8WindowAt, args, s8WindowWeightsAt)
	w.get(s8WindowCount, args, s8WindowNextWeightsAt)
	w.addPtr(s8WindowAt, s8WindowCount)
	w.add(s8WindowCount, int(w.start())*w.width())
	w.put(args, s8WindowNextWeightsAt, s8WindowCount)
	for i := range int(w.start()) {
		w.load(vec(i), s8WindowAt, i*w.width())
	}
	w.get(s8WindowColumn, args, s8WindowFromAt)
	w.set(s8WindowCount, s8WindowColumn, 2)
	w.addPtr(s8WindowCount, s8WindowCount)
	w.get(s8WindowAt, args, s8WindowStartAt)
	w.loadAt(w.start(), s8WindowAt, s8WindowCount, 0)
	w.get(s8WindowAt, args, s8WindowFactorsAt)
	w.loadAt(w.factor(), s8WindowAt, s8WindowCount, 0)
}

// positions computes n positions, column by column.
func (w *windowInts) positions(n int) {
	for p := range n {
		w.copy(w.sum(p), w.start())
	}
	for c := range (n-1)*w.step + w.size {
		if c > 0 {
			w.addPtr(s8WindowColumn, s8WindowStride)
		}
		for q := range w.quadsOf() {
			w.quad(w.column(), w.rowsOf(q), s8WindowColumn, w.order(), w.bytes())
			for p := range n {
				if j := c - p*w.step; j >= 0 && j < w.size {
					w.dot(w.sum(p), w.column(), w.weight(q, j), w.column())
				}
			}
		}
	}
	w.get(s8WindowAt, args, s8WindowBackAt)
	w.addPtr(s8WindowColumn, s8WindowAt)
	for p := range n {
		w.finish(w.sum(p))
	}
}

// finish requantizes and stores the sums of a position.
func (w *windowInts) finish(sum vec) {
	w.toFloat(sum, sum)
	w.arith('*', sum, sum, w.factor())
	narrowed(w, s8WindowOut, 0, sum, w.low(), w.high(), w.zero(), w.column())
	w.addPtr(s8WindowOut, s8WindowNext)
}

// windowsS8Go writes the method that calls the windows of integers, and how many positions they compute together.
func windowsS8Go(b *bytes.Buffer, tiers []integersTier) {
	fmt.Fprintf(b, "\n// windowGroupS8 is how many positions a kernel of t computes together; 0 if there is no kernel.\nfunc windowGroupS8(t Tier, size int) int {\n")
	eachWindowS8(b, tiers, func(*windowInts) { fmt.Fprintf(b, "return %d\n", groupMostS8) })
	b.WriteString("return 0\n}\n\n// run calls a kernel; like Gemm.Run it has a frame of its own.\n//\n//go:noinline\nfunc (w *WindowS8) run(t Tier, size, by int) {\n")
	eachWindowS8(b, tiers, func(w *windowInts) {
		two := windowInts{w.quads, w.size, 2}
		fmt.Fprintf(b, "if by == 2 {\n%s(w)\n} else {\n%s(w)\n}\n", two.name(), w.name())
	})
	b.WriteString("}\n")
}

// eachWindowS8 writes a choice among the windows of some tiers.
func eachWindowS8(b *bytes.Buffer, tiers []integersTier, f func(w *windowInts)) {
	for _, t := range tiers {
		fmt.Fprintf(b, "if t == %s {\nswitch size {\n", t.m.tier())
		for _, size := range windowSizesS8 {
			fmt.Fprintf(b, "case %d:\n", size)
			f(&windowInts{t.m.(quads), size, 1})
		}
		b.WriteString("}\n}\n")
	}
}
