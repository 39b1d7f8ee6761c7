package op

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestCallBehind holds convolutions with depthwise ones behind them against the two called one after the other, whose bits
// they have, in every tier, on one thread and on several.
func TestCallBehind(t *testing.T) {
	last := lastOrder(4, true)
	for _, c := range []struct {
		name              string
		in, first         dims
		stride, pad, size int64 // of the depthwise convolution
		dilation          int64
	}{
		{"pointwise", dims{1, 16, 23, 30}, dims{96, 16, 1, 1}, 1, 1, 3, 1},
		{"pointwise, strides", dims{1, 24, 28, 27}, dims{144, 24, 1, 1}, 2, 1, 3, 1},
		{"two images of few channels", dims{2, 5, 40, 41}, dims{24, 5, 1, 1}, 2, 2, 5, 1},
		{"last channels fill no vector", dims{1, 9, 14, 15}, dims{72, 9, 1, 1}, 1, 2, 5, 1},
		{"a small image", dims{1, 40, 7, 7}, dims{100, 40, 1, 1}, 1, 2, 5, 1},
		{"7x7, strides", dims{1, 12, 31, 29}, dims{40, 12, 1, 1}, 2, 3, 7, 1},
		{"11x11", dims{1, 12, 17, 30}, dims{33, 12, 1, 1}, 1, 5, 11, 1},
		{"window larger than the image", dims{1, 40, 3, 2}, dims{35, 40, 1, 1}, 1, 2, 5, 1},
		{"3x3", dims{1, 3, 61, 57}, dims{32, 3, 3, 3}, 1, 1, 3, 1},
		{"dilated, far padding", dims{2, 8, 33, 20}, dims{48, 8, 1, 1}, 2, 3, 3, 2},
		{"no padding, wide strides", dims{1, 8, 33, 35}, dims{33, 8, 3, 3}, 4, 0, 3, 1},
	} {
		x := ordered(wave(c.in...), last...)
		w, deep := wave(c.first...), wave(c.first[0], 1, c.size, c.size)
		args := []any{w, wave(c.first[0]), dims{1, 1}, dims{c.first[2] / 2, c.first[2] / 2}, dims{1, 1}, false, dims{0, 0}, 1}
		behind := []any{deep, wave(c.first[0]), dims{c.stride, c.stride}, dims{c.pad, c.pad}, dims{c.dilation, c.dilation}, false, dims{0, 0}, int(c.first[0])}
		t.Run(c.name, func(t *testing.T) {
			for _, tier := range kernel.Tiers() {
				checkBehind(t, tier, x, args, behind)
			}
		})
	}
}

// double is what happens between two convolutions.
func double(x []float32) {
	for i, v := range x {
		x[i] = 2 * v
	}
}

func checkBehind(t *testing.T, tier kernel.Tier, x *tensor.Tensor, args, behind []any) {
	t.Helper()
	for _, between := range []func([]float32){nil, double} {
		for _, n := range []int{1, 3} {
			pool := threads.New(n)
			env := &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n}
			first := boundConv(t, tier, env, vals(append([]any{x}, args...)...), &[2]float32{-9, 60})
			then := boundConv(t, tier, env, vals(append([]any{first.Outs[0]}, behind...)...), &[2]float32{-500, 700})
			if err := first.Call(); err != nil {
				t.Fatal(err)
			}
			if between != nil {
				between(elems[float32](first.Outs[0]))
			}
			if err := then.Call(); err != nil {
				t.Fatal(err)
			}
			want := string(then.Outs[0].Data)
			clear(then.Outs[0].Data)
			if err := first.Place(); err != nil {
				t.Fatal(err)
			}
			done, err := then.CallBehind(first, between)
			if fits := kernel.HasWindow(tier, int(then.Args[convWeight].Tensor.Sizes[2]), int(then.Outs[0].Sizes[1])); err != nil || done != fits {
				t.Fatalf("%v: done %v, %v", tier, done, err)
			}
			if done && string(then.Outs[0].Data) != want {
				t.Errorf("%v, %d threads: other results than one after the other", tier, n)
			}
			again := func() {
				_ = first.Place()
				_, _ = then.CallBehind(first, between)
			}
			if n := testing.AllocsPerRun(3, again); n != 0 {
				t.Errorf("%v: %v allocations", tier, n)
			}
			pool.Close()
		}
	}
}

// boundConv is a convolution with packed weights and results of its own.
func boundConv(t *testing.T, tier kernel.Tier, env *Env, args []Value, bounds *[2]float32) *Invoker {
	t.Helper()
	return invokerOf(t, &ConvolutionF32, env, args, Options{Tier: tier, Bounds: bounds}, 0)
}

// invokerOf is an invoker of k with these arguments and outs of its own, of which nobody reads some.
func invokerOf(t testing.TB, k *Kernel, env *Env, args []Value, opts Options, unread uint32) *Invoker {
	t.Helper()
	infer := Infer{Args: args, Out: make([]tensor.Meta, outsOfDef(k.Def))}
	if err := k.Def.Infer(&infer); err != nil {
		t.Fatal(err)
	}
	sig := ParseSignature(k.Def.Schema)
	plan, err := Prepare(k, &sig, args, infer.Out, opts)
	if err != nil {
		t.Fatal(err)
	}
	plan.SetUnread(unread)
	var list []*tensor.Tensor
	for i := range infer.Out {
		list = append(list, &tensor.Tensor{Meta: infer.Out[i].Clone()})
		list[i].Data = AlignedBytes(list[i].Nbytes())
	}
	return plan.Bind(args, list, env)
}
