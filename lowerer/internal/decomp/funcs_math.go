package decomp

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// areas are twice the areas of the trapezoids under y along dimension d, at places x; x nil means places 1 apart.
func (c *call) areas(y, x *exir.Value, d int) *exir.Value {
	d = dim(d, rank(y))
	a := c.add(c.head(y, d), c.tail(y, d))
	if x == nil {
		return a
	}
	if rank(x) == 1 {
		shape := slices.Repeat([]int64{1}, rank(y))
		shape[d] = size(x, 0)
		x = c.view(x, shape...)
	} else if lacks := rank(y) - rank(x); lacks > 0 {
		x = c.view(x, append(slices.Repeat([]int64{1}, lacks), sizes(x)...)...)
	}
	return c.mul(a, c.op("sub.Tensor", c.tail(x, d), c.head(x, d)))
}

// head is v without the last of dimension d; tail is v without the first.
func (c *call) head(v *exir.Value, d int) *exir.Value {
	return c.slice(v, d, 0, c.shapes().Sub(size(v, d), 1))
}

func (c *call) tail(v *exir.Value, d int) *exir.Value { return c.slice(v, d, 1, size(v, d)) }

// quantile is quantile and nanquantile, as in ATen/native/Sorting.cpp: rows are sorted, and between two neighbours of the
// rank q·(n-1) the interpolation decides. A NaN in a row makes its quantiles NaN, or does not count.
func quantile(c *call) []*exir.Value {
	x, ignoreNaN := c.t("self"), c.s.Base() == "nanquantile"
	t := x.Spec.DType
	q := c.t("q")
	if q == nil {
		q = c.scalar(t, c.f("q"))
	}
	sorted, kept := c.sortedRows(x)
	last := float64(fixed(sorted, -1) - 1)
	qs := c.vector(q)
	nan := c.op("isnan", sorted)
	var at *exir.Value // the ranks, of sizes rows × q
	if ignoreNaN {
		n := c.op("sum.dim_IntList", c.op("logical_not", nan), []int64{-1}, true)
		at = c.op("clamp", c.mul(c.op("sub.Scalar", c.to(n, t), 1), qs), 0, exir.Arg{})
	} else {
		at = c.op("where.self", c.op("any.dim", nan, -1, true), c.scalar(t, last), c.op("mul.Scalar", qs, last))
	}
	y := c.interpolated(sorted, at, c.arg("interpolation").Str)
	if rank(q) == 0 {
		return one(c.view(y, kept...))
	}
	y = c.view(y, append(kept, size(q, 0))...)
	dims := append([]int64{int64(rank(y) - 1)}, iota64(rank(y)-1)...)
	return one(c.permute(y, dims...))
}

// sortedRows are the rows of x along argument dim, sorted, and the sizes of what reducing them gives.
func (c *call) sortedRows(x *exir.Value) (rows *exir.Value, kept []int64) {
	kept = sizes(x)
	whole := !c.has("dim") || rank(x) == 0
	if whole {
		kept = slices.Repeat([]int64{1}, rank(x))
		x = c.view(x, c.shapes().Product(sizes(x)))
	} else {
		d := dim(c.n("dim"), rank(x))
		kept[d] = 1
		x = c.transpose(c.unsqueeze(x, -1), d, -1)
	}
	if tensor.IsSymbol(size(x, -1)) {
		failf("quantile over a dynamic dimension")
	}
	switch {
	case c.bool("keepdim"):
	case whole:
		kept = nil
	default:
		d := dim(c.n("dim"), len(kept))
		kept = slices.Delete(kept, d, d+1)
	}
	return c.ops("sort", x, -1)[0], kept
}

// interpolated takes for every rank in at the element of its row in sorted.
func (c *call) interpolated(sorted, at *exir.Value, how string) *exir.Value {
	switch how {
	case "lower":
		at = c.op("floor", at)
	case "higher":
		at = c.op("ceil", at)
	case "nearest":
		at = c.op("round", at)
	}
	lead := sizes(sorted)[:rank(sorted)-1]
	at = c.expand(at, append(slices.Clone(lead), size(at, -1)))
	below := c.to(at, tensor.Long)
	low := c.op("gather", sorted, -1, below)
	if how != "linear" && how != "midpoint" {
		return low
	}
	high := c.op("gather", sorted, -1, c.to(c.op("ceil", at), tensor.Long))
	if how == "midpoint" {
		return c.op("lerp.Scalar", low, high, 0.5)
	}
	return c.op("lerp.Tensor", low, high, c.op("sub.Tensor", at, c.to(below, at.Spec.DType)))
}

// gradient is torch.gradient: central differences inside, one-sided ones of edge_order at both ends.
func gradient(c *call) []*exir.Value {
	x := c.t("self")
	dims := c.ints("dim")
	if dims == nil {
		dims = iota64(rank(x))
	}
	var outs []*exir.Value
	for i, d := range dims {
		outs = append(outs, c.gradientAlong(x, dim(int(d), rank(x)), c.spacing(i)))
	}
	return outs
}

// spacing is argument spacing for the i-th dimension: a number, or a vector of places.
func (c *call) spacing(i int) exir.Arg {
	if c.s.Arg("spacing") < 0 || !c.has("spacing") {
		return exir.ToArg(1)
	}
	a := c.arg("spacing")
	if a.Kind == exir.ArgList {
		return a.List[i]
	}
	return a
}

