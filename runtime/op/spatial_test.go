package op

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// spatialTensor is a tensor argument of testdata/spatial.json, which tools/oracle/spatial.py explains.
type spatialTensor struct {
	Sizes         []int64
	Scale, Offset float64
	Order         []int
}

func (s *spatialTensor) make() *tensor.Tensor {
	x := iota32(s.Sizes...)
	for i := range elems[float32](x) {
		elems[float32](x)[i] = float32(float64(i*37%101)*s.Scale + s.Offset)
	}
	if s.Order == nil {
		return x
	}
	order := make([]uint8, len(s.Order))
	for i, d := range s.Order {
		order[i] = uint8(d)
	}
	return ordered(x, order...)
}

// spatialArg is an argument from its JSON.
func spatialArg(t *testing.T, text json.RawMessage) any {
	var tensor spatialTensor
	var ints []int64
	var b bool
	switch {
	case string(text) == "null":
		return nil
	case json.Unmarshal(text, &b) == nil:
		return b
	case json.Unmarshal(text, &ints) == nil:
		return ints
	case json.Unmarshal(text, &tensor) == nil:
		return tensor.make()
	}
	if n, err := strconv.Atoi(string(text)); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t.Fatalf("argument %s: %v", text, err)
	}
	return f
}

// TestSpatial compares pooling, resampling, sampling and normalization with PyTorch.
func TestSpatial(t *testing.T) {
	data, err := os.ReadFile("testdata/spatial.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Op   string
		Args []json.RawMessage
		Outs []struct {
			Sizes  []int64
			Values []float64
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for i, test := range cases {
		t.Run(strconv.Itoa(i)+" "+test.Op, func(t *testing.T) {
			args := make([]any, len(test.Args))
			for i, text := range test.Args {
				args[i] = spatialArg(t, text)
			}
			k := floatKernel(t, test.Op)
			outs, err := call(k, len(test.Outs), true, args...)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range test.Outs {
				wantNear(t, outs[i], want.Sizes, want.Values)
			}
		})
	}
}

// floatKernel is the kernel in Float of a functional operator.
func floatKernel(t *testing.T, name string) *Kernel {
	for _, k := range Kernels {
		if k.Def.Functional == name && k.DType == tensor.Float {
			return k
		}
	}
	t.Fatalf("no kernel of %s", name)
	return nil
}

// wantNear wants these sizes and values, up to rounding of the largest of them in float32.
func wantNear(t *testing.T, got *tensor.Tensor, sizes []int64, values []float64) {
	t.Helper()
	if !slices.Equal(got.Sizes, sizes) {
		t.Fatalf("got sizes %v, want %v", got.Sizes, sizes)
	}
	for i, want := range values {
		var x float64
		if got.DType == tensor.Long {
			x = float64(plain[int64](got)[i])
		} else {
			x = float64(plain[float32](got)[i])
		}
		if math.Abs(x-want) > 4e-6+1e-5*math.Abs(want) {
			t.Fatalf("element %d: got %v, want %v", i, x, want)
		}
	}
}
