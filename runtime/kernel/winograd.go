package kernel

import (
	"math"
	"unsafe"
)

// Winograd transforms tiles of a convolution with 3x3 taps and channels innermost for Winograd's algorithm F(2x2, 3x3): the 4x4
// inputs of a tile become 16 planes, whose products with as many matrices become its 2x2 results. By Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks" (2015), with d and g the inputs and weights of a channel:
//
//	Y = Aᵀ·[(G·g·Gᵀ) ⊙ (Bᵀ·d·B)]·A
//
//	     ⎡1  0 -1  0⎤       ⎡ 1    0   0 ⎤
//	Bᵀ = ⎢0  1  1  0⎥   G = ⎢1/2  1/2 1/2⎥   Aᵀ = ⎡1  1  1  0⎤
//	     ⎢0 -1  1  0⎥       ⎢1/2 -1/2 1/2⎥        ⎣0  1 -1 -1⎦
//	     ⎣0  1  0 -1⎦       ⎣ 0    0   1 ⎦
//
// The tiles lie side by side in a line of the image. Lengths and strides are in elements.
type Winograd struct {
	Tiles    int
	Channels int // at least as many as a vector of the tier has elements
	Planes   *float32
	Plane    int // from a plane to the next; in each, the channels of a tile lie behind those of the tile before
}

// WinogradPlanes is how many planes there are, WinogradBias that whose products are part of each result, once.
const (
	WinogradPlanes = 16
	WinogradBias   = 5
)

// winogradMost is how many vectors of tiles a call of a kernel computes at most, so that the garbage collector need not wait
// for long.
const winogradMost = 1 << 10

// Weights makes the planes of weights: of those of an input channel each instead of a tile, with the output channels of a panel
// as channels. The first of them lie at x, and the next behind; line is from a line of taps to the next, column from a tap of a
// line to the next.
func (w *Winograd) Weights(t Tier, x *float32, line, column int) {
	a := winogradArgs{step: floatBytes(column), back: -floatBytes(3 * column), next: floatBytes(w.Channels), beside: floatBytes(w.Plane),
		after: floatBytes(w.Channels), high: 0.5}
	for i := range 3 {
		a.rows[i] = floatAt(x, floatBytes(i*line))
	}
	a.rows[3] = x // which is not read
	a.out[0], a.out[1] = w.Planes, w.Planes
	w.each(t, &a, winogradOfWeights)
}

// In makes the planes of inputs whose first tile begins at x, where line is from a line to the next, column from an element
// of a line to the next.
func (w *Winograd) In(t Tier, x *float32, line, column int) {
	a := winogradArgs{step: floatBytes(column), back: -floatBytes(4 * column), next: floatBytes(2 * column), beside: floatBytes(w.Plane), after: floatBytes(w.Channels)}
	for i := range a.rows {
		a.rows[i] = floatAt(x, floatBytes(i*line))
	}
	a.out[0], a.out[1] = w.Planes, w.Planes
	w.each(t, &a, winogradOfInputs)
}

// Out makes results of the planes' products, between low and high, whose first tile begins at y. It reports whether all were
// finite before.
func (w *Winograd) Out(t Tier, y *float32, line, column int, low, high float32) bool {
	a := winogradArgs{step: floatBytes(w.Plane), back: -floatBytes(4 * w.Plane), next: floatBytes(w.Channels), beside: floatBytes(column), after: floatBytes(2 * column),
		low: low, high: high}
	for i := range a.rows {
		a.rows[i] = floatAt(w.Planes, floatBytes(4*i*w.Plane))
	}
	a.out[0], a.out[1] = y, floatAt(y, floatBytes(line))
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
	low, high    float32           // high of weights is 1/2
	odd          [maxLanes]float32 // 0, or NaN where a result is not finite
}

// each computes all tiles by pieces; the last vector of a tile ends with its channels.
func (w *Winograd) each(t Tier, a *winogradArgs, kind winogradKind) {
	lanes := lanesOf(t)
	blocks := w.Channels / lanes
	most := max(1, winogradMost/(blocks+1))
	for left := w.Tiles; left > 0; left -= most {
		n := min(left, most)
		rows, out := a.rows, a.out
		a.from, a.blocks, a.tiles = 0, uintptr(blocks), uintptr(n)
		a.run(t, kind)
		if w.Channels%lanes != 0 {
			a.out = out
			a.from, a.blocks, a.tiles = floatBytes(w.Channels-lanes), 1, uintptr(n)
			a.run(t, kind)
		}
		for i := range rows {
			a.rows[i] = floatAt(rows[i], uintptr(n)*a.next)
		}
	}
}

// winogradKind says what is transformed.
type winogradKind int

const (
	winogradOfWeights winogradKind = iota
	winogradOfInputs
	winogradOfProducts
)

func (w *winogradArgs) run(t Tier, kind winogradKind) {
	switch kind {
	case winogradOfWeights:
		w.runWeights(t)
	case winogradOfInputs:
		w.runIn(t)
	case winogradOfProducts:
		w.runOut(t)
	}
}
