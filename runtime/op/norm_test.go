package op

import (
	"errors"
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

// TestBatchNormTiers holds a normalization of every tier against its definition: of positions that are few and many, in both orders of
// images, with bounds and without.
func TestBatchNormTiers(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, sizes := range []dims{{1, 5, 1, 1}, {2, 3, 3, 5}, {1, 19, 7, 9}, {2, 1, 40, 40}, {3, 70, 17, 13}, {40, 33}} {
		x, c := gauss(r, sizes...), sizes[1]
		elems[float32](x)[0] = float32(math.NaN())
		variance := gauss(r, c)
		for i, v := range elems[float32](variance) {
			elems[float32](variance)[i] = v*v + 0.1
		}
		images := []*tensor.Tensor{x}
		if len(sizes) == 4 {
			images = append(images, ordered(x, lastOrder(4, true)...))
		}
		for _, x := range images {
			args := vals(x, gauss(r, c), gauss(r, c), gauss(r, c), variance, 0.1, 1e-5)
			for _, bounds := range []*[2]float32{nil, {-0.5, 1}} {
				for _, tier := range kernel.Tiers() {
					v := invokerOf(t, &NativeBatchNormLegitNoTrainingF32, &Env{Temp: new(Temp)}, args, Options{Tier: tier, Bounds: bounds}, 0)
					if err := errors.Join(v.Call(), v.Call()); err != nil {
						t.Fatal(err)
					}
					checkBatchNorm(t, tier, args, plain[float32](v.Outs[0]), bounds)
				}
			}
		}
	}
}

// checkBatchNorm holds got against (x - mean)·w/√(variance + 1e-5) + b, within bounds.
func checkBatchNorm(t *testing.T, tier kernel.Tier, args []Value, got []float32, bounds *[2]float32) {
	t.Helper()
	x := args[0].Tensor
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
			t.Fatalf("%v, order %v, %v: element %d is %v, want %v", x.Sizes, x.DimOrder, tier, i, got[i], want)
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

// TestBatchMoments normalizes by the means and variances of the images themselves, held against the definition: in both orders, on one
// thread and on several, which give the same bits.
func TestBatchMoments(t *testing.T) {
	pool := threads.New(3)
	defer pool.Close()
	r := rand.New(rand.NewSource(1))
	for _, sizes := range []dims{{1, 70, 40, 41}, {3, 5, 7, 9}, {1, 300, 2}, {40, 33}, {2, 1, 3, 4, 5}} {
		x, w, b := gauss(r, sizes...), gauss(r, sizes[1]), gauss(r, sizes[1])
		want, means := momentsOf(elems[float32](x), elems[float32](w), elems[float32](b), int(sizes[0]), int(sizes[1]))
		var bits []float32
		for _, tier := range kernel.Tiers() {
			bits = nil
			for _, x := range []*tensor.Tensor{x, ordered(x, lastOrder(len(sizes), true)...)} {
				for _, env := range []*Env{{Temp: new(Temp)}, {Temp: new(Temp), Parallel: pool.Run, Threads: 3}} {
					v := invokerOf(t, &NativeBatchNormLegitNoStatsF32, env, vals(x, w, b, true, 0.1, 1e-5), Options{Tier: tier}, 0)
					if err := errors.Join(v.Call(), v.Call()); err != nil {
						t.Fatal(err)
					}
					got := plain[float32](v.Outs[0])
					if bits == nil {
						bits = got
					}
					for i := range want {
						if math.Abs(float64(got[i])-want[i]) > 1e-5*(1+math.Abs(want[i])) || got[i] != bits[i] {
							t.Fatalf("%v, %v: element %d = %v, want %v", sizes, tier, i, got[i], want[i])
						}
					}
					for i, m := range means {
						if got := elems[float32](v.Outs[1])[i]; math.Abs(float64(got)-m) > 1e-6 {
							t.Errorf("%v, %v: mean %d = %v, want %v", sizes, tier, i, got, m)
						}
					}
				}
			}
		}
	}
	args := vals(gauss(r, 1, 3, 2), gauss(r, 2), nil, true, 0.1, 1e-5)
	v := invokerOf(t, &NativeBatchNormLegitNoStatsF32, &Env{Temp: new(Temp)}, args, Options{}, 0)
	if err := v.Call(); !errors.Is(err, errSizes) {
		t.Errorf("two weights of three channels: %v", err)
	}
}

// momentsOf are x normalized channel by channel, and the means.
func momentsOf(x, w, b []float32, images, channels int) (o, means []float64) {
	o = make([]float64, len(x))
	run := len(x) / images / channels
	for ch := range channels {
		var sum, squares float64
		each := func(f func(k int)) {
			for i := range images * run {
				f((i/run*channels+ch)*run + i%run)
			}
		}
		each(func(k int) { sum += float64(x[k]) })
		mean := sum / float64(images*run)
		each(func(k int) { squares += (float64(x[k]) - mean) * (float64(x[k]) - mean) })
		each(func(k int) {
			o[k] = (float64(x[k])-mean)/math.Sqrt(squares/float64(images*run)+1e-5)*float64(w[ch]) + float64(b[ch])
		})
		means = append(means, mean)
	}
	return o, means
}
