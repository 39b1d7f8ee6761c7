package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// maxBand is about how many windows a vector kernel computes together.
const maxBand = 4096

// maxLines is the pooling of planes of float32 whose rows lie one after another. A vector kernel computes the windows at
// every place of a line, of which those that the stride asks for are taken; windows that reach over a border on the left or
// right are computed one by one.
type maxLines[T number] struct {
	planes
	windows [3]window
	x, o    []T
	index   []int64
	unread  bool // nobody reads index
	tier    kernel.Tier
	lanes   int
	// first and last are the columns of windows that lie inside, last not included; span is how many places there are
	// from the first to the last.
	first, last, span int
	scratch           []T // of every worker: the largest elements, and their places in the window
	half, workers     int // of a worker's scratch; how many there are
}

// exactPlaces is up to where float32 has every integer: kernels say so where in a window its largest element is.
const exactPlaces = 1 << 24

// fewTaps reports whether vector kernels take windows of so many elements.
func fewTaps(windows *[3]window) bool {
	n := int64(1)
	for i := range windows {
		if windows[i].size > maxTaps {
			return false
		}
		n *= windows[i].size
	}
	return n <= maxTaps
}

// vectorMax computes a pooling by a vector kernel, if there is one for it.
func vectorMax[T number](c *Call, p *planes, windows [3]window) (bool, error) {
	sums := kernel.TapsKernels(c.Tier)
	if !isFloat32[T]() || sums == nil || !fewTaps(&windows) {
		return false, nil
	}
	m := maxLines[T]{planes: *p, windows: windows, x: elems[T](c.Args[0].Tensor), o: elems[T](c.Out[0]),
		index: elems[int64](c.Out[1]), unread: c.Unread&indices != 0, tier: c.Tier, lanes: sums.Lanes, workers: 1}
	m.turn()
	reach := func(d int) int64 { return (m.windows[d].size - 1) * m.windows[d].dilation }
	if (reach(0)*int64(m.size[1])+reach(1))*int64(m.size[2])+reach(2) >= exactPlaces {
		return false, nil
	}
	rows := m.in[4] == 1 && m.out[4] == 1 && (m.size[1] == 1 || m.in[3] == m.size[2])
	if frames := m.size[0] == 1 || m.in[2] == m.size[1]*m.size[2]; !frames || !rows || !m.columns() {
		return false, nil
	}
	m.half = maxBand + m.places() + m.span
	if c.Parallel != nil && len(m.x) >= parallelGrain {
		m.workers = min(convWorkers, p.n*p.c*p.to[0])
	}
	var err error
	if m.scratch, err = tempOf[T](c, 2*m.workers*m.half); err != nil {
		return false, err
	}
	if m.workers == 1 {
		m.part(0)
	} else {
		share(c, &m, m.workers, 1)
	}
	return true, nil
}

// turn makes a row of a column.
func (m *maxLines[T]) turn() {
	p := &m.planes
	if p.size[0] != 1 || p.size[2] != 1 || p.to[2] != 1 || m.windows[2].size != 1 {
		return
	}
	p.size[1], p.size[2], p.to[1], p.to[2] = 1, p.size[1], 1, p.to[1]
	p.in[3], p.in[4], p.out[3], p.out[4] = p.size[2], p.in[3], p.to[2], p.out[3]
	m.windows[1], m.windows[2] = m.windows[2], m.windows[1]
}

// columns finds the columns of windows that lie inside, and reports whether there are any.
func (m *maxLines[T]) columns() bool {
	w := &m.windows[2]
	m.first = int((w.pad + w.stride - 1) / w.stride)
	m.last = min(m.to[2], inside(w, m.size[2]))
	m.span = (m.last-m.first-1)*int(w.stride) + 1
	return m.first < m.last
}

// inside is the first window, after those that begin before the n elements, that ends behind them.
func inside(w *window, n int) int {
	room := n + int(w.pad) - int(w.dilation*(w.size-1)) - 1
	if room < 0 {
		return 0
	}
	return room/int(w.stride) + 1
}

