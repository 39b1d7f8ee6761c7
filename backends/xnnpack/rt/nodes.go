package rt

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// lowering adds the steps of a node.
type lowering func(c *compiler, n *blob.Node)

// lowerings has an entry for every node type that the official runtime defines.
var lowerings = map[blob.NodeType]lowering{
	blob.Abs: pointwise("aten::abs.out"), blob.Add: lowerAdd, blob.Ceiling: pointwise("aten::ceil.out"),
	blob.Cos: pointwise("aten::cos.out"), blob.Div: pointwise("aten::div.out"), blob.Exp: pointwise("aten::exp.out"),
	blob.Floor: pointwise("aten::floor.out"), blob.Gelu: pointwise("aten::gelu.out", text("none")), blob.Log: pointwise("aten::log.out"),
	blob.Maximum: pointwise("aten::maximum.out"), blob.Minimum: pointwise("aten::minimum.out"),
	blob.Multiply: lowerMultiply, blob.Negate: pointwise("aten::neg.out"),
	blob.ReciprocalSquareRoot: pointwise("aten::rsqrt.out"), blob.Sigmoid: pointwise("aten::sigmoid.out"),
	blob.Sin: pointwise("aten::sin.out"), blob.Softmax: pointwise("aten::_softmax.out", number(-1), truth(false)),
	blob.SquareRoot: pointwise("aten::sqrt.out"), blob.Subtract: pointwise("aten::sub.out", number(1)), blob.Tanh: pointwise("aten::tanh.out"),

	blob.Clamp: lowerClamp, blob.ELU: lowerELU, blob.LeakyReLU: lowerLeakyReLU, blob.Hardswish: lowerHardswish,
	blob.Square: lowerSquare, blob.PReLU: lowerPReLU, blob.Convert: lowerConvert, blob.Copy: lowerCopy,

	blob.Concatenate2: lowerCat, blob.Concatenate3: lowerCat, blob.Concatenate4: lowerCat, blob.Concatenate5: lowerCat,
	blob.StaticTranspose: lowerTranspose, blob.StaticReshape: lowerReshape, blob.StaticSlice: lowerSlice,
	blob.StaticConstantPad: lowerPad,

	blob.FullyConnected: lowerLinear, blob.BatchMatrixMultiply: lowerBatchMatrixMultiply,
	blob.Conv2d: lowerConv, blob.DepthwiseConv2d: lowerConv, blob.ConvTranspose2d: lowerConv,
	blob.AvgPooling2d: lowerAvgPool, blob.MaxPooling2d: lowerMaxPool, blob.ArgMaxPooling2d: lowerArgMaxPool,
	blob.GlobalAvgPooling2d: lowerGlobalAvgPool, blob.StaticResizeBilinear2D: lowerResize,
}

// lower adds the steps of a node.
func (c *compiler) lower(n *blob.Node) {
	f := lowerings[n.Type]
	if f == nil {
		c.fail(pte.NotImplemented, "the official runtime does not have it either")
		return
	}
	f(c, n)
}

// floatOf is a slot with a value in float32, or -1 for an absent one.
func (c *compiler) floatOf(id uint32) int {
	v := c.values[id]
	switch {
	case v == nil:
		return -1
	case v.float >= 0:
	case v.Constant != 0:
		c.floatConstant(v)
	default:
		v.float = c.temp(v.slot, tensor.Float)
		if v.params >= 0 {
			c.own(dequantizeRows, v.float, v.slot, v.params)
		} else {
			c.own(fromType(v.Value), v.float, v.slot)
		}
	}
	return v.float
}

// inFloat adds the steps of a node of one result that runs in float32: emit's, those that bound the result, and those
// that convert from and to other types.
func (c *compiler) inFloat(n *blob.Node, emit func(out int, in []int)) {
	c.inFloatBut(n, -1, emit)
}

