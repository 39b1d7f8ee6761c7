package passes

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fuseIntMM makes a linear operator of dequantized factors of what torchao's Int8DynamicActivationInt8Weight exports: a product of integers,
// multiplied by the scales of its rows and of its columns.
//
//	_int_mm(quantize_per_token(x, s, 0), wᵀ)·s·t = linear(dequantize_per_token(.., s, 0), dequantize_per_channel(w, t))
//
// Runtimes have integer products of the latter; the former takes a product of int32, which has no fast kernel anywhere.
func fuseIntMM(c *Context, m *exir.Method) error {
	f := intFuser{usageOf(c.Program, m)}
	return m.Graph.Walk(f.fuse)
}

type intFuser struct{ usage }

// intProduct is what a node computes.
type intProduct struct {
	quantize       *exir.Node  // of the rows
	weight, scales *exir.Value // constants: int8 [cols, depth], float32 of as many elements as there are columns
}

// Names of operators, and arguments of quantized_decomposed::quantize_per_token.
const (
	mulName      = "aten::mul.Tensor"
	quantizeName = "quantized_decomposed::quantize_per_token"
	copyName     = "dim_order_ops::_to_dim_order_copy"

	tokenScales = 1
	tokenZeros  = 2
)

// fuse rebuilds g where there is something to fuse.
func (f *intFuser) fuse(g *exir.Graph) error {
	return replaceEach(&f.usage, g, f.match, (*intProduct).linear)
}

// match is what n, the last product with scales, computes; nil if that is something else.
func (f *intFuser) match(n *exir.Node) *intProduct {
	if n.Op.Name != mulName || n.Outs[0].Spec.DType != tensor.Float || n.Outs[0].Spec.Rank() != 2 {
		return nil
	}
	byRows := f.alone(n.Args[0].Value, mulName)
	if byRows == nil || n.Args[1].Value == nil || byRows.Args[1].Value == nil {
		return nil
	}
	toFloat := f.alone(byRows.Args[0].Value, copyName)
	if toFloat == nil {
		return nil
	}
	mm := f.alone(toFloat.Args[0].Value, "aten::mm")
	if mm == nil || mm.Outs[0].Spec.DType != tensor.Int {
		return nil
	}
	p := &intProduct{weight: widened(mm.Args[1].Value), scales: unviewed(n.Args[1].Value)}
	if p.weight == nil || !turns(p.weight.Node) {
		return nil
	}
	p.weight = p.weight.Node.Args[0].Value
	if !f.constant(p.weight) || !f.constant(p.scales) || p.scales.Spec.DType != tensor.Float || p.scales.Spec.Numel() != int(p.weight.Spec.Sizes[0]) ||
		!sameDepth(n.Args[1].Value, n.Outs[0]) {
		return nil
	}
	rows := widened(mm.Args[0].Value)
	if rows == nil {
		return nil
	}
	q := unviewed(rows).Node
	if q == nil || q.Op.Name != quantizeName || q.Outs[0].Spec.Rank() < 2 || !sameDepth(rows, q.Outs[0]) || !isZero(q.Args[tokenZeros].Value) {
		return nil
	}
	if scale := byRows.Args[1].Value; unviewed(scale) != unviewed(uncast(q.Args[tokenScales].Value)) || !perRow(scale) {
		return nil
	}
	p.quantize = q
	return p
}

// turns reports whether n turns a matrix.
func turns(n *exir.Node) bool {
	return n != nil && n.Op.Name == permuteName && len(n.Args[1].List) == 2 && wrapped(n.Args[1].List[0].Int, 2) == 1
}

// alone is the node of this name that gives v, if nothing else reads v.
func (f *intFuser) alone(v *exir.Value, name string) *exir.Node {
	if v == nil || v.Node == nil || v.Node.Op.Name != name || f.users[v] != 1 {
		return nil
	}
	return v.Node
}

// perRow reports whether v has one element for each row of a matrix.
func perRow(v *exir.Value) bool { return v.Spec.Rank() == 2 && v.Spec.Sizes[1] == 1 }

// widened is the int8 matrix that v has in int32, or nil.
func widened(v *exir.Value) *exir.Value {
	if from := uncast(v); from != v && from.Spec.DType == tensor.Char {
		return from
	}
	return nil
}

// uncast is what v is in another type, or v.
func uncast(v *exir.Value) *exir.Value {
	if v.Node != nil && v.Node.Op.Name == copyName {
		return v.Node.Args[0].Value
	}
	return v
}

// sameDepth reports whether a and b have rows of one length.
func sameDepth(a, b *exir.Value) bool {
	s, t := a.Spec.Sizes, b.Spec.Sizes
	return len(s) > 0 && len(t) > 0 && s[len(s)-1] == t[len(t)-1]
}

// isZero reports whether all elements of v are 0.
func isZero(v *exir.Value) bool {
	for v.Node != nil && (v.Node.Op.Name == copyName || v.Node.Op.Name == "aten::view_copy") {
		v = v.Node.Args[0].Value
	}
	return v.Node != nil && v.Node.Op.Name == "aten::full_like" && v.Node.Args[1].Int == 0 && v.Node.Args[1].Float == 0
}

// linear builds what replaces n.
func (p *intProduct) linear(b *exir.Builder, n *exir.Node) *exir.Value {
	args := []any{p.quantize.Outs[0]}
	for _, a := range p.quantize.Args[tokenScales:] { // which are those of the inverse, too
		args = append(args, a)
	}
	x := b.Op("quantized_decomposed::dequantize_per_token", append(args, tensor.Float)...)
	cols := p.weight.Spec.Sizes[0]
	scales := p.scales
	if scales.Spec.Rank() != 1 {
		scales = b.Op("aten::view_copy", scales, []int64{cols})
	}
	w := b.Op("quantized_decomposed::dequantize_per_channel", p.weight, scales, nil, int64(0), int64(-128), int64(127), tensor.Char)
	y := b.Op(linearName, x, w, nil)
	if out := n.Outs[0].Spec; y.Spec.Rank() != out.Rank() {
		y = b.Op("aten::view_copy", y, []int64(out.Sizes))
	}
	return y
}
