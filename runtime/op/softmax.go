package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func softmax[T float](c *Call) error    { return runSoftmax[T](c, false) }
func logSoftmax[T float](c *Call) error { return runSoftmax[T](c, true) }

// runSoftmax computes softmax, or its logarithm, along dimension argument 1, by vector kernels where the tier has them.
func runSoftmax[T float](c *Call, log bool) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	dim, err := WrapDim(c.Args[1].Int, in.Rank())
	if err != nil {
		return err
	}
	if isFloat32[T]() && c.Tier != kernel.Scalar && in.Contiguous() && out.Contiguous() && in.Rank() > 0 && in.Numel() > 0 {
		_, inner := outerInner(&in.Meta, dim)
		switch {
		case inner == 1:
			softmaxOfRows[T](c, log, int(in.Sizes[dim]))
			return nil
		case inner >= softmaxLeast:
			return softmaxOfLines[T](c, log, int(in.Sizes[dim]), inner)
		}
	}
	return scan(c, func(o, x []T) { softmaxOf(c.Tier, o, x, log) })
}

// rowCost is about how many times longer an element of a softmax or a norm takes than one of a sum.
const rowCost = 4

func softmaxOfRows[T float](c *Call, log bool, size int) {
	j := softmaxRows[T]{log: log, o: elems[T](c.Out[0]), x: elems[T](c.Args[0].Tensor), size: size, tier: c.Tier}
	rows := len(j.x) / size
	if parallel(c, rowCost*len(j.x)) {
		share(c, &j, rows, max(1, parallelGrain/rowCost/size))
	} else {
		j.parts(0, rows)
	}
}

// softmaxRows are rows of size elements, one after another.
type softmaxRows[T float] struct {
	log  bool
	o, x []T
	size int
	tier kernel.Tier
}

// parts computes rows lo to hi.
func (j *softmaxRows[T]) parts(lo, hi int) {
	if from, to := lo*j.size, hi*j.size; isFloat32[T]() && !j.log && kernel.SoftmaxRowsF32(j.tier, floats(j.o[from:to]), floats(j.x[from:to]), j.size) {
		return
	}
	for i := lo * j.size; i < hi*j.size; i += j.size {
		softmaxOf(j.tier, j.o[i:i+j.size], j.x[i:i+j.size], j.log)
	}
}

// softmaxOf computes a row.
func softmaxOf[T float](t kernel.Tier, o, x []T, log bool) {
	switch {
	case isFloat32[T]() && !log && vectorSoftmax(t, floats(o), floats(x)):
	case isFloat32[T]() && log && vectorLogSoftmax(t, floats(o), floats(x)):
	case log:
		logSoftmaxRow(o, x)
	default:
		softmaxRow(o, x)
	}
}

// vectorSoftmax is softmaxRow with exponentials and sums in float32, if t has kernels for it.
func vectorSoftmax(t kernel.Tier, o, x []float32) bool {
	if kernel.SoftmaxRowsF32(t, o, x, len(x)) {
		return true
	}
	top, ok := kernel.MaxRowF32(t, x)
	if !ok {
		return false
	}
	sum, _ := kernel.ExpRowF32(t, o, x, top)
	kernel.AffineRowF32(t, o, o, nil, nil, 0, 1/sum)
	return true
}

// vectorLogSoftmax is logSoftmaxRow with exponentials in float32, if t has kernels for it.
func vectorLogSoftmax(t kernel.Tier, o, x []float32) bool {
	top, ok := kernel.MaxRowF32(t, x)
	if !ok {
		return false
	}
	sum, _ := kernel.ExpRowF32(t, o, x, top)
	kernel.AffineRowF32(t, o, x, nil, nil, top, 1)
	return kernel.AffineRowF32(t, o, o, nil, nil, float32(scalarmath.Log(float64(sum))), 1)
}

// softmaxWidth is how many elements of a line are computed at a time, or fewer where threads need more pieces; the last ones may be
// fewer than softmaxLeast more, which is how many the kernels take at least.
const softmaxWidth, softmaxLeast = 256, 16

// softmaxLines are lines of elements beside each other, of which those in the same place make a softmax. A line begins
// stride after the one before.
type softmaxLines struct {
	tier          kernel.Tier
	count, stride int
	// top are the largest elements, sum the sums of exponentials; work is as long.
	top, work []float32
	sum       []float64
}

func softmaxOfLines[T float](c *Call, log bool, count, inner int) error {
	j := softmaxTiles{log: log, o: floats(elems[T](c.Out[0])), x: floats(elems[T](c.Args[0].Tensor)), count: count, inner: inner,
		width: softmaxWidth, workers: 1, tier: c.Tier}
	if parallel(c, rowCost*len(j.x)) {
		for j.width > softmaxWidth/4 && j.tiles() < 4*c.Threads {
			j.width /= 2
		}
		j.workers = max(1, min(c.Threads, j.tiles()))
	}
	var err error
	if j.buf, err = tempOf[float32](c, j.workers*2*(softmaxWidth+softmaxLeast)); err != nil {
		return err
	}
	if j.sums, err = tempOf[float64](c, j.workers*(softmaxWidth+softmaxLeast)); err != nil {
		return err
	}
	if j.workers > 1 {
		share(c, &j, j.workers, 1)
	} else {
		j.parts(0, 1)
	}
	return nil
}

