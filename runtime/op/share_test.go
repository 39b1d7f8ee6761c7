package op

import (
	"bytes"
	"math/rand"
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
	r := rand.New(rand.NewSource(1))
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
		{"convolution of halves", &ConvolutionF16, conv(halfOf(x, tensor.Half), halfOf(wave(32, 32, 3, 3), tensor.Half), 1, 1)},
		{"bilinear", &UpsampleBilinear2dF32, []any{x, dims{80, 80}, false, nil}},
		{"bilinear, channels last", &UpsampleBilinear2dF32, []any{last, dims{80, 80}, false, nil}},
		{"relu", &ReluF32, []any{large}},
		{"add", &AddF32, []any{large, large, 1}},
		{"softmax", &SoftmaxF32, []any{wave(8, 100), 1, false}},
		{"softmax along lines", &SoftmaxF32, []any{wave(9, 50, 301), 1, false}},
		{"sum of rows", &SumIntListF32, []any{x, dims{3}, false, nil}},
		{"mean of lines", &MeanF32, []any{x, dims{1}, true, nil}},
		{"largest of lines", &ArgmaxF32, []any{x, 2, false}},
		{"variance of gathered rows", &VarCorrectionF32, []any{x, dims{1, 3}, 1, false}},
		{"small products", &BmmF32, []any{wave(20, 33, 31), wave(20, 31, 29)}},
		{"attention with a cache", &CustomSdpaF32, []any{wave(1, 40, 4, 16), wave(1, 64, 2, 16), wave(1, 64, 2, 16), 20, nil, 0.0, true, nil}},
		{"Hadamard transform", &FastHadamardTransformF32, []any{wave(40, 28*32)}},
		{"attention with a cache of int8", &CustomQuantizedSdpaI8, quantizedArgs(quantizedRows(r, 1, 40, 4, 16), quantizedRows(r, 1, 64, 2, 16), quantizedRows(r, 1, 64, 2, 16), 20, nil, true, nil, false)},
		{"where", &WhereSelfF32, []any{someMask(parallelMin), large, large}},
		{"not", &LogicalNotBool, []any{someMask(parallelMin)}},
		{"other than a number", &NeScalarBool, []any{someMask(parallelMin), true}},
		{"batch norm", &NativeBatchNormLegitNoTrainingF32, []any{x, wave(32), wave(32), wave(32), ramp(32), 0.1, 1e-5}},
		{"batch norm, channels last", &NativeBatchNormLegitNoTrainingF32, []any{last, wave(32), wave(32), wave(32), ramp(32), 0.1, 1e-5}},
		{"group norm", &NativeGroupNormF32, []any{x, wave(32), wave(32), 1, 32, 1600, 8, 1e-5}},
		{"nearest", &UpsampleNearest2dF32, []any{x, dims{80, 80}, nil}},
		{"nearest, three times", &UpsampleNearest2dF32, []any{x, dims{120, 120}, nil}},
		{"nearest of a line, three times", &UpsampleNearest2dF32, []any{wave(1, 1, 1, 20011), dims{1, 60033}, nil}},
		{"nearest, channels last", &UpsampleNearest2dF32, []any{last, dims{80, 80}, nil}},
		{"average pool", &AvgPool2dF32, []any{x, dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}},
		{"average pool, channels last", &AvgPool2dF32, []any{last, dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}},
		{"cat", &CatF32, []any{[]*tensor.Tensor{x, x}, 1}},
		{"pad", &ConstantPadNdF32, []any{x, dims{1, 1, 1, 1}, 0.0}},
		{"a number for each row", &MulF32, []any{wave(300, 100), wave(300, 1)}},
		{"linear of halves, many columns", &LinearF16, []any{halfOf(wave(40, 100), tensor.Half), halfOf(wave(2000, 100), tensor.Half), nil}},
		{"cat, channels last", &CatF32, []any{[]*tensor.Tensor{last, last}, 1}},
	} {
		for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
			invoke := bound(t, c.k, tier, pool, c.args)
			if n := testing.AllocsPerRun(20, invoke); n != 0 {
				t.Errorf("%s, %v: %v allocations", c.name, tier, n)
			}
		}
	}
}

