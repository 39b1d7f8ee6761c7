package op

import (
	"math"
	"testing"
)

// TestTies checks from which places equal elements come. The places are PyTorch's.
func TestTies(t *testing.T) {
	x := mf32(dims{200}, make([]float32, 200)...)
	for i := range 200 {
		elems[float32](x)[i] = float32(i * i * 7 % 13)
	}
	for _, test := range []struct {
		name string
		k    *Kernel
		args []any
		want []int64
	}{
		{"few", &TopkF32, []any{x, 3, 0, true, true}, []int64{16, 10, 3}},
		{"few least", &TopkF32, []any{x, 3, 0, false, true}, []int64{26, 0, 13}},
		{"many", &TopkF32, []any{x, 40, 0, true, true}, []int64{55, 172, 166, 10, 192, 3, 198, 16, 185, 159, 153, 179, 146, 140, 23,
			133, 120, 127, 62, 49, 68, 75, 81, 42, 88, 94, 101, 36, 107, 114, 29, 87, 69, 82, 199, 147, 56, 61, 186, 74}},
		{"unsorted", &TopkF32, []any{x, 20, 0, true, false}, []int64{101, 146, 140, 23, 133, 29, 120, 114, 107, 36, 75, 55, 62, 49,
			68, 42, 94, 88, 127, 81}},
		{"first", &KthvalueF32, []any{x, 1, 0, true}, []int64{26}},
		{"second", &KthvalueF32, []any{x, 2, 0, true}, []int64{169}},
		{"middle", &KthvalueF32, []any{x, 77, 0, true}, []int64{149}},
		{"last", &KthvalueF32, []any{x, 200, 0, true}, []int64{146}},
	} {
		t.Run(test.name, func(t *testing.T) {
			outs, err := call(test.k, 2, true, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			wantOut(t, outs[1], dims{int64(len(test.want))}, test.want...)
		})
	}
}

// TestKeys has numbers in rising order; 0 and -0 are equal.
func TestKeys(t *testing.T) {
	x := []float32{float32(-inf), -3e38, -1, -1e-40, float32(math.Copysign(0, -1)), 1e-40, 1, 3e38, float32(inf), float32(nan)}
	for i := 1; i < len(x); i++ {
		if keyOf(x[i-1]) >= keyOf(x[i]) {
			t.Errorf("%v is not before %v", x[i-1], x[i])
		}
	}
	if keyOf(float32(0)) != keyOf(x[4]) || keyOf(-float32(nan)) != nanKey {
		t.Error("0 and -0, or NaN and -NaN, have other keys")
	}
	if keyOf(int8(-1)) >= keyOf(int8(0)) || keyOf(int64(math.MinInt64)) >= keyOf(int64(math.MaxInt64)) || keyOf(uint8(127)) >= keyOf(uint8(128)) {
		t.Error("integers are not in order")
	}
}
