package op

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// winograd is a convolution with 3x3 taps that multiplies 16 times for the 2x2 results of a tile, where their definition does
// so 36 times, or with taps along a line that multiplies 5 times for 3 results and as many taps instead of 9; see kernel.Winograd.
// Its work is cut into pieces of some tiles.
type winograd struct {
	convJob[float32]
	winogradTiles
	tier         kernel.Tier
	weights      *tensor.Tensor // as they are
	phases       [2]int         // lines and columns of an image that a dilated window sees apart from one another
	down, across int            // tiles of each
	line         int            // tiles between whose first and last the border of a piece may lie: of a line if there are several sections
	piece        int            // tiles of a piece
	atOnce       int            // channels of a block, whose products are made before their results are; the last may have more, see widest
	shares       int            // into how many shares the results of a piece are divided, by panels
	odd          uint32         // not 0: a share has results that are not finite
	slots        Slots
	space        []float32 // of each slot: the planes of inputs, those of products, a tile of inputs, and one of results
	framing
}

// winogradLeast is how many channels a tile of several lines takes, and results: as many as a vector of any tier has.
const winogradLeast = 16

// What the transforms of a tile cost for each plane of an input and of a result channel, in multiplications, and how much less the
// whole has to cost than the definition.
const (
	winogradInCost  = 7
	winogradFewCost = 70 // of channels that fill no vector
	winogradOutCost = 6
	winogradGain    = 1.15
)

// winogradWeights is how many packed weights of a group are too many to stay in a cache while images go by; then to read 16 for 9 takes
// longer than to multiply, and 5 for 3 much memory.
const winogradWeights = 1 << 21

// winogradRows is as how many rows the product of a line counts that has fewer tiles: weights are read for each line.
const winogradRows = 3

// winograd reports whether constant weights are packed for that algorithm. It is for numbers whose sums are so many that the
// transforms pay, by the sizes that the images have at most.
func (c *conv) winograd() bool {
	if !c.innermost() || c.stride[1] != 1 || c.outPer < winogradLeast || c.taps() < kernel.WinogradTaps {
		return false
	}
	square := c.kernel == triple{1, 3, 3} && c.stride[2] == 1 && c.inPer >= winogradLeast
	line := c.kernel[1] == 1 && (c.stride[2] == 1 || c.dilation[2] == 1 && c.in.step[2] == c.inPer)
	if !square && !line {
		return false
	}
	t := c.winogradTiles()
	weights := t.Products * t.sections * t.inner * c.outPer
	if weights > winogradWeights {
		return false
	}
	in := winogradInCost
	if t.inner < winogradLeast {
		in = winogradFewCost
	}
	phases, down, across := t.cut(c)
	rows := across
	if t.sections > 1 {
		rows = max(rows, winogradRows)
	}
	mine := phases[0] * phases[1] * down * (rows*weights + across*winogradOutCost*t.Products*c.outPer + (across+t.sections-1)*in*t.Products*t.inner)
	definition := min(c.out.size.product()*c.taps()*c.inPer, c.borderCost()) // for each result channel
	return float64(mine)*winogradGain < float64(definition*c.outPer)
}

// winogradTiles are the tiles of a convolution that the algorithm computes. Along a line as many inputs as a step has are one, of as
// many times the channels, so that all steps are 1; and the taps are cut into sections, each of which sees the inputs of a tile further on.
type winogradTiles struct {
	*kernel.WinogradTile
	sections int
	inner    int // how many channels an input has
	before   int // inputs of padding
	lead     int // how many taps of zeros come before those of the first input, which padding fills in part
}

func (c *conv) winogradTiles() winogradTiles {
	if c.kernel[1] != 1 {
		return winogradTiles{WinogradTile: &kernel.WinogradSquare, sections: 1, inner: c.inPer, before: c.pad[2]}
	}
	step := c.stride[2]
	t := winogradTiles{WinogradTile: &kernel.WinogradLine, inner: step * c.inPer, before: ceil(c.pad[2], step)}
	t.lead = t.before*step - c.pad[2]
	t.sections = ceil(t.lead+c.kernel[2], step*kernel.WinogradTaps)
	return t
}

