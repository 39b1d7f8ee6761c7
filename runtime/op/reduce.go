package op

import (
	"errors"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errEmptyReduce = errors.New("reduce: no elements and no neutral one")

// reducer gives for each out of a reduction the elements that go into it.
type reducer[T any] struct {
	x []T
	// outs counts the outs, width the elements of each.
	outs, width int
	kept, gone  axes
	gathers     bool // the elements of an out do not lie one after another
	buf         []T  // where they are gathered
	// at is where the current out lies in the out tensor, base where its elements start.
	at, base int
}

// axes are some dimensions of a tensor, in logical order.
type axes struct {
	n               int
	size, step, out [tensor.MaxRank]int
}

func (a *axes) count() int {
	n := 1
	for _, s := range a.size[:a.n] {
		n *= s
	}
	return n
}

// setup lets r reduce the dimensions of mask. outMeta is that of the outs. Whoever wants rows gives it room. A reducer is large: it is
// set where it lies.
func (r *reducer[T]) setup(in *tensor.Tensor, mask uint32, outMeta *tensor.Meta) {
	var steps, outSteps [tensor.MaxRank]int
	stridesOf(&in.Meta, &steps)
	stridesOf(outMeta, &outSteps)
	r.kept.n, r.gone.n, r.at, r.base, r.buf = 0, 0, 0, 0, nil
	keep, to := len(outMeta.Sizes) == len(in.Sizes), 0
	for d, size := range in.Sizes {
		a := &r.kept
		if mask>>d&1 != 0 {
			a = &r.gone
		}
		a.size[a.n], a.step[a.n], a.out[a.n] = int(size), steps[d], 0
		if keep {
			to = d
		}
		if mask>>d&1 == 0 {
			a.out[a.n] = outSteps[to]
			to++
		}
		a.n++
	}
	r.gone.merge()
	r.kept.merge()
	r.x, r.outs, r.width = elems[T](in), r.kept.count(), r.gone.count()
	r.gathers = !r.gone.dense()
}

// merge joins neighbours that are stepped through as one, in the outs, too.
func (a *axes) merge() {
	to := 0
	for i := range a.n {
		if a.size[i] == 1 {
			continue
		}
		if to > 0 && a.step[to-1] == a.step[i]*a.size[i] && a.out[to-1] == a.out[i]*a.size[i] {
			a.size[to-1] *= a.size[i]
			a.step[to-1], a.out[to-1] = a.step[i], a.out[i]
			continue
		}
		a.size[to], a.step[to], a.out[to] = a.size[i], a.step[i], a.out[i]
		to++
	}
	if to == 0 && a.n > 0 { // of size 1 all of them
		a.size[0], to = 1, 1
	}
	a.n = to
}

// rowReducer is a reducer with room for a row.
func rowReducer[T any](c *Call, in *tensor.Tensor, mask uint32, outMeta *tensor.Meta) (r reducer[T], err error) {
	if r.setup(in, mask, outMeta); r.gathers {
		r.buf, err = tempOf[T](c, r.width)
	}
	return r, err
}

// dense reports whether the axes lie in memory as one run.
func (a *axes) dense() bool {
	want := 1
	for i := a.n - 1; i >= 0; i-- {
		if a.size[i] != 1 && a.step[i] != want {
			return false
		}
		want *= a.size[i]
	}
	return true
}

// seek goes to out i.
func (r *reducer[T]) seek(i int) {
	if r.kept.n == 1 {
		r.at, r.base = i*r.kept.out[0], i*r.kept.step[0]
		return
	}
	r.at, r.base = 0, 0
	for d := r.kept.n - 1; d >= 0; d-- {
		k := i % r.kept.size[d]
		i /= r.kept.size[d]
		r.at += k * r.kept.out[d]
		r.base += k * r.kept.step[d]
	}
}

// row is the elements of out i, whose place becomes r.at.
func (r *reducer[T]) row(i int) []T {
	r.seek(i)
	if r.width == 0 {
		return nil
	}
	if !r.gathers {
		return r.x[r.base : r.base+r.width]
	}
	r.move(r.buf, false)
	return r.buf
}

// move copies the current elements to row, or row to them if back.
func (r *reducer[T]) move(row []T, back bool) {
	last := r.gone.n - 1
	size, step := r.gone.size[last], r.gone.step[last]
	for lo := 0; lo < len(row); lo += size {
		off, i := r.base, lo/size
		for d := last - 1; d >= 0; d-- {
			off += i % r.gone.size[d] * r.gone.step[d]
			i /= r.gone.size[d]
		}
		part := row[lo : lo+size]
		for k := range part {
			if back {
				r.x[off+k*step] = part[k]
			} else {
				part[k] = r.x[off+k*step]
			}
		}
	}
}

// putFloat stores v as element i of t. It panics with ErrElements if elements of t are no real numbers.
func putFloat(t *tensor.Tensor, i int, v float64) {
	switch t.DType {
	case tensor.Float:
		elems[float32](t)[i] = float32(v)
	case tensor.Double:
		elems[float64](t)[i] = v
	case tensor.Half:
		elems[uint16](t)[i] = tensor.Float32ToHalf(float32(v))
	case tensor.BFloat16:
		elems[uint16](t)[i] = tensor.Float32ToBFloat16(float32(v))
	case tensor.Bool:
		elems[uint8](t)[i] = toBool(v != 0)
	default:
		putInt(t, i, int64(v))
	}
}

// putInt is putFloat for integers.
func putInt(t *tensor.Tensor, i int, v int64) {
	switch t.DType {
	case tensor.Bool:
		elems[uint8](t)[i] = toBool(v != 0)
	case tensor.Byte, tensor.Char:
		elems[uint8](t)[i] = uint8(v)
	case tensor.Short, tensor.UInt16:
		elems[uint16](t)[i] = uint16(v)
	case tensor.Int, tensor.UInt32:
		elems[uint32](t)[i] = uint32(v)
	case tensor.Long, tensor.UInt64:
		elems[int64](t)[i] = v
	case tensor.Float, tensor.Double, tensor.Half, tensor.BFloat16:
		putFloat(t, i, float64(v))
	default:
		panic(ErrElements)
	}
}

// maskOf are the dimensions that argument 1 names, or all.
func maskOf(args []Value, rank int) (uint32, error) {
	if len(args) < 2 {
		return 1<<max(rank, 1) - 1, nil
	}
	return dimMask(&args[1], rank)
}

// foldDims reduces the dimensions of argument 1.
func foldDims[T any, A int64 | float64](c *Call, of func() fold[T, A]) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return runFold(c, of, mask)
}