// inFloatBut is inFloat; input kept, a constant, unless negative, lies in a slot as its type says.
func (c *compiler) inFloatBut(n *blob.Node, kept int, emit func(out int, in []int)) {
	in := make([]int, len(n.Inputs))
	for i, id := range n.Inputs {
		if v := c.values[id]; i == kept {
			in[i] = c.constantOf(v, storages[v.Type].argument)
		} else {
			in[i] = c.floatOf(id)
		}
	}
	v := c.values[n.Outputs[0]]
	out := v.float
	if out < 0 {
		out = c.temp(v.slot, tensor.Float)
	}
	if c.err != nil {
		return
	}
	if c.bounds = nil; n.Bounded && n.Type != blob.Clamp {
		c.bounds = &[2]float32{n.Min, n.Max}
	}
	to := out
	if c.bounds != nil && c.inlined != nil {
		to = c.temp(out, tensor.Float)
	}
	emit(to, in)
	if c.bounds != nil {
		c.call("aten::clamp.out", of(out), of(to), float(n.Min), float(n.Max))
	}
	if out != v.slot {
		c.store(v, out)
	}
}

// store converts a slot in float32 to a value.
func (c *compiler) store(v *value, from int) {
	if v.params >= 0 {
		c.ownOuts(quantizeRows(int(v.Quant.NonbatchDims)), []int{v.slot, v.params}, from)
		return
	}
	c.own(toType(v.Value), v.slot, from)
}

// pointwise calls an operator of the node's inputs and more arguments.
func pointwise(name string, more ...operand) lowering {
	return func(c *compiler, n *blob.Node) {
		c.inFloat(n, func(out int, in []int) {
			var args []operand
			for _, s := range in {
				args = append(args, of(s))
			}
			c.call(name, of(out), append(args, more...)...)
		})
	}
}

func lowerClamp(c *compiler, n *blob.Node) {
	pointwise("aten::clamp.out", float(n.Min), float(n.Max))(c, n)
}

func lowerELU(c *compiler, n *blob.Node) {
	pointwise("aten::elu.out", float(n.Factor), float(1), float(1))(c, n)
}

func lowerLeakyReLU(c *compiler, n *blob.Node) {
	pointwise("aten::leaky_relu.out", float(n.Factor))(c, n)
}

func lowerHardswish(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) { c.activation(op.Hardswish, out, in[0]) })
}

// activation adds a step that computes a function of elements, which leaves zeros alone and may also change them where they are.
func (c *compiler) activation(function func(t kernel.Tier, o, x []float32), out, in int) {
	c.own(ofElements(function), out, in)
	c.out.steps[len(c.out.steps)-1].inPlace = func(t kernel.Tier, x []float32) { function(t, x, x) }
}

// lowerAdd adds integers part by part, where both have the same largest sizes; other sums run as pointwise operators do.
func lowerAdd(c *compiler, n *blob.Node) {
	a, b, out := c.values[n.Inputs[0]], c.values[n.Inputs[1]], c.values[n.Outputs[0]]
	if a == nil || b == nil || !a.integers() || !b.integers() || !out.integers() || !slices.Equal(c.out.slots[a.slot].dims, c.out.slots[b.slot].dims) {
		pointwise("aten::add.out", number(1))(c, n)
		return
	}
	c.own(sumOf(a.Value, b.Value, out.Value, n).run(), out.slot, a.slot, b.slot)
}

func lowerMultiply(c *compiler, n *blob.Node) {
	if len(n.Inputs) > 1 {
		pointwise("aten::mul.out")(c, n)
		return
	}
	c.inFloat(n, func(out int, in []int) { c.activation(op.Silu, out, in[0]) })
}

func lowerSquare(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) { c.call("aten::mul.out", of(out), of(in[0]), of(in[0])) })
}

func lowerPReLU(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) { c.own(prelu, out, in[0], in[1]) })
}