// cut is how many phases of lines and columns results have, and how many tiles lie in a phase.
func (t *winogradTiles) cut(c *conv) (phases [2]int, down, across int) {
	for i := range phases {
		phases[i] = min(c.dilation[i+1], c.out.size[i+1])
	}
	return phases, ceil(ceil(c.out.size[1], phases[0]), t.Rows), ceil(ceil(c.out.size[2], phases[1]), t.Cols)
}

// winogradLayout names the arrangement of packed weights.
func (c *conv) winogradLayout() string {
	t := c.winogradTiles()
	if t.Rows > 1 {
		return "winograd"
	}
	return "winograd along lines, inputs of " + strconv.Itoa(t.inner) + " behind " + strconv.Itoa(t.lead) + " zeros"
}

// winogradPacked is the length of the packed weights.
func (c *conv) winogradPacked() int {
	t := c.winogradTiles()
	return c.groups * t.Products * c.len(t.sections*t.inner, c.outPer)
}

// packWinograd writes the panels of G·g·Gᵀ, group after group and plane after plane; rows are the input channels of the first section
// of the taps, then those of the next. What was read of w is released at once, if anybody wants it: the panels are larger, and the whole
// of both would be the most memory that many programs ever have.
func packWinograd(dst []float32, c *conv, tier kernel.Tier, w *tensor.Tensor, release func([]byte)) {
	var s [tensor.MaxRank]int
	stridesOf(&w.Meta, &s)
	t := c.winogradTiles()
	apart := s[0] == c.depth() // the weights of an output channel lie together
	depth, lead := t.sections*t.inner, t.lead*c.inPer
	rows := max(c.depth(), depth*kernel.WinogradTaps) // of taps, some of them zeros along a line
	taps := takeRoom[float32](&panelTaps, rows*c.width(min(c.cols, c.outPer)))
	defer panelTaps.Put(&taps)
	k := kernel.Winograd{WinogradTile: t.WinogradTile, Tiles: t.inner, Plane: c.len(depth, c.outPer)}
	for g := range c.groups {
		from := elems[float32](w)[g*c.outPer*s[0]:]
		for o := 0; o < c.outPer; o += c.cols {
			panel := *c
			panel.outPer = min(c.cols, c.outPer-o)
			k.Channels = c.width(panel.outPer)
			column, first, last := t.inner*k.Channels, lead*k.Channels, (lead+c.depth())*k.Channels
			clear(taps[:first])
			packGroup(taps[first:last], &panel, from[o*s[0]:], &s, 0)
			clear(taps[last : rows*k.Channels])
			for p := range t.sections {
				k.Planes = at32(dst, o*depth+p*column)
				k.Weights(tier, at32(taps, p*kernel.WinogradTaps*column), kernel.WinogradTaps*column, column)
			}
			if read := panel.outPer * s[0] * f32Size; release != nil && apart && read >= releaseLeast {
				release(w.Data[(g*c.outPer+o)*s[0]*f32Size:][:read])
			}
		}
		dst = dst[t.Products*k.Plane:]
	}
}

// releaseLeast is from how many bytes on the weights of a panel are released.
const releaseLeast = 64 << 10

// panelTaps has what packWinograd needed for the taps of a panel, for the next convolution.
var panelTaps sync.Pool

// convWinograd computes a convolution whose weights are packed by packWinograd.
func convWinograd(call *Call, j *convJob[float32]) error {
	k := keep[winograd](call)
	k.job = winograd{convJob: *j, tier: call.Tier}
	k.job.layOut(call.Threads)
	return k.job.compute(call, k.run)
}

// winogradPlaneTiles is how many tiles, in all planes, a piece has at most: so many that weights are read seldom, so few that their planes
// stay in a cache.
const winogradPlaneTiles = 1 << 10

// winogradFramed is how many inputs an image has at most that is copied into a frame of zeros: that takes less time than copying the
// tiles at its border one by one.
const winogradFramed = 1 << 11

