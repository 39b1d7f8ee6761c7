package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// phased reports a transposed convolution with channels innermost that is computed by ordinary ones, a phase for each place within
// a stride: its results have the same taps, every stride-th of them, and lie stride apart. Sizes of images do not matter, since weights
// are packed before they are known.
func (c *conv) phased() bool {
	if c.micro == nil || !c.transposed || !c.channelsInner || c.groups != 1 || c.in.sc != 1 || c.out.sc != 1 || c.deep {
		return false
	}
	for axis := 1; axis < 3; axis++ {
		if !axisHasPhases(c.kernel[axis], c.stride[axis], c.pad[axis], c.dilation[axis]) {
			return false
		}
	}
	return true
}

// axisHasPhases reports whether every phase of an axis has a tap, next to the one before, and no negative padding.
func axisHasPhases[T int | int64](kernel, stride, pad, dilation T) bool {
	return (dilation == 1 || kernel == 1) && pad <= kernel-stride
}

// hasPhases reports whether a transposed convolution of two dimensions at most is phased where its channels are innermost.
func hasPhases(args []Value) bool {
	w := args[convWeight].Tensor
	for i, n := range w.Sizes[2:] {
		if !axisHasPhases(n, perAxis(&args[convStride], i, 1), perAxis(&args[convPadding], i, 0), perAxis(&args[convDilation], i, 1)) {
			return false
		}
	}
	return args[convGroups].Int == 1
}

// phase is one place within the stride of an axis: from the first result on every stride-th, which see so many taps of the input, padded
// in front.
type phase struct{ first, count, taps, pad int }

func (c *conv) phase(axis, r int) (p phase) {
	s, pad := c.stride[axis], c.pad[axis]
	p.first = ((r-pad)%s + s) % s
	p.count = max(0, (c.out.size[axis]-p.first+s-1)/s)
	p.taps = (c.kernel[axis] - r + s - 1) / s
	p.pad = p.taps - 1 - (p.first+pad-r)/s
	return p
}

// eachPhase calls f with the ordinary convolution of each phase, where its results begin, and the place within the stride.
func (c *conv) eachPhase(f func(p *conv, at, h, w int)) {
	for h := range c.stride[1] {
		for w := range c.stride[2] {
			p, y, x := *c, c.phase(1, h), c.phase(2, w)
			p.transposed, p.stride, p.dilation = false, triple{1, 1, 1}, triple{1, 1, 1}
			p.kernel, p.pad, p.out.size = triple{1, y.taps, x.taps}, triple{0, y.pad, x.pad}, triple{1, y.count, x.count}
			p.out.step[1] *= c.stride[1]
			p.out.step[2] *= c.stride[2]
			f(&p, y.first*c.out.step[1]+x.first*c.out.step[2], h, w)
		}
	}
}

// phasesPacked is the length of the packed weights of all phases.
func (c *conv) phasesPacked() (n int) {
	c.eachPhase(func(p *conv, _, _, _ int) { n += p.len(p.depth(), p.outPer) })
	return n
}

// packPhases writes the panels of each phase: its taps from the last to the first.
func packPhases[T number](dst []T, c *conv, x []T, s *[tensor.MaxRank]int) {
	c.eachPhase(func(p *conv, _, h, w int) {
		for j := 0; j < c.outPer; j += c.cols {
			n := min(c.cols, c.outPer-j)
			width := c.width(n)
			for t := p.taps() - 1; t >= 0; t-- {
				tap := (h+t/p.kernel[2]*c.stride[1])*c.kernel[2] + w + t%p.kernel[2]*c.stride[2]
				at := c.tapOffset(tap, s) + j*s[1]
				for range c.inPer {
					for l := range n {
						dst[l] = x[at+l*s[1]]
					}
					clear(dst[n:width])
					dst, at = dst[width:], at+s[0]
				}
			}
		}
	})
}

// transposedJob is a transposed convolution that is phased.
type transposedJob struct {
	convJob[float32]
	list []phaseJob
	now  int // the phase that runs
}

// phaseJob is a phase, whose results begin at at.
type phaseJob struct {
	segments
	at int
}

// convPhased computes a convolution that is phased.
func convPhased(call *Call, j *convJob[float32]) error {
	k := keep[transposedJob](call)
	k.job.convJob = *j
	k.job.layOut(call.Threads)
	return k.job.compute(call, k.run)
}

// layOut decides all that depends on sizes alone.
func (j *transposedJob) layOut(threads int) {
	list, w := j.list[:0], j.w
	j.eachPhase(func(p *conv, at, _, _ int) {
		s := segments{convJob: j.convJob, bare: true}
		n := p.len(p.depth(), p.outPer)
		s.conv, s.w, w = *p, w[:n], w[n:]
		if p.out.size.product() > 0 {
			s.layOut(threads)
			list = append(list, phaseJob{s, at})
		}
	})
	j.list = list
}

func (j *transposedJob) compute(call *Call, run func(lo, hi int)) error {
	for i := range j.list {
		p := &j.list[i]
		j.now, p.x, p.y, p.bias = i, j.x, j.y[p.at:], j.bias
		if err := p.compute(call, run); err != nil {
			return err
		}
	}
	return nil
}

// parts computes pieces lo to hi of the phase that runs.
func (j *transposedJob) parts(lo, hi int) { j.list[j.now].parts(lo, hi) }
