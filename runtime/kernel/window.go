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
	windowGroups
	size, taps uintptr // rows, and products of a result
	// Across channels: the bytes from the first position's inputs and results to those of the group, and from the first channel to those of
	// a last vector, which overlaps the one before; or 0.
	in, put, tail uintptr
}

// windowGroups is how the positions of a window are divided among its kernel's loops. Its layout is known to the generator.
type windowGroups struct {
	groups uintptr // of positions that are computed together
	// back is how many bytes there are from a group to the next or, where weights are held, from the last column of a group, or of a
	// position, to the first one of the next.
	back uintptr
	rest uintptr // positions after the groups
	// A group that begins among the positions of the one before, in place of the rest: how far that is back from behind the
	// last group, in inputs and in results, both negative; not 0 unless there is one. left is the first of them until it is done.
	// Across channels back and againOut are how far it is from a group's inputs and results to the next one's, and left is tail until that is done.
	again, againOut, left uintptr
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

// windowSums is windowMost for sums of this many products.
func windowSums(products int) int { return windowMost * 25 / max(25, products) }

// HasWindow reports whether t has a kernel of windows of size × size taps and this many channels.
func HasWindow(t Tier, size, channels int) bool {
	return windowGroup(t, size) > 0 && channels >= lanesOf(t)
}

// Run computes the channels of all positions; HasWindow says for which size, channels and tier.
func (w *Window) Run(t Tier, size, channels int) {
	t = t.float()
	if w.across(t, size, channels) {
		return
	}
	most := uintptr(windowSums(size*size) / lanesOf(t))
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
		p.advance(size, p.Count)
	}
}

// advance begins n positions later, of which there is one.
func (w *Window) advance(size int, n uintptr) {
	for i := range w.Rows[:size] {
		w.Rows[i] = floatAt(w.Rows[i], n*w.Step)
	}
	w.Out = floatAt(w.Out, n*w.Next)
}

// positions is Run for a number of positions that one call may take.
func (w *Window) positions(t Tier, size, channels int) {
	lanes := lanesOf(t)
	bytes := uintptr(lanes) * unsafe.Sizeof(w.Low)
	most := max(1, windowSums(size*size)/(int(w.Count)*lanes))
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

// The most weights and the fewest bytes of rows with which positions are computed group by group, for all channels: the weights stay in the
// first-level cache, and the rows do not.
const (
	acrossWeights = 4 << 10
	acrossRows    = 32 << 10
)

// across computes groups of positions one after the other, all channels of each, so that rows are read and written in the order of the
// memory; the rest as positions does. It reports whether that is worth while.
func (w *Window) across(t Tier, size, channels int) bool {
	n := uintptr(windowGroup(t, size))
	if !windowStreams(t, size) || size*size*channels > acrossWeights || uintptr(size)*w.Count*w.Step < acrossRows || w.Count < 3*n {
		return false
	}
	p, lanes := *w, lanesOf(t)
	by := p.divide(t, size)
	if p.groups == 0 {
		return false
	}
	p.from, p.blocks, p.back, p.againOut = 0, uintptr(channels/lanes), n*w.Step, n*w.Next
	p.in, p.put = 0, 0
	if channels%lanes != 0 {
		p.tail = uintptr(channels-lanes) * unsafe.Sizeof(w.Low)
	}
	most := max(1, uintptr(windowSums(size*size)/(int(n)*channels)))
	for left := p.groups; left > 0; {
		p.groups = min(left, most)
		left -= p.groups
		p.runAcross(t, size, by) // which counts groups down
	}
	rest := *w
	if rest.Count %= n; rest.Count > 0 {
		rest.advance(size, w.Count-rest.Count)
		rest.positions(t, size, channels)
	}
	return true
}

// divide makes groups for a kernel of t, and gives how many columns there are from a position to the next in that kernel.
func (w *Window) divide(t Tier, size int) (by int) {
	w.size, w.taps = uintptr(size), uintptr(size*size)
	n := uintptr(windowGroup(t, size))
	by = w.windowGroups.divide(n, w.Count, w.Step, w.Stride)
	if windowHolds(t, size) {
		w.back = w.Step - uintptr(size-1)*w.Stride
		return by
	}
	w.back = n * w.Step
	w.replaceRest(n, w.Step, w.Next)
	return by
}

// divide makes groups of n of count positions if their columns overlap as a kernel expects it, and gives how many columns there are
// from a position to the next in that kernel.
func (g *windowGroups) divide(n, count, step, stride uintptr) (by int) {
	g.groups, g.rest, g.again, g.againOut, g.left = 0, count, 0, 0, 0
	switch step {
	case stride:
		by = 1
	case 2 * stride:
		by = 2
	default:
		return 1
	}
	g.groups, g.rest = count/n, count%n
	return by
}

// replaceRest makes a group of n in place of the rest, if there is a group before it.
func (g *windowGroups) replaceRest(n, step, next uintptr) {
	if g.groups > 0 && g.rest > 0 {
		g.again, g.againOut, g.rest = (g.rest-n)*step, (g.rest-n)*next, 0
	}
}
