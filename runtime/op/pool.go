package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errPool    = errors.New("a pooling window does not fit its input, or is not positive")
	errDivisor = errors.New("divisor_override is 0")
)

// planes walks the outputs of a pooling: strides are in elements, of dimensions N, C, D, H, W. Two-dimensional
// pooling has depth 1.
type planes struct {
	n, c     int
	size, to [3]int
	in, out  [5]int
}

func newPlanes(in, out *tensor.Meta, spatial int) planes {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	p := planes{n: 1, size: [3]int{1, 1, 1}, to: [3]int{1, 1, 1}}
	first := in.Rank() - spatial // the first spatial dimension
	for i := range spatial {
		k := 3 - spatial + i
		p.size[k], p.to[k] = int(in.Sizes[first+i]), int(out.Sizes[first+i])
		p.in[2+k], p.out[2+k] = si[first+i], so[first+i]
	}
	p.c, p.in[1], p.out[1] = int(in.Sizes[first-1]), si[first-1], so[first-1]
	if first == 2 {
		p.n, p.in[0], p.out[0] = int(in.Sizes[0]), si[0], so[0]
	}
	return p
}

// extent is the part of one input dimension that a window covers: every step-th element from low on, below high.
type extent struct{ low, high, step int }

// box is a window over the three spatial dimensions.
type box [3]extent

// extents are the windows of each output index in each dimension; at gives that of output i in dimension d.
func (p *planes) extents(c *Call, at func(d, i int) extent) (e [3][]extent, err error) {
	for d := range e {
		if e[d], err = tempOf[extent](c, p.to[d]); err != nil {
			return e, err
		}
		for i := range e[d] {
			e[d][i] = at(d, i)
		}
	}
	return e, nil
}

// windowsOf reads the windows of a call; dimensions that it lacks come first, and have windows of one element.
func windowsOf(c *Call, spatial int, dilation, ceil *Value) (w [3]window, err error) {
	for i := range 3 - spatial {
		w[i] = window{size: 1, stride: 1, dilation: 1}
	}
	for i := range spatial {
		if w[3-spatial+i], err = poolWindow(c.Args, i, dilation, ceil); err != nil {
			return w, err
		}
	}
	return w, nil
}

// extent is what window i covers of n elements.
func (w *window) extent(i, n int) extent {
	low, step := i*int(w.stride)-int(w.pad), int(w.dilation)
	high := min(low+int(w.size-1)*step+1, n)
	if low < 0 {
		low += (step - 1 - low) / step * step
	}
	return extent{low, high, step}
}

// padded is how many elements window i has, with the padding.
func (w *window) padded(i, n int) int {
	low := i*int(w.stride) - int(w.pad)
	return min(low+int(w.size), n+int(w.pad)) - low
}

// adaptive is the part of the elements of dimension d that goes into output i.
func (p *planes) adaptive(d, i int) extent {
	n, m := p.size[d], p.to[d]
	return extent{i * n / m, ((i+1)*n + m - 1) / m, 1}
}

func runMaxPool2d[T number](c *Call, _ State) error { return runMaxPool[T](c, 2) }
func runMaxPool3d[T number](c *Call, _ State) error { return runMaxPool[T](c, 3) }

// indices is the bit of Call.Unread for the second out of a pooling.
const indices = 1 << 1

func runMaxPool[T number](c *Call, spatial int) error {
	if done, err := poolAgain[T](c); done {
		return err
	}
	windows, err := windowsOf(c, spatial, &c.Args[4], &c.Args[5])
	if err != nil {
		return err
	}
	p := newPlanes(&c.Args[0].Tensor.Meta, &c.Out[0].Meta, spatial)
	if done, err := vectorMax[T](c, &p, windows); done || err != nil {
		return err
	}
	return maxOver[T](c, &p, func(d, i int) extent { return windows[d].extent(i, p.size[d]) })
}

func runAdaptiveMaxPool2d[T number](c *Call, _ State) error { return runAdaptiveMaxPool[T](c, 2) }
func runAdaptiveMaxPool3d[T number](c *Call, _ State) error { return runAdaptiveMaxPool[T](c, 3) }

func runAdaptiveMaxPool[T number](c *Call, spatial int) error {
	if done, err := poolAgain[T](c); done {
		return err
	}
	p := newPlanes(&c.Args[0].Tensor.Meta, &c.Out[0].Meta, spatial)
	return maxOver[T](c, &p, p.adaptive)
}

// maxOver sets Out[0] to the largest element of each window and Out[1] to its index in the plane.
func maxOver[T number](c *Call, p *planes, at func(d, i int) extent) error {
	windows, err := p.extents(c, at)
	if err != nil {
		return err
	}
	if innerMax[T](c, p, windows) {
		return nil
	}
	for q := range p.n * p.c {
		n, ch := q/p.c, q%p.c
		maxPlane[T](c, p, &windows, n*p.in[0]+ch*p.in[1], n*p.out[0]+ch*p.out[1])
	}
	return nil
}

// maxPlane computes the plane that starts at base in the input and at to in the outputs.
func maxPlane[T number](c *Call, p *planes, windows *[3][]extent, base, to int) {
	x, o, index := elems[T](c.Args[0].Tensor)[base:], elems[T](c.Out[0]), elems[int64](c.Out[1])
	var b box
	for i := range p.to[0] {
		b[0] = windows[0][i]
		for j := range p.to[1] {
			b[1] = windows[1][j]
			for k := range p.to[2] {
				b[2] = windows[2][k]
				at := to + i*p.out[2] + j*p.out[3] + k*p.out[4]
				o[at], index[at] = maxWindow(x, p, &b)
			}
		}
	}
}

