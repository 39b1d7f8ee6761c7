package decomp

import (
	"math"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// linear is x·wᵀ + bias for a matrix w.
func (c *call) linear(x, w, bias *exir.Value) *exir.Value {
	wt := c.permute(w, 1, 0)
	lead := sizes(x)[:rank(x)-1]
	rows := c.view(x, c.shapes().Product(lead), size(x, -1))
	var y *exir.Value
	if bias != nil && rank(bias) == 1 {
		y = c.op("addmm", bias, rows, wt)
	} else {
		y = c.plus(c.op("mm", rows, wt), bias)
	}
	return c.view(y, append(lead, size(w, 0))...)
}

// plus adds y, which may be nil.
func (c *call) plus(x, y *exir.Value) *exir.Value {
	if y == nil {
		return x
	}
	return c.add(x, y)
}

func matmulOp(c *call) []*exir.Value { return one(c.matmul(c.t("self"), c.t("other"))) }

// multiDot multiplies matrices from the left; the first and the last may be vectors.
func multiDot(c *call) []*exir.Value {
	name := "tensors"
	if c.s.Arg(name) < 0 {
		name = "matrices"
	}
	all := c.tensors(name)
	y := all[0]
	for _, m := range all[1:] {
		y = c.matmul(y, m)
	}
	return one(y)
}

// matmul is torch.matmul.
func (c *call) matmul(a, b *exir.Value) *exir.Value {
	switch {
	case rank(a) == 0 || rank(b) == 0:
		failf("matmul of a number")
	case rank(a) == 1 && rank(b) == 1:
		return c.sum(c.mul(a, b), 0)
	case rank(a) == 1:
		return c.squeeze(c.matmul(c.unsqueeze(a, 0), b), -2)
	case rank(b) == 1:
		return c.squeeze(c.matmul(a, c.unsqueeze(b, 1)), -1)
	case rank(a) == 2 && rank(b) == 2:
		return c.op("mm", a, b)
	case rank(b) == 2:
		lead := sizes(a)[:rank(a)-1]
		y := c.op("mm", c.view(a, c.shapes().Product(lead), size(a, -1)), b)
		return c.view(y, append(lead, size(b, 1))...)
	}
	return c.batched(a, b)
}

// batched multiplies matrices over broadcast leading dimensions.
func (c *call) batched(a, b *exir.Value) *exir.Value {
	batch := c.broadcast(sizes(a)[:rank(a)-2], sizes(b)[:rank(b)-2])
	n := c.shapes().Product(batch)
	flat := func(v *exir.Value) *exir.Value {
		tail := sizes(v)[rank(v)-2:]
		v = c.expand(v, append(slices.Clone(batch), tail...))
		return c.view(v, n, tail[0], tail[1])
	}
	y := c.op("bmm", flat(a), flat(b))
	return c.view(y, append(batch, size(a, -2), size(b, -1))...)
}

// broadcast is the common shape of a and b.
func (c *call) broadcast(a, b []int64) []int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		at := len(a) - len(b) + i
		if c.shapes().Equal(out[at], 1) == tensor.Yes {
			out[at] = d
		}
	}
	return out
}

// sum adds in v's own type.
func (c *call) sum(v *exir.Value, dims ...int64) *exir.Value {
	return c.op("sum.dim_IntList", v, dims, false, exir.KW{Name: "dtype", Arg: v.Spec.DType})
}

// scaled is v times the number argument called name.
func (c *call) scaled(v *exir.Value, name string) *exir.Value {
	x := c.f(name)
	if !v.Spec.DType.IsFloat() {
		x = math.Trunc(x)
	}
	if x != 1 {
		return c.op("mul.Scalar", v, c.whole(x, v))
	}
	return v
}

// whole is x as an integer beside a v of an integral type.
func (c *call) whole(x float64, v *exir.Value) any {
	if v.Spec.DType.IsFloat() {
		return x
	}
	return int64(x)
}

// blend is beta·self + alpha·product.
func (c *call) blend(product *exir.Value) []*exir.Value {
	return one(c.blendWith(c.t("self"), product))
}

