package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of pooling over the last two dimensions of [N, C, H, W] or [C, H, W], or the last three of [N, C, D, H, W]
// or [C, D, H, W].
var (
	MaxPool2dWithIndices = Def{
		Schema: "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, " +
			"int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
		Functional: "aten::max_pool2d_with_indices", Infer: inferMaxPool2d, Tags: Core | Skips | Ordered,
	}
	MaxPool3dWithIndices = Def{
		Schema: "aten::max_pool3d_with_indices.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, " +
			"int[3] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
		Functional: "aten::max_pool3d_with_indices", Infer: inferMaxPool3d, Tags: Core | Extension | Skips,
	}
	AvgPool2d = Def{
		Schema: "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, " +
			"bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::avg_pool2d", Infer: inferAvgPool2d, Tags: Core | Ordered,
	}
	AvgPool3d = Def{
		Schema: "aten::avg_pool3d.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, " +
			"bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::avg_pool3d", Infer: inferAvgPool3d, Tags: Core | Extension,
	}
	AdaptiveAvgPool2d = Def{
		Schema:     "aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_adaptive_avg_pool2d", Infer: inferAdaptiveAvgPool2d, Tags: Core | Ordered,
	}
	AdaptiveAvgPool3d = Def{
		Schema:     "aten::_adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_adaptive_avg_pool3d", Infer: inferAdaptiveAvgPool3d, Tags: Core | Extension,
	}
	AdaptiveMaxPool2d = Def{
		Schema: "aten::adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> " +
			"(Tensor(a!), Tensor(b!))",
		Functional: "aten::adaptive_max_pool2d", Infer: inferAdaptiveMaxPool2d, Tags: Extension | Skips,
	}
	AdaptiveMaxPool3d = Def{
		Schema: "aten::adaptive_max_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> " +
			"(Tensor(a!), Tensor(b!))",
		Functional: "aten::adaptive_max_pool3d", Infer: inferAdaptiveMaxPool3d, Tags: Extension | Skips,
	}
	FractionalMaxPool2d = Def{
		Schema: "aten::fractional_max_pool2d.output(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples, " +
			"*, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
		Functional: "aten::fractional_max_pool2d", Infer: inferFractionalMaxPool2d, Tags: Extension,
	}
	FractionalMaxPool3d = Def{
		Schema: "aten::fractional_max_pool3d.output(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples, " +
			"*, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
		Functional: "aten::fractional_max_pool3d", Infer: inferFractionalMaxPool3d, Tags: Extension,
	}
)

// window is the geometry of a pooling in one dimension.
type window struct {
	size, stride, pad, dilation int64
	ceil                        bool
}

// spatialAt is entry i of an int[2] or int[3] argument, whose one entry stands for all; def where it is empty.
func spatialAt(v *Value, i int, def int64) int64 {
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
	w := window{size: spatialAt(&args[1], i, 0), pad: spatialAt(&args[3], i, 0), dilation: 1, ceil: ceil.Int != 0}
	w.stride = spatialAt(&args[2], i, w.size)
	if dilation != nil {
		w.dilation = spatialAt(dilation, i, 1)
	}
	if !w.positive() || 2*w.pad > w.size || dilation != nil && !w.small() {
		return w, errPool
	}
	return w, nil
}

// positive reports whether the numbers of w are, but for the padding, which may be 0.
func (w *window) positive() bool { return min(w.size, w.stride, w.dilation) > 0 && w.pad >= 0 }

// small reports whether the numbers of w have 31 bits, so that sums and products of them do not overflow.
func (w *window) small() bool { return max(w.size, w.stride, w.dilation, w.pad) <= math.MaxInt32 }

// out is the number of windows over n elements: ⌊(n + 2·pad − dilation·(size−1) − 1) / stride⌋ + 1, or ⌈…⌉ with a last
// window that starts inside of the input or its left padding.
func (w *window) out(s *tensor.Shapes, n tensor.Dim) tensor.Dim {
	span := s.Add(n, 2*w.pad-w.dilation*(w.size-1)-1)
	if !w.ceil {
		return s.Add(s.FloorDiv(span, w.stride), 1)
	}
	count := s.Add(s.FloorDiv(s.Add(span, w.stride-1), w.stride), 1)
	return s.Min(count, s.FloorDiv(s.Add(n, w.pad+w.stride-1), w.stride))
}

// pooled sets out 0 to argument 0 with sizes from size for its last dimensions, of which there are spatial.
func pooled(c *Infer, spatial int, size func(i int, n tensor.Dim) (tensor.Dim, error)) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	rank := t.Rank()
	if rank != spatial+1 && rank != spatial+2 {
		return errDims
	}
	c.Set(0, t.DType, t.Sizes...)
	for i := range spatial {
		d := rank - spatial + i
		n, err := size(i, t.Sizes[d])
		if err != nil {
			return err
		}
		c.Out[0].Sizes[d] = n
	}
	setOrder(&c.Out[0], t.DimOrder)
	return nil
}

// inferPool sets out 0 from the windows.
func inferPool(c *Infer, spatial int, dilation, ceil *Value) error {
	return pooled(c, spatial, func(i int, n tensor.Dim) (tensor.Dim, error) {
		w, err := poolWindow(c.Args, i, dilation, ceil)
		if err != nil {
			return 0, err
		}
		n = w.out(c.Shapes, n)
		if !tensor.IsSymbol(n) && n <= 0 {
			return 0, errPool
		}
		return n, nil
	})
}

// inferIndices makes out 1 as out 0, of Long.
func inferIndices(c *Infer) {
	c.Set(1, tensor.Long, c.Out[0].Sizes...)
	setOrder(&c.Out[1], c.Out[0].DimOrder)
}

func inferMaxPool(c *Infer, spatial int) error {
	if err := inferPool(c, spatial, &c.Args[4], &c.Args[5]); err != nil {
		return err
	}
	inferIndices(c)
	return nil
}

func inferMaxPool2d(c *Infer) error { return inferMaxPool(c, 2) }
func inferMaxPool3d(c *Infer) error { return inferMaxPool(c, 3) }
func inferAvgPool2d(c *Infer) error { return inferPool(c, 2, nil, &c.Args[4]) }
func inferAvgPool3d(c *Infer) error { return inferPool(c, 3, nil, &c.Args[4]) }

func inferAdaptivePool(c *Infer, spatial int) error {
	return pooled(c, spatial, func(i int, n tensor.Dim) (tensor.Dim, error) {
		out := spatialAt(&c.Args[1], i, 1)
		if c.Shapes.Less(out, 0) == tensor.Yes || n == 0 && out != 0 {
			return 0, errPool
		}
		return out, nil
	})
}

func inferAdaptiveMaxPool(c *Infer, spatial int) error {
	if err := inferAdaptivePool(c, spatial); err != nil {
		return err
	}
	inferIndices(c)
	return nil
}

func inferAdaptiveAvgPool2d(c *Infer) error { return inferAdaptivePool(c, 2) }
func inferAdaptiveAvgPool3d(c *Infer) error { return inferAdaptivePool(c, 3) }
func inferAdaptiveMaxPool2d(c *Infer) error { return inferAdaptiveMaxPool(c, 2) }
func inferAdaptiveMaxPool3d(c *Infer) error { return inferAdaptiveMaxPool(c, 3) }
