package aot

import (
	"math"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// constantAlignment is the alignment of constants in the file, in bytes.
const constantAlignment = 16

// of is a constant expression: a functional operator applied to constants.
func (c *compiler) of(name string, args ...any) *exir.Value {
	v := c.build.Op(name, args...)
	if c.build.Err != nil {
		return &exir.Value{Name: v.Name, Spec: v.Spec, Const: &exir.Constant{Name: v.Name, Meta: v.Spec, Literal: true}}
	}
	n := v.Node
	c.build.Graph.Nodes = c.build.Graph.Nodes[:0]
	for i, o := range n.Outs {
		o.Node, o.Const = nil, &exir.Constant{Name: o.Name, Meta: o.Spec, Node: &exir.ConstExpr{Op: n.Op, Args: n.Args, Out: i}}
	}
	return v
}

// number is a constant of no dimensions.
func (c *compiler) number(t tensor.ScalarType, x float64) *exir.Value {
	return c.build.Literal("number", tensor.Meta{DType: t}, exir.EncodeFloat(t, x))
}

func (c *compiler) cast(v *exir.Value, t tensor.ScalarType) *exir.Value {
	if v.Spec.DType == t {
		return v
	}
	return c.of("aten::_to_copy", v, exir.KW{Name: "dtype", Arg: t})
}

// put stores a constant and gives its index.
func (c *compiler) put(v *exir.Value) uint32 {
	if !v.Spec.Contiguous() {
		c.fail("constant %s is not contiguous", v.Name)
	}
	key, err := c.store.AddConstant(v.Const, constantAlignment, "")
	if err != nil {
		c.fail("store constant %s: %w", v.Name, err)
		return 0
	}
	if at, ok := c.constants[key]; ok {
		return at
	}
	at := uint32(len(c.out.Constants))
	c.constants[key] = at
	c.out.Constants = append(c.out.Constants, blob.Constant{Key: key, Size: uint64(v.Spec.Nbytes())})
	return at
}

// static is a value whose bytes are those of the constant v. A number has no dimensions: with one, it would make a vector
// of a result that is a number.
func (c *compiler) static(v *exir.Value, t blob.DataType, q blob.Quant) uint32 {
	x := blob.Value{ID: uint32(len(c.out.Values)), Type: t, Constant: c.put(v), External: blob.InvalidID, Quant: q}
	for _, d := range v.Spec.Sizes {
		x.Dims = append(x.Dims, uint32(d))
	}
	c.out.Values = append(c.out.Values, x)
	return x.ID
}

// constant is a constant of floats, in the type that is computed in.
func (c *compiler) constant(v *exir.Value, image bool) uint32 {
	t := v.Spec.DType
	if c.narrowed(v) {
		t = tensor.Half
	}
	if image {
		v = c.imageOf(v)
	}
	v = c.cast(v, t)
	return c.static(v, types[t], blob.Quant{})
}

// imageOf is a constant with the channels last.
func (c *compiler) imageOf(v *exir.Value) *exir.Value {
	if s := v.Spec.Sizes; len(s) == 3 {
		return c.of("aten::view_copy", c.of("aten::permute_copy", v, []int64{0, 2, 1}), []int64(imageSizes(s)))
	}
	return c.of("aten::permute_copy", v, []int64{0, 2, 3, 1})
}

// padded is a constant with dimensions of 1 before its own, so that it has this rank.
func (c *compiler) padded(v *exir.Value, rank int) *exir.Value {
	s := v.Spec.Sizes
	if len(s) >= rank {
		return v
	}
	sizes := make([]int64, rank-len(s), rank)
	for i := range sizes {
		sizes[i] = 1
	}
	return c.of("aten::view_copy", v, append(sizes, s...))
}

// floatWeight is the constant that q's source stands for; v is what the dequantize node gives.
func (c *compiler) floatWeight(q *quantized, v *exir.Value) *exir.Value {
	x := c.cast(q.source, v.Spec.DType)
	if q.kind == blob.PerTensor {
		return c.of("aten::mul.Tensor", c.of("aten::sub.Tensor", x, c.number(v.Spec.DType, float64(q.zero))), c.number(v.Spec.DType, q.scale))
	}
	own := v.Spec.Sizes
	shape, scales := own, make([]int64, len(own))
	for i := range scales {
		scales[i] = 1
	}
	if scales[q.axis] = own[q.axis]; q.group > 0 {
		many := own[1] / q.group
		shape, scales = []int64{own[0], many, q.group}, []int64{own[0], many, 1}
	}
	x = c.of("aten::view_copy", x, shape)
	if q.zeros != nil {
		x = c.of("aten::sub.Tensor", x, c.of("aten::view_copy", c.cast(q.zeros, v.Spec.DType), scales))
	}
	x = c.of("aten::mul.Tensor", x, c.of("aten::view_copy", c.cast(q.scales, v.Spec.DType), scales))
	return c.of("aten::view_copy", x, own)
}

// quantizedWeight is a value of the weight w, which is q's source with its dimensions moved; axis is where its outputs are.
func (c *compiler) quantizedWeight(w *exir.Value, q *quantized, axis int) uint32 {
	c.requireZero(q.zeros)
	switch {
	case q.kind == blob.PerTensor:
		return c.static(w, blob.QInt8, blob.Quant{Kind: blob.PerTensor, Scale: float32(q.scale)})
	case q.kind == blob.PerGroup:
		return c.nibbles(w, blob.QBInt4, blob.Quant{Kind: blob.PerGroup, GroupSize: int32(q.group),
			ScaleConstant: c.put(c.cast(q.scales, tensor.BFloat16)), NumScales: uint32(q.scales.Spec.Numel())})
	}
	quant := blob.Quant{Kind: blob.PerChannel, ChannelDim: int32(axis), ScaleConstant: c.put(c.cast(q.scales, tensor.Float)), NumScales: uint32(q.scales.Spec.Numel())}
	if q.bits4() && w.Spec.Rank() == 2 {
		return c.nibbles(w, blob.QCInt4, quant)
	}
	return c.static(w, blob.QCInt8, quant)
}

// requireZero lets packing check zero points that the graph does not hold.
func (c *compiler) requireZero(zeros *exir.Value) {
	if zeros == nil || zeros.Const.Literal {
		return
	}
	c.required = append(c.required, exir.Requirement{Zero: zeros.Const, Otherwise: c.node.Fault(diag.RequirementFailed,
		"its weights have zero points other than 0, which XNNPACK does not have").
		WithHint("quantize the weights symmetrically, or `skip` the node in the `partition` entry")})
}

// nibbles is a matrix of numbers of 4 bits, 8 added, two in a byte, even columns in the low halves.
func (c *compiler) nibbles(w *exir.Value, t blob.DataType, q blob.Quant) uint32 {
	rows, cols := w.Spec.Sizes[0], w.Spec.Sizes[1]
	if cols%2 != 0 {
		w = c.of("aten::constant_pad_nd", w, []int64{0, 1}, int64(0))
	}
	w = c.of("aten::view_copy", c.cast(c.of("aten::add.Scalar", w, int64(8)), tensor.Byte), []int64{rows, (cols + 1) / 2, 2})
	low, high := c.of("aten::slice_copy.Tensor", w, int64(2), int64(0), int64(1)), c.of("aten::slice_copy.Tensor", w, int64(2), int64(1), int64(2))
	packed := c.of("aten::add.Tensor", low, c.of("aten::mul.Scalar", high, int64(16)))
	id := c.static(c.of("aten::view_copy", packed, []int64{rows, (cols + 1) / 2}), t, q)
	c.out.Values[id].Dims = []uint32{uint32(rows), uint32(cols)}
	return id
}

// quantizedBias is a bias of 32-bit integers, for an input of scale in and weights quantized like q.
func (c *compiler) quantizedBias(b *exir.Value, in float64, q *quantized) uint32 {
	quant := blob.Quant{Kind: blob.PerTensor, Scale: float32(q.scale * in)}
	t, inverse := blob.QInt32, c.number(tensor.Float, 1/(q.scale*in))
	if q.kind == blob.PerChannel {
		scales := q.scales
		if scales.Spec.Rank() > 1 { // torchao's have a column
			scales = c.of("aten::view_copy", scales, []int64{int64(scales.Spec.Numel())})
		}
		scales = c.of("aten::mul.Scalar", c.cast(scales, tensor.Float), in)
		t, inverse = blob.QCInt32, c.of("aten::reciprocal", scales)
		quant = blob.Quant{Kind: blob.PerChannel, ScaleConstant: c.put(scales), NumScales: uint32(scales.Spec.Numel())}
	}
	x := c.of("aten::round", c.of("aten::mul.Tensor", c.cast(b, tensor.Float), inverse))
	x = c.of("aten::clamp", x, float64(math.MinInt32), float64(math.MaxInt32-127)) // the largest float32 below 2^31
	return c.static(c.cast(x, tensor.Int), t, quant)
}
