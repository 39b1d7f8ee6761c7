package quant

import "github.com/rules-pte/rules_pte/runtime/kernel"

// Windows computes the lines of results of a depthwise convolution by kernels of windows. It frames the rows of the input that a
// line sees with padding, in the bytes that kernels take, and keeps them for the next line.
type Windows struct {
	*Conv
	*Depthwise
	X       []int8  // the images
	Start   []int32 // as Depthwise.Start makes it
	Factors []float32
	Bounds
	frames []byte // those of as many rows as the kernel has, and one of padding alone
	// rows are the rows in frames: one more than the number of each among those of all images, or 0.
	rows [kernel.WindowMostS8]int
}

// Windowed reports that Windows computes the convolution, and Line does not; false for nil.
func (d *Depthwise) Windowed() bool { return d != nil && d.window != nil }

// frameBytes is the size of a framed row.
func (c *Conv) frameBytes() int { return ((c.OutWidth-1)*c.StrideWidth + c.KernelWidth) * c.Channels }

// FramesBytes is the size of the frames of Windows.
func (c *Conv) FramesBytes() int { return (c.KernelHeight + 1) * c.frameBytes() }

// Use makes frames, of FramesBytes, what w keeps rows in; padding has the input's zero point.
func (w *Windows) Use(frames []byte, zero int8) {
	w.frames, w.rows = frames, [kernel.WindowMostS8]int{}
	Fill(frames, byte(int(zero)+flip))
}

// frame is frame i.
func (w *Windows) frame(i int) []byte {
	n := w.frameBytes()
	return w.frames[i*n : (i+1)*n]
}

// Line sets o, [OutWidth, Outputs], to line y of an image's results.
func (w *Windows) Line(o []int8, image, y int) {
	o = o[:w.OutWidth*w.Outputs]
	k := kernel.WindowS8{Weights: &w.window[0], Start: &w.Start[0], Factors: &w.Factors[0], Out: &o[0], Stride: uintptr(w.Channels),
		Step: uintptr(w.StrideWidth * w.Channels), Next: uintptr(w.Outputs), Count: uintptr(w.OutWidth),
		Low: w.Low - w.Zero, High: w.High - w.Zero, Zero: int32(w.Zero)}
	for i := range w.KernelHeight {
		k.Rows[i] = &w.row(image, y*w.StrideHeight-w.Top+i)[0]
	}
	k.Run(w.tier, w.KernelHeight, w.Channels)
}

// row is the frame of row y of an image; rows outside are padding.
func (w *Windows) row(image, y int) []byte {
	if y < 0 || y >= w.Height {
		return w.frame(w.KernelHeight)
	}
	at, row := y%w.KernelHeight, image*w.Height+y
	f := w.frame(at)
	if w.rows[at] != row+1 {
		w.rows[at] = row + 1
		size, inside := w.Width*w.Channels, f[min(w.Left*w.Channels, len(f)):]
		w.tiles.Load(inside, w.X[row*size:][:min(size, len(inside))])
	}
	return f
}
