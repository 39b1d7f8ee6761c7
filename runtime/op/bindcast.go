package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// castBlock is how many elements are converted at a time.
const castBlock = 128

// CastBytes converts n elements of type st in src to type dt in dst, as PyTorch's Tensor.to does.
func CastBytes(dst []byte, dt tensor.ScalarType, src []byte, st tensor.ScalarType, n int) {
	if dt == st {
		tensor.Copy(dst[:n*dt.Size()], src)
		return
	}
	if castDirect(dst, dt, src, st, n) || castHalves(dst, dt, src, st, n) {
		return
	}
	castBlocks(dst, dt, src, st, n)
}

// castBlocks is CastBytes of any types.
func castBlocks(dst []byte, dt tensor.ScalarType, src []byte, st tensor.ScalarType, n int) {
	var ints [castBlock]int64
	var floats [castBlock]float64
	for lo := 0; lo < n; lo += castBlock {
		m := min(castBlock, n-lo)
		from, to := src[lo*st.Size():], dst[lo*dt.Size():]
		if st.IsFloat() {
			loadFloats(floats[:m], from, st)
			storeFloats(to, dt, floats[:m])
			continue
		}
		loadInts(ints[:m], from, st)
		if st == tensor.UInt64 && dt.IsFloat() {
			for i, x := range ints[:m] {
				floats[i] = float64(uint64(x))
			}
			storeFloats(to, dt, floats[:m])
			continue
		}
		storeInts(to, dt, ints[:m])
	}
}

// roundBytes rounds n elements of type t, in place, to what type to can hold.
func roundBytes(b []byte, t, to tensor.ScalarType, n int) {
	var block [castBlock * 8]byte
	for lo := 0; lo < n; lo += castBlock {
		m := min(castBlock, n-lo)
		part := b[lo*t.Size() : (lo+m)*t.Size()]
		CastBytes(block[:], to, part, t, m)
		CastBytes(part, t, block[:], to, m)
	}
}

type anyInt interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64
}

func loadInts(dst []int64, src []byte, t tensor.ScalarType) {
	switch t {
	case tensor.Byte:
		widen[uint8](dst, src)
	case tensor.Bool:
		for i := range dst {
			dst[i] = int64(toBool(src[i] != 0))
		}
	case tensor.Char:
		widen[int8](dst, src)
	case tensor.Short:
		widen[int16](dst, src)
	case tensor.UInt16:
		widen[uint16](dst, src)
	case tensor.Int:
		widen[int32](dst, src)
	case tensor.UInt32:
		widen[uint32](dst, src)
	case tensor.Long, tensor.UInt64:
		widen[int64](dst, src)
	}
}

func widen[T anyInt](dst []int64, src []byte) {
	for i, x := range sliceOf[T](src, len(dst)) {
		dst[i] = int64(x)
	}
}

func narrow[T anyInt](dst []byte, src []int64) {
	out := sliceOf[T](dst, len(src))
	for i, x := range src {
		out[i] = T(x)
	}
}

func storeInts(dst []byte, t tensor.ScalarType, src []int64) {
	switch t.Size() {
	case 1:
		if t == tensor.Bool {
			for i, x := range src {
				dst[i] = toBool(x != 0)
			}
			return
		}
		narrow[uint8](dst, src)
	case 2:
		if t.IsFloat() {
			storeHalves(dst, t, src)
			return
		}
		narrow[uint16](dst, src)
	case 4:
		if t == tensor.Float {
			convert[float32](dst, src)
			return
		}
		narrow[uint32](dst, src)
	case 8:
		if t == tensor.Double {
			convert[float64](dst, src)
			return
		}
		narrow[uint64](dst, src)
	}
}

func convert[T float](dst []byte, src []int64) {
	out := sliceOf[T](dst, len(src))
	for i, x := range src {
		out[i] = T(x)
	}
}

// storeHalves stores integers as half types, rounded to float32 first as PyTorch does.
func storeHalves(dst []byte, t tensor.ScalarType, src []int64) {
	out := sliceOf[uint16](dst, len(src))
	for i, x := range src {
		out[i] = halfBits(t, float32(x))
	}
}

func loadFloats(dst []float64, src []byte, t tensor.ScalarType) {
	switch t {
	case tensor.Double:
		copy(dst, sliceOf[float64](src, len(dst)))
	case tensor.Float:
		for i, x := range sliceOf[float32](src, len(dst)) {
			dst[i] = float64(x)
		}
	case tensor.Half:
		for i, x := range sliceOf[uint16](src, len(dst)) {
			dst[i] = float64(tensor.HalfToFloat32(x))
		}
	case tensor.BFloat16:
		for i, x := range sliceOf[uint16](src, len(dst)) {
			dst[i] = float64(math.Float32frombits(uint32(x) << 16))
		}
	}
}

func storeFloats(dst []byte, t tensor.ScalarType, src []float64) {
	switch {
	case t == tensor.Double:
		copy(sliceOf[float64](dst, len(src)), src)
	case t == tensor.Float:
		out := sliceOf[float32](dst, len(src))
		for i, x := range src {
			out[i] = float32(x)
		}
	case t.IsFloat():
		out := sliceOf[uint16](dst, len(src))
		for i, x := range src {
			out[i] = halfBits(t, float32(x))
		}
	case t == tensor.Bool:
		for i, x := range src {
			dst[i] = toBool(x != 0)
		}
	default:
		storeTruncated(dst, t, src)
	}
}

func storeTruncated(dst []byte, t tensor.ScalarType, src []float64) {
	var ints [castBlock]int64
	for i, x := range src {
		ints[i] = truncated(x)
	}
	storeInts(dst, t, ints[:len(src)])
}

// truncated is x without its fraction; what does not fit is the smallest int64, as on amd64.
func truncated(x float64) int64 {
	if x >= -0x1p63 && x < 0x1p63 {
		return int64(x)
	}
	if x >= 0x1p63 && x < 0x1p64 {
		return int64(uint64(x))
	}
	return math.MinInt64
}

// halfBits is x in type t, Half or BFloat16, rounded to nearest even.
func halfBits(t tensor.ScalarType, x float32) uint16 {
	if t == tensor.BFloat16 {
		return tensor.Float32ToBFloat16(x)
	}
	return tensor.Float32ToHalf(x)
}
