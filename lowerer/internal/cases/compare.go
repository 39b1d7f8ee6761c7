package cases

import (
	"encoding/binary"
	"math"

	"github.com/rules-pte/rules_pte/lowerer/internal/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// near reports |got - want| ≤ atol + rtol·|want|, NaN equal to NaN and an infinity to itself.
func near(got, want, rtol, atol float64) bool {
	switch {
	case got == want || got != got && want != want:
		return true
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return false
	}
	return math.Abs(got-want) <= atol+rtol*math.Abs(want)
}

// words are t's elements in row-major order, converted to an 8-byte type.
func words(t *tensor.Tensor, as tensor.ScalarType) []uint64 {
	t = npy.Ordered(t, nil)
	b := make([]byte, 8*t.Numel())
	op.CastBytes(b, as, t.Data, t.DType, t.Numel())
	w := make([]uint64, t.Numel())
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return w
}

func integers(t *tensor.Tensor) []int64 {
	w := words(t, tensor.Long)
	out := make([]int64, len(w))
	for i, x := range w {
		out[i] = int64(x)
	}
	return out
}

func floats(t *tensor.Tensor) []float64 {
	w := words(t, tensor.Double)
	out := make([]float64, len(w))
	for i, x := range w {
		out[i] = math.Float64frombits(x)
	}
	return out
}
