package decomp

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// blocks is how torchao groups a tensor: every dimension that holds several
// blocks of several elements becomes two.
type blocks struct {
	shape []int64 // of the tensor, seen in blocks
	scale []int64 // of what there is one of for each block
	dims  []int64 // of shape that lie within a block
}

func (c *call) blocks(x *exir.Value) blocks {
	var b blocks
	for i, size := range c.ints("block_size") {
		n := x.Spec.Sizes[i]
		switch {
		case size == 1:
			b.shape, b.scale = append(b.shape, n), append(b.scale, n)
		case c.shapes().Equal(size, n) == tensor.Yes:
			b.dims = append(b.dims, int64(len(b.shape)))
			b.shape, b.scale = append(b.shape, n), append(b.scale, 1)
		default:
			many := c.shapes().FloorDiv(n, size)
			b.dims = append(b.dims, int64(len(b.shape))+1)
			b.shape, b.scale = append(b.shape, many, size), append(b.scale, many, 1)
		}
	}
	return b
}

// rows reports whether the blocks of x are its rows or, of a matrix, parts of them, with zero points that are integers.
func (c *call) rows(x *exir.Value) (whole, parts bool) {
	size := c.ints("block_size")
	n := len(size) - 1
	zero := c.t("zero_point")
	if n < 0 || zero != nil && !zero.Spec.DType.IsIntegral(false) || slices.ContainsFunc(size[:n], func(k int64) bool { return k != 1 }) {
		return false, false
	}
	whole = c.shapes().Equal(x.Spec.Sizes[n], size[n]) == tensor.Yes
	return whole, n == 1 && size[n] > 1
}

// perToken calls an operator on rows. ExecuTorch's kernels want scales in float64 and zero points in int64.
func (c *call) perToken(name string, x *exir.Value, lo, hi float64, types ...any) []*exir.Value {
	scale, zero := c.t("scale"), c.t("zero_point")
	if zero == nil {
		zero = c.op("full_like", scale, 0, exir.KW{Name: "dtype", Arg: tensor.Long})
	}
	args := []any{x, c.cast(scale, tensor.Double), c.cast(zero, tensor.Long), int64(lo), int64(hi)}
	return one(c.op("quantized_decomposed::"+name, append(args, types...)...))
}

// castsBack is how many nodes back cast looks.
const castsBack = 4

// cast is to, or what one of the last nodes has made so.
func (c *call) cast(v *exir.Value, t tensor.ScalarType) *exir.Value {
	nodes := c.b.Graph.Nodes
	for _, n := range nodes[max(0, len(nodes)-castsBack):] {
		if n.Op.Name == "aten::_to_copy" && n.Args[0].Value == v && n.Outs[0].Spec.DType == t {
			return n.Outs[0]
		}
	}
	return c.to(v, t)
}

// dequantizeAffine is (input - zero_point)·scale in output_dtype. Rows of a constant are channels, those of others tokens.
func dequantizeAffine(c *call) []*exir.Value {
	x := c.t("input")
	t := c.dtype("output_dtype", tensor.Float)
	if whole, parts := c.rows(x); (whole || parts) && t == tensor.Float && c.t("scale").Spec.DType != tensor.Double && (x.Spec.DType == tensor.Char || x.Spec.DType == tensor.Byte) {
		lo, hi := c.bounds(x.Spec.DType)
		if whole && x.Const == nil {
			return c.perToken("dequantize_per_token", x, lo, hi, x.Spec.DType, t)
		}
		if parts {
			var zeros any
			if zero := c.t("zero_point"); zero != nil {
				zeros = c.view(c.to(zero, tensor.Long), -1)
			}
			y := c.op("quantized_decomposed::dequantize_per_channel", c.view(x, -1, c.ints("block_size")[1]), c.view(c.to(c.t("scale"), t), -1), zeros, 0,
				int64(lo), int64(hi), x.Spec.DType, exir.KW{Name: "out_dtype", Arg: t})
			return one(c.view(y, sizes(x)...))
		}
	}
	b := c.blocks(x)
	y := c.to(c.view(x, b.shape...), t)
	if zero := c.t("zero_point"); zero != nil {
		y = c.op("sub.Tensor", y, c.to(c.view(zero, b.scale...), t))
	}
	y = c.mul(y, c.to(c.view(c.t("scale"), b.scale...), t))
	return one(c.view(y, sizes(x)...))
}

