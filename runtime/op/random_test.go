package op

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestGenerator checks the generator against the numbers of the SplitMix64 reference implementation for seed 1234567.
func TestGenerator(t *testing.T) {
	r := NewGenerator(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := r.Next(); got != want {
			t.Errorf("number %d: got %d, want %d", i, got, want)
		}
	}
}

// TestUniform holds uniform numbers against quotients.
func TestUniform(t *testing.T) {
	for _, bits := range []int{8, 11, 24, 53} {
		a, b := NewGenerator(7), NewGenerator(7)
		for range 1000 {
			if got, want := a.Uniform(bits), float64(b.Next()>>(64-bits))/float64(uint64(1)<<bits); got != want {
				t.Fatalf("%d bits: got %v, want %v", bits, got, want)
			}
		}
	}
}

func TestDistributions(t *testing.T) {
	const n = 10000
	for _, test := range []struct {
		name       string
		k          *Kernel
		mean, dev  float64
		dtype      tensor.ScalarType
		low, under float64
	}{
		{"rand", &RandF32, 0.5, math.Sqrt(1.0 / 12), tensor.Float, 0, 1},
		{"rand of halves", &RandF16, 0.5, math.Sqrt(1.0 / 12), tensor.Half, 0, 1},
		{"randn", &RandnF64, 0, 1, tensor.Double, -8, 8},
	} {
		out := mkTensor(test.dtype, dims{n}, make([]byte, n*test.dtype.Size()))
		if err := test.k.Run(&Call{Out: []*tensor.Tensor{out}, Rand: NewGenerator(1)}, nil); err != nil {
			t.Fatal(err)
		}
		wide := mkTensor(tensor.Double, dims{n}, make([]float64, n))
		CastBytes(wide.Data, tensor.Double, out.Data, test.dtype, n)
		sum, squares := 0.0, 0.0
		for _, x := range elems[float64](wide) {
			if !(x >= test.low && x < test.under) {
				t.Fatalf("%s: got %v", test.name, x)
			}
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		if dev := math.Sqrt(squares/n - mean*mean); math.Abs(mean-test.mean) > 0.05 || math.Abs(dev-test.dev) > 0.05 {
			t.Errorf("%s: mean %v, deviation %v", test.name, mean, dev)
		}
	}
}