// layOut decides all that depends on sizes alone.
func (w *winograd) layOut(threads int) {
	w.winogradTiles = w.conv.winogradTiles()
	w.phases, w.down, w.across = w.cut(&w.conv)
	if w.pad != (triple{}) && w.stride[2] == 1 && w.in.size.product()*w.in.channels <= winogradFramed {
		w.widen(&w.conv)
		w.before = 0
	}
	tiles := w.tiles()
	if w.line = tiles; w.sections > 1 {
		w.line = w.across
	}
	n := ceil(w.line, winogradPlaneTiles/w.Products)
	w.slots, w.shares = Slots{Count: 1}, 1
	lines := w.groups * tiles / w.line
	if products := lines * w.line * w.Products * w.sections * w.inner * w.outPer; products >= gemmParallelMin && threads > 1 {
		w.slots.Count = min(threads, MaxSlots)
		switch { // pieces of less than tileLeast tiles take as long as those of so many
		case w.groups == 1 && w.sharesPanels(threads): // groups are shares of the weights as they are
			w.shares = min(threads, w.panels(w.outPer))
		case lines == 1:
			n = max(n, min(ceil(n, threads)*threads, ceil(w.line, tileLeast)))
		case !even(lines*n, threads):
			n = max(n, min(ceil(dividedLeast*threads, lines), w.line/tileLeast))
		}
	}
	w.piece = ceil(w.line, n)
	w.slots.Items = lines * ceil(w.line, w.piece) * w.shares
	channels := max(winogradBlock/(min(w.slots.Count, 2)*w.Products*w.piece), w.inner)
	w.atOnce = max(channels/w.cols, 1) * w.cols
}

// winogradBlock is how many products lie in the planes of a block of channels at most, in those of both threads together if they are two; but a
// block has as many channels as the inputs at least. Fewer products take less memory and stay in a cache, where inputs are read again for each block.
const winogradBlock = 1 << 17

// sharesPanels reports whether threads divide the panels of weights, which are so many that it takes longest to fetch them, and not the
// tiles. Then each thread transforms all inputs.
func (w *winograd) sharesPanels(threads int) bool {
	last, panels := (w.outPer-1)%w.cols+1, w.panels(w.outPer)
	return last >= min(winogradLeast, w.cols) && even(panels, threads) &&
		w.Products*w.sections*w.outPer > winogradShared*w.out.batch*w.in.size.product()
}

// winogradShared is how many weights for each input are so many.
const winogradShared = 4 * fetchCost

func (w *winograd) tiles() int { return w.out.batch * w.phases[0] * w.phases[1] * w.down * w.across }

// planeGap keeps the same elements of planes out of the same set of a cache.
const planeGap = 16

// widest is how many channels are computed at a time at most: those behind a block that are too few for a vector belong to it.
func (w *winograd) widest() int { return min(w.atOnce+winogradLeast-1, w.outPer) }

// planes are the lengths of a plane of inputs and of one of products.
func (w *winograd) planes() (in, out int) {
	return (w.piece+w.sections-1)*w.inner + planeGap, w.piece*w.widest() + planeGap
}

func (w *winograd) compute(call *Call, run func(lo, hi int)) error {
	in, out := w.planes()
	size := w.Products*(in+out) + w.InRows*w.InCols*w.inner + w.Rows*w.Cols*w.widest()
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
	p := pieceOfTiles{winograd: w}
	var rest []float32
	p.planesIn, rest = cutOff(w.space[mine*size:][:size], w.Products*in)
	p.planesOut, rest = cutOff(rest, w.Products*out)
	p.patch, p.edge = cutOff(rest, w.InRows*w.InCols*w.inner)
	panels, pieces := w.panels(w.outPer), ceil(w.line, w.piece) // of a line
	lines := w.tiles() / w.line                                 // of a group
	for i := lo; i < hi; i++ {
		at, share := i/w.shares, i%w.shares
		line := at / pieces
		p.group = line / lines
		first := line % lines * w.line
		p.lo = first + at%pieces*w.piece
		p.hi = min(p.lo+w.piece, first+w.line)
		p.inputs()
		p.spoiled = [len(p.spoiled)]bool{}
		last := min(panels*(share+1)/w.shares*w.cols, w.outPer)
		for p.first = panels * share / w.shares * w.cols; p.first < last; p.first += p.channels {
			if p.channels = last - p.first; p.channels > w.widest() {
				p.channels = w.atOnce
			}
			p.products()
			p.results()
		}
		p.define()
	}
}

