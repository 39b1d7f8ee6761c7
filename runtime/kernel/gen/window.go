package main

import (
	"bytes"
	"fmt"
)

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
	windowTapAt     = 96
	windowFromAt    = 104
	windowBlocksAt  = 112
	windowLowAt     = 120
	windowHighAt    = 124
	windowGroupsAt  = 128
	windowBackAt    = 136
	windowRestAt    = 144
	windowCopyAt    = 152
)

// windowSizes are the heights and widths of windows that have kernels.
var windowSizes = []int{3, 5}

// windowSteps are the columns from a position to the next for which kernels compute groups of positions, whose columns
// overlap and are read once.
var windowSteps = []int{1, 2}

// groupMost is how many positions a group has at most: enough that reading takes no longer than computing. rereadMost is that
// of windows whose weights are read for each group: a divisor of the widths that images of most models have.
const (
	groupMost  = 4
	rereadMost = 7
)

// window writes a depthwise convolution with the weights of a vector of channels in registers; where these are too few, with
// those of a row of the window, which come from a copy in kernel.Window.
type window struct {
	machine
	size, step int
}

// windowF32 writes the windows.
func windowF32(m machine) {
	for _, size := range windowSizes {
		for _, step := range windowSteps {
			(&window{m, size, step}).write()
		}
	}
}

func (w *window) width() int    { return w.lanes() * float32Size }
func (w *window) taps() int     { return w.size * w.size }
func (w *window) input() vec    { return vec(w.weights()) }
func (w *window) low() vec      { return w.input() + 1 }
func (w *window) high() vec     { return w.input() + 2 }
func (w *window) sum(i int) vec { return w.input() + 3 + vec(i) }

// held reports whether all weights, and what sums start from, are in registers, beside the input, low, high and one sum.
func (w *window) held() bool { return w.taps()+1+4 <= w.vectors() }

// weights is how many registers have weights.
func (w *window) weights() int {
	if w.held() {
		return w.taps() + 1
	}
	return w.size
}

// group is how many positions are computed together.
func (w *window) group() int {
	most := rereadMost
	if w.held() {
		most = groupMost
	}
	return min(most, w.vectors()-int(w.sum(0)))
}

// copyAt is where the copy of the weights of tap t lies; that of what sums start from is behind the last tap.
func (w *window) copyAt(t int) int { return windowCopyAt + t*w.width() }

func (w *window) row(i int) ptr { return windowRow + ptr(i) }

func (w *window) write() {
	w.begin(fmt.Sprintf("window%dBy%dF32%s", w.size, w.step, w.tier()), "Window")
	w.broadcast(w.low(), args, windowLowAt)
	w.broadcast(w.high(), args, windowHighAt)
	w.get(windowStride, args, windowStrideAt)
	w.set(windowTriple, windowStride, 3)
	w.get(windowNext, args, windowNextAt)
	w.label("block")
	w.loadWeights()
	for i := range w.size {
		w.get(w.row(i), args, windowRowsAt+i*pointerSize)
		w.addPtr(w.row(i), windowAt)
	}
	w.get(windowCount, args, windowOutAt)
	w.addPtr(windowOut, windowCount)
	w.get(windowStep, args, windowBackAt)
	w.get(windowCount, args, windowGroupsAt)
	w.ifZero(windowCount, "rest")
	w.label("positions")
	w.positions()
	w.more(windowCount, "positions")
	w.label("rest")
	w.get(windowStep, args, windowStepAt)
	w.get(windowCount, args, windowRestAt)
	w.ifZero(windowCount, "next")
	w.label("position")
	w.position()
	w.more(windowCount, "position")
	w.label("next")
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
	w.loadWeight(w.taps(), windowCount)
	w.get(windowCount, args, windowWeightsAt)
	w.get(w.row(0), args, windowTapAt)
	for t := range w.taps() {
		w.loadWeight(t, windowCount)
		w.addPtr(windowCount, w.row(0))
	}
}