// reduceFloat folds over the dimensions of argument 1, reduceAllFloat over all.
func reduceFloat[T any](c *Call, of func() fold[T, float64]) error { return foldDims(c, of) }
func reduceAllFloat[T any](c *Call, of func() fold[T, float64]) error {
	return runFold(c, of, every(c))
}

// reduceInt is reduceFloat with a result that is an integer.
func reduceInt[T any](c *Call, of func() fold[T, int64]) error    { return foldDims(c, of) }
func reduceAllInt[T any](c *Call, of func() fold[T, int64]) error { return runFold(c, of, every(c)) }

// every is the mask of all dimensions.
func every(c *Call) uint32 { return 1<<max(len(c.Args[0].Tensor.Sizes), 1) - 1 }

func sumFloat[T number]() fold[T, float64] {
	return fold[T, float64]{row: sumRow[T], line: sumLine[T], add: addSums}
}

func meanFloat[T number]() fold[T, float64] {
	return fold[T, float64]{row: sumRow[T], line: sumLine[T], mean: true, add: addSums}
}

func addSums(acc, more []float64) {
	for i, x := range more {
		acc[i] += x
	}
}

func prodFloat[T float]() fold[T, float64] {
	return fold[T, float64]{start: 1, row: prodRow[T], line: func(_ kernel.Tier, acc []float64, x []T) {
		for i, v := range x {
			acc[i] *= float64(v)
		}
	}}
}

func sumInt[T integer]() fold[T, int64] {
	return fold[T, int64]{row: func(_ kernel.Tier, x []T) (s int64) {
		for _, v := range x {
			s += int64(v)
		}
		return s
	}, line: func(_ kernel.Tier, acc []int64, x []T) {
		acc = acc[:len(x)]
		for i, v := range x {
			acc[i] += int64(v)
		}
	}}
}

func prodInt[T integer]() fold[T, int64] {
	return fold[T, int64]{start: 1, row: func(_ kernel.Tier, x []T) int64 {
		p := int64(1)
		for _, v := range x {
			p *= int64(v)
		}
		return p
	}, line: func(_ kernel.Tier, acc []int64, x []T) {
		acc = acc[:len(x)]
		for i, v := range x {
			acc[i] *= int64(v)
		}
	}}
}

