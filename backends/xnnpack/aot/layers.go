package aot

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// weights are a layer's constants, with the quantizations of its input and its filter.
type weights struct {
	filter, bias *exir.Value
	in, quant    *quantized
}

// weightsOf are the constants of a layer, a batch norm after it folded in. axis is where the filter's outputs are.
func (c *compiler) weightsOf(p *plan, in, filter, bias *exir.Value, axis int) weights {
	w := weights{filter: filter, bias: bias, in: dequantized(in), quant: dequantized(filter)}
	switch {
	case w.quant == nil:
	case p.norm == nil && (p.quantized || w.in != nil && w.in.kind == blob.PerToken):
		w.filter = w.quant.source
	default:
		w.filter, w.quant = c.floatWeight(w.quant, filter), nil
	}
	if p.norm != nil {
		c.foldNorm(&w, p.norm, axis)
	}
	return w
}

// foldNorm multiplies the filter's outputs by the scales of a batch norm, and makes its shift a part of the bias.
func (c *compiler) foldNorm(w *weights, n *exir.Node, axis int) {
	scale, shift := c.normOf(n)
	sizes := make([]int64, w.filter.Spec.Rank())
	for i := range sizes {
		sizes[i] = 1
	}
	sizes[axis] = int64(scale.Spec.Numel())
	w.filter = c.of("aten::mul.Tensor", w.filter, c.of("aten::view_copy", scale, sizes))
	if w.bias != nil {
		shift = c.of("aten::add.Tensor", c.of("aten::mul.Tensor", w.bias, scale), shift)
	}
	w.bias = shift
}

// layer is the filter's and the bias's ids; place is the dimension of filter where the outputs are.
func (c *compiler) layer(p *plan, w *weights, filter *exir.Value, place int, wide bool) []uint32 {
	ids := []uint32{0, blob.InvalidID}
	floats := func(v *exir.Value, wide bool) uint32 {
		if wide {
			return c.static(c.cast(v, tensor.Float), blob.FP32, blob.Quant{})
		}
		return c.get(form{value: v})
	}
	if w.quant != nil {
		ids[0] = c.quantizedWeight(filter, w.quant, place)
	} else {
		ids[0] = floats(filter, wide)
	}
	switch {
	case w.bias == nil:
	case w.quant != nil && p.quantized:
		ids[1] = c.quantizedBias(w.bias, w.in.scale, w.quant)
	default:
		ids[1] = floats(w.bias, wide || w.quant != nil || w.bias.Spec.DType == tensor.BFloat16)
	}
	return ids
}

// layerInput is the input of a layer; tokens is how many dimensions share parameters where it is quantized at run time.
func (c *compiler) layerInput(p *plan, w *weights, in *exir.Value, image bool, tokens int32) uint32 {
	if w.quant != nil && !p.quantized {
		return c.get(form{value: w.in.source, image: image, tokens: tokens})
	}
	return c.input(p, in, image)
}

// layerPlan is begin for a layer: it computes in 8 bits only if its filter is quantized in a way that allows it.
func (c *compiler) layerPlan(n *exir.Node, in, filter *exir.Value) plan {
	if q := dequantized(filter); q == nil || q.kind == blob.PerGroup || q.bits4() || c.normalization(n) != nil {
		return c.begin(n) // without inputs: in floats
	}
	return c.begin(n, in)
}

func linear(c *compiler, n *exir.Node) {
	in := n.Args[0].Value
	p := c.layerPlan(n, in, n.Args[1].Value)
	w := c.weightsOf(&p, in, n.Args[1].Value, valueOf(&n.Args[2]), 0)
	c.fullyConnected(&p, &w, in, 0)
}

func addmm(c *compiler, n *exir.Node) {
	c.product(n, n.Args[1].Value, n.Args[2].Value, n.Args[0].Value)
}

func mm(c *compiler, n *exir.Node) { c.product(n, n.Args[0].Value, n.Args[1].Value, nil) }