// softmaxTiles are groups of count lines of inner elements, which workers divide into tiles of width columns of a group.
type softmaxTiles struct {
	log                          bool
	o, x                         []float32
	count, inner, width, workers int
	buf                          []float32 // of all workers, as sums
	sums                         []float64
	tier                         kernel.Tier
}

// perGroup counts the tiles of a group: what is left of its columns makes a tile if it has softmaxLeast, and else joins the last.
func (j *softmaxTiles) perGroup() int { return 1 + (j.inner-softmaxLeast)/j.width }

// tiles counts those of all groups.
func (j *softmaxTiles) tiles() int { return len(j.x) / (j.count * j.inner) * j.perGroup() }

// parts does the shares of workers lo to hi.
func (j *softmaxTiles) parts(lo, hi int) {
	tiles, per, room := j.tiles(), j.perGroup(), softmaxWidth+softmaxLeast
	for w := lo; w < hi; w++ {
		buf, sums := j.buf[w*2*room:(w+1)*2*room], j.sums[w*room:(w+1)*room]
		for i := w * tiles / j.workers; i < (w+1)*tiles/j.workers; i++ {
			from, n := i%per*j.width, j.width
			if i%per == per-1 {
				n = j.inner - from
			}
			l := softmaxLines{j.tier, j.count, j.inner, buf[:n], buf[room : room+n], sums[:n]}
			l.run(j.o[i/per*j.count*j.inner+from:], j.x[i/per*j.count*j.inner+from:], j.log)
		}
	}
}

// run computes the softmax of x, or its logarithm.
func (l *softmaxLines) run(o, x []float32, log bool) {
	l.largest(x)
	clear(l.sum)
	if log {
		l.logSoftmax(o, x)
	} else {
		l.softmax(o, x)
	}
}

// largest finds the tops.
func (l *softmaxLines) largest(x []float32) {
	copy(l.top, x)
	for k := 1; k < l.count; k++ {
		kernel.MaxF32(l.tier, l.top, l.top, l.at(x, k))
	}
}

// at is line k of x.
func (l *softmaxLines) at(x []float32, k int) []float32 { return x[k*l.stride : k*l.stride+len(l.top)] }

// add sets o to the exponentials of line k of x, and adds them up.
func (l *softmaxLines) add(o, x []float32, k int) {
	kernel.SubF32(l.tier, o, l.at(x, k), l.top)
	kernel.ExpF32(l.tier, o, o)
	sumLine(l.tier, l.sum, o)
}

func (l *softmaxLines) softmax(o, x []float32) {
	for k := range l.count {
		l.add(l.at(o, k), x, k)
	}
	for i, s := range l.sum {
		l.work[i] = float32(1 / s)
	}
	for k := range l.count {
		kernel.MulF32(l.tier, l.at(o, k), l.at(o, k), l.work)
	}
}

func (l *softmaxLines) logSoftmax(o, x []float32) {
	for k := range l.count {
		l.add(l.work, x, k)
	}
	for i, s := range l.sum {
		l.work[i] = float32(s)
	}
	kernel.LogF32(l.tier, l.work, l.work)
	for k := range l.count {
		kernel.SubF32(l.tier, l.at(o, k), l.at(x, k), l.top)
		kernel.SubF32(l.tier, l.at(o, k), l.at(o, k), l.work)
	}
}

// softmaxRow subtracts the maximum first, so that nothing overflows.
func softmaxRow[T, U float](o []U, x []T) {
	if len(x) == 0 {
		return
	}
	top, sum := float64(x[argMax(x)]), 0.0
	for i, v := range x {
		e := scalarmath.ExpIn[U](float64(v) - top)
		sum += e
		o[i] = U(e)
	}
	scale := 1 / sum
	for i := range o {
		o[i] = U(float64(o[i]) * scale)
	}
}

func logSoftmaxRow[T, U float](o []U, x []T) {
	if len(x) == 0 {
		return
	}
	top, sum := float64(x[argMax(x)]), 0.0
	for _, v := range x {
		sum += scalarmath.ExpIn[U](float64(v) - top)
	}
	shift := scalarmath.Log(sum)
	for i, v := range x {
		o[i] = U((float64(v) - top) - shift)
	}
}

func inferSoftmax(c *Infer) error {
	dtype := firstType(c.Args)
	if c.Args[2].Int != 0 && dtype == tensor.Half {
		dtype = tensor.Float
	}
	return inferLikeAs(c, dtype)
}
