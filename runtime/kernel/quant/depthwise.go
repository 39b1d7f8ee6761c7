package quant

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Depthwise are the weights of a convolution whose groups have one input channel, packed for a tier.
type Depthwise struct {
	// Outputs is the number of output channels.
	Outputs int
	tier    kernel.Tier
	plain   []int8 // [taps, outputs]
	sums    []int32
	tiles   *kernel.GemmS8 // nil: portable Go
	taps    []int32
	window  []int8 // instead of taps, where there is a kernel of windows: see Windows
}

// PackDepthwise packs weights [taps, outputs] of c for tier t; they stay in use. Of c its kernel, dilation and groups matter.
func PackDepthwise(t kernel.Tier, w []int8, c *Conv) *Depthwise {
	outputs := c.Groups * c.GroupOutputs
	d := &Depthwise{Outputs: outputs, tier: t, plain: w, sums: make([]int32, outputs)}
	for line := w; len(line) > 0; line = line[outputs:] {
		for i, x := range line[:outputs] {
			d.sums[i] += int32(x)
		}
	}
	g, size := kernel.IntegersOf(t), c.KernelHeight
	switch {
	case c.KernelWidth == size && c.DilationHeight == 1 && c.DilationWidth == 1 && c.GroupOutputs == 1 && kernel.HasWindowS8(t, size, outputs):
		d.tiles, d.window = g, kernel.PackWindow(t, w, size, outputs)
	case g != nil && outputs >= g.Lanes:
		d.tiles, d.taps = g, make([]int32, len(w))
		for i, x := range w {
			d.taps[i] = g.TapWeight(x)
		}
	}
	return d
}

// Line is one line of results: of image x, in line y, with the input's zero point and what sums start at.
type Line struct {
	*Conv
	*Depthwise
	X, Zeros []int8 // Zeros has as many elements as a line of the input, all the zero point
	Base     []int32
}

// MaxTaps is how many taps a kernel may have so that Depthwise uses vectors.
const MaxTaps = 64

// Sums sets sums, [OutWidth, Outputs], to those of line y.
func (l *Line) Sums(sums []int32, y int) {
	taps := l.KernelHeight * l.KernelWidth
	if l.taps == nil || l.GroupOutputs != 1 || taps > MaxTaps {
		for i := range l.OutWidth {
			l.position(sums[i*l.Outputs:(i+1)*l.Outputs], y*l.OutWidth+i)
		}
		return
	}
	var inputs [MaxTaps]*int8
	t := kernel.TapsS8{Inputs: &inputs[0], Weights: &l.taps[0], Step: uintptr(4 * l.Outputs), Count: uintptr(taps), Start: &l.Base[0],
		InStep: uintptr(l.StrideWidth * l.Channels), OutStep: uintptr(4 * l.Outputs)}
	from, until := l.inside()
	for i := 0; i < l.OutWidth; {
		n := 1
		if i >= from && i < until {
			n = min(until-i, max(1, pixelsMost/l.Outputs))
		}
		l.see(&inputs, y, i)
		t.Out, t.Pixels = &sums[i*l.Outputs : (i+n)*l.Outputs][0], uintptr(n)
		l.tiles.Taps(&t, l.Outputs)
		i += n
	}
}

// pixelsMost is how many results one call may compute, so that the garbage collector need not wait for long.
const pixelsMost = 8 << 10

// inside are the columns of results, from until, whose taps all lie in the input's columns.
func (l *Line) inside() (from, until int) {
	from = (l.Left + l.StrideWidth - 1) / l.StrideWidth
	room := l.Width - 1 - (l.KernelWidth-1)*l.DilationWidth + l.Left
	if room < 0 {
		return 0, 0
	}
	return from, min(l.OutWidth, room/l.StrideWidth+1)
}

// see sets inputs to what the taps see from column i of line y on.
func (l *Line) see(inputs *[MaxTaps]*int8, y, i int) {
	row, col := y*l.StrideHeight-l.Top, i*l.StrideWidth-l.Left
	for h := range l.KernelHeight {
		at := row + h*l.DilationHeight
		for w := range l.KernelWidth {
			c := col + w*l.DilationWidth
			from := l.Zeros
			if at >= 0 && at < l.Height && c >= 0 && c < l.Width {
				from = l.X[(at*l.Width+c)*l.Channels:]
			}
			inputs[h*l.KernelWidth+w] = unsafe.SliceData(from)
		}
	}
}

// position sets sums to those of all output channels at one position.
func (l *Line) position(sums []int32, pos int) {
	copy(sums, l.Base)
	n := len(sums)
	for t := range l.KernelHeight * l.KernelWidth {
		pixel := l.Zeros[:l.Channels]
		if at, ok := l.source(pos, t); ok {
			pixel = l.X[at : at+l.Channels]
		}
		w := l.plain[t*n : (t+1)*n]
		if l.GroupOutputs == 1 {
			for k, v := range pixel[:n] {
				sums[k] += int32(v) * int32(w[k])
			}
			continue
		}
		for k := range sums {
			sums[k] += int32(pixel[k/l.GroupOutputs]) * int32(w[k])
		}
	}
}

// Start is what sums start at for base, a number for each output, and the input's zero point.
func (d *Depthwise) Start(base []int32, zero int32) []int32 {
	if d.Windowed() {
		zero += flip
	}
	start := make([]int32, d.Outputs)
	for i, s := range d.sums {
		start[i] = base[i] - zero*s
	}
	return start
}
