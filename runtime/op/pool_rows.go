package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// The rows of pooling over the last two dimensions of [N, C, H, W] or [C, H, W].
var (
	MaxPool2dWithIndices = Def{
		Schema: "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, " +
			"int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
		Functional: "aten::max_pool2d_with_indices", Infer: inferMaxPool, Tags: Core,
	}
	AvgPool2d = Def{
		Schema: "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, " +
			"bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::avg_pool2d", Infer: inferAvgPool, Tags: Core,
	}
	AdaptiveAvgPool2d = Def{
		Schema:     "aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_adaptive_avg_pool2d", Infer: inferAdaptivePool, Tags: Core,
	}
)

// window is the geometry of a pooling in one dimension.
type window struct {
	size, stride, pad, dilation int64
	ceil                        bool
}

// pairAt is entry i of an int[2] argument, whose one entry stands for both; def where it is empty.
func pairAt(v *Value, i int, def int64) int64 {
	switch {
	case v.Kind == Int:
		return v.Int
	case len(v.Ints) == 0:
		return def
	case len(v.Ints) == 1:
		return v.Ints[0]
	}
	return v.Ints[i]
}

// poolWindow reads the geometry of spatial dimension i of a pooling's arguments; dilation is nil for an average.
func poolWindow(args []Value, i int, dilation, ceil *Value) (window, error) {
	w := window{size: pairAt(&args[1], i, 0), pad: pairAt(&args[3], i, 0), dilation: 1, ceil: ceil.Int != 0}
	w.stride = pairAt(&args[2], i, w.size)
	if dilation != nil {
		w.dilation = pairAt(dilation, i, 1)
	}
	if w.size <= 0 || w.stride <= 0 || w.dilation <= 0 || w.pad < 0 || 2*w.pad > w.size {
		return w, errPool
	}
	return w, nil
}

// out is the number of windows over n elements: ⌊(n + 2·pad − dilation·(size−1) − 1) / stride⌋ + 1, or ⌈…⌉ with a last
// window that starts inside of the input or its left padding.
func (w *window) out(s *tensor.Shapes, n tensor.Dim) tensor.Dim {
	span := s.Add(n, 2*w.pad-w.dilation*(w.size-1)-1)
	if !w.ceil {
		return s.Add(s.FloorDiv(span, w.stride), 1)
	}
	count := s.Add(s.FloorDiv(s.Add(span, w.stride-1), w.stride), 1)
	if s.Less(s.Mul(s.Add(count, -1), w.stride), s.Add(n, w.pad)) == tensor.No {
		return s.Add(count, -1)
	}
	return count
}

// inferPool sets out 0 from the windows.
func inferPool(c *Infer, dilation, ceil *Value) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	rank := t.Rank()
	if rank != 3 && rank != 4 {
		return errDims
	}
	c.Set(0, t.DType, t.Sizes...)
	for i := range 2 {
		w, err := poolWindow(c.Args, i, dilation, ceil)
		if err != nil {
			return err
		}
		d := rank - 2 + i
		c.Out[0].Sizes[d] = w.out(c.Shapes, t.Sizes[d])
		if n := c.Out[0].Sizes[d]; !tensor.IsSymbol(n) && n <= 0 {
			return errPool
		}
	}
	setOrder(&c.Out[0], t.DimOrder)
	return nil
}

func inferMaxPool(c *Infer) error {
	if err := inferPool(c, &c.Args[4], &c.Args[5]); err != nil {
		return err
	}
	c.Set(1, tensor.Long, c.Out[0].Sizes...)
	setOrder(&c.Out[1], c.Out[0].DimOrder)
	return nil
}

func inferAvgPool(c *Infer) error { return inferPool(c, nil, &c.Args[4]) }

func inferAdaptivePool(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	rank := t.Rank()
	if rank != 3 && rank != 4 {
		return errDims
	}
	c.Set(0, t.DType, t.Sizes...)
	for i := range 2 {
		c.Out[0].Sizes[rank-2+i] = pairAt(&c.Args[1], i, 1)
	}
	setOrder(&c.Out[0], t.DimOrder)
	return nil
}
