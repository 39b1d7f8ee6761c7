package op

import (
	"bytes"
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
		{"linear of halves", &LinearF16, []any{halfOf(wave(64, 100), tensor.Half), halfOf(wave(200, 100), tensor.Half), nil}},
		{"addmm of halves", &AddmmBF16, []any{halfOf(wave(1000), tensor.BFloat16), halfOf(wave(2, 1000), tensor.BFloat16), halfOf(wave(1000, 1000), tensor.BFloat16), 1, 1}},
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

// TestSharedAsAlone holds what several threads compute together against what one does.
func TestSharedAsAlone(t *testing.T) {
	pool := threads.New(4)
	defer pool.Close()
	conv := func(in, weight dims, stride, pad int64, last bool) []any {
		x := wave(in...)
		if last {
			x = ordered(x, lastOrder(x.Rank(), true)...)
		}
		return []any{x, wave(weight...), wave(weight[0]), dims{stride, stride}, dims{pad, pad}, dims{1, 1}, false, dims{0, 0}, 1}
	}
	for _, c := range []struct {
		name string
		k    *Kernel
		outs int
		args []any
	}{
		{"small planes", &ConvolutionF32, 1, conv(dims{2, 64, 14, 14}, dims{96, 64, 3, 3}, 1, 1, false)},
		{"strides", &ConvolutionF32, 1, conv(dims{1, 32, 30, 31}, dims{50, 32, 3, 3}, 2, 1, false)},
		{"long rows", &ConvolutionF32, 1, conv(dims{1, 16, 20, 150}, dims{21, 16, 3, 3}, 1, 0, false)},
		{"many weights", &ConvolutionF32, 1, conv(dims{1, 128, 14, 14}, dims{300, 128, 3, 3}, 1, 1, true)},
		{"channels last", &ConvolutionF32, 1, conv(dims{1, 16, 40, 41}, dims{40, 16, 3, 3}, 1, 1, true)},
		{"weights larger than the image", &ConvolutionF32, 1, conv(dims{2, 320, 7, 7}, dims{200, 320, 1, 1}, 1, 0, true)},
		{"positions in a line", &ConvolutionF32, 1, conv(dims{1, 96, 14, 14}, dims{40, 96, 1, 1}, 1, 0, true)},
		{"moves of channels", &PermuteCopyF32, 1, []any{wave(1, 3, 120, 130), dims{0, 2, 3, 1}}},
		{"moves of planes", &PermuteCopyF32, 1, []any{wave(4, 90, 7, 33), dims{2, 0, 3, 1}}},
		{"sums", &AddF32, 1, []any{wave(3, 130, 120), wave(3, 130, 120), 1}},
		{"max pool", &MaxPool2dWithIndicesF32, 2, []any{wave(2, 40, 30, 70), dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, false}},
	} {
		for _, tier := range kernel.Tiers() {
			alone, err := callOn(c.k, c.outs, tier, nil, c.args)
			if err != nil {
				t.Fatal(err)
			}
			together, err := callOn(c.k, c.outs, tier, pool.Run, c.args)
			if err != nil {
				t.Fatal(err)
			}
			for i := range alone {
				if !bytes.Equal(alone[i].Data, together[i].Data) {
					t.Errorf("%s, %v: out %d differs", c.name, tier, i)
				}
			}
		}
	}
}

// callOn calls k with a loop that divides its work, or none.
func callOn(k *Kernel, n int, tier kernel.Tier, parallel func(n, grain int, f func(lo, hi int)), args []any) ([]*tensor.Tensor, error) {
	sig := ParseSignature(k.Def.Schema)
	infer := Infer{Args: vals(args...), Out: make([]tensor.Meta, n)}
	if err := k.Def.Infer(&infer); err != nil {
		return nil, err
	}
	plan, err := Prepare(k, &sig, infer.Args, infer.Out, Options{Tier: tier})
	if err != nil {
		return nil, err
	}
	var outs []*tensor.Tensor
	for i := range infer.Out {
		outs = append(outs, &tensor.Tensor{Meta: infer.Out[i].Clone(), Data: make([]byte, infer.Out[i].Nbytes())})
	}
	return outs, plan.Bind(infer.Args, outs, &Env{Temp: &Temp{}, Parallel: parallel, Threads: 4}).Call()
}
