package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// maxTaps is how many taps the vector kernels take; larger kernels run tap by tap.
const maxTaps = kernel.WindowMost * kernel.WindowMost

// lines is a depthwise convolution of float32 whose sums a vector kernel makes.
type lines struct {
	convJob[float32]
	sums *kernel.TapsF32
	tier kernel.Tier
	// empty are as many zeros as there are channels.
	empty   []float32
	window  bool // a kernel computes the positions of a row that see all its columns
	planes  phases
	scratch []float32 // of every worker: the planes of a channel, and a plane of outputs, or what windows copy
	workers int
	framing
}

// vectorLines computes a depthwise convolution by a vector kernel, if there is one for it.
func vectorLines(call *Call, j *convJob[float32]) (bool, error) {
	if kernel.TapsKernels(call.Tier) == nil || j.taps() > maxTaps {
		return false, nil
	}
	l := lines{convJob: *j, workers: 1, tier: call.Tier}
	if call.Parallel != nil && len(j.y)*j.taps() >= gemmParallelMin {
		l.workers = convWorkers
	}
	fits := l.inner
	if !j.channelsInner {
		fits = l.outer
	}
	if !fits() {
		return false, nil
	}
	if l.window && l.frames() {
		l.widen(&l.conv)
	}
	k := keep[lines](call)
	k.job = l
	return true, k.job.compute(call, k.run)
}

// framedElements is how many elements are copied in the time that a position takes which does not see its whole window, beside
// one for every two of its products.
const framedElements = 256

// frames reports whether there can be a frame, which has one depth, and costs less than the positions at the ends of rows.
func (l *lines) frames() bool {
	_, ends, _ := l.border(2)
	in := &l.in
	return in.size[0] == 1 && l.pad[0] == 0 && ends > 0 && (in.size[1]+2*l.pad[1])*(in.size[2]+2*l.pad[2])*in.channels <= (framedElements+in.channels*l.taps()/2)*ends*l.out.size[1]
}

// inner reports whether the channels of a position make a line.
func (l *lines) inner() bool {
	l.window = l.outPer == 1 && l.kernel[0] == 1 && l.kernel[1] == l.kernel[2] && kernel.HasWindow(l.tier.Narrow(l.out.channels), l.kernel[1], l.out.channels)
	return l.outPer == 1 && l.takes(l.out.channels)
}

// outer reports whether the positions of a channel make a line.
func (l *lines) outer() bool {
	p, ok := phasesOf(&l.conv)
	l.planes = p
	return ok && l.takes(l.line())
}

// takes chooses the kernel of lines of n elements, and reports whether there is one.
func (l *lines) takes(n int) bool {
	l.tier = l.tier.Narrow(n)
	l.sums = kernel.TapsKernels(l.tier)
	return n >= l.sums.Lanes
}

// line is how many sums a channel has: those of all positions, with the ends of the planes' rows between them.
func (l *lines) line() int { return (l.out.size[1]-1)*l.planes.width + l.out.size[2] }

// space is how many elements of scratch a worker has.
func (l *lines) space() int {
	switch {
	case !l.channelsInner:
		return l.planes.space() + l.planes.size()
	case l.window:
		return kernel.WindowSpace(l.tier, l.kernel[1])
	}
	return 0
}

// compute computes a convolution that is laid out; run does parts of it.
func (l *lines) compute(call *Call, run func(lo, hi int)) error {
	if err := fillFrame(call, &l.convJob, &l.framing); err != nil {
		return err
	}
	empty := l.out.channels
	if l.window {
		empty *= (l.out.size[2]-1)*l.stride[2] + (l.kernel[2]-1)*l.dilation[2] + 1
	}
	both, err := tempOf[float32](call, empty+l.workers*l.space())
	if err != nil {
		return err
	}
	clear(both)
	l.empty, l.scratch = both[:empty], both[empty:]
	if l.workers == 1 {
		l.part(0)
		return nil
	}
	call.Parallel(l.workers, 1, run)
	return nil
}

// parts does the shares of workers lo to hi.
func (l *lines) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		l.part(i)
	}
}

