package decomp

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pad is torch.nn.functional.pad in all its modes.
func pad(c *call) []*exir.Value {
	x, by := c.t("self"), c.ints("pad")
	mode := c.arg("mode").Str
	if mode == "constant" || mode == "" {
		value := c.arg("value")
		if value.Kind == exir.ArgNone {
			value = exir.ToArg(0)
		}
		return one(c.op("constant_pad_nd", x, by, value))
	}
	names := map[string]string{"reflect": "reflection", "replicate": "replication"}
	if name, ok := names[mode]; ok && len(by) <= 6 {
		return one(c.op(name+"_pad"+string(rune('0'+len(by)/2))+"d", x, by))
	}
	if mode != "circular" {
		failf("pad: mode %q of %d dimensions", mode, len(by)/2)
	}
	return one(c.circular(x, by))
}

// circular continues x periodically; a negative width cuts.
func (c *call) circular(x *exir.Value, by []int64) *exir.Value {
	for i := 0; i+1 < len(by); i += 2 {
		d := rank(x) - 1 - i/2
		x = c.slice(x, d, max(-by[i], 0), c.shapes().Sub(size(x, d), max(-by[i+1], 0)))
		n := size(x, d)
		parts := []*exir.Value{x}
		if by[i] > 0 {
			parts = append([]*exir.Value{c.slice(x, d, c.shapes().Sub(n, by[i]), n)}, parts...)
		}
		if by[i+1] > 0 {
			parts = append(parts, c.slice(x, d, 0, by[i+1]))
		}
		if len(parts) > 1 {
			x = c.op("cat", parts, d)
		}
	}
	return x
}

func (c *call) rolled(x *exir.Value, d int, shift int64) *exir.Value {
	n := size(x, d)
	if n == 0 {
		return x
	}
	at := c.shapes().Mod(c.shapes().Mul(shift, -1), n)
	if at == 0 {
		return x
	}
	return c.op("cat", []*exir.Value{c.slice(x, d, at, n), c.slice(x, d, 0, at)}, d)
}

func rot90(c *call) []*exir.Value {
	x, dims := c.t("self"), c.ints("dims")
	a, b := dims[0], dims[1]
	switch ((c.i("k") % 4) + 4) % 4 {
	case 1:
		return one(c.transpose(c.op("flip", x, []int64{b}), int(a), int(b)))
	case 2:
		return one(c.op("flip", x, []int64{a, b}))
	case 3:
		return one(c.op("flip", c.transpose(x, int(a), int(b)), []int64{b}))
	}
	return one(c.op("clone", x))
}

// meshgrid expands each operand over the others' dimensions.
func meshgrid(c *call) []*exir.Value {
	ts := c.tensors("tensors")
	swap := c.s.Arg("indexing") >= 0 && c.arg("indexing").Str == "xy" && len(ts) >= 2
	if swap {
		ts[0], ts[1] = ts[1], ts[0]
	}
	out := make([]int64, len(ts))
	for i, t := range ts {
		out[i] = c.shapes().Product(sizes(t))
	}
	grids := make([]*exir.Value, len(ts))
	for i, t := range ts {
		shape := slices.Repeat([]int64{1}, len(ts))
		shape[i] = out[i]
		grids[i] = c.expand(c.view(t, shape...), out)
	}
	if swap {
		grids[0], grids[1] = grids[1], grids[0]
	}
	return grids
}

func broadcastTensors(c *call) []*exir.Value {
	ts := c.tensors("tensors")
	var out []int64
	for _, t := range ts {
		out = c.broadcast(out, sizes(t))
	}
	for i := range ts {
		ts[i] = c.expand(ts[i], out)
	}
	return ts
}

// takeAlongDim is gather with broadcasting; a negative index counts from the end, as in NumPy.
func takeAlongDim(c *call) []*exir.Value {
	x, at := c.t("self"), c.t("indices")
	wrapped := func(n tensor.Dim) *exir.Value {
		return c.op("where.self", c.op("lt.Scalar", at, 0), c.op("add.Scalar", at, n), at)
	}
	if !c.has("dim") {
		flat := func(v *exir.Value) *exir.Value { return c.view(v, c.shapes().Product(sizes(v))) }
		at = wrapped(c.shapes().Product(sizes(x)))
		return one(c.op("gather", flat(x), 0, flat(at)))
	}
	d := dim(c.n("dim"), rank(x))
	at = wrapped(size(x, d))
	own, all := sizes(x), sizes(at)
	own[d], all[d] = 1, 1
	common := c.broadcast(own, all)
	wide := func(v *exir.Value) *exir.Value {
		out := slices.Clone(common)
		out[d] = size(v, d)
		return c.expand(v, out)
	}
	return one(c.op("gather", wide(x), d, wide(at)))
}

func diagonal(c *call) []*exir.Value {
	x := c.t("self")
	if rank(x) == 1 {
		return one(c.embed(x, c.n("diagonal"), 0, 1))
	}
	return one(c.op("diagonal_copy", x, c.i("diagonal"), 0, 1))
}

func diagEmbed(c *call) []*exir.Value {
	return one(c.embed(c.t("self"), c.n("offset"), c.n("dim1"), c.n("dim2")))
}

