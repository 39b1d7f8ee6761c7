package kernel

import (
	"math"
	"unsafe"
)

// Winograd transforms tiles of a convolution with channels innermost for Winograd's algorithms F(2x2, 3x3) and F(3, 3): the inputs of a
// tile become planes, whose products with as many matrices become its results. By Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks" (2015), with d and g the inputs and weights of a channel:
//
//	Y = Aᵀ·[(G·g·Gᵀ) ⊙ (Bᵀ·d·B)]·A
//
//	     ⎡1  0 -1  0⎤       ⎡ 1    0   0 ⎤
//	Bᵀ = ⎢0  1  1  0⎥   G = ⎢1/2  1/2 1/2⎥   Aᵀ = ⎡1  1  1  0⎤
//	     ⎢0 -1  1  0⎥       ⎢1/2 -1/2 1/2⎥        ⎣0  1 -1 -1⎦
//	     ⎣0  1  0 -1⎦       ⎣ 0    0   1 ⎦
//
// and for tiles in a line, of the points 0, 1, -1, 2 and ∞:
//
//	Y = Aᵀ·[G·g ⊙ Bᵀ·d]
//
//	     ⎡2 -1 -2  1  0⎤       ⎡1/2   0   0 ⎤
//	     ⎢0  2  1 -1  0⎥       ⎢1/2  1/2 1/2⎥        ⎡1  1  1  1  0⎤
//	Bᵀ = ⎢0 -2  3 -1  0⎥   G = ⎢1/6 -1/6 1/6⎥   Aᵀ = ⎢0  1 -1  2  0⎥
//	     ⎢0 -1  0  1  0⎥       ⎢1/6  1/3 2/3⎥        ⎣0  1  1  4  1⎦
//	     ⎣0  2 -1 -2  1⎦       ⎣ 0    0   1 ⎦
//
// The tiles lie side by side in a line of the image. Lengths and strides are in elements.
type Winograd struct {
	*WinogradTile
	Tiles    int
	Channels int // at least as many as a vector of the tier has elements, but for the inputs of lines
	Planes   *float32
	Plane    int // from a plane to the next; in each, the channels of a tile lie behind those of the tile before
}

// WinogradTile is the size of the tiles of an algorithm.
type WinogradTile struct {
	Rows, Cols     int // of results
	InRows, InCols int // of inputs
	Products       int // how many planes there are
	Bias           int // that whose products are part of each result, once
	kind           winogradKind
}

// WinogradTaps is how many taps the algorithms have along an axis.
const WinogradTaps = 3

// WinogradSquare is F(2x2, 3x3), WinogradLine F(3, 3).
var (
	WinogradSquare = WinogradTile{Rows: 2, Cols: 2, InRows: 4, InCols: 4, Products: 16, Bias: 5}
	WinogradLine   = WinogradTile{Rows: 1, Cols: 3, InRows: 1, InCols: 5, Products: 5, Bias: 1, kind: winogradLine}
)

// winogradMost is how many vectors of tiles a call of a kernel computes at most, so that the garbage collector need not wait
// for long.
const winogradMost = 1 << 10

// Weights makes the planes of weights: of those of an input channel each instead of a tile, with the output channels of a panel
// as channels. The first of them lie at x, and the next behind; line is from a line of taps to the next, column from a tap of a
// line to the next.
func (w *Winograd) Weights(t Tier, x *float32, line, column int) {
	a := winogradArgs{step: floatBytes(column), back: -floatBytes(WinogradTaps * column), next: floatBytes(w.Channels), beside: floatBytes(w.Plane),
		after: floatBytes(w.Channels), low: 1.0 / 6, high: 0.5}
	a.lines(x, line, w.InRows-w.Rows+1)
	a.out[0], a.out[1] = w.Planes, w.Planes
	w.each(t, &a, winogradOfWeights)
}

// In makes the planes of inputs whose first tile begins at x, where line is from a line to the next, column from an element
// of a line to the next.
func (w *Winograd) In(t Tier, x *float32, line, column int) {
	if w.Channels < lanesOf(t) {
		w.fewIn(x, column)
		return
	}
	a := winogradArgs{step: floatBytes(column), back: -floatBytes(w.InCols * column), next: floatBytes(w.Cols * column), beside: floatBytes(w.Plane),
		after: floatBytes(w.Channels)}
	a.lines(x, line, w.InRows)
	a.out[0], a.out[1] = w.Planes, w.Planes
	w.each(t, &a, winogradOfInputs)
}

