package kernel

import "unsafe"

// WindowS8 is a depthwise convolution of integers along a line of positions whose channels lie side by side, requantized:
//
//	sum = start[c] + Σ weights[i][j][c] · rows[i][p·Step + j·Stride][c]
//	out[p][c] = round(sum · factors[c]), at least Low and at most High, plus Zero
//
// Ties go to even numbers. The bytes of rows are 0 to 255, 128 more than they stand for, as the left factor is of a GemmS8 that
// Flips. Its layout is known to the generator.
type WindowS8 struct {
	Rows    [WindowMostS8]*byte // the first position's inputs of each row of the window, as many as the window is high
	Weights *int8               // as PackWindow makes them
	Start   *int32
	Factors *float32
	Out     *int8
	Stride  uintptr // bytes from a column of the window to the next
	Step    uintptr // bytes from a position's inputs to the next's
	Next    uintptr // bytes from a position's results to the next's
	Count   uintptr // positions, at least 1
	order   *[64]uint8
	from    uintptr
	blocks  uintptr
	windowGroups
	weights   uintptr // bytes from Weights to those of the next block
	Low, High float32
	Zero      int32
}

// WindowMostS8 is the height of the largest windows of integers that have kernels.
const WindowMostS8 = 5

// quadBytes is, for each 16 bytes of a vector, the order in which the first of each four come first, then the second, and so on.
var quadBytes = [64]uint8{
	0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
	0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
	0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
	0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
}

// HasWindowS8 reports whether t has a kernel of windows of size × size taps and this many channels.
func HasWindowS8(t Tier, size, channels int) bool {
	return windowGroupS8(t, size) > 0 && channels >= lanesOf(t)
}

// windowBlocks is how many blocks channels make; the last one ends with them, and overlaps the one before.
func windowBlocks(t Tier, channels int) int { return (channels + lanesOf(t) - 1) / lanesOf(t) }

// PackWindow packs weights [size, size, channels] for kernels of t: for each block of channels, each four rows and each column of
// the window, four weights of each channel; those of missing rows are 0.
func PackWindow(t Tier, w []int8, size, channels int) []int8 {
	lanes, quads := lanesOf(t), (size+groupBytes-1)/groupBytes
	block := quads * size * lanes * groupBytes
	packed := make([]int8, windowBlocks(t, channels)*block)
	for b := range windowBlocks(t, channels) {
		from := min(b*lanes, channels-lanes)
		for i := range size {
			for j := range size {
				at := b*block + (i/groupBytes*size+j)*lanes*groupBytes + i%groupBytes
				for c, x := range w[(i*size+j)*channels+from:][:lanes] {
					packed[at+c*groupBytes] = x
				}
			}
		}
	}
	return packed
}

// Run computes the channels of all positions; HasWindowS8 says for which size, channels and tier.
func (w *WindowS8) Run(t Tier, size, channels int) {
	p := *w
	p.order = &quadBytes
	most := uintptr(windowMost / lanesOf(t))
	for left := w.Count; ; {
		p.Count = min(left, most)
		p.positions(t, size, channels)
		if left -= p.Count; left == 0 {
			return
		}
		for i := range p.Rows[:size] {
			p.Rows[i] = (*byte)(unsafe.Add(unsafe.Pointer(p.Rows[i]), p.Count*p.Step))
		}
		p.Out = (*int8)(unsafe.Add(unsafe.Pointer(p.Out), p.Count*p.Next))
	}
}

// positions is Run for a number of positions that one call may take.
func (w *WindowS8) positions(t Tier, size, channels int) {
	by := w.divide(t, size)
	p := *w
	lanes, blocks := lanesOf(t), windowBlocks(t, channels)
	most := max(1, windowMost/(int(w.Count)*lanes))
	if channels%lanes != 0 {
		blocks--
	}
	for at := 0; at < blocks; at += most {
		p.from, p.blocks = uintptr(at*lanes), uintptr(min(most, blocks-at))
		p.run(t, size, by)
	}
	if channels%lanes != 0 {
		p.from, p.blocks = uintptr(channels-lanes), 1
		p.run(t, size, by)
	}
}

// divide makes groups for a kernel of t, and gives how many columns there are from a position to the next in that kernel.
func (w *WindowS8) divide(t Tier, size int) (by int) {
	w.weights = 0
	w.back = w.Step - uintptr(size-1)*w.Stride
	n := uintptr(windowGroupS8(t, size))
	by = w.windowGroups.divide(n, w.Count, w.Step, w.Stride)
	w.replaceRest(n, w.Step, w.Next)
	return by
}
