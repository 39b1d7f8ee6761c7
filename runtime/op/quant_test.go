package op

import (
	"errors"
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

// TestTokens holds operators on rows against what torch.ao gives.
func TestTokens(t *testing.T) {
	char, float := int(tensor.Char), int(tensor.Float)
	x := testTensor(tensor.Float, []int64{2, 3, 4}, -1.06739473, -0.71724534, 1.0897193, -1.57468367, 1.44601107, 0.619125605, -0.77368927, -2.46556544,
		0.83765465, 0.16024822, -0.33539471, -1.45676482, 0.0591120273, -1.17115533, 0.608868837, -1.48141301, -0.694532633, -0.353212357, -2.22004271,
		0.968322575, 2.66677117, -0.665636301, -1.26452756, 0.125322729)
	scales := []float64{0.0104486393, 0.0153395161, 0.00899772346, 0.00819718372, 0.012503393, 0.0154168578}
	outs, err := testRun(t, &ChooseQparamsPerToken, tensor.Undefined, x, char)
	if err != nil {
		t.Fatal(err)
	}
	if got := testValues(t, outs[1]); !slices.Equal(got, []float64{23, 33, 34, 53, 50, -46}) || !slices.Equal(outs[1].Sizes, []tensor.Dim{2, 3, 1}) {
		t.Errorf("zero points: got %v of sizes %v", got, outs[1].Sizes)
	}
	for i, got := range testValues(t, outs[0]) {
		if !near(got, scales[i], 1e-6) || got != float64(float32(got)) {
			t.Errorf("scale %d: got %v, want %v", i, got, scales[i])
		}
	}
	y := testTensor(tensor.Float, []int64{2, 4}, -1.87439859, -0.993663251, 0.718467236, -0.698453844, -1.47155523, 0.177700222, 1.45567393, 0.640313148)
	s, z := testTensor(tensor.Double, []int64{2, 1}, 0.01, 0.03), testTensor(tensor.Long, []int64{2, 1}, 3, -20)
	check(t, &QuantizePerToken, []float64{-128, -96, 75, -67, -69, -14, 29, 1}, y, s, z, -128, 127, char)
	q := testTensor(tensor.Char, []int64{2, 2}, -3, 5, 7, 100)
	check(t, &DequantizePerToken, []float64{-0.0599999987, 0.0199999996, 0.810000002, 3.5999999}, q, s, z, -128, 127, char, float)
	turned := testTensor(tensor.Float, []int64{2, 4}, -1.87439859, -0.993663251, 0.718467236, -0.698453844, -1.47155523, 0.177700222, 1.45567393, 0.640313148)
	byColumns := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: turned.Sizes, DimOrder: []uint8{1, 0}}, Data: make([]byte, len(turned.Data))}
	Reorder(byColumns, turned)
	check(t, &QuantizePerToken, []float64{-128, -96, 75, -67, -69, -14, 29, 1}, byColumns, s, z, -128, 127, char)
	rows, steps := testTensor(tensor.Float, []int64{2, 3, 1}, 1, 2, 3, 4, 5, 6), testTensor(tensor.Double, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	turnedSteps := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Double, Sizes: steps.Sizes, DimOrder: []uint8{1, 0}}, Data: make([]byte, len(steps.Data))}
	Reorder(turnedSteps, steps)
	check(t, &QuantizePerToken, []float64{1, 1, 1, 1, 1, 1}, rows, turnedSteps, testTensor(tensor.Long, []int64{2, 3}, 0, 0, 0, 0, 0, 0), -128, 127, char)
	outs, err = testRun(t, &ChooseQparamsPerToken, tensor.Undefined, f32(1, math.Inf(1), math.NaN()), char)
	if err != nil || testValues(t, outs[1])[0] != 0 {
		t.Errorf("a row with NaN: error %v, zero point %v, want 0", err, testValues(t, outs[1]))
	}
}

// TestTokensOf gives what has no rows, or no ranges, and rows of one number.
func TestTokensOf(t *testing.T) {
	char := int(tensor.Char)
	for name, x := range map[string]*tensor.Tensor{"a number": testTensor(tensor.Float, nil, 1), "rows of nothing": testTensor(tensor.Float, []int64{2, 0})} {
		if _, err := testRun(t, &ChooseQparamsPerToken, tensor.Undefined, x, char); !errors.Is(err, errDims) {
			t.Errorf("%s: error %v, want %v", name, err, errDims)
		}
	}
	if _, err := testRun(t, &QuantizePerToken, tensor.Undefined, f32(1, 2), f32(1, 1), i64(0, 0), -128, 127, char); !errors.Is(err, errBroadcast) {
		t.Errorf("two scales for a row: error %v, want %v", err, errBroadcast)
	}
	outs, err := testRun(t, &ChooseQparamsPerToken, tensor.Undefined, testTensor(tensor.Float, []int64{0, 3}), char)
	if err != nil || !slices.Equal(outs[0].Sizes, []tensor.Dim{0, 1}) {
		t.Errorf("no rows: error %v, sizes %v", err, outs[0].Sizes)
	}
	outs, err = testRun(t, &ChooseQparamsPerToken, tensor.Undefined, testTensor(tensor.Float, []int64{3, 1}, 0, 255, -255), char)
	if err != nil {
		t.Fatal(err)
	}
	if s, z := testValues(t, outs[0]), testValues(t, outs[1]); !slices.Equal(s, []float64{0x1p-23, 1, 1}) || !slices.Equal(z, []float64{127, -128, 127}) {
		t.Errorf("rows of one number: scales %v, zero points %v", s, z)
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
