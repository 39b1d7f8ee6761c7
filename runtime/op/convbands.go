package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// bands is a depthwise convolution of the results of another convolution, which nothing else reads. For some channels at a
// time these are made in a frame of zeros, a band of lines after the other; so they stay in the cache, and all positions
// see whole windows.
type bands struct {
	first, then convJob[float32]
	// between, unless nil, is what happens to the results of first; it leaves zeros alone.
	between func(x []float32)
	tier    kernel.Tier

	rows         int // lines of results of a band
	lines, width int // of the frame
	splits       int // parts that the lines of an image are divided into
	zeros        []float32
	frames       []float32 // one for each of the slots
	slots        Slots
}

// bandBytes is about how much of the cache a frame takes.
const bandBytes = 96 << 10

// Chains reports whether CallBehind may compute a call of next together with one of p that makes its first argument.
func (p *Plan) Chains(next *Plan) bool {
	first, ok := p.state.(*packed[float32])
	then, fits := next.state.(*packed[float32])
	return ok && fits && p.Kernel.Def == &Convolution && next.Kernel.Def == &Convolution && !first.depthwise && !first.winograd &&
		first.groupTier == kernel.Scalar && then.depthwise
}

// CallBehind is Call together with that of first, which is placed, and whose result nobody but v reads, as its first argument.
// between, unless nil, changes that result before v reads it, and leaves zeros alone. It reports whether it has run both:
// else it has run neither.
func (v *Invoker) CallBehind(first *Invoker, between func(x []float32)) (bool, error) {
	if err := v.place(); err != nil {
		return false, err
	}
	if first.call.Out[0] != first.Outs[0] || v.call.Out[0] != v.Outs[0] {
		return false, nil
	}
	b := bands{between: between, tier: v.call.Tier}
	if !b.read(first, v) {
		return false, nil
	}
	return true, b.compute(&v.call)
}

// read makes the two convolutions of their calls, and reports whether they fit.
func (b *bands) read(first, then *Invoker) bool {
	if !first.convolution(&b.first) || !then.convolution(&b.then) {
		return false
	}
	f, t := &b.first, &b.then
	return f.segmented() && f.groups == 1 && !f.depthwise() && t.depthwise() && t.outPer == 1 && t.in.size == f.out.size &&
		t.kernel[0] == 1 && t.kernel[1] == t.kernel[2] && t.in.size[0] == 1 && t.out.size[0] == 1 &&
		kernel.HasWindow(b.tier, t.kernel[1], t.out.channels)
}

// convolution reads a call with packed weights whose channels are innermost.
func (v *Invoker) convolution(j *convJob[float32]) bool {
	c := &v.call
	w, ok := v.plan.state.(*packed[float32])
	t, o := c.Args[convInput].Tensor, c.Out[0]
	if spatial := c.Args[convWeight].Tensor.Rank() - 2; !ok || !channelsInner(&t.Meta, spatial) || !channelsInner(&o.Meta, spatial) || o.Numel() == 0 {
		return false
	}
	*j = convJob[float32]{conv: newConv(c.Args, &t.Meta, &o.Meta), x: elems[float32](t), y: elems[float32](o), w: w.data,
		bias: vectorOf[float32](c.Args[convBias].Tensor), bounds: c.bounds()}
	j.tiling = tilingOf[float32](c.Tier)
	return true
}

// groups is how many groups of channels there are: panels of the first convolution, but the last has at least as many
// channels as a vector.
func (b *bands) groups() int {
	cols, n := b.first.cols, b.then.out.channels
	if rest := n % cols; rest > 0 && (n < cols || kernel.HasWindow(b.tier, b.then.kernel[1], rest)) {
		return n/cols + 1
	}
	return n / cols
}

// group are the channels of group g: the first, and how many.
func (b *bands) group(g int) (from, n int) {
	from = g * b.first.cols
	if g == b.groups()-1 {
		return from, b.then.out.channels - from
	}
	return from, b.first.cols
}

// compute divides the work into items: for each image and group of channels some lines.
func (b *bands) compute(c *Call) error {
	t := &b.then
	reach := (t.kernel[1] - 1) * t.dilation[1]
	b.width = max(t.in.size[2]+t.pad[2], (t.out.size[2]-1)*t.stride[2]+(t.kernel[2]-1)*t.dilation[2]+1)
	_, most := b.group(b.groups() - 1)
	most = max(most, min(b.first.cols, t.out.channels))
	b.rows = min(t.out.size[1], max(4, bandBytes/(b.width*most*f32Size*t.stride[1])))
	b.lines = (b.rows-1)*t.stride[1] + reach + 1
	b.slots.Count = 1
	if b.first.work() >= gemmParallelMin {
		b.slots.Count = min(c.Threads, MaxSlots)
	}
	threads := b.slots.Count
	b.splits = b.split(threads)
	b.slots.Items = t.out.batch * b.groups() * b.splits
	space, err := tempOf[float32](c, t.out.channels+threads*(b.weights()+b.space(most)+SlotGap/f32Size))
	if err != nil {
		return err
	}
	b.zeros, b.frames = space[:t.out.channels], space[t.out.channels:]
	clear(b.zeros)
	grain := 1
	if threads == 1 {
		grain = b.slots.Items
	}
	share(c, b, b.slots.Items, grain)
	return nil
}

