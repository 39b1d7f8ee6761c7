package decomp

import (
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// conv is conv1d, conv2d and conv3d.
func conv(c *call) []*exir.Value {
	n := rank(c.t("weight")) - 2
	return one(c.convolution(c.t("input"), convParams{
		stride: c.spread("stride", n), padding: c.spread("padding", n), dilation: c.spread("dilation", n),
	}))
}

// convParams are the numbers of a convolution, one for each spatial dimension.
type convParams struct {
	stride, padding, dilation, output []int64
	transposed                        bool
}

// convolution calls it, with an input without a batch dimension as a batch of one.
func (c *call) convolution(x *exir.Value, p convParams) *exir.Value {
	w := c.t("weight")
	lone := rank(x) == rank(w)-1
	if lone {
		x = c.unsqueeze(x, 0)
	}
	if p.output == nil {
		p.output = make([]int64, rank(w)-2)
	}
	y := c.op("convolution", x, w, c.t("bias"), p.stride, p.padding, p.dilation, p.transposed, p.output, c.i("groups"))
	if lone {
		y = c.squeeze(y, 0)
	}
	return y
}

func convTransposed(c *call) []*exir.Value {
	n := rank(c.t("weight")) - 2
	return one(c.convolution(c.t("input"), convParams{
		stride: c.spread("stride", n), padding: c.spread("padding", n), dilation: c.spread("dilation", n),
		output: c.spread("output_padding", n), transposed: true,
	}))
}

// convPadded is a convolution with padding "valid" or "same".
func convPadded(c *call) []*exir.Value {
	x, w := c.t("input"), c.t("weight")
	n := rank(w) - 2
	p := convParams{stride: c.spread("stride", n), padding: make([]int64, n), dilation: c.spread("dilation", n)}
	if c.arg("padding").Str != "same" {
		return one(c.convolution(x, p))
	}
	extra := make([]int64, 2*n) // as constant_pad_nd wants it: the last dimension first
	uneven := false
	for i := range n {
		total := p.dilation[i] * (size(w, i+2) - 1)
		p.padding[i] = total / 2
		extra[2*(n-1-i)+1] = total % 2
		uneven = uneven || total%2 != 0
	}
	if uneven {
		x = c.op("constant_pad_nd", x, extra, 0)
	}
	return one(c.convolution(x, p))
}

// batchNorm normalizes by the running statistics or, in training, by those of the batch.
func batchNorm(c *call) []*exir.Value {
	if c.bool("training") {
		return one(c.ops("_native_batch_norm_legit.no_stats", c.t("input"), c.t("weight"), c.t("bias"), true, c.f("momentum"), c.f("eps"))[0])
	}
	return one(c.ops("_native_batch_norm_legit_no_training", c.t("input"), c.t("weight"), c.t("bias"),
		c.t("running_mean"), c.t("running_var"), c.f("momentum"), c.f("eps"))[0])
}

// instanceNorm is group_norm with one channel a group, or batch_norm with given statistics.
func instanceNorm(c *call) []*exir.Value {
	x := c.t("input")
	if !c.bool("use_input_stats") {
		return one(c.ops("_native_batch_norm_legit_no_training", x, c.t("weight"), c.t("bias"),
			c.t("running_mean"), c.t("running_var"), c.f("momentum"), c.f("eps"))[0])
	}
	return one(c.groupNorm(x, size(x, 1)))
}

func (c *call) groupNorm(x *exir.Value, groups int64) *exir.Value {
	rest := c.shapes().Product(sizes(x)[2:])
	return c.ops("native_group_norm", x, c.t("weight"), c.t("bias"), size(x, 0), size(x, 1), rest, groups, c.f("eps"))[0]
}

func groupNorm(c *call) []*exir.Value { return one(c.groupNorm(c.t("input"), c.i("num_groups"))) }

func layerNorm(c *call) []*exir.Value {
	return one(c.ops("native_layer_norm", c.t("input"), c.ints("normalized_shape"), c.t("weight"), c.t("bias"), c.f("eps"))[0])
}

// rmsNorm computes in float32 where the input is narrower.
func rmsNorm(c *call) []*exir.Value {
	x := c.t("input")
	own := x.Spec.DType
	wide := own
	if own != tensor.Double {
		wide = tensor.Float
	}
	eps := c.f("eps")
	if !c.has("eps") {
		eps = epsilon(wide)
	}
	up := c.to(x, wide)
	n := len(c.ints("normalized_shape"))
	dims := make([]int64, n)
	for i := range dims {
		dims[i] = int64(i - n)
	}
	mean := c.op("mean.dim", c.mul(up, up), dims, true)
	rstd := c.op("rsqrt", c.op("add.Scalar", mean, eps))
	y := c.mul(up, rstd)
	if w := c.t("weight"); w != nil {
		y = c.mul(y, c.to(w, wide))
	}
	return []*exir.Value{c.to(y, own), rstd}
}

// planar gives a 1-D pooling input a dimension of size 1 before its last.
func (c *call) planar(x *exir.Value) *exir.Value { return c.unsqueeze(x, -2) }

func prepend(n int64, list []int64) []int64 { return append([]int64{n}, list...) }

// maxPool is max_pool1d, max_pool2d and max_pool3d, with or without indices.
func maxPool(c *call) []*exir.Value {
	x := c.t("self")
	n := int(c.s.Base()[len("max_pool")] - '0')
	kernel, stride := c.spread("kernel_size", n), c.spread("stride", n)
	if len(stride) == 0 {
		stride = kernel
	}
	padding, dilation := c.spread("padding", n), c.spread("dilation", n)
	if n == 1 {
		x = c.planar(x)
		kernel, stride, padding, dilation = prepend(1, kernel), prepend(1, stride), prepend(0, padding), prepend(1, dilation)
	}
	op := "max_pool2d_with_indices"
	if n == 3 {
		op = "max_pool3d_with_indices"
	}
	outs := c.ops(op, x, kernel, stride, padding, dilation, c.bool("ceil_mode"))
	if n == 1 {
		outs = []*exir.Value{c.squeeze(outs[0], -2), c.squeeze(outs[1], -2)}
	}
	return outs[:len(c.s.Returns)]
}

func avgPool1d(c *call) []*exir.Value {
	kernel, stride := c.ints("kernel_size"), c.ints("stride")
	if len(stride) == 0 {
		stride = kernel
	}
	y := c.op("avg_pool2d", c.planar(c.t("self")), prepend(1, kernel), prepend(1, stride), prepend(0, c.ints("padding")),
		c.bool("ceil_mode"), c.bool("count_include_pad"))
	return one(c.squeeze(y, -2))
}

// adaptiveAvgPool is a mean for outputs of size 1, else the kernel.
func adaptiveAvgPool(c *call) []*exir.Value {
	x, out := c.t("self"), c.ints("output_size")
	n := len(out)
	all := true
	for i, o := range out {
		all = all && (o == 1 || c.shapes().Equal(size(x, i-n), 1) == tensor.Yes && o == 1)
	}
	switch {
	case all:
		dims := make([]int64, n)
		for i := range dims {
			dims[i] = int64(i - n)
		}
		return one(c.op("mean.dim", x, dims, true))
	case n == 1:
		y := c.op("adaptive_avg_pool2d", c.planar(x), prepend(1, out))
		return one(c.squeeze(y, -2))
	case n == 2:
		return one(c.op("_adaptive_avg_pool2d", x, out))
	}
	return one(c.op("_adaptive_avg_pool3d", x, out))
}

// equalWindows are the sizes of windows that divide x's last dimensions into out parts, or nil.
func (c *call) equalWindows(x *exir.Value, out []int64) []int64 {
	kernel := make([]int64, len(out))
	for i, o := range out {
		n := size(x, i-len(out))
		if tensor.IsSymbol(n) || o <= 0 || n%o != 0 {
			return nil
		}
		kernel[i] = n / o
	}
	return kernel
}

// refineAdaptiveMaxPool is max_pool2d_with_indices where the windows are equal.
func refineAdaptiveMaxPool(c *call) []*exir.Value {
	x, out := c.t("self"), c.spread("output_size", 2)
	kernel := c.equalWindows(x, out)
	if kernel == nil {
		return nil
	}
	return c.ops("max_pool2d_with_indices", x, kernel, kernel)
}

func adaptiveMaxPool1d(c *call) []*exir.Value {
	outs := c.ops("adaptive_max_pool2d", c.planar(c.t("self")), prepend(1, c.ints("output_size")))
	return []*exir.Value{c.squeeze(outs[0], -2), c.squeeze(outs[1], -2)}
}

// alphaDropped is x, and -alpha' where one of every so many numbers of these sizes is below p; a factor and an offset keep
// mean 0 and variance 1 (ATen/native/Dropout.cpp).
func (c *call) alphaDropped(x *exir.Value, p float64, sizes []int64) *exir.Value {
	const alpha = 1.7580993408473766
	t := x.Spec.DType
	if p == 1 {
		return c.op("mul.Scalar", x, 0)
	}
	a := 1 / math.Sqrt((float64(alpha*alpha*p)+1)*(1-p))
	draw := c.op("rand", sizes, exir.KW{Name: "dtype", Arg: tensor.Float})
	keep := c.to(c.op("ge.Scalar", draw, p), t)
	offset := c.op("add.Scalar", c.op("mul.Scalar", c.op("sub.Scalar", keep, 1), alpha*a), alpha*a*p)
	return c.add(c.mul(x, c.op("mul.Scalar", keep, a)), offset)
}

// epsilon is the step of a floating-point type at 1.
func epsilon(t tensor.ScalarType) float64 {
	switch t {
	case tensor.Double:
		return 0x1p-52
	case tensor.Half:
		return 0x1p-10
	case tensor.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}
