package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// A rule whose out variant has no dtype argument (full, arange, _to_copy, …)
// keeps the type that the caller has put into Infer.Out; the caller puts
// tensor.Undefined where the functional call leaves the type open.

var (
	errBroadcast = errors.New("broadcast: sizes differ and neither is 1")
	errRank      = errors.New("check rank: more than 16 dimensions")
	errNoTensor  = errors.New("infer shape: the operator wants a tensor here")
	errDim       = errors.New("wrap dimension: out of range")
	errDimTwice  = errors.New("wrap dimensions: a dimension appears twice")
)

// BroadcastSizes broadcasts sizes into dst, which holds the sizes so far, and
// returns dst or its larger successor. A comparison that is Unknown counts as equal.
func BroadcastSizes(s *tensor.Shapes, dst, sizes []tensor.Dim) ([]tensor.Dim, error) {
	if len(sizes) > tensor.MaxRank {
		return dst, errRank
	}
	if grow := len(sizes) - len(dst); grow > 0 {
		n := len(dst)
		for range grow {
			dst = append(dst, 1)
		}
		copy(dst[grow:], dst[:n])
		for i := range grow {
			dst[i] = 1
		}
	}
	tail := dst[len(dst)-len(sizes):]
	for i, d := range sizes {
		switch {
		case d == 1 || s.Equal(tail[i], d) == tensor.Yes:
		case tail[i] == 1:
			tail[i] = d
		case s.Equal(tail[i], d) == tensor.No:
			return dst, errBroadcast
		case !tensor.IsSymbol(d): // Unknown: a number says more than a symbol
			tail[i] = d
		}
	}
	return dst, nil
}

// broadcastArgs sets the sizes and the order of Out[0] to the broadcast of the tensor arguments.
func broadcastArgs(c *Infer) error {
	out := &c.Out[0]
	out.Sizes, out.DimOrder = out.Sizes[:0], out.DimOrder[:0]
	var err error
	for i := range c.Args {
		if t := c.Args[i].Tensor; t != nil {
			if out.Sizes, err = BroadcastSizes(c.Shapes, out.Sizes, t.Sizes); err != nil {
				return err
			}
		}
	}
	orderLikeArgs(c, out)
	return nil
}

// orderLikeArgs gives out the order of the first tensor argument that is as large as out.
func orderLikeArgs(c *Infer, out *tensor.Meta) {
	for i := range c.Args {
		t := c.Args[i].Tensor
		if t != nil && sameSizes(c.Shapes, t.Sizes, out.Sizes) {
			setOrder(out, t.DimOrder)
			return
		}
	}
}

// sameSizes reports whether a and b are known to be equal.
func sameSizes(s *tensor.Shapes, a, b []tensor.Dim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if s.Equal(a[i], b[i]) != tensor.Yes {
			return false
		}
	}
	return true
}

// mayBe reports whether two lists of as many sizes may be the same.
func mayBe(s *tensor.Shapes, a, b []tensor.Dim) bool {
	for i := range a {
		if s.Equal(a[i], b[i]) == tensor.No {
			return false
		}
	}
	return true
}

// setOrder copies a dim order, leaving it empty where it is the contiguous one.
func setOrder(m *tensor.Meta, order []uint8) {
	m.DimOrder = m.DimOrder[:0]
	for i, d := range order {
		if int(d) != i {
			m.DimOrder = append(m.DimOrder, order...)
			break
		}
	}
}

// argTensor is argument i, which must be a tensor.
func argTensor(args []Value, i int) (*tensor.Tensor, error) {
	if i >= len(args) || args[i].Tensor == nil {
		return nil, errNoTensor
	}
	return args[i].Tensor, nil
}

// inferLike: Out[0] is as argument 0.
func inferLike(c *Infer) error { return inferLikeAs(c, tensor.Undefined) }

// inferLikeAs is inferLike with another type, unless that is Undefined.
func inferLikeAs(c *Infer, dtype tensor.ScalarType) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if dtype == tensor.Undefined {
		dtype = t.DType
	}
	setLike(&c.Out[0], &t.Meta, dtype)
	return nil
}

// setLike makes out like m with type dtype.
func setLike(out, m *tensor.Meta, dtype tensor.ScalarType) {
	out.DType = dtype
	out.Sizes = append(out.Sizes[:0], m.Sizes...)
	setOrder(out, m.DimOrder)
}

// inferLikeFloat: as argument 0, integers become Float.
func inferLikeFloat(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	return inferLikeAs(c, floatOf(t.DType))
}

// inferLikeBool: as argument 0, of Bool.
func inferLikeBool(c *Infer) error { return inferLikeAs(c, tensor.Bool) }

// inferBinary: arguments 0 and 1 broadcast and promoted.
func inferBinary(c *Infer) error {
	c.Out[0].DType = promoteArgs(c.Args, 3)
	return broadcastArgs(c)
}

// inferBinaryFloat is inferBinary with integers as Float.
func inferBinaryFloat(c *Infer) error {
	c.Out[0].DType = floatOf(promoteArgs(c.Args, 3))
	return broadcastArgs(c)
}

// inferCompare: arguments broadcast, the result is Bool.
func inferCompare(c *Infer) error {
	c.Out[0].DType = tensor.Bool
	return broadcastArgs(c)
}

// WrapDim makes dim count from 0 in a tensor of this rank; a 0-dim tensor counts as one of rank 1.
func WrapDim(dim int64, rank int) (int, error) {
	n := int64(max(rank, 1))
	if dim < -n || dim >= n {
		return 0, errDim
	}
	if dim < 0 {
		dim += n
	}
	return int(dim), nil
}

// dimMask is the set of the dimensions that v (None, Int or Ints) names, as bits; none or [] names every one.
func dimMask(v *Value, rank int) (uint32, error) {
	dims := v.Ints
	if v.Kind == Int {
		d, err := WrapDim(v.Int, rank)
		return 1 << d, err
	}
	if len(dims) == 0 {
		return 1<<max(rank, 1) - 1, nil
	}
	mask := uint32(0)
	for _, dim := range dims {
		d, err := WrapDim(dim, rank)
		if err != nil {
			return 0, err
		}
		if mask>>d&1 != 0 {
			return 0, errDimTwice
		}
		mask |= 1 << d
	}
	return mask, nil
}

// reduceMeta sets out to in without the dimensions of mask, or with 1 there if keep.
func reduceMeta(out, in *tensor.Meta, mask uint32, keep bool, dtype tensor.ScalarType) {
	out.DType, out.Sizes, out.DimOrder = dtype, out.Sizes[:0], out.DimOrder[:0]
	var place [tensor.MaxRank]uint8
	for i, d := range in.Sizes {
		place[i] = uint8(len(out.Sizes))
		switch {
		case mask>>i&1 == 0:
			out.Sizes = append(out.Sizes, d)
		case keep:
			out.Sizes = append(out.Sizes, 1)
		}
	}
	contiguous := true
	for _, d := range in.DimOrder {
		if mask>>d&1 == 0 || keep {
			contiguous = contiguous && int(place[d]) == len(out.DimOrder)
			out.DimOrder = append(out.DimOrder, place[d])
		}
	}
	if contiguous {
		out.DimOrder = out.DimOrder[:0]
	}
}

// intOr is the Int in v, or def for None.
func intOr(v *Value, def int64) int64 {
	if v.Kind == None {
		return def
	}
	return v.Int
}
