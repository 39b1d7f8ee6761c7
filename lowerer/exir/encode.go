package exir

import (
	"encoding/binary"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// EncodeInt is n as one element of type t, wrapped around if it does not fit.
func EncodeInt(t tensor.ScalarType, n int64) []byte {
	if t.IsFloat() {
		return EncodeFloat(t, float64(n))
	}
	if t == tensor.Bool && n != 0 {
		n = 1
	}
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	return append([]byte(nil), buf[:t.Size()]...)
}

// EncodeFloat is x as one element of type t: rounded to nearest even for floats, truncated for integers.
func EncodeFloat(t tensor.ScalarType, x float64) []byte {
	switch t {
	case tensor.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case tensor.Float:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case tensor.Half:
		return binary.LittleEndian.AppendUint16(nil, tensor.Float32ToHalf(float32(x)))
	case tensor.BFloat16:
		return binary.LittleEndian.AppendUint16(nil, tensor.Float32ToBFloat16(float32(x)))
	case tensor.Bool:
		if x != 0 {
			return []byte{1}
		}
		return []byte{0}
	}
	return EncodeInt(t, int64(x))
}
