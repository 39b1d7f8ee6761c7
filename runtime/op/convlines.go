package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// maxTaps is how many taps the vector kernels take; larger kernels run tap by tap.
const maxTaps = kernel.WindowMost * kernel.WindowMost

// linesParallelMin is the number of multiplications from which lines are divided among threads. Most of the time of depthwise
// ones goes into fetching their input, and what lies in the cache of another core takes longest.
const linesParallelMin = 1 << 16

// lines is a convolution of float32, depthwise or of groups of few channels, whose sums a vector kernel makes.
type lines struct {
	convJob[float32]
	sums *kernel.TapsF32
	tier kernel.Tier
	// empty are zeros: as many as there are channels, or as a row has that windows see.
	empty   []float32
	window  bool // a kernel computes the positions of a row that see all its columns
	planes  phases
	scratch []float32 // of every slot: the planes of a channel, and a plane of outputs, or what windows copy, and a ring
	workers int
	slots   Slots
	// rings says that rows are copied into rings, with zeros at both ends, so that all positions see all columns; plain is the input
	// without those.
	rings bool
	plain volume
}

// vectorLines computes a depthwise convolution, or one whose weights are packed for groups of few channels, by a vector kernel, if there
// is one for it.
func vectorLines(call *Call, j *convJob[float32]) (bool, error) {
	if kernel.TapsKernels(call.Tier) == nil || j.taps() > maxTaps {
		return false, nil
	}
	l := lines{convJob: *j, workers: 1, tier: call.Tier}
	if call.Parallel != nil && call.Threads > 1 && j.work() >= linesParallelMin {
		l.workers = convWorkers
	}
	fits := l.inner
	switch {
	case j.grouped():
		fits = l.few
	case !j.channelsInner:
		fits = l.outer
	}
	if !fits() {
		return false, nil
	}
	if l.window && l.pays() {
		l.widen()
		l.workers = min(l.workers, max(1, call.Threads, l.out.batch*l.out.size[1]/(2*l.ringRows()))) // each copies the rows around its own
	}
	k := keep[lines](call)
	k.job = l
	return true, k.job.compute(call, k.run)
}

// ringElements is how many elements are copied in the time that a position takes which does not see its whole window, beside
// one for every four of its products.
const ringElements = 256

// pays reports whether there can be rings, which costs less than the positions at the ends of rows; groups have no other way to compute
// those.
func (l *lines) pays() bool {
	if l.grouped() {
		return l.pad[2] > 0
	}
	ends, in := 0, &l.in
	s := stretch{limit: l.out.size[2]}
	for l.next(2, &s) {
		if s.taps() < l.kernel[2] {
			ends += s.len()
		}
	}
	return l.ringRows() <= maxRing && in.size[0] == 1 && l.pad[0] == 0 && ends > 0 &&
		in.size[1]*in.size[2]*in.channels <= (ringElements+in.channels*l.taps()/4)*ends*l.out.size[1]
}

// maxRing is how many rows a ring has at most.
const maxRing = 4 * kernel.WindowMost

// ringRows is how many rows a ring has: from the first that a position sees to the last, if the image has so many.
func (l *lines) ringRows() int { return min((l.kernel[1]-1)*l.dilation[1]+1, l.in.size[1]) }

// widen lets rows be those of rings.
func (l *lines) widen() {
	l.rings, l.plain = true, l.in
	in := &l.in
	in.size[2] += 2 * l.pad[2]
	in.step[2] = ringStep(in.channels)
	l.pad[2] = 0
}

// ringStep is how many elements lie between the columns of a ring: if they were a multiple of 2 KiB apart, too many of them would share
// places in the first-level cache.
func ringStep(channels int) int {
	if channels%512 == 0 {
		return channels + 16
	}
	return channels
}

// ring has the rows of the image that were copied last.
type ring struct {
	data []float32
	rows [maxRing]int // which row is in each place, counted from 1 over all images; 0 for none
}

// row is row h of image n with zeros at both ends.
func (l *lines) row(r *ring, n, h int) []float32 {
	at, size := h%l.ringRows(), l.in.size[2]*l.in.step[2]
	row := r.data[at*size:][:size]
	if id := n*l.in.size[1] + h + 1; r.rows[at] != id {
		l.fill(row, l.x[n*l.plain.sn+h*l.plain.step[1]:], r.rows[at] == 0)
		r.rows[at] = id
	}
	return row
}

