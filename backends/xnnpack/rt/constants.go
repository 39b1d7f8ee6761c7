package rt

import (
	"math"
	"strconv"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// bytesOf is n bytes of constant i, 4-byte aligned; nil after a failure, and where kernels are listed.
func (c *compiler) bytesOf(i uint32, n int) []byte {
	if c.listed != nil {
		return nil
	}
	k := &c.graph.Constants[i]
	data := k.Data
	if k.Key != "" {
		if data = c.ctx.NamedData(k.Key); data == nil {
			c.fail(pte.NotFound, "named data ", k.Key, " is missing")
			return nil
		}
	}
	if len(data) < n {
		c.fail(pte.DelegateInvalidCompatibility, "constant ", itoa(i), " has ", strconv.Itoa(len(data)), " bytes, want ", strconv.Itoa(n))
		return nil
	}
	return c.aligned(data[:n])
}

// aligned is b, or a copy of it that the program keeps if it does not begin at a multiple of 4 bytes.
func (c *compiler) aligned(b []byte) []byte {
	if isAligned(b) {
		return b
	}
	v, _ := c.ctx.Share("xnnpack aligned "+address(b), func() (any, error) { return alignedCopy(b), nil })
	return v.([]byte)
}

func dimsText(dims []uint32) string {
	s := ""
	for _, d := range dims {
		s += itoa(d) + "x"
	}
	return s
}

// constant makes the slot of a constant in its own type.
func (c *compiler) constant(v *value) {
	s, ok := storages[v.Type]
	if !ok {
		c.fail(pte.NotImplemented, "constant of type ", v.Type.String())
		s = storages[blob.FP32]
	}
	v.slot = c.constantOf(v, s.slot)
	if s.slot == tensor.Float && v.Type != blob.Int32 {
		v.float = v.slot
	}
}

// constantOf is a slot with the bytes of a constant, as this type.
func (c *compiler) constantOf(v *value, dtype tensor.ScalarType) int {
	slot := c.newSlot(dtype, dimsOf(v.Dims))
	c.out.slots[slot].data = c.bytesOf(v.Constant, v.Bytes())
	return slot
}

// floatConstant makes the slot of a constant in float32; what is made is shared in the program.
func (c *compiler) floatConstant(v *value) {
	if v.Type == blob.FP32 {
		c.constant(v)
		return
	}
	raw, scales := c.bytesOf(v.Constant, v.Bytes()), c.scales(v)
	if scales == nil && !v.half() {
		c.fail(pte.NotImplemented, "constant of type ", v.Type.String())
	}
	if c.err != nil || c.listed != nil {
		v.float = c.newSlot(tensor.Float, dimsOf(v.Dims))
		return
	}
	key := "xnnpack float " + address(raw) + " " + v.Type.String() + " " + strconv.Itoa(int(v.Quant.ZeroPoint)) + " " +
		strconv.Itoa(int(v.Quant.ChannelDim)) + " " + strconv.Itoa(int(v.Quant.GroupSize)) + " " + dimsText(v.Dims) + string(bytesOfFloats(scales))
	made, err := c.ctx.Share(key, func() (any, error) {
		defer c.release(raw)
		out := make([]float32, v.Numel())
		dequantizeConstant(out, raw, v.Value, scales)
		return out, nil
	})
	if err != nil {
		c.err = err
		return
	}
	v.float = c.newSlot(tensor.Float, dimsOf(v.Dims))
	c.out.slots[v.float].data = bytesOfFloats(made.([]float32))
}

// scales are the scales of a constant of integers; one for PerTensor and Int32, nil for other types.
func (c *compiler) scales(v *value) []float32 {
	q := &v.Quant
	switch {
	case q.Kind == blob.PerTensor:
		return []float32{q.Scale}
	case v.Type == blob.Int32:
		return []float32{1}
	case q.Kind != blob.PerChannel && q.Kind != blob.PerGroup:
		return nil
	case len(q.Scales) > 0:
		return q.Scales
	}
	size := 4
	if q.Kind == blob.PerGroup {
		size = 2
	}
	raw := c.bytesOf(q.ScaleConstant, size*int(q.NumScales))
	if c.err != nil {
		return nil
	}
	out := make([]float32, q.NumScales)
	if c.listed != nil {
		return out
	}
	if q.Kind == blob.PerGroup {
		for i, x := range sliceOf[uint16](raw, len(out)) {
			out[i] = tensor.BFloat16ToFloat32(x)
		}
	} else {
		copy(out, sliceOf[float32](raw, len(out)))
	}
	for _, s := range out {
		if !(s >= 0 && s <= math.MaxFloat32) {
			c.fail(pte.DelegateInvalidCompatibility, "a scale is negative or not finite")
		}
	}
	return out
}

// dequantizeConstant makes float32 of a constant of any type.
func dequantizeConstant(out []float32, raw []byte, v *blob.Value, scales []float32) {
	if v.Type == blob.FP16 || v.Type == blob.BF16 {
		op.CastBytes(bytesOfFloats(out), tensor.Float, raw, storages[v.Type].argument, len(out))
		return
	}
	inner := 1
	if v.Quant.Kind == blob.PerChannel {
		for _, d := range v.Dims[v.Quant.ChannelDim+1:] {
			inner *= int(d)
		}
	} else if v.Quant.Kind == blob.PerGroup {
		inner = int(v.Quant.GroupSize)
	}
	zero := v.Quant.ZeroPoint
	cols := 1
	if n := len(v.Dims); n > 0 {
		cols = int(v.Dims[n-1])
	}
	for i := range out {
		s := scales[0]
		if len(scales) > 1 {
			s = scales[i/inner%len(scales)]
		}
		out[i] = float32(integerAt(raw, v.Type, i, cols)-zero) * s
	}
}

// integerAt is element i of a quantized constant whose rows have cols elements.
func integerAt(raw []byte, t blob.DataType, i, cols int) int32 {
	switch t {
	case blob.QInt32, blob.QCInt32, blob.Int32:
		b := raw[4*i : 4*i+4]
		return int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	case blob.QUint8:
		return int32(raw[i])
	case blob.QCInt4, blob.QBInt4:
		row, col := i/cols, i%cols
		b := raw[row*((cols+1)/2)+col/2]
		return int32(b>>(4*(col%2))&15) - 8
	}
	return int32(int8(raw[i]))
}
