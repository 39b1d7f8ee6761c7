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
	windowRow    = args + 7 // and those after it, if weights are held

	windowAt = windowOut // before the positions of a block

	// Where blocks of a group follow each other.
	windowBlocks = windowTriple // that are left
	windowBlock  = windowStep   // bytes from a row's first channel to the block's
	windowIn     = args + 10    // bytes from the first position's inputs to the group's

	// Where weights are not held, row after row is read from windowRow.
	windowColumn = args + 8 // bytes from a row's first column to the group's
	windowCopy   = args + 9
	windowList   = args + 10 // where the next row is
	windowLeft   = args + 11 // rows that are left
)

// Where the fields of kernel.Window lie.
const (
	windowRowsAt     = 0
	windowWeightsAt  = 88
	windowStartAt    = 96
	windowOutAt      = 104
	windowCopyAt     = 112
	windowStrideAt   = 120
	windowStepAt     = 128
	windowNextAt     = 136
	windowTapAt      = 152
	windowFromAt     = 160
	windowBlocksAt   = 168
	windowLowAt      = 176
	windowHighAt     = 180
	windowGroupsAt   = 184
	windowBackAt     = 192
	windowRestAt     = 200
	windowAgainAt    = 208
	windowAgainOutAt = 216
	windowLeftAt     = 224
	windowSizeAt     = 232
	windowTapsAt     = 240
	windowInAt       = 248
	windowPutAt      = 256
	windowTailAt     = 264
)

// windowSizes are the heights and widths of windows that have kernels.
var windowSizes = []int{3, 5, 7, 9, 11}

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
// those of a row of the window, which come from a copy.
type window struct {
	machine
	size, step int
	across     bool // a group is computed for one block of channels after the other, not a block for one group after the other
}

