package op

import (
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestConvolutionTurnsInput gives convolutions whose results have the channels innermost inputs that lie otherwise: those in planes are
// turned while they are copied into a frame, others as a whole, as are those whose positions see few taps.
func TestConvolutionTurnsInput(t *testing.T) {
	const farTaps = "far taps"
	pool := threads.New(2)
	defer pool.Close()
	last, sig := lastOrder(4, true), ParseSignature(Convolution.Schema)
	for _, cc := range []convCase{
		{in: dims{2, 3, 21, 40}, weight: dims{16, 3, 3, 3}, stride: dims{2, 2}, pad: dims{1, 1}},
		{in: dims{1, 3, 64, 64}, weight: dims{40, 3, 4, 4}, stride: dims{4, 4}, pad: dims{0, 0}},
		{in: dims{2, 20, 30, 17}, weight: dims{33, 20, 3, 5}, stride: dims{1, 1}, pad: dims{1, 2}},
		{in: dims{1, 9, 30, 16}, weight: dims{32, 9, 1, 1}, stride: dims{1, 1}, pad: dims{0, 0}},
		{in: dims{1, 9, 30, 15}, weight: dims{32, 9, 3, 3}, stride: dims{1, 1}, pad: dims{1, 1}}, // rows too short
		{name: farTaps, in: dims{1, 32, 20, 21}, weight: dims{32, 32, 3, 3}, stride: dims{1, 1}, pad: dims{18, 18}, dilation: dims{18, 18}},
	} {
		if cc.groups = 1; cc.dilation == nil {
			cc.dilation = dims{1, 1}
		}
		x, w, bias := wave(cc.in...), wave(cc.weight...), wave(cc.weight[0])
		args := func(x *tensor.Tensor) []Value { return vals(cc.args(x, w, bias)...) }
		infer := Infer{Args: args(ordered(x, last...)), Out: make([]tensor.Meta, 1)}
		if err := ConvolutionF32.Def.Infer(&infer); err != nil {
			t.Fatal(err)
		}
		meta := infer.Out[0]
		want := naiveConv(&cc, x, w, bias, &meta)
		for _, tier := range kernel.Tiers() {
			for _, order := range [][]uint8{nil, {1, 0, 2, 3}, {0, 1, 3, 2}, last} {
				for _, env := range []*Env{{Temp: new(Temp)}, {Temp: new(Temp), Parallel: pool.Run, Threads: 2}} {
					name := fmt.Sprint(cc.in, tier, order, env.Threads)
					out, in := &tensor.Tensor{Meta: meta.Clone(), Data: make([]byte, meta.Nbytes())}, ordered(x, order...)
					plan, err := Prepare(&ConvolutionF32, &sig, args(in), infer.Out, Options{Tier: tier})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					v := plan.Bind(args(in), []*tensor.Tensor{out}, env)
					if err := v.Call(); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					k, _ := v.call.kept.(*kept[segments])
					if got, want := k != nil && k.job.planes, tier != kernel.Scalar && cc.in[3] >= framedRow && cc.name != farTaps && in.Contiguous(); got != want {
						t.Errorf("%s: planes are turned into a frame: %v, want %v", name, got, want)
					}
					t.Run(name, func(t *testing.T) { wantOut(t, out, out.Sizes, want...) })
				}
			}
		}
	}
}
