package main

import "bytes"

// The integer registers of Winograd's transforms; see winogradArgs in package kernel for what they hold.
const (
	winogradRow = args + 1        // and three more
	winogradAt  = args + 4 + iota // bytes from the rows to the vectors
	winogradStep
	winogradBack
	winogradTo
	winogradBeside
	winogradBlocks
)

// Where the fields of kernel.winogradArgs lie.
const (
	winogradRowsAt   = 0
	winogradStepAt   = 32
	winogradBackAt   = 40
	winogradNextAt   = 48
	winogradOutAt    = 56
	winogradLowerAt  = 64
	winogradBesideAt = 72
	winogradAfterAt  = 80
	winogradFromAt   = 88
	winogradBlocksAt = 96
	winogradTilesAt  = 104
	winogradLowAt    = 112
	winogradHighAt   = 116
	winogradSixthAt  = winogradLowAt
	winogradHalfAt   = winogradHighAt
	winogradOddAt    = 120
)

// winograds writes the transforms of F(2x2, 3x3): of 3x3 weights, of the inputs of tiles with 4x4 elements, and of their 16
// products; and those of F(3, 3): of 3 weights, of 5 inputs and of 5 products.
type winograds struct{ machine }

func winogradF32(m machine) {
	w := &winograds{m}
	w.write("winogradWeightsF32", w.weights, func() { w.broadcast(winogradHalf, args, winogradHalfAt) }, nil)
	w.write("winogradInF32", w.input, nil, nil)
	w.write("winogradLineWeightsF32", w.lineWeights, func() {
		w.broadcast(winogradHalf, args, winogradHalfAt)
		w.broadcast(winogradSixth, args, winogradSixthAt)
	}, nil)
	w.write("winogradLineInF32", w.lineInput, nil, nil)
	bounds := func() {
		w.broadcast(winogradLow, args, winogradLowAt)
		w.broadcast(winogradHigh, args, winogradHighAt)
		w.bitwise('^', winogradZero, winogradZero, winogradZero)
		w.load(winogradOdd, args, winogradOddAt)
	}
	odd := func() { w.store(args, winogradOddAt, winogradOdd) }
	w.write("winogradOutF32", w.output, bounds, odd)
	w.write("winogradLineOutF32", w.lineOutput, bounds, odd)
}

func (w *winograds) width() int { return w.lanes() * float32Size }

// write writes the loops over tiles and over the vectors of their channels around block. The pointers that it keeps in the arguments, where the
// garbage collector sees them, never leave the tiles: what lies behind a tensor may be free.
func (w *winograds) write(name string, block, first, last func()) {
	w.begin(name+w.tier(), "winogradArgs")
	for i := range ptr(4) {
		w.get(winogradRow+i, args, winogradRowsAt+int(i)*pointerSize)
	}
	w.get(winogradStep, args, winogradStepAt)
	w.get(winogradBack, args, winogradBackAt)
	w.get(winogradBeside, args, winogradBesideAt)
	if first != nil {
		first()
	}
	w.label("tile")
	w.get(winogradAt, args, winogradFromAt)
	w.get(winogradBlocks, args, winogradBlocksAt)
	w.label("block")
	block()
	w.add(winogradAt, w.width())
	w.more(winogradBlocks, "block")
	w.get(winogradTo, args, winogradTilesAt)
	w.add(winogradTo, -1)
	w.put(args, winogradTilesAt, winogradTo)
	w.ifZero(winogradTo, "done")
	w.get(winogradTo, args, winogradNextAt)
	for i := range ptr(4) {
		w.addPtr(winogradRow+i, winogradTo)
	}
	w.get(winogradBlocks, args, winogradAfterAt)
	for _, out := range []int{winogradOutAt, winogradLowerAt} {
		w.get(winogradTo, args, out)
		w.addPtr(winogradTo, winogradBlocks)
		w.put(args, out, winogradTo)
	}
	w.jump("tile")
	w.label("done")
	if last != nil {
		last()
	}
	w.end()
}