// fill copies a row of the image, and clears the ends before the first.
func (l *lines) fill(row, x []float32, first bool) {
	step := l.in.step[2]
	ends := (l.in.size[2] - l.plain.size[2]) / 2 * step
	if first {
		clear(row[:ends])
		clear(row[len(row)-ends:])
	}
	l.plain.copyRow(row[ends:len(row)-ends], x, step)
}

// inner reports whether the channels of a position make a line.
func (l *lines) inner() bool {
	l.window = l.outPer == 1 && l.kernel[0] == 1 && l.kernel[1] == l.kernel[2] && kernel.HasWindow(l.tier.Narrow(l.out.channels), l.kernel[1], l.out.channels)
	return l.outPer == 1 && l.takes(l.out.channels)
}

// few takes windows of groups of few channels.
func (l *lines) few() bool {
	l.window, l.tier = true, l.groupTier
	return true
}

// outer reports whether the positions of a channel make a line.
func (l *lines) outer() bool {
	l.planes = phasesOf(&l.conv)
	return l.takes(l.planes.line())
}

// takes chooses the kernel of lines of n elements, and reports whether there is one.
func (l *lines) takes(n int) bool {
	l.tier = l.tier.Narrow(n)
	l.sums = kernel.TapsKernels(l.tier)
	return n >= l.sums.Lanes
}

// space is how many elements of scratch a slot has.
func (l *lines) space() int {
	switch {
	case !l.channelsInner:
		return l.planes.space() + l.planes.size()
	case l.rings:
		return l.copySpace() + l.ringRows()*l.in.size[2]*l.in.step[2]
	}
	return l.copySpace()
}

// copySpace is how many elements kernels of windows copy.
func (l *lines) copySpace() int {
	if !l.window || l.grouped() {
		return 0
	}
	return kernel.WindowSpace(l.tier, l.kernel[1])
}

// compute computes a convolution that is laid out; run does parts of it.
func (l *lines) compute(call *Call, run func(lo, hi int)) error {
	empty := l.out.channels
	if l.window {
		empty = l.empties()
	}
	l.slots = Slots{Count: 1, Items: l.workers}
	if l.workers > 1 {
		l.slots.Count = max(1, min(call.Threads, MaxSlots))
	}
	both, err := tempOf[float32](call, empty+l.slots.Count*(l.space()+SlotGap/f32Size))
	if err != nil {
		return err
	}
	l.empty, l.scratch = both[:empty], both[empty:]
	clear(l.empty)
	if !l.channelsInner {
		clear(l.scratch)
	}
	if l.workers == 1 {
		l.parts(0, 1)
		return nil
	}
	call.Parallel(l.workers, 1, run)
	return nil
}

// empties is how many elements a row has that the positions of a row see.
func (l *lines) empties() int {
	return ((l.out.size[2]-1)*l.stride[2]+(l.kernel[2]-1)*l.dilation[2])*l.in.step[2] + l.out.channels
}

// parts does the shares of workers lo to hi.
func (l *lines) parts(lo, hi int) {
	mine := l.slots.Enter(lo)
	defer l.slots.Leave(mine)
	scratch := l.scratch[mine*(l.space()+SlotGap/f32Size):][:l.space()]
	for i := lo; i < hi; i++ {
		l.part(i, scratch)
	}
}

