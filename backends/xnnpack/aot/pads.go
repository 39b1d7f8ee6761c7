package aot

import (
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// quantizePads lets pads with 0 stay in 8 bits: after one whose input is dequantized and whose result is not quantized it
// puts nodes that quantize with the same parameters, for which 0 is exact, and dequantize again.
func quantizePads(g *graph) {
	with := map[*exir.Value]*exir.Value{}
	var nodes []*exir.Node
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].EachValue(func(v **exir.Value) { replace(v, with) })
		}
		if nodes = append(nodes, n); !g.padsQuantized(n) {
			continue
		}
		out, from := n.Outs[0], n.Args[0].Value.Node
		q := between(n, "quantized_decomposed::quantize_per_tensor", "_quantized", out, from.Args[1:6], tensor.Char)
		d := between(n, from.Op.Name, "_dequantized", q.Outs[0], from.Args[1:], out.Spec.DType)
		nodes, with[out] = append(nodes, q, d), d.Outs[0]
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(func(v **exir.Value) { replace(v, with) })
	}
	g.Nodes = nodes
}

func replace(v **exir.Value, with map[*exir.Value]*exir.Value) {
	if w := with[*v]; w != nil {
		*v = w
	}
}

// padsQuantized reports a pad to put such nodes after.
func (g *graph) padsQuantized(n *exir.Node) bool {
	if n.Op.Name != "aten::constant_pad_nd" || numberOf(&n.Args[2]) != 0 {
		return false
	}
	q := dequantized(n.Args[0].Value)
	return q != nil && q.kind == blob.PerTensor && !g.isConstant(q.source) && q.low <= q.zero && q.zero <= q.high &&
		!slices.ContainsFunc(g.users[n.Outs[0]], func(u *exir.Node) bool { return quantizes(u) != nil })
}

// between is a node after n of an operator of quantization: its input is in, its result has the type t and in's sizes.
func between(n *exir.Node, name, suffix string, in *exir.Value, params []exir.Arg, t tensor.ScalarType) *exir.Node {
	x := &exir.Node{Name: n.Name + suffix, Op: exir.LookupSchema(name), Origin: n.Origin,
		Args: append([]exir.Arg{{Kind: exir.ArgValue, Value: in}}, exir.CloneArgs(params)...)}
	v := &exir.Value{Name: x.Name, Spec: in.Spec.Clone(), Node: x}
	v.Spec.DType = t
	x.Outs = []*exir.Value{v}
	return x
}
