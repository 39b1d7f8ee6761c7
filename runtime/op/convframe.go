package op

// framing is what a convolution with channels innermost copies its input into: a frame of zeros, which lets all positions see
// whole windows.
type framing struct {
	framed bool
	plain  volume // the input without the frame
	around triple // how wide the frame is
}

// widen lets c, which is not widened yet, read the frame; fillFrame fills it.
func (f *framing) widen(c *conv) {
	*f = framing{true, c.in, c.pad}
	in := &c.in
	for i := range in.size {
		in.size[i] += 2 * c.pad[i]
	}
	in.step[2] = in.channels
	in.step[1] = in.size[2] * in.step[2]
	in.sn = in.size[1] * in.step[1]
	c.pad = triple{}
}

// fillFrame copies the input of a job that is widened; those of others stay.
func fillFrame(call *Call, j *convJob[float32], f *framing) error {
	if !f.framed {
		return nil
	}
	in := &j.in
	x, err := tempOf[float32](call, in.batch*in.sn)
	if err != nil {
		return err
	}
	for n := range in.batch {
		f.fillImage(x[n*in.sn:][:in.sn], j.x[n*f.plain.sn:], in)
	}
	j.x = x
	return nil
}

// fillImage makes image x, which lies as in says, that of src with zeros around.
func (f *framing) fillImage(x, src []float32, in *volume) {
	plain, beside := &f.plain, f.around[2]*in.step[2]
	zeros := f.around[1]*in.step[1] + beside // in front of a row
	for h := range plain.size[1] {
		clear(x[:zeros])
		x = x[zeros:]
		row := x[:plain.size[2]*in.channels]
		plain.copyRow(row, src[h*plain.step[1]:], in.channels)
		x, zeros = x[len(row):], 2*beside
	}
	clear(x)
}

// copyRow copies a row of v, whose channels are innermost, to columns that are so far apart.
func (v *volume) copyRow(dst, src []float32, apart int) {
	if v.step[2] == v.channels && apart == v.channels {
		copy(dst, src)
		return
	}
	for w := range v.size[2] {
		copy(dst[w*apart:][:v.channels], src[w*v.step[2]:])
	}
}
