package op

import (
	"sync"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// castTier is the tier of conversions, which give the same bits in all of them.
var castTier = sync.OnceValue(kernel.Best)

// castHalves is CastBytes of half types, by way of float32; ok is false where castDirect does not know the other type.
func castHalves(dst []byte, dt tensor.ScalarType, src []byte, st tensor.ScalarType, n int) (ok bool) {
	from, to := isHalf(st), isHalf(dt)
	switch {
	case from && dt == tensor.Float:
		widenHalves(sliceOf[float32](dst, n), sliceOf[uint16](src, n), st)
		return true
	case to && st == tensor.Float:
		narrowHalves(sliceOf[uint16](dst, n), sliceOf[float32](src, n), dt)
		return true
	case !from && !to:
		return false
	}
	var block [castBlock]float32
	for lo := 0; lo < n; lo += castBlock {
		part := block[:min(castBlock, n-lo)]
		bytes := bytesOf(part)
		in, out := src[lo*st.Size():], dst[lo*dt.Size():]
		if from {
			widenHalves(part, sliceOf[uint16](in, len(part)), st)
		} else if !castDirect(bytes, tensor.Float, in, st, len(part)) {
			return false
		}
		if to {
			narrowHalves(sliceOf[uint16](out, len(part)), part, dt)
		} else if !castDirect(out, dt, bytes, tensor.Float, len(part)) {
			return false
		}
	}
	return true
}

func isHalf(t tensor.ScalarType) bool { return t == tensor.Half || t == tensor.BFloat16 }

// widenHalves makes float32 of elements of type t, Half or BFloat16.
func widenHalves(o []float32, x []uint16, t tensor.ScalarType) {
	if t == tensor.BFloat16 {
		for i := kernel.WidenBF16(castTier(), o, x); i < len(o); i++ {
			o[i] = tensor.BFloat16ToFloat32(x[i])
		}
		return
	}
	for i := kernel.WidenF16(castTier(), o, x); i < len(o); i++ {
		o[i] = tensor.HalfToFloat32(x[i])
	}
}

// narrowHalves is the inverse of widenHalves.
func narrowHalves(o []uint16, x []float32, t tensor.ScalarType) {
	if t == tensor.BFloat16 {
		for i := kernel.NarrowBF16(castTier(), o, x); i < len(o); i++ {
			o[i] = tensor.Float32ToBFloat16(x[i])
		}
		return
	}
	for i := kernel.NarrowF16(castTier(), o, x); i < len(o); i++ {
		o[i] = tensor.Float32ToHalf(x[i])
	}
}

// castDirect is CastBytes between types that a conversion of Go relates; ok is false for others.
func castDirect(dst []byte, dt tensor.ScalarType, src []byte, st tensor.ScalarType, n int) (ok bool) {
	switch st {
	case tensor.Bool:
		return dt == tensor.Float && castBools(sliceOf[float32](dst, n), src[:n])
	case tensor.Byte:
		return dt == tensor.Float && kernel.DequantizeS8(castTier(), sliceOf[float32](dst, n), src[:n], 1, 0) ||
			castFrom(dst, dt, src[:n])
	case tensor.Char:
		x := sliceOf[int8](src, n)
		return dt == tensor.Float && kernel.DequantizeS8(castTier(), sliceOf[float32](dst, n), x, 1, 0) || castFrom(dst, dt, x)
	case tensor.Int:
		return castFrom(dst, dt, sliceOf[int32](src, n))
	case tensor.Long:
		x, done := sliceOf[int64](src, n), 0
		switch dt {
		case tensor.Int:
			done = kernel.WordsS64(castTier(), sliceOf[uint32](dst, n), x)
		case tensor.Float:
			done = kernel.FloatsS64(castTier(), sliceOf[float32](dst, n), x)
		}
		return castFrom(dst[done*dt.Size():], dt, x[done:])
	case tensor.Float:
		x, done := sliceOf[float32](src, n), 0
		switch dt {
		case tensor.Double:
			done = kernel.WidenF32(castTier(), sliceOf[float64](dst, n), x)
		case tensor.Bool:
			done = kernel.ZeroF32(castTier(), dst[:n], x, true)
		case tensor.Byte, tensor.Char:
			done = kernel.BytesF32(castTier(), dst[:n], x)
		case tensor.Long:
			done = kernel.LongsF32(castTier(), sliceOf[int64](dst, n), x)
		}
		return castFromFloat(dst[done*dt.Size():], dt, x[done:])
	case tensor.Double:
		return castFromFloat(dst, dt, sliceOf[float64](src, n))
	}
	return false
}

// castBools makes 1 of what is not 0; ok is false where there is no kernel.
func castBools(o []float32, x []uint8) (ok bool) {
	one := [1]float32{1}
	return kernel.DequantizeS8(castTier(), o, x, 1, 0) && kernel.MinF32(castTier(), o, o, one[:])
}

// castFrom converts integers.
func castFrom[S integer](dst []byte, dt tensor.ScalarType, x []S) bool {
	switch dt {
	case tensor.Byte, tensor.Char:
		castEach[uint8](dst, x)
	case tensor.Int:
		castEach[uint32](dst, x)
	case tensor.Long:
		castEach[uint64](dst, x)
	case tensor.Float:
		castEach[float32](dst, x)
	case tensor.Double:
		castEach[float64](dst, x)
	case tensor.Bool:
		castToBool(dst, x)
	default:
		return false
	}
	return true
}

// castFromFloat converts floats to other floats, to Int, Long and Bool.
func castFromFloat[S float](dst []byte, dt tensor.ScalarType, x []S) bool {
	switch dt {
	case tensor.Float:
		castEach[float32](dst, x)
	case tensor.Double:
		castEach[float64](dst, x)
	case tensor.Bool:
		castToBool(dst, x)
	case tensor.Byte, tensor.Char:
		castTruncated[uint8](dst, x)
	case tensor.Int:
		castTruncated[uint32](dst, x)
	case tensor.Long:
		castTruncated[uint64](dst, x)
	default:
		return false
	}
	return true
}

func castEach[D, S number | uint32 | uint64](dst []byte, x []S) {
	o := sliceOf[D](dst, len(x))
	for i, v := range x {
		o[i] = D(v)
	}
}

func castToBool[S number](dst []byte, x []S) {
	o := dst[:len(x)]
	for i, v := range x {
		o[i] = toBool(v != 0)
	}
}

func castTruncated[D uint8 | uint32 | uint64, S float](dst []byte, x []S) {
	o := sliceOf[D](dst, len(x))
	for i, v := range x {
		if v > -0x1p63 && v < 0x1p63 {
			o[i] = D(int64(v))
		} else {
			o[i] = D(truncated(float64(v)))
		}
	}
}