// element loads the vector of row i at the column of winogradAt.
func (w *winograds) element(v vec, i int) { w.loadAt(v, winogradRow+ptr(i), winogradAt, 0) }

// columns emits what each of n columns takes, and comes back to the first.
func (w *winograds) columns(n vec, emit func(j vec)) {
	for j := range n {
		emit(j)
		w.addPtr(winogradAt, winogradStep)
	}
	w.addPtr(winogradAt, winogradBack)
}

// The vector registers of weights beside the sums and what they are made of.
const (
	winogradHalf vec = 9 + iota
	winogradSixth
)

// weights computes G·g·Gᵀ, two rows at a time.
func (w *winograds) weights() {
	const b, d, t = 6, 7, 8
	w.toOut(winogradOutAt)
	for _, op := range []byte{'+', '-'} {
		whole, halves := vec(0), vec(3) // (1, 0, 0) and (1/2, 1/2, 1/2), then (1/2, -1/2, 1/2) and (0, 0, 1)
		if op == '-' {
			whole, halves = halves, whole
		}
		w.columns(3, func(j vec) {
			w.element(halves+j, 0)
			w.element(b, 1)
			w.element(d, 2)
			if op == '+' {
				w.copy(whole+j, halves+j)
			} else {
				w.copy(whole+j, d)
			}
			w.half(op, halves+j, b, d)
		})
		for r := vec(0); r < 6; r += 3 {
			w.plane(r)
			for _, op := range []byte{'+', '-'} {
				w.copy(t, r)
				w.half(op, t, r+1, r+2)
				w.plane(t)
			}
			w.plane(r + 2)
		}
	}
}

// half computes a = (a op b + d)/2.
func (w *winograds) half(op byte, a, b, d vec) {
	w.arith('+', a, a, d)
	w.arith(op, a, a, b)
	w.arith('*', a, a, winogradHalf)
}

// plane stores v, and goes to the next plane.
func (w *winograds) plane(v vec) {
	w.store(winogradTo, 0, v)
	w.addPtr(winogradTo, winogradBeside)
}

// input computes Bᵀ·d·B, two rows at a time.
func (w *winograds) input() {
	const d0, d1, d2, t = 8, 9, 10, 11
	w.toOut(winogradOutAt)
	for half := range 2 {
		w.columns(4, func(j vec) {
			w.element(d0, half)
			w.element(d1, half+1)
			w.element(d2, half+2)
			if half == 0 {
				w.arith('-', j, d0, d2)
				w.arith('+', j+4, d1, d2)
			} else {
				w.arith('-', j, d1, d0)
				w.arith('-', j+4, d0, d2)
			}
		})
		for r := vec(0); r < 8; r += 4 {
			for _, x := range []struct {
				op   byte
				a, b vec
			}{{'-', 0, 2}, {'+', 1, 2}, {'-', 2, 1}, {'-', 1, 3}} {
				w.arith(x.op, t, r+x.a, r+x.b)
				w.plane(t)
			}
		}
	}
}

// The vector registers of output beside the sums.
const (
	winogradLow vec = 10 + iota
	winogradHigh
	winogradZero
	winogradOdd
)

// output computes Aᵀ·m·A, clamped, and makes winogradOdd NaN where a result is not finite.
func (w *winograds) output() {
	const a, b = 8, 9
	w.columns(4, func(j vec) {
		w.element(j, 0)
		w.element(a, 1)
		w.element(b, 2)
		w.arith('+', j, j, a)
		w.arith('+', j, j, b)
		w.arith('-', j+4, a, b)
		w.element(a, 3)
		w.arith('-', j+4, j+4, a)
	})
	for i, out := range []int{winogradOutAt, winogradLowerAt} {
		r := vec(4 * i)
		w.toOut(out)
		w.arith('+', a, r, r+1)
		w.arith('+', a, a, r+2)
		w.arith('-', b, r+1, r+2)
		w.arith('-', b, b, r+3)
		for _, y := range []vec{a, b} {
			w.fma(winogradOdd, y, winogradZero)
			w.clamp(y, winogradLow, winogradHigh)
			w.plane(y)
		}
	}
}