// part does the share of a worker: rows of positions, or channels.
func (l *lines) part(worker int) {
	o := &l.out
	total := o.batch * o.channels
	if l.channelsInner {
		total = o.batch * o.size[0] * o.size[1]
	}
	t := kernel.Taps{Count: uintptr(l.taps()), Start: at32(l.empty, 0), Step: uintptr(o.channels * f32Size),
		Low: l.bounds[0], High: l.bounds[1]}
	scratch := l.scratch[worker*l.space():][:l.space()]
	var see sight
	from := total * worker / l.workers
	for i := from; i < total*(worker+1)/l.workers; i++ {
		if l.channelsInner {
			l.positions(t, &see, scratch, i/(o.size[0]*o.size[1]), i/o.size[1]%o.size[0], i%o.size[1])
		} else {
			l.channel(t, &see, i/o.channels, i%o.channels, scratch, i == from)
		}
	}
}

// sight is what a position sees: the inputs of each row of the kernel, nil outside, and those of each tap.
type sight struct {
	rows   [maxTaps][]float32
	inputs [maxTaps]*float32
}

// positions computes all channels of one row of positions of image n.
func (l *lines) positions(t kernel.Taps, see *sight, scratch []float32, n, d, h int) {
	if l.bias != nil {
		t.Start = at32(l.bias, 0)
	}
	in := &l.in
	for k := range l.kernel[0] * l.kernel[1] {
		sd, sh := l.source(0, d, k/l.kernel[1]), l.source(1, h, k%l.kernel[1])
		see.rows[k] = nil
		if sd >= 0 && sh >= 0 {
			see.rows[k] = l.x[n*in.sn+sd*in.step[0]+sh*in.step[1]:]
		}
	}
	y := l.y[n*l.out.sn+d*l.out.step[0]+h*l.out.step[1]:]
	s := stretch{limit: l.out.size[2]}
	for l.next(2, &s) {
		if l.window && s.taps() == l.kernel[2] {
			l.windows(&t, y, see, scratch, &s)
			continue
		}
		for w := s.from; w < s.to; w++ {
			l.position(&t, y, see, &s, w)
		}
	}
}

// position computes all channels of position w of a row, which sees the taps of s.
func (l *lines) position(t *kernel.Taps, y []float32, see *sight, s *stretch, w int) {
	first, width := w*l.stride[2]-l.pad[2], l.kernel[2]
	for k, row := range see.rows[:l.taps()/width] {
		for j := range width {
			see.inputs[k*width+j] = at32(l.empty, 0)
			if row != nil && j >= s.lo && j < s.hi {
				see.inputs[k*width+j] = at32(row, (first+j*l.dilation[2])*l.in.step[2])
			}
		}
	}
	one := *t
	one.Inputs, one.Weights, one.Out = &see.inputs[0], at32(l.w, 0), at32(y, w*l.out.step[2])
	l.sums.Each(&one, l.out.channels)
}

// windows computes all channels of the positions s of a row, which see all columns of the kernel.
func (l *lines) windows(t *kernel.Taps, y []float32, see *sight, scratch []float32, s *stretch) {
	in := &l.in
	w := kernel.Window{Weights: at32(l.w, 0), Start: t.Start, Out: at32(y, s.from*l.out.step[2]), Copy: at32(scratch, 0), Stride: uintptr(l.dilation[2]*in.step[2]) * f32Size,
		Step: uintptr(l.stride[2]*in.step[2]) * f32Size, Next: uintptr(l.out.step[2]) * f32Size, Count: uintptr(s.to - s.from), Tap: t.Step,
		Low: t.Low, High: t.High}
	for k := range l.kernel[1] {
		w.Rows[k] = at32(l.empty, 0)
		if row := see.rows[k]; row != nil {
			w.Rows[k] = at32(row, (s.from*l.stride[2]-l.pad[2])*in.step[2])
		}
	}
	w.Run(l.tier, l.kernel[1], l.out.channels)
}

// channel computes all positions of output channel c of image n. Scratch has the planes of the channel before if that is not the first.
func (l *lines) channel(t kernel.Taps, see *sight, n, c int, scratch []float32, first bool) {
	o := &l.out
	out := scratch[l.planes.space():]
	if first || c%l.outPer == 0 {
		spreadChannel(&l.planes, scratch, l.x[n*l.in.sn+c/l.outPer*l.in.sc:])
	}
	for k := range l.taps() {
		see.inputs[k] = at32(scratch, l.planes.tap(k))
	}
	t.Inputs, t.Weights, t.Out = &see.inputs[0], at32(l.w, c), at32(out, 0)
	if l.bias != nil {
		t.Start = at32(l.bias, c)
	}
	l.sums.Line(&t, l.line())
	y := l.y[n*o.sn+c*o.sc:]
	for h := range o.size[1] {
		copy(y[h*o.size[2]:(h+1)*o.size[2]], out[h*l.planes.width:])
	}
}
