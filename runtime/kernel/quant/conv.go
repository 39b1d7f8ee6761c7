package quant

// Conv is the geometry of a convolution over images in NHWC.
type Conv struct {
	Height, Width, Channels           int // of the input
	OutHeight, OutWidth               int
	KernelHeight, KernelWidth         int
	StrideHeight, StrideWidth         int
	DilationHeight, DilationWidth     int
	Top, Left                         int // padding
	Groups, GroupInputs, GroupOutputs int
}

// Depth is the length of a row of the unfolded input of a group.
func (c *Conv) Depth() int { return c.KernelHeight * c.KernelWidth * c.GroupInputs }

// Direct reports that pixels of the input are rows of the unfolded input.
func (c *Conv) Direct() bool {
	return c.KernelHeight == 1 && c.KernelWidth == 1 && c.StrideHeight == 1 && c.StrideWidth == 1 && c.Top == 0 && c.Left == 0 &&
		c.OutHeight == c.Height && c.OutWidth == c.Width && c.Groups == 1
}

// source is the offset of the pixel that a tap sees from an output position; ok is false in the padding.
func (c *Conv) source(pos, tap int) (at int, ok bool) {
	y := pos/c.OutWidth*c.StrideHeight - c.Top + tap/c.KernelWidth*c.DilationHeight
	x := pos%c.OutWidth*c.StrideWidth - c.Left + tap%c.KernelWidth*c.DilationWidth
	return (y*c.Width + x) * c.Channels, y >= 0 && y < c.Height && x >= 0 && x < c.Width
}

// Unfold writes the rows of m output positions of one image x from pos on: what the kernel sees of a group's channels
// there, and zero in the padding.
func (c *Conv) Unfold(dst, x []int8, pos, m, group int, zero int8) {
	for i := range m {
		for t := range c.KernelHeight * c.KernelWidth {
			row := dst[:c.GroupInputs]
			dst = dst[c.GroupInputs:]
			if at, ok := c.source(pos+i, t); ok {
				copy(row, x[at+group*c.GroupInputs:])
				continue
			}
			for k := range row {
				row[k] = zero
			}
		}
	}
}

// Depthwise sets sums to those of all output channels at one position of image x. weights are [KernelHeight,
// KernelWidth, outputs], and each group has one input channel.
func (c *Conv) Depthwise(sums []int32, x, weights []int8, pos int, zero int32) {
	clear(sums)
	n := len(sums)
	for t := range c.KernelHeight * c.KernelWidth {
		at, ok := c.source(pos, t)
		if !ok {
			continue
		}
		w, pixel := weights[t*n:(t+1)*n], x[at:at+c.Channels]
		if c.GroupOutputs == 1 {
			for k, v := range pixel[:n] {
				sums[k] += (int32(v) - zero) * int32(w[k])
			}
			continue
		}
		for k := range sums {
			sums[k] += (int32(pixel[k/c.GroupOutputs]) - zero) * int32(w[k])
		}
	}
}
