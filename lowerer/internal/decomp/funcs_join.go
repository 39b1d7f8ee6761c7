package decomp

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// refineScatter leaves a scatter_reduce that only adds to scatter_add, which the official runtime has.
func refineScatter(c *call) []*exir.Value {
	if c.arg("reduce").Str != "sum" || !c.bool("include_self") {
		return nil
	}
	return one(c.op("scatter_add", c.t("self"), c.i("dim"), c.t("index"), c.t("src")))
}

// tensordot is a product of matrices: what is contracted comes last in self and first in other. A contracted dimension
// of size 1 on one side is summed on the other.
func tensordot(c *call) []*exir.Value {
	a, b := c.t("self"), c.t("other")
	da, db := slices.Clone(c.ints("dims_self")), slices.Clone(c.ints("dims_other"))
	for i := range da {
		da[i], db[i] = int64(dim(int(da[i]), rank(a))), int64(dim(int(db[i]), rank(b)))
		m, n := size(a, int(da[i])), size(b, int(db[i]))
		switch {
		case m == 1 && n != 1:
			b = c.op("sum.dim_IntList", b, []int64{db[i]}, true, exir.KW{Name: "dtype", Arg: b.Spec.DType})
		case n == 1 && m != 1:
			a = c.op("sum.dim_IntList", a, []int64{da[i]}, true, exir.KW{Name: "dtype", Arg: a.Spec.DType})
		}
	}
	restA, restB := others(rank(a), da), others(rank(b), db)
	pick := func(v *exir.Value, dims []int64) []int64 {
		out := make([]int64, len(dims))
		for i, d := range dims {
			out[i] = v.Spec.Sizes[d]
		}
		return out
	}
	out := append(pick(a, restA), pick(b, restB)...)
	k := c.shapes().Product(pick(a, da))
	m, n := c.shapes().Product(pick(a, restA)), c.shapes().Product(pick(b, restB))
	x := c.view(c.permute(a, append(restA, da...)...), m, k)
	y := c.view(c.permute(b, append(db, restB...)...), k, n)
	return one(c.view(c.op("mm", x, y), out...))
}

// others are the dimensions of rank that are not in dims.
func others(rank int, dims []int64) []int64 {
	var rest []int64
	for i := range int64(rank) {
		if !slices.Contains(dims, i) {
			rest = append(rest, i)
		}
	}
	return rest
}

// kron is the Kronecker product: element i·n+k of a dimension is a's element i times b's element k.
func kron(c *call) []*exir.Value {
	a, b := c.t("self"), c.t("other")
	n := max(rank(a), rank(b))
	wide := func(v *exir.Value) []int64 { return append(slices.Repeat([]int64{1}, n-rank(v)), sizes(v)...) }
	var left, right, out []int64
	for i, m := range wide(a) {
		k := wide(b)[i]
		left, right = append(left, m, 1), append(right, 1, k)
		out = append(out, c.shapes().Mul(m, k))
	}
	return one(c.view(c.mul(c.view(a, left...), c.view(b, right...)), out...))
}

// blockDiag puts matrices on the diagonal of a matrix of zeros.
func blockDiag(c *call) []*exir.Value {
	var rows []*exir.Value
	ts := c.tensors("tensors")
	width := int64(0)
	for i, t := range ts {
		if rank(t) < 2 {
			t = c.view(t, 1, c.shapes().Product(sizes(t)))
		}
		ts[i], width = t, c.shapes().Add(width, size(t, 1))
	}
	t := tensor.Undefined
	for _, v := range ts {
		t = op.Promote(t, v.Spec.DType)
	}
	before := int64(0)
	for _, v := range ts {
		after := c.shapes().Sub(c.shapes().Sub(width, before), size(v, 1))
		rows = append(rows, c.op("constant_pad_nd", c.to(v, t), []int64{before, after}, 0))
		before = c.shapes().Add(before, size(v, 1))
	}
	return one(c.op("cat", rows, 0))
}

