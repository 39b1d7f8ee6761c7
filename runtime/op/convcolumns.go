package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// A transposed convolution is a product, of the weights turned around and the image, and a sum: for each position of the input, the
// product gives what it adds to every result that sees it (columns, as of aten::col2im), one for each output channel and tap.

// columnsMost is how many elements the columns of groups that are computed together have at most, unless one has more.
var columnsMost = 1 << 20 // tests make it small

// columnsJob is a transposed convolution of contiguous images by its columns.
type columnsJob struct {
	rowsJob // the product for some groups, whose output channels are the columns
	whole   convJob[float32]
	image   []float32 // of the results
	first   int       // the output channel that the columns begin with
	adds    bool
}

// columnProduct is the product of a transposed convolution, for the groups that are computed together: windows of one position.
func (c *conv) columnProduct() conv {
	p, n := *c, c.in.size.product()
	p.transposed, p.deep, p.spatial = false, false, 1
	p.kernel, p.stride, p.dilation, p.pad = triple{1, 1, 1}, triple{1, 1, 1}, triple{1, 1, 1}, triple{}
	p.outPer *= c.taps()
	p.groups = min(c.groups, max(1, columnsMost/max(1, p.outPer*n)))
	p.in = volume{batch: 1, channels: p.groups * p.inPer, size: triple{1, 1, n}, sc: c.in.sc, step: triple{n, n, 1}}
	p.out = volume{batch: 1, channels: p.groups * p.outPer, size: p.in.size, sc: n, step: p.in.step}
	return p
}

// convColumns computes a transposed convolution by its columns, some groups of an image at a time.
func convColumns(call *Call, j *convJob[float32]) error {
	k := keep[columnsJob](call)
	c := &k.job
	*c = columnsJob{rowsJob: rowsJob{convJob: *j}, whole: *j}
	c.conv, c.bias, c.bounds = j.columnProduct(), nil, kernel.Unclamped
	space, err := tempOf[float32](call, c.out.channels*c.out.sc)
	if err != nil {
		return err
	}
	if err := c.layOut(call); err != nil {
		return err
	}
	together := c.groups
	for n := range j.in.batch {
		for g := 0; g < j.groups; g += together {
			c.groups, c.first, c.adds = min(together, j.groups-g), g*j.outPer, false
			c.rowsJob.convJob.w = j.w[c.first*j.taps()*j.inPer:]
			c.product(call, j.x[n*j.in.sn+g*j.inPer*j.in.sc:], space, k.run)
			c.image, c.adds = j.y[n*j.out.sn:], true
			if c.workers == 1 {
				c.parts(0, c.groups*j.outPer)
			} else {
				call.Parallel(c.groups*j.outPer, 1, k.run)
			}
		}
	}
	return nil
}

// parts computes pieces of the product, or adds up output channels lo to hi of those that have columns.
func (c *columnsJob) parts(lo, hi int) {
	if !c.adds {
		c.rowsJob.parts(lo, hi)
		return
	}
	for i := lo; i < hi; i++ {
		c.channel(i)
	}
}

// channel adds up output channel i of those that have columns.
func (c *columnsJob) channel(i int) {
	w := &c.whole
	taps, size := w.taps(), w.out.size.product()
	y, columns := c.image[(c.first+i)*w.out.sc:][:size], c.rowsJob.y[i*taps*c.out.sc:]
	var start float32
	if w.bias != nil {
		start = w.bias[c.first+i]
	}
	for k := range y {
		y[k] = start
	}
	plane, lines := w.out.size[1]*w.out.size[2], w.in.size[1]*w.in.size[2]
	for t := range taps {
		deep, rows, cols := w.track(0, t/(w.kernel[1]*w.kernel[2])), w.track(1, t/w.kernel[2]%w.kernel[1]), w.track(2, t%w.kernel[2])
		lo, hi := deep.inside()
		for d := lo; d < hi; d++ {
			addColumns(y[deep.at(d)*plane:], columns[t*c.out.sc+d*lines:], rows, cols)
		}
	}
	clampTo(y, w.bounds)
}

// track is where the positions of the input along an axis lie in the output of a transposed convolution, through tap k.
func (c *conv) track(axis, k int) track {
	return track{k*c.dilation[axis] - c.pad[axis], c.stride[axis], c.in.size[axis], c.out.size[axis]}
}