// product is a product of matrices in floats.
func (c *compiler) product(n *exir.Node, in, filter, bias *exir.Value) {
	p := c.begin(n)
	if !c.steady(filter) {
		c.fullyConnected(&p, &weights{filter: filter, bias: bias}, in, blob.TransposeWeights)
		return
	}
	w := c.weightsOf(&p, in, filter, bias, 1)
	if w.quant != nil {
		w.filter, w.quant = c.floatWeight(w.quant, filter), nil
	}
	w.filter = c.of("aten::permute_copy", w.filter, []int64{1, 0})
	c.fullyConnected(&p, &w, in, 0)
}

func (c *compiler) fullyConnected(p *plan, w *weights, in *exir.Value, flags uint32) {
	ids := append([]uint32{c.layerInput(p, w, in, false, 1)}, c.layer(p, w, w.filter, 0, false)...)
	c.end(p, false, blob.Node{Type: blob.FullyConnected, Flags: flags, Inputs: ids})
}

func bmm(c *compiler, n *exir.Node) {
	p := c.begin(n)
	c.end(&p, false, blob.Node{Type: blob.BatchMatrixMultiply, Inputs: []uint32{c.input(&p, n.Args[0].Value, false), c.input(&p, n.Args[1].Value, false)}})
}

// attributes are a convolution's.
type attributes struct {
	stride, padding, dilation, adjust [2]int64
	transposed                        bool
	groups, groupIn, groupOut         int64
}

// depthwise is how XNNPACK calls convolutions with one input a group.
func (a *attributes) depthwise() bool { return a.groupIn == 1 && !a.transposed }

func attributesOf(n *exir.Node) attributes {
	w := n.Args[1].Value.Spec.Sizes
	a := attributes{transposed: n.Args[6].Int != 0, groups: n.Args[8].Int, stride: pair(&n.Args[3], len(w), 1),
		padding: pair(&n.Args[4], len(w), 0), dilation: pair(&n.Args[5], len(w), 1), adjust: pair(&n.Args[7], len(w), 0)}
	if a.groupIn, a.groupOut = w[1], w[0]/a.groups; a.transposed {
		a.groupIn, a.groupOut = w[0]/a.groups, w[1]
	}
	return a
}

func convolution(c *compiler, n *exir.Node) {
	in, filter := n.Args[0].Value, n.Args[1].Value
	a := attributesOf(n)
	outputs := 0
	if a.transposed {
		outputs = 1
	}
	p := c.layerPlan(n, in, filter)
	w := c.weightsOf(&p, in, filter, valueOf(&n.Args[2]), outputs)
	x := c.layerInput(&p, &w, in, true, 3)
	kernel := c.padKernel(w.filter)
	t, place := blob.Conv2d, 0
	if a.depthwise() {
		t, place = blob.DepthwiseConv2d, 3
	} else if a.transposed {
		t = blob.ConvTranspose2d
	}
	list := []int64{a.padding[0], a.padding[1], a.padding[0], a.padding[1], kernel.Spec.Sizes[2], kernel.Spec.Sizes[3],
		a.stride[0], a.stride[1], a.dilation[0], a.dilation[1], a.groupIn, a.groupOut, a.groups, a.adjust[0], a.adjust[1]}
	ids := c.layer(&p, &w, c.arrange(kernel, &a), place, w.quant == nil)
	c.end(&p, true, blob.Node{Type: t, Params: params(list), Inputs: append([]uint32{x}, ids...)})
}

// padKernel is the kernel of a line as that of an image.
func (c *compiler) padKernel(k *exir.Value) *exir.Value {
	s := k.Spec.Sizes
	if len(s) == 4 {
		return k
	}
	return c.of("aten::view_copy", k, []int64{s[0], s[1], 1, s[2]})
}

