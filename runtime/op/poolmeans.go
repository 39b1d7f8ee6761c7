package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// planeMeans is the mean of windows of planes of float32 whose rows lie side by side: a channel is copied between zeros, so that a vector
// kernel adds the elements of all windows of a frame at once, as a depthwise convolution does. Then the sums are scaled.
type planeMeans struct {
	planes  phases
	tier    kernel.Tier
	sums    *kernel.TapsF32
	scales  []float32 // of the sums of all frames
	x, y    []float32
	scratch []float32 // of every slot: the planes of a channel, and the sums of a frame
	slots   Slots
}

// meansOf is p with windows as a convolution of single channels.
func meansOf(p *planes, windows *[3]window) (m planeMeans) {
	c := conv{dilation: triple{1, 1, 1}, in: volume{p.n, p.c, p.size, p.in[0], p.in[1], triple(p.in[2:])},
		out: volume{p.n, p.c, p.to, p.out[0], p.out[1], triple(p.out[2:])}}
	for i := range windows {
		w := &windows[i]
		c.kernel[i], c.stride[i], c.pad[i] = int(w.size), int(w.stride), int(w.pad)
	}
	m.planes = phasesOf(&c)
	return m
}

// space is how many elements of scratch a slot has.
func (m *planeMeans) space() int { return m.planes.space() + m.planes.size() }

// vectorMean computes means, whose sums are divided by the product of the lengths of counts, and reports whether there are kernels for them.
func vectorMean[T number](c *Call, p *planes, windows *[3]window, counts [3][]extent) (bool, error) {
	if !isFloat32[T]() || p.in[4] != 1 || p.out[4] != 1 || !fewTaps(windows) || c.Out[0].Numel() == 0 {
		return false, nil
	}
	m := meansOf(p, windows)
	n := m.planes.line()
	m.tier = c.Tier.Narrow(n)
	if m.sums = kernel.TapsKernels(m.tier); m.sums == nil || n < m.sums.Lanes {
		return false, nil
	}
	k := keep[planeMeans](c)
	sums := p.to[0] * m.planes.size()
	m.scales = slices.Grow(k.job.scales[:0], sums)[:sums]
	m.fillScales(counts)
	k.job = m
	return true, k.job.compute(c, k.run)
}

// fillScales sets the scales of windows; nobody reads what becomes of the sums between rows.
func (m *planeMeans) fillScales(counts [3][]extent) {
	for d, deep := range counts[0] {
		for h, high := range counts[1] {
			row := m.scales[d*m.planes.size()+h*m.planes.width:]
			for w, wide := range counts[2] {
				row[w] = 1 / float32(deep.length()*high.length()*wide.length())
			}
		}
	}
}

// compute computes what lacks nothing but the places of its images.
func (m *planeMeans) compute(c *Call, run func(lo, hi int)) (err error) {
	m.x, m.y = elems[float32](c.Args[0].Tensor), elems[float32](c.Out[0])
	m.slots = Slots{Count: 1, Items: m.planes.out.batch * m.planes.out.channels}
	if sharers(c, len(m.x)) > 1 {
		m.slots.Count = min(c.Threads, MaxSlots)
	}
	if m.scratch, err = tempOf[float32](c, m.slots.Count*(m.space()+SlotGap/f32Size)); err != nil {
		return err
	}
	clear(m.scratch)
	if m.slots.Count == 1 {
		m.parts(0, m.slots.Items)
		return nil
	}
	c.Parallel(m.slots.Items, max(1, parallelGrain/m.planes.space()), run)
	return nil
}

// parts computes channels lo to hi of all images.
func (m *planeMeans) parts(lo, hi int) {
	mine := m.slots.Enter(lo)
	defer m.slots.Leave(mine)
	p := &m.planes
	scratch, sums := cutOff(m.scratch[mine*(m.space()+SlotGap/f32Size):][:m.space()], p.space())
	var inputs [maxTaps]*float32
	one := float32(1)
	t := kernel.Taps{Inputs: &inputs[0], Weights: &one, Count: uintptr(p.taps()), Start: &zeros[0], Out: at32(sums, 0),
		Low: kernel.Unclamped[0], High: kernel.Unclamped[1]}
	for i := lo; i < hi; i++ {
		n, ch := i/p.out.channels, i%p.out.channels
		spreadChannel(p, scratch, m.x[n*p.in.sn+ch*p.in.sc:])
		for d := range p.out.size[0] {
			if i == lo || p.out.size[0] > 1 { // else they lie where they lay for the channel before
				p.see(inputs[:], scratch, d)
			}
			m.sums.Line(&t, p.line())
			m.scale(sums[:p.line()], m.scales[d*p.size():])
			p.takeLine(m.y[n*p.out.sn+ch*p.out.sc+d*p.out.step[0]:], sums)
		}
	}
}

// scale multiplies the sums of a frame by their scales.
func (m *planeMeans) scale(sums, scales []float32) {
	scales = scales[:len(sums)]
	if kernel.MulF32(m.tier, sums, sums, scales) {
		return
	}
	for i, s := range scales {
		sums[i] *= s
	}
}