// lowerConvert converts between types through float32.
func lowerConvert(c *compiler, n *blob.Node) {
	in, out := c.floatOf(n.Inputs[0]), c.values[n.Outputs[0]]
	switch {
	case c.err != nil:
	case out.Type == blob.FP32:
		c.call("aten::clone.out", of(out.slot), of(in), none())
	case out.half() && out.inFloat(): // the node says to round
		rounded := c.temp(out.slot, tensor.Half)
		c.own(toType(out.Value), rounded, in)
		c.own(fromType(out.Value), out.slot, rounded)
	default:
		c.store(out, in)
	}
}

// moves adds the steps of a node that only moves elements: in the type of the slots if all values have the same type
// and quantization, else in float32.
func (c *compiler) moves(n *blob.Node, emit func(out int, in []int)) {
	out := c.values[n.Outputs[0]]
	var in []int
	for _, id := range n.Inputs {
		v := c.values[id]
		if v.Type != out.Type || out.inFloat() || v.inFloat() || !sameQuant(&v.Quant, &out.Quant) || n.Bounded {
			c.inFloat(n, emit)
			return
		}
		if v.slot < 0 {
			c.constant(v)
		}
		in = append(in, v.slot)
	}
	if c.err == nil {
		emit(out.slot, in)
	}
}

func sameQuant(a, b *blob.Quant) bool {
	return a.Kind == b.Kind && a.Scale == b.Scale && a.ZeroPoint == b.ZeroPoint && (a.Kind == blob.NoQuant || a.Kind == blob.PerTensor)
}

func lowerCopy(c *compiler, n *blob.Node) {
	c.moves(n, func(out int, in []int) { c.call("aten::clone.out", of(out), of(in[0]), none()) })
}

func lowerCat(c *compiler, n *blob.Node) {
	c.moves(n, func(out int, in []int) {
		var list []operand
		for _, s := range in {
			list = append(list, of(s))
		}
		c.call("aten::cat.out", of(out), operand{slot: -1, list: list}, number(int64(n.Params[0])))
	})
}

func lowerTranspose(c *compiler, n *blob.Node) {
	c.moves(n, func(out int, in []int) { c.call(permuteName, of(out), of(in[0]), intsOf(n.Lists[0])) })
}

// lowerReshape: a size 0 follows from the others.
func lowerReshape(c *compiler, n *blob.Node) {
	sizes := dimsOf(n.Lists[0])
	for i, d := range sizes {
		if d == 0 {
			sizes[i] = -1
		}
	}
	c.moves(n, func(out int, in []int) { c.call(viewName, of(out), of(in[0]), numbers(sizes...)) })
}

// lowerSlice slices one dimension after another. A size 0 reaches to the end, and one that is the dimension's largest
// stands for all of it.
func lowerSlice(c *compiler, n *blob.Node) {
	c.moves(n, func(out int, in []int) {
		at := in[0]
		dims := c.out.slots[at].dims
		if len(dims) != len(n.Lists[0]) {
			c.fail(pte.DelegateInvalidCompatibility, "its rank is not its input's")
			return
		}
		var cut []int // dimensions that are
		for i := range dims {
			if from, size := n.Lists[0][i], n.Lists[1][i]; from != 0 || size != 0 && tensor.Dim(size) != dims[i] {
				cut = append(cut, i)
			}
		}
		if len(cut) == 0 {
			c.call("aten::clone.out", of(out), of(at), none())
		}
		for k, i := range cut {
			from, size := int64(n.Lists[0][i]), int64(n.Lists[1][i])
			end := from + size
			if size == 0 {
				end = math.MaxInt64
			}
			next := out
			if k < len(cut)-1 {
				sliced := append([]tensor.Dim(nil), c.out.slots[at].dims...)
				sliced[i] = max(min(end, dims[i])-from, 0)
				next = c.newSlot(c.out.slots[at].dtype, sliced)
			}
			c.call("aten::slice_copy.Tensor_out", of(next), of(at), number(int64(i)), number(from), number(end), number(1))
			at = next
		}
	})
}

// lowerPad pads: the operator's list begins with the last dimension. The value of a quantized node is quantized.
func lowerPad(c *compiler, n *blob.Node) {
	emit := func(out int, in []int) { c.pad(out, in[0], n.Lists[0], n.Lists[1], n.Factor) }
	if v := c.values[n.Outputs[0]]; v.Type == blob.FP32 {
		c.moves(n, emit)
	} else {
		c.inFloat(n, emit)
	}
}

