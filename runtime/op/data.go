package op

import (
	"errors"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// integer are the Go types of the integer element types; Bool runs as uint8.
type integer interface {
	uint8 | int8 | int16 | int32 | int64
}

// float are the Go types that float kernels run in.
type float interface{ float32 | float64 }

// number are the Go types that kernels run in.
type number interface {
	integer | float | uint16 | uint32 | uint64
}

// elems are the elements of t, which must have T's size.
func elems[T any](t *tensor.Tensor) []T { return sliceOf[T](t.Data, t.Numel()) }

// ErrElements is what a kernel panics with that gets a tensor of another element type than it takes.
var ErrElements = errors.New("check element type: a tensor has fewer bytes than the kernel takes")

// sliceOf views the first n elements of b; it panics with ErrElements if b is too short.
func sliceOf[T any](b []byte, n int) []T {
	var z T
	if n == 0 {
		return nil
	}
	if uint(n) > uint(len(b))/uint(unsafe.Sizeof(z)) {
		panic(ErrElements)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// tempOf is a temporary of n elements of T.
func tempOf[T any](c *Call, n int) ([]T, error) {
	var z T
	b, err := c.Alloc(n * int(unsafe.Sizeof(z)))
	if err != nil {
		return nil, err
	}
	return sliceOf[T](b, n), nil
}

// isFloat reports whether T is a float type.
func isFloat[T number]() bool {
	one := T(1)
	return one/2 != 0
}

// scalarAs is the Scalar v in T, integers exact.
func scalarAs[T number](v *Value) T {
	if v.Kind == Float {
		return T(v.Float)
	}
	return T(v.Int)
}

// stridesOf puts the strides of m, in elements, into s.
func stridesOf(m *tensor.Meta, s *[tensor.MaxRank]int) {
	step := 1
	for i := len(m.Sizes) - 1; i >= 0; i-- {
		d := i
		if len(m.DimOrder) != 0 {
			d = int(m.DimOrder[i])
		}
		s[d] = step
		step *= int(max(m.Sizes[d], 1))
	}
}

// bytesOf views x as bytes.
func bytesOf[T any](x []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(z)))
}