// toOut goes to the vectors of a tile's results, or of its first plane.
func (w *winograds) toOut(out int) {
	w.get(winogradTo, args, out)
	w.addPtr(winogradTo, winogradAt)
}

// lineWeights computes G·g of F(3, 3).
func (w *winograds) lineWeights() {
	const a, b, c, s, t = 0, 1, 2, 3, 4
	w.columns(3, func(j vec) { w.element(j, 0) })
	w.toOut(winogradOutAt)
	w.arith('*', t, a, winogradHalf)
	w.plane(t)
	w.arith('+', s, a, c)
	w.arith('+', t, s, b)
	w.arith('*', t, t, winogradHalf)
	w.plane(t)
	w.arith('-', t, s, b)
	w.arith('*', t, t, winogradSixth)
	w.plane(t)
	w.arith('+', t, c, c) // a + 2b + 4c = a + 2(b + 2c)
	w.arith('+', t, t, b)
	w.arith('+', t, t, t)
	w.arith('+', t, t, a)
	w.arith('*', t, t, winogradSixth)
	w.plane(t)
	w.plane(c)
}

// lineInput computes Bᵀ·d of F(3, 3).
func (w *winograds) lineInput() {
	const d0, d1, d2, d3, d4, a, t = 0, 1, 2, 3, 4, 5, 6
	w.columns(5, func(j vec) { w.element(j, 0) })
	w.toOut(winogradOutAt)
	w.arith('-', a, d3, d1)
	w.arith('-', t, d0, d2) // 2(d0 - d2) + (d3 - d1)
	w.arith('+', t, t, t)
	w.arith('+', t, t, a)
	w.plane(t)
	w.arith('+', t, d1, d2) // (d1 + d2) - (d3 - d1)
	w.arith('-', t, t, a)
	w.plane(t)
	w.arith('-', t, d2, d1) // 2(d2 - d1) + (d2 - d3)
	w.arith('+', t, t, t)
	w.arith('-', d0, d2, d3)
	w.arith('+', t, t, d0)
	w.plane(t)
	w.plane(a)
	w.arith('-', t, d4, d2) // (d4 - d2) - 2(d3 - d1)
	w.arith('+', a, a, a)
	w.arith('-', t, t, a)
	w.plane(t)
}

// lineOutput computes Aᵀ·m of F(3, 3), clamped, and makes winogradOdd NaN where a result is not finite.
func (w *winograds) lineOutput() {
	const m0, m1, m2, m3, m4, s, d = 0, 1, 2, 3, 4, 5, 6
	w.columns(5, func(j vec) { w.element(j, 0) })
	w.toOut(winogradOutAt)
	w.arith('+', s, m1, m2)
	w.arith('-', d, m1, m2)
	w.arith('+', m0, m0, s)
	w.arith('+', m0, m0, m3)
	w.arith('+', m3, m3, m3)
	w.arith('+', d, d, m3)
	w.arith('+', m3, m3, m3)
	w.arith('+', m4, m4, s)
	w.arith('+', m4, m4, m3)
	for _, y := range []vec{m0, d, m4} {
		w.fma(winogradOdd, y, winogradZero)
		w.clamp(y, winogradLow, winogradHigh)
		w.plane(y)
	}
}

// winogradGo adds the functions that call the transforms of an architecture.
func winogradGo(b *bytes.Buffer, arch string) {
	for _, line := range []string{"", "Line"} {
		for _, f := range []struct{ name, doc string }{{"Weights", "weights"}, {"In", "the inputs of tiles"}, {"Out", "the products of tiles"}} {
			runsGo(b, arch, "winogradArgs", "run"+line+f.name, "transforms "+f.doc, "winograd"+line+f.name+"F32")
		}
	}
}
