package tensor

import "math"

// HalfToFloat32 converts IEEE 754 binary16 bits; a NaN becomes a quiet one.
func HalfToFloat32(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch {
	case exp == 0x1f && frac != 0:
		return math.Float32frombits(sign | 0x7fc00000 | frac<<13)
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	x := float32(frac) * (1.0 / (1 << 24)) // subnormal or zero: exact
	return math.Float32frombits(math.Float32bits(x) | sign)
}

// Float32ToHalf rounds to nearest even; what is too large becomes infinite.
func Float32ToHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x47800000:
		return sign | 0x7c00
	case bits < 0x38800000: // below the smallest normal: let float32 addition round
		sum := math.Float32frombits(bits) + 0.5
		return sign | uint16(math.Float32bits(sum)-0x3f000000)
	}
	odd := bits >> 13 & 1
	return sign | uint16((bits+0xfff+odd-0x38000000)>>13)
}

// BFloat16ToFloat32 converts bfloat16 bits.
func BFloat16ToFloat32(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// Float32ToBFloat16 rounds to nearest even; every NaN becomes 0x7fc0, as in PyTorch.
func Float32ToBFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