// loadWeight loads what lies at p into register t, or into the copy.
func (w *window) loadWeight(t int, p ptr) {
	if w.held() {
		w.loadAt(vec(t), p, windowAt, 0)
		return
	}
	w.loadAt(0, p, windowAt, 0)
	w.store(args, w.copyAt(t), 0)
}

// begins lets sum p start.
func (w *window) begins(p int) {
	if w.held() {
		w.copy(w.sum(p), vec(w.taps()))
		return
	}
	w.load(w.sum(p), args, w.copyAt(w.taps()))
}

// weight is the register of tap j of row i, once rowWeights has loaded that row.
func (w *window) weight(i, j int) vec {
	if w.held() {
		return vec(i*w.size + j)
	}
	return vec(j)
}

// rowWeights loads the weights of row i, unless they are held.
func (w *window) rowWeights(i int) {
	for j := 0; j < w.size && !w.held(); j++ {
		w.load(vec(j), args, w.copyAt(i*w.size+j))
	}
}

// positions computes the sums of a group of positions, column by column; windowStep takes a row from the last column to
// the first one of the next group.
func (w *window) positions() {
	n := w.group()
	for p := range n {
		w.begins(p)
	}
	for i := range w.size {
		w.rowWeights(i)
		for c := range (n-1)*w.step + w.size {
			if c > 0 {
				w.addPtr(w.row(i), windowStride)
			}
			w.load(w.input(), w.row(i), 0)
			for p := range n {
				if j := c - p*w.step; j >= 0 && j < w.size {
					w.fma(w.sum(p), w.input(), w.weight(i, j))
				}
			}
		}
		w.addPtr(w.row(i), windowStep)
	}
	for p := range n {
		w.finish(p)
	}
}

// position computes the sums of one position.
func (w *window) position() {
	w.begins(0)
	for i := range w.size {
		w.rowWeights(i)
		for j := range w.size {
			w.fmaColumn(w.sum(0), w.weight(i, j), w.row(i), windowStride, windowTriple, j, w.input())
		}
		w.addPtr(w.row(i), windowStep)
	}
	w.finish(0)
}

// finish clamps and stores the sums of a position.
func (w *window) finish(p int) {
	w.clamp(w.sum(p), w.low(), w.high())
	w.store(windowOut, 0, w.sum(p))
	w.addPtr(windowOut, windowNext)
}

// windowsGo writes which windows have kernels, and calls them.
func windowsGo(arch string) []byte {
	b := goFile(arch)
	b.WriteString("\n// windowGroup is how many positions a kernel of t computes together; 0 if there is no kernel.\nfunc windowGroup(t Tier, size int) int {\n")
	eachWindow(b, arch, func(w *window) { fmt.Fprintf(b, "return %d\n", w.group()) })
	b.WriteString("return 0\n}\n\n// run calls a kernel; like Gemm.Run it has a frame of its own.\n//\n//go:noinline\nfunc (w *Window) run(t Tier, size, by int) {\n")
	eachWindow(b, arch, func(w *window) {
		fmt.Fprintf(b, "if by == 2 {\nwindow%dBy2F32%s(w)\n} else {\nwindow%[1]dBy1F32%[2]s(w)\n}\n", w.size, w.tier())
	})
	b.WriteString("}\n")
	return formatted(b.Bytes())
}

// eachWindow writes a choice among the windows of an architecture.
func eachWindow(b *bytes.Buffer, arch string, f func(w *window)) {
	if arch == "" {
		return
	}
	b.WriteString("switch t.float() {\n")
	for _, m := range machinesOf(arch) {
		fmt.Fprintf(b, "case %s:\nswitch size {\n", m.tier())
		for _, size := range windowSizes {
			fmt.Fprintf(b, "case %d:\n", size)
			f(&window{m, size, 1})
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}
