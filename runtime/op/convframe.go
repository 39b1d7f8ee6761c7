package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// framing is what a convolution with channels innermost copies its input into: a frame of zeros, which lets all positions see
// whole windows.
type framing struct {
	framed bool
	plain  volume    // the input without the frame
	within volume    // the input within the frame
	around triple    // how wide the frame is
	source []float32 // what is copied into the frame
	frame  []float32 // where to, while that is under way
}

// frames reports whether a convolution takes less time with its input in a frame.
func (c *conv) frames() bool { return c.pad != triple{} && c.framedCost() < c.borderCost() }

// widen lets c, which is not widened yet, read the frame; fillFrame fills it.
func (f *framing) widen(c *conv) {
	*f = framing{framed: true, plain: c.in, around: c.pad}
	in := &c.in
	if c.planes {
		f.plain.lieInPlanes()
	}
	for i := range in.size {
		in.size[i] += 2 * c.pad[i]
	}
	in.step[2] = in.channels
	in.step[1] = in.size[2] * in.step[2]
	in.sn = in.size[1] * in.step[1]
	f.within, c.pad = *in, triple{}
}

// lieInPlanes lets images lie channel by channel.
func (v *volume) lieInPlanes() {
	v.step = triple{v.size[1] * v.size[2], v.size[2], 1}
	v.sc = v.size.product()
	v.sn = v.channels * v.sc
}

// fillFrame copies the input of a job that is widened; those of others stay. each runs what calls fillRows for so many rows.
func (f *framing) fillFrame(call *Call, j *convJob[float32], each func(rows int)) (err error) {
	if !f.framed {
		return nil
	}
	if f.frame, err = tempOf[float32](call, f.within.batch*f.within.sn); err != nil {
		return err
	}
	f.source = j.x
	each(f.within.batch * f.within.size[1])
	j.x, f.source, f.frame = f.frame, nil, nil
	return nil
}

// fillRows copies rows lo to hi of all images with zeros around.
func (f *framing) fillRows(lo, hi int) {
	in := &f.within
	beside := f.around[2] * in.step[2]
	for r := lo; r < hi; r++ {
		row := f.frame[r*in.step[1]:][:in.step[1]]
		n, h := r/in.size[1], r%in.size[1]-f.around[1]
		if h < 0 || h >= f.plain.size[1] {
			clear(row)
			continue
		}
		clear(row[:beside])
		clear(row[len(row)-beside:])
		f.plain.copyRow(row[beside:len(row)-beside], f.source[n*f.plain.sn+h*f.plain.step[1]:], in.channels)
	}
}

// copyRow copies a row of v to columns that are so far apart, in which the channels are innermost.
func (v *volume) copyRow(dst, src []float32, apart int) {
	switch {
	case v.sc != 1:
		kernel.Transpose(dst, src, v.size[2], v.channels, apart, v.sc)
	case v.step[2] == v.channels && apart == v.channels:
		copy(dst, src)
	default:
		for w := range v.size[2] {
			copy(dst[w*apart:][:v.channels], src[w*v.step[2]:])
		}
	}
}
