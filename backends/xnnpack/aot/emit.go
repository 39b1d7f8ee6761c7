package aot

import (
	"math"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// unary computes every element by itself.
func unary(t blob.NodeType) func(c *compiler, n *exir.Node) {
	return func(c *compiler, n *exir.Node) { c.elementwise(n, blob.Node{Type: t}) }
}

// scaled is unary with the number that follows the input.
func scaled(t blob.NodeType) func(c *compiler, n *exir.Node) {
	return func(c *compiler, n *exir.Node) {
		c.elementwise(n, blob.Node{Type: t, Factor: float32(numberOf(&n.Args[1]))})
	}
}

// elementwise is a node of n's first argument, in whatever form that is.
func (c *compiler) elementwise(n *exir.Node, node blob.Node) {
	x := n.Args[0].Value
	p := c.begin(n, x)
	image := c.hasOnlyImage(x)
	node.Inputs = []uint32{c.input(&p, x, image)}
	c.end(&p, image, node)
}

func clamp(c *compiler, n *exir.Node) {
	low, high := bounds(n)
	c.elementwise(n, blob.Node{Type: blob.Clamp, Bounded: true, Min: float32(low), Max: float32(high)})
}

// binary computes with two tensors, which are broadcast, or with a tensor and a number.
func binary(t blob.NodeType) func(c *compiler, n *exir.Node) {
	return func(c *compiler, n *exir.Node) { c.binary(n, t, 0, 1) }
}

// reversed is binary with the second operand first.
func reversed(t blob.NodeType) func(c *compiler, n *exir.Node) {
	return func(c *compiler, n *exir.Node) { c.binary(n, t, 1, 0) }
}

func (c *compiler) binary(n *exir.Node, t blob.NodeType, first, second int) {
	in := []*exir.Value{c.operand(n, first), c.operand(n, second)}
	p := c.begin(n, in...)
	image := c.imageFits(n.Outs[0].Spec.Rank(), in)
	node := blob.Node{Type: t}
	for _, v := range in {
		node.Inputs = append(node.Inputs, c.operandID(&p, v, n.Outs[0].Spec.Rank(), image))
	}
	c.end(&p, image, node)
}

// operand is argument at as a tensor: a number is a constant.
func (c *compiler) operand(n *exir.Node, at int) *exir.Value {
	if v := valueOf(&n.Args[at]); v != nil {
		return v
	}
	return c.number(n.Outs[0].Spec.DType, numberOf(&n.Args[at]))
}

// imageFits reports operands that are best computed as images: one is only that, and the others can be.
func (c *compiler) imageFits(rank int, in []*exir.Value) bool {
	only := false
	for _, v := range in {
		if v.Spec.Rank() != rank && !c.isConstant(v) {
			return false
		}
		only = only || c.hasOnlyImage(v)
	}
	return only
}

func (c *compiler) operandID(p *plan, v *exir.Value, rank int, image bool) uint32 {
	if image && c.isConstant(v) && v.Spec.Rank() > 0 {
		v = c.padded(v, rank)
	} else if c.isConstant(v) && v.Spec.Rank() == 0 {
		image = false
	}
	return c.input(p, v, image)
}

// prelu multiplies negative elements by the weight of their channel.
func prelu(c *compiler, n *exir.Node) {
	x, w := n.Args[0].Value, n.Args[1].Value
	rank := x.Spec.Rank()
	p := c.begin(n, x)
	image := rank == 3 || rank == 4
	sizes := make([]int64, rank)
	for i := range sizes {
		sizes[i] = 1
	}
	if image {
		sizes = sizes[:1]
	} else {
		sizes = sizes[1:]
	}
	sizes[len(sizes)-1] = int64(w.Spec.Numel())
	slope := c.constant(c.of("aten::view_copy", w, sizes), false)
	c.end(&p, image, blob.Node{Type: blob.PReLU, Inputs: []uint32{c.input(&p, x, image), slope}})
}

// gelu is XNNPACK's, or, with approximate "tanh", x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2 in single steps.
func gelu(c *compiler, n *exir.Node) {
	if n.Args[1].Str != "tanh" {
		c.elementwise(n, blob.Node{Type: blob.Gelu})
		return
	}
	x := n.Args[0].Value
	p := c.begin(n, x)
	image := c.hasOnlyImage(x)
	in := c.input(&p, x, image)
	step := func(t blob.NodeType, ids ...uint32) uint32 {
		out := c.define(form{value: p.out, image: image}, blob.Quant{}, 0)
		c.emit(blob.Node{Type: t, Inputs: ids, Outputs: []uint32{out}})
		return out
	}
	number := func(f float64) uint32 { return c.constant(c.number(x.Spec.DType, f), false) }
	inner := step(blob.Multiply, step(blob.Square, in), number(math.Sqrt(2/math.Pi)*0.044715))
	inner = step(blob.Multiply, step(blob.Add, inner, number(math.Sqrt(2/math.Pi))), in)
	inner = step(blob.Add, step(blob.Tanh, inner), number(1))
	c.end(&p, image, blob.Node{Type: blob.Multiply, Inputs: []uint32{step(blob.Multiply, in, number(0.5)), inner}})
}

func softmax(c *compiler, n *exir.Node) {
	p := c.begin(n, n.Args[0].Value)
	c.end(&p, false, blob.Node{Type: blob.Softmax, Inputs: []uint32{c.input(&p, n.Args[0].Value, false)}})
}

// norm is a batch norm that no layer before it took: of images a depthwise convolution, else a multiplication and an
// addition.
func norm(c *compiler, n *exir.Node) {
	x := n.Args[0].Value
	p := c.begin(n, x)
	scale, shift := c.normOf(n)
	channels := x.Spec.Sizes[1]
	if x.Spec.Rank() > 2 {
		list := []int64{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, channels, 0, 0}
		filter := c.static(c.cast(c.of("aten::view_copy", scale, []int64{1, 1, 1, channels}), tensor.Float), blob.FP32, blob.Quant{})
		bias := c.static(c.cast(shift, tensor.Float), blob.FP32, blob.Quant{})
		c.end(&p, true, blob.Node{Type: blob.DepthwiseConv2d, Params: params(list), Inputs: []uint32{c.input(&p, x, true), filter, bias}})
		return
	}
	scaled := c.define(form{value: p.out}, blob.Quant{}, 0)
	c.emit(blob.Node{Type: blob.Multiply, Inputs: []uint32{c.input(&p, x, false), c.constant(scale, false)}, Outputs: []uint32{scaled}})
	c.end(&p, false, blob.Node{Type: blob.Add, Inputs: []uint32{scaled, c.constant(shift, false)}})
}

// normOf are what a batch norm multiplies channels with, and what it adds then.
func (c *compiler) normOf(n *exir.Node) (scale, shift *exir.Value) {
	mean, variance := n.Args[3].Value, n.Args[4].Value
	scale = c.of("aten::rsqrt", c.of("aten::add.Tensor", variance, c.number(variance.Spec.DType, numberOf(&n.Args[6]))))
	if w := valueOf(&n.Args[1]); w != nil {
		scale = c.of("aten::mul.Tensor", scale, w)
	}
	shift = c.of("aten::neg", c.of("aten::mul.Tensor", mean, scale))
	if b := valueOf(&n.Args[2]); b != nil {
		shift = c.of("aten::add.Tensor", shift, b)
	}
	return scale, shift
}

// same gives its input another name.
func same(c *compiler, n *exir.Node) { c.alias[n.Outs[0]] = n.Args[0].Value }

// view gives the elements other sizes.
func view(c *compiler, n *exir.Node) {
	x := n.Args[0].Value
	p := c.begin(n, x)
	in := c.input(&p, x, false)
	c.reshape(in, c.result(form{value: p.out}), p.out.Spec.Sizes)
}

// permute is permute, transpose or t.
func permute(c *compiler, n *exir.Node) {
	x := n.Args[0].Value
	rank := x.Spec.Rank()
	p := c.begin(n, x)
	image := rank == 4 && c.hasOnlyImage(x)
	perm := make([]uint32, rank)
	for i, d := range permutation(n, rank) {
		perm[i] = uint32(c.place(d, rank, image))
	}
	in := c.input(&p, x, image)
	c.transpose(in, c.result(form{value: p.out}), perm...)
}

func permutation(n *exir.Node, rank int) []int {
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	swap := func(a, b int) { perm[a], perm[b] = perm[b], perm[a] }
	switch n.Op.Name {
	case "aten::permute_copy":
		for i := range perm {
			perm[i] = axis(n.Args[1].List[i].Int, rank)
		}
	case "aten::transpose_copy.int":
		swap(axis(n.Args[1].Int, rank), axis(n.Args[2].Int, rank))
	default:
		if rank == 2 {
			swap(0, 1)
		}
	}
	return perm
}

func slice(c *compiler, n *exir.Node) {
	x := n.Args[0].Value
	rank := x.Spec.Rank()
	p := c.begin(n, x)
	image := rank == 4 && c.hasOnlyImage(x)
	d := axis(n.Args[1].Int, rank)
	start := int64(0)
	if n.Args[2].Kind != exir.ArgNone {
		start = n.Args[2].Int
	}
	if size := x.Spec.Sizes[d]; start < 0 {
		start = max(start+size, 0)
	}
	offsets := make([]uint32, rank)
	offsets[c.place(d, rank, image)] = uint32(start)
	sizes := c.dims(form{value: p.out, image: image})
	in := c.input(&p, x, image)
	c.end(&p, image, blob.Node{Type: blob.StaticSlice, Params: []uint32{uint32(rank)}, Lists: [][]uint32{offsets, sizes}, Inputs: []uint32{in}})
}

func pad(c *compiler, n *exir.Node) {
	x := n.Args[0].Value
	rank := x.Spec.Rank()
	p := c.begin(n, x)
	image := rank == 4 && c.hasOnlyImage(x)
	before, after := make([]uint32, rank), make([]uint32, rank)
	list := n.Args[1].List
	for i := 0; i+1 < len(list); i += 2 {
		d := c.place(rank-1-i/2, rank, image)
		before[d], after[d] = uint32(list[i].Int), uint32(list[i+1].Int)
	}
	in := c.input(&p, x, image)
	c.end(&p, image, blob.Node{Type: blob.StaticConstantPad, Lists: [][]uint32{before, after}, Factor: float32(numberOf(&n.Args[2])), Inputs: []uint32{in}})
}

// maxJoined is the most tensors that a node of XNNPACK joins.
const maxJoined = 5

func cat(c *compiler, n *exir.Node) {
	var in []*exir.Value
	for i := range n.Args[0].List {
		in = append(in, n.Args[0].List[i].Value)
	}
	p := c.begin(n, in...)
	rank := n.Outs[0].Spec.Rank()
	image := rank == 4 && c.imageFits(rank, in)
	d := axis(n.Args[1].Int, rank)
	at := uint32(c.place(d, rank, image))
	ids, sizes := make([]uint32, len(in)), make([]tensor.Dim, len(in))
	for i, v := range in {
		ids[i], sizes[i] = c.input(&p, v, image), tensor.Dim(c.largest(v.Spec.Sizes[d]))
	}
	for len(ids) > maxJoined {
		part := *p.out
		part.Spec = part.Spec.Clone()
		part.Spec.Sizes[d] = 0
		for _, s := range sizes[:maxJoined] {
			part.Spec.Sizes[d] += s
		}
		joined := c.define(form{value: &part, image: image}, c.quantOf(p.out), 0)
		c.emit(blob.Node{Type: blob.Concatenate5, Params: []uint32{at}, Inputs: ids[:maxJoined], Outputs: []uint32{joined}})
		ids = append([]uint32{joined}, ids[maxJoined:]...)
		sizes = append([]tensor.Dim{part.Spec.Sizes[d]}, sizes[maxJoined:]...)
	}
	t := [...]blob.NodeType{blob.Copy, blob.Copy, blob.Concatenate2, blob.Concatenate3, blob.Concatenate4, blob.Concatenate5}[len(ids)]
	c.end(&p, image, blob.Node{Type: t, Params: []uint32{at}, Inputs: ids})
}