// fewIn is In for tiles in a line whose channels fill no vector.
func (w *Winograd) fewIn(x *float32, column int) {
	in := unsafe.Slice(x, ((w.Tiles-1)*w.Cols+w.InCols-1)*column+w.Channels)
	out := unsafe.Slice(w.Planes, (w.Products-1)*w.Plane+w.Tiles*w.Channels)
	for i := range w.Tiles {
		d0 := in[i*w.Cols*column:]
		d1, d2, d3, d4 := d0[column:], d0[2*column:], d0[3*column:], d0[4*column:]
		for c := range w.Channels {
			a, to := d3[c]-d1[c], out[i*w.Channels+c:]
			b, e, f := d0[c]-d2[c], d2[c]-d1[c], d2[c]-d3[c]
			to[0] = b + b + a
			to[w.Plane] = d1[c] + d2[c] - a
			to[2*w.Plane] = e + e + f
			to[3*w.Plane] = a
			to[4*w.Plane] = d4[c] - d2[c] - (a + a)
		}
	}
}

// Out makes results of the planes' products, between low and high, whose first tile begins at y. It reports whether all were
// finite before.
func (w *Winograd) Out(t Tier, y *float32, line, column int, low, high float32) bool {
	a := winogradArgs{step: floatBytes(w.Plane), back: -floatBytes(w.InCols * w.Plane), next: floatBytes(w.Channels), beside: floatBytes(column),
		after: floatBytes(w.Cols * column), low: low, high: high}
	a.lines(w.Planes, w.InCols*w.Plane, w.InRows)
	a.out[0], a.out[1] = y, floatAt(y, floatBytes((w.Rows-1)*line))
	w.each(t, &a, winogradOfProducts)
	for _, v := range a.odd {
		if math.Float32bits(v)<<1 != 0 {
			return false
		}
	}
	return true
}

// floatBytes is the size of n float32.
func floatBytes(n int) uintptr { return uintptr(n) * unsafe.Sizeof(float32(0)) }

// winogradArgs is what the kernels get, which change it; the generator knows its layout.
type winogradArgs struct {
	rows         [4]*float32
	step, back   uintptr // from a column of rows to the next, and back from behind the last
	next         uintptr // from a tile's rows to the next tile's
	out          [2]*float32
	beside       uintptr // from a vector of a result to that of the next
	after        uintptr // from a tile's results to the next tile's
	from, blocks uintptr // the first channel in bytes, and how many vectors
	tiles        uintptr
	low, high    float32           // 1/6 and 1/2 of weights
	odd          [maxLanes]float32 // 0, or NaN where a result is not finite
}

// lines are n rows from x on, line apart; those that are not read are the first.
func (w *winogradArgs) lines(x *float32, line, n int) {
	for i := range w.rows {
		w.rows[i] = x
		if i < n {
			w.rows[i] = floatAt(x, floatBytes(i*line))
		}
	}
}

// each computes all tiles by pieces; the last vector of a tile ends with its channels. No pointer leaves what it points into, also not when
// all is done: the garbage collector may look at that time.
func (w *Winograd) each(t Tier, a *winogradArgs, kind winogradKind) {
	lanes := lanesOf(t)
	blocks := w.Channels / lanes
	most := max(1, winogradMost/(blocks+1))
	rows, out := a.rows, a.out
	for from := 0; from < w.Tiles; from += most {
		n := min(w.Tiles-from, most)
		for i := range rows {
			a.rows[i] = floatAt(rows[i], uintptr(from)*a.next)
		}
		for i := range out {
			a.out[i] = floatAt(out[i], uintptr(from)*a.after)
		}
		first := a.out
		a.from, a.blocks, a.tiles = 0, uintptr(blocks), uintptr(n)
		a.run(t, w.kind+kind)
		if w.Channels%lanes != 0 {
			a.out = first
			a.from, a.blocks, a.tiles = floatBytes(w.Channels-lanes), 1, uintptr(n)
			a.run(t, w.kind+kind)
		}
	}
}

// winogradKind says what is transformed.
type winogradKind int

const (
	winogradOfWeights winogradKind = iota
	winogradOfInputs
	winogradOfProducts
	winogradLine // added to these for tiles in a line
)

func (w *winogradArgs) run(t Tier, kind winogradKind) {
	switch kind {
	case winogradOfWeights:
		w.runWeights(t)
	case winogradOfInputs:
		w.runIn(t)
	case winogradOfProducts:
		w.runOut(t)
	case winogradLine + winogradOfWeights:
		w.runLineWeights(t)
	case winogradLine + winogradOfInputs:
		w.runLineIn(t)
	case winogradLine + winogradOfProducts:
		w.runLineOut(t)
	}
}
