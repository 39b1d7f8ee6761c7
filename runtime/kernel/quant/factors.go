package quant

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Factors are right factors of equal sizes, packed one after another, with the sums of the rows of all of them behind.
type Factors struct {
	Tier               kernel.Tier
	Count, Rows, Depth int
	Segments           int // of each row
}

// Bytes is how many bytes Pack writes.
func (f Factors) Bytes() int { return f.Count * (f.each() + 4*f.Rows) }

func (f Factors) each() int { return PackedBytes(f.Tier, f.Rows, f.Depth, f.Segments) }

// parts are the bytes of factor i in b, and the sums of its rows.
func (f Factors) parts(b []byte, i int) (data []int8, sums []int32) {
	n := f.each()
	at := f.Count*n + 4*i*f.Rows
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b[i*n:]))), n), unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b[at:at+4*f.Rows]))), f.Rows)
}

// Pack packs the rows of each factor into dst, Bytes zeros at a multiple of 4.
func (f Factors) Pack(dst []byte, rows func(i int) []int8) {
	for i := range f.Count {
		data, sums := f.parts(dst, i)
		copy(sums, Pack(f.Tier, data, rows(i), f.Rows, f.Depth, f.Segments).Sums)
	}
}

// Weights are the factors that Pack wrote to packed.
func (f Factors) Weights(packed []byte) []*Weights {
	list := make([]*Weights, f.Count)
	for i := range list {
		data, sums := f.parts(packed, i)
		list[i] = Packed(f.Tier, data, sums, f.Depth, f.Segments)
	}
	return list
}
