package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// segmented reports that the inputs of an output position are, for each row of the kernel, a run of elements that lie
// one after another, or one for each tap of it: so the tiles read the input itself.
func (c *conv) segmented() bool {
	return c.innermost() && (!c.byTaps() || c.kernel[1] == 1 || goesOn(c.micro, c.outPer))
}

// innermost reports a convolution of images by vector kernels, with the channels of a position side by side.
func (c *conv) innermost() bool {
	return c.micro != nil && c.channelsInner && !c.transposed && c.in.sc == 1 && c.out.sc == 1 &&
		c.in.size[0] == 1 && c.out.size[0] == 1 && c.kernel[0] == 1 && c.pad[0] == 0
}

// byTaps reports that the inputs which a row of the kernel sees do not lie one after another: those of a tap do.
func (c *conv) byTaps() bool { return c.kernel[2] > 1 && (c.groups > 1 || c.dilation[2] > 1) }

// goesOn reports whether tiles can go on with what they gave of n columns, as those of several rows of the kernel do.
func goesOn[N int | int64](g *kernel.Gemm, n N) bool {
	rest := n % N(g.Cols)
	return g.Partial() || rest == 0 || rest == N(g.Narrow)
}

// fillsPanels reports whether tiles can go on with what they gave of n columns, and leave at most half of their panels empty. Groups
// of so few columns take up to a third longer than with the channels outermost, and what is around them takes less.
func fillsPanels[N int | int64](g *kernel.Gemm, n N) bool {
	width, rest := N(g.Cols), n%N(g.Cols)
	if rest <= N(g.Narrow) {
		width = N(g.Narrow)
	}
	return goesOn(g, n) && (rest == 0 || 2*n >= n-rest+width)
}

// segments is a convolution that is segmented. Its work is cut into pieces: for every image and group a rectangle of
// output positions with a panel of the weights.
type segments struct {
	convJob[float32]
	down, across int  // rectangles of an image
	shared       bool // among threads
	bare         bool // it is one of several that read the input, which would each have a frame of it
	// byPanels says that all rectangles of a panel come before the next panel.
	byPanels bool
	framing
}

// The output positions that a rectangle has about and at most in a row.
const (
	segmentPositions = 96
	segmentRow       = 112
)

// manyWeights and smallImage are how many weights are so many that they are hardly in a cache when they are wanted, since those of the
// other layers have been read since the last call, and how many inputs of an image stay there beside a panel.
const (
	manyWeights = 1 << 14
	smallImage  = 1 << 17
)

// many reports whether the convolution has many weights.
func (s *segments) many() bool { return s.outPer*s.depth() >= manyWeights }

// rows is how many rows a rectangle of so many columns has about: all of a small image if there are many weights, so that they are
// read once.
func (s *segments) rows(cols int) int {
	if s.many() && s.in.size.product()*s.inPer <= smallImage {
		return s.out.size[1]
	}
	return max(1, segmentPositions/cols)
}

// convSegments computes a convolution that is segmented.
func convSegments(call *Call, j *convJob[float32]) error {
	k := keep[segments](call)
	k.job = segments{convJob: *j}
	k.job.layOut(call.Threads)
	return k.job.compute(call, k.run)
}

// compute computes a convolution that is laid out; run does parts of it.
func (s *segments) compute(call *Call, run func(lo, hi int)) error {
	err := s.fillFrame(call, &s.convJob, func(rows int) {
		if s.shared {
			call.Parallel(rows, max(1, parallelGrain/s.within.step[1]), run)
		} else {
			s.parts(0, rows)
		}
	})
	if err != nil {
		return err
	}
	if !s.shared {
		s.parts(0, s.pieces())
		return nil
	}
	call.Parallel(s.pieces(), 1, run)
	return nil
}

// layOut decides all that depends on sizes alone.
func (s *segments) layOut(threads int) {
	if s.planes || !s.bare && s.frames() {
		s.widen(&s.conv)
	}
	if s.pointwise() && s.out.step[1] == s.out.size[2]*s.out.step[2] {
		s.flatten()
	}
	if s.work() < gemmParallelMin {
		s.cut(1, 1)
		return
	}
	weights, inputs := s.outPer*s.depth(), s.in.size.product()*s.inPer
	if threads > 1 {
		inputs *= fetchCost
	}
	s.shared, s.byPanels = true, weights > inputs
	s.cut(piecesLeast*threads, threads)
}

// fetchCost is how much longer it takes to fetch an input that another thread has just written than a weight, which nobody writes.
const fetchCost = 4

// piecesLeast is how many pieces a thread has at least, if there are tiles for them.
const piecesLeast = 8