// windowF32 writes the windows.
func windowF32(m machine) {
	for _, size := range windowSizes {
		for _, step := range windowSteps {
			(&window{machine: m, size: size, step: step}).write()
			if w := (&window{machine: m, size: size, step: step, across: true}); w.streams() {
				w.writeAcross()
			}
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

// streams reports whether there is a kernel that goes across channels: on machines where that was measured to be worth while, for windows
// whose few weights are quickly loaded again.
func (w *window) streams() bool { return w.held() && w.arch() == "amd64" && w.size == 3 }

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

// copyAt is where the weights of tap t lie in the copy; what sums start from is behind the last tap.
func (w *window) copyAt(t int) int { return t * w.width() }

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
	w.beginRows()
	w.get(windowCount, args, windowOutAt)
	w.addPtr(windowOut, windowCount)
	w.get(windowStep, args, windowBackAt)
	w.get(windowCount, args, windowGroupsAt)
	w.ifZero(windowCount, "rest")
	w.label("positions")
	w.positions()
	w.more(windowCount, "positions")
	w.again()
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
	endLoop(w, windowCount, windowBlocksAt, "block")
}

// writeAcross writes the window that computes a group of positions for one block after the other: it reads and writes all channels
// of a group before the next one's, in the order of the memory, so that machines fetch them ahead. It loads its weights for each group.
func (w *window) writeAcross() {
	w.begin(fmt.Sprintf("window%dBy%dAcrossF32%s", w.size, w.step, w.tier()), "Window")
	w.broadcast(w.low(), args, windowLowAt)
	w.broadcast(w.high(), args, windowHighAt)
	w.get(windowStride, args, windowStrideAt)
	w.get(windowNext, args, windowNextAt)
	w.get(windowIn, args, windowInAt)
	w.label("group")
	w.get(windowCount, args, windowTailAt)
	w.put(args, windowLeftAt, windowCount)
	w.get(windowBlock, args, windowFromAt)
	w.get(windowBlocks, args, windowBlocksAt)
	w.label("block")
	w.holdWeights(windowBlock)
	for i := range w.size {
		w.get(w.row(i), args, windowRowsAt+i*pointerSize)
		w.addPtr(w.row(i), windowBlock)
		w.addPtr(w.row(i), windowIn)
	}
	w.get(windowOut, args, windowOutAt)
	w.addPtr(windowOut, windowBlock)
	w.get(windowCount, args, windowPutAt)
	w.addPtr(windowOut, windowCount)
	w.positions()
	w.add(windowBlock, w.width())
	w.more(windowBlocks, "block")
	w.get(windowBlock, args, windowLeftAt) // a block that overlaps the one before, once: windowBlocks is 0 behind the others
	w.put(args, windowLeftAt, windowBlocks)
	w.ifZero(windowBlock, "next")
	w.add(windowBlocks, 1)
	w.jump("block")
	w.label("next")
	w.get(windowCount, args, windowBackAt)
	w.addPtr(windowIn, windowCount)
	w.put(args, windowInAt, windowIn)
	w.get(windowCount, args, windowAgainOutAt)
	w.get(windowOut, args, windowPutAt)
	w.addPtr(windowOut, windowCount)
	w.put(args, windowPutAt, windowOut)
	endLoop(w, windowCount, windowGroupsAt, "group")
}

// beginRows makes rows those of the first position; windowAt is the block's place.
func (w *window) beginRows() {
	if !w.held() {
		w.set(windowColumn, windowAt, 1)
		w.get(windowCount, args, windowAgainAt)
		w.put(args, windowLeftAt, windowCount)
		return
	}
	for i := range w.size {
		w.get(w.row(i), args, windowRowsAt+i*pointerSize)
		w.addPtr(w.row(i), windowAt)
	}
}

// again computes a group in place of the rest.
func (w *window) again() {
	if !w.held() {
		groupAgain(w, windowRow, windowCount, windowColumn, windowOut, windowLeftAt, windowAgainOutAt)
	}
}

// groupAgain jumps back to compute a group of positions in place of the rest, once: count is 0 behind the groups. The fields left and
// againOut say how far back that is, in inputs and in results. It changes scratch.
func groupAgain(m machine, scratch, count, column, out ptr, left, againOut int) {
	m.get(scratch, args, left)
	m.put(args, left, count)
	m.ifZero(scratch, "rest")
	m.addPtr(column, scratch)
	m.get(scratch, args, againOut)
	m.addPtr(out, scratch)
	m.add(count, 1)
	m.jump("positions")
}

// loadWeights loads what a block of channels needs, into registers or into the copy; windowAt is the block's place afterwards.
func (w *window) loadWeights() {
	w.get(windowAt, args, windowFromAt)
	if w.held() {
		w.holdWeights(windowAt)
		return
	}
	w.get(windowCount, args, windowWeightsAt)
	w.get(windowRow, args, windowTapAt)
	w.get(windowCopy, args, windowCopyAt)
	w.set(windowList, windowCopy, 1)
	w.get(windowLeft, args, windowTapsAt)
	w.label("weight")
	w.loadAt(0, windowCount, windowAt, 0)
	w.store(windowList, 0, 0)
	w.addPtr(windowCount, windowRow)
	w.add(windowList, w.width())
	w.more(windowLeft, "weight")
	w.get(windowCount, args, windowStartAt)
	w.loadAt(0, windowCount, windowAt, 0)
	w.store(windowList, 0, 0)
}

// holdWeights loads the weights of the block at this place, and what sums start from, into registers.
func (w *window) holdWeights(at ptr) {
	w.get(windowCount, args, windowWeightsAt)
	w.get(windowRow, args, windowTapAt)
	for t := range w.taps() {
		w.loadAt(vec(t), windowCount, at, 0)
		w.addPtr(windowCount, windowRow)
	}
	w.get(windowCount, args, windowStartAt)
	w.loadAt(vec(w.taps()), windowCount, at, 0)
}

// begins lets sum p start.
func (w *window) begins(p int) {
	if w.held() {
		w.copy(w.sum(p), vec(w.taps()))
		return
	}
	w.load(w.sum(p), windowCopy, w.copyAt(w.taps()))
}

// weight is the register of tap j of row i, which eachRow gives.
func (w *window) weight(i, j int) vec {
	if w.held() {
		return vec(i*w.size + j)
	}
	return vec(j)
}

// eachRow writes emit for each row, or once in a loop, with the register where the row's inputs are.
func (w *window) eachRow(label string, emit func(i int, row ptr)) {
	if w.held() {
		for i := range w.size {
			emit(i, w.row(i))
			if !w.across {
				w.addPtr(w.row(i), windowStep)
			}
		}
		return
	}
	w.set(windowList, args, 1)
	w.get(windowLeft, args, windowSizeAt)
	w.label(label)
	for j := range w.size {
		w.load(vec(j), windowCopy, w.copyAt(j))
	}
	w.add(windowCopy, w.copyAt(w.size))
	w.get(windowRow, windowList, windowRowsAt)
	w.addPtr(windowRow, windowColumn)
	w.add(windowList, pointerSize)
	emit(0, windowRow)
	w.more(windowLeft, label)
	w.add(windowCopy, -w.copyAt(w.taps()))
	w.addPtr(windowColumn, windowStep)
}

// positions computes the sums of a group of positions, column by column.
func (w *window) positions() {
	n := w.group()
	for p := range n {
		w.begins(p)
	}
	w.eachRow("row", func(i int, row ptr) {
		for c := range (n-1)*w.step + w.size {
			if c > 0 {
				w.addPtr(row, windowStride)
			}
			w.load(w.input(), row, 0)
			for p := range n {
				if j := c - p*w.step; j >= 0 && j < w.size {
					w.fma(w.sum(p), w.input(), w.weight(i, j))
				}
			}
		}
	})
	for p := range n {
		w.finish(p)
	}
}

// columnsMost is how many columns fmaColumn reaches.
const columnsMost = 5

// position computes the sums of one position.
func (w *window) position() {
	w.begins(0)
	w.eachRow("rowOfOne", func(i int, row ptr) {
		for j := range w.size {
			if j > 0 && j%columnsMost == 0 {
				w.addPtr(row, windowStride)
				w.addPtr(row, windowStride)
				w.addPtr(row, windowTriple)
			}
			w.fmaColumn(w.sum(0), w.weight(i, j), row, windowStride, windowTriple, j%columnsMost, w.input())
		}
	})
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
	eachWindow(b, arch, nil, func(w *window) { fmt.Fprintf(b, "return %d\n", w.group()) })
	b.WriteString("return 0\n}\n\n// windowHolds reports whether a kernel of t holds all weights in registers.\nfunc windowHolds(t Tier, size int) bool {\n")
	eachWindow(b, arch, nil, func(w *window) { fmt.Fprintf(b, "return %t\n", w.held()) })
	b.WriteString("return false\n}\n\n// windowStreams reports whether t has kernels that go across channels.\nfunc windowStreams(t Tier, size int) bool {\n")
	eachWindow(b, arch, (*window).streams, func(*window) { b.WriteString("return true\n") })
	call := func(kind string) func(w *window) {
		return func(w *window) {
			fmt.Fprintf(b, "if by == 2 {\nwindow%dBy2%s(w)\n} else {\nwindow%[1]dBy1%[2]s(w)\n}\n", w.size, kind+"F32"+w.tier())
		}
	}
	b.WriteString("return false\n}\n\n// runAcross is run for a kernel that goes across channels, if windowStreams.\n//\n//go:noinline\nfunc (w *Window) runAcross(t Tier, size, by int) {\n")
	eachWindow(b, arch, (*window).streams, call("Across"))
	b.WriteString("}\n\n// run calls a kernel; like Gemm.Run it has a frame of its own.\n//\n//go:noinline\nfunc (w *Window) run(t Tier, size, by int) {\n")
	eachWindow(b, arch, nil, call(""))
	b.WriteString("}\n")
	groupWindowsGo(b, arch)
	return formatted(b.Bytes())
}

// eachWindow writes a choice among the windows of an architecture that are wanted, if there are any; nil wants all.
func eachWindow(b *bytes.Buffer, arch string, wanted func(*window) bool, f func(w *window)) {
	if arch == "" {
		return
	}
	var list []*window
	for _, m := range machinesOf(arch) {
		for _, size := range windowSizes {
			if w := (&window{machine: m, size: size, step: 1}); wanted == nil || wanted(w) {
				list = append(list, w)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	b.WriteString("switch t.float() {\n")
	for i, w := range list {
		first := i == 0 || list[i-1].machine != w.machine
		if first && i > 0 {
			b.WriteString("}\n")
		}
		if first {
			fmt.Fprintf(b, "case %s:\nswitch size {\n", w.tier())
		}
		fmt.Fprintf(b, "case %d:\n", w.size)
		f(w)
	}
	b.WriteString("}\n}\n")
}