func anyOf[T number]() fold[T, int64] {
	return fold[T, int64]{row: func(_ kernel.Tier, x []T) int64 {
		for _, v := range x {
			if v != 0 {
				return 1
			}
		}
		return 0
	}, line: anyLine[T]}
}

func allOf[T number]() fold[T, int64] {
	return fold[T, int64]{start: 1, row: func(_ kernel.Tier, x []T) int64 {
		for _, v := range x {
			if v == 0 {
				return 0
			}
		}
		return 1
	}, line: allLine[T]}
}

// The lines are no function literals, in which nothing is inlined where a function with types of its own has them.

func anyLine[T number](_ kernel.Tier, acc []int64, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] |= int64(toBool(v != 0))
	}
}

func allLine[T number](_ kernel.Tier, acc []int64, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] &= int64(toBool(v != 0))
	}
}

// truth is 1 of what is not 0, without a branch.
func truth[T number](v T) int64 {
	b := uint64(int64(v))
	if isFloat[T]() {
		b = math.Float64bits(float64(v)) << 1
	}
	return int64((b | -b) >> 63)
}

// sumFew is up to how many elements a call of kernel.SumF32 costs more than it gains.
const sumFew = 8

// sumRow adds in float64, in lanes.
func sumRow[T number](t kernel.Tier, row []T) float64 {
	sum, n := 0.0, 0
	if isFloat32[T]() && len(row) > sumFew {
		sum, n = kernel.SumF32(t, floats(row))
	}
	var s0, s1, s2, s3 float64 // an array would lie in memory
	for row = row[n:]; len(row) >= 4; row = row[4:] {
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
	}
	for _, x := range row {
		s0 += float64(x)
	}
	return sum + ((s0 + s1) + (s2 + s3))
}

func sumLine[T number](t kernel.Tier, acc []float64, x []T) {
	n := 0
	if isFloat32[T]() {
		n = kernel.AccumulateF64(t, acc, floats(x))
	}
	acc = acc[n:]
	for i, v := range x[n:] {
		acc[i] += float64(v)
	}
}

// prodRow multiplies in float64: in four lanes, or in order where one lane overflows and another one vanishes.
func prodRow[T float](_ kernel.Tier, row []T) float64 {
	p0, p1, p2, p3, rest := 1.0, 1.0, 1.0, 1.0, row
	for ; len(rest) >= 4; rest = rest[4:] {
		p0 *= float64(rest[0])
		p1 *= float64(rest[1])
		p2 *= float64(rest[2])
		p3 *= float64(rest[3])
	}
	for _, x := range rest {
		p0 *= float64(x)
	}
	product := (p0 * p1) * (p2 * p3)
	if product != product {
		product = 1
		for _, x := range row {
			product *= float64(x)
		}
	}
	return product
}

// argMax is the place of the first largest element, or of the first NaN.
func argMax[T number](row []T) int64 {
	if len(row) == 0 {
		return 0
	}
	best, at := row[0], 0
	for i, x := range row {
		if !(x <= best) {
			best, at = x, i
			if x != x {
				break
			}
		}
	}
	return int64(at)
}

// ending is what of a row picks: its largest element, or its smallest.
type ending[T number] struct {
	at    func(row []T) int64                                   // its place, in portable Go
	value func(row []T) T                                       // of integers
	best  func(t kernel.Tier, x []float32) (v float32, ok bool) // its value, but for NaN, by vector kernels
	beats func(v, best float32) bool
}

// kernels reports whether vector kernels find the end of row: they say so of NaN.
func (e *ending[T]) kernels(t kernel.Tier, row []T) bool {
	if !isFloat32[T]() {
		return false
	}
	sum, ok := kernel.SumRowF32(t, floats(row))
	return ok && sum == sum // else one of them may be NaN
}

// endBlock is how many elements are asked at a time whether the end is among them.
const endBlock = 128

