package rt

import (
	"math"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ownCall is a call of a step that is no portable operator.
type ownCall struct {
	args, outs []*tensor.Tensor
	parallel   func(n, grain int, f func(lo, hi int))
	resize     func(t *tensor.Tensor, sizes []tensor.Dim) error
	alloc      func(n int) ([]byte, error)
	sizes      [blob.MaxRank]tensor.Dim // space for results' sizes
	// A step that runs on several threads keeps its loop's body, made by the first call.
	body     func(lo, hi int)
	integers op.IntegerCall
	tier     kernel.Tier
	threads  int
}

// like gives out 0 the sizes of argument 0, and the number of its elements.
func (c *ownCall) like() (int, error) {
	err := c.resize(c.outs[0], c.args[0].Sizes)
	return c.args[0].Numel(), err
}

// shareMin is how many elements are worth several threads, and shareGrain how many a thread takes at least.
const (
	shareMin   = 1 << 15
	shareGrain = 1 << 12
)

// each lets f make n elements, lo to hi at a time: on several threads if they are many. A step has one f.
func (c *ownCall) each(n int, f func(c *ownCall, lo, hi int)) {
	if n < shareMin {
		f(c, 0, n)
		return
	}
	if c.body == nil {
		c.body = func(lo, hi int) { f(c, lo, hi) }
	}
	c.parallel(n, shareGrain, c.body)
}

// leading gives result 0 the sizes of argument 0 but for the last two, for a product of batches to set.
func leading(c *ownCall) error {
	out, a := c.outs[0].Sizes, c.args[0].Sizes
	if len(out) != len(a) {
		return backend.Fail(pte.InvalidArgument, "factor and product differ in rank")
	}
	copy(out[:len(out)-2], a)
	return nil
}

// ofElements is a step that computes a function of the elements of argument 0.
func ofElements(function func(t kernel.Tier, o, x []float32)) func(*ownCall) error {
	return elementwise(func(c *ownCall, lo, hi int) {
		x, o := sliceOf[float32](c.args[0].Data, hi), sliceOf[float32](c.outs[0].Data, hi)
		function(c.tier, o[lo:], x[lo:])
	})
}

// preluPart is about how many elements of PReLU are computed together.
const preluPart = 1024

// prelu is x where x > 0, else slope·x; there is a slope for each of the last dimension's elements, or one.
func prelu(c *ownCall) error {
	n, err := c.like()
	if err != nil || n == 0 {
		return err
	}
	slopes, channels := c.args[1].Numel(), int(c.args[0].Sizes[len(c.args[0].Sizes)-1])
	if slopes != 1 && slopes != channels {
		return backend.Fail(pte.InvalidArgument, strconv.Itoa(slopes), " slopes for ", strconv.Itoa(channels), " channels")
	}
	part := min(n, (preluPart+slopes-1)/slopes*slopes)
	space, err := c.alloc(4 * part)
	if err != nil {
		return err
	}
	x, o, y := sliceOf[float32](c.args[0].Data, n), sliceOf[float32](c.outs[0].Data, n), sliceOf[float32](space, part)
	for at := 0; at < part; {
		at += copy(y[at:], sliceOf[float32](c.args[1].Data, slopes))
	}
	for ; len(x) > 0; x, o = x[part:], o[part:] {
		part = min(part, len(x))
		preluOf(c.tier, o[:part], x[:part], y[:part])
	}
	return nil
}

func preluOf(tier kernel.Tier, o, x, y []float32) {
	if kernel.PReluF32(tier, o, x, y) {
		return
	}
	for i, v := range x {
		if !(v > 0) {
			v *= y[i]
		}
		o[i] = v
	}
}

// fromType converts a value to float32.
func fromType(v *blob.Value) func(*ownCall) error {
	scale, zero, half := v.Quant.Scale, float32(v.Quant.ZeroPoint), storages[v.Type].argument
	part := func(c *ownCall, lo, hi int) {
		o, raw := sliceOf[float32](c.outs[0].Data, hi)[lo:], c.args[0].Data
		switch v.Type {
		case blob.FP16, blob.BF16:
			op.CastBytes(c.outs[0].Data[4*lo:], tensor.Float, raw[2*lo:], half, hi-lo)
		case blob.QInt8:
			quant.Dequantize(c.tier, o, sliceOf[int8](raw, hi)[lo:], scale, zero)
		case blob.QUint8:
			quant.Dequantize(c.tier, o, raw[lo:hi], scale, zero)
		default:
			for i, x := range sliceOf[int32](raw, hi)[lo:] {
				o[i] = float32(x)
			}
		}
	}
	return elementwise(part)
}

// elementwise is a step whose one result has the sizes of its first argument; part makes elements lo to hi.
func elementwise(part func(c *ownCall, lo, hi int)) func(*ownCall) error {
	return func(c *ownCall) error {
		n, err := c.like()
		if err == nil {
			c.each(n, part)
		}
		return err
	}
}

// toType converts float32 to a value's type.
func toType(v *blob.Value) func(*ownCall) error {
	inverse, zero, half := 1/v.Quant.Scale, float32(v.Quant.ZeroPoint), storages[v.Type].argument
	part := func(c *ownCall, lo, hi int) {
		x, raw := sliceOf[float32](c.args[0].Data, hi)[lo:], c.outs[0].Data
		switch v.Type {
		case blob.FP16, blob.BF16:
			op.CastBytes(raw[2*lo:], half, c.args[0].Data[4*lo:], tensor.Float, hi-lo)
		case blob.QInt8:
			quant.Quantize(c.tier, sliceOf[int8](raw, hi)[lo:], x, inverse, zero)
		case blob.QUint8:
			quant.Quantize(c.tier, raw[lo:hi], x, inverse, zero)
		}
	}
	switch v.Type {
	case blob.FP16, blob.BF16, blob.QInt8, blob.QUint8:
		return elementwise(part)
	}
	return func(*ownCall) error {
		return backend.Fail(pte.NotSupported, "results of type ", v.Type.String())
	}
}

// sumPart is how many elements an integerSum adds at a time, in float32 and in the cache.
const sumPart = 1024

// integerSum adds two values of int8 in float32, and rounds once, within bounds.
type integerSum struct {
	a, b    blob.Quant
	inverse float32 // of the result's scale
	bounds  quant.Bounds
}

func sumOf(a, b, out *blob.Value, n *blob.Node) *integerSum {
	return &integerSum{a.Quant, b.Quant, 1 / out.Quant.Scale, boundsOf(n, &out.Quant)}
}

// run is a step that adds arguments 0 and 1, which have the same sizes in most calls.
func (s *integerSum) run() func(*ownCall) error {
	same := elementwise(func(c *ownCall, lo, hi int) {
		x, y, o := sliceOf[int8](c.args[0].Data, hi), sliceOf[int8](c.args[1].Data, hi), sliceOf[int8](c.outs[0].Data, hi)
		s.add(c.tier, o[lo:], x[lo:], y[lo:])
	})
	return func(c *ownCall) error {
		x, y, out := c.args[0], c.args[1], c.outs[0]
		if slices.Equal(x.Sizes, y.Sizes) {
			return same(c)
		}
		sizes, err := op.BroadcastSizes(nil, append(c.sizes[:0], x.Sizes...), y.Sizes)
		if err != nil {
			return backend.Fail(pte.InvalidArgument, err.Error())
		}
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		n := out.Numel()
		space, err := c.alloc(2 * n)
		if err != nil {
			return err
		}
		both := [2]tensor.Tensor{{Meta: out.Meta, Data: space[:n]}, {Meta: out.Meta, Data: space[n:]}}
		for i := range both {
			if err := op.Convert(&op.Call{Alloc: c.alloc}, &both[i], c.args[i]); err != nil {
				return err
			}
		}
		s.add(c.tier, sliceOf[int8](out.Data, n), sliceOf[int8](both[0].Data, n), sliceOf[int8](both[1].Data, n))
		return nil
	}
}

// add sets o to the sums of x and y.
func (s *integerSum) add(t kernel.Tier, o, x, y []int8) {
	var first, second [sumPart]float32
	for len(o) > 0 {
		n := min(len(o), sumPart)
		quant.Dequantize(t, first[:n], x[:n], s.a.Scale, float32(s.a.ZeroPoint))
		quant.Dequantize(t, second[:n], y[:n], s.b.Scale, float32(s.b.ZeroPoint))
		sum(t, first[:n], first[:n], second[:n])
		quant.QuantizeWithin(t, o[:n], first[:n], s.inverse, s.bounds)
		o, x, y = o[n:], x[n:], y[n:]
	}
}

// dynamicSizes are the sizes of the parameters of a dynamically quantized value: two numbers for each of the first
// dimensions, scale and zero point.
func dynamicSizes(dst, sizes []tensor.Dim, dims int) []tensor.Dim {
	return append(append(dst[:0], sizes[:len(sizes)-dims]...), 2)
}

// quantizeRows converts float32 to int8, result 0, and parameters, result 1, for each row of the last dims dimensions.
func quantizeRows(dims int) func(*ownCall) error {
	return func(c *ownCall) error {
		n, err := c.like()
		if err != nil {
			return err
		}
		if len(c.args[0].Sizes) < dims {
			return backend.Fail(pte.InvalidArgument, "the rank is too small")
		}
		if err := c.resize(c.outs[1], dynamicSizes(c.sizes[:0], c.args[0].Sizes, dims)); err != nil || n == 0 {
			return err
		}
		if c.body == nil {
			c.body = c.quantize
		}
		count := c.outs[1].Numel() / 2
		c.parallel(count, max(1, quantizePart*count/n), c.body)
		return nil
	}
}

// quantizePart is about how many elements a thread quantizes at least.
const quantizePart = 16 << 10

// quantize converts rows lo to hi of quantizeRows.
func (c *ownCall) quantize(lo, hi int) {
	n, count := c.args[0].Numel(), c.outs[1].Numel()/2
	row := n / count
	x, o := sliceOf[float32](c.args[0].Data, n), sliceOf[int8](c.outs[0].Data, n)
	params := sliceOf[float32](c.outs[1].Data, 2*count)
	for i := lo; i < hi; i++ {
		inverse, zero := quant.Dynamic(c.tier, x[i*row:(i+1)*row])
		quant.Quantize(c.tier, o[i*row:(i+1)*row], x[i*row:(i+1)*row], inverse, zero)
		params[2*i], params[2*i+1] = 1/inverse, zero
	}
}

// dequantizeRows is the way back from the results of quantizeRows.
func dequantizeRows(c *ownCall) error {
	n, err := c.like()
	if err != nil || n == 0 {
		return err
	}
	count := c.args[1].Numel() / 2
	row := n / count
	o, x := sliceOf[float32](c.outs[0].Data, n), sliceOf[int8](c.args[0].Data, n)
	for i := range count {
		scale, zero := rowParams(c.args[1], i)
		quant.Dequantize(c.tier, o[i*row:(i+1)*row], x[i*row:(i+1)*row], scale, float32(zero))
	}
	return nil
}

// argMaxPool gives the greatest element of each window and its place in the window, column by column.
func argMaxPool(p blob.Pool) func(*ownCall) error {
	return func(c *ownCall) error {
		in := c.args[0]
		n, h, w, ch := int(in.Sizes[0]), int(in.Sizes[1]), int(in.Sizes[2]), int(in.Sizes[3])
		oh, ow := (h+p.Top+p.Bottom)/p.Height, (w+p.Left+p.Right)/p.Width
		sizes := []tensor.Dim{in.Sizes[0], tensor.Dim(oh), tensor.Dim(ow), in.Sizes[3]}
		for _, o := range c.outs {
			if err := c.resize(o, sizes); err != nil {
				return err
			}
		}
		x, best, place := sliceOf[float32](in.Data, in.Numel()), sliceOf[float32](c.outs[0].Data, n*oh*ow*ch), sliceOf[int32](c.outs[1].Data, n*oh*ow*ch)
		for i := range best {
			b, col, row, k := i/ch/ow/oh, i/ch%ow, i/ch/ow%oh, i%ch
			best[i], place[i] = float32(math.Inf(-1)), 0
			for t := range p.Height * p.Width {
				y, z := row*p.Height-p.Top+t%p.Height, col*p.Width-p.Left+t/p.Height
				if y < 0 || y >= h || z < 0 || z >= w {
					continue
				}
				if v := x[((b*h+y)*w+z)*ch+k]; v > best[i] {
					best[i], place[i] = v, int32(t)
				}
			}
		}
		return nil
	}
}
