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
		stride     int64
		last       bool // whether the result has its channels innermost anyway
		turned     bool
	}{
		{dims{1, 129, 6}, dims{128, 129, 3}, 1, false, true},
		{dims{2, 16, 1, 1}, dims{24, 16, 1, 1}, 1, false, true},
		{dims{2, 16, 4, 2}, dims{24, 16, 1, 1}, 1, false, true},
		{dims{2, 16, 4, 2}, dims{24, 16, 1, 1}, 1, true, false},
		{dims{2, 16, 1, 1}, dims{24, 16, 1, 1}, 1, true, false},
		{dims{2, 16, 3, 3}, dims{24, 16, 1, 1}, 1, false, false},
		{dims{2, 16, 4, 2}, dims{4, 16, 1, 1}, 1, false, false},
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 3}, 1, true, true}, // groups want the channels outermost
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 3}, 1, false, false},
		{dims{1, 12, 40}, dims{6, 4, 5}, 1, true, true},
		{dims{2, 16, 9, 7}, dims{24, 4, 3, 1}, 1, true, false},
		{dims{2, 16, 9, 7}, dims{16, 1, 3, 3}, 1, true, false}, // of one channel each
		{dims{1, 32, 6, 6}, dims{32, 1, 3, 3}, 1, false, true}, // short rows
		{dims{1, 32, 26, 26}, dims{32, 1, 3, 3}, 1, false, true},
		{dims{1, 32, 27, 27}, dims{32, 1, 3, 3}, 1, false, false},
		{dims{1, 32, 46, 46}, dims{32, 1, 7, 7}, 1, false, true},
		{dims{1, 32, 70}, dims{32, 1, 31}, 1, false, false},        // of one dimension
		{dims{1, 16, 30, 30}, dims{16, 16, 3, 3}, 1, false, false}, // too few multiplications for each element
		{dims{1, 64, 30, 30}, dims{64, 64, 3, 3}, 1, false, true},
		{dims{1, 64, 100}, dims{64, 64, 3}, 1, false, true},
		{dims{1, 64, 20, 20}, dims{64, 32, 3, 3}, 1, false, true}, // groups that fill vectors
		{dims{1, 64, 20, 20}, dims{64, 32, 3, 3}, 2, false, false},
		{dims{1, 512, 8, 8}, dims{512, 256, 1, 1}, 1, false, false},
		{dims{1, 3, 64, 64}, dims{32, 3, 7, 7}, 4, false, true},
		{dims{1, 3, 64, 64}, dims{32, 3, 3, 3}, 2, false, false},
		{dims{1, 128, 14, 14}, dims{128, 128, 1, 1}, 1, false, false},
		{dims{1, 512, 7, 7}, dims{512, 512, 1, 1}, 1, false, true},
		{dims{1, 64, 5, 5, 5}, dims{64, 64, 3, 3, 3}, 1, false, false}, // volumes stay
	} {
		var want *tensor.Tensor
		for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
			n := len(c.in) - 2
			one, zero, stride := make(dims, n), make(dims, n), make(dims, n)
			for i := range one {
				one[i], stride[i] = 1, c.stride
			}
			x := wave(c.in...)
			if c.last {
				x = ordered(x, lastOrder(len(c.in), true)...)
			}
			w := wave(c.weight...)
			for i := range elems[float32](w) {
				elems[float32](w)[i] /= 64 // results of about 1
			}
			args := vals(x, w, wave(c.weight[0]), stride, zero, one, false, zero, int(c.in[1]/c.weight[1]))
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

// TestTurnedWeights prepares convolutions for weights that are not constant, and calls them with fewer channels.
func TestTurnedWeights(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		x, most, few := wave(1, 3, 12, 13), wave(40, 3, 6, 6), wave(3, 3, 6, 6)
		if transposed {
			most = wave(3, 40, 6, 6)
		}
		args := func(w *tensor.Tensor) []Value {
			return vals(x, w, nil, dims{1, 1}, dims{0, 0}, dims{1, 1}, transposed, dims{0, 0}, 1)
		}
		var want *tensor.Tensor
		for _, tier := range append([]kernel.Tier{kernel.Scalar}, kernel.Tiers()[1:]...) {
			if tier > kernel.Best() {
				break
			}
			planned := args(&tensor.Tensor{Meta: most.Meta})
			planned[0].Tensor = &tensor.Tensor{Meta: x.Meta}
			infer := Infer{Args: planned, Out: make([]tensor.Meta, 1)}
			if err := Convolution.Infer(&infer); err != nil {
				t.Fatal(err)
			}
			sig := ParseSignature(Convolution.Schema)
			plan, err := Prepare(&ConvolutionF32, &sig, planned, infer.Out, Options{Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			called := args(few)
			infer = Infer{Args: called, Out: make([]tensor.Meta, 1)}
			if err := Convolution.Infer(&infer); err != nil {
				t.Fatal(err)
			}
			out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: make([]byte, infer.Out[0].Nbytes())}
			if err := plan.Bind(called, []*tensor.Tensor{out}, &Env{Temp: &Temp{}}).Call(); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = out
			} else if err := sameResults(want, out); err != nil {
				t.Errorf("transposed %v, %v: %v", transposed, tier, err)
			}
		}
	}
}

// TestTurnedMost looks at images of so many elements that they stay contiguous: 64 channels of 181x181 positions and as many results are turned, not
// 64 of 182x182.
func TestTurnedMost(t *testing.T) {
	one := dims{1, 1}
	for n, want := range map[tensor.Dim]bool{181: true, 182: false} {
		args := vals(wave(1, 64, n, n), wave(64, 64, 3, 3), nil, one, one, one, false, dims{0, 0}, 1)
		infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
		if err := Convolution.Infer(&infer); err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			if got := turned(&Convolution, args, infer.Out, tier) != nil; got != (want && kernel.GemmF32(tier) != nil) {
				t.Errorf("%dx%d, %v: turned is %v", n, n, tier, got)
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
