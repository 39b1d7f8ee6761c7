package op

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestTurned looks at which results of convolutions are computed with their channels innermost, and holds them against those of
// the scalar tier.
func TestTurned(t *testing.T) {
	for _, c := range []struct {
		in, weight dims
		last       bool // whether the result has its channels innermost anyway
		turned     bool
	}{
		{dims{1, 129, 6}, dims{128, 129, 3}, false, true},
		{dims{2, 16, 1, 1}, dims{24, 16, 1, 1}, false, true},
		{dims{2, 16, 4, 2}, dims{24, 16, 1, 1}, false, true},
		{dims{2, 16, 4, 2}, dims{24, 16, 1, 1}, true, false},
		{dims{2, 16, 1, 1}, dims{24, 16, 1, 1}, true, false},
		{dims{2, 16, 3, 3}, dims{24, 16, 1, 1}, false, false},
		{dims{2, 16, 4, 2}, dims{4, 16, 1, 1}, false, false},
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 3}, true, true}, // groups want the channels outermost
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 3}, false, false},
		{dims{1, 12, 40}, dims{6, 4, 5}, true, true},
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 1}, true, false},
		{dims{2, 16, 9, 7}, dims{16, 1, 3, 3}, true, false}, // of one channel each
	} {
		var want *tensor.Tensor
		for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
			one, zero := make(dims, len(c.in)-2), make(dims, len(c.in)-2)
			for i := range one {
				one[i] = 1
			}
			x := wave(c.in...)
			if c.last {
				x = ordered(x, lastOrder(len(c.in), true)...)
			}
			args := vals(x, wave(c.weight...), wave(c.weight[0]), one, zero, one, false, zero, int(c.in[1]/c.weight[1]))
			infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
			if err := Convolution.Infer(&infer); err != nil {
				t.Fatal(err)
			}
			sig := ParseSignature(Convolution.Schema)
			plan, err := Prepare(&ConvolutionF32, &sig, args, infer.Out, Options{Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			if turned := plan.order != nil; turned != (c.turned && kernel.GemmF32(tier) != nil) {
				t.Errorf("%v, %v, %v: turned is %v", c.in, c.weight, tier, turned)
			}
			out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: make([]byte, infer.Out[0].Nbytes())}
			v := plan.Bind(args, []*tensor.Tensor{out}, &Env{Temp: &Temp{}})
			v.Fixed = true
			for range 2 {
				clear(out.Data)
				if err := v.Call(); err != nil {
					t.Fatal(err)
				}
			}
			if want == nil {
				want = out
			} else if err := sameResults(want, out); err != nil {
				t.Errorf("%v, %v: %v", c.in, c.weight, err)
			}
			if n := testing.AllocsPerRun(5, func() { _ = v.Call() }); n != 0 {
				t.Errorf("%v, %v, %v: %v allocations", c.in, c.weight, tier, n)
			}
		}
	}
}

// TestTransposedTurned looks at which transposed convolutions with results in row-major order have the channels innermost meanwhile;
// TestConvolution holds their results.
func TestTransposedTurned(t *testing.T) {
	for _, c := range []struct {
		weight, stride, pad dims
		groups              int
		turned              bool
	}{
		{dims{16, 24, 4, 4}, dims{2, 2}, dims{1, 1}, 1, true},
		{dims{16, 24, 3, 3}, dims{1, 1}, dims{1, 1}, 1, true},
		{dims{16, 24, 3, 3}, dims{4, 2}, dims{0, 1}, 1, false}, // a place within the stride has no tap
		{dims{16, 24, 3, 3}, dims{2, 2}, dims{2, 2}, 1, false}, // padded beyond the taps of one
		{dims{16, 4, 4, 4}, dims{2, 2}, dims{1, 1}, 1, false},
		{dims{16, 24, 4, 4}, dims{2, 2}, dims{1, 1}, 2, false},
	} {
		args := vals(wave(1, 16, 7, 9), wave(c.weight...), nil, c.stride, c.pad, dims{1, 1}, true, dims{0, 0}, c.groups)
		infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
		if err := Convolution.Infer(&infer); err != nil {
			t.Fatal(err)
		}
		sig := ParseSignature(Convolution.Schema)
		for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
			plan, err := Prepare(&ConvolutionF32, &sig, args, infer.Out, Options{Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			if turned := plan.order != nil; turned != (c.turned && kernel.GemmF32(tier) != nil) {
				t.Errorf("%v, %v: turned is %v", c, tier, turned)
			}
		}
	}
}
