package decomp

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// like is a full tensor of v's type.
func (c *call) like(v *exir.Value, x any, sizes ...int64) *exir.Value {
	return c.op("full", sizes, x, exir.KW{Name: "dtype", Arg: v.Spec.DType})
}

// flat is v as a vector.
func (c *call) flat(v *exir.Value) *exir.Value { return c.view(v, c.shapes().Product(sizes(v))) }

// where is where.self with a number for what is not chosen.
func (c *call) where(on, v *exir.Value, otherwise float64) *exir.Value {
	return c.op("where.self", on, v, c.scalar(v.Spec.DType, otherwise))
}

// edgesOf are the ends of n bins of equal width between the least and the greatest element of x, or between lo and hi if
// they are given. Equal ends are moved apart by 1 each for histc, else by 1/2 (ATen/native/Histogram.cpp).
func (c *call) edgesOf(x *exir.Value, n int, lo, hi float64, given bool) *exir.Value {
	t, apart := x.Spec.DType, 0.5
	if c.s.Base() == "histc" {
		apart = 1
	}
	var low, high *exir.Value
	switch {
	case given:
		if lo == hi {
			lo, hi = lo-apart, hi+apart
		}
		low, high = c.scalar(t, lo), c.scalar(t, hi)
	case c.shapes().Equal(size(x, 0), 0) == tensor.Yes:
		low, high = c.scalar(t, 0), c.scalar(t, 1)
	default:
		low, high = c.op("amin", x, []int64{0}), c.op("amax", x, []int64{0})
		same := c.op("eq.Tensor", low, high)
		low = c.op("where.self", same, c.op("sub.Scalar", low, apart), low)
		high = c.op("where.self", same, c.op("add.Scalar", high, apart), high)
	}
	return c.op("linspace.Tensor_Tensor", low, high, n+1, exir.KW{Name: "dtype", Arg: t})
}

// binsOf says for each element of the vector x in which of the n bins between edges it is; the last bin has both ends.
// What is outside, and NaN, is in bin n.
func (c *call) binsOf(x, edges *exir.Value, n int64) *exir.Value {
	at := c.op("sub.Scalar", c.op("searchsorted.Tensor", edges, x, exir.KW{Name: "right", Arg: true}), 1)
	last := c.op("select_copy.int", edges, 0, n)
	at = c.op("where.self", c.op("eq.Tensor", x, last), c.number(tensor.Long, n-1), at)
	inside := c.op("logical_and", c.op("ge.Scalar", at, 0), c.op("lt.Scalar", at, n))
	return c.where(inside, at, float64(n))
}

// counted adds up weights, or ones of type t, for each of n places; what has place n is left out.
func (c *call) counted(at, weights *exir.Value, n int64, t tensor.ScalarType) *exir.Value {
	if weights == nil {
		weights = c.op("full", []int64{size(at, 0)}, 1, exir.KW{Name: "dtype", Arg: t})
	}
	sums := c.op("scatter_add", c.like(weights, 0, n+1), 0, at, c.flat(weights))
	return c.slice(sums, 0, 0, n)
}

// histc counts elements in bins of equal width.
func histc(c *call) []*exir.Value {
	x := c.flat(c.t("self"))
	n, lo, hi := int64(c.n("bins")), c.f("min"), c.f("max")
	edges := c.edgesOf(x, int(n), lo, hi, lo != hi)
	return one(c.counted(c.binsOf(x, edges, n), nil, n, x.Spec.DType))
}

// histogram is histogram and histogramdd: counts or weights in bins along one dimension or several, as densities if asked.
func histogram(c *call) []*exir.Value {
	x := c.t("self")
	d := int64(1)
	if c.s.Base() == "histogramdd" {
		d = size(x, -1)
	}
	rows := c.view(x, c.shapes().FloorDiv(c.shapes().Product(sizes(x)), max(d, 1)), d)
	var edges []*exir.Value
	var shape []int64
	at, outside := (*exir.Value)(nil), (*exir.Value)(nil)
	for k := range d {
		column := c.op("select_copy.int", rows, 1, k)
		e := c.binEdges(column, int(k))
		n := fixed(e, 0) - 1
		bin := c.binsOf(column, e, n)
		out := c.op("eq.Scalar", bin, n)
		if at == nil {
			at, outside = bin, out
		} else {
			at = c.add(c.op("mul.Scalar", at, n), bin)
			outside = c.op("logical_or", outside, out)
		}
		edges, shape = append(edges, e), append(shape, n)
	}
	total := c.shapes().Product(shape)
	at = c.op("where.self", outside, c.number(tensor.Long, total), at)
	h := c.view(c.counted(at, c.t("weight"), total, x.Spec.DType), shape...)
	if c.bool("density") {
		h = c.density(h, edges)
	}
	return append([]*exir.Value{h}, edges...)
}

// density divides h by its sum and by the volume of each bin.
func (c *call) density(h *exir.Value, edges []*exir.Value) *exir.Value {
	h = c.op("div.Tensor", h, c.op("sum.dim_IntList", h, exir.Arg{}))
	for k, e := range edges {
		width := c.op("sub.Tensor", c.tail(e, 0), c.head(e, 0))
		shape := slices.Repeat([]int64{1}, len(edges))
		shape[k] = size(width, 0)
		h = c.op("div.Tensor", h, c.view(width, shape...))
	}
	return h
}

