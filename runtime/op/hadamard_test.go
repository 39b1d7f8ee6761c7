package op

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// hadamard64 is the transform of x by its definition.
func hadamard64(x []float64) []float64 {
	blocks := 1
	if len(x)%28 == 0 {
		blocks = 28
	}
	size := len(x) / blocks
	y := make([]float64, len(x))
	for i := range y {
		for j, v := range x[i/size*size:][:size] {
			if bits.OnesCount(uint(i%size&j))%2 == 1 {
				v = -v
			}
			y[i] += v / math.Sqrt(float64(size))
		}
	}
	if blocks == 1 {
		return y
	}
	z := make([]float64, len(x))
	for i := range z {
		for j := range blocks {
			v := y[j*size+i%size]
			if hadamard28[i/size]>>j&1 == 1 {
				v = -v
			}
			z[i] += v
		}
	}
	return z
}

// TestFastHadamardTransform holds rows of all kinds of lengths against the definition, also where they lie in the place of the operand, in
// another order, or are divided among threads.
func TestFastHadamardTransform(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	threads := func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}
	for _, k := range []struct {
		k     *Kernel
		bound float64 // of the error, over the sum of magnitudes
	}{{&FastHadamardTransformF32, 0x1p-20}, {&FastHadamardTransformF64, 0x1p-49}, {&FastHadamardTransformF16, 0x1p-10}} {
		for _, n := range []tensor.Dim{1, 2, 4, 8, 16, 32, 64, 128, 256, 2048, 28, 56, 112, 28 * 16, 28 * 128} {
			x := testTensor(k.k.DType, dims{3, 2, n})
			values := make([]float64, x.Numel())
			for i := range values {
				values[i] = r.NormFloat64()
			}
			CastBytes(x.Data, x.DType, bytesOf(values), tensor.Double, len(values))
			values = testValues(t, x)
			var want []float64
			for at := 0; at < len(values); at += int(n) {
				want = append(want, hadamard64(values[at:][:n])...)
			}
			check := func(name string, got *tensor.Tensor) {
				t.Helper()
				for i, v := range testValues(t, got) {
					sum := 0.0
					for _, v := range values[i/int(n)*int(n):][:n] {
						sum += math.Abs(v)
					}
					if !(math.Abs(v-want[i]) <= k.bound*sum) {
						t.Fatalf("%s, rows of %d, %s: element %d is %v, want %v", k.k.DType, n, name, i, v, want[i])
					}
				}
			}
			for _, tier := range kernel.Tiers() {
				check(tier.String(), planned(t, k.k, tier, false, x))
				check(tier.String()+", divided", plannedIn(t, &Env{Parallel: threads, Threads: 3}, k.k, tier, false, x))
				check(tier.String()+", in another order", planned(t, k.k, tier, false, ordered(x, 0, 2, 1)))
				sig, place := ParseSignature(k.k.Def.Schema), ordered(x, 0, 1, 2)
				plan, err := Prepare(k.k, &sig, vals(place), []tensor.Meta{x.Meta}, Options{Tier: tier})
				if err != nil {
					t.Fatal(err)
				}
				if err := plan.Bind(vals(place), []*tensor.Tensor{place}, &Env{Temp: new(Temp)}).Call(); err != nil {
					t.Fatal(err)
				}
				check(tier.String()+", in place", place)
			}
		}
	}
}

// TestHadamard28 holds rows against each other: those of a Hadamard matrix have no two that are not at right angles.
func TestHadamard28(t *testing.T) {
	for i, a := range hadamard28 {
		for _, b := range hadamard28[:i] {
			if n := bits.OnesCount32(a ^ b); n != 14 || a>>28 != 0 {
				t.Errorf("row %d differs from another one in %d places, want 14", i, n)
			}
		}
	}
}

// TestFastHadamardTransformSizes gives sizes that fit and such that do not.
func TestFastHadamardTransformSizes(t *testing.T) {
	for _, c := range []struct {
		sizes dims
		want  string
	}{
		{dims{}, "<nil>"}, {dims{0}, "<nil>"}, {dims{0, 3}, "<nil>"}, {dims{5, 1}, "<nil>"},
		{dims{3}, "check the last size: it must be a power of 2, or 28 times one"}, {dims{2, 12}, errHadamardSize.Error()}, {dims{20}, errHadamardSize.Error()},
		{dims{40}, errHadamardSize.Error()}, {dims{84}, errHadamardSize.Error()}, {dims{36}, errHadamardSize.Error()},
	} {
		x := testTensor(tensor.Float, c.sizes)
		for i := range elems[float32](x) {
			elems[float32](x)[i] = float32(i) + 1
		}
		out, err := cachedCall(&FastHadamardTransformF32, kernel.Best(), x)
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%v: got %s, want %s", c.sizes, got, c.want)
		} else if err == nil && string(out.Data) != string(x.Data) {
			t.Errorf("%v: got %v, want what was given", c.sizes, elems[float32](out))
		}
	}
}

func BenchmarkFastHadamardTransform(b *testing.B) {
	for _, n := range []tensor.Dim{128, 4096, 28 * 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := wave(16, n)
			v := invokerOf(b, &FastHadamardTransformF32, &Env{Temp: &Temp{}, Threads: 1}, vals(x), Options{Tier: kernel.Best()}, 0)
			b.SetBytes(int64(x.Nbytes()))
			for b.Loop() {
				if err := v.Call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
