// Package tensor holds the element types, shapes and dense tensors that the
// lowerer and the runtime share.
package tensor

import (
	"math/bits"
	"slices"
)

// MaxRank is the largest number of dimensions of a tensor (ExecuTorch's kTensorDimensionLimit).
const MaxRank = 16

// Meta is everything about a tensor but its bytes.
//
// A tensor is always dense: its strides follow from Sizes and DimOrder.
type Meta struct {
	DType ScalarType
	// Sizes has one entry a dimension, outermost first. While lowering an entry
	// may be a symbolic Dim; at run time every entry is a size ≥ 0.
	Sizes []Dim
	// DimOrder lists the dimensions from the outermost in memory to the
	// innermost; nil or empty means contiguous (0, 1, …, rank-1).
	DimOrder []uint8
}

// Tensor is a Meta with its bytes.
type Tensor struct {
	Meta
	// Data is the elements in DimOrder, little-endian. It is nil while lowering
	// for everything but small constants. At run time len(Data) ≥ Nbytes and
	// cap(Data) is the planned capacity.
	Data []byte
}

// Rank is the number of dimensions.
func (m *Meta) Rank() int { return len(m.Sizes) }

// Numel is the number of elements; Sizes must be concrete.
func (m *Meta) Numel() int {
	n := 1
	for _, s := range m.Sizes {
		n *= int(s)
	}
	return n
}

// BoundedBytes is the number of bytes of a dense tensor of this Meta; ok is false if a size is negative or symbolic, or
// the bytes exceed limit.
func (m *Meta) BoundedBytes(limit int64) (n int64, ok bool) {
	product, over, empty := uint64(m.DType.Size()), uint64(0), false
	for _, s := range m.Sizes {
		if s < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(product, uint64(s))
		product, over, empty = lo, over|hi, empty || s == 0
	}
	if empty {
		return 0, true
	}
	return int64(product), over == 0 && product <= uint64(max(limit, 0))
}

// Nbytes is the number of bytes of a dense tensor of this Meta.
func (m *Meta) Nbytes() int { return m.Numel() * m.DType.Size() }

// ValidOrder reports whether DimOrder is empty or a permutation of the dimensions.
func (m *Meta) ValidOrder() bool {
	seen := 0
	for _, d := range m.DimOrder {
		if int(d) < len(m.Sizes) {
			seen |= 1 << d
		}
	}
	return len(m.DimOrder) == 0 || len(m.DimOrder) == len(m.Sizes) && seen == 1<<len(m.Sizes)-1
}

// Contiguous reports whether the elements lie in row-major order, seen without
// the dimensions of size 1 (whose place in the order means nothing).
func (m *Meta) Contiguous() bool {
	last := -1
	for _, d := range m.DimOrder {
		if m.Sizes[d] == 1 {
			continue
		}
		if int(d) < last {
			return false
		}
		last = int(d)
	}
	return true
}

// Strides appends to dst[:0] the stride of each dimension, in elements.
func (m *Meta) Strides(dst []int) []int {
	n := len(m.Sizes)
	dst = append(dst[:0], make([]int, n)...)
	step := 1
	for i := n - 1; i >= 0; i-- {
		d := i
		if len(m.DimOrder) != 0 {
			d = int(m.DimOrder[i])
		}
		dst[d] = step
		step *= int(max(m.Sizes[d], 1))
	}
	return dst
}

// Static reports whether no size is symbolic.
func (m *Meta) Static() bool {
	for _, s := range m.Sizes {
		if IsSymbol(s) {
			return false
		}
	}
	return true
}

// Equal reports whether m and o have the same type, sizes and order. No order is the order of the dimensions.
func (m *Meta) Equal(o *Meta) bool {
	if m.DType != o.DType || !slices.Equal(m.Sizes, o.Sizes) {
		return false
	}
	a, b := m.DimOrder, o.DimOrder
	switch {
	case len(a) == len(b):
		return slices.Equal(a, b)
	case len(a) == 0:
		return inOrder(b, len(m.Sizes))
	}
	return len(b) == 0 && inOrder(a, len(m.Sizes))
}

// inOrder reports whether order is 0, 1, ..., n-1.
func inOrder(order []uint8, n int) bool {
	for i, d := range order {
		if int(d) != i {
			return false
		}
	}
	return len(order) == n
}

// Clone is a copy that shares nothing with m.
func (m *Meta) Clone() Meta {
	return Meta{DType: m.DType, Sizes: append([]Dim(nil), m.Sizes...), DimOrder: append([]uint8(nil), m.DimOrder...)}
}