// blendWith is beta·self + alpha·product.
func (c *call) blendWith(self, product *exir.Value) *exir.Value {
	product = c.scaled(product, "alpha")
	if beta := c.f("beta"); beta == 0 || math.Trunc(beta) == 0 && !product.Spec.DType.IsFloat() {
		return product
	}
	return c.add(c.scaled(self, "beta"), product)
}

func addmv(c *call) []*exir.Value { return c.blend(c.matmul(c.t("mat"), c.t("vec"))) }

// baddbmm rounds its result once.
func baddbmm(c *call) []*exir.Value {
	self, own := c.t("self"), c.t("batch1").Spec.DType
	wide := widened(own)
	product := c.op("bmm", c.to(c.t("batch1"), wide), c.to(c.t("batch2"), wide))
	return one(c.to(c.blendWith(c.to(self, wide), product), own))
}

// widened is the type that PyTorch's kernels compute t in.
func widened(t tensor.ScalarType) tensor.ScalarType {
	if t == tensor.Half || t == tensor.BFloat16 {
		return tensor.Float
	}
	return t
}

// addr of bool is logical: a beta or alpha of 0 leaves its part out.
func addr(c *call) []*exir.Value {
	if self := c.t("self"); self.Spec.DType == tensor.Bool {
		product := c.op("logical_and", c.unsqueeze(c.t("vec1"), 1), c.t("vec2"))
		if c.f("alpha") == 0 {
			product = c.op("full_like", product, false)
		}
		if c.f("beta") != 0 {
			product = c.op("logical_or", self, product)
		}
		return one(product)
	}
	return c.blend(c.mul(c.unsqueeze(c.t("vec1"), 1), c.t("vec2")))
}

func mv(c *call) []*exir.Value { return one(c.matmul(c.t("self"), c.t("vec"))) }

func dot(c *call) []*exir.Value {
	other := "tensor"
	if c.s.Arg(other) < 0 {
		other = "other"
	}
	return one(c.matmul(c.t("self"), c.t(other)))
}

func inner(c *call) []*exir.Value {
	a, b := c.t("self"), c.t("other")
	if rank(a) == 0 || rank(b) == 0 {
		return one(c.mul(a, b))
	}
	if rank(b) == 1 {
		return one(c.matmul(a, b))
	}
	rows := c.view(b, c.shapes().Product(sizes(b)[:rank(b)-1]), size(b, -1))
	y := c.matmul(a, c.permute(rows, 1, 0))
	return one(c.view(y, append(sizes(a)[:rank(a)-1], sizes(b)[:rank(b)-1]...)...))
}

func outer(c *call) []*exir.Value { return one(c.mul(c.unsqueeze(c.t("self"), 1), c.t("vec2"))) }

// attention is the plain form of scaled_dot_product_attention. As in PyTorch, half types are computed in float32.
func attention(c *call) []*exir.Value {
	t := c.t("query").Spec.DType
	wide := t
	if t == tensor.Half || t == tensor.BFloat16 {
		wide = tensor.Float
	}
	q, k, v := c.to(c.t("query"), wide), c.to(c.t("key"), wide), c.to(c.t("value"), wide)
	if c.bool("enable_gqa") {
		k, v = c.repeatHeads(k, q), c.repeatHeads(v, q)
	}
	scale := c.f("scale")
	if !c.has("scale") {
		if tensor.IsSymbol(size(q, -1)) {
			failf("scaled_dot_product_attention: the head size must be static")
		}
		scale = 1 / math.Sqrt(float64(fixed(q, -1)))
	}
	scores := c.op("mul.Scalar", c.matmul(q, c.transpose(k, -2, -1)), scale)
	mask := c.t("attn_mask")
	if c.bool("is_causal") {
		mask = c.causal(size(q, -2), size(k, -2))
	}
	return one(c.to(c.matmul(c.weights(scores, mask), v), t))
}

