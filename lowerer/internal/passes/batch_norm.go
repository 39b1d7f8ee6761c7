package passes

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The arguments of the operators that fuseBatchNorm reads.
const (
	convWeight, convBias, convTransposed, convGroups = 1, 2, 6, 8

	normInput, normWeight, normBias, normMean, normVar, normEps = 0, 1, 2, 3, 4, 6
)

// fuseBatchNorm gives a convolution the batch norm that alone reads it:
//
//	scale = weight / √(var + eps)
//	norm(conv(x, w, b)) = conv(x, w·scale, (b - mean)·scale + bias)
//
// The new weight and bias are nodes over constants, which fold-constants evaluates.
func fuseBatchNorm(c *Context, m *exir.Method) error {
	f := &normFuser{program: c.Program, state: stateOf(c.Program, m), users: map[*exir.Value]int{}}
	if err := m.Graph.Walk(func(g *exir.Graph) error { f.count(g); return nil }); err != nil {
		return err
	}
	return m.Graph.Walk(f.fuse)
}

type normFuser struct {
	program *exir.Program
	state   map[*exir.Value]bool
	users   map[*exir.Value]int
}

// count adds g's uses of values, its outputs included.
func (f *normFuser) count(g *exir.Graph) {
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
		if conv := f.match(n); conv != nil {
			norms[conv] = n
		}
	}
	if len(norms) == 0 {
		return nil
	}
	b := exir.NewBuilder(f.program, g)
	b.Reserve(g)
	same := replacements{}
	for _, n := range g.Nodes {
		same.in(n.Args)
		if norm := norms[n]; norm != nil {
			b.Origin = norm.Origin
			n.Args[convWeight], n.Args[convBias] = fusedArgs(b, n, norm)
			same[norm.Outs[0]] = n.Outs[0]
		}
		if n.Op.Name != batchNorm || same[n.Outs[0]] == nil {
			b.Append(n)
		}
	}
	same.in(g.Outputs)
	g.Nodes = b.Graph.Nodes
	return b.Err
}

const batchNorm = "aten::_native_batch_norm_legit_no_training"

// match is the convolution that takes over batch norm n, or nil.
func (f *normFuser) match(n *exir.Node) *exir.Node {
	if n.Op.Name != batchNorm || f.users[n.Outs[1]]+f.users[n.Outs[2]] > 0 {
		return nil
	}
	conv := n.Args[normInput].Value.Node
	if conv == nil || conv.Op.Name != "aten::convolution" || f.users[conv.Outs[0]] != 1 {
		return nil
	}
	if conv.Args[convTransposed].Int != 0 && conv.Args[convGroups].Int != 1 {
		return nil
	}
	dtype := conv.Outs[0].Spec.DType
	if dtype != tensor.Float && dtype != tensor.Double || f.users[conv.Args[convWeight].Value] != 1 {
		return nil
	}
	args := append([]exir.Arg{conv.Args[convWeight], conv.Args[convBias]}, n.Args[normWeight:normVar+1]...)
	for _, a := range args {
		if a.Kind == exir.ArgValue && (a.Value.Const == nil || f.state[a.Value] || a.Value.Spec.DType != dtype) {
			return nil
		}
	}
	return conv
}

// fusedArgs builds the weight and the bias of conv with norm.
func fusedArgs(b *exir.Builder, conv, norm *exir.Node) (weight, bias exir.Arg) {
	scale := b.Op("aten::rsqrt", b.Op("aten::add.Tensor", norm.Args[normVar].Value, norm.Args[normEps].Float))
	if norm.Args[normWeight].Kind == exir.ArgValue {
		scale = b.Op("aten::mul.Tensor", scale, norm.Args[normWeight].Value)
	}
	w := conv.Args[convWeight].Value
	shape := make([]int64, w.Spec.Rank())
	for i := range shape {
		shape[i] = 1
	}
	channel := 0
	if conv.Args[convTransposed].Int != 0 {
		channel = 1
	}
	shape[channel] = scale.Spec.Sizes[0]
	weight = exir.ToArg(b.Op("aten::mul.Tensor", w, b.Op("aten::view_copy", scale, shape)))
	var shift *exir.Value
	if mean := norm.Args[normMean].Value; conv.Args[convBias].Kind == exir.ArgValue {
		shift = b.Op("aten::sub.Tensor", conv.Args[convBias].Value, mean)
	} else {
		shift = b.Op("aten::neg", mean)
	}
	shift = b.Op("aten::mul.Tensor", shift, scale)
	if norm.Args[normBias].Kind == exir.ArgValue {
		shift = b.Op("aten::add.Tensor", shift, norm.Args[normBias].Value)
	}
	return weight, exir.ToArg(shift)
}
