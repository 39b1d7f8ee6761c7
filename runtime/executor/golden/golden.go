// Package golden holds results of programs against the ones that are right.
package golden

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Near reports |got - want| ≤ atol + rtol·|want|, NaN equal to NaN and an infinity to itself.
func Near(got, want, rtol, atol float64) bool {
	switch {
	case got == want || got != got && want != want:
		return true
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return false
	}
	return math.Abs(got-want) <= atol+rtol*math.Abs(want)
}

// SameMeta gives an error unless got and want have the same element type and sizes.
func SameMeta(got, want *tensor.Tensor) error {
	if got.DType != want.DType || !slices.Equal(got.Sizes, want.Sizes) {
		return errors.New("got " + describe(got) + ", want " + describe(want))
	}
	return nil
}

// describe is t's element type and sizes: float32[2 3].
func describe(t *tensor.Tensor) string {
	s := t.DType.String() + "["
	for i, d := range t.Sizes {
		if i > 0 {
			s += " "
		}
		s += strconv.FormatInt(d, 10)
	}
	return s + "]"
}

// Same gives an error unless got and want are SameMeta and their elements are equal, floating-point ones as Near says.
// The order of the elements in memory does not matter.
func Same(got, want *tensor.Tensor, rtol, atol float64) error {
	if err := SameMeta(got, want); err != nil {
		return err
	}
	if !want.DType.IsFloat() {
		return sameIntegers(words(got, tensor.Long), words(want, tensor.Long))
	}
	g, w := words(got, tensor.Double), words(want, tensor.Double)
	for i := range g {
		if g, w := math.Float64frombits(g[i]), math.Float64frombits(w[i]); !Near(g, w, rtol, atol) {
			return differ(i, float(g), float(w)+" (within "+float(atol)+" + "+float(rtol)+"·|want|)")
		}
	}
	return nil
}

func sameIntegers(got, want []uint64) error {
	for i := range got {
		if got[i] != want[i] {
			return differ(i, strconv.FormatInt(int64(got[i]), 10), strconv.FormatInt(int64(want[i]), 10))
		}
	}
	return nil
}

func differ(i int, got, want string) error {
	return errors.New("element " + strconv.Itoa(i) + ": got " + got + ", want " + want)
}

func float(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// words are t's elements in row-major order, converted to an 8-byte type.
func words(t *tensor.Tensor, as tensor.ScalarType) []uint64 {
	t = npy.Ordered(t, nil)
	b := make([]byte, 8*t.Numel())
	op.CastBytes(b, as, t.Data, t.DType, t.Numel())
	w := make([]uint64, t.Numel())
	for i := range w {
		for k, x := range b[8*i : 8*i+8] {
			w[i] |= uint64(x) << (8 * k)
		}
	}
	return w
}
