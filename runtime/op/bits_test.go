package op

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestFrexp(t *testing.T) {
	outs, err := call(&FrexpTensorF32, 2, true, mf32(dims{4}, 0, -6, 0.25, float32(math.Inf(1))))
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, outs[0], dims{4}, 0, -0.75, 0.5, float32(math.Inf(1)))
	wantOut(t, outs[1], dims{4}, int32(0), 3, -1, 0)
}

func TestViewDtype(t *testing.T) {
	x := mf32(dims{2, 2}, 1, -2, 0.5, 0)
	wantOut(t, mustCall(t, &ViewCopyDtypeF32, x, int(tensor.Int)), dims{2, 2}, int32(0x3f800000), -0x40000000, 0x3f000000, 0)
	wantOut(t, mustCall(t, &ViewCopyDtypeF32, x, int(tensor.Long)), dims{2, 1}, int64(-0x3fffffffc0800000), 0x3f000000)
	wantOut(t, mustCall(t, &ViewCopyDtypeF32, mf32(dims{1}, 1), int(tensor.Byte)), dims{4}, uint8(0), 0, 0x80, 0x3f)
	if _, err := call(&ViewCopyDtypeF32, 1, true, mf32(dims{3}, 1, 2, 3), int(tensor.Long)); err == nil {
		t.Error("three floats as int64: no error")
	}
}

func TestFractionalMaxPool(t *testing.T) {
	x := mf32(dims{1, 4, 4}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	outs, err := call(&FractionalMaxPool2dF32, 2, true, x, []int64{2, 2}, []int64{2, 2}, mf32(dims{1, 1, 2}, 0.9, 0.1))
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, outs[0], dims{1, 2, 2}, float32(5), 7, 13, 15)
	wantOut(t, outs[1], dims{1, 2, 2}, int64(5), 7, 13, 15)
}

// TestResampleBytes holds the sums of uint8, in 16-bit weights, against what PyTorch 2.13 gives.
func TestResampleBytes(t *testing.T) {
	x := mkTensor(tensor.Byte, dims{1, 1, 2, 2}, []uint8{10, 200, 30, 255})
	wantOut(t, mustCall(t, &UpsampleBilinear2dU8, x, []int64{3, 3}, false, nil), dims{1, 1, 3, 3}, uint8(10), 105, 200, 20, 124, 228, 30, 143, 255)
}
