package rt

import (
	"math"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ownCall is a call of a step that is no portable operator.
type ownCall struct {
	args, outs []*tensor.Tensor
	parallel   func(n, grain int, f func(lo, hi int))
	resize     func(t *tensor.Tensor, sizes []tensor.Dim) error
}

// like gives out 0 the sizes of argument 0, and the number of its elements.
func (c *ownCall) like() (int, error) {
	err := c.resize(c.outs[0], c.args[0].Sizes)
	return c.args[0].Numel(), err
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

// hardswish is x·clamp(x+3, 0, 6)/6.
func hardswish(c *ownCall) error {
	n, err := c.like()
	if err != nil {
		return err
	}
	x, o := sliceOf[float32](c.args[0].Data, n), sliceOf[float32](c.outs[0].Data, n)
	for i, v := range x {
		o[i] = v * min(max(v+3, 0), 6) / 6
	}
	return nil
}

// fromType converts a value to float32.
func fromType(v *blob.Value) func(*ownCall) error {
	scale, zero := v.Quant.Scale, float32(v.Quant.ZeroPoint)
	return func(c *ownCall) error {
		n, err := c.like()
		if err != nil {
			return err
		}
		o, raw := sliceOf[float32](c.outs[0].Data, n), c.args[0].Data
		switch v.Type {
		case blob.FP16:
			for i, x := range sliceOf[uint16](raw, n) {
				o[i] = tensor.HalfToFloat32(x)
			}
		case blob.BF16:
			for i, x := range sliceOf[uint16](raw, n) {
				o[i] = tensor.BFloat16ToFloat32(x)
			}
		case blob.QInt8:
			for i, x := range sliceOf[int8](raw, n) {
				o[i] = (float32(x) - zero) * scale
			}
		case blob.QUint8:
			for i, x := range raw[:n] {
				o[i] = (float32(x) - zero) * scale
			}
		default:
			for i, x := range sliceOf[int32](raw, n) {
				o[i] = float32(x)
			}
		}
		return nil
	}
}

// toType converts float32 to a value's type.
func toType(v *blob.Value) func(*ownCall) error {
	if v.Type == blob.QDInt8 {
		return fakeQuantize(int(v.Quant.NonbatchDims))
	}
	inverse, zero := 1/v.Quant.Scale, float32(v.Quant.ZeroPoint)
	return func(c *ownCall) error {
		n, err := c.like()
		if err != nil {
			return err
		}
		x, raw := sliceOf[float32](c.args[0].Data, n), c.outs[0].Data
		switch v.Type {
		case blob.FP16:
			o := sliceOf[uint16](raw, n)
			for i, y := range x {
				o[i] = tensor.Float32ToHalf(y)
			}
		case blob.BF16:
			o := sliceOf[uint16](raw, n)
			for i, y := range x {
				o[i] = tensor.Float32ToBFloat16(y)
			}
		case blob.QInt8:
			o := sliceOf[int8](raw, n)
			for i, y := range x {
				o[i] = int8(quantize(y*inverse, zero, math.MinInt8, math.MaxInt8))
			}
		case blob.QUint8:
			for i, y := range x {
				raw[i] = uint8(quantize(y*inverse, zero, 0, math.MaxUint8))
			}
		default:
			return backend.Fail(pte.NotSupported, "results of type ", v.Type.String())
		}
		return nil
	}
}

// quantize rounds to nearest even, adds the zero point and clamps; NaN becomes low.
func quantize(x, zero, low, high float32) float32 {
	q := float32(math.RoundToEven(float64(x))) + zero
	if !(q > low) {
		return low
	}
	return min(q, high)
}

// fakeQuantize gives every row of the last dims dimensions the values that its 8-bit form has.
func fakeQuantize(dims int) func(*ownCall) error {
	return func(c *ownCall) error {
		n, err := c.like()
		if err != nil || n == 0 {
			return err
		}
		row := 1
		sizes := c.args[0].Sizes
		for _, d := range sizes[max(len(sizes)-dims, 0):] {
			row *= int(d)
		}
		x, o := sliceOf[float32](c.args[0].Data, n), sliceOf[float32](c.outs[0].Data, n)
		for at := 0; at < n; at += row {
			fakeRow(o[at:at+row], x[at:at+row])
		}
		return nil
	}
}

func fakeRow(o, x []float32) {
	inverse, zero := dynamicParams(x)
	scale := 1 / inverse
	for i, v := range x {
		o[i] = (quantize(v*inverse, zero, math.MinInt8, math.MaxInt8) - zero) * scale
	}
}

// dynamicParams are the inverse scale and the zero point by which x fits int8, as XNNPACK chooses them.
func dynamicParams(x []float32) (inverse, zero float32) {
	low, high := float32(0), float32(0)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	inverse = 1
	if low != high {
		inverse = 255 / (high - low)
	}
	fromLow, fromHigh := math.MinInt8-low*inverse, math.MaxInt8-high*inverse
	zero = fromHigh
	if math.MinInt8+low*inverse+(math.MaxInt8+high*inverse) > 0 {
		zero = fromLow
	}
	zero = min(max(zero, math.MinInt8), math.MaxInt8)
	return inverse, float32(math.RoundToEven(float64(zero)))
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