// someMask selects some of elements of these sizes.
func someMask(sizes ...tensor.Dim) *tensor.Tensor {
	x := wave(sizes...)
	m := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Bool, Sizes: x.Sizes}, Data: make([]byte, x.Numel())}
	for i := range m.Data {
		m.Data[i] = toBool(i%3 == 0 || i%7 == 1)
	}
	return m
}

// ramp is n positive numbers.
func ramp(n tensor.Dim) *tensor.Tensor {
	t := wave(n)
	for i := range elems[float32](t) {
		elems[float32](t)[i] = float32(i+1) / 8
	}
	return t
}

// bound is a call of k that has run twice.
func bound(t *testing.T, k *Kernel, tier kernel.Tier, pool *threads.Pool, args []any) func() {
	t.Helper()
	v := invokerOf(t, k, &Env{Temp: &Temp{}, Parallel: pool.Run, Threads: 2}, vals(args...), Options{Tier: tier}, 0)
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
	pool := threads.New(3)
	defer pool.Close()
	r := rand.New(rand.NewSource(1))
	conv := func(in, weight dims, stride, pad int64, last bool) []any {
		x := wave(in...)
		if last {
			x = ordered(x, lastOrder(x.Rank(), true)...)
		}
		return []any{x, wave(weight...), wave(weight[0]), dims{stride, stride}, dims{pad, pad}, dims{1, 1}, false, dims{0, 0}, 1}
	}
	image := wave(1, 24, 45, 50)
	last := ordered(image, lastOrder(4, true)...)
	for _, c := range []struct {
		name string
		k    *Kernel
		outs int
		args []any
	}{
		{"batch norm", &NativeBatchNormLegitNoTrainingF32, 3, []any{image, wave(24), wave(24), wave(24), ramp(24), 0.1, 1e-5}},
		{"batch norm, channels last", &NativeBatchNormLegitNoTrainingF32, 3, []any{last, wave(24), wave(24), wave(24), ramp(24), 0.1, 1e-5}},
		{"group norm", &NativeGroupNormF32, 3, []any{image, wave(24), wave(24), 1, 24, 45 * 50, 6, 1e-5}},
		{"nearest", &UpsampleNearest2dF32, 1, []any{image, dims{70, 120}, nil}},
		{"nearest, channels last", &UpsampleNearest2dF32, 1, []any{last, dims{70, 120}, nil}},
		{"reflection", &ReflectionPad2dF32, 1, []any{image, dims{3, 4, 5, 6}}},
		{"roll", &RollF32, 1, []any{image, dims{3, 7}, dims{1, 3}}},
		{"average pool", &AvgPool2dF32, 1, []any{image, dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}},
		{"average pool, channels last", &AvgPool2dF32, 1, []any{last, dims{3, 3}, dims{2, 2}, dims{1, 1}, false, true, nil}},
		{"small planes", &ConvolutionF32, 1, conv(dims{2, 64, 14, 14}, dims{96, 64, 3, 3}, 1, 1, false)},
		{"strides", &ConvolutionF32, 1, conv(dims{1, 32, 30, 31}, dims{50, 32, 3, 3}, 2, 1, false)},
		{"long rows", &ConvolutionF32, 1, conv(dims{1, 16, 20, 150}, dims{21, 16, 3, 3}, 1, 0, false)},
		{"many weights", &ConvolutionF32, 1, conv(dims{1, 128, 14, 14}, dims{300, 128, 3, 3}, 1, 1, true)},
		{"channels last", &ConvolutionF32, 1, conv(dims{1, 16, 40, 41}, dims{40, 16, 3, 3}, 1, 1, true)},
		{"weights larger than the image", &ConvolutionF32, 1, conv(dims{2, 320, 7, 7}, dims{200, 320, 1, 1}, 1, 0, true)},
		{"positions in a line", &ConvolutionF32, 1, conv(dims{1, 96, 14, 14}, dims{40, 96, 1, 1}, 1, 0, true)},
		{"product of many columns", &LinearF32, 1, []any{wave(21, 97), wave(301, 97), wave(301)}},
		{"product of many rows", &LinearF32, 1, []any{wave(171, 97), wave(101, 97), wave(101)}},
		{"product of many rows of halves", &LinearF16, 1, []any{halfOf(wave(171, 97), tensor.Half), halfOf(wave(101, 97), tensor.Half), nil}},
		{"product of many columns of halves", &LinearBF16, 1, []any{halfOf(wave(40, 97), tensor.BFloat16), halfOf(wave(2000, 97), tensor.BFloat16), nil}},
		{"moves of channels", &PermuteCopyF32, 1, []any{wave(1, 3, 120, 130), dims{0, 2, 3, 1}}},
		{"moves of planes", &PermuteCopyF32, 1, []any{wave(4, 90, 7, 33), dims{2, 0, 3, 1}}},
		{"sums", &AddF32, 1, []any{wave(3, 130, 120), wave(3, 130, 120), 1}},
		{"softmax along lines", &SoftmaxF32, 1, []any{wave(3, 37, 701), 1, false}},
		{"softmax along few lines", &SoftmaxF32, 1, []any{wave(131, 257), 0, false}},
		{"softmax along short lines", &SoftmaxF32, 1, []any{wave(50, 33, 17), 1, false}},
		{"logarithm of softmax along lines", &LogSoftmaxF32, 1, []any{wave(131, 299), 0, false}},
		{"sum of rows", &SumIntListF32, 1, []any{wave(41, 7, 131), dims{2}, false, nil}},
		{"sum of gathered rows", &SumIntListF32, 1, []any{wave(7, 131, 41), dims{1, 0}, false, nil}},
		{"sum of strided rows", &SumIntListF32, 1, []any{wave(9, 131, 37, 3), dims{0, 2}, false, nil}},
		{"sum of short lines", &SumIntListF32, 1, []any{wave(3003, 40), dims{0}, false, nil}},
		{"lines and a narrow rest", &SumIntListF32, 1, []any{wave(2100, 70), dims{0}, false, nil}},
		{"lines and a narrower rest", &SumIntListF32, 1, []any{wave(2100, 65), dims{0}, false, nil}},
		{"sum of lines and one left", &SumIntListF32, 1, []any{wave(3009, 40), dims{0}, false, nil}},
		{"sum of lines of some rows and some left", &SumIntListF32, 1, []any{wave(3135, 16), dims{0}, false, nil}},
		{"mean of lines with gaps", &MeanF32, 1, []any{wave(37, 2, 45, 24), dims{0, 2}, true, nil}},
		{"mean of a channel", &MeanF32, 1, []any{last, dims{2, 3}, true, nil}},
		{"sum of lines of two blocks", &SumIntListF32, 1, []any{wave(501, 128), dims{0}, false, nil}},
		{"a number for each channel", &MulF32, 1, []any{last, wave(1, 24, 1, 1)}},
		{"a number for each channel before", &SubF32, 1, []any{wave(24, 1, 1), last, 2}},
		{"mean of lines", &MeanF32, 1, []any{wave(9, 50, 301), dims{1}, true, nil}},
		{"product of many lines", &ProdIntF32, 1, []any{wave(2, 3, 9001), 1, false, nil}},
		{"any of lines", &AnyDimsF32, 1, []any{wave(9, 50, 301), dims{0, 1}, false}},
		{"largest of rows", &MaxDimF32, 2, []any{wave(41, 7, 131), 2, false}},
		{"largest of lines", &MaxDimF32, 2, []any{wave(9, 50, 301), 1, false}},
		{"place of the largest of lines", &ArgmaxF32, 1, []any{wave(9, 50, 301), 1, false}},
		{"place of the largest of all", &ArgmaxF32, 1, []any{wave(3, 50, 301), nil, false}},
		{"largest of lines alone", &AmaxF32, 1, []any{wave(9, 50, 301), dims{0, 1}, false}},
		{"variance of rows", &VarCorrectionF32, 1, []any{wave(41, 7, 131), dims{2}, 1, false}},
		{"variance and mean of lines", &VarMeanCorrectionF32, 2, []any{wave(3, 50, 301), dims{1}, 1, false}},
		{"layer norm of short rows", &NativeLayerNormF32, 3, []any{wave(301, 130), dims{130}, wave(130), wave(130), 1e-5}},
		{"layer norm of long rows", &NativeLayerNormF32, 3, []any{wave(5, 9001), dims{9001}, wave(9001), nil, 1e-5}},
		{"small products", &BmmF32, 1, []any{wave(23, 33, 31), wave(23, 31, 29)}},
		{"small products of few rows", &BmmF32, 1, []any{wave(53, 3, 71), wave(53, 71, 37)}},
		{"attention with a cache of int8", &CustomQuantizedSdpaI8, 1, quantizedArgs(quantizedRows(r, 1, 40, 4, 16), quantizedRows(r, 1, 64, 2, 16), quantizedRows(r, 1, 64, 2, 16), 20, nil, true, nil, false)},
		{"where", &WhereSelfF32, 1, []any{someMask(3, 131, 119), wave(3, 131, 119), wave(3, 131, 119)}},
		{"clamp", &ClampTensorF32, 1, []any{wave(3, 131, 119), wave(119), wave(3, 131, 1)}},
		{"where, broadcast", &WhereSelfF32, 1, []any{someMask(3, 131, 1), wave(3, 131, 119), wave(119)}},
		{"where, one number", &WhereSelfF32, 1, []any{someMask(401, 119), wave(1), wave(401, 119)}},
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

// TestCatShared holds what several threads put behind each other against what one does, which copies whole sections.
func TestCatShared(t *testing.T) {
	pool := threads.New(4)
	defer pool.Close()
	for _, inner := range []bool{false, true} {
		var list []*tensor.Tensor
		for _, channels := range []tensor.Dim{24, 1, 40} {
			x := wave(2, channels, 45, 50)
			if inner {
				x = ordered(x, lastOrder(4, true)...)
			}
			list = append(list, x)
		}
		results := func(env *Env) []byte {
			v := invokerOf(t, &CatF32, env, vals(list, 1), Options{}, 0)
			if err := v.Call(); err != nil {
				t.Fatal(err)
			}
			return v.Outs[0].Data
		}
		if !bytes.Equal(results(&Env{Temp: &Temp{}, Parallel: pool.Run, Threads: 4}), results(&Env{Temp: &Temp{}})) {
			t.Errorf("channels innermost: %v: other bytes than of one thread", inner)
		}
	}
}

// callOn calls k with a loop that divides its work, or none.
func callOn(k *Kernel, n int, tier kernel.Tier, parallel func(n, grain int, f func(lo, hi int)), args []any) ([]*tensor.Tensor, error) {
	infer := Infer{Args: vals(args...), Out: make([]tensor.Meta, n)}
	if err := k.Def.Infer(&infer); err != nil {
		return nil, err
	}
	var outs []*tensor.Tensor
	for i := range infer.Out {
		outs = append(outs, &tensor.Tensor{Meta: infer.Out[i].Clone(), Data: make([]byte, infer.Out[i].Nbytes())})
	}
	env := &Env{Temp: &Temp{}, Parallel: parallel}
	if parallel != nil {
		env.Threads = 3
	}
	return outs, callInto(k, tier, env, infer.Args, infer.Out, outs...)
}

// callInto calls k for results of these metas.
func callInto(k *Kernel, tier kernel.Tier, env *Env, args []Value, metas []tensor.Meta, outs ...*tensor.Tensor) error {
	sig := ParseSignature(k.Def.Schema)
	plan, err := Prepare(k, &sig, args, metas, Options{Tier: tier})
	if err != nil {
		return err
	}
	return plan.Bind(args, outs, env).Call()
}

// TestReductionRoom gathers rows where there is room for one of them alone: fewer threads do it then.
func TestReductionRoom(t *testing.T) {
	pool := threads.New(4)
	defer pool.Close()
	args := vals(wave(8, 64, 512), dims{0, 2}, 1, false)
	alone := invokerOf(t, &VarCorrectionF32, &Env{Temp: &Temp{}}, args, Options{Tier: kernel.Best()}, 0)
	short := invokerOf(t, &VarCorrectionF32, &Env{Temp: &Temp{Limit: 40 << 10}, Parallel: pool.Run, Threads: 4}, args, Options{Tier: kernel.Best()}, 0)
	for _, v := range []*Invoker{alone, short} {
		if err := v.Call(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(alone.call.Out[0].Data, short.call.Out[0].Data) {
		t.Error("results differ")
	}
}