// cut divides images into rectangles, such that there are at least so many pieces if that leaves whole tiles. Of a single image each
// thread has as many of them, so that it reads what it wrote itself: all operators divide images at the same places.
func (s *segments) cut(least, threads int) {
	h, w := s.out.size[1], s.out.size[2]
	s.across = ceil(w, segmentRow)
	rows := s.rows(ceil(w, s.across))
	s.down = ceil(h, rows)
	if n := s.pieces(); n < least {
		more := ceil(least, n)
		down := min(h, s.down*more)
		s.across = max(s.across, min(s.across*more*s.down/down, ceil(w, s.micro.Rows)))
		s.down = down
	}
	s.down, s.across = partsOf(h, s.down), partsOf(w, s.across)
	if threads <= 1 || s.byPanels || s.out.batch > 1 {
		return
	}
	if whole := ceil(s.down, threads) * threads; whole <= h {
		s.down = whole
	} else if across := ceil(s.across, threads) * threads; h == 1 && w >= tileLeast*across {
		s.across = across
	}
}

// partsOf is how many parts of n there are, of which most is the most, if each has as much as possible of what the largest has.
func partsOf(n, most int) int {
	return ceil(n, ceil(n, most))
}

// pieces is how many pieces there are: a panel for each rectangle, group and image.
func (s *segments) pieces() int {
	return s.out.batch * s.groups * s.down * s.across * s.panels(s.outPer)
}

// tileLeast is as how many rows a tile counts that has fewer: it reads as much of the weights. tileCost is what a tile
// costs beside, in steps of a row.
const (
	tileLeast = 5
	tileCost  = 150
)

// tilesCost is what h × w positions cost that see so many taps, in steps of a row of tiles.
func (c *conv) tilesCost(h, w, taps int) int {
	long := max(h, w)
	tiles := (long + c.micro.Rows - 1) / c.micro.Rows
	return min(h, w) * (max(long, tiles*tileLeast)*taps*c.inPer + tiles*tileCost)
}

// borderCost is what the positions of an image cost as they are: those of a border see other taps than the rest, so that no tile has both.
func (c *conv) borderCost() (cost int) {
	v := stretch{limit: c.out.size[1]}
	for c.next(1, &v) {
		u := stretch{limit: c.out.size[2]}
		for c.next(2, &u) {
			cost += c.tilesCost(v.len(), u.len(), v.taps()*u.taps())
		}
	}
	return cost
}

// copySteps is how many elements are copied in the time of a step.
const copySteps = 8

// copyCost is what it costs to copy an input of h × w positions, for each panel.
func (c *conv) copyCost(h, w int) int { return h * w * c.in.channels / copySteps / c.panels(c.outPer) }

// framedCost is borderCost of the input with a frame, and the copy.
func (c *conv) framedCost() int {
	return c.tilesCost(c.out.size[1], c.out.size[2], c.taps()) + c.copyCost(c.in.size[1]+2*c.pad[1], c.in.size[2]+2*c.pad[2])
}

// flatten sees the rows of an image as one.
func (s *segments) flatten() {
	for _, v := range []*volume{&s.in, &s.out} {
		v.size[2] *= v.size[1]
		v.size[1] = 1
	}
}

// parts computes pieces lo to hi, or copies these rows into the frame.
func (s *segments) parts(lo, hi int) {
	if s.frame != nil {
		s.fillRows(lo, hi)
		return
	}
	panels, n := s.panels(s.outPer), s.down*s.across
	all, rectangles := s.groups*panels, s.out.batch*n // panels of all groups, rectangles of all images
	for i := lo; i < hi; i++ {
		k, p := i%all, i/all
		if s.byPanels {
			k, p = i/rectangles, i%rectangles
		}
		at := s.rectangle(p%n/s.across, p%s.across)
		g := k / panels
		k %= panels
		if s.many() && k+1 < panels && (s.byPanels || i+1 < hi) {
			at.part, at.parts = p%n, n
		}
		s.piece(p/n, g, k, &at)
	}
}

// rectangle are the output positions from top to bottom and from left to right, and which part of the next panel they fetch; none if
// parts is 0.
type rectangle struct {
	top, bottom, left, right int
	part, parts              int
}

// rectangle is the one in this row and this column of rectangles.
func (s *segments) rectangle(row, col int) rectangle {
	h, w := s.out.size[1], s.out.size[2]
	return rectangle{top: h * row / s.down, bottom: h * (row + 1) / s.down, left: w * col / s.across, right: w * (col + 1) / s.across}
}

// piece computes panel k of group g of image n for the positions of r.
func (s *segments) piece(n, g, k int, r *rectangle) {
	s.panel(g, k, s.x[n*s.in.sn+g*s.inPer:], s.y[n*s.out.sn+g*s.outPer+k*s.tiling.cols:], r)
}

// panel is piece for inputs x and results y of the image from the group's and the panel's first channels on.
func (s *segments) panel(g, k int, x, y []float32, r *rectangle) {
	t := strip{micro: s.micro, cols: min(s.tiling.cols, s.outPer-k*s.tiling.cols)}
	t.width = s.width(t.cols)
	t.Low, t.High = s.bounds[0], s.bounds[1]
	t.startAt(part32(s.bias, g*s.outPer+k*s.tiling.cols, t.cols))
	size := s.tiling.cols * s.depth()
	weights := s.w[g*s.len(s.depth(), s.outPer):][k*size : s.len(s.depth(), s.outPer)]
	if r.parts > 0 {
		next := weights[size:min(len(weights), 2*size)]
		t.next = floats(next[len(next)*r.part/r.parts : len(next)*(r.part+1)/r.parts])
	}
	v := stretch{to: r.top, limit: r.bottom}
	for s.next(1, &v) {
		u := stretch{to: r.left, limit: r.right}
		for s.next(2, &u) {
			s.block(&t, x, y, weights, &v, &u)
		}
	}
}