// bandsLeast is how many items a thread has at least, if there are lines for them, and splitLines how many times the lines
// that two splits both make a split has.
const (
	bandsLeast = 4
	splitLines = 4
)

// split is into how many parts the lines are divided. If they are enough, threads have lines of their own, as in the
// convolutions around; else they have channels of their own.
func (b *bands) split(threads int) int {
	t, items := &b.then, b.then.out.batch*b.groups()
	if threads == 1 {
		return 1
	}
	if t.out.batch == 1 {
		most := t.out.size[1] * t.stride[1] / max(1, splitLines*(t.kernel[1]-1)*t.dilation[1])
		for _, n := range [...]int{threads * max(1, (bandsLeast+items-1)/items), threads} {
			if n <= most {
				return n
			}
		}
	}
	if items%threads == 0 {
		return 1
	}
	return max(1, min(t.out.size[1]/4, (bandsLeast*threads+items-1)/items))
}

// space is the size of a frame of channels.
func (b *bands) space(channels int) int { return b.lines * b.width * channels }

// weights is how many elements windows copy.
func (b *bands) weights() int { return kernel.WindowSpace(b.tier, b.then.kernel[1]) }

// parts computes items lo to hi.
func (b *bands) parts(lo, hi int) {
	size := len(b.frames) / b.slots.Count
	mine := b.slots.Enter(lo)
	defer b.slots.Leave(mine)
	for i := lo; i < hi; i++ {
		g, s := i%b.groups(), i/b.groups()
		from, n := b.group(g)
		f := frame{bands: b, image: s / b.splits, from: from, channels: n, line: b.width * n}
		s %= b.splits
		f.weights = b.frames[mine*size:][:b.weights()]
		f.space = b.frames[mine*size+b.weights():][:b.space(n)]
		h := b.then.out.size[1]
		f.compute(h*s/b.splits, h*(s+1)/b.splits)
	}
}

// frame are lines of some channels of an image, with the padding around them.
type frame struct {
	*bands
	image, from, channels int
	line                  int // elements of a line
	space                 []float32
	weights               []float32 // what windows copy
	base, made            int       // the first line in space, and the first that is not made; they count from the padding on
}

// at is where line v begins.
func (f *frame) at(v int) []float32 { return f.space[(v-f.base)*f.line:] }

// compute computes lines lo to hi of the results.
func (f *frame) compute(lo, hi int) {
	t := &f.then
	clear(f.space)
	f.base, f.made = lo*t.stride[1], lo*t.stride[1]
	for o := lo; o < hi; o += f.rows {
		end, first := min(o+f.rows, hi), o*t.stride[1]
		if f.made > first {
			copy(f.space, f.at(first)[:(f.made-first)*f.line])
		}
		f.base, f.made = first, max(f.made, first)
		f.produce((end-1)*t.stride[1] + (t.kernel[1]-1)*t.dilation[1] + 1)
		for r := o; r < end; r++ {
			f.windows(r)
		}
	}
}

// produce makes the lines up to end.
func (f *frame) produce(end int) {
	pad, height := f.then.pad[1], f.first.out.size[1]
	lo, hi := min(max(f.made-pad, 0), height), min(max(end-pad, 0), height)
	for v := f.made; v < end; v++ {
		if h := v - pad; h < 0 || h >= height {
			clear(f.at(v)[:f.line])
		}
	}
	f.made = end
	if lo >= hi {
		return
	}
	s := segments{convJob: f.first}
	s.pad[1] -= lo * s.stride[1]
	s.out.size[1], s.out.step = hi-lo, triple{0, f.line, f.channels}
	to := f.at(lo + pad)[f.then.pad[2]*f.channels:]
	for k := 0; k < f.channels; k += s.tiling.cols {
		s.panel(0, (f.from+k)/s.tiling.cols, s.x[f.image*s.in.sn:], to[k:], &rectangle{bottom: hi - lo, right: s.out.size[2]})
	}
	if f.between != nil {
		f.between(f.at(lo + pad)[:(hi-lo)*f.line])
	}
}

// windows computes line r of the results.
func (f *frame) windows(r int) {
	t := &f.then
	o, column := &t.out, uintptr(f.channels*f32Size)
	w := kernel.Window{Weights: &t.w[f.from], Copy: at32(f.weights, 0), Start: &f.zeros[0], Out: &t.y[f.image*o.sn+r*o.step[1]+f.from],
		Stride: uintptr(t.dilation[2]) * column, Step: uintptr(t.stride[2]) * column, Next: uintptr(o.step[2] * f32Size),
		Count: uintptr(o.size[2]), Tap: uintptr(o.channels * f32Size), Low: t.bounds[0], High: t.bounds[1]}
	if t.bias != nil {
		w.Start = &t.bias[f.from]
	}
	for i := range t.kernel[1] {
		w.Rows[i] = &f.at(r*t.stride[1] + i*t.dilation[1])[0]
	}
	w.Run(f.tier, t.kernel[1], f.channels)
}
