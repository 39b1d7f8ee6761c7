package main

// The integer registers of taps of integers; see TapsS8 in package kernel for what they hold.
const (
	s8TapsOut ptr = args + 1 + iota
	s8TapsInputs
	s8TapsWeights
	s8TapsLeft
	s8TapsIndex // bytes into each line
	s8TapsWide  // bytes into the sums and weights
	s8TapsBlocks
	s8TapsLine
	s8TapsStep
	s8TapsPixels
	s8TapsPixel // bytes into each line where the pixel begins
)

// Where the fields of kernel.TapsS8 lie.
const (
	fieldS8Inputs  = 0
	fieldS8Weights = 8
	fieldS8Step    = 16
	fieldS8Taps    = 24
	fieldS8Out     = 32
	fieldS8Start   = 40
	fieldS8Blocks  = 48
	fieldS8Tail    = 56
	fieldS8Pixels  = 64
	fieldS8InStep  = 72
	fieldS8OutStep = 80
)

// tapsS8 writes sums of pixels of int8, each times a line of weights.
type tapsS8 struct{ integers }

func (t *tapsS8) input() vec   { return unroll }
func (t *tapsS8) weight() vec  { return unroll + 1 }
func (t *tapsS8) product() vec { return unroll + 2 }
func (t *tapsS8) width() int   { return t.lanes() * float32Size }

func writeTapsS8(m integers) {
	t := &tapsS8{m}
	t.begin("tapsS8"+t.tier(), "TapsS8")
	t.get(s8TapsOut, args, fieldS8Out)
	t.get(s8TapsPixels, args, fieldS8Pixels)
	t.get(s8TapsStep, args, fieldS8Step)
	t.clear(s8TapsPixel)
	t.label("pixel")
	t.move(s8TapsIndex, s8TapsPixel)
	t.clear(s8TapsWide)
	t.get(s8TapsBlocks, args, fieldS8Blocks)
	stream(t, s8TapsBlocks, unroll, "", t.block)
	t.get(s8TapsBlocks, args, fieldS8Tail)
	t.ifZero(s8TapsBlocks, "next")
	t.move(s8TapsIndex, s8TapsPixel)
	t.addPtr(s8TapsIndex, s8TapsBlocks)
	t.clear(s8TapsWide)
	for range float32Size {
		t.addPtr(s8TapsWide, s8TapsBlocks)
	}
	t.sums(1, "tail")
	t.label("next")
	t.get(s8TapsLine, args, fieldS8InStep)
	t.addPtr(s8TapsPixel, s8TapsLine)
	t.get(s8TapsLine, args, fieldS8OutStep)
	t.addPtr(s8TapsOut, s8TapsLine)
	t.more(s8TapsPixels, "pixel")
	t.end()
}

// block computes n vectors of a pixel and goes on behind them.
func (t *tapsS8) block(n int) {
	t.sums(n, map[bool]string{true: "one", false: "many"}[n == 1])
	t.add(s8TapsIndex, n*t.lanes())
	t.add(s8TapsWide, n*t.width())
}

// sums computes n vectors of a pixel.
func (t *tapsS8) sums(n int, suffix string) {
	t.get(s8TapsLine, args, fieldS8Start)
	t.addPtr(s8TapsLine, s8TapsWide)
	for j := range n {
		t.load(vec(j), s8TapsLine, j*t.width())
	}
	t.get(s8TapsInputs, args, fieldS8Inputs)
	t.get(s8TapsWeights, args, fieldS8Weights)
	t.addPtr(s8TapsWeights, s8TapsWide)
	t.get(s8TapsLeft, args, fieldS8Taps)
	t.label("tap" + suffix)
	t.get(s8TapsLine, s8TapsInputs, 0)
	t.addPtr(s8TapsLine, s8TapsIndex)
	for j := range n {
		t.loadBytes(t.input(), s8TapsLine, j*t.lanes(), true)
		t.load(t.weight(), s8TapsWeights, j*t.width())
		t.tap(vec(j), t.input(), t.weight(), t.product())
	}
	t.add(s8TapsInputs, pointerSize)
	t.addPtr(s8TapsWeights, s8TapsStep)
	t.more(s8TapsLeft, "tap"+suffix)
	t.move(s8TapsLine, s8TapsOut)
	t.addPtr(s8TapsLine, s8TapsWide)
	for j := range n {
		t.store(s8TapsLine, j*t.width(), vec(j))
	}
}