// embed puts the last dimension of x on a diagonal of two new dimensions.
func (c *call) embed(x *exir.Value, offset, d1, d2 int) *exir.Value {
	n := rank(x) + 1
	d1, d2 = dim(d1, n), dim(d2, n)
	side := c.shapes().Add(size(x, -1), int64(max(offset, -offset)))
	lead := slices.Repeat([]int64{0}, 2*rank(x))
	lead[0], lead[1] = int64(max(offset, 0)), int64(max(-offset, 0))
	if offset != 0 { // by column: x shifted to column i+offset
		x = c.op("constant_pad_nd", x, lead, 0)
	}
	columns := c.unsqueeze(x, -2)
	on := c.op("eq.Tensor", c.arange(side), c.unsqueeze(c.op("add.Scalar", c.arange(side), offset), 1))
	y := c.op("where.self", on, columns, c.scalar(x.Spec.DType, 0))
	return c.placeLast(y, d1, d2)
}

// placeLast moves the last two dimensions of v to d1 and d2.
func (c *call) placeLast(v *exir.Value, d1, d2 int) *exir.Value {
	n := rank(v)
	dims := make([]int64, n)
	next := int64(0)
	for i := range dims {
		switch i {
		case d1:
			dims[i] = int64(n - 2)
		case d2:
			dims[i] = int64(n - 1)
		default:
			dims[i] = next
			next++
		}
	}
	return c.permute(v, dims...)
}

// diagonalScatter writes src over a diagonal: what lies there is taken from src embedded.
func diagonalScatter(c *call) []*exir.Value {
	x, src := c.t("self"), c.t("src")
	d1, d2, offset := dim(c.n("dim1"), rank(x)), dim(c.n("dim2"), rank(x)), c.n("offset")
	h, w := size(x, d1), size(x, d2)
	s := c.shapes()
	length := size(src, -1)
	// Element i of src belongs to column i + max(offset, 0).
	after := s.Sub(s.Sub(w, length), int64(max(offset, 0)))
	columns := c.op("constant_pad_nd", src, []int64{int64(max(offset, 0)), after}, 0)
	on := c.op("eq.Tensor", c.arange(w), c.unsqueeze(c.op("add.Scalar", c.arange(h), offset), 1))
	var rest []int64
	for i := range rank(x) {
		if i != d1 && i != d2 {
			rest = append(rest, int64(i))
		}
	}
	last := c.permute(x, append(rest, int64(d1), int64(d2))...)
	return one(c.placeLast(c.op("where.self", on, c.unsqueeze(columns, -2), last), d1, d2))
}

// nonzeroNumpy is one column of nonzero for each dimension.
func nonzeroNumpy(c *call) []*exir.Value {
	x := c.t(c.s.Args[0].Name)
	at := c.op("nonzero", x)
	if len(c.outs) > 0 && c.outs[0] != nil {
		at.Spec.Sizes = []int64{size(c.outs[0], 0), int64(rank(x))}
	}
	cols := make([]*exir.Value, rank(x))
	for i := range cols {
		cols[i] = c.op("select_copy.int", at, 1, i)
	}
	return cols
}

// im2col gathers the windows of an image.
func im2col(c *call) []*exir.Value {
	x := c.t("self")
	lone := rank(x) == 3
	if lone {
		x = c.unsqueeze(x, 0)
	}
	k, dil, p, st := c.spread("kernel_size", 2), c.spread("dilation", 2), c.spread("padding", 2), c.spread("stride", 2)
	x = c.op("constant_pad_nd", x, []int64{p[1], p[1], p[0], p[0]}, 0)
	n, ch := size(x, 0), size(x, 1)
	rows, oh := c.windows(size(x, 2), k[0], dil[0], st[0])
	cols, ow := c.windows(size(x, 3), k[1], dil[1], st[1])
	y := c.op("index_select", x, 2, rows)
	y = c.op("index_select", y, 3, cols)
	y = c.permute(c.view(y, n, ch, k[0], oh, k[1], ow), 0, 1, 2, 4, 3, 5)
	y = c.view(y, n, ch*k[0]*k[1], oh*ow)
	if lone {
		y = c.squeeze(y, 0)
	}
	return one(y)
}

// windows are the indices of every window's elements, by place in the window, and how many windows there are.
func (c *call) windows(n, kernel, dilation, stride int64) (*exir.Value, int64) {
	if tensor.IsSymbol(n) {
		failf("im2col of an image of dynamic size")
	}
	count := (n-dilation*(kernel-1)-1)/stride + 1
	var at []float64
	for i := range kernel {
		for w := range count {
			at = append(at, float64(i*dilation+w*stride))
		}
	}
	return c.literal("windows", tensor.Long, []int64{kernel * count}, at), count
}

// unbindCopy is a select for each index.
func unbindCopy(c *call) []*exir.Value {
	x, d := c.t("self"), c.n("dim")
	n := size(x, d)
	if tensor.IsSymbol(n) {
		failf("unbind of a dynamic dimension")
	}
	parts := make([]*exir.Value, n)
	for i := range parts {
		parts[i] = c.op("select_copy.int", x, d, i)
	}
	return parts
}

// nonempty pads each of dims that may be empty with one element.
func (c *call) nonempty(x *exir.Value, dims []int64, fill float64) *exir.Value {
	if rank(x) == 0 {
		return x
	}
	by := make([]int64, 2*rank(x)) // the last dimension first
	padded := false
	for _, d := range dims {
		if at := dim(int(d), rank(x)); tensor.IsSymbol(size(x, at)) {
			by[2*(rank(x)-1-at)+1] = 1
			padded = true
		}
	}
	if !padded {
		return x
	}
	return c.op("constant_pad_nd", x, by, fill)
}
