package op

import (
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestQuantize(t *testing.T) {
	char, float := int(tensor.Char), int(tensor.Float)
	x := testTensor(tensor.Float, []int64{2, 2}, 1, -1.26, 100, 0.25)
	check(t, &QuantizePerTensor, []float64{3, -2, 127, 1}, x, 0.5, 1, -128, 127, char)
	scales, zeros := f32(0.5, 1), i64(0, 1)
	check(t, &QuantizePerChannel, []float64{2, 0, 127, 1}, x, scales, zeros, 1, -128, 127, char)
	check(t, &QuantizePerChannel, []float64{2, -3, 101, 1}, x, scales, zeros, 0, -128, 127, char)
	q := testTensor(tensor.Char, []int64{2, 2}, 3, -2, 127, 1)
	check(t, &DequantizePerTensor, []float64{1, -1.5, 63, 0}, q, 0.5, 1, -128, 127, char, float)
	check(t, &DequantizePerTensor, []float64{-1, 32766}, testTensor(tensor.UInt16, []int64{2}, 1, 65535), 0.5, 3, 0, 65535, int(tensor.UInt16), float)
	check(t, &DequantizePerChannel, []float64{1.5, -1, 126, 0}, q, scales, zeros, 0, -128, 127, char, nil)
}

func TestChooseQparams(t *testing.T) {
	outs, err := testRun(t, &ChooseQparams, tensor.Undefined, f32(-1, 1.55), 0, 255, 1e-5, int(tensor.Byte))
	if err != nil {
		t.Fatal(err)
	}
	if s, z := testValues(t, outs[0])[0], testValues(t, outs[1])[0]; !near(s, 0.01, 1e-6) || z != 100 {
		t.Errorf("scale %v, zero point %v, want 0.01 and 100", s, z)
	}
}

// TestNoRealNumbers stores a number in a tensor of another kind, as a damaged program may want it.
func TestNoRealNumbers(t *testing.T) {
	defer func() {
		if r := recover(); r != ErrElements {
			t.Errorf("got the panic %v, want %v", r, ErrElements)
		}
	}()
	putInt(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Undefined, Sizes: []tensor.Dim{1}}, Data: make([]byte, 8)}, 0, 1)
}

// TestRange holds all tiers against the definition, with NaN and without.
func TestRange(t *testing.T) {
	for n := range 70 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32((i*37)%53 - 20)
		}
		for _, tier := range kernel.Tiers() {
			low, high := rangeOf(tier, x)
			wantLow, wantHigh := rangeOf(kernel.Scalar, x)
			if low != wantLow || high != wantHigh {
				t.Errorf("%v: %d numbers: got %v and %v, want %v and %v", tier, n, low, high, wantLow, wantHigh)
			}
			if n == 0 {
				continue
			}
			y := slices.Clone(x)
			y[n/2] = float32(math.NaN())
			if low, high := rangeOf(tier, y); low == low || high == high {
				t.Errorf("%v: %d numbers, one of them NaN: got %v and %v", tier, n, low, high)
			}
		}
	}
}
