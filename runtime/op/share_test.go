package op

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestSharedJobsAllocateNothing runs kernels that divide their work among threads.
func TestSharedJobsAllocateNothing(t *testing.T) {
	pool := threads.New(2)
	defer pool.Close()
	x := wave(1, 32, 40, 40)
	last := ordered(x, lastOrder(4, true)...)
	conv := func(x *tensor.Tensor, w *tensor.Tensor, stride, groups int) []any {
		return []any{x, w, nil, dims{int64(stride)}, dims{1}, dims{1}, false, dims{0}, groups}
	}
	large := wave(parallelMin)
	for _, c := range []struct {
		name string
		k    *Kernel
		args []any
	}{
		{"convolution", &ConvolutionF32, conv(x, wave(32, 32, 3, 3), 2, 1)},
		{"convolution, channels last", &ConvolutionF32, conv(last, wave(32, 32, 3, 3), 1, 1)},
		{"depthwise", &ConvolutionF32, conv(x, wave(32, 1, 3, 3), 1, 32)},
		{"depthwise, channels last", &ConvolutionF32, conv(last, wave(32, 1, 3, 3), 1, 32)},
		{"linear", &LinearF32, []any{wave(64, 100), wave(200, 100), nil}},
		{"linear, few rows", &LinearF32, []any{wave(2, 1000), wave(1000, 1000), nil}},
		{"bilinear", &UpsampleBilinear2dF32, []any{x, dims{80, 80}, false, nil}},
		{"bilinear, channels last", &UpsampleBilinear2dF32, []any{last, dims{80, 80}, false, nil}},
		{"relu", &ReluF32, []any{large}},
		{"add", &AddF32, []any{large, large, 1}},
		{"softmax", &SoftmaxF32, []any{wave(8, 100), 1, false}},
	} {
		for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
			invoke := bound(t, c.k, tier, pool, c.args)
			if n := testing.AllocsPerRun(20, invoke); n != 0 {
				t.Errorf("%s, %v: %v allocations", c.name, tier, n)
			}
		}
	}
}

// bound is a call of k that has run twice.
func bound(t *testing.T, k *Kernel, tier kernel.Tier, pool *threads.Pool, args []any) func() {
	t.Helper()
	sig := ParseSignature(k.Def.Schema)
	infer := Infer{Args: vals(args...), Out: make([]tensor.Meta, 1)}
	if err := k.Def.Infer(&infer); err != nil {
		t.Fatal(err)
	}
	plan, err := Prepare(k, &sig, infer.Args, infer.Out, Options{Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: make([]byte, infer.Out[0].Nbytes())}
	v := plan.Bind(infer.Args, []*tensor.Tensor{out}, &Env{Temp: &Temp{}, Parallel: pool.Run})
	invoke := func() {
		if err := v.Call(); err != nil {
			t.Fatal(err)
		}
	}
	invoke()
	invoke()
	return invoke
}