// places is how many elements a row of windows is away from the next.
func (m *maxLines[T]) places() int { return int(m.windows[1].stride) * m.size[2] }

// parts does the shares of workers lo to hi.
func (m *maxLines[T]) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		m.part(i)
	}
}

// part does the frames of worker i.
func (m *maxLines[T]) part(i int) {
	total := m.n * m.c * m.to[0]
	scratch := m.scratch[2*i*m.half : 2*(i+1)*m.half]
	for q := total * i / m.workers; q < total*(i+1)/m.workers; q++ {
		n, ch, d := q/m.to[0]/m.c, q/m.to[0]%m.c, q%m.to[0]
		x, to, deep := m.x[n*m.in[0]+ch*m.in[1]:], n*m.out[0]+ch*m.out[1]+d*m.out[2], m.windows[0].extent(d, m.size[0])
		for j := 0; j < m.to[1]; {
			rows := m.band(j)
			m.rows(x, to, &deep, j, rows, scratch)
			j += rows
		}
	}
}

// band is how many rows of windows from row j on are computed together: such that have all their rows inside.
func (m *maxLines[T]) band(j int) int {
	w := &m.windows[1]
	if m.span >= 4*m.lanes || j*int(w.stride) < int(w.pad) {
		return 1
	}
	return max(1, min(inside(w, m.size[1])-j, m.to[1]-j, 1+maxBand/m.places()))
}

// rows computes rows of windows from row j on, of the frames deep of the plane x, whose results begin at to.
func (m *maxLines[T]) rows(x []T, to int, deep *extent, j, rows int, scratch []T) {
	e := m.windows[1].extent(j, m.size[1])
	n := (rows-1)*m.places() + m.span
	first := m.first
	if deep.low < deep.high && e.low < e.high && n >= m.lanes {
		from := (deep.low*m.size[1]+e.low)*m.size[2] + m.first*int(m.windows[2].stride) - int(m.windows[2].pad)
		m.line(x[from:], n, deep, &e, scratch)
		m.take(to+j*m.out[3], rows, from, scratch)
	} else {
		first = m.last
	}
	for r := j; r < j+rows; r++ {
		for w := range m.to[2] {
			if w < first || w >= m.last {
				at := to + r*m.out[3] + w
				b := box{*deep, m.windows[1].extent(r, m.size[1]), m.windows[2].extent(w, m.size[2])}
				m.o[at], m.index[at] = maxWindow(x, &m.planes, &b)
			}
		}
	}
}

// line computes the windows at n places, the first one with its first element at x, and frames and rows as deep and e have them.
func (m *maxLines[T]) line(x []T, n int, deep, e *extent, scratch []T) {
	var inputs [maxTaps]*float32
	var places [maxTaps]float32
	k := 0
	for d := deep.low; d < deep.high; d += deep.step {
		for h := e.low; h < e.high; h += e.step {
			for t := range int(m.windows[2].size) {
				place := ((d-deep.low)*m.size[1]+h-e.low)*m.size[2] + t*int(m.windows[2].dilation)
				inputs[k], places[k] = at32(x, place), float32(place)
				k++
			}
		}
	}
	l := kernel.Largest{Inputs: &inputs[0], Places: &places[0], Count: uintptr(k), Out: at32(scratch, 0), Where: at32(scratch, m.half)}
	l.Run(m.tier, n)
}

// take writes the results at to of rows of windows, whose first place in the plane is from.
func (m *maxLines[T]) take(to, rows, from int, scratch []T) {
	step, half := int(m.windows[2].stride), m.half
	for r := range rows {
		at := to + r*m.out[3] + m.first
		o, k := m.o[at:][:m.last-m.first], r*m.places()
		best := scratch[k:]
		for w := range o {
			o[w] = best[w*step]
		}
		if m.unread {
			continue
		}
		index, where := m.index[at:][:len(o)], scratch[half+k:]
		for w := range index {
			index[w] = int64(from + k + w*step + int(where[w*step]))
		}
	}
}
