package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// Col2im is the row of the operator that adds the columns of windows to an image.
var Col2im = Def{
	Schema: "aten::col2im.out(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, " +
		"int[2] stride, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::col2im", Infer: inferCol2im, Tags: Core | Extension,
}

// colWindow is the window along image dimension i of the call's arguments.
func colWindow(args []Value, i int) (window, error) {
	w := window{size: spatialAt(&args[2], i, 0), dilation: spatialAt(&args[3], i, 1), pad: spatialAt(&args[4], i, 0), stride: spatialAt(&args[5], i, 1)}
	if !w.positive() || !w.small() {
		return w, errPool
	}
	return w, nil
}

// inferCol2im: [N, C·kernel, windows] or [C·kernel, windows] becomes [N, C, output_size...] or [C, output_size...].
func inferCol2im(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	rank := t.Rank()
	if rank != 2 && rank != 3 {
		return errDims
	}
	s, kernel, windows := c.Shapes, tensor.Dim(1), tensor.Dim(1)
	for i := range 2 {
		w, err := colWindow(c.Args, i)
		if err != nil {
			return err
		}
		kernel *= w.size
		windows = s.Mul(windows, w.out(s, spatialAt(&c.Args[1], i, 0)))
	}
	if s.Equal(s.Mod(t.Sizes[rank-2], kernel), 0) == tensor.No || s.Equal(t.Sizes[rank-1], windows) == tensor.No {
		return errSizes
	}
	c.Set(0, t.DType, t.Sizes[:rank-2]...)
	c.Out[0].Sizes = append(c.Out[0].Sizes, s.FloorDiv(t.Sizes[rank-2], kernel), spatialAt(&c.Args[1], 0, 0), spatialAt(&c.Args[1], 1, 0))
	return nil
}

func runCol2im[T float](c *Call, _ State) error {
	rows, err := colWindow(c.Args, 0)
	if err != nil {
		return err
	}
	cols, err := colWindow(c.Args, 1)
	if err != nil {
		return err
	}
	x, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	o, err := tempOf[T](c, c.Out[0].Numel())
	if err != nil || len(o) == 0 {
		return err
	}
	clear(o)
	image := c.Out[0].Sizes[c.Out[0].Rank()-2:]
	h, w := int(image[0]), int(image[1])
	kernel, column := int(rows.size*cols.size), int(rows.out(nil, image[0])*cols.out(nil, image[1]))
	for p := range len(o) / (h * w) {
		plane := o[p*h*w : (p+1)*h*w]
		for k := range kernel {
			from := (p*kernel + k) * column
			addColumns(plane, x[from:from+column], rows.track(k/int(cols.size), h), cols.track(k%int(cols.size), w))
		}
	}
	copyOrdered(c.Out[0], o)
	return nil
}

// track is where one element of every window lies: count places from first on, step apart, in n elements and beside them.
type track struct{ first, step, count, n int }

// track is that of element k, in n elements.
func (w *window) track(k, n int) track {
	return track{k*int(w.dilation) - int(w.pad), int(w.stride), int(w.out(nil, int64(n))), n}
}

// at is the place of window i, inside are the windows from lo to hi, which lie inside of the n elements.
func (t *track) at(i int) int { return t.first + i*t.step }

func (t *track) inside() (lo, hi int) {
	lo = max(0, (t.step-1-t.first)/t.step)
	return lo, max(lo, min(t.count, (t.n-t.first+t.step-1)/t.step))
}

// addColumns adds column to the plane where rows and cols are inside of it.
func addColumns[T float](plane, column []T, rows, cols track) {
	top, bottom := rows.inside()
	lo, hi := cols.inside()
	if lo == hi {
		return
	}
	for i := top; i < bottom; i++ {
		line, x := plane[rows.at(i)*cols.n:][:cols.n][cols.at(lo):], column[i*cols.count:][lo:hi]
		if cols.step == 1 {
			line = line[:len(x)]
			for k, v := range x {
				line[k] += v
			}
			continue
		}
		for k, v := range x {
			line[k*cols.step] += v
		}
	}
}
