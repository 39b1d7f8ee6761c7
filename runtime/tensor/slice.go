package tensor

import "unsafe"

// Element are the Go types of elements. A uint16 stands for UInt16, and for the bits of Half and BFloat16.
type Element interface {
	uint8 | int8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64 | bool
}

// TypeOf is the element type of a Go type.
func TypeOf[T Element]() ScalarType {
	var zero T
	switch any(zero).(type) {
	case uint8:
		return Byte
	case int8:
		return Char
	case int16:
		return Short
	case uint16:
		return UInt16
	case int32:
		return Int
	case uint32:
		return UInt32
	case int64:
		return Long
	case uint64:
		return UInt64
	case float32:
		return Float
	case float64:
		return Double
	}
	return Bool
}

// copyMost is how many bytes Copy copies at once.
const copyMost = 256 << 10

// Copy is the built-in copy of slices that do not overlap, in parts: what that copies on amd64 goes past the caches from 1 MiB
// on, and whoever reads it next waits for memory.
func Copy[T any](dst, src []T) int {
	if uintptr(len(src))*unsafe.Sizeof(*new(T)) <= copyMost {
		return copy(dst, src)
	}
	return copyParts(dst, src)
}

// copyParts is Copy of much.
func copyParts[T any](dst, src []T) int {
	n, at := min(len(dst), len(src)), 0
	for most := copyMost / int(unsafe.Sizeof(*new(T))); n-at > most; at += most {
		copy(dst[at:at+most], src[at:at+most])
	}
	copy(dst[at:n], src[at:n])
	return n
}

// Overlap reports whether a and b have bytes in common.
func Overlap(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return len(a) > 0 && len(b) > 0 && x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

// Of is a contiguous tensor of these sizes whose bytes are those of elements, which it shares. It panics unless there
// are as many elements as the sizes say.
func Of[T Element](elements []T, sizes ...Dim) *Tensor {
	t := &Tensor{Meta: Meta{DType: TypeOf[T](), Sizes: sizes}}
	if n, ok := t.BoundedBytes(1 << 62); !ok || n != int64(len(elements))*int64(t.DType.Size()) {
		panic("tensor.Of: the number of elements is not the product of the sizes")
	}
	t.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*t.DType.Size())
	return t
}

// Elements are the elements of t in the order of its DimOrder. They share t's bytes, or are copies where those do not lie
// as a T must. It panics if T is no type of
// t's elements: TypeOf's, or uint16 for Half and BFloat16.
func Elements[T Element](t *Tensor) []T {
	want := TypeOf[T]()
	bits := want == UInt16 && (t.DType == Half || t.DType == BFloat16)
	if t.DType != want && !bits {
		panic("tensor.Elements: a tensor of " + t.DType.String() + " has no elements of " + want.String())
	}
	data := t.Data[:t.Nbytes()]
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(want.Size()) != 0 {
		data = append(make([]byte, 0, len(data)), data...)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), t.Numel())
}