// cutOff is the first n elements of x, and the rest.
func cutOff(x []float32, n int) (first, rest []float32) { return x[:n:n], x[n:] }

// pieceOfTiles are tiles lo to hi, of which some channels of a group's results are made, and the space for them.
type pieceOfTiles struct {
	*winograd
	lo, hi              int
	group               int
	first, channels     int                          // of the group's, which are computed at a time
	planesIn, planesOut []float32                    // of inputs and of products
	patch, edge         []float32                    // the inputs of a tile, and the results of one
	spoiled             [winogradPlaneTiles / 5]bool // tiles with results that are not finite; those along lines are the most, with 5 products
}

// tile is where a tile lies: its image, and the first of its results.
func (w *winograd) tile(i int) (n, y, x int) {
	x, i = i%w.across*w.Cols*w.dilation[2], i/w.across
	y, i = i%w.down*w.Rows*w.dilation[1], i/w.down
	x, i = x+i%w.phases[1], i/w.phases[1]
	return i / w.phases[0], y + i%w.phases[0], x
}

// inputs makes the planes of inputs: of the tiles, and of those behind them that the other sections of the taps see.
func (p *pieceOfTiles) inputs() {
	plane, _ := p.planes()
	k := kernel.Winograd{WinogradTile: p.WinogradTile, Channels: p.inner, Plane: plane}
	step := p.inner / p.inPer
	line, column, size := p.in.step[1], p.in.step[2]*step, p.in.size[2]/step
	for i, hi := p.lo, p.hi+p.sections-1; i < hi; i += k.Tiles {
		behind := max(0, i-p.hi+1)
		n, y, x := p.tile(i - behind)
		y, x = y-p.pad[1], x+behind*p.Cols*p.dilation[2]-p.before
		k.Tiles, k.Planes = 1, at32(p.planesIn, (i-p.lo)*p.inner)
		below, right := y+(p.InRows-1)*p.dilation[1], x+(p.InCols-1)*p.dilation[2]
		if y < 0 || x < 0 || below >= p.in.size[1] || right >= size {
			p.fill(n, y, x*step, step)
			k.In(p.tier, at32(p.patch, 0), p.InCols*p.inner, p.inner)
			continue
		}
		k.Tiles = min(hi-i, (size-1-right)/(p.Cols*p.dilation[2])+1)
		k.In(p.tier, at32(p.x, n*p.in.sn+y*line+x*column+p.group*p.inPer), p.dilation[1]*line, p.dilation[2]*column)
	}
}

// fill copies the inputs of a tile from y, x on, of which some lie outside of the image; those of step columns lie one after another.
func (p *pieceOfTiles) fill(n, y, x, step int) {
	in := &p.in
	for i := range p.InRows {
		h := y + i*p.dilation[1]
		for j := range p.InCols * step {
			w := x + j*p.dilation[2]
			to := p.patch[(p.InCols*step*i+j)*p.inPer:][:p.inPer]
			if h < 0 || w < 0 || h >= in.size[1] || w >= in.size[2] {
				clear(to)
				continue
			}
			copy(to, p.x[n*in.sn+h*in.step[1]+w*in.step[2]+p.group*p.inPer:])
		}
	}
}

// products multiplies each plane with its weights: a row for each tile, which goes on with the tiles behind that the other sections see.
func (p *pieceOfTiles) products() {
	in, out := p.planes()
	depth := p.sections * p.inner
	size := p.len(depth, p.outPer)
	g := gemm[float32]{tiling: p.tiling, m: p.hi - p.lo, n: p.channels, k: depth, lda: p.inner, rs: p.channels, cs: 1, bounds: kernel.Unclamped}
	weights := p.w[p.group*p.Products*size:]
	for f := range p.Products {
		g.a, g.b, g.c, g.bias = p.planesIn[f*in:], weights[f*size+p.first*depth:], p.planesOut[f*out:], nil
		if f == p.Bias {
			g.bias = part32(p.bias, p.group*p.outPer+p.first, p.channels)
		}
		g.block(0, g.m, 0, g.panels(g.n))
	}
}

