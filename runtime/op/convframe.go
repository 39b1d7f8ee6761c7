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
	in, plain := &j.in, &f.plain
	x, err := tempOf[float32](call, in.batch*in.sn)
	if err != nil {
		return err
	}
	clear(x)
	for n := range in.batch {
		for h := range plain.size[1] {
			from, to := n*plain.sn+h*plain.step[1], n*in.sn+(h+f.around[1])*in.step[1]+f.around[2]*in.step[2]
			if plain.step[2] == in.channels {
				copy(x[to:], j.x[from:from+plain.size[2]*in.channels])
				continue
			}
			for range plain.size[2] {
				copy(x[to:to+in.channels], j.x[from:from+in.channels])
				from, to = from+plain.step[2], to+in.step[2]
			}
		}
	}
	j.x = x
	return nil
}