// weights is the softmax of scores under mask; a row that is masked as a whole gives zeros.
func (c *call) weights(scores, mask *exir.Value) *exir.Value {
	if mask == nil {
		return c.op("_softmax", scores, -1, false)
	}
	t := scores.Spec.DType
	if mask.Spec.DType == tensor.Bool {
		scores = c.op("where.self", mask, scores, c.scalar(t, math.Inf(-1)))
	} else {
		scores = c.add(scores, c.to(mask, t))
	}
	soft := c.op("_softmax", scores, -1, false)
	if c.bool("is_causal") {
		return soft // every row sees its first column
	}
	highest := c.op("amax", scores, []int64{-1}, true)
	empty := c.op("eq.Scalar", highest, math.Inf(-1))
	return c.op("where.self", empty, c.scalar(t, 0), soft)
}

// causal is the mask that lets row i see the columns up to i.
func (c *call) causal(rows, cols tensor.Dim) *exir.Value {
	return c.op("le.Tensor", c.arange(cols), c.unsqueeze(c.arange(rows), 1))
}

// repeatHeads repeats each of k's heads so that there are as many as q's.
func (c *call) repeatHeads(k, q *exir.Value) *exir.Value {
	heads, want := size(k, -3), size(q, -3)
	if c.shapes().Equal(heads, want) == tensor.Yes {
		return k
	}
	at := rank(k) - 3
	times := c.shapes().FloorDiv(want, heads)
	y := c.unsqueeze(k, at+1)
	wide := sizes(y)
	wide[at+1] = times
	y = c.expand(y, wide)
	out := sizes(k)
	out[at] = want
	return c.view(y, out...)
}

// einsum contracts its operands from left to right.
func einsum(c *call) []*exir.Value {
	equation := strings.ReplaceAll(c.arg("equation").Str, " ", "")
	ts := c.tensors("tensors")
	left, right, explicit := strings.Cut(equation, "->")
	ins := strings.Split(left, ",")
	if len(ins) != len(ts) {
		failf("einsum %q: %d operands, got %d", equation, len(ins), len(ts))
	}
	for i := range ins {
		ins[i] = ellipsis(ins[i], rank(ts[i]))
	}
	if explicit {
		right = ellipsisOut(right, ins)
	} else {
		right = implicit(ins)
	}
	if c.outs != nil { // sums of integers are wider than their terms
		for i := range ts {
			ts[i] = c.to(ts[i], c.outs[0].Spec.DType)
		}
	}
	acc := c.labelled(ts[0], ins[0])
	for i := 1; i < len(ts); i++ {
		later := right + strings.Join(ins[i+1:], "")
		acc = c.contract(acc, c.labelled(ts[i], ins[i]), later)
	}
	return one(c.arrange(acc, right))
}

// labels is a tensor whose dimensions have these letters, each once.
type labels struct {
	v *exir.Value
	l string
}

// ellipsis replaces … by as many upper-case-like letters as the rank asks for, aligned at the right.
func ellipsis(l string, rank int) string {
	before, after, ok := strings.Cut(l, "...")
	if !ok {
		return l
	}
	n := rank - len(before) - len(after)
	const hidden = "0123456789"
	if n < 0 || n > len(hidden) {
		failf("einsum: operand %q of rank %d", l, rank)
	}
	return before + hidden[len(hidden)-n:] + after
}

