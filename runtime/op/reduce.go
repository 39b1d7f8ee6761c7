package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errEmptyReduce = errors.New("reduce: no elements and no neutral one")

// reducer gives for each out of a reduction the elements that go into it.
type reducer[T any] struct {
	x []T
	// outs counts the outs, width the elements of each.
	outs, width int
	kept, gone  axes
	buf         []T
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

// newReducer reduces the dimensions of mask. outMeta is that of the outs.
func newReducer[T any](c *Call, in *tensor.Tensor, mask uint32, outMeta *tensor.Meta) (r reducer[T], err error) {
	var steps, outSteps [tensor.MaxRank]int
	stridesOf(&in.Meta, &steps)
	stridesOf(outMeta, &outSteps)
	keep, to := len(outMeta.Sizes) == len(in.Sizes), 0
	for d, size := range in.Sizes {
		a := &r.kept
		if mask>>d&1 != 0 {
			a = &r.gone
		}
		a.size[a.n], a.step[a.n] = int(size), steps[d]
		if keep {
			to = d
		}
		if mask>>d&1 == 0 {
			a.out[a.n] = outSteps[to]
			to++
		}
		a.n++
	}
	r.x, r.outs, r.width = elems[T](in), r.kept.count(), r.gone.count()
	if !r.gone.dense() {
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

// row is the elements of out i, whose place becomes r.at.
func (r *reducer[T]) row(i int) []T {
	r.at, r.base = 0, 0
	for d := r.kept.n - 1; d >= 0; d-- {
		k := i % r.kept.size[d]
		i /= r.kept.size[d]
		r.at += k * r.kept.out[d]
		r.base += k * r.kept.step[d]
	}
	if r.width == 0 {
		return nil
	}
	if r.buf == nil {
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

// putFloat stores v as element i of t.
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

// putInt stores v as element i of t.
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
	default:
		putFloat(t, i, float64(v))
	}
}

// maskOf are the dimensions that argument 1 names, or all.
func maskOf(args []Value, rank int) (uint32, error) {
	if len(args) < 2 {
		return 1<<max(rank, 1) - 1, nil
	}
	return dimMask(&args[1], rank)
}

// foldFloat computes each element of Out[0] from its row.
func foldFloat[T any](c *Call, mask uint32, f func(row []T) float64) error {
	r, err := newReducer[T](c, c.Args[0].Tensor, mask, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	for i := range r.outs {
		v := f(r.row(i))
		putFloat(c.Out[0], r.at, v)
	}
	return nil
}

func foldInt[T any](c *Call, mask uint32, f func(row []T) int64) error {
	r, err := newReducer[T](c, c.Args[0].Tensor, mask, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	for i := range r.outs {
		v := f(r.row(i))
		putInt(c.Out[0], r.at, v)
	}
	return nil
}

// reduceFloat folds over the dimensions of argument 1.
func reduceFloat[T any](c *Call, f func(row []T) float64) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return foldFloat(c, mask, f)
}

func reduceInt[T any](c *Call, f func(row []T) int64) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return foldInt(c, mask, f)
}

// every is the mask of all dimensions.
func every(c *Call) uint32 { return 1<<max(len(c.Args[0].Tensor.Sizes), 1) - 1 }

func reduceAllFloat[T any](c *Call, f func(row []T) float64) error { return foldFloat(c, every(c), f) }
func reduceAllInt[T any](c *Call, f func(row []T) int64) error     { return foldInt(c, every(c), f) }

// sumFloat adds in float64, in four lanes.
func sumFloat[T number](row []T) float64 {
	var s [4]float64
	for ; len(row) >= 4; row = row[4:] {
		s[0] += float64(row[0])
		s[1] += float64(row[1])
		s[2] += float64(row[2])
		s[3] += float64(row[3])
	}
	for i, x := range row {
		s[i] += float64(x)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func sumInt[T integer](row []T) (s int64) {
	for _, x := range row {
		s += int64(x)
	}
	return s
}

func meanFloat[T number](row []T) float64 { return sumFloat(row) / float64(len(row)) }

func prodFloat[T float](row []T) float64 {
	p := 1.0
	for _, x := range row {
		p *= float64(x)
	}
	return p
}

func prodInt[T integer](row []T) int64 {
	p := int64(1)
	for _, x := range row {
		p *= int64(x)
	}
	return p
}

func anyOf[T number](row []T) int64 {
	for _, x := range row {
		if x != 0 {
			return 1
		}
	}
	return 0
}

func allOf[T number](row []T) int64 {
	for _, x := range row {
		if x == 0 {
			return 0
		}
	}
	return 1
}

// argMax is the place of the first largest element, or of the first NaN.
func argMax[T number](row []T) int64 {
	best := 0
	for i, x := range row {
		if x != x {
			return int64(i)
		}
		if x > row[best] {
			best = i
		}
	}
	return int64(best)
}

// argMin is the place of the first least element, or of the first NaN.
func argMin[T number](row []T) int64 {
	best := 0
	for i, x := range row {
		if x != x {
			return int64(i)
		}
		if x < row[best] {
			best = i
		}
	}
	return int64(best)
}

// pick gives each out the element that find names, and its place to Out[1] if there is one.
func pick[T any](c *Call, mask uint32, find func(row []T) int64) error {
	r, err := newReducer[T](c, c.Args[0].Tensor, mask, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	if r.outs > 0 && r.width == 0 {
		return errEmptyReduce
	}
	o := elems[T](c.Out[0])
	for i := range r.outs {
		row := r.row(i)
		at := find(row)
		o[r.at] = row[at]
		if len(c.Out) > 1 {
			elems[int64](c.Out[1])[r.at] = at
		}
	}
	return nil
}

func pickDims[T any](c *Call, find func(row []T) int64) error {
	mask, err := maskOf(c.Args, len(c.Args[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	return pick(c, mask, find)
}

func pickAll[T any](c *Call, find func(row []T) int64) error { return pick(c, every(c), find) }

func argReduce[T any](c *Call, find func(row []T) int64) error {
	if in := c.Args[0].Tensor; in.Numel() == 0 && c.Out[0].Numel() > 0 {
		return errEmptyReduce
	}
	return reduceInt(c, find)
}

// variance puts the variance into Out[0], and the mean into Out[1] if there is one.
func variance[T float](c *Call, correction float64) error {
	in := c.Args[0].Tensor
	mask, err := maskOf(c.Args, len(in.Sizes))
	if err != nil {
		return err
	}
	r, err := newReducer[T](c, in, mask, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	for i := range r.outs {
		row := r.row(i)
		mean, sum := meanFloat(row), 0.0
		for _, x := range row {
			d := float64(x) - mean
			sum += float64(d * d)
		}
		n := max(float64(r.width)-correction, 0)
		v := sum / n
		if r.width == 0 {
			v = math.NaN()
		}
		putFloat(c.Out[0], r.at, v)
		if len(c.Out) > 1 {
			putFloat(c.Out[1], r.at, mean)
		}
	}
	return nil
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
