package passes

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The operators that passes read, and their arguments; a linear has its weight and bias where a convolution has them.
const (
	convolution = "aten::convolution"
	linearName  = "aten::linear"
	batchNorm   = "aten::_native_batch_norm_legit_no_training"

	convWeight, convBias, convStride, convPad, convDilation, convTransposed, convGroups = 1, 2, 3, 4, 5, 6, 8

	normInput, normWeight, normBias, normMean, normVar, normEps = 0, 1, 2, 3, 4, 6
)

// fuseBatchNorm gives a convolution, or a linear whose results are rows of channels, the batch norm that alone reads it:
//
//	scale = weight / √(var + eps)
//	norm(conv(x, w, b)) = conv(x, w·scale, (b - mean)·scale + bias)
//
// The new weight and bias are nodes over constants, which fold-constants evaluates. Those of half types are computed in float32 and
// rounded once; they are constants at once, since fold-constants leaves alone what is large and larger than it was, as numbers in float32 are.
func fuseBatchNorm(c *Context, m *exir.Method) error {
	f := normFuser{usageOf(c.Program, m)}
	return m.Graph.Walk(f.fuse)
}

// usage says which values of a method are constants, and how many read each.
type usage struct {
	program *exir.Program
	state   map[*exir.Value]bool
	users   map[*exir.Value]int
}

func usageOf(p *exir.Program, m *exir.Method) usage {
	f := usage{program: p, state: stateOf(p, m), users: map[*exir.Value]int{}}
	_ = m.Graph.Walk(func(g *exir.Graph) error { f.count(g); return nil })
	return f
}

type normFuser struct{ usage }

// count adds g's uses of values, its outputs included.
func (f *usage) count(g *exir.Graph) {
	use := func(v **exir.Value) { f.users[*v]++ }
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].EachValue(use)
		}
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(use)
	}
}

// fuse rebuilds g where there is something to fuse.
func (f *normFuser) fuse(g *exir.Graph) error {
	norms := map[*exir.Node]*exir.Node{}
	for _, n := range g.Nodes {
		if product := f.match(n); product != nil {
			norms[product] = n
		}
	}
	if len(norms) == 0 {
		return nil
	}
	return f.rebuild(g, func(b *exir.Builder, n *exir.Node, same replacements) {
		if norm := norms[n]; norm != nil {
			b.Origin = norm.Origin
			at := len(b.Graph.Nodes)
			n.Args[convWeight], n.Args[convBias] = fusedArgs(b, n, norm)
			if half(n.Outs[0].Spec.DType) {
				toExpressions(b, at)
			}
			same[norm.Outs[0]] = n.Outs[0]
		}
		if n.Op.Name != batchNorm || same[n.Outs[0]] == nil {
			b.Append(n)
		}
	})
}

// match is the convolution or the linear that takes over batch norm n, or nil.
func (f *normFuser) match(n *exir.Node) *exir.Node {
	if n.Op.Name != batchNorm || f.users[n.Outs[1]]+f.users[n.Outs[2]] > 0 {
		return nil
	}
	product := n.Args[normInput].Value.Node
	if product == nil || product.Op.Name != convolution && product.Op.Name != linearName || f.users[product.Outs[0]] != 1 {
		return nil
	}
	weight := product.Args[convWeight].Value
	if transposed(product) && product.Args[convGroups].Int != 1 || product.Outs[0].Spec.Rank() != weight.Spec.Rank() {
		return nil
	}
	dtype := product.Outs[0].Spec.DType
	if !floating(dtype) && !half(dtype) || f.users[weight] != 1 ||
		!f.constants(dtype, product.Args[convWeight:convBias+1]) || !f.constants(dtype, n.Args[normWeight:normVar+1]) {
		return nil
	}
	return product
}

// transposed reports whether the product is a transposed convolution.
func transposed(product *exir.Node) bool {
	return product.Op.Name == convolution && product.Args[convTransposed].Int != 0
}

func floating(t tensor.ScalarType) bool { return t == tensor.Float || t == tensor.Double }

func half(t tensor.ScalarType) bool { return t == tensor.Half || t == tensor.BFloat16 }

// cast is v in another type.
func cast(b *exir.Builder, v *exir.Value, t tensor.ScalarType) *exir.Value {
	if v.Spec.DType == t {
		return v
	}
	return b.Op(copyName, v, exir.KW{Name: "dtype", Arg: t})
}

// wide is v in float32 if it is of a half type.
func wide(b *exir.Builder, v *exir.Value) *exir.Value {
	if half(v.Spec.DType) {
		return cast(b, v, tensor.Float)
	}
	return v
}

// constant reports whether v is a constant that no method writes.
func (f *usage) constant(v *exir.Value) bool { return v.Const != nil && !f.state[v] }

// constants reports whether the tensors of args are constants of this type.
func (f *usage) constants(dtype tensor.ScalarType, args []exir.Arg) bool {
	return !slices.ContainsFunc(args, func(a exir.Arg) bool {
		return a.Kind == exir.ArgValue && (!f.constant(a.Value) || a.Value.Spec.DType != dtype)
	})
}

// fusedArgs builds the weight and the bias of the product with norm.
func fusedArgs(b *exir.Builder, product, norm *exir.Node) (weight, bias exir.Arg) {
	scale := normScale(b, norm)
	w := product.Args[convWeight].Value
	dim := 0
	if transposed(product) {
		dim = 1
	}
	scaled := b.Op("aten::mul.Tensor", w, alongChannels(b, scale, w.Spec.Rank(), dim))
	shift := normShift(b, norm, scale, product.Args[convBias].Value)
	return exir.ToArg(cast(b, scaled, w.Spec.DType)), exir.ToArg(cast(b, shift, w.Spec.DType))
}

// alongChannels is a vector with so many dimensions, of which this one is not 1.
func alongChannels(b *exir.Builder, v *exir.Value, rank, dim int) *exir.Value {
	shape := ones(rank)
	shape[dim] = v.Spec.Sizes[0]
	return b.Op("aten::view_copy", v, shape)
}

// normScale is by what norm multiplies each channel.
func normScale(b *exir.Builder, norm *exir.Node) *exir.Value {
	scale := b.Op("aten::rsqrt", b.Op("aten::add.Tensor", wide(b, norm.Args[normVar].Value), norm.Args[normEps].Float))
	if norm.Args[normWeight].Kind == exir.ArgValue {
		scale = b.Op("aten::mul.Tensor", scale, norm.Args[normWeight].Value)
	}
	return scale
}

// normShift is what norm makes of shift, nil for 0, which is added to each channel before.
func normShift(b *exir.Builder, norm *exir.Node, scale, shift *exir.Value) *exir.Value {
	if mean := norm.Args[normMean].Value; shift != nil {
		shift = b.Op("aten::sub.Tensor", wide(b, shift), mean)
	} else {
		shift = b.Op("aten::neg", mean)
	}
	shift = b.Op("aten::mul.Tensor", shift, scale)
	if norm.Args[normBias].Kind == exir.ArgValue {
		shift = b.Op("aten::add.Tensor", shift, norm.Args[normBias].Value)
	}
	return shift
}