// place is the place of the first one in a row, or of the first NaN.
func (e *ending[T]) place(t kernel.Tier, row []T) int64 {
	if !isFloat[T]() {
		return int64(slices.Index(row, e.value(row)))
	}
	if !e.kernels(t, row) {
		return e.at(row)
	}
	x := floats(row)
	best, from := float32(0), -1
	for lo := 0; lo < len(x); lo += endBlock {
		block := x[lo:min(lo+endBlock, len(x))]
		v, ok := e.best(t, block)
		if !ok {
			v = float32(block[0])
			for _, w := range block {
				if e.beats(w, v) {
					v = w
				}
			}
		}
		if from < 0 || e.beats(v, best) {
			best, from = v, lo
		}
	}
	return int64(from + slices.Index(x[from:], best))
}

// of is the value in a row, NaN if one is.
func (e *ending[T]) of(t kernel.Tier, row []T) T {
	if !isFloat[T]() {
		return e.value(row)
	}
	if e.kernels(t, row) {
		v, _ := e.best(t, floats(row))
		if v == 0 { // of which the first one counts
			v = float32(row[slices.Index(row, 0)])
		}
		return T(v)
	}
	return row[e.at(row)]
}

// argMin is the place of the first least element, or of the first NaN.
func argMin[T number](row []T) int64 {
	if len(row) == 0 {
		return 0
	}
	best, at := row[0], 0
	for i, x := range row {
		if !(x >= best) {
			best, at = x, i
			if x != x {
				break
			}
		}
	}
	return int64(at)
}

// picker finds elements.
type picker[T number] struct {
	ending[T]
	// line gives best[i] and its place, if places are wanted, the better one of it and x[i], the element k.
	line func(best []T, place []int64, x []T, k int64)
}

func largestOf[T number]() picker[T] {
	return picker[T]{ending[T]{argMax[T], largestInt[T], kernel.MaxRowF32, func(v, best float32) bool { return v > best }}, func(best []T, place []int64, x []T, k int64) {
		best = best[:len(x)]
		for i, v := range x {
			if b := best[i]; !(v <= b) && b == b {
				best[i] = v
				if place != nil {
					place[i] = k
				}
			}
		}
	}}
}

func smallestOf[T number]() picker[T] {
	return picker[T]{ending[T]{argMin[T], smallestInt[T], kernel.MinRowF32, func(v, best float32) bool { return v < best }}, func(best []T, place []int64, x []T, k int64) {
		best = best[:len(x)]
		for i, v := range x {
			if b := best[i]; !(v >= b) && b == b {
				best[i] = v
				if place != nil {
					place[i] = k
				}
			}
		}
	}}
}

// largestInt compares in four lanes.
func largestInt[T number](row []T) T {
	a, b, c, d := row[0], row[0], row[0], row[0]
	for ; len(row) >= 4; row = row[4:] {
		a, b, c, d = max(a, row[0]), max(b, row[1]), max(c, row[2]), max(d, row[3])
	}
	for _, x := range row {
		a = max(a, x)
	}
	return max(a, b, c, d)
}

// smallestInt is largestInt of the least.
func smallestInt[T number](row []T) T {
	a, b, c, d := row[0], row[0], row[0], row[0]
	for ; len(row) >= 4; row = row[4:] {
		a, b, c, d = min(a, row[0]), min(b, row[1]), min(c, row[2]), min(d, row[3])
	}
	for _, x := range row {
		a = min(a, x)
	}
	return min(a, b, c, d)
}

// runPick puts for each out the element that the picker which of makes finds into values, and its place into places; either may be nil.
func runPick[T number](c *Call, of func() picker[T], mask uint32, values, places *tensor.Tensor) error {
	k := keep[pickJob[T]](c)
	j := &k.job
	if j.picker.at == nil {
		j.picker = of()
	}
	if err := j.setup(c, mask, true); err != nil {
		return err
	}
	if j.outs > 0 && j.width == 0 {
		return errEmptyReduce
	}
	j.values, j.places = nil, nil
	if values != nil {
		j.values = elems[T](values)
	} else if j.lines > 0 {
		var err error
		if j.values, err = tempOf[T](c, j.outs); err != nil {
			return err
		}
	}
	if places != nil {
		j.places = elems[int64](places)
	}
	j.divide(c, k.run)
	j.values, j.places = nil, nil
	return nil
}

// pickJob is a picker with its data: where values and places go. Either may be nil, but not values where outs are found side by side.
type pickJob[T number] struct {
	reduction[T]
	picker picker[T]
	values []T
	places []int64
}

// parts does the shares of workers lo to hi.
func (j *pickJob[T]) parts(lo, hi int) {
	if j.workers == 1 {
		j.work(&j.reducer, 0)
		return
	}
	for i := lo; i < hi; i++ {
		r := j.of(i)
		j.work(&r, i)
	}
}

