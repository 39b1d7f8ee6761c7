package op

import (
	"sync/atomic"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// winograd is a convolution with 3x3 taps that multiplies 16 times for the 2x2 results of a tile, where their definition does
// so 36 times; see kernel.Winograd. Its work is cut into pieces of some tiles.
type winograd struct {
	convJob[float32]
	tier         kernel.Tier
	weights      *tensor.Tensor // as they are
	down, across int            // tiles of an image
	piece        int            // tiles of a piece
	shares       int            // into how many shares the results of a piece are divided, by panels
	odd          uint32         // not 0: a share has results that are not finite
	slots        Slots
	space        []float32 // of each slot: the planes of inputs, those of products, a tile of inputs, and one of results
	framing
}

// winogradLeast is how many channels it takes: as many as a vector of any tier has.
const winogradLeast = 16

// What the transforms of a tile cost for each input and each result channel, in multiplications, and how much less the whole
// has to cost than the definition.
const (
	winogradInCost  = 120
	winogradOutCost = 90
	winogradGain    = 1.15
)

// winogradWeights is how many weights of a plane are too many to stay in a cache while images go by; then to read 16 for 9
// takes longer than to multiply.
const winogradWeights = 1 << 17

// winograd reports whether constant weights are packed for that algorithm. It is for numbers whose sums are so many that the
// transforms pay, by the sizes that the images have at most.
func (c *conv) winograd() bool {
	one, taps := triple{1, 1, 1}, triple{1, 3, 3}
	if !c.segmented() || c.groups != 1 || c.kernel != taps || c.stride != one || c.dilation != one ||
		c.inPer < winogradLeast || c.outPer < winogradLeast || c.inPer*c.outPer > winogradWeights {
		return false
	}
	h, w := c.out.size[1], c.out.size[2]
	tiles := ((h + 1) / 2) * ((w + 1) / 2)
	mine := tiles * (kernel.WinogradPlanes*c.inPer*c.outPer + winogradInCost*c.inPer + winogradOutCost*c.outPer)
	return float64(mine)*winogradGain < float64(h*w*c.taps()*c.inPer*c.outPer)
}

// winogradPacked is the length of the packed weights.
func (c *conv) winogradPacked() int { return kernel.WinogradPlanes * c.len(c.inPer, c.outPer) }

// packWinograd writes the panels of G·g·Gᵀ, plane after plane.
func packWinograd(dst []float32, c *conv, tier kernel.Tier, w *tensor.Tensor) {
	var s [tensor.MaxRank]int
	stridesOf(&w.Meta, &s)
	taps := make([]float32, c.depth()*c.cols)
	k := kernel.Winograd{Tiles: c.inPer, Plane: c.len(c.inPer, c.outPer)}
	for o := 0; o < c.outPer; o += c.cols {
		panel := *c
		panel.outPer = min(c.cols, c.outPer-o)
		packGroup(taps, &panel, elems[float32](w)[o*s[0]:], &s, 0)
		k.Channels, k.Planes = c.width(panel.outPer), at32(dst, o*c.inPer)
		column := c.inPer * k.Channels
		k.Weights(tier, at32(taps, 0), 3*column, column)
	}
}

// convWinograd computes a convolution whose weights are packed by packWinograd.
func convWinograd(call *Call, j *convJob[float32]) error {
	k := keep[winograd](call)
	k.job = winograd{convJob: *j, tier: call.Tier}
	k.job.layOut(call.Threads)
	return k.job.compute(call, k.run)
}

// winogradTiles is how many tiles a piece has at most: so many that weights are read seldom, so few that their planes stay in a
// cache.
const winogradTiles = 64

// winogradFramed is how many inputs an image has at most that is copied into a frame of zeros: that takes less time than copying the
// tiles at its border one by one.
const winogradFramed = 1 << 11

// layOut decides all that depends on sizes alone.
func (w *winograd) layOut(threads int) {
	w.down, w.across = (w.out.size[1]+1)/2, (w.out.size[2]+1)/2
	if w.pad != (triple{}) && w.in.size.product()*w.inPer <= winogradFramed {
		w.widen(&w.conv)
	}
	tiles := w.tiles()
	n := ceil(tiles, winogradTiles)
	w.slots, w.shares = Slots{Count: 1}, 1
	if products := w.work() / 9 * 4; products >= gemmParallelMin && threads > 1 { // 16 for the 36 of 2x2 results
		w.slots.Count = min(threads, MaxSlots)
		if w.sharesPanels(threads) {
			w.shares = min(threads, w.panels(w.outPer))
		} else {
			n = ceil(n, threads) * threads
		}
	}
	w.piece = ceil(tiles, n)
	w.slots.Items = ceil(tiles, w.piece) * w.shares
}

// sharesPanels reports whether threads divide the panels of weights, which are so many that it takes longest to fetch them, and not the
// tiles. Then each thread transforms all inputs.
func (w *winograd) sharesPanels(threads int) bool {
	last, panels := (w.outPer-1)%w.cols+1, w.panels(w.outPer)
	return last >= min(winogradLeast, w.cols) && even(panels, threads) && kernel.WinogradPlanes*w.outPer > winogradShared*w.out.batch*w.in.size.product()
}

// winogradShared is how many weights for each input are so many.
const winogradShared = 4 * fetchCost

func (w *winograd) tiles() int { return w.out.batch * w.down * w.across }

// planeGap keeps the same elements of planes out of the same set of a cache.
const planeGap = 16

// planes are the lengths of a plane of inputs and of one of products.
func (w *winograd) planes() (in, out int) {
	return w.piece*w.inPer + planeGap, w.piece*w.outPer + planeGap
}

func (w *winograd) compute(call *Call, run func(lo, hi int)) error {
	in, out := w.planes()
	size := kernel.WinogradPlanes*(in+out) + kernel.WinogradPlanes*w.inPer + 4*w.outPer
	space, err := tempOf[float32](call, w.slots.Count*(size+SlotGap/f32Size))
	if err != nil {
		return err
	}
	w.space, w.weights = space, call.Args[convWeight].Tensor
	if err := w.fillFrame(call, &w.convJob, func(rows int) { w.fillRows(0, rows) }); err != nil {
		return err
	}
	if w.slots.Count == 1 {
		w.parts(0, w.slots.Items)
		return nil
	}
	w.odd = 0
	call.Parallel(w.slots.Items, 1, run)
	if w.odd != 0 { // which tiles are computed by their definition must not depend on shares
		shares := w.shares
		w.shares = 1
		w.parts(0, w.slots.Items/shares)
		w.shares = shares
	}
	return nil
}

// parts computes pieces lo to hi.
func (w *winograd) parts(lo, hi int) {
	size := len(w.space) / w.slots.Count
	mine := w.slots.Enter(lo)
	defer w.slots.Leave(mine)
	in, out := w.planes()
	p := winogradPiece{winograd: w}
	var rest []float32
	p.planesIn, rest = cutOff(w.space[mine*size:][:size], kernel.WinogradPlanes*in)
	p.planesOut, rest = cutOff(rest, kernel.WinogradPlanes*out)
	p.patch, p.edge = cutOff(rest, kernel.WinogradPlanes*w.inPer)
	panels := w.panels(w.outPer)
	for i := lo; i < hi; i++ {
		at, share := i/w.shares*w.piece, i%w.shares
		p.lo, p.hi = at, min(at+w.piece, w.tiles())
		p.first = panels * share / w.shares * w.cols
		p.channels = min(panels*(share+1)/w.shares*w.cols, w.outPer) - p.first
		p.inputs()
		p.products()
		p.results()
	}
}

// cutOff is the first n elements of x, and the rest.
func cutOff(x []float32, n int) (first, rest []float32) { return x[:n:n], x[n:] }

// winogradPiece are tiles lo to hi, of which some channels of results are made, and the space for them.
type winogradPiece struct {
	*winograd
	lo, hi              int
	first, channels     int
	planesIn, planesOut []float32 // of inputs and of products
	patch, edge         []float32 // the inputs of a tile, and the results of one
}

// tile is where a tile lies: its image, and the first of its results.
func (w *winograd) tile(i int) (n, y, x int) {
	return i / (w.down * w.across), i / w.across % w.down * 2, i % w.across * 2
}

// inputs makes the planes of inputs.
func (p *winogradPiece) inputs() {
	plane, _ := p.planes()
	k := kernel.Winograd{Channels: p.inPer, Plane: plane}
	line, column := p.in.step[1], p.in.step[2]
	for i := p.lo; i < p.hi; i += k.Tiles {
		n, y, x := p.tile(i)
		y, x = y-p.pad[1], x-p.pad[2]
		k.Tiles, k.Planes = 1, at32(p.planesIn, (i-p.lo)*p.inPer)
		if y < 0 || x < 0 || y+4 > p.in.size[1] || x+4 > p.in.size[2] {
			p.fill(n, y, x)
			k.In(p.tier, at32(p.patch, 0), 4*p.inPer, p.inPer)
			continue
		}
		k.Tiles = min(p.hi-i, (p.in.size[2]-x-2)/2)
		k.In(p.tier, at32(p.x, n*p.in.sn+y*line+x*column), line, column)
	}
}

// fill copies the 4x4 inputs from y, x on, of which some lie outside of the image.
func (p *winogradPiece) fill(n, y, x int) {
	in := &p.in
	for i := range 4 {
		for j := range 4 {
			to := p.patch[(4*i+j)*p.inPer:][:p.inPer]
			if y+i < 0 || x+j < 0 || y+i >= in.size[1] || x+j >= in.size[2] {
				clear(to)
				continue
			}
			copy(to, p.x[n*in.sn+(y+i)*in.step[1]+(x+j)*in.step[2]:])
		}
	}
}

// products multiplies each plane with its weights.
func (p *winogradPiece) products() {
	in, out := p.planes()
	size := p.len(p.inPer, p.outPer)
	g := gemm[float32]{tiling: p.tiling, m: p.hi - p.lo, n: p.channels, k: p.inPer, lda: p.inPer, rs: p.channels, cs: 1, bounds: kernel.Unclamped}
	for f := range kernel.WinogradPlanes {
		g.a, g.b, g.c, g.bias = p.planesIn[f*in:], p.w[f*size+p.first*p.inPer:], p.planesOut[f*out:], nil
		if f == kernel.WinogradBias {
			g.bias = part32(p.bias, p.first, p.channels)
		}
		g.block(0, g.m, 0, g.panels(g.n))
	}
}

// results makes the results of the planes of products.
func (p *winogradPiece) results() {
	for i := p.lo; i < p.hi; {
		_, y, x := p.tile(i)
		n := 1
		if y+2 <= p.out.size[1] && x+2 <= p.out.size[2] {
			n = min(p.hi-i, (p.out.size[2]-x)/2)
		}
		if !p.result(i, n) {
			for k := i; k < i+n; k++ {
				switch {
				case p.result(k, 1):
				case p.shares > 1:
					atomic.StoreUint32(&p.odd, 1)
				default:
					p.define(k)
				}
			}
		}
		i += n
	}
}

// result makes the results of n tiles of a line, or those of one that reaches beyond the image, and reports whether all are
// finite.
func (p *winogradPiece) result(i, n int) bool {
	_, plane := p.planes()
	o := &p.out
	image, y, x := p.tile(i)
	k := kernel.Winograd{Tiles: n, Channels: p.channels, Plane: plane, Planes: at32(p.planesOut, (i-p.lo)*p.channels)}
	at := image*o.sn + y*o.step[1] + x*o.step[2] + p.first
	if h, w := min(2, o.size[1]-y), min(2, o.size[2]-x); h < 2 || w < 2 {
		finite := k.Out(p.tier, at32(p.edge, 0), 2*p.channels, p.channels, p.bounds[0], p.bounds[1])
		for r := range h {
			for c := range w {
				copy(p.y[at+r*o.step[1]+c*o.step[2]:], p.edge[(2*r+c)*p.channels:][:p.channels])
			}
		}
		return finite
	}
	return k.Out(p.tier, at32(p.y, at), o.step[1], o.step[2], p.bounds[0], p.bounds[1])
}

// define computes results of tile i by their definition: where an input is infinite or NaN, or sums are infinite, the
// algorithm spoils all results of its tile.
func (p *winogradPiece) define(i int) {
	o := &p.out
	n, y, x := p.tile(i)
	for h := y; h < min(y+2, o.size[1]); h++ {
		for w := x; w < min(x+2, o.size[2]); w++ {
			to := p.y[n*o.sn+h*o.step[1]+w*o.step[2]+p.first:][:p.channels]
			for c := range to {
				to[c] = clampOf(p.sum(n, h, w, p.first+c), p.bounds[0], p.bounds[1])
			}
		}
	}
}

// sum is the result for output channel c at h, w of image n.
func (p *winogradPiece) sum(n, h, w, c int) float32 {
	var s [tensor.MaxRank]int
	stridesOf(&p.weights.Meta, &s)
	in, weights := &p.in, elems[float32](p.weights)
	var sum float32
	if p.bias != nil {
		sum = p.bias[c]
	}
	for i := range 3 {
		for j := range 3 {
			y, x := h-p.pad[1]+i, w-p.pad[2]+j
			if y < 0 || x < 0 || y >= in.size[1] || x >= in.size[2] {
				continue
			}
			from := p.x[n*in.sn+y*in.step[1]+x*in.step[2]:][:p.inPer]
			at := c*s[0] + i*s[2] + j*s[3]
			for k, v := range from {
				sum += float32(v * weights[at+k*s[1]])
			}
		}
	}
	return sum
}