// maxWindow is the largest element in b and its index in the plane; NaN is larger than all.
func maxWindow[T number](x []T, p *planes, b *box) (best T, index int64) {
	if p.in[4] == 1 && b[2].step == 1 && b[1].low < b[1].high && b[2].low < b[2].high && b[0].low+1 == b[0].high {
		return maxRows(x[b[0].low*p.in[2]:], p, b)
	}
	first := true
	for d := b[0].low; d < b[0].high; d += b[0].step {
		for h := b[1].low; h < b[1].high; h += b[1].step {
			row := d*p.in[2] + h*p.in[3]
			for w := b[2].low; w < b[2].high; w += b[2].step {
				if v := x[row+w*p.in[4]]; first || v > best || v != v {
					best, index, first = v, int64((d*p.size[1]+h)*p.size[2]+w), false
				}
			}
		}
	}
	return best, index
}

// maxRows is maxWindow where elements of a row lie side by side and the window is one deep.
func maxRows[T number](x []T, p *planes, b *box) (best T, index int64) {
	at := b[1].low*p.size[2] + b[2].low
	best = x[b[1].low*p.in[3]+b[2].low]
	for h := b[1].low; h < b[1].high; h += b[1].step {
		row := h * p.in[3]
		for w, v := range x[row+b[2].low : row+b[2].high] {
			if v > best || v != v {
				best, at = v, h*p.size[2]+b[2].low+w
			}
		}
	}
	return best, int64(b[0].low*p.size[1]*p.size[2] + at)
}

func runAvgPool2d[T number](c *Call, _ State) error { return runAvgPool[T](c, 2) }
func runAvgPool3d[T number](c *Call, _ State) error { return runAvgPool[T](c, 3) }

func runAvgPool[T number](c *Call, spatial int) error {
	if done, err := poolAgain[T](c); done {
		return err
	}
	windows, err := windowsOf(c, spatial, nil, &c.Args[4])
	if err != nil {
		return err
	}
	divisor := &c.Args[6]
	if divisor.Kind == Int && divisor.Int == 0 {
		return errDivisor
	}
	p := newPlanes(&c.Args[0].Tensor.Meta, &c.Out[0].Meta, spatial)
	inside := func(d, i int) extent { return windows[d].extent(i, p.size[d]) }
	counted := inside
	switch {
	case divisor.Kind == Int: // every window counts as one of divisor elements
		counted = func(d, _ int) extent { return extent{0, 1 + (int(divisor.Int)-1)*max(1-d, 0), 1} }
	case c.Args[5].Int != 0:
		counted = func(d, i int) extent { return extent{0, windows[d].padded(i, p.size[d]), 1} }
	}
	return average[T](c, &p, &windows, inside, counted)
}

func runAdaptiveAvgPool2d[T number](c *Call, _ State) error { return runAdaptiveAvgPool[T](c, 2) }
func runAdaptiveAvgPool3d[T number](c *Call, _ State) error { return runAdaptiveAvgPool[T](c, 3) }

func runAdaptiveAvgPool[T number](c *Call, spatial int) error {
	if done, err := poolAgain[T](c); done {
		return err
	}
	p := newPlanes(&c.Args[0].Tensor.Meta, &c.Out[0].Meta, spatial)
	return average[T](c, &p, nil, p.adaptive, p.adaptive)
}

// average sets every output to the sum over inside, the windows even if that is not nil, divided by the product of the lengths of counted.
func average[T number](c *Call, p *planes, even *[3]window, inside, counted func(d, i int) extent) error {
	windows, err := p.extents(c, inside)
	if err != nil {
		return err
	}
	counts, err := p.extents(c, counted)
	if err != nil {
		return err
	}
	if innerMean[T](c, p, windows, counts) {
		return nil
	}
	if even != nil {
		if done, err := vectorMean[T](c, p, even, counts); done {
			return err
		}
	}
	if p.in[4] == 1 {
		return meanRows[T](c, p, windows, counts)
	}
	x, o := elems[T](c.Args[0].Tensor), elems[T](c.Out[0])
	for i := range p.to[0] {
		for j := range p.to[1] {
			for k := range p.to[2] {
				b := box{windows[0][i], windows[1][j], windows[2][k]}
				n := counts[0][i].length() * counts[1][j].length() * counts[2][k].length()
				averageOf(p, o, x, &b, i*p.out[2]+j*p.out[3]+k*p.out[4], n)
			}
		}
	}
	return nil
}

func (e extent) length() int { return e.high - e.low }

// taps is how many elements e covers.
func (e extent) taps() int { return (e.high - e.low + e.step - 1) / e.step }

// averageOf computes one output, at to, of all planes.
func averageOf[T number](p *planes, o, x []T, b *box, to, count int) {
	for n := range p.n {
		for ch := range p.c {
			base, sum := n*p.in[0]+ch*p.in[1], 0.0
			for d := b[0].low; d < b[0].high; d++ {
				for h := b[1].low; h < b[1].high; h++ {
					row := base + d*p.in[2] + h*p.in[3]
					for w := b[2].low; w < b[2].high; w++ {
						sum += float64(x[row+w*p.in[4]])
					}
				}
			}
			o[n*p.out[0]+ch*p.out[1]+to] = T(sum / float64(count))
		}
	}
}
