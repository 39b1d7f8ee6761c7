package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
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
	// KeyRows says that k has a row for each column of the scores.
	KeyRows bool
	// KeyGroups and ValueGroups say that k or v has fewer matrices than q: as many after one another read the same one.
	KeyGroups, ValueGroups bool
	// Lists are what the lists of sizes among the arguments are the sizes of.
	Lists []AttentionSizes
}

// AttentionSizes says which matrices have the last two of a list of sizes.
type AttentionSizes uint8

// What sizes may be of: scores, q, k as it is multiplied, k that has KeyRows, and v.
const (
	ScoreSizes AttentionSizes = iota
	QuerySizes
	KeySizes
	KeyRowSizes
	ValueSizes
)

// PrepareAttention makes a plan that computes two products like that of p and a softmax between them; nil if p has no kernel
// for that. Its arguments are those of the first product, q of sizes [..., rows, depth] and k of [..., depth, columns], then v of
// [..., columns, width]; in front there are one or more sizes, whose product says how many matrices there are. Then come
// a.Lists, each of which ends with two sizes, and a mask, if there is one, which broadcasts to [n/h, h, rows, columns]: a Bool
// leaves out the columns where it is false, a Float is added. The result has the sizes [n, rows, width].
func PrepareAttention(p *Plan, a Attention) *Plan {
	k := p.Kernel
	if k.Attention == nil || p.tier == kernel.Scalar {
		return nil
	}
	def := &Def{
		Schema: "rules_pte::attention.out(Tensor q, Tensor k, Tensor v, Tensor? mask=None, *, Tensor(a!) out) -> Tensor(a!)",
		Infer:  a.infer,
	}
	return &Plan{Kernel: &Kernel{Def: def, DType: k.DType, Run: k.Attention}, state: &a, tier: p.tier, inPlace: []int{-1}}
}

// matrices are the tensor t as n matrices of so many rows and columns.
type matrices struct{ n, rows, columns int }

func matricesOf(t *tensor.Tensor) matrices {
	r := t.Rank() - 2
	return matrices{int((*tensor.Shapes)(nil).Product(t.Sizes[:r])), int(t.Sizes[r]), int(t.Sizes[r+1])}
}

// infer is the shape rule.
func (a *Attention) infer(c *Infer) error {
	for i := range 3 {
		if t := c.Args[i].Tensor; t == nil || t.Rank() < 3 || t.Rank() > 3 && !t.Contiguous() {
			return errDims
		}
	}
	q, k, v := matricesOf(c.Args[0].Tensor), matricesOf(c.Args[1].Tensor), matricesOf(c.Args[2].Tensor)
	if a.KeyRows {
		k.rows, k.columns = k.columns, k.rows
	}
	if !fitHeads(q.n, k.n, a.KeyGroups) || !fitHeads(q.n, v.n, a.ValueGroups) || q.columns != k.rows || k.columns != v.rows {
		return errSizes
	}
	c.Set(0, c.Args[0].Tensor.DType, tensor.Dim(q.n), tensor.Dim(q.rows), tensor.Dim(v.columns))
	return nil
}

// fitHeads reports whether n matrices can read one of m each.
func fitHeads(n, m int, grouped bool) bool { return n == m || grouped && m > 0 && n%m == 0 }