// work does the share of a worker, which has r.
func (j *pickJob[T]) work(r *reducer[T], worker int) {
	for p, until := j.share(worker); p < until; p++ {
		if j.lines > 0 {
			j.pickLines(r, p)
		} else {
			j.pick(r, r.row(p))
		}
	}
}

// pick finds the element of one out.
func (j *pickJob[T]) pick(r *reducer[T], row []T) {
	if j.places == nil {
		j.values[r.at] = j.picker.of(j.tier, row)
		return
	}
	k := j.picker.place(j.tier, row)
	if j.values != nil {
		j.values[r.at] = row[k]
	}
	j.places[r.at] = k
}

// pickLines finds the elements of outs that lie side by side.
func (j *pickJob[T]) pickLines(r *reducer[T], piece int) {
	lo, n := j.seekBlock(r, piece)
	l, at := r.lines(), r.at+lo
	from := l.next() + lo
	best, places := j.values[at:at+n], []int64(nil)
	copy(best, r.x[from:from+n])
	if j.places != nil {
		places = j.places[at : at+n]
		clear(places)
	}
	for k := 1; k < r.width; k++ {
		from := l.next() + lo
		j.picker.line(best, places, r.x[from:from+n], int64(k))
	}
}

// placesOf is the second out, if there is one.
func placesOf(c *Call) *tensor.Tensor {
	if len(c.Out) > 1 {
		return c.Out[1]
	}
	return nil
}

func pickDims[T number](c *Call, of func() picker[T]) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return runPick(c, of, mask, c.Out[0], placesOf(c))
}

func pickAll[T number](c *Call, of func() picker[T]) error {
	return runPick(c, of, every(c), c.Out[0], placesOf(c))
}

func argReduce[T number](c *Call, of func() picker[T]) error {
	if in := c.Args[0].Tensor; in.Numel() == 0 && c.Out[0].Numel() > 0 {
		return errEmptyReduce
	}
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return runPick(c, of, mask, nil, c.Out[0])
}

// variance puts the variance into Out[0], and the mean into Out[1] if there is one.
func variance[T float](c *Call, correction float64) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	k := keep[varianceJob[T]](c)
	j := &k.job
	if err := j.setup(c, mask, false); err != nil {
		return err
	}
	j.n, j.out, j.means = max(float64(j.width)-correction, 0), c.Out[0], nil
	if len(c.Out) > 1 {
		j.means = c.Out[1]
	}
	j.divide(c, k.run)
	return nil
}

// varianceJob are variances with their data: what sums of squares are divided by, and where results go; means may be nil.
type varianceJob[T float] struct {
	reduction[T]
	n          float64
	out, means *tensor.Tensor
}

// parts does the shares of workers lo to hi.
func (j *varianceJob[T]) parts(lo, hi int) {
	if j.workers == 1 {
		j.work(&j.reducer, 0)
		return
	}
	for i := lo; i < hi; i++ {
		r := j.of(i)
		j.work(&r, i)
	}
}

// work does the share of a worker, which has r.
func (j *varianceJob[T]) work(r *reducer[T], worker int) {
	for p, until := j.share(worker); p < until; p++ {
		row := r.row(p)
		mean := sumRow(j.tier, row) / float64(len(row))
		v := squaresRow(j.tier, row, mean) / j.n
		if r.width == 0 {
			v = math.NaN()
		}
		putFloat(j.out, r.at, v)
		if j.means != nil {
			putFloat(j.means, r.at, mean)
		}
	}
}

// squaresRow adds the squares of the distances from mean.
func squaresRow[T number](t kernel.Tier, row []T, mean float64) float64 {
	sum, n := 0.0, 0
	if isFloat32[T]() {
		sum, n = kernel.SquaresF32(t, floats(row), mean)
	}
	for _, x := range row[n:] {
		d := float64(x) - mean
		sum += float64(d * d)
	}
	return sum
}

// varCorrection takes the correction from argument 2, which is 1 if absent.
func varCorrection[T float](c *Call) error {
	if c.Args[2].Kind == None {
		return variance[T](c, 1)
	}
	return variance[T](c, c.Args[2].Scalar())
}

// varUnbiased takes the flag from argument 2.
func varUnbiased[T float](c *Call) error { return variance[T](c, float64(c.Args[2].Int)) }