func (c *compiler) pad(out, in int, before, after []uint32, x float32) {
	var list []int64
	for i := len(before) - 1; i >= 0; i-- {
		list = append(list, int64(before[i]), int64(after[i]))
	}
	c.call("aten::constant_pad_nd.out", of(out), of(in), numbers(list...), float(x))
}

// integerArgs are the slots of the input of a product.
func (c *compiler) integerArgs(n *blob.Node) []int {
	v := c.values[n.Inputs[0]]
	if v.params >= 0 {
		return []int{v.slot, v.params}
	}
	return []int{v.slot}
}

func lowerLinear(c *compiler, n *blob.Node) {
	if p := c.integers(n); p != nil && len(c.values[n.Inputs[1]].Dims) == 2 {
		c.own(p.linear(n.Flags&blob.Reshape2D != 0), c.values[n.Outputs[0]].slot, c.integerArgs(n)...)
		return
	}
	// Weights of half types stay so: a kernel of their type widens them as it multiplies.
	kept, dtype := -1, tensor.Undefined
	if w := c.values[n.Inputs[1]]; w.half() && w.Constant != 0 {
		kept, dtype = 1, storages[w.Type].argument
	}
	c.inFloatBut(n, kept, func(out int, in []int) {
		x, w, bias := of(in[0]), of(in[1]), none()
		if n.Flags&blob.Reshape2D != 0 {
			x.view = flat
		}
		if n.Flags&blob.TransposeWeights != 0 {
			w.view = transposed
		}
		if len(in) > 2 && in[2] >= 0 {
			bias = of(in[2])
		}
		c.callIn(dtype, "aten::linear.out", of(out), x, w, bias)
	})
}

func lowerBatchMatrixMultiply(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) {
		b := as(in[1], batches)
		if n.Flags&blob.TransposeWeights != 0 {
			b.view = transposedBatches
		}
		if c.inlined == nil {
			c.own(leading, out, in[0])
			c.out.steps[len(c.out.steps)-1].leads = true
		}
		c.call(bmmName, as(out, batches), as(in[0], batches), b)
	})
}

// rank4 reports that an image has rank 4.
func (c *compiler) rank4(slot int) bool {
	if c.err == nil && len(c.out.slots[slot].dims) != 4 {
		c.fail(pte.DelegateInvalidCompatibility, "its input does not have rank 4")
	}
	return c.err == nil
}

// framed is the image in, or it with a frame of zeros where the paddings differ from side to side, and the padding left.
func (c *compiler) framed(in int, t, r, b, l int) (slot int, pad operand) {
	if t == b && l == r {
		return in, numbers(int64(t), int64(l))
	}
	dims := append([]tensor.Dim(nil), c.out.slots[in].dims...)
	dims[1] += tensor.Dim(t + b)
	dims[2] += tensor.Dim(l + r)
	slot = c.newSlot(tensor.Float, dims)
	c.pad(slot, in, []uint32{0, uint32(t), uint32(l), 0}, []uint32{0, uint32(b), uint32(r), 0}, 0)
	return slot, numbers(0, 0)
}

