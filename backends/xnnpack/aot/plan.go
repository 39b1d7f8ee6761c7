package aot

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// plan is how a node is computed, with the nodes after it that become a part of it.
type plan struct {
	// out is what the node gives, with all that it computes too.
	out *exir.Value
	// quantized says that activations come in and go out in 8 bits.
	quantized bool
	// bounded says that the result is held between low and high.
	bounded   bool
	low, high float64
	norm      *exir.Node
	fused     []*exir.Node
}

// planOf finds what can be computed with n: a batch norm, an activation, and quantization where in are all dequantized.
func (g *graph) planOf(n *exir.Node, r *rule, in ...*exir.Value) plan {
	p := plan{out: n.Outs[0]}
	if r.normalizes {
		if p.norm = g.normalization(n); p.norm != nil {
			p.take(p.norm)
		}
	}
	if r.activates {
		if act, low, high := g.activation(p.out); act != nil {
			p.bounded, p.low, p.high = true, low, high
			p.take(act)
		}
	}
	if q := quantizes(g.only(p.out)); q != nil && r.quantized != nil && r.quantized(n, q, g.static(in)) {
		p.quantized = true
		p.take(g.only(p.out))
	}
	return p
}

// steady reports weights that are constant, quantized or not.
func (g *graph) steady(v *exir.Value) bool {
	q := dequantized(v)
	return g.isConstant(v) || q != nil && g.isConstant(q.source)
}

func (p *plan) take(n *exir.Node) {
	p.fused = append(p.fused, n)
	p.out = n.Outs[0]
}

// static are the quantizations of in, nil if one of them is not quantized with constant parameters.
func (g *graph) static(in []*exir.Value) []*quantized {
	list := make([]*quantized, len(in))
	for i, v := range in {
		q := dequantized(v)
		if q == nil || q.kind != blob.PerTensor || g.isConstant(q.source) {
			return nil
		}
		list[i] = q
	}
	return list
}

// anyScale takes quantized activations whatever their parameters are.
func anyScale(_ *exir.Node, _ *quantized, in []*quantized) bool { return in != nil }

// sameScale takes them if those of the result are those of every input.
func sameScale(_ *exir.Node, out *quantized, in []*quantized) bool {
	for _, q := range in {
		if !q.equal(out) {
			return false
		}
	}
	return in != nil
}

// sumScale takes them if XNNPACK's sums can bring the inputs to the result's scale.
func sumScale(_ *exir.Node, out *quantized, in []*quantized) bool {
	for _, q := range in {
		if r := q.scale / out.scale; r < 0x1p-10 || r >= 0x1p8 {
			return false
		}
	}
	return in != nil
}

// productScale takes them if XNNPACK's products can bring the inputs to the result's scale.
func productScale(_ *exir.Node, out *quantized, in []*quantized) bool {
	if len(in) != 2 {
		return false
	}
	r := in[0].scale * in[1].scale / out.scale
	return r >= 0x1p-16 && r < 0x1p8
}

// begin makes the plan of n and marks what is fused.
func (c *compiler) begin(n *exir.Node, in ...*exir.Value) plan {
	p := c.planOf(n, c.rules[n.Op.Name], in...)
	for _, f := range p.fused {
		c.fused[f] = true
		c.within[n.DebugHandle] = append(c.within[n.DebugHandle], f.DebugHandle)
	}
	return p
}

// input is the id of v as the plan takes it.
func (c *compiler) input(p *plan, v *exir.Value, image bool) uint32 {
	if p.quantized {
		v = dequantized(v).source
	}
	return c.get(form{value: v, image: image})
}

// end emits the node that gives the plan's result.
func (c *compiler) end(p *plan, image bool, n blob.Node) {
	if n.Outputs = []uint32{c.result(form{value: p.out, image: image})}; p.bounded {
		n.Bounded, n.Min, n.Max = true, float32(p.low), float32(p.high)
	}
	c.emit(n)
}
