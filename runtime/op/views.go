package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errNumel = errors.New("check view: sizes do not keep the number of elements")
	errDims  = errors.New("check dimensions: wrong number of dimensions")
	errIndex = errors.New("check index: out of range")
	errSizes = errors.New("check sizes: shapes do not agree")
	errStep  = errors.New("check step: must be positive")
)

// The rows of operators that give a view of their input as a copy.
var (
	ViewCopy = Def{
		Schema:     "aten::view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::view_copy", Infer: inferView, Tags: Core | View,
	}
	PermuteCopy = Def{
		Schema:     "aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::permute_copy", Infer: inferPermute, Tags: Core,
	}
	TransposeCopy = Def{
		Schema:     "aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::transpose_copy.int", Infer: inferTranspose,
	}
	TCopy = Def{
		Schema:     "aten::t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::t_copy", Infer: inferT,
	}
	ExpandCopy = Def{
		Schema:     "aten::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::expand_copy", Infer: inferExpand, Tags: Core,
	}
	UnsqueezeCopy = Def{
		Schema:     "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::unsqueeze_copy", Infer: inferUnsqueeze, Tags: Core | View,
	}
	SqueezeCopyDim = Def{
		Schema:     "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::squeeze_copy.dim", Infer: inferSqueeze, Tags: Core | View,
	}
	SqueezeCopyDims = Def{
		Schema:     "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::squeeze_copy.dims", Infer: inferSqueeze, Tags: Core | View,
	}
	SliceCopy = Def{
		Schema:     "aten::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::slice_copy.Tensor", Infer: inferSlice, Tags: Core,
	}
	SelectCopy = Def{
		Schema:     "aten::select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::select_copy.int", Infer: inferSelect, Tags: Core,
	}
	NarrowCopy = Def{
		Schema:     "aten::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::narrow_copy", Infer: inferNarrow,
	}
	DiagonalCopy = Def{
		Schema:     "aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::diagonal_copy", Infer: inferDiagonal, Tags: Core,
	}
	UnfoldCopy = Def{
		Schema:     "aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::unfold_copy", Infer: inferUnfold,
	}
	AsStridedCopy = Def{
		Schema:     "aten::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::as_strided_copy", Infer: inferAsStrided, Tags: Core,
	}
	Flip = Def{
		Schema:     "aten::flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::flip", Infer: inferFlip, Tags: Core,
	}
)

// startOut makes Out[0] an empty contiguous shape of argument 0's type.
func startOut(c *Infer) (*tensor.Tensor, *tensor.Meta, error) {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return nil, nil, err
	}
	out := &c.Out[0]
	out.DType, out.Sizes, out.DimOrder = t.DType, out.Sizes[:0], out.DimOrder[:0]
	return t, out, nil
}

// inferView fills in a -1 and checks that the number of elements stays.
func inferView(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	out.Sizes = append(out.Sizes, c.Args[1].Ints...)
	hole, rest := -1, tensor.Dim(1)
	for i, d := range out.Sizes {
		switch {
		case d == -1 && hole < 0:
			hole = i
		case d < 0 && !tensor.IsSymbol(d):
			return errNumel
		default:
			rest = c.Shapes.Mul(rest, d)
		}
	}
	numel := c.Shapes.Product(t.Sizes)
	if hole >= 0 {
		if rest == 0 {
			return errNumel
		}
		out.Sizes[hole] = c.Shapes.FloorDiv(numel, rest)
		rest = c.Shapes.Mul(rest, out.Sizes[hole])
	}
	if c.Shapes.Equal(numel, rest) == tensor.No {
		return errNumel
	}
	return nil
}

func inferPermute(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	dims := c.Args[1].Ints
	if len(dims) != t.Rank() {
		return errDims
	}
	seen := uint32(0)
	for _, dim := range dims {
		d, err := WrapDim(dim, t.Rank())
		if err != nil {
			return err
		}
		if seen>>d&1 != 0 {
			return errDimTwice
		}
		seen |= 1 << d
		out.Sizes = append(out.Sizes, t.Sizes[d])
	}
	return nil
}