func lowerConv(c *compiler, n *blob.Node) {
	if n.Type != blob.ConvTranspose2d && c.integerConv(n) {
		return
	}
	c.inFloat(n, func(out int, in []int) {
		if !c.rank4(in[0]) || !c.rank4(in[1]) {
			return
		}
		k := n.Conv()
		if !fitsFilter(n, c.out.slots[in[1]].dims, &k) {
			c.fail(pte.DelegateInvalidCompatibility, "its filter's sizes do not agree with its numbers")
			return
		}
		bias := none()
		if in[2] >= 0 {
			bias = of(in[2])
		}
		x, y, pad := in[0], out, numbers(int64(min(k.Top, k.Bottom)), int64(min(k.Left, k.Right)))
		if n.Type == blob.ConvTranspose2d {
			y = c.uncropped(out, &k)
		} else {
			x, pad = c.framed(in[0], k.Top, k.Right, k.Bottom, k.Left)
		}
		c.call("aten::convolution.out", as(y, nchw), as(x, nchw), c.filter(n, in[1], &k), bias,
			numbers(int64(k.StrideHeight), int64(k.StrideWidth)), pad, numbers(int64(k.DilationHeight), int64(k.DilationWidth)),
			truth(n.Type == blob.ConvTranspose2d), numbers(int64(k.AdjustHeight), int64(k.AdjustWidth)), number(int64(k.Groups)))
		if y != out {
			c.crop(out, y, &k)
		}
	})
}

// uncropped is out, or a larger image that crop cuts down to it where the paddings of a transposed convolution differ
// from side to side.
func (c *compiler) uncropped(out int, k *blob.Conv) int {
	if !c.rank4(out) || k.Top == k.Bottom && k.Left == k.Right {
		return out
	}
	dims := append([]tensor.Dim(nil), c.out.slots[out].dims...)
	dims[1] += tensor.Dim(max(k.Top, k.Bottom) - min(k.Top, k.Bottom))
	dims[2] += tensor.Dim(max(k.Left, k.Right) - min(k.Left, k.Right))
	return c.newSlot(tensor.Float, dims)
}

// crop cuts off what the smaller padding of each dimension left too much.
func (c *compiler) crop(out, in int, k *blob.Conv) {
	dims := append([]tensor.Dim(nil), c.out.slots[in].dims...)
	dims[1] = c.out.slots[out].dims[1]
	rows := c.newSlot(tensor.Float, dims)
	cut := func(to, from int, dim int64, before, after int) {
		end := int64(math.MaxInt64)
		if after > before {
			end = int64(before - after)
		}
		c.call("aten::slice_copy.Tensor_out", of(to), of(from), number(dim), number(int64(max(before-after, 0))), number(end), number(1))
	}
	cut(rows, in, 1, k.Top, k.Bottom)
	cut(out, rows, 2, k.Left, k.Right)
}

// integerConv adds a convolution of integers if the node is one.
func (c *compiler) integerConv(n *blob.Node) bool {
	k, x, w := n.Conv(), c.values[n.Inputs[0]], c.values[n.Inputs[1]]
	if len(x.Dims) != 4 || len(w.Dims) != 4 || !fitsFilter(n, dimsOf(w.Dims), &k) {
		return false
	}
	p := c.integers(n)
	if p == nil || x.params >= 0 && x.Quant.NonbatchDims != 3 {
		return false
	}
	c.own(p.conv(k), c.values[n.Outputs[0]].slot, c.integerArgs(n)...)
	return true
}

// fitsFilter reports that a filter of sizes d fits the node's numbers.
func fitsFilter(n *blob.Node, d []tensor.Dim, k *blob.Conv) bool {
	want := [4]int{k.Groups * k.GroupOutputs, k.KernelHeight, k.KernelWidth, k.GroupInputs}
	if n.Type == blob.DepthwiseConv2d {
		want = [4]int{k.GroupInputs, k.KernelHeight, k.KernelWidth, k.Groups * k.GroupOutputs}
	}
	return int(d[0]) == want[0] && int(d[1]) == want[1] && int(d[2]) == want[2] && int(d[3]) == want[3]
}

// filter sees a filter's weights as the convolution operator does.
func (c *compiler) filter(n *blob.Node, w int, k *blob.Conv) operand {
	switch {
	case n.Type == blob.DepthwiseConv2d:
		return as(w, depthwise)
	case n.Type == blob.Conv2d:
		return as(w, nchw)
	case k.Groups == 1:
		return as(w, depthwise)
	}
	return of(c.groupedFilter(w, k))
}

