package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// maxBand is about how many windows a vector kernel computes together.
const maxBand = 4096

// maxLines is the pooling of planes of float32 whose rows lie one after another. A vector kernel computes the windows at
// every place of a line, of which those that the stride asks for are taken; windows that reach over a border on the left or
// right are computed one by one. Where nobody reads the places, rows of windows that fill a vector are computed together, of whose
// equal zeros one of either sign is the largest.
type maxLines[T number] struct {
	planes
	windows [3]window
	x, o    []T
	index   []int64
	unread  bool // nobody reads index
	// inRows says that each row of windows is computed as such, by rowTier, and not with the places between it and the next.
	inRows  bool
	rowTier kernel.Tier
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
	m.half = maxBand + m.between() + m.span
	taps := m.windows[0].size * m.windows[1].size * m.windows[2].size
	m.rowTier = kernel.PoolLargest.Tier(c.Tier, m.span)
	m.inRows = m.unread && kernel.PoolLargest.Has(m.rowTier, int(taps), m.span)
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

// between is how many elements a row of windows is away from the next.
func (m *maxLines[T]) between() int { return int(m.windows[1].stride) * m.size[2] }

// parts does the shares of workers lo to hi.
func (m *maxLines[T]) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		m.part(i)
	}
}

// part does the frames of worker i.
func (m *maxLines[T]) part(i int) {
	total := m.n * m.c * m.to[0]
	p := maxPart[T]{maxLines: m, scratch: m.scratch[2*i*m.half : 2*(i+1)*m.half]}
	for q := total * i / m.workers; q < total*(i+1)/m.workers; q++ {
		n, ch, d := q/m.to[0]/m.c, q/m.to[0]%m.c, q%m.to[0]
		x, to, deep := m.x[n*m.in[0]+ch*m.in[1]:], n*m.out[0]+ch*m.out[1]+d*m.out[2], m.windows[0].extent(d, m.size[0])
		for j := 0; j < m.to[1]; {
			rows := m.band(j)
			p.rows(x, to, &deep, j, rows)
			j += rows
		}
	}
}

// maxPart is what a worker computes with.
type maxPart[T number] struct {
	*maxLines[T]
	scratch []T // the largest elements, and from half on their places in the window
	inputs  [maxTaps]*float32
	places  [maxTaps]float32
}

// band is how many rows of windows from row j on are computed together: such that have all their rows inside.
func (m *maxLines[T]) band(j int) int {
	w, most := &m.windows[1], 1
	switch {
	case j*int(w.stride) < int(w.pad):
	case m.inRows:
		most = maxBand / m.span
	case m.span < 4*m.lanes:
		most = 1 + maxBand/m.between()
	}
	return max(1, min(inside(w, m.size[1])-j, m.to[1]-j, most))
}

// rows computes rows of windows from row j on, of the frames deep of the plane x, whose results begin at to.
func (p *maxPart[T]) rows(x []T, to int, deep *extent, j, rows int) {
	e := p.windows[1].extent(j, p.size[1])
	n, first := (rows-1)*p.between()+p.span, p.first
	if deep.low < deep.high && e.low < e.high && (p.inRows || n >= p.lanes) {
		from, at := (deep.low*p.size[1]+e.low)*p.size[2]+p.first*int(p.windows[2].stride)-int(p.windows[2].pad), to+j*p.out[3]+p.first
		switch count := p.taps(x[from:], deep, &e); {
		case !p.inRows:
			l := kernel.Largest{Inputs: &p.inputs[0], Places: &p.places[0], Count: uintptr(count), Out: at32(p.scratch, 0), Where: at32(p.scratch, p.half)}
			l.Run(p.tier, n)
			p.take(at, rows, from, p.between())
		case p.windows[2].stride == 1:
			p.largest(count, rows, at32(p.o, at), p.out[3])
		default:
			p.largest(count, rows, at32(p.scratch, 0), p.span)
			p.take(at, rows, from, p.span)
		}
	} else {
		first = p.last
	}
	if first == 0 && p.last == p.to[2] {
		return
	}
	for r := j; r < j+rows; r++ {
		b := box{*deep, p.windows[1].extent(r, p.size[1]), extent{}}
		p.border(x, to+r*p.out[3], &b, 0, first)
		p.border(x, to+r*p.out[3], &b, p.last, p.to[2])
	}
}

// border computes windows lo to hi of a row, whose results begin at to, one by one.
func (p *maxPart[T]) border(x []T, to int, b *box, lo, hi int) {
	for w := lo; w < hi; w++ {
		b[2] = p.windows[2].extent(w, p.size[2])
		p.o[to+w], p.index[to+w] = maxWindow(x, &p.planes, b)
	}
}

// taps sets where the elements of windows lie, the first one of the first window at x, and frames and rows as deep and e have them.
func (p *maxPart[T]) taps(x []T, deep, e *extent) (count int) {
	for d := deep.low; d < deep.high; d += deep.step {
		for h := e.low; h < e.high; h += e.step {
			for t := range int(p.windows[2].size) {
				place := ((d-deep.low)*p.size[1]+h-e.low)*p.size[2] + t*int(p.windows[2].dilation)
				p.inputs[count], p.places[count] = at32(x, place), float32(place)
				count++
			}
		}
	}
	return count
}

// largest computes the windows at all places of rows of windows, which begin at o, stride elements from one to the next.
func (p *maxPart[T]) largest(count, rows int, o *float32, stride int) {
	k := kernel.Pool{Kind: kernel.PoolLargest, Inputs: &p.inputs[0], Count: uintptr(count), Out: o, Positions: uintptr(rows),
		Step: uintptr(p.between()) * f32Size, Next: uintptr(stride) * f32Size}
	k.Run(p.rowTier, p.span)
}

// take writes the results at to of rows of windows, whose first place in the plane is from; in scratch they are apart elements from each other.
func (p *maxPart[T]) take(to, rows, from, apart int) {
	step, half := int(p.windows[2].stride), p.half
	for r := range rows {
		at, k := to+r*p.out[3], r*apart
		o, best := p.o[at:][:p.last-p.first], p.scratch[k:]
		if step == 2 {
			second(o, best)
		} else {
			for w := range o {
				o[w] = best[w*step]
			}
		}
		if p.unread {
			continue
		}
		index, where := p.index[at:][:len(o)], p.scratch[half+k:]
		for w := range index {
			index[w] = int64(from + k + w*step + int(where[w*step]))
		}
	}
}

// second sets o to every second element of x.
func second[T number](o, x []T) {
	x = x[:2*len(o)-1]
	for len(o) >= 4 {
		a, b := (*[4]T)(o), (*[7]T)(x)
		a[0], a[1], a[2], a[3] = b[0], b[2], b[4], b[6]
		o, x = o[4:], x[min(8, len(x)):]
	}
	for i := range o {
		o[i] = x[2*i]
	}
}