func inferTranspose(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	a, err := WrapDim(c.Args[1].Int, t.Rank())
	if err != nil {
		return err
	}
	b, err := WrapDim(c.Args[2].Int, t.Rank())
	if err != nil {
		return err
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	if t.Rank() > 0 {
		out.Sizes[a], out.Sizes[b] = out.Sizes[b], out.Sizes[a]
	}
	return nil
}

func inferT(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if t.Rank() > 2 {
		return errDims
	}
	for i := range t.Sizes {
		out.Sizes = append(out.Sizes, t.Sizes[len(t.Sizes)-1-i])
	}
	return nil
}

func inferExpand(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	sizes := c.Args[1].Ints
	lead := len(sizes) - t.Rank()
	if lead < 0 || len(sizes) > tensor.MaxRank {
		return errDims
	}
	for i, d := range sizes {
		switch {
		case d == -1 && i < lead:
			return errDims
		case d == -1:
			d = t.Sizes[i-lead]
		case i >= lead && t.Sizes[i-lead] != 1 && c.Shapes.Equal(d, t.Sizes[i-lead]) == tensor.No:
			return errSizes
		}
		out.Sizes = append(out.Sizes, d)
	}
	return nil
}

func inferUnsqueeze(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	d, err := WrapDim(c.Args[1].Int, t.Rank()+1)
	if err != nil {
		return err
	}
	if t.Rank() == tensor.MaxRank {
		return errRank
	}
	out.Sizes = append(append(append(out.Sizes, t.Sizes[:d]...), 1), t.Sizes[d:]...)
	return nil
}

// inferSqueeze drops the named dimensions that are 1; one whose size is not known stays.
func inferSqueeze(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	mask := uint32(0)
	if v := &c.Args[1]; v.Kind == Int || len(v.Ints) > 0 {
		if mask, err = dimMask(v, t.Rank()); err != nil {
			return err
		}
	}
	for i, d := range t.Sizes {
		if mask>>i&1 == 0 || d != 1 {
			out.Sizes = append(out.Sizes, d)
		}
	}
	return nil
}

// clampIndex makes a slice's bound count from 0 and lie in [0, size].
func clampIndex(s *tensor.Shapes, x, size tensor.Dim) tensor.Dim {
	if !tensor.IsSymbol(x) {
		switch {
		case x == math.MaxInt64:
			return size
		case x < 0:
			x = s.Add(x, size)
		}
	}
	switch s.Less(x, 0) {
	case tensor.Yes:
		return 0
	case tensor.Unknown:
		x = s.Max(x, 0)
	}
	switch s.Less(x, size) {
	case tensor.Yes:
		return x
	case tensor.No:
		return size
	}
	if s.Less(size, x) == tensor.No {
		return x
	}
	return s.Min(x, size)
}

// sliceRange is the start and the length of the slice start:end:step of a dimension.
func sliceRange(s *tensor.Shapes, start, end *Value, step, size tensor.Dim) (from, n tensor.Dim, err error) {
	if tensor.IsSymbol(step) || step <= 0 {
		return 0, 0, errStep
	}
	from = clampIndex(s, intOr(start, 0), size)
	to := clampIndex(s, intOr(end, math.MaxInt64), size)
	n = s.Sub(to, from)
	switch s.Less(n, 0) {
	case tensor.Yes:
		n = 0
	case tensor.Unknown:
		n = s.Max(n, 0)
	}
	if step != 1 {
		n = s.FloorDiv(s.Add(n, step-1), step)
	}
	return from, n, nil
}

// sliceArgs reads dim, start, end and step from args.
func sliceArgs(s *tensor.Shapes, args []Value, m *tensor.Meta) (dim int, from, n tensor.Dim, err error) {
	if m.Rank() == 0 {
		return 0, 0, 0, errDims
	}
	if dim, err = WrapDim(args[0].Int, m.Rank()); err != nil {
		return 0, 0, 0, err
	}
	from, n, err = sliceRange(s, &args[1], &args[2], args[3].Int, m.Sizes[dim])
	return dim, from, n, err
}

func inferSlice(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	dim, _, n, err := sliceArgs(c.Shapes, c.Args[1:], &t.Meta)
	if err != nil {
		return err
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	out.Sizes[dim] = n
	return nil
}

// selectIndex wraps index into [0, size).
func selectIndex(s *tensor.Shapes, index, size tensor.Dim) (tensor.Dim, error) {
	if !tensor.IsSymbol(index) && index < 0 {
		index = s.Add(index, size)
	}
	if s.Less(index, size) == tensor.No || s.Less(index, 0) == tensor.Yes {
		return 0, errIndex
	}
	return index, nil
}

func inferSelect(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		return errDims
	}
	d, err := WrapDim(c.Args[1].Int, t.Rank())
	if err != nil {
		return err
	}
	if _, err := selectIndex(c.Shapes, c.Args[2].Int, t.Sizes[d]); err != nil {
		return err
	}
	out.Sizes = append(append(out.Sizes, t.Sizes[:d]...), t.Sizes[d+1:]...)
	return nil
}

func inferNarrow(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		return errDims
	}
	d, err := WrapDim(c.Args[1].Int, t.Rank())
	if err != nil {
		return err
	}
	start, n := clampIndex(c.Shapes, c.Args[2].Int, t.Sizes[d]), c.Args[3].Int
	if c.Shapes.Less(n, 0) == tensor.Yes || c.Shapes.Less(t.Sizes[d], c.Shapes.Add(start, n)) == tensor.Yes {
		return errIndex
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	out.Sizes[d] = n
	return nil
}

// diagonalDims are the two wrapped dimensions of a diagonal.
func diagonalDims(args []Value, rank int) (a, b int, err error) {
	if rank < 2 {
		return 0, 0, errDims
	}
	if a, err = WrapDim(args[2].Int, rank); err != nil {
		return 0, 0, err
	}
	if b, err = WrapDim(args[3].Int, rank); err != nil {
		return 0, 0, err
	}
	if a == b {
		return 0, 0, errDimTwice
	}
	return a, b, nil
}

func inferDiagonal(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	a, b, err := diagonalDims(c.Args, t.Rank())
	if err != nil {
		return err
	}
	for i, d := range t.Sizes {
		if i != a && i != b {
			out.Sizes = append(out.Sizes, d)
		}
	}
	s, off := c.Shapes, c.Args[1].Int
	n := s.Min(s.Add(t.Sizes[a], min(off, 0)), s.Sub(t.Sizes[b], max(off, 0)))
	if s.Less(n, 0) != tensor.No {
		n = s.Max(n, 0)
	}
	out.Sizes = append(out.Sizes, n)
	return nil
}

func inferUnfold(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	d, err := WrapDim(c.Args[1].Int, t.Rank())
	if err != nil {
		return err
	}
	size, step := c.Args[2].Int, c.Args[3].Int
	if step <= 0 {
		return errStep
	}
	if t.Rank() == 0 {
		if size < 0 || size > 1 {
			return errSizes
		}
		out.Sizes = append(out.Sizes, size)
		return nil
	}
	if size < 0 || c.Shapes.Less(t.Sizes[d], size) == tensor.Yes || t.Rank() == tensor.MaxRank {
		return errSizes
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	out.Sizes[d] = c.Shapes.Add(c.Shapes.FloorDiv(c.Shapes.Sub(t.Sizes[d], size), step), 1)
	out.Sizes = append(out.Sizes, size)
	return nil
}

func inferAsStrided(c *Infer) error {
	_, out, err := startOut(c)
	if err != nil {
		return err
	}
	if len(c.Args[1].Ints) != len(c.Args[2].Ints) || len(c.Args[1].Ints) > tensor.MaxRank {
		return errDims
	}
	for _, d := range c.Args[1].Ints {
		if c.Shapes.Less(d, 0) == tensor.Yes {
			return errSizes
		}
	}
	out.Sizes = append(out.Sizes, c.Args[1].Ints...)
	return nil
}

func inferFlip(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if len(c.Args[1].Ints) > 0 {
		if _, err := dimMask(&c.Args[1], t.Rank()); err != nil {
			return err
		}
	}
	setLike(out, &t.Meta, t.DType)
	return nil
}