func (c *call) gradientAlong(x *exir.Value, d int, spacing exir.Arg) *exir.Value {
	n := size(x, d)
	if tensor.IsSymbol(n) {
		failf("gradient along a dynamic dimension")
	}
	if !x.Spec.DType.IsFloat() {
		x = c.to(x, tensor.Float)
	}
	at := make([]*exir.Value, 3) // slices of three neighbours each
	for k := range at {
		at[k] = c.slice(x, d, int64(k), n-2+int64(k))
	}
	if spacing.Kind == exir.ArgValue {
		return c.gradientAt(x, at, d, spacing.Value)
	}
	h := spacing.Float
	if spacing.Kind != exir.ArgFloat {
		h = float64(spacing.Int)
	}
	part := func(v *exir.Value, scale float64) *exir.Value { return c.op("div.Scalar", v, scale) }
	inner := part(c.op("sub.Tensor", at[2], at[0]), 2*h)
	end := func(i, j, k int64, sign float64) *exir.Value {
		pick := func(i int64) *exir.Value { return c.slice(x, d, i, i+1) }
		if c.n("edge_order") == 1 {
			return part(c.op("sub.Tensor", pick(j), pick(i)), sign*h)
		}
		y := c.op("sub.Tensor", c.op("mul.Scalar", pick(j), 4), c.op("mul.Scalar", pick(i), 3))
		return part(c.op("sub.Tensor", y, pick(k)), 2*sign*h)
	}
	return c.op("cat", []*exir.Value{end(0, 1, 2, 1), inner, end(n-1, n-2, n-3, -1)}, d)
}

// gradientAt is the gradient at uneven places. The formula is exact for parabolas.
func (c *call) gradientAt(x *exir.Value, at []*exir.Value, d int, places *exir.Value) *exir.Value {
	n := size(x, d)
	shape := slices.Repeat([]int64{1}, rank(x))
	shape[d] = n - 1
	steps := c.view(c.op("sub.Tensor", c.tail(places, 0), c.head(places, 0)), shape...)
	left, right := c.head(steps, d), c.tail(steps, d)
	both := c.add(left, right)
	div := func(a, b *exir.Value) *exir.Value { return c.op("div.Tensor", a, b) }
	sub := func(a, b *exir.Value) *exir.Value { return c.op("sub.Tensor", a, b) }
	wl := div(c.op("neg", right), c.mul(left, both))
	wm := div(sub(right, left), c.mul(left, right))
	wr := div(left, c.mul(right, both))
	inner := c.add(c.add(c.mul(at[0], wl), c.mul(at[1], wm)), c.mul(at[2], wr))
	pick := func(v *exir.Value, i int64) *exir.Value { return c.slice(v, d, i, i+1) }
	end := func(i, j, k int64, sign float64) *exir.Value {
		s, t := min(i, j), min(j, k)
		h, g := pick(steps, s), pick(steps, t)
		if c.n("edge_order") == 1 {
			return div(sub(pick(x, j), pick(x, i)), c.op("mul.Scalar", h, sign))
		}
		// -(2h+g)/(h(h+g))·x0 + (h+g)/(hg)·x1 - h/(g(h+g))·x2
		a := div(c.add(c.add(h, h), g), c.mul(h, c.add(h, g)))
		b := div(c.add(h, g), c.mul(h, g))
		e := div(h, c.mul(g, c.add(h, g)))
		y := sub(sub(c.mul(b, pick(x, j)), c.mul(a, pick(x, i))), c.mul(e, pick(x, k)))
		return c.op("mul.Scalar", y, sign)
	}
	return c.op("cat", []*exir.Value{end(0, 1, 2, 1), inner, end(n-1, n-2, n-3, -1)}, d)
}

// linspaceOf is linspace and logspace between tensors of one number.
func linspaceOf(c *call) []*exir.Value {
	n, t := c.n("steps"), c.dtype("dtype", tensor.Float)
	work := t
	if !t.IsFloat() || t == tensor.Half || t == tensor.BFloat16 {
		work = tensor.Double
	}
	bound := func(name string) *exir.Value {
		if v := c.t(name); v != nil {
			return c.to(c.view(v), work)
		}
		return c.scalar(work, c.f(name))
	}
	start, end := bound("start"), bound("end")
	step := c.op("sub.Tensor", end, start)
	step = c.op("div.Scalar", step, float64(max(n-1, 1)))
	up := make([]float64, n)
	down := make([]float64, n)
	for i := range up {
		up[i], down[i] = float64(i), float64(n-1-i)
	}
	sizes := []int64{int64(n)}
	first := c.add(start, c.mul(c.literal("steps", work, sizes, up), step))
	second := c.op("sub.Tensor", end, c.mul(c.literal("steps", work, sizes, down), step))
	half := int64(max(n/2, min(n, 1)))
	y := c.op("cat", []*exir.Value{c.slice(first, 0, 0, half), c.slice(second, 0, half, int64(n))}, 0)
	if c.s.Base() == "logspace" {
		y = c.op("pow.Scalar", c.f("base"), y)
	}
	return one(c.to(y, t))
}