func ellipsisOut(right string, ins []string) string {
	most := ""
	for _, l := range ins {
		own := strings.Trim(l, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if len(own) > len(most) {
			most = own
		}
	}
	return strings.Replace(right, "...", most, 1)
}

// implicit are the letters that occur once, sorted.
func implicit(ins []string) string {
	all := strings.Join(ins, "")
	var out []byte
	for _, b := range []byte(all) {
		if b <= '9' && !slices.Contains(out, b) || strings.Count(all, string(b)) == 1 {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return string(out)
}

// labelled takes the diagonal of dimensions with the same letter.
func (c *call) labelled(v *exir.Value, l string) labels {
	if len(l) != rank(v) {
		failf("einsum: operand %q of rank %d", l, rank(v))
	}
	for i := 0; i < len(l); i++ {
		j := strings.LastIndexByte(l, l[i])
		if j == i {
			continue
		}
		v = c.op("diagonal_copy", v, 0, i, j)
		l = l[:i] + l[i+1:j] + l[j+1:] + l[i:i+1]
		i--
	}
	return labels{v, l}
}

// contract multiplies a and b and sums what neither later operands nor the result want.
func (c *call) contract(a, b labels, later string) labels {
	a, b = c.sumUnused(a, b.l+later), c.sumUnused(b, a.l+later)
	var batch, summed, onlyA, onlyB string
	for _, r := range a.l {
		s := string(r)
		switch {
		case !strings.Contains(b.l, s):
			onlyA += s
		case strings.Contains(later, s):
			batch += s
		default:
			summed += s
		}
	}
	for _, r := range b.l {
		if !strings.ContainsRune(a.l, r) {
			onlyB += string(r)
		}
	}
	x, y := c.arrange(a, batch+onlyA+summed), c.arrange(b, batch+summed+onlyB)
	if strings.IndexFunc(batch+summed, func(r rune) bool { return r <= '9' || c.unequal(a, b, r) }) >= 0 || summed == "" {
		return c.elementwise(a, b, batch+onlyA+onlyB, summed)
	}
	nb, na, ns := len(batch), len(onlyA), len(summed)
	xs, ys := sizes(x), sizes(y)
	p := c.shapes().Product
	l, m, n, k := p(xs[:nb]), p(xs[nb:nb+na]), p(ys[nb+ns:]), p(ys[nb:nb+ns])
	prod := c.bmm(c.view(x, l, m, k), c.view(y, l, k, n), nb == 0)
	out := append(slices.Clone(xs[:nb+na]), ys[nb+ns:]...)
	return labels{c.view(prod, out...), batch + onlyA + onlyB}
}

// unequal reports that a dimension of a and b must be broadcast.
func (c *call) unequal(a, b labels, r rune) bool {
	i, j := strings.IndexRune(a.l, r), strings.IndexRune(b.l, r)
	return c.shapes().Equal(size(a.v, i), size(b.v, j)) == tensor.No
}

func (c *call) bmm(x, y *exir.Value, flat bool) *exir.Value {
	if !flat {
		return c.op("bmm", x, y)
	}
	m, k, n := size(x, 1), size(x, 2), size(y, 2)
	return c.view(c.op("mm", c.view(x, m, k), c.view(y, k, n)), 1, m, n)
}

// elementwise multiplies with broadcasting and sums.
func (c *call) elementwise(a, b labels, out, summed string) labels {
	all := out + summed
	y := c.mul(c.spreadTo(a, all), c.spreadTo(b, all))
	if summed == "" {
		return labels{y, out}
	}
	dims := make([]int64, len(summed))
	for i := range dims {
		dims[i] = int64(len(out) + i)
	}
	return labels{c.sum(y, dims...), out}
}

// spreadTo orders a as all, with size 1 for the letters that it lacks.
func (c *call) spreadTo(a labels, all string) *exir.Value {
	own := strings.Map(func(r rune) rune {
		if strings.ContainsRune(a.l, r) {
			return r
		}
		return -1
	}, all)
	v := c.arrange(a, own)
	for i, r := range all {
		if !strings.ContainsRune(a.l, r) {
			v = c.unsqueeze(v, i)
		}
	}
	return v
}

// sumUnused sums the letters of a that are not in used.
func (c *call) sumUnused(a labels, used string) labels {
	var dims []int64
	kept := ""
	for i, r := range a.l {
		if strings.ContainsRune(used, r) {
			kept += string(r)
		} else {
			dims = append(dims, int64(i))
		}
	}
	if dims == nil {
		return a
	}
	return labels{c.sum(a.v, dims...), kept}
}

// arrange is a with its dimensions in the order of want, the others summed.
func (c *call) arrange(a labels, want string) *exir.Value {
	a = c.sumUnused(a, want)
	dims := make([]int64, len(want))
	for i, r := range want {
		dims[i] = int64(strings.IndexRune(a.l, r))
		if dims[i] < 0 {
			failf("einsum: no operand has %c", r)
		}
	}
	return c.permute(a.v, dims...)
}
