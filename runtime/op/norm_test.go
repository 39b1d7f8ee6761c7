package op

import (
	"math"
	"math/rand"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestBatchNormOrders normalizes a tensor in every order of its dimensions, which says nothing about its elements.
func TestBatchNormOrders(t *testing.T) {
	channel := func(x ...float32) *tensor.Tensor { return mf32([]tensor.Dim{3}, x...) }
	x := iota32(2, 3, 2, 4)
	k := NewTable(Kernels).Lookup("aten::_native_batch_norm_legit_no_training.out", tensor.Float)
	run := func(x *tensor.Tensor) []float32 {
		outs, err := call(k, 3, false, x, channel(1, 2, 3), channel(4, 5, 6), channel(7, 8, 9), channel(1, 2, 4), 0.1, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return plain[float32](outs[0])
	}
	want := run(x)
	for _, order := range [][]uint8{{0, 2, 3, 1}, {3, 1, 0, 2}, {2, 0, 1, 3}, {0, 1, 3, 2}, {1, 0, 2, 3}} {
		got := run(ordered(x, order...))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("order %v: element %d = %v, want %v", order, i, got[i], want[i])
				break
			}
		}
	}
}

// TestBatchNormTiers holds a normalization of every tier against its definition: of positions that are few and many, by one thread and
// by several, in both orders of images and in one of matrices, with bounds and without.
func TestBatchNormTiers(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	sig := ParseSignature(NativeBatchNormLegitNoTraining.Schema)
	for _, sizes := range []dims{{1, 5, 1, 1}, {2, 3, 3, 5}, {1, 19, 7, 9}, {2, 1, 40, 40}, {3, 70, 17, 13}, {40, 33}} {
		for _, inner := range []bool{false, true} {
			for _, bounds := range []*[2]float32{nil, {-0.5, 1}} {
				x, c := gauss(r, sizes...), sizes[1]
				w, b, mean, variance := gauss(r, c), gauss(r, c), gauss(r, c), gauss(r, c)
				for i, v := range elems[float32](variance) {
					elems[float32](variance)[i] = v*v + 0.1
				}
				elems[float32](x)[0] = float32(math.NaN())
				if inner && len(sizes) == 4 {
					x = ordered(x, 0, 2, 3, 1)
				}
				args := vals(x, w, b, mean, variance, 0.1, 1e-5)
				var want []float32
				for _, tier := range kernel.Tiers() {
					for _, n := range []int{1, 3} {
						infer := Infer{Args: args, Out: make([]tensor.Meta, 3)}
						if err := inferBatchNorm(&infer); err != nil {
							t.Fatal(err)
						}
						plan, err := Prepare(&NativeBatchNormLegitNoTrainingF32, &sig, args, infer.Out, Options{Tier: tier, Bounds: bounds})
						if err != nil {
							t.Fatal(err)
						}
						var outs []*tensor.Tensor
						for i := range infer.Out {
							outs = append(outs, &tensor.Tensor{Meta: infer.Out[i].Clone()})
							outs[i].Data = AlignedBytes(outs[i].Nbytes())
						}
						pool := threads.New(n)
						v := plan.Bind(args, outs, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n})
						for range 2 {
							if err := v.Call(); err != nil {
								t.Fatal(err)
							}
						}
						pool.Close()
						got := plain[float32](outs[0])
						if want == nil { // of the scalar tier
							want = got
							checkBatchNorm(t, x, args, got, bounds)
						}
						for i := range want {
							if math.Abs(float64(got[i]-want[i])) > 1e-5*math.Max(1, math.Abs(float64(want[i]))) || math.IsNaN(float64(got[i])) != math.IsNaN(float64(want[i])) {
								t.Fatalf("%v, inner %v, %v, %d threads: element %d is %v, want %v", sizes, inner, tier, n, i, got[i], want[i])
							}
						}
					}
				}
			}
		}
	}
}

// checkBatchNorm holds got against (x - mean)·w/√(variance + 1e-5) + b, within bounds.
func checkBatchNorm(t *testing.T, x *tensor.Tensor, args []Value, got []float32, bounds *[2]float32) {
	t.Helper()
	c := int(x.Sizes[1])
	per := x.Numel() / int(x.Sizes[0]) / c
	of := func(arg, ch int) float64 { return float64(elems[float32](args[arg].Tensor)[ch]) }
	for i, v := range plain[float32](x) {
		ch := i / per % c
		want := (float64(v)-of(3, ch))*of(1, ch)/math.Sqrt(of(4, ch)+1e-5) + of(2, ch)
		if bounds != nil {
			want = clampOf(want, float64(bounds[0]), float64(bounds[1]))
		}
		if math.Abs(float64(got[i])-want) > 1e-5*math.Max(1, math.Abs(want)) || math.IsNaN(float64(got[i])) != math.IsNaN(want) {
			t.Fatalf("%v: element %d is %v, want %v", x.Sizes, i, got[i], want)
		}
	}
}

// TestDimOrdersAreChecked gives lists that are no permutations.
func TestDimOrdersAreChecked(t *testing.T) {
	k := NewTable(Kernels).Lookup("dim_order_ops::_to_dim_order_copy.out", tensor.Float)
	for _, order := range [][]int64{{0, 1, 0}, {0, -1, 2}, {0, 1}, {0, 1, 3}} {
		if _, err := call(k, 1, false, iota32(1, 2, 3), false, order); err == nil {
			t.Errorf("order %v is taken", order)
		}
	}
}

// TestConvolutionArguments gives packed convolutions arguments that Prepare has to refuse.
func TestConvolutionArguments(t *testing.T) {
	k := NewTable(Kernels).Lookup("aten::convolution.out", tensor.Float)
	one := []int64{1, 1}
	for name, args := range map[string][]any{
		"groups 0":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 0},
		"groups 3":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 3},
		"stride 0":   {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), nil, []int64{0, 1}, one, one, false, one, 1},
		"bias":       {iota32(1, 2, 4, 4), iota32(2, 2, 3, 3), iota32(1), one, one, one, false, one, 1},
		"rank":       {iota32(4, 4), iota32(2, 2, 3, 3), nil, one, one, one, false, one, 1},
		"weight":     {iota32(1, 2, 4, 4), iota32(2), nil, one, one, one, false, one, 1},
		"no channel": {iota32(1, 2, 4, 4), iota32(2, 1, 3, 3), nil, one, one, one, false, one, 1},
	} {
		sig := ParseSignature(k.Def.Schema)
		out := iota32(1, 2, 4, 4)
		if _, err := Prepare(k, &sig, vals(args...), []tensor.Meta{out.Meta}, Options{}); err == nil {
			t.Errorf("%s: Prepare takes it", name)
		}
	}
}