// combinations are the increasing choices of r elements of a vector, as rows.
func combinations(c *call) []*exir.Value {
	x, r := c.t("self"), c.n("r")
	n := size(x, 0)
	if tensor.IsSymbol(n) {
		failf("combinations of a dynamic number of elements")
	}
	step := 1
	if c.bool("with_replacement") {
		step = 0
	}
	var at []float64
	choice := make([]int, r)
	var choose func(k, from int)
	choose = func(k, from int) {
		if k == r {
			for _, i := range choice {
				at = append(at, float64(i))
			}
			return
		}
		for i := from; i < int(n); i++ {
			choice[k] = i
			choose(k+1, i+step)
		}
	}
	if r == 0 {
		return one(c.op("full", []int64{0}, 0, exir.KW{Name: "dtype", Arg: x.Spec.DType}))
	}
	choose(0, 0)
	index := c.literal("choices", tensor.Long, []int64{int64(len(at) / r), int64(r)}, at)
	return one(c.op("index.Tensor", x, []*exir.Value{index}))
}

// cross is linalg_cross along the first dimension of size 3, unless one is given.
func cross(c *call) []*exir.Value {
	a, b := c.t("self"), c.t("other")
	common := c.broadcast(sizes(a), sizes(b))
	d := int64(slices.Index(common, 3))
	if c.has("dim") {
		d = c.i("dim")
	}
	if d < 0 && !c.has("dim") {
		failf("cross of sizes %v and %v: no dimension of size 3", a.Spec.Sizes, b.Spec.Sizes)
	}
	return one(c.op("linalg_cross", c.expand(a, common), c.expand(b, common), exir.KW{Name: "dim", Arg: d}))
}

// sumToSize sums what broadcasting to self's sizes had spread.
func sumToSize(c *call) []*exir.Value {
	x, want := c.t("self"), c.ints("size")
	lead := rank(x) - len(want)
	var gone, ones []int64
	for i := range rank(x) {
		switch {
		case i < lead:
			gone = append(gone, int64(i))
		case c.shapes().Equal(want[i-lead], 1) == tensor.Yes && c.shapes().Equal(size(x, i), 1) != tensor.Yes:
			ones = append(ones, int64(i))
		}
	}
	keep := exir.KW{Name: "dtype", Arg: c.sumType(x)}
	if len(gone)+len(ones) > 0 || len(want) == 0 { // ATen sums to no dimensions, also of a tensor that has none
		x = c.op("sum.dim_IntList", x, append(gone, ones...), true, keep)
	}
	return one(c.view(x, want...))
}

// sumType is the type in which sums of v are: integers are added as int64.
func (c *call) sumType(v *exir.Value) tensor.ScalarType {
	if v.Spec.DType.IsFloat() {
		return v.Spec.DType
	}
	return tensor.Long
}

// resized is resize and resize_as: the elements in order, zeros where there are none.
func resized(c *call) []*exir.Value {
	x := c.t("self")
	var want []int64
	if c.s.Arg("the_template") >= 0 {
		want = sizes(c.t("the_template"))
	} else {
		want = c.ints("size")
	}
	flat := c.view(x, c.shapes().Product(sizes(x)))
	n, m := size(flat, 0), c.shapes().Product(want)
	switch {
	case c.shapes().Less(n, m) == tensor.Yes:
		flat = c.op("constant_pad_nd", flat, []int64{0, c.shapes().Sub(m, n)}, 0)
	case c.shapes().Less(m, n) == tensor.Yes:
		flat = c.slice(flat, 0, 0, m)
	}
	return one(c.view(flat, want...))
}

// chunkCat pads every tensor so that it splits into num_chunks along dim, flattens what follows, and joins the chunks.
func chunkCat(c *call) []*exir.Value {
	ts, k := c.tensors("tensors"), c.i("num_chunks")
	d := dim(c.n("dim"), rank(ts[0]))
	for i, t := range ts {
		n := size(t, d)
		each := c.shapes().FloorDiv(c.shapes().Add(n, k-1), k)
		by := make([]int64, 2*(rank(t)-d))
		by[len(by)-1] = c.shapes().Sub(c.shapes().Mul(each, k), n)
		if by[len(by)-1] != 0 {
			t = c.op("constant_pad_nd", t, by, 0)
		}
		rest := c.shapes().Mul(each, c.shapes().Product(sizes(t)[d+1:]))
		ts[i] = c.view(t, append(sizes(t)[:d], k, rest)...)
	}
	return one(c.op("cat", ts, d+1))
}