// bounds are quant_min and quant_max, or the limits of the type t.
func (c *call) bounds(t tensor.ScalarType) (lo, hi float64) {
	bits := uint(8 * t.Size())
	lo, hi = -float64(int64(1)<<(bits-1)), float64(int64(1)<<(bits-1)-1)
	if t == tensor.Byte {
		lo, hi = 0, 255
	}
	if c.has("quant_min") {
		lo = c.f("quant_min")
	}
	if c.has("quant_max") {
		hi = c.f("quant_max")
	}
	return lo, hi
}

// quantizeAffine is clamp(round(input/scale) + zero_point).
func quantizeAffine(c *call) []*exir.Value {
	x := c.t("input")
	b, t := c.blocks(x), c.dtype("output_dtype", tensor.Char)
	lo, hi := c.bounds(t)
	if whole, _ := c.rows(x); whole && x.Spec.DType == tensor.Float && c.t("scale").Spec.DType == tensor.Float && (t == tensor.Char || t == tensor.Byte) {
		return c.perToken("quantize_per_token", x, lo, hi, t)
	}
	y := c.mul(c.view(x, b.shape...), c.op("reciprocal", c.view(c.t("scale"), b.scale...)))
	y = c.op("round", y)
	if zero := c.t("zero_point"); zero != nil {
		y = c.add(y, c.to(c.view(zero, b.scale...), y.Spec.DType))
	}
	y = c.to(c.op("clamp", y, lo, hi), t)
	return one(c.view(y, sizes(x)...))
}

// smallestNormal is torch.finfo(t).smallest_normal.
func smallestNormal(t tensor.ScalarType) float64 {
	switch t {
	case tensor.Double:
		return 0x1p-1022
	case tensor.Half:
		return 0x1p-14
	}
	return 0x1p-126
}

// chooseAffine finds the scale and the zero point of each block.
func chooseAffine(c *call) []*exir.Value {
	x := c.t("input")
	b, own := c.blocks(x), x.Spec.DType
	lo, hi := c.bounds(c.dtype("target_dtype", tensor.Char))
	eps := c.f("eps")
	if !c.has("eps") {
		eps = smallestNormal(own)
	}
	v := c.view(x, b.shape...)
	keep := c.bool("keepdim")
	least := c.op("clamp", c.op("amin", v, b.dims, keep), nil, 0)
	most := c.op("clamp", c.op("amax", v, b.dims, keep), 0, nil)
	var scale, zero *exir.Value
	switch kind := c.arg("mapping_type").Str; kind {
	case "ASYMMETRIC":
		scale = c.op("div.Scalar", c.op("sub.Tensor", most, least), hi-lo)
		scale = c.op("clamp", scale, eps, nil)
		zero = c.op("rsub.Scalar", c.op("round", c.op("div.Tensor", least, scale)), lo)
		zero = c.op("clamp", zero, lo, hi)
	case "SYMMETRIC":
		scale = c.op("div.Scalar", c.op("maximum", c.op("neg", least), most), (hi-lo)/2)
		scale = c.op("clamp", scale, eps, nil)
		zero = c.op("full_like", scale, float64(int64((hi+lo+1)/2)))
	case "SYMMETRIC_NO_CLIPPING_ERR":
		scale = c.op("maximum", c.op("div.Scalar", least, lo), c.op("div.Scalar", most, hi))
		scale = c.op("clamp", scale, eps, nil)
		zero = c.op("full_like", scale, float64(int64((hi+lo+1)/2)))
	default:
		failf("choose_qparams_affine: mapping type %q", kind)
	}
	return []*exir.Value{c.to(scale, c.dtype("scale_dtype", own)), c.to(zero, c.dtype("zero_point_dtype", tensor.Int))}
}