// arrange puts a kernel in XNNPACK's order: outputs, height, width, inputs of a group, but 1, height, width, outputs
// where a group has one input.
func (c *compiler) arrange(k *exir.Value, a *attributes) *exir.Value {
	s := k.Spec.Sizes
	switch {
	case a.depthwise():
		return c.of("aten::permute_copy", k, []int64{1, 2, 3, 0})
	case !a.transposed:
		return c.of("aten::permute_copy", k, []int64{0, 2, 3, 1})
	}
	k = c.of("aten::view_copy", k, []int64{a.groups, a.groupIn, a.groupOut, s[2], s[3]})
	k = c.of("aten::permute_copy", k, []int64{0, 2, 3, 4, 1})
	return c.of("aten::view_copy", k, []int64{a.groups * a.groupOut, s[2], s[3], a.groupIn})
}

func params(list []int64) []uint32 {
	out := make([]uint32, len(list))
	for i, x := range list {
		out[i] = uint32(x)
	}
	return out
}

// window is a pooling's.
type window struct{ kernel, stride, padding, dilation [2]int64 }

func windowOf(n *exir.Node) window {
	w := window{kernel: pair(&n.Args[1], 4, 1), padding: pair(&n.Args[3], 4, 0), dilation: [2]int64{1, 1}}
	if w.stride = w.kernel; len(n.Args[2].List) > 0 {
		w.stride = pair(&n.Args[2], 4, 1)
	}
	if n.Op.Name == "aten::max_pool2d_with_indices" {
		w.dilation = pair(&n.Args[4], 4, 1)
	}
	return w
}

func avgPool(c *compiler, n *exir.Node) {
	w := windowOf(n)
	c.pool(n, blob.AvgPooling2d, &w, [2]int64{})
}

// maxPool adds to the padding after the image what ceil_mode makes the result larger; padding never is the largest.
func maxPool(c *compiler, n *exir.Node) {
	w := windowOf(n)
	var more [2]int64
	if n.Args[5].Int != 0 {
		in, out := n.Args[0].Value.Spec.Sizes, n.Outs[0].Spec.Sizes
		for i := range more {
			reach := (out[2+i]-1)*w.stride[i] + w.dilation[i]*(w.kernel[i]-1) + 1
			more[i] = max(reach-in[2+i]-2*w.padding[i], 0)
		}
	}
	c.pool(n, blob.MaxPooling2d, &w, more)
}

func (c *compiler) pool(n *exir.Node, t blob.NodeType, w *window, more [2]int64) {
	x := n.Args[0].Value
	p := c.begin(n, x)
	list := []int64{w.padding[0], w.padding[1] + more[1], w.padding[0] + more[0], w.padding[1], w.kernel[0], w.kernel[1],
		w.stride[0], w.stride[1], w.dilation[0], w.dilation[1]}
	in := c.input(&p, x, true)
	c.end(&p, true, blob.Node{Type: t, Params: params(list), Inputs: []uint32{in}})
}

func mean(c *compiler, n *exir.Node) {
	p := c.begin(n, n.Args[0].Value)
	in := c.input(&p, n.Args[0].Value, true)
	c.end(&p, true, blob.Node{Type: blob.GlobalAvgPooling2d, Flags: blob.KeepDims, Inputs: []uint32{in}})
}

// maxDim is a pooling whose window is the whole dimension.
func maxDim(c *compiler, n *exir.Node) {
	s := n.Args[0].Value.Spec.Sizes
	w := window{kernel: [2]int64{1, 1}, stride: [2]int64{1, 1}, dilation: [2]int64{1, 1}}
	d := axis(n.Args[1].Int, 4)
	w.kernel[d-2], w.stride[d-2] = s[d], s[d]
	c.pool(n, blob.MaxPooling2d, &w, [2]int64{})
}

func upsample(c *compiler, n *exir.Node) {
	s := n.Outs[0].Spec.Sizes
	p := c.begin(n, n.Args[0].Value)
	flags := uint32(0)
	if n.Args[2].Int != 0 {
		flags = blob.AlignCorners
	}
	in := c.input(&p, n.Args[0].Value, true)
	c.end(&p, true, blob.Node{Type: blob.StaticResizeBilinear2D, Params: params([]int64{s[2], s[3]}), Flags: flags, Inputs: []uint32{in}})
}