// groupedFilter rearranges the weights of a transposed convolution from [groups·out, H, W, in] to [groups·in, out, H, W].
func (c *compiler) groupedFilter(w int, k *blob.Conv) int {
	s := &c.out.slots[w]
	d := s.dims
	if s.data == nil && c.listed == nil {
		c.fail(pte.NotSupported, "a filter of groups that is not constant")
		return w
	}
	out := c.newSlot(tensor.Float, []tensor.Dim{tensor.Dim(k.Groups * k.GroupInputs), tensor.Dim(k.GroupOutputs), d[1], d[2]})
	if c.listed != nil {
		return out
	}
	made, _ := c.ctx.Share("xnnpack grouped "+address(s.data)+" "+itoa(uint32(k.Groups))+" "+op.SizesText(d), func() (any, error) {
		return regroup(sliceOf[float32](s.data, len(s.data)/4), k, int(d[1]*d[2])), nil
	})
	c.out.slots[out].data = bytesOfFloats(made.([]float32))
	return out
}

func regroup(w []float32, k *blob.Conv, taps int) []float32 {
	out := make([]float32, len(w))
	at := 0
	for g := range k.Groups {
		for i := range k.GroupInputs {
			for o := range k.GroupOutputs {
				for t := range taps {
					out[at] = w[((g*k.GroupOutputs+o)*taps+t)*k.GroupInputs+i]
					at++
				}
			}
		}
	}
	return out
}

func lowerMaxPool(c *compiler, n *blob.Node) {
	if in, out := c.values[n.Inputs[0]], c.values[n.Outputs[0]]; in != nil && !n.Bounded && in.integers() && out.integers() &&
		in.Quant.Scale == out.Quant.Scale && in.Quant.ZeroPoint == out.Quant.ZeroPoint {
		if c.rank4(in.slot) {
			c.own(maxPoolS8(n.Pool()), out.slot, in.slot)
		}
		return
	}
	c.inFloat(n, func(out int, in []int) {
		if !c.rank4(in[0]) {
			return
		}
		c.own(maxPool(n.Pool()), out, in[0])
	})
}

// integers reports whether v is of int8 with one scale, and no constant.
func (v *value) integers() bool {
	return v.Type == blob.QInt8 && v.Constant == 0 && v.Quant.Kind == blob.PerTensor
}

func lowerAvgPool(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) {
		if !c.rank4(in[0]) {
			return
		}
		p := n.Pool()
		p.DilationHeight, p.DilationWidth = 1, 1 // the operator has none
		c.own(avgPool(p), out, in[0])
	})
}

// keepDims is XNN_FLAG_KEEP_DIMS.
const keepDims = 0x40

func lowerGlobalAvgPool(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) {
		keep := n.Flags&keepDims != 0 || len(c.out.slots[out].dims) == len(c.out.slots[in[0]].dims)
		if c.rank4(in[0]) {
			c.own(globalAvgPool(keep), out, in[0])
		}
	})
}

func lowerResize(c *compiler, n *blob.Node) {
	c.inFloat(n, func(out int, in []int) {
		if !c.rank4(in[0]) {
			return
		}
		if n.Flags&blob.LegacyResize != 0 {
			c.fail(pte.NotSupported, "TensorFlow's legacy mode")
		}
		c.call("aten::upsample_bilinear2d.vec_out", as(out, nchw), as(in[0], nchw), intsOf(n.Params), truth(n.Flags&blob.AlignCorners != 0), none())
	})
}

// lowerArgMaxPool has two results: the greatest elements and, in int32, their places in the windows.
func lowerArgMaxPool(c *compiler, n *blob.Node) {
	in := c.floatOf(n.Inputs[0])
	if c.err != nil || !c.rank4(in) {
		return
	}
	out, at := c.values[n.Outputs[0]], c.values[n.Outputs[1]]
	if out.Type != blob.FP32 || at.Type != blob.Int32 {
		c.fail(pte.NotSupported, "results of types ", out.Type.String(), " and ", at.Type.String())
		return
	}
	c.add(step{run: argMaxPool(n.Pool()), args: []operand{of(in)}, outs: []operand{of(out.slot), of(at.slot)}})
}
