package aot

import (
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// quantized is what a dequantize node gives: how its input is quantized.
type quantized struct {
	// kind is PerTensor with constant parameters, PerToken with parameters of the run, PerChannel or PerGroup.
	kind blob.QuantKind
	// source is the quantized tensor; of PerToken the tensor before it is quantized.
	source *exir.Value
	// scale and zero are those of PerTensor.
	scale float64
	zero  int64
	// scales and zeros are those of PerChannel and PerGroup; axis and group say what they are for.
	scales, zeros *exir.Value
	axis          int
	group         int64
	// low and high bound the quantized numbers.
	low, high int64
	// nodes are the dequantize node and, of PerToken, the two that quantize.
	nodes []*exir.Node
}

// bits4 reports numbers of four bits.
func (q *quantized) bits4() bool { return q.low == -8 && q.high == 7 }

// equal reports the same parameters for a whole tensor.
func (q *quantized) equal(r *quantized) bool { return q.scale == r.scale && q.zero == r.zero }

// dequantizers read dequantize nodes; they give nil for forms that XNNPACK does not have.
var dequantizers = map[string]func(n *exir.Node) *quantized{
	"quantized_decomposed::dequantize_per_tensor":        perTensor,
	"quantized_decomposed::dequantize_per_tensor.tensor": chosenPerTensor,
	"quantized_decomposed::dequantize_per_channel":       perChannel,
	"quantized_decomposed::dequantize_per_token":         perToken,
	"quantized_decomposed::dequantize_per_channel_group": perChannelGroup,
	"torchao::dequantize_affine":                         affine,
}

// dequantized is how v was quantized, nil if no dequantize node made it.
func dequantized(v *exir.Value) *quantized {
	if v == nil || v.Node == nil {
		return nil
	}
	read := dequantizers[v.Node.Op.Name]
	if read == nil {
		return nil
	}
	q := read(v.Node)
	if q != nil {
		q.nodes = append([]*exir.Node{v.Node}, q.nodes...)
	}
	return q
}

// quantizes is how n quantizes with constant parameters, nil if it does not.
func quantizes(n *exir.Node) *quantized {
	if n == nil || n.Op.Name != "quantized_decomposed::quantize_per_tensor" {
		return nil
	}
	return perTensor(n)
}

// perTensor reads the arguments that quantize_per_tensor and dequantize_per_tensor have in common.
func perTensor(n *exir.Node) *quantized {
	if n.Args[5].Int != int64(tensor.Char) {
		return nil
	}
	return &quantized{kind: blob.PerTensor, source: n.Args[0].Value, scale: n.Args[1].Float, zero: n.Args[2].Int,
		low: n.Args[3].Int, high: n.Args[4].Int}
}

// chosenPerTensor reads a dequantize node whose parameters choose_qparams found in the tensor that is quantized.
func chosenPerTensor(n *exir.Node) *quantized {
	q := n.Args[0].Value.Node
	if q == nil || q.Op.Name != "quantized_decomposed::quantize_per_tensor.tensor" || !sameValues(n, q, 1, 2) {
		return nil
	}
	return chosen(q, "quantized_decomposed::choose_qparams.tensor", q.Args[1].Value)
}

// chosen is the quantization of q, whose scale is a result of the operator choose on the same tensor.
func chosen(q *exir.Node, choose string, scale *exir.Value) *quantized {
	c := scale.Node
	if c == nil || c.Op.Name != choose || c.Args[0].Value != q.Args[0].Value || q.Outs[0].Spec.DType != tensor.Char {
		return nil
	}
	return &quantized{kind: blob.PerToken, source: q.Args[0].Value, nodes: []*exir.Node{q, c}}
}

func sameValues(a, b *exir.Node, at ...int) bool {
	for _, i := range at {
		if valueOf(&a.Args[i]) == nil || valueOf(&a.Args[i]) != valueOf(&b.Args[i]) {
			return false
		}
	}
	return true
}

func perChannel(n *exir.Node) *quantized {
	if n.Args[6].Int != int64(tensor.Char) {
		return nil
	}
	return &quantized{kind: blob.PerChannel, source: n.Args[0].Value, scales: n.Args[1].Value, zeros: valueOf(&n.Args[2]),
		axis: axis(n.Args[3].Int, n.Outs[0].Spec.Rank()), low: n.Args[4].Int, high: n.Args[5].Int}
}

// perToken reads a dequantize node of an activation whose rows have parameters of the run.
func perToken(n *exir.Node) *quantized {
	q := n.Args[0].Value.Node
	if q == nil || q.Op.Name != "quantized_decomposed::quantize_per_token" || !sameValues(n, q, 1, 2) {
		return nil
	}
	return chosen(q, "quantized_decomposed::choose_qparams_per_token_asymmetric", q.Args[1].Value)
}

// perChannelGroup reads a dequantize node of a matrix whose rows are quantized in groups.
func perChannelGroup(n *exir.Node) *quantized {
	x, scales, group := n.Args[0].Value, n.Args[1].Value, n.Args[6].Int
	width := x.Spec.Sizes[x.Spec.Rank()-1]
	if x.Spec.DType != tensor.Char || x.Spec.Rank() != 2 || tensor.IsSymbol(width) {
		return nil
	}
	if group > width && scales.Spec.Sizes[scales.Spec.Rank()-1] == 1 { // as the operator does
		group = width
	}
	return groups(&quantized{source: x, scales: scales, zeros: valueOf(&n.Args[2]), group: group, low: n.Args[3].Int, high: n.Args[4].Int}, width)
}

// groups is q as groups of rows of this width; one group of 8-bit numbers is a channel.
func groups(q *quantized, width int64) *quantized {
	if width%q.group != 0 {
		return nil
	}
	if q.kind = blob.PerGroup; q.group == width && !q.bits4() {
		q.kind = blob.PerChannel
	}
	return q
}

// affine reads torchao's dequantize node: rows of an activation with parameters of the run, or groups of a weight's rows.
func affine(n *exir.Node) *quantized {
	x, block, scale := n.Args[0].Value, n.Args[1].List, n.Args[2].Value
	if x.Spec.DType != tensor.Char || !rows(block[:len(block)-1]) {
		return nil
	}
	width, group := x.Spec.Sizes[len(block)-1], block[len(block)-1].Int
	if q := x.Node; q != nil && q.Op.Name == "torchao::quantize_affine" && group == width && sameValues(n, q, 2, 3) {
		return chosen(q, "torchao::choose_qparams_affine", scale)
	}
	if len(block) != 2 || n.Args[5].Kind == exir.ArgNone || tensor.IsSymbol(width) {
		return nil
	}
	return groups(&quantized{source: x, scales: scale, zeros: valueOf(&n.Args[3]), group: group,
		low: int64(numberOf(&n.Args[5])), high: int64(numberOf(&n.Args[6]))}, width)
}

// rows reports a block of one row.
func rows(block []exir.Arg) bool {
	for i := range block {
		if block[i].Int != 1 {
			return false
		}
	}
	return true
}

// weightReason says why XNNPACK has no weights that are quantized like q, or "".
func (g *graph) weightReason(q *quantized) string {
	switch {
	case !g.isConstant(q.source) || q.scales != nil && !g.isConstant(q.scales):
		return "its weights are not constant"
	case q.kind == blob.PerToken:
		return "its weights are quantized at run time"
	case q.zeros != nil && !zeros(q.zeros):
		return "its weights have zero points other than 0"
	case q.kind == blob.PerTensor && q.zero != 0:
		return "its weights have a zero point other than 0"
	case q.kind == blob.PerGroup && (!q.bits4() || q.group%32 != 0):
		return "its weights are quantized in groups, but not of a multiple of 32 and with 4 bits"
	}
	return ""
}

// zeros reports a constant that is 0 everywhere. One that is not in the graph is taken to be, and checked when packing.
func zeros(v *exir.Value) bool {
	return v.Const == nil || !v.Const.Literal || !slices.ContainsFunc(v.Const.Data, func(b byte) bool { return b != 0 })
}
