package aot

import (
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// partitioner takes what rules has.
type partitioner struct {
	options
	spec   backend.DelegationSpec
	bounds func(d tensor.Dim) (low, high int64)
}

// Spec has the program's compile specs.
func (p *partitioner) Spec() backend.DelegationSpec { return p.spec }

// Tolerance is the distance of float16 values of 1 and above where float32 values are computed in it.
func (p *partitioner) Tolerance() float64 {
	if p.Half {
		return 0x1p-10
	}
	return 0
}

// OpsToNotDecompose are operators that XNNPACK has and programs do not.
func (p *partitioner) OpsToNotDecompose() ([]string, func(n *exir.Node) bool) {
	return []string{"aten::prelu", "aten::hardswish"}, func(n *exir.Node) bool {
		r, x := rules[n.Op.Name], &graph{isConstant: func(v *exir.Value) bool { return v.Const != nil }}
		return p.enabled(float) && p.checkCommon(n, r) == "" && (r.check == nil || r.check(x, n) == "")
	}
}

// Preserve keeps the quantization of linear layers that are taken, where programs have it decomposed.
func (p *partitioner) Preserve(g *exir.Graph, offered func(n *exir.Node) bool) (kept []*exir.Node) {
	x := newGraph(g, func(v *exir.Value) bool { return v.Const != nil })
	for _, n := range g.Nodes {
		if r := x.rules[n.Op.Name]; r == nil || !r.weighted || !offered(n) || p.takes(x, n) != "" {
			continue
		}
		for _, m := range x.around(n) {
			if exir.LookupRow(m.Op.Name) == nil {
				kept = append(kept, m)
			}
		}
	}
	return kept
}

// Partition tags the nodes of every rule that holds, with the quantization that is computed with them.
func (p *partitioner) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	partition := backend.PartitionByGroups
	if p.PerOp {
		partition = backend.PartitionEachGroup
	}
	return partition(t, p.spec, func(g *exir.Graph) [][]*exir.Node { return p.groups(t, g) }), nil
}

// groups are the nodes of g that are taken, each with the quantize and dequantize nodes that belong to it.
func (p *partitioner) groups(t *backend.TaggedProgram, g *exir.Graph) (groups [][]*exir.Node) {
	x := newGraph(g, t.IsConstant)
	grouped := map[*exir.Node]bool{}
	reasons := map[*exir.Node]string{}
	for _, n := range g.Nodes {
		if !t.Offered(n) {
			continue
		}
		if reasons[n] = p.takes(x, n); reasons[n] != "" {
			continue
		}
		group := append([]*exir.Node{n}, x.around(n)...)
		if p.PerOp {
			group = append(group, x.pattern(n)...)
		}
		if p.DynamicWeights {
			x.leaveWeights(t, n)
		}
		groups = append(groups, group)
		for _, m := range group {
			grouped[m] = true
		}
	}
	for _, n := range g.Nodes {
		if reasons[n] != "" && !grouped[n] {
			t.Refuse(n, "%s", reasons[n])
		}
	}
	return groups
}

// takes says why n is not taken by itself, or "".
func (p *partitioner) takes(x *graph, n *exir.Node) string {
	if q := quantizes(n); q != nil {
		return p.takesBorder(x, q, n)
	}
	if dequantizers[n.Op.Name] != nil {
		if q := dequantized(n.Outs[0]); q != nil && q.kind == blob.PerTensor {
			return p.takesBorder(x, q, n)
		}
	}
	r := x.rules[n.Op.Name]
	if r == nil {
		if quantizing[n.Op.Name] {
			return "no linear layer or convolution that XNNPACK takes needs it"
		}
		return "XNNPACK has no such operator"
	}
	if reason := p.checkCommon(n, r); reason != "" {
		return reason
	}
	if r.check != nil {
		if reason := r.check(x, n); reason != "" {
			return reason
		}
	}
	return p.checkPrecision(x, n, r)
}

// quantizing are operators that are taken with others only.
var quantizing = map[string]bool{
	"quantized_decomposed::choose_qparams.tensor": true, "quantized_decomposed::quantize_per_tensor.tensor": true,
	"quantized_decomposed::dequantize_per_tensor.tensor": true, "quantized_decomposed::dequantize_per_channel": true,
	"quantized_decomposed::choose_qparams_per_token_asymmetric": true, "quantized_decomposed::quantize_per_token": true,
	"quantized_decomposed::dequantize_per_token": true, "quantized_decomposed::dequantize_per_channel_group": true,
	"torchao::choose_qparams_affine": true, "torchao::quantize_affine": true, "torchao::dequantize_affine": true,
}

// takesBorder says why a node that quantizes or dequantizes a whole tensor is no conversion, or "".
func (p *partitioner) takesBorder(x *graph, q *quantized, n *exir.Node) string {
	switch {
	case !p.enabled(staticQuant):
		return "config_precisions leaves out static_quant"
	case x.isConstant(q.source):
		return "no linear layer or convolution that XNNPACK takes needs it"
	}
	for _, v := range []*exir.Value{q.source, n.Outs[0]} {
		if types[v.Spec.DType] == blob.InvalidType || v.Spec.Rank() > blob.MaxRank || slices.Contains(v.Spec.Sizes, 0) {
			return "XNNPACK has no such conversion"
		}
		if p.unbounded(v) {
			return noBound
		}
	}
	return ""
}

func (p *partitioner) enabled(want precision) bool {
	return len(p.Precisions) == 0 || slices.Contains(p.Precisions, want)
}

// checkPrecision says why the options leave n out, or "".
func (p *partitioner) checkPrecision(x *graph, n *exir.Node, r *rule) string {
	is := float
	for _, v := range tensorsOf(n) {
		q := dequantized(v)
		switch {
		case q == nil:
		case q.kind == blob.PerToken:
			is = dynamicQuant
		case is == float && (r.weighted || r.quantized != nil && x.static(tensorsOf(n)) != nil):
			is = staticQuant
		}
	}
	if !p.enabled(is) && (r.weighted || !p.enabled(float)) {
		return "config_precisions leaves out " + string(is)
	}
	return ""
}

// around are the nodes that dequantize n's weights, and those that quantize its input at run time.
func (g *graph) around(n *exir.Node) (nodes []*exir.Node) {
	for _, v := range tensorsOf(n) {
		if q := dequantized(v); q != nil && (q.kind != blob.PerTensor || g.isConstant(q.source)) {
			nodes = append(nodes, q.nodes...)
		}
	}
	return nodes
}

// pattern are the nodes that quantize n's inputs and result, and those that n computes, too.
func (g *graph) pattern(n *exir.Node) (nodes []*exir.Node) {
	r := g.rules[n.Op.Name]
	if r == nil {
		return nil
	}
	var in []*exir.Value
	for _, v := range tensorsOf(n) {
		if q := dequantized(v); q != nil && !g.isConstant(q.source) {
			nodes, in = append(nodes, q.nodes...), append(in, v)
		}
	}
	return append(nodes, g.planOf(n, r, in...).fused...)
}

// leaveWeights makes the weights and the bias of a float32 linear layer inputs of the delegate.
func (g *graph) leaveWeights(t *backend.TaggedProgram, n *exir.Node) {
	if n.Op.Name != "aten::linear" && n.Op.Name != "aten::mm" && n.Op.Name != "aten::addmm" {
		return
	}
	for _, v := range tensorsOf(n) {
		if v.Spec.DType == tensor.Float && t.IsConstant(v) {
			t.LeaveOutside(v)
		}
	}
}
