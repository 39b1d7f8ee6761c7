package functionalize

import (
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// layout gives the strides of a view, in elements, from those of what it shows.
type layout func(in []tensor.Dim) []tensor.Dim

// strides are those that c has in PyTorch, in elements; nil where they are not known. They tell whether a reshape
// shares memory, and nothing else: values here are dense.
func (s *state) strides(c *cell) []tensor.Dim {
	if c.src == nil {
		return s.dense(c.val.Spec.Sizes, c.order)
	}
	in := s.strides(c.src)
	if in == nil || c.how.lay == nil {
		return nil
	}
	return c.how.lay(in)
}

// orderOf is the order in which PyTorch lays v, which for some operators is not that of the fake tensor that torch.export
// describes: those pass their argument's on, and the kernels do not.
func orderOf(v *exir.Value) []uint8 {
	if v.Node != nil {
		switch v.Node.Op.Name {
		case "aten::pow.Scalar", "aten::float_power.Scalar", "aten::log_sigmoid", "aten::rrelu", "aten::isin.Tensor_Tensor",
			"aten::max_pool1d", "aten::upsample_nearest1d.vec":
			return nil
		case "aten::batch_norm": // channels last stays
			return v.Spec.DimOrder
		}
	}
	if v.Order == nil {
		return v.Spec.DimOrder
	}
	return v.Order
}

// dense are the strides of a tensor whose dimensions follow each other in order, outermost first; nil is row-major.
func (s *state) dense(sizes []tensor.Dim, order []uint8) []tensor.Dim {
	strides := make([]tensor.Dim, len(sizes))
	next := tensor.Dim(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		d := i
		if order != nil {
			d = int(order[i])
		}
		strides[d] = next
		next = s.shapes.Mul(next, sizes[d])
	}
	return strides
}

// rowMajor reports that the elements of c lie one after another in row-major order, so that contiguous() does nothing.
func (s *state) rowMajor(c *cell) bool {
	sizes, strides := c.val.Spec.Sizes, s.strides(c)
	if strides == nil {
		return false
	}
	for d, want := range s.dense(sizes, nil) {
		if sizes[d] != 1 && s.shapes.Equal(strides[d], want) != tensor.Yes {
			return false
		}
	}
	return true
}

// reshapedStrides are the strides with which a tensor of these sizes and strides can be seen as one of sizes to; nil
// where that needs a copy (ATen's computeStride). A comparison of symbols that has no answer counts as unequal.
func (s *state) reshapedStrides(sizes, strides, to []tensor.Dim) []tensor.Dim {
	out := make([]tensor.Dim, len(to))
	last := len(to) - 1
	for d := len(sizes) - 1; d >= 0; d-- {
		// A run of dimensions that follow each other without a gap, from d downwards.
		base, room := strides[d], sizes[d]
		for d > 0 && (sizes[d-1] == 1 || s.shapes.Equal(strides[d-1], s.shapes.Mul(room, base)) == tensor.Yes) {
			d--
			room = s.shapes.Mul(room, sizes[d])
		}
		used := tensor.Dim(1)
		for last >= 0 && (s.shapes.Equal(used, room) != tensor.Yes || to[last] == 1) {
			out[last] = s.shapes.Mul(used, base)
			used = s.shapes.Mul(used, to[last])
			last--
		}
		if s.shapes.Equal(used, room) != tensor.Yes {
			return nil
		}
	}
	for ; last >= 0; last-- {
		if to[last] != 1 {
			return nil
		}
		out[last] = 1
	}
	return out
}

// shares reports whether the reshape n shows its argument c rather than a copy of it.
func (s *state) shares(n *exir.Node, c *cell, to []tensor.Dim) bool {
	switch n.Op.Base() {
	case "view", "view_as", "_unsafe_view", "unflatten": // where PyTorch cannot show it, it refuses
		return true
	}
	strides := s.strides(c)
	return strides != nil && (s.empty(to) || s.reshapedStrides(c.val.Spec.Sizes, strides, to) != nil)
}

func (s *state) empty(sizes []tensor.Dim) bool {
	return s.shapes.Equal(s.shapes.Product(sizes), 0) == tensor.Yes
}

// reshapeLayout is the layout of a reshape from sizes to sizes.
func (s *state) reshapeLayout(from, to []tensor.Dim) layout {
	return func(in []tensor.Dim) []tensor.Dim {
		if s.empty(to) {
			return s.dense(to, nil)
		}
		return s.reshapedStrides(from, in, to)
	}
}

// picked is the layout of a view whose dimension i is dimension dims[i] of what it shows.
func picked(dims []int64) layout {
	return func(in []tensor.Dim) []tensor.Dim {
		out := make([]tensor.Dim, len(dims))
		for i, d := range dims {
			out[i] = in[d]
		}
		return out
	}
}

// stepped is the layout of a view of every step-th index of dimension dim; one of an unknown step has none.
func (s *state) stepped(dim int, step exir.Arg) layout {
	if step.Kind != exir.ArgInt {
		return nil
	}
	return func(in []tensor.Dim) []tensor.Dim {
		out := append([]tensor.Dim(nil), in...)
		out[dim] = s.shapes.Mul(in[dim], step.Int)
		return out
	}
}

// without is the layout of a view that lacks dimension dim.
func without(dim int) layout {
	return func(in []tensor.Dim) []tensor.Dim {
		return append(append([]tensor.Dim(nil), in[:dim]...), in[dim+1:]...)
	}
}

// widened is the layout of expand from sizes in to out: new and repeated dimensions have stride 0.
func (s *state) widened(from, to []tensor.Dim) layout {
	return func(in []tensor.Dim) []tensor.Dim {
		out := make([]tensor.Dim, len(to))
		for i := range from {
			at := len(to) - len(from) + i
			if s.shapes.Equal(from[i], to[at]) == tensor.Yes {
				out[at] = in[i]
			}
		}
		return out
	}
}

// onDiagonal is the layout of diagonal(dim1, dim2): the others, then the sum of the two.
func (s *state) onDiagonal(dim1, dim2 int) layout {
	return func(in []tensor.Dim) []tensor.Dim {
		var out []tensor.Dim
		for d := range in {
			if d != dim1 && d != dim2 {
				out = append(out, in[d])
			}
		}
		return append(out, s.shapes.Add(in[dim1], in[dim2]))
	}
}

// strided rewrites as_strided, which counts in the memory that its argument lies in: it is a view of the tensor that has
// that memory, which must be in row-major order.
func strided(s *state, n *exir.Node) error {
	c := s.cell(n.Args[0].Value)
	args := slices.Clone(n.Args[1:])
	root := c
	for root.src != nil {
		root = root.src
	}
	if offset := &args[len(args)-1]; root != c && offset.Kind == exir.ArgNone {
		at, ok := s.start(c)
		if !ok {
			return fmt.Errorf("rewrite as_strided: it is not known where its argument begins; give it a storage_offset, or call contiguous() first")
		}
		*offset = integer(at)
	}
	if !s.rowMajor(root) {
		return fmt.Errorf("rewrite as_strided: its argument's memory is not in row-major order; call contiguous() on it first, or write it with slices")
	}
	back := func(s *state, src, val *exir.Value) *exir.Value {
		return s.emit("aten::as_strided_scatter", src.Spec, append([]exir.Arg{value(src), value(val)}, args...)...)
	}
	out := n.Outs[0]
	s.emitTo(n.Outs, "aten::as_strided_copy", append([]exir.Arg{value(s.content(root))}, args...)...)
	s.cells[out] = &cell{val: out, stamp: root.store.version, store: root.store, src: root,
		how: view{op: "aten::as_strided_copy", args: args, back: back, lay: given(args[1])}}
	return nil
}

// given is the layout that a list of numbers is; one with others among them is none.
func given(list exir.Arg) layout {
	strides := make([]tensor.Dim, len(list.List))
	for i, a := range list.List {
		if a.Kind != exir.ArgInt {
			return nil
		}
		strides[i] = a.Int
	}
	return func([]tensor.Dim) []tensor.Dim { return strides }
}

// start is where the first element of c lies in its memory; false where that is not known.
func (s *state) start(c *cell) (tensor.Dim, bool) {
	if c.src == nil {
		return 0, true
	}
	base, known := s.start(c.src)
	switch strides := s.strides(c.src); c.how.op {
	case "aten::slice_copy.Tensor", "aten::select_copy.int":
		dim, at := c.how.args[0].Int, c.how.args[1]
		if at.Kind == exir.ArgNone {
			return base, known
		}
		if at.Kind != exir.ArgInt || strides == nil {
			return 0, false
		}
		i, size := at.Int, c.src.val.Spec.Sizes[dim]
		if i < 0 && !tensor.IsSymbol(i) {
			i = s.shapes.Add(size, i)
		}
		return s.shapes.Add(base, s.shapes.Mul(i, strides[dim])), known
	case "aten::as_strided_copy":
		at := c.how.args[2]
		return at.Int, at.Kind == exir.ArgInt
	case "aten::diagonal_copy", "aten::view_copy.dtype":
		return 0, false
	}
	return base, known
}