// binEdges are argument bins for dimension k: a tensor of edges, or a number of bins over argument range or over x.
func (c *call) binEdges(x *exir.Value, k int) *exir.Value {
	bins := c.arg("bins")
	if bins.Kind == exir.ArgList {
		bins = bins.List[k]
	}
	if bins.Kind == exir.ArgValue {
		return bins.Value
	}
	lo, hi, given := 0.0, 0.0, c.has("range")
	if given {
		r := c.arg("range").List
		lo, hi = number64(r[2*k]), number64(r[2*k+1])
	}
	return c.edgesOf(x, int(bins.Int), lo, hi, given)
}

func number64(a exir.Arg) float64 {
	if a.Kind == exir.ArgFloat {
		return a.Float
	}
	return float64(a.Int)
}

// segmentReduce reduces runs of rows along an axis, whose lengths, or whose ends, are given for every leading index.
func segmentReduce(c *call) []*exir.Value {
	x, kind := c.t("data"), c.arg("reduce").Str
	axis := dim(c.n("axis"), rank(x))
	n := size(x, axis)
	var lengths, ends *exir.Value
	if lengths = c.t("lengths"); lengths != nil {
		ends = c.op("cumsum", lengths, -1)
	} else {
		offsets := c.t("offsets")
		ends = c.tail(offsets, axis)
		lengths = c.op("sub.Tensor", ends, c.head(offsets, axis))
	}
	segments := size(lengths, -1)
	lead := sizes(x)[:axis]
	at := c.op("searchsorted.Tensor", ends, c.expand(c.arange(n), append(slices.Clone(lead), n)), exir.KW{Name: "right", Arg: true})
	spread := func(v *exir.Value, size int64) *exir.Value {
		return c.view(v, append(append(slices.Clone(lead), size), slices.Repeat([]int64{1}, rank(x)-axis-1)...)...)
	}
	shape := sizes(x)
	shape[axis] = c.shapes().Add(segments, 1)
	start := c.like(x, c.segmentStart(kind), shape...)
	reduce := map[string]string{"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}[kind]
	y := c.op("scatter_reduce.two", start, axis, c.expand(spread(at, n), sizes(x)), x, reduce)
	y = c.slice(y, axis, 0, segments)
	if kind != "mean" {
		return one(y)
	}
	count := c.to(spread(lengths, segments), x.Spec.DType)
	if c.has("initial") {
		count = c.op("clamp", count, 1, exir.Arg{})
	}
	return one(c.op("div.Tensor", y, count)) // without an initial value an empty segment's is 0/0
}

// segmentStart is the value of an empty segment.
func (c *call) segmentStart(kind string) any {
	switch {
	case c.has("initial"):
		return c.f("initial")
	case kind == "prod":
		return 1.0
	case kind == "max":
		return math.Inf(-1)
	case kind == "min":
		return math.Inf(1)
	}
	return 0.0
}

// embeddingBag sums, averages or takes the maximum of rows of a table, bag by bag. Rows with padding_idx do not count.
func embeddingBag(c *call) []*exir.Value {
	w, at, offsets := c.t("weight"), c.t("indices"), c.t("offsets")
	bags := size(offsets, 0)
	if c.bool("include_last_offset") {
		bags = c.shapes().Sub(bags, 1)
		offsets = c.slice(offsets, 0, 0, bags)
	}
	n := size(at, 0)
	right := exir.KW{Name: "right", Arg: true}
	bag := c.op("sub.Scalar", c.op("searchsorted.Tensor", c.to(offsets, tensor.Long), c.arange(n), right), 1)
	if pad := c.paddingIndex(w); pad >= 0 {
		bag = c.op("where.self", c.op("eq.Scalar", at, pad), c.number(tensor.Long, bags), bag)
	}
	rows := c.op("embedding", w, at)
	if s := c.t("per_sample_weights"); s != nil {
		rows = c.mul(rows, c.unsqueeze(s, 1))
	}
	zeros := c.like(rows, 0, c.shapes().Add(bags, 1), size(w, 1))
	to := c.expand(c.unsqueeze(bag, 1), sizes(rows))
	kind := "sum"
	if c.n("mode") == 2 {
		kind = "amax"
	} else if c.n("mode") == 1 {
		kind = "mean"
	}
	y := c.op("scatter_reduce.two", zeros, 0, to, rows, kind, exir.KW{Name: "include_self", Arg: kind == "sum"})
	return []*exir.Value{c.slice(y, 0, 0, bags), nil, nil, nil}
}

// paddingIndex is the row of w that does not count, or -1. Only embedding_bag.padding_idx counts rows from the back.
func (c *call) paddingIndex(w *exir.Value) int64 {
	if c.s.Arg("padding_idx") < 0 || !c.has("padding_idx") {
		return -1
	}
	pad := c.i("padding_idx")
	if pad < 0 && c.s.Name == "aten::embedding_bag.padding_idx" {
		pad += fixed(w, 0)
	}
	return pad
}
