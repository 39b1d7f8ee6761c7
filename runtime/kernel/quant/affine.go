package quant

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Round rounds x to the nearest integer, ties to even, adds zero and clamps; NaN becomes low.
func Round(x, zero, low, high float32) float32 {
	q := float32(math.RoundToEven(float64(x))) + zero
	if !(q > low) {
		return low
	}
	return min(q, high)
}

// limits are the least and the greatest T.
func limits[T int8 | uint8]() (low, high float32) {
	if ^T(0) < 0 {
		return math.MinInt8, math.MaxInt8
	}
	return 0, math.MaxUint8
}

// Quantize sets o to x in 8 bits: round(x·inverse) + zero, clamped.
func Quantize[T int8 | uint8](t kernel.Tier, o []T, x []float32, inverse, zero float32) {
	low, high := limits[T]()
	QuantizeWithin(t, o, x, inverse, Bounds{Zero: zero, Low: low, High: high})
}

// QuantizeWithin is Quantize within b, which are numbers that T has.
func QuantizeWithin[T int8 | uint8](t kernel.Tier, o []T, x []float32, inverse float32, b Bounds) {
	if kernel.QuantizeS8(t, o, x, inverse, kernel.RowsS8{Low: b.Low - b.Zero, High: b.High - b.Zero, Zero: int32(b.Zero)}) {
		return
	}
	for i, v := range x {
		o[i] = T(Round(v*inverse, b.Zero, b.Low, b.High))
	}
}

// Dequantize sets o to (x - zero)·scale.
func Dequantize[T int8 | uint8](t kernel.Tier, o []float32, x []T, scale, zero float32) {
	if kernel.DequantizeS8(t, o, x, scale, zero) {
		return
	}
	for i, v := range x {
		o[i] = (float32(v) - zero) * scale
	}
}

// Dynamic chooses the inverse scale and the zero point by which x, with 0, fits int8. It is what XNNPACK's
// xnn_f32_qd8_asymmetric_quantization_params gives. NaN plays no part.
func Dynamic(t kernel.Tier, x []float32) (inverse, zero float32) {
	low, high, ok := kernel.RangeS8(t, x)
	if !ok {
		low, high = extremes(x)
	}
	inverse = 1
	if low != high {
		inverse = math.MaxUint8 / (high - low)
	}
	low, high = float32(low*inverse), float32(high*inverse)
	zero = math.MaxInt8 - high
	if (math.MinInt8+low)+(math.MaxInt8+high) > 0 {
		zero = math.MinInt8 - low
	}
	return inverse, Round(zero, 0, math.MinInt8, math.MaxInt8)
}

// extremes are the least and the largest of x and 0.
func extremes(x []float32) (low, high float32) {
	for _, v := range x {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}