// stretch are the output positions from to to of an axis, which see the taps lo to hi; limit is where the axis ends.
type stretch struct{ from, to, lo, hi, limit int }

func (s *stretch) len() int  { return s.to - s.from }
func (s *stretch) taps() int { return s.hi - s.lo }

// next makes s the longest stretch that begins where it ends, and reports whether there is one.
func (c *conv) next(axis int, s *stretch) bool {
	if s.to >= s.limit {
		return false
	}
	stride, pad, dilation, k, in := c.stride[axis], c.pad[axis], c.dilation[axis], c.kernel[axis], c.in.size[axis]
	first := s.to*stride - pad // where the first tap is; the others are dilation behind one another
	s.from, s.to, s.lo, s.hi = s.to, s.limit, 0, k
	if first < 0 {
		s.lo = min(k, ceil(-first, dilation))
		s.to = min(s.to, ceil(pad-(s.lo-1)*dilation, stride)) // there the tap before comes into the input
	}
	if first+(k-1)*dilation >= in {
		s.hi = max(s.lo, ceil(in-first, dilation))
	}
	if s.hi > 0 {
		s.to = min(s.to, ceil(in+pad-(s.hi-1)*dilation, stride)) // there the last tap leaves it
	}
	return true
}

// block computes the positions of the rows v and the columns u: side by side along the longer of the two.
func (s *segments) block(t *strip, x, y, weights []float32, v, u *stretch) {
	in, out := &s.in, &s.out
	depth, run := u.taps()*s.inPer, uintptr(f32Size)
	t.Depth, t.Segments = uintptr(depth), uintptr(v.taps())
	if depth == 0 || v.taps() == 0 {
		t.Depth, t.Segments = 0, 1
	}
	t.Gap = uintptr(s.dilation[1]*in.step[1]-depth) * run
	t.PanelGap = uintptr((s.kernel[2]-u.taps())*s.inPer*t.width) * run
	rows := 1 // of the kernel, that are computed one after another
	if s.byTaps() && u.taps() > 1 && t.Depth > 0 {
		rows = v.taps()
		t.Depth, t.Segments, t.PanelGap = uintptr(s.inPer), uintptr(u.taps()), 0
		t.Gap = uintptr(s.dilation[2]*in.step[2]-s.inPer) * run
	}
	t.Panel = at32(weights, min((v.lo*s.kernel[2]+u.lo)*s.inPer*t.width, len(weights)))
	steps, outs, counts := [2]int{s.stride[1] * in.step[1], s.stride[2] * in.step[2]}, [2]int{out.step[1], out.step[2]}, [2]int{v.len(), u.len()}
	long := 1
	if counts[0] > counts[1] {
		long = 0
	}
	from := (v.from*s.stride[1]-s.pad[1]+v.lo*s.dilation[1])*in.step[1] + (u.from*s.stride[2]-s.pad[2]+u.lo*s.dilation[2])*in.step[2]
	if t.Depth == 0 {
		from = 0
		steps = [2]int{}
	}
	t.Stride, t.OutStride = uintptr(steps[long])*run, uintptr(outs[long])*run
	to := v.from*out.step[1] + u.from*out.step[2]
	n := balanced(counts[long], s.micro.Rows)
	for i := range counts[1-long] {
		t.Left = at32(x, from+i*steps[1-long])
		t.Out = at32(y, to+i*outs[1-long])
		if rows > 1 {
			s.stages(t, counts[long], n, rows)
		} else {
			t.rows(counts[long], n)
		}
	}
}

// stages computes this many rows by tiles of n, each in stages, one for each row of the kernel: it goes on with what the one before gave.
func (s *segments) stages(t *strip, count, n, rows int) {
	t.More = 0 // rows may have left another
	whole := *t
	left, panel := uintptr(s.dilation[1]*s.in.step[1]*f32Size), uintptr(s.kernel[2]*s.inPer*t.width*f32Size)
	for {
		tile := min(n, count)
		t.Low, t.High = kernel.Unclamped[0], kernel.Unclamped[1]
		for r := range rows {
			t.Left, t.Panel = behind(whole.Left, r, left), behind(whole.Panel, r, panel)
			if r == rows-1 {
				t.Low, t.High = whole.Low, whole.High
			}
			t.run(tile)
			t.Start, t.StartStride = t.Out, t.OutStride
		}
		t.Panel, t.Start, t.StartStride = whole.Panel, whole.Start, 0
		if count -= tile; count == 0 {
			return
		}
		whole.Left, t.Out = behind(whole.Left, tile, whole.Stride), behind(t.Out, tile, whole.OutStride)
	}
}