// results makes the results of the planes of products.
func (p *pieceOfTiles) results() {
	for i := p.lo; i < p.hi; {
		_, y, x := p.tile(i)
		n := 1
		if lines, columns := p.within(y, x); lines == p.Rows && columns == p.Cols {
			n = min(p.hi-i, ceil(p.out.size[2]-x, p.dilation[2])/p.Cols)
		}
		if !p.result(i, n) {
			for k := i; k < i+n; k++ {
				if !p.result(k, 1) {
					p.spoiled[k-p.lo] = true
				}
			}
		}
		i += n
	}
}

// result makes the results of n tiles of a line, or those of one that reaches beyond the image, and reports whether all are
// finite.
func (p *pieceOfTiles) result(i, n int) bool {
	_, plane := p.planes()
	o := &p.out
	image, y, x := p.tile(i)
	k := kernel.Winograd{WinogradTile: p.WinogradTile, Tiles: n, Channels: p.channels, Plane: plane, Planes: at32(p.planesOut, (i-p.lo)*p.channels)}
	at := image*o.sn + y*o.step[1] + x*o.step[2] + p.group*p.outPer + p.first
	line, column := p.dilation[1]*o.step[1], p.dilation[2]*o.step[2]
	h, w := p.within(y, x)
	if h == p.Rows && w == p.Cols {
		return k.Out(p.tier, at32(p.y, at), line, column, p.bounds[0], p.bounds[1])
	}
	finite := k.Out(p.tier, at32(p.edge, 0), p.Cols*p.channels, p.channels, p.bounds[0], p.bounds[1])
	for r := range h {
		for c := range w {
			copy(p.y[at+r*line+c*column:], p.edge[(p.Cols*r+c)*p.channels:][:p.channels])
		}
	}
	return finite
}

// within is how many lines and columns of the tile at y, x lie in the image.
func (w *winograd) within(y, x int) (lines, columns int) {
	return min(w.Rows, ceil(max(0, w.out.size[1]-y), w.dilation[1])), min(w.Cols, ceil(max(0, w.out.size[2]-x), w.dilation[2]))
}

// define computes the results of spoiled tiles by their definition: where an input is infinite or NaN, or sums are infinite, the algorithm
// spoils all results of its tile. A piece of which others make some channels leaves that to the end, since others may find what it does not.
func (p *pieceOfTiles) define() {
	for i, spoiled := range p.spoiled[:p.hi-p.lo] {
		switch {
		case !spoiled:
		case p.shares > 1:
			atomic.StoreUint32(&p.odd, 1)
		default:
			p.defineTile(p.lo + i)
		}
	}
}

func (p *pieceOfTiles) defineTile(i int) {
	o := &p.out
	n, y, x := p.tile(i)
	lines, columns := p.within(y, x)
	for r := range lines {
		for c := range columns {
			h, w := y+r*p.dilation[1], x+c*p.dilation[2]
			first := p.group * p.outPer
			to := p.y[n*o.sn+h*o.step[1]+w*o.step[2]+first:][:p.outPer]
			for k := range to {
				to[k] = clampOf(p.sum(n, h, w, first+k), p.bounds[0], p.bounds[1])
			}
		}
	}
}

// sum is the result for output channel c at h, w of image n.
func (p *pieceOfTiles) sum(n, h, w, c int) float32 {
	var s [tensor.MaxRank]int
	stridesOf(&p.weights.Meta, &s)
	in, weights := &p.in, elems[float32](p.weights)
	var sum float32
	if p.bias != nil {
		sum = p.bias[c]
	}
	for t := range p.taps() {
		y, x := p.conv.source(1, h, t/p.kernel[2]), p.conv.source(2, w, t%p.kernel[2])
		if y < 0 || x < 0 {
			continue
		}
		from := p.x[n*in.sn+y*in.step[1]+x*in.step[2]+p.group*p.inPer:][:p.inPer]
		at := c*s[0] + p.tapOffset(t, &s)
		for k, v := range from {
			sum += float32(v * weights[at+k*s[1]])
		}
	}
	return sum
}
