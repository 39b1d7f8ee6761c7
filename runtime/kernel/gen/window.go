package main

import "fmt"

// The integer registers of a window; see Window in package kernel for what they hold.
const (
	windowStride = args + 1
	windowTriple = args + 2
	windowOut    = args + 3
	windowCount  = args + 4
	windowStep   = args + 5
	windowNext   = args + 6
	windowRow    = args + 7 // and those after it

	windowAt = windowOut // before the positions of a block
)

// Where the fields of kernel.Window lie.
const (
	windowRowsAt    = 0
	windowWeightsAt = 40
	windowStartAt   = 48
	windowOutAt     = 56
	windowStrideAt  = 64
	windowStepAt    = 72
	windowNextAt    = 80
	windowCountAt   = 88
	windowTapAt     = 96
	windowFromAt    = 104
	windowBlocksAt  = 112
	windowLowAt     = 120
	windowHighAt    = 124
)

// windowSizes are the heights and widths of windows that have kernels.
var windowSizes = []int{3, 5}

// window writes a depthwise convolution with the weights of a vector of channels in registers.
type window struct {
	machine
	size int
}

// windowF32 writes the windows whose weights fit into registers.
func windowF32(m machine) {
	for _, size := range windowSizes {
		w := &window{m, size}
		if int(w.high()) < m.vectors() {
			w.write()
		}
	}
}

func (w *window) width() int    { return w.lanes() * float32Size }
func (w *window) taps() int     { return w.size * w.size }
func (w *window) start() vec    { return vec(w.taps()) }
func (w *window) sum() vec      { return w.start() + 1 }
func (w *window) input() vec    { return w.start() + 2 }
func (w *window) low() vec      { return w.start() + 3 }
func (w *window) high() vec     { return w.start() + 4 }
func (w *window) row(i int) ptr { return windowRow + ptr(i) }

func (w *window) write() {
	w.begin(fmt.Sprintf("window%dF32%s", w.size, w.tier()), "Window")
	w.broadcast(w.low(), args, windowLowAt)
	w.broadcast(w.high(), args, windowHighAt)
	w.get(windowStride, args, windowStrideAt)
	w.set(windowTriple, windowStride, 3)
	w.get(windowStep, args, windowStepAt)
	w.get(windowNext, args, windowNextAt)
	w.label("block")
	w.loadWeights()
	for i := range w.size {
		w.get(w.row(i), args, windowRowsAt+i*pointerSize)
		w.addPtr(w.row(i), windowAt)
	}
	w.get(windowCount, args, windowOutAt)
	w.addPtr(windowOut, windowCount)
	w.get(windowCount, args, windowCountAt)
	w.label("position")
	w.position()
	w.more(windowCount, "position")
	w.get(windowAt, args, windowFromAt)
	w.add(windowAt, w.width())
	w.put(args, windowFromAt, windowAt)
	w.get(windowCount, args, windowBlocksAt)
	w.add(windowCount, -1)
	w.put(args, windowBlocksAt, windowCount)
	w.ifZero(windowCount, "end")
	w.jump("block")
	w.label("end")
	w.end()
}

// loadWeights loads what a block of channels needs; windowAt is the block's place afterwards.
func (w *window) loadWeights() {
	w.get(windowAt, args, windowFromAt)
	w.get(windowCount, args, windowStartAt)
	w.loadAt(w.start(), windowCount, windowAt, 0)
	w.get(windowCount, args, windowWeightsAt)
	w.get(w.row(0), args, windowTapAt)
	for t := range w.taps() {
		w.loadAt(vec(t), windowCount, windowAt, 0)
		w.addPtr(windowCount, w.row(0))
	}
}

// position computes the sums of one position.
func (w *window) position() {
	w.copy(w.sum(), w.start())
	for t := range w.taps() {
		w.fmaColumn(w.sum(), vec(t), w.row(t/w.size), windowStride, windowTriple, t%w.size, w.input())
	}
	for i := range w.size {
		w.addPtr(w.row(i), windowStep)
	}
	w.clamp(w.sum(), w.low(), w.high())
	w.store(windowOut, 0, w.sum())
	w.addPtr(windowOut, windowNext)
}