// part does the share of a worker: rows of positions, or channels.
func (l *lines) part(worker int, scratch []float32) {
	o := &l.out
	total := o.batch * o.channels
	if l.channelsInner {
		total = o.batch * o.size[0] * o.size[1]
	}
	t := kernel.Taps{Count: uintptr(l.taps()), Start: at32(l.empty, 0), Step: uintptr(o.channels * f32Size),
		Low: l.bounds[0], High: l.bounds[1]}
	var see sight
	if l.rings {
		see.ring.data = scratch[l.copySpace():]
	}
	from, to := total*worker/l.workers, total*(worker+1)/l.workers
	if !l.channelsInner {
		for i := from; i < to; i++ {
			l.channel(t, &see, i/o.channels, i%o.channels, scratch, i == from)
		}
		return
	}
	if l.bias != nil {
		t.Start = at32(l.bias, 0)
	}
	stride, step, next := uintptr(l.dilation[2]*l.in.step[2])*f32Size, uintptr(l.stride[2]*l.in.step[2])*f32Size, uintptr(o.step[2])*f32Size
	switch {
	case l.grouped():
		see.groups = kernel.GroupWindow{Weights: at32(l.w, 0), Start: t.Start, Stride: stride, Step: step, Next: next, Per: uintptr(l.inPer),
			Low: t.Low, High: t.High}
	case l.window:
		see.window = kernel.Window{Weights: at32(l.w, 0), Start: t.Start, Copy: at32(scratch, 0), Stride: stride, Step: step, Next: next,
			Tap: t.Step, Low: t.Low, High: t.High}
	}
	frame, h := from/o.size[1], from%o.size[1]
	for range to - from {
		l.positions(&t, &see, frame/o.size[0], frame%o.size[0], h)
		if h++; h == o.size[1] {
			frame, h = frame+1, 0
		}
	}
}

// sight is what a position sees: the inputs of each row of the kernel, nil outside, and those of each tap.
type sight struct {
	rows   [maxTaps][]float32
	inputs [maxTaps]*float32
	ring   ring
	window kernel.Window      // all but the rows, the results and how many positions there are
	groups kernel.GroupWindow // the same
}

// positions computes all channels of one row of positions of image n.
func (l *lines) positions(t *kernel.Taps, see *sight, n, d, h int) {
	in := &l.in
	for k := range l.kernel[0] * l.kernel[1] {
		sd, sh := l.source(0, d, k/l.kernel[1]), l.source(1, h, k%l.kernel[1])
		see.rows[k] = nil
		switch {
		case sd < 0 || sh < 0:
		case l.rings:
			see.rows[k] = l.row(&see.ring, n, sh)
		default:
			see.rows[k] = l.x[n*in.sn+sd*in.step[0]+sh*in.step[1]:]
		}
	}
	y := l.y[n*l.out.sn+d*l.out.step[0]+h*l.out.step[1]:]
	s := stretch{limit: l.out.size[2]}
	if l.rings {
		s.to, s.hi = s.limit, l.kernel[2]
		l.windows(y, see, &s)
		return
	}
	for l.next(2, &s) {
		if l.window && s.taps() == l.kernel[2] {
			l.windows(y, see, &s)
			continue
		}
		for w := s.from; w < s.to; w++ {
			l.position(t, y, see, &s, w)
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
func (l *lines) windows(y []float32, see *sight, s *stretch) {
	out, count := at32(y, s.from*l.out.step[2]), uintptr(s.len())
	first := (s.from*l.stride[2] - l.pad[2]) * l.in.step[2]
	if g := &see.groups; l.grouped() {
		l.firsts(g.Rows[:], see, first)
		g.Out, g.Count = out, count
		g.Run(l.tier, l.out.channels)
		return
	}
	w := &see.window
	l.firsts(w.Rows[:l.kernel[1]], see, first)
	w.Out, w.Count = out, count
	w.Run(l.tier, l.kernel[1], l.out.channels)
}

// firsts sets where a position sees the rows, first elements from their beginnings.
func (l *lines) firsts(rows []*float32, see *sight, first int) {
	for k := range rows {
		rows[k] = at32(l.empty, 0)
		if row := see.rows[k]; row != nil {
			rows[k] = at32(row, first)
		}
	}
}

// channel computes all positions of output channel c of image n. Scratch has the planes of the channel before if that is not the first.
func (l *lines) channel(t kernel.Taps, see *sight, n, c int, scratch []float32, first bool) {
	o := &l.out
	out := scratch[l.planes.space():]
	if first || c%l.outPer == 0 {
		spreadChannel(&l.planes, scratch, l.x[n*l.in.sn+c/l.outPer*l.in.sc:])
	}
	t.Inputs, t.Weights, t.Out = &see.inputs[0], at32(l.w, c), at32(out, 0)
	if l.bias != nil {
		t.Start = at32(l.bias, c)
	}
	for d := range o.size[0] {
		if first || o.size[0] > 1 { // else they lie where they lay for the channel before
			l.planes.see(see.inputs[:], scratch, d)
		}
		l.sums.Line(&t, l.planes.line())
		l.planes.takeLine(l.y[n*o.sn+c*o.sc+d*o.step[0]:], out)
	}
}
