package main

import (
	"encoding/binary"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fill is the elements of an operand, the same in each run: floats between 0.1 and 2 and every other one negative, integers
// from 1 to 100, or from 0 to below.
func fill(o *operand, seed uint64) []byte {
	n, size := o.meta.Numel(), o.meta.DType.Size()
	data := make([]byte, 0, n*size)
	for range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		bits := element(o, seed>>33)
		data = binary.LittleEndian.AppendUint64(data, bits)[:len(data)+size]
	}
	return data
}

// element is the bits of an element that follows from a random number of 31 bits.
func element(o *operand, random uint64) uint64 {
	if !o.meta.DType.IsFloat() {
		switch {
		case o.meta.DType == tensor.Bool:
			return random & 1
		case o.below > 0:
			return random % uint64(o.below)
		}
		return 1 + random%100
	}
	x := 0.1 + 1.9*float64(random>>1)/(1<<30)
	if o.below != 0 {
		x *= float64(o.below) / 2
	} else if random&1 != 0 {
		x = -x
	}
	switch o.meta.DType {
	case tensor.Double:
		return math.Float64bits(x)
	case tensor.Half:
		return uint64(tensor.Float32ToHalf(float32(x)))
	case tensor.BFloat16:
		return uint64(tensor.Float32ToBFloat16(float32(x)))
	}
	return uint64(math.Float32bits(float32(x)))
}
