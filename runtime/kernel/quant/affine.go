package quant

import "math"

// Round rounds x to the nearest integer, ties to even, adds zero and clamps; NaN becomes low.
func Round(x, zero, low, high float32) float32 {
	q := float32(math.RoundToEven(float64(x))) + zero
	if !(q > low) {
		return low
	}
	return min(q, high)
}

// Quantize sets o to x in int8: round(x·inverse) + zero, clamped.
func Quantize(o []int8, x []float32, inverse, zero float32) {
	for i, v := range x {
		o[i] = int8(Round(v*inverse, zero, math.MinInt8, math.MaxInt8))
	}
}

// Dequantize sets o to (x - zero)·scale.
func Dequantize(o []float32, x []int8, scale, zero float32) {
	for i, v := range x {
		o[i] = (float32(v) - zero) * scale
	}
}

// Dynamic chooses the inverse scale and the zero point by which x, with 0, fits int8. It is what XNNPACK's
// xnn_f32_qd8_asymmetric_quantization_params gives.
func Dynamic(x []float32) (inverse, zero float32) {
	low, high := float32(0), float32(0)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
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
