package op

import (
	"errors"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestAgain holds calls of one invoker, whose input has other sizes now and then, against those of new ones.
func TestAgain(t *testing.T) {
	inner := []uint8{0, 2, 3, 1}
	for _, c := range []struct {
		name   string
		k      *Kernel
		args   []any
		sizes  []dims
		order  []uint8
		unread uint32
	}{
		{"avg 9x9 inner", &AvgPool2dF32, []any{dims{9, 9}, dims{1, 1}, dims{4, 4}, false, false, nil}, []dims{{1, 16, 6, 6}, {1, 16, 6, 6}, {1, 16, 12, 12}, {1, 16, 12, 12}, {1, 16, 6, 6}}, inner, 0},
		{"adaptive avg inner", &AdaptiveAvgPool2dF32, []any{dims{1, 1}}, []dims{{1, 16, 7, 7}, {1, 16, 12, 12}, {1, 16, 12, 12}}, inner, 0},
		{"adaptive avg outer", &AdaptiveAvgPool2dF32, []any{dims{1, 1}}, []dims{{1, 16, 1, 1}, {1, 16, 12, 12}, {1, 16, 12, 12}}, nil, 0},
		{"adaptive max inner", &AdaptiveMaxPool2dF32, []any{dims{1, 1}}, []dims{{1, 16, 7, 7}, {1, 16, 12, 12}, {1, 16, 12, 12}}, inner, 0},
		{"max outer", &MaxPool2dWithIndicesF32, []any{dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, false}, []dims{{1, 16, 1, 1}, {1, 16, 12, 12}, {1, 16, 12, 12}}, nil, 0},
		{"max outer unread", &MaxPool2dWithIndicesF32, []any{dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, false}, []dims{{1, 16, 1, 1}, {1, 16, 12, 12}, {1, 16, 12, 12}}, nil, 2},
		{"avg outer", &AvgPool2dF32, []any{dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}, []dims{{1, 16, 1, 1}, {1, 16, 12, 12}, {1, 16, 12, 12}}, nil, 0},
		{"sums of rows", &SumIntListF32, []any{dims{2}, false, nil}, []dims{{3, 5, 40}, {3, 5, 40}, {2, 7, 3}, {2, 7, 0}, {3, 5, 40}}, nil, 0},
		{"sums of many lines", &SumIntListF32, []any{dims{0}, false, nil}, []dims{{3, 2000}, {0, 2000}, {40, 2000}}, nil, 0},
		{"sums of gathered rows", &SumIntListF32, []any{dims{0, 2}, false, nil}, []dims{{3, 5, 40}, {9, 7, 3}, {0, 7, 3}, {3, 5, 40}}, nil, 0},
		{"means of lines", &MeanF32, []any{dims{1}, true, nil}, []dims{{3, 5, 40}, {2, 70, 3}, {2, 7, 2000}, {3, 5, 40}}, nil, 0},
		{"places of the largest", &ArgmaxF32, []any{1, false}, []dims{{3, 5, 40}, {2, 70, 3}, {2, 7, 1000}, {3, 5, 40}}, nil, 0},
		{"the largest", &AmaxF32, []any{dims{1}, false}, []dims{{3, 5, 40}, {2, 70, 3}, {2, 7, 1000}, {3, 5, 40}}, nil, 0},
		{"variances", &VarCorrectionF32, []any{dims{0}, 1, false}, []dims{{3, 5, 40}, {9, 7, 3}, {2, 7, 1000}, {3, 5, 40}}, nil, 0},
		{"softmax of lines", &SoftmaxF32, []any{1, false}, []dims{{3, 5, 40}, {2, 70, 3}, {2, 7, 600}, {3, 5, 40}}, nil, 0},
		{"pads", &ConstantPadNdF32, []any{dims{1, 0, 2, 1}, 7.5}, []dims{{3, 5, 40}, {3, 5, 40}, {2, 7, 3}, {2, 1, 0}, {3, 5, 40}}, nil, 0},
		{"products", &LinearF32, []any{wave(70, 40), wave(70)}, []dims{{3, 40}, {3, 40}, {50, 40}, {0, 40}, {3, 40}, {3, 40}}, nil, 0},
		{"products of turned rows", &LinearF32, []any{wave(70, 40), nil}, []dims{{3, 40}, {3, 40}, {50, 40}, {50, 40}}, []uint8{1, 0}, 0},
		{"products without a bias", &MmF32, []any{wave(40, 70)}, []dims{{3, 40}, {3, 40}, {50, 40}, {50, 40}}, nil, 0},
		{"sums of products", &AddmmF32, []any{wave(3, 40), wave(40, 70), 1, 1}, []dims{{70}, {70}, {3, 70}, {70}, {70}}, nil, 0},
		{"sums of scaled products", &AddmmF32, []any{wave(3, 40), wave(40, 70), 2, 1}, []dims{{70}, {70}, {3, 70}, {70}}, nil, 0},
		{"products of halves", &LinearF16, []any{halfOf(wave(64, 40), tensor.Half), nil}, []dims{{40, 40}, {2, 40}, {40, 40}, {0, 40}, {33, 40}}, nil, 0},
		{"smallest", &AminF32, []any{dims{2}, true}, []dims{{3, 5, 40}, {3, 5, 40}, {2, 7, 3}, {3, 5, 40}}, nil, 0},
		{"batches", &AvgPool2dF32, []any{dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}, []dims{{3, 16, 8, 8}, {1, 16, 8, 8}, {1, 16, 8, 8}, {0, 16, 8, 8}, {0, 16, 8, 8}, {3, 16, 8, 8}, {3, 16, 8, 8}}, inner, 0},
	} {
		for _, tier := range kernel.Tiers() {
			t.Run(c.name+"/"+tier.String(), func(t *testing.T) {
				input := func(round int) *tensor.Tensor {
					x := wave(c.sizes[round]...)
					if c.order != nil {
						x = ordered(x, c.order...)
					}
					for i, v := range elems[float32](x) {
						elems[float32](x)[i] = v * float32(round+1)
					}
					return x
				}
				bind := func(x *tensor.Tensor) *Invoker {
					v := invokerOf(t, c.k, &Env{Temp: new(Temp)}, vals(append([]any{x}, c.args...)...), Options{Tier: tier}, c.unread)
					for _, o := range v.Outs {
						o.Data = AlignedBytes(1 << 16)[:len(o.Data)] // room for other sizes
					}
					v.Stable = true
					return v
				}
				v := bind(input(0))
				for round := range c.sizes {
					x := input(round)
					*v.Args[0].Tensor = *x
					v.Outs[0].Data = AlignedBytes(1 << 16)[:len(v.Outs[0].Data)]
					fresh := bind(x)
					if err := errors.Join(v.Call(), fresh.Call()); err != nil {
						t.Fatal(err)
					}
					if err := sameResults(fresh.Outs[0], v.Outs[0]); err != nil {
						t.Errorf("call %d: %v", round, err)
					}
				}
			})
		}
	}
}

// TestProductAgainOfInputs multiplies with weights that are no constant, and change from call to call.
func TestProductAgainOfInputs(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		sig := ParseSignature(Mm.Schema)
		x, w, out := wave(3, 40), wave(40, 70), wave(3, 70)
		data := w.Data
		w.Data = nil
		p, err := Prepare(&MmF32, &sig, vals(x, w), []tensor.Meta{out.Meta}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		w.Data = data
		v := p.Bind(vals(x, w), []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
		v.Stable = true
		callsAgain(t, v, w, &MmF32, vals(x, w), Options{Tier: tier})
	}
}

// TestProductAgainShared is TestAgain for products that threads divide.
func TestProductAgainShared(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		x := wave(300, 40)
		args := vals(x, wave(700, 40), wave(700))
		v := invokerOf(t, &LinearF32, &Env{Temp: new(Temp), Threads: 3, Parallel: shuffled(3)}, args, Options{Tier: tier}, 0)
		v.Fixed = true
		callsAgain(t, v, x, &LinearF32, args, Options{Tier: tier})
	}
}

// callsAgain holds calls of v, among whose arguments x has other numbers each time, against those of new invokers, on one thread.
func callsAgain(t *testing.T, v *Invoker, x *tensor.Tensor, k *Kernel, args []Value, opts Options) {
	t.Helper()
	for range 3 {
		for i := range elems[float32](x) {
			elems[float32](x)[i] *= -1.5
		}
		fresh := invokerOf(t, k, &Env{Temp: new(Temp)}, args, opts, 0)
		if err := errors.Join(v.Call(), fresh.Call()); err != nil {
			t.Fatal(err)
		}
		if err := sameResults(fresh.Outs[0], v.Outs[0]); err != nil {
			t.Errorf("%v: %v", opts.Tier, err)
		}
	}
}

// TestConvolutionAgainOfVolumes is TestAgain of convolutions of three dimensions with channels innermost, one of which has no taps.
func TestConvolutionAgainOfVolumes(t *testing.T) {
	for _, c := range []struct {
		name        string
		w           dims
		stride, pad dims
		transposed  bool
		groups      int
		max         dims
		sizes       []dims
	}{
		{"segments", dims{16, 16, 1, 3, 3}, dims{1, 1, 1}, dims{0, 1, 1}, false, 1, dims{1, 16, 2, 8, 8}, []dims{{1, 16, 1, 8, 8}, {1, 16, 1, 8, 8}, {1, 16, 2, 8, 8}, {1, 16, 2, 8, 8}, {1, 16, 1, 8, 8}}},
		{"transposed", dims{16, 16, 1, 4, 4}, dims{1, 2, 2}, dims{0, 1, 1}, true, 1, dims{1, 16, 2, 4, 4}, []dims{{1, 16, 1, 4, 4}, {1, 16, 1, 4, 4}, {1, 16, 2, 4, 4}, {1, 16, 2, 4, 4}, {1, 16, 1, 4, 4}}},
		{"segments small", dims{16, 16, 1, 3, 3}, dims{1, 1, 1}, dims{0, 1, 1}, false, 1, dims{1, 16, 2, 2, 2}, []dims{{1, 16, 1, 2, 2}, {1, 16, 1, 2, 2}, {1, 16, 2, 2, 2}, {1, 16, 2, 2, 2}, {1, 16, 1, 2, 2}}},
		{"transposed max 1", dims{16, 16, 1, 4, 4}, dims{1, 2, 2}, dims{0, 1, 1}, true, 1, dims{1, 16, 1, 4, 4}, []dims{{1, 16, 1, 4, 4}, {1, 16, 1, 4, 4}}},
		{"depthwise fixed D 2", dims{16, 1, 1, 3, 3}, dims{1, 1, 1}, dims{0, 1, 1}, false, 16, dims{1, 16, 2, 8, 8}, []dims{{1, 16, 2, 8, 8}}},
		{"depthwise no pad", dims{16, 1, 1, 3, 3}, dims{1, 1, 1}, dims{0, 0, 0}, false, 16, dims{1, 16, 2, 8, 8}, []dims{{1, 16, 2, 8, 8}}},
		{"depthwise", dims{16, 1, 1, 3, 3}, dims{1, 1, 1}, dims{0, 1, 1}, false, 16, dims{1, 16, 2, 8, 8}, []dims{{1, 16, 1, 8, 8}, {1, 16, 1, 8, 8}, {1, 16, 2, 8, 8}, {1, 16, 2, 8, 8}, {1, 16, 1, 8, 8}}},
	} {
		for _, tier := range kernel.Tiers() {
			t.Run(c.name+"/"+tier.String(), func(t *testing.T) {
				order := lastOrder(5, true)
				w := wave(c.w...)
				bind := func(tier kernel.Tier, sizes dims) *Invoker {
					v := boundConv(t, tier, &Env{Temp: new(Temp)}, vals(ordered(wave(sizes...), order...), w, nil, c.stride, c.pad, dims{1, 1, 1}, c.transposed, dims{0, 0, 0}, c.groups), nil)
					v.Stable = true
					return v
				}
				defer func() {
					if r := recover(); r != nil {
						t.Error("panic:", r)
					}
				}()
				v := bind(tier, c.max)
				for round, sizes := range c.sizes {
					x := ordered(wave(sizes...), order...)
					for i, v := range elems[float32](x) {
						elems[float32](x)[i] = v * float32(round+1)
					}
					*v.Args[0].Tensor = *x
					fresh := bind(kernel.Scalar, sizes)
					*fresh.Args[0].Tensor = *x
					if err := errors.Join(v.Call(), fresh.Call()); err != nil {
						t.Fatal(err)
					}
					if err := sameResults(fresh.Outs[0], v.Outs[0]); err != nil {
						t.Errorf("call %d: %v", round, err)
					}
				}
			})
		}
	}
}

// TestMaxPool3dOfOneDeep pools an input of one plane, which is no pool of two dimensions; call holds every tier against scalar.
func TestMaxPool3dOfOneDeep(t *testing.T) {
	if _, err := call(&MaxPool3dWithIndicesF32, 2, true, wave(1, 4, 1, 10, 12), dims{1, 1, 3}, dims{1, 1, 1}, dims{0, 0, 1}, dims{1, 1, 1}, false); err != nil {
		t.Error(err)
	}
}