// fftShift rolls dimensions by half of their sizes, the inverse by the other half.
func fftShift(c *call) []*exir.Value {
	x, dims := c.t("self"), c.ints("dim")
	if !c.has("dim") {
		dims = iota64(rank(x))
	}
	for _, d := range dims {
		by := c.shapes().FloorDiv(size(x, int(d)), 2)
		if c.s.Base() == "fft_ifftshift" {
			by = c.shapes().Sub(size(x, int(d)), by)
		}
		x = c.rolled(x, int(d), by)
	}
	return one(x)
}

// addbmm adds a sum of products, which is one product of wider matrices.
func addbmm(c *call) []*exir.Value {
	a, b := c.t("batch1"), c.t("batch2")
	k := c.shapes().Mul(size(a, 0), size(a, 2))
	x := c.view(c.permute(a, 1, 0, 2), size(a, 1), k)
	return c.blend(c.op("mm", x, c.view(b, k, size(b, 2))))
}

// unpool is max_unpool2d and max_unpool3d: values go to where they came from in their plane, the rest is zero.
func unpool(c *call) []*exir.Value {
	x, at, out := c.t("self"), c.t("indices"), c.ints("output_size")
	n := len(out)
	lead := sizes(x)[:rank(x)-n]
	rows, plane := c.shapes().Product(lead), c.shapes().Product(out)
	inner := c.shapes().Product(sizes(x)[len(lead):])
	zeros := c.op("full", []int64{rows, plane}, 0, exir.KW{Name: "dtype", Arg: x.Spec.DType})
	y := c.op("scatter.src", zeros, 1, c.view(at, rows, inner), c.view(x, rows, inner))
	return one(c.view(y, append(slices.Clone(lead), out...)...))
}

// maxPoolBackward adds each gradient to where its maximum was.
func maxPoolBackward(c *call) []*exir.Value {
	x, g, at := c.t("self"), c.t("grad_output"), c.t("indices")
	lead := sizes(x)[:rank(x)-2]
	rows := c.shapes().Product(lead)
	plane, inner := c.shapes().Mul(size(x, -2), size(x, -1)), c.shapes().Mul(size(g, -2), size(g, -1))
	zeros := c.op("full", []int64{rows, plane}, 0, exir.KW{Name: "dtype", Arg: x.Spec.DType})
	y := c.op("scatter_add", zeros, 1, c.view(at, rows, inner), c.view(g, rows, inner))
	return one(c.view(y, sizes(x)...))
}

// maskedIndices are argument indices with what lies outside of x moved to its ends: a mask hides what is read there.
func (c *call) maskedIndices(x *exir.Value) []exir.Arg {
	list := slices.Clone(c.arg("indices").List)
	for i, a := range list {
		if a.Kind == exir.ArgValue {
			list[i] = exir.ToArg(c.op("clamp", a.Value, 0, c.shapes().Sub(size(x, i), 1)))
		}
	}
	return list
}

// maskedIndex is _unsafe_masked_index: x at indices where mask is true, fill elsewhere.
func maskedIndex(c *call) []*exir.Value {
	x := c.t("self")
	y := c.op("index.Tensor", x, exir.Arg{Kind: exir.ArgList, List: c.maskedIndices(x)})
	return one(c.op("where.self", c.t("mask"), y, c.scalar(x.Spec.DType, c.f("fill"))))
}

func maskedIndexPut(c *call) []*exir.Value {
	x, v := c.t("self"), c.t("values")
	v = c.op("where.self", c.t("mask"), v, c.scalar(v.Spec.DType, 0))
	return one(c.op("index_put", x, exir.Arg{Kind: exir.ArgList, List: c.maskedIndices(x)}, v, true))
}

// vander is powers 0 to N-1 of each element, as products.
func vander(c *call) []*exir.Value {
	x := c.vector(c.t("x"))
	n := size(x, -1)
	if c.has("N") {
		n = c.i("N")
	}
	t := c.sumType(x)
	ones := c.op("full", append(sizes(x), 1), 1, exir.KW{Name: "dtype", Arg: t})
	if n == 1 {
		return one(ones)
	}
	rows := c.expand(c.unsqueeze(x, -1), append(sizes(x), c.shapes().Sub(n, 1)))
	return one(c.op("cat", []*exir.Value{ones, c.op("cumprod", rows, -1)}, -1))
}

