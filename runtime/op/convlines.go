package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// maxTaps is how many taps the vector kernels take; larger kernels run tap by tap.
const maxTaps = 64

// lines is a depthwise convolution of float32 whose sums a vector kernel makes.
type lines[T number] struct {
	convJob[T]
	sums *kernel.TapsF32
	// empty are as many zeros as there are channels.
	empty   []T
	planes  phases
	scratch []T // of every worker: the planes of a channel, and a plane of outputs
	workers int
}

// vectorLines computes a depthwise convolution by a vector kernel, if there is one for it.
func vectorLines[T number](call *Call, j *convJob[T]) (bool, error) {
	sums := kernel.TapsKernels(call.Tier)
	if !isFloat32[T]() || sums == nil || j.taps() > maxTaps {
		return false, nil
	}
	l := lines[T]{convJob: *j, sums: sums, workers: 1}
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
	return true, l.compute(call)
}

// inner reports whether the channels of a position make a line.
func (l *lines[T]) inner() bool { return l.outPer == 1 && l.out.channels >= l.sums.Lanes }

// outer reports whether the positions of a channel make a line.
func (l *lines[T]) outer() bool {
	p, ok := phasesOf(&l.conv)
	l.planes = p
	return ok && l.line() >= l.sums.Lanes
}

// line is how many sums a channel has: those of all positions, with the ends of the planes' rows between them.
func (l *lines[T]) line() int { return (l.out.size[1]-1)*l.planes.width + l.out.size[2] }

// space is how many elements of scratch a worker has.
func (l *lines[T]) space() int { return l.planes.space() + l.planes.size() }

func (l *lines[T]) compute(call *Call) error {
	var err error
	size := l.out.channels
	if !l.channelsInner {
		size += l.workers * l.space()
	}
	if l.empty, err = tempOf[T](call, size); err != nil {
		return err
	}
	clear(l.empty)
	l.empty, l.scratch = l.empty[:l.out.channels], l.empty[l.out.channels:]
	if l.workers == 1 {
		l.part(0)
		return nil
	}
	share(call, l, l.workers, 1)
	return nil
}

// parts does the shares of workers lo to hi.
func (l *lines[T]) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		l.part(i)
	}
}

// part does the share of a worker: rows of positions, or channels.
func (l *lines[T]) part(worker int) {
	o := &l.out
	total := o.batch * o.channels
	if l.channelsInner {
		total = o.batch * o.size[0] * o.size[1]
	}
	t := kernel.Taps{Count: uintptr(l.taps()), Start: at32(l.empty, 0), Step: uintptr(o.channels * f32Size),
		Low: kernel.Unclamped[0], High: kernel.Unclamped[1]}
	for i := total * worker / l.workers; i < total*(worker+1)/l.workers; i++ {
		if l.channelsInner {
			l.positions(t, i/(o.size[0]*o.size[1]), i/o.size[1]%o.size[0], i%o.size[1])
		} else {
			l.channel(t, i/o.channels, i%o.channels, l.scratch[worker*l.space():][:l.space()])
		}
	}
}

// positions computes all channels of one row of positions of image n.
func (l *lines[T]) positions(t kernel.Taps, n, d, h int) {
	var inputs [maxTaps]*float32
	t.Inputs, t.Weights = &inputs[0], at32(l.w, 0)
	if l.bias != nil {
		t.Start = at32(l.bias, 0)
	}
	o, in := &l.out, &l.in
	for w := range o.size[2] {
		for k := range l.taps() {
			sd := l.source(0, d, k/(l.kernel[1]*l.kernel[2]))
			sh, sw := l.source(1, h, k/l.kernel[2]%l.kernel[1]), l.source(2, w, k%l.kernel[2])
			inputs[k] = at32(l.empty, 0)
			if sd >= 0 && sh >= 0 && sw >= 0 {
				inputs[k] = at32(l.x, n*in.sn+sd*in.step[0]+sh*in.step[1]+sw*in.step[2])
			}
		}
		t.Out = at32(l.y, n*o.sn+d*o.step[0]+h*o.step[1]+w*o.step[2])
		l.sums.Each(&t, o.channels)
	}
}

// channel computes all positions of output channel c of image n.
func (l *lines[T]) channel(t kernel.Taps, n, c int, scratch []T) {
	var inputs [maxTaps]*float32
	o := &l.out
	out := scratch[l.planes.space():]
	spreadChannel(&l.planes, scratch, l.x[n*l.in.sn+c/l.outPer*l.in.sc:])
	for k := range l.taps() {
		inputs[k] = at32(scratch, l.planes.tap(k))
	}
	t.Inputs, t.Weights, t.Out = &inputs[0], at32(l.w, c), at32(out, 0)
	if l.bias != nil {
		t.Start = at32(l.bias, c)
	}
	l.sums.Line(&t, l.line())
	y := l.y[n*o.sn+c*o.sc:]
	for h := range o.size[1] {
		copy(y[h*o.size[2]:(h+1)*o.size[2]], out[h*l.planes.width:])
	}
}
