package passes

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fuseEmbedding lets an embedding take its rows from a table that stays quantized, whose rows, or blocks of these, have scales:
//
//	embedding(dequantize_per_channel(w, scales, zeros), i) = embedding_byte(w, scales, zeros, i)
//
// Weights of 4 bits that nobody else reads lie two to a byte. Tables and zero points are constants at once, as the kernels want them.
func fuseEmbedding(c *Context, m *exir.Method) error {
	f := embeddingFuser{usageOf(c.Program, m)}
	return m.Graph.Walk(f.fuse)
}

type embeddingFuser struct{ usage }

// table is a constant that an embedding reads dequantized.
type table struct {
	weight, scales, zeros *exir.Value // zeros is nil for none
	rows, width, groups   int64
	low, high             int64
	packs                 bool // weights are of 4 bits
}

// Arguments of aten::embedding and of quantized_decomposed::dequantize_per_channel.
const (
	embeddingTable   = 0
	embeddingIndices = 1

	channelInput  = 0
	channelScales = 1
	channelZeros  = 2
	channelAxis   = 3
	channelLow    = 4
	channelHigh   = 5
)

// fuse rebuilds g where there is something to fuse.
func (f *embeddingFuser) fuse(g *exir.Graph) error {
	return replaceEach(&f.usage, g, f.match, (*table).embedding)
}

// match is the table of n, or nil if n is no embedding of one.
func (f *embeddingFuser) match(n *exir.Node) *table {
	if n.Op.Name != "aten::embedding" || n.Args[embeddingIndices].Value.Spec.DType != tensor.Long {
		return nil
	}
	v := n.Args[embeddingTable].Value
	alone := f.users[v] == 1
	from := unviewed(v)
	if d := from.Node; d == nil || d.Op.Name != "quantized_decomposed::dequantize_per_channel" || d.Args[channelAxis].Int != 0 || v.Spec.Rank() != 2 || !v.Spec.Static() {
		return nil
	}
	args := from.Node.Args
	t := &table{weight: unviewed(args[channelInput].Value), scales: unviewed(args[channelScales].Value), rows: v.Spec.Sizes[0], width: v.Spec.Sizes[1],
		low: args[channelLow].Int, high: args[channelHigh].Int}
	if zeros := args[channelZeros].Value; zeros != nil {
		if t.zeros = unviewed(uncast(unviewed(zeros))); !f.laid(t.zeros) || !t.zeros.Spec.DType.IsIntegral(false) {
			return nil
		}
	}
	dtype := t.weight.Spec.DType
	if !f.laid(t.weight) || !f.laid(t.scales) || dtype != tensor.Char && dtype != tensor.Byte || !floating(t.scales.Spec.DType) && !half(t.scales.Spec.DType) ||
		t.scales.Spec.DType == tensor.Double || v.Spec.DType == tensor.Double || t.rows == 0 {
		return nil
	}
	t.groups = int64(t.scales.Spec.Numel()) / t.rows
	if t.groups == 0 || args[channelInput].Value.Spec.Sizes[0] != t.rows*t.groups || t.width%t.groups != 0 {
		return nil
	}
	alone = alone && f.users[from] == 1 && f.users[t.weight] == 1
	t.packs = alone && dtype == tensor.Char && t.low >= -8 && t.high <= 7 && t.width%2 == 0
	return t
}

// laid reports whether v is a constant whose elements lie in the order of its sizes, as the kernels want tables.
func (f *embeddingFuser) laid(v *exir.Value) bool { return f.constant(v) && v.Spec.Contiguous() }

// unviewed is what v is a view of, in the end.
func unviewed(v *exir.Value) *exir.Value {
	for v.Node != nil && v.Node.Op.Name == "aten::view_copy" {
		v = v.Node.Args[0].Value
	}
	return v
}

// embedding builds what replaces n.
func (t *table) embedding(b *exir.Builder, n *exir.Node) *exir.Value {
	at := len(b.Graph.Nodes)
	dtype := n.Outs[0].Spec.DType
	weight, name := viewed(b, t.weight, t.rows, t.width), "quantized_decomposed::embedding_byte"
	if t.packs {
		weight, name = t.packed(b, weight), "quantized_decomposed::embedding_4bit"
	}
	args := []any{weight, viewed(b, t.scales, t.rows, t.groups), nil, t.low, t.high, n.Args[embeddingIndices].Value}
	if t.zeros != nil {
		args[2] = viewed(b, cast(b, t.zeros, dtype), t.rows, t.groups)
	}
	if b.Err != nil {
		return n.Outs[0]
	}
	toExpressions(b, at)
	if t.scales.Spec.DType != dtype {
		name, args = name+".dtype", append(args, exir.KW{Name: "dtype", Arg: dtype})
	}
	return b.Op(name, args...)
}

// viewed is v as a matrix.
func viewed(b *exir.Builder, v *exir.Value, rows, cols int64) *exir.Value {
	if s := v.Spec.Sizes; len(s) == 2 && s[0] == rows && s[1] == cols {
		return v
	}
	return b.Op("aten::view_copy", v, []int64{rows, cols})
}

// packed has two of the weights w in each byte, the first one in its high half, each 8 more than it is.
func (t *table) packed(b *exir.Builder, w *exir.Value) *exir.Value {
	w = cast(b, b.Op("aten::add.Scalar", w, int64(8)), tensor.Byte)
	w = b.Op("aten::view_copy", w, []int64{t.rows, t.width / 2, 2})
	half := func(i int64) *exir.Value { return b.Op("aten::slice_copy.Tensor", w, int64(2), i, i+1, int64(1)) }
	w = b.Op("aten::add.Tensor", b.Op("aten::mul.Scalar", half(0), int64(16)), half(1))
	return viewed(b, w, t.rows, t.width/2)
}
