package kernel

import "unsafe"

// Window is a depthwise convolution of float32 along a line of positions, whose channels lie side by side:
//
//	out[p][c] = clamp(start[c] + Σ weights[i][j][c] · rows[i][p·Step + j·Stride][c], Low, High)
//
// Its layout is known to the generator.
type Window struct {
	Rows      [WindowMost]*float32 // the first position's inputs of each row of the window, as many as the window is high
	Weights   *float32
	Start     *float32
	Out       *float32
	Copy      *float32 // room for WindowSpace elements, if they are any
	Stride    uintptr  // bytes from a column of the window to the next
	Step      uintptr  // bytes from a position's inputs to the next's
	Next      uintptr  // bytes from a position's results to the next's
	Count     uintptr  // positions, at least 1
	Tap       uintptr  // bytes from the weights of a tap to those of the next
	from      uintptr
	blocks    uintptr
	Low, High float32
	groups    uintptr // of positions that are computed together
	back      uintptr // bytes from a group to the next, or, where weights are held, from its last column to that one's first
	rest      uintptr // positions after the groups
	// A group that begins among the positions of the one before, in place of the rest: how far that is back from behind the
	// last group, in inputs and in results, both negative; not 0 unless there is one. left is the first of them until it is done.
	again, againOut, left uintptr
	size, taps            uintptr // rows, and products of a result
}

// WindowMost is the height of the largest windows that have kernels.
const WindowMost = 11

// WindowSpace is how many elements of Window.Copy a kernel of t uses that has no registers for all weights of a vector of channels.
func WindowSpace(t Tier, size int) int {
	if windowHolds(t, size) {
		return 0
	}
	return (size*size + 1) * lanesOf(t)
}

// windowMost is how many sums of up to 25 products one call of a kernel makes at most, so that the garbage collector need not wait for
// long.
const windowMost = 16 << 10

// windowSums is windowMost for windows of size × size taps.
func windowSums(size int) int { return windowMost * 25 / max(25, size*size) }

// HasWindow reports whether t has a kernel of windows of size × size taps and this many channels.
func HasWindow(t Tier, size, channels int) bool {
	return windowGroup(t, size) > 0 && channels >= lanesOf(t)
}

// Run computes the channels of all positions; HasWindow says for which size, channels and tier.
func (w *Window) Run(t Tier, size, channels int) {
	t = t.float()
	most := uintptr(windowSums(size) / lanesOf(t))
	if w.Count <= most {
		w.positions(t, size, channels)
		return
	}
	p := *w
	for left := w.Count; ; {
		p.Count = min(left, most)
		p.positions(t, size, channels)
		if left -= p.Count; left == 0 {
			return
		}
		for i := range p.Rows[:size] {
			p.Rows[i] = floatAt(p.Rows[i], p.Count*p.Step)
		}
		p.Out = floatAt(p.Out, p.Count*p.Next)
	}
}

// positions is Run for a number of positions that one call may take.
func (w *Window) positions(t Tier, size, channels int) {
	lanes := lanesOf(t)
	bytes := uintptr(lanes) * unsafe.Sizeof(w.Low)
	most := max(1, windowSums(size)/(int(w.Count)*lanes))
	vectors := channels / lanes
	by := w.divide(t, size)
	for at := 0; at < vectors; at += most {
		w.from, w.blocks = uintptr(at)*bytes, uintptr(min(most, vectors-at))
		w.run(t, size, by)
	}
	if channels%lanes != 0 {
		w.from, w.blocks = uintptr(channels-lanes)*unsafe.Sizeof(w.Low), 1
		w.run(t, size, by)
	}
}

// divide makes groups of positions if their columns overlap as a kernel expects it, and gives how many columns there are
// from a position to the next in that kernel.
func (w *Window) divide(t Tier, size int) (by int) {
	w.groups, w.rest, w.again, w.againOut, w.left = 0, w.Count, 0, 0, 0
	w.size, w.taps = uintptr(size), uintptr(size*size)
	switch w.Step {
	case w.Stride:
		by = 1
	case 2 * w.Stride:
		by = 2
	default:
		return 1
	}
	n := uintptr(windowGroup(t, size))
	w.groups, w.rest = w.Count/n, w.Count%n
	if windowHolds(t, size) {
		w.back = uintptr(by-size+1) * w.Stride
		return by
	}
	w.back = n * w.Step
	if w.groups > 0 && w.rest > 0 {
		w.again, w.againOut, w.rest = (w.rest-n)*w.Step, (w.rest-n)*w.Next, 0
	}
	return by
}