// nonzeroStatic puts the places of the nonzero elements into rows, as many as size, and fill_value into those left.
func nonzeroStatic(c *call) []*exir.Value {
	x, n := c.t("self"), c.i("size")
	total := c.shapes().Product(sizes(x))
	flat := c.op("ne.Scalar", c.view(x, total), 0)
	place := c.op("sub.Scalar", c.op("cumsum", flat, 0), 1)
	place = c.op("where.self", c.op("logical_and", flat, c.op("lt.Scalar", place, n)), place, c.number(tensor.Long, n))
	var columns []*exir.Value
	step := total
	for i := range rank(x) {
		step = c.shapes().FloorDiv(step, max(size(x, i), 1))
		at := c.op("div.Scalar_mode", c.arange(total), max(step, 1), exir.KW{Name: "rounding_mode", Arg: "floor"})
		columns = append(columns, c.unsqueeze(c.op("remainder.Scalar", at, max(size(x, i), 1)), 1))
	}
	empty := c.op("full", []int64{c.shapes().Add(n, 1), int64(rank(x))}, c.i("fill_value"), exir.KW{Name: "dtype", Arg: tensor.Long})
	if len(columns) == 0 {
		return one(c.slice(empty, 0, 0, n))
	}
	y := c.op("index_put", empty, []*exir.Value{place}, c.op("cat", columns, 1))
	return one(c.slice(y, 0, 0, n))
}

// pairDistances is the distance of each pair of rows.
func pairDistances(c *call) []*exir.Value {
	x := c.t("self")
	n := size(x, 0)
	if tensor.IsSymbol(n) {
		failf("pdist of a dynamic number of rows")
	}
	var left, right []float64
	for i := range n {
		for j := i + 1; j < n; j++ {
			left, right = append(left, float64(i)), append(right, float64(j))
		}
	}
	rows := func(at []float64) *exir.Value {
		return c.op("index_select", x, 0, c.literal("pairs", tensor.Long, []int64{int64(len(at))}, at))
	}
	return one(c.op("linalg_vector_norm", c.op("sub.Tensor", rows(left), rows(right)), c.f("p"), []int64{1}))
}

// repeatRows is repeat_interleave with a count for each row.
func repeatRows(c *call) []*exir.Value {
	x, n := c.t("self"), c.t("repeats")
	d := 0
	if c.has("dim") {
		d = dim(c.n("dim"), rank(x))
	} else {
		x = c.view(x, c.shapes().Product(sizes(x)))
	}
	n = c.expand(c.view(n, c.shapes().Product(sizes(n))), []int64{size(x, d)})
	total := c.arg("output_size")
	if total.Kind == exir.ArgNone && len(c.outs) > 0 && c.outs[0] != nil {
		total = exir.ToArg(size(c.outs[0], d))
	}
	at := c.op("repeat_interleave.Tensor", n, exir.KW{Name: "output_size", Arg: total})
	if !c.has("output_size") && at.Node != nil {
		at.Node.Args[at.Node.Op.Arg("output_size")] = exir.Arg{} // its value is known by then, not before
	}
	return one(c.op("index_select", x, d, at))
}

// columnStack joins columns, which vectors and numbers become first.
func columnStack(c *call) []*exir.Value {
	ts := c.tensors("tensors")
	for i, t := range ts {
		if rank(t) < 2 {
			ts[i] = c.view(t, c.shapes().Product(sizes(t)), 1)
		}
	}
	return one(c.op("cat", ts, 1))
}

// padSequence stacks tensors of different lengths, filled up to the longest at their ends, or by padding_side in front.
func padSequence(c *call) []*exir.Value {
	list, longest := c.tensors("sequences"), int64(0)
	for _, v := range list {
		longest = max(longest, fixed(v, 0))
	}
	stacked := make([]*exir.Value, len(list))
	for i, v := range list {
		pads := make([]int64, 2*rank(v)) // as constant_pad_nd wants it: the last dimension first
		after := len(pads) - 1
		if c.arg("padding_side").Str == "left" {
			after--
		}
		pads[after] = longest - fixed(v, 0)
		stacked[i] = c.op("constant_pad_nd", v, pads, c.f("padding_value"))
	}
	along := 1
	if c.bool("batch_first") {
		along = 0
	}
	return one(c.op("stack", stacked, along))
}
