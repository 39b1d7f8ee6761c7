package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// AttentionName is what traces call an attention.
const AttentionName = attentionBase + ".out"

const attentionBase = "aten::scaled_dot_product_attention"

// Attention is what stands between the two products of an attention: softmax(Scale·(q·k) + mask)·v.
type Attention struct {
	// Scale is positive.
	Scale float32
	// EmptyZero says that a row whose columns are all -Inf gives zeros, not NaN.
	EmptyZero bool
}

// PrepareAttention makes a plan that computes two products like that of p and a softmax between them; nil if p has no kernel
// for that. Its arguments are those of the first product, q of sizes [n, rows, depth] and k of [n, depth, columns], then v of
// [n, columns, width], and then, if there are any, a list of sizes that ends with rows and columns, and a mask, which
// broadcasts to [n/h, h, rows, columns]: a Bool leaves out the columns where it is false, a Float is added.
func PrepareAttention(p *Plan, a Attention) *Plan {
	k := p.Kernel
	if k.Attention == nil || p.tier == kernel.Scalar {
		return nil
	}
	def := &Def{
		Schema: "rules_pte::attention.out(Tensor q, Tensor k, Tensor v, Tensor? mask=None, *, Tensor(a!) out) -> Tensor(a!)",
		Infer:  inferAttention,
	}
	return &Plan{Kernel: &Kernel{Def: def, DType: k.DType, Run: k.Attention}, state: &a, tier: p.tier, inPlace: []int{-1}}
}

func inferAttention(c *Infer) error {
	q, k, v := c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor
	switch {
	case q.Rank() != 3 || k.Rank() != 3 || v.Rank() != 3:
		return errDims
	case q.Sizes[0] != k.Sizes[0] || q.Sizes[0] != v.Sizes[0] || q.Sizes[2] != k.Sizes[1] || k.Sizes[2] != v.Sizes[1]:
		return errSizes
	}
	c.Set(0, q.DType, q.Sizes[0], q.Sizes[1], v.Sizes[2])
	return nil
}
