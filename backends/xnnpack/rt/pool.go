package rt

import (
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pool is a pooling of images in NHWC, row by row: whole windows where there is a kernel for them, else the rows of a window
// first, then its columns.
type pool[T float32 | int8] struct {
	blob.Pool
	tier        kernel.Tier
	kind        kernel.PoolKind
	combine     func(t kernel.Tier, o, x, y []T)
	scale       func(t kernel.Tier, o []T, by float32) // for means
	padding     T
	x, o        []T // an image
	h, w, c     int
	outH, outW  int
	line, other []T // a row with its padding: what the rows of the window combine to, and some columns of it
}

// maxPool gives the largest element of each window; padding counts as -Inf.
func maxPool(p blob.Pool) func(*ownCall) error {
	return func(c *ownCall) error {
		j := pool[float32]{Pool: p, tier: c.tier, kind: kernel.PoolLargest, combine: largest, padding: float32(math.Inf(-1))}
		return j.run(c, false)
	}
}

// maxPoolS8 is maxPool of integers, which stay what they are.
func maxPoolS8(p blob.Pool) func(*ownCall) error {
	return func(c *ownCall) error {
		j := pool[int8]{Pool: p, tier: c.tier, kind: kernel.PoolLargestS8, combine: largestS8, padding: math.MinInt8}
		return j.run(c, false)
	}
}

// avgPool gives the mean of each window's elements; padding does not count.
func avgPool(p blob.Pool) func(*ownCall) error {
	return func(c *ownCall) error {
		j := pool[float32]{Pool: p, tier: c.tier, kind: kernel.PoolMean, combine: sum, scale: scale}
		return j.run(c, false)
	}
}

// globalAvgPool gives the mean of each channel of an image; its two dimensions are dropped unless keep is set.
func globalAvgPool(keep bool) func(*ownCall) error {
	return func(c *ownCall) error {
		size := c.args[0].Sizes
		j := pool[float32]{tier: c.tier, kind: kernel.PoolMean, combine: sum, scale: scale}
		j.Pool = blob.Pool{Height: int(size[1]), Width: int(size[2]), StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1}
		return j.run(c, !keep)
	}
}

// run pools all images. With flat, results of one element by one have rank 2.
func (j *pool[T]) run(c *ownCall, flat bool) error {
	in, out := c.args[0], c.outs[0]
	j.h, j.w, j.c = int(in.Sizes[1]), int(in.Sizes[2]), int(in.Sizes[3])
	j.outH = windows(j.h+j.Top+j.Bottom, j.Height, j.StrideHeight, j.DilationHeight)
	j.outW = windows(j.w+j.Left+j.Right, j.Width, j.StrideWidth, j.DilationWidth)
	if j.outH < 1 || j.outW < 1 {
		return backend.Fail(pte.InvalidArgument, "the window is larger than the padded input")
	}
	sizes := append(c.sizes[:0], in.Sizes[0])
	if !flat {
		sizes = append(sizes, tensor.Dim(j.outH), tensor.Dim(j.outW))
	}
	if err := c.resize(out, append(sizes, in.Sizes[3])); err != nil {
		return err
	}
	size := (j.w + j.Left + j.Right) * j.c
	space, err := c.alloc(2 * size * int(unsafe.Sizeof(j.padding)))
	if err != nil {
		return err
	}
	both := sliceOf[T](space, 2*size)
	j.line, j.other = both[:size], both[size:]
	quant.Fill(j.line[:j.Left*j.c], j.padding)
	quant.Fill(j.line[size-j.Right*j.c:], j.padding)
	x, o := sliceOf[T](in.Data, in.Numel()), sliceOf[T](out.Data, out.Numel())
	for n := range int(in.Sizes[0]) {
		j.x, j.o = x[n*j.h*j.w*j.c:], o[n*j.outH*j.outW*j.c:]
		for row := range j.outH {
			if o := j.o[row*j.outW*j.c:][:j.outW*j.c]; !j.whole(o, row) {
				j.columns(o, j.rows(row))
			}
		}
	}
	return nil
}

// windows is how many windows of size elements, dilated, fit into n elements.
func windows(n, size, stride, dilation int) int {
	last := n - (size-1)*dilation - 1
	if size < 1 || last < 0 {
		return 0
	}
	return last/stride + 1
}

// inside is which elements of window i lie among n elements after before ones of padding: the first, and how many.
func inside(i, n, size, stride, dilation, before int) (first, count int) {
	at := i*stride - before
	skip := max(0, (-at+dilation-1)/dilation)
	first = at + skip*dilation
	if first >= n {
		return 0, 0
	}
	return first, min(size-skip, (n-1-first)/dilation+1)
}

// rows combines the rows of the windows in a row of results, and says how many there are.
func (j *pool[T]) rows(row int) int {
	first, count := inside(row, j.h, j.Height, j.StrideHeight, j.DilationHeight, j.Top)
	inner := j.line[j.Left*j.c:][:j.w*j.c]
	at := func(k int) []T { return j.x[(first+k*j.DilationHeight)*len(inner):][:len(inner)] }
	switch {
	case count < 1:
		quant.Fill(inner, j.padding)
		return 0
	case count == 1:
		copy(inner, at(0))
	default:
		j.combine(j.tier, inner, at(0), at(1))
	}
	for k := 2; k < count; k++ {
		j.combine(j.tier, inner, inner, at(k))
	}
	return count
}

// columns computes a row of results from a row that combines rows of the windows.
func (j *pool[T]) columns(o []T, rows int) {
	if j.StrideWidth > 1 && j.Width > 1 && j.c*int(unsafe.Sizeof(j.padding)) >= alone {
		j.apart(o)
	} else {
		j.together(o)
	}
	switch {
	case j.scale == nil:
	case j.Left == 0 && j.Right == 0:
		j.scale(j.tier, o, 1/float32(rows*j.Width))
	default:
		for i := range j.outW {
			_, count := inside(i, j.w, j.Width, j.StrideWidth, j.DilationWidth, j.Left)
			j.scale(j.tier, o[i*j.c:(i+1)*j.c], 1/float32(rows*count))
		}
	}
}

// alone is from how many bytes of channels on the columns of one window are combined alone.
const alone = 64

// apart combines the columns of each window.
func (j *pool[T]) apart(o []T) {
	next := j.DilationWidth * j.c
	for i := range j.outW {
		part, x := o[i*j.c:(i+1)*j.c], j.line[i*j.StrideWidth*j.c:]
		j.combine(j.tier, part, x[:j.c], x[next:][:j.c])
		for k := 2; k < j.Width; k++ {
			j.combine(j.tier, part, part, x[k*next:][:j.c])
		}
	}
}

// together combines the columns of the windows at all elements, and takes those of the results.
func (j *pool[T]) together(o []T) {
	all := j.line
	span := len(j.line) - (j.Width-1)*j.DilationWidth*j.c // where the windows begin
	for k := 1; k < j.Width; k++ {
		j.combine(j.tier, j.other[:span], all[:span], j.line[k*j.DilationWidth*j.c:][:span])
		all = j.other
	}
	for i := range j.outW {
		copy(o[i*j.c:(i+1)*j.c], all[i*j.StrideWidth*j.c:])
	}
}

// largest sets each element of o to the larger of those of x and y; NaN is larger than all.
func largest(t kernel.Tier, o, x, y []float32) {
	if kernel.MaxF32(t, o, x, y) {
		return
	}
	for i, v := range y {
		o[i] = max(x[i], v)
	}
}

// largestS8 sets each element of o to the larger of those of x and y.
func largestS8(t kernel.Tier, o, x, y []int8) {
	const most = 1 << 12
	for len(o) > 0 {
		n := min(len(o), most)
		lines := [2]*int8{&x[0], &y[0]}
		if t := kernel.PoolLargestS8.Tier(t, n); kernel.PoolLargestS8.Has(t, len(lines), n) {
			p := kernel.Pool{Inputs: floatPointers(lines[:]), Count: uintptr(len(lines)), Out: floatPointer(&o[0]), Positions: 1, Kind: kernel.PoolLargestS8}
			p.Run(t, n)
		} else {
			for i, v := range y[:n] {
				o[i] = max(x[i], v)
			}
		}
		o, x, y = o[n:], x[n:], y[n:]
	}
}

// sum sets each element of o to the sum of those of x and y.
func sum(t kernel.Tier, o, x, y []float32) {
	if kernel.AddF32(t, o, x, y) {
		return
	}
	for i, v := range y {
		o[i] = x[i] + v
	}
}

// scale multiplies each element of o.
func scale(t kernel.Tier, o []float32, by float32) {
	factor := [1]float32{by}
	if kernel.MulF32(t, o, o, factor[:]) {
		return
	}
	for i := range o {
		o[i] *= by
	}
}
