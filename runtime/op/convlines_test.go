package op

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestRings holds depthwise convolutions whose rows are copied with zeros at both ends against those tap by tap, on several threads,
// which each copy the rows around their own; and which convolutions do that.
func TestRings(t *testing.T) {
	for _, c := range []struct {
		x                     dims
		size                  int64
		stride, pad, dilation dims
		rings                 bool
	}{
		{dims{1, 96, 14, 14}, 5, dims{1, 1}, dims{2, 2}, dims{1, 1}, true},
		{dims{3, 512, 7, 7}, 5, dims{1, 1}, dims{2, 2}, dims{1, 1}, true}, // columns that are 2 KiB apart
		{dims{2, 64, 15, 12}, 7, dims{2, 1}, dims{3, 3}, dims{1, 1}, true},
		{dims{1, 64, 20, 14}, 5, dims{1, 1}, dims{4, 4}, dims{2, 2}, true},
		{dims{1, 32, 112, 112}, 3, dims{1, 1}, dims{1, 1}, dims{1, 1}, false}, // the ends are few
		{dims{1, 64, 40, 14}, 11, dims{1, 1}, dims{20, 20}, dims{4, 4}, true},
		{dims{1, 64, 60, 14}, 11, dims{1, 1}, dims{25, 20}, dims{5, 4}, false}, // positions see rows too far apart
	} {
		channels := c.x[1]
		x := ordered(wave(c.x...), lastOrder(4, true)...)
		args := vals(x, wave(channels, 1, c.size, c.size), wave(channels), c.stride, c.pad, c.dilation, false, dims{0, 0}, int(channels))
		var want []float32
		for _, tier := range kernel.Tiers() {
			for _, n := range []int{1, 2, 3} {
				t.Run(fmt.Sprintf("%v/%v/%d threads", c.x, tier, n), func(t *testing.T) {
					pool := threads.New(n)
					defer pool.Close()
					v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n}, args, nil)
					for range 2 {
						if err := v.Call(); err != nil {
							t.Fatal(err)
						}
					}
					out := v.Outs[0]
					l := lines{convJob: convJob[float32]{conv: newConv(args, &x.Meta, &out.Meta)}, tier: tier}
					if kernel.TapsKernels(tier) != nil && l.inner() && l.window && l.pays() != c.rings {
						t.Errorf("rings: %v, want %v", !c.rings, c.rings)
					}
					if want == nil { // of the first tier, which is scalar
						want = plain[float32](out)
					}
					wantOut(t, out, out.Sizes, want...)
				})
			}
		}
	}
}

// TestFewChannels holds groups of few channels, with weights that are constant and with those of each call, on several threads and within
// bounds, against the scalar tier.
func TestFewChannels(t *testing.T) {
	sig, last := ParseSignature(Convolution.Schema), lastOrder(4, true)
	x, w := wave(2, 48, 30, 28), wave(48, 8, 3, 3)
	var want []float32
	for _, tier := range kernel.Tiers() {
		for _, constant := range []bool{true, false} {
			for _, n := range []int{1, 2, 3} {
				t.Run(fmt.Sprintf("%v/%v/%d threads", tier, constant, n), func(t *testing.T) {
					pool := threads.New(n)
					defer pool.Close()
					known := *w
					if !constant {
						known.Data = nil
					}
					with := func(w *tensor.Tensor) []Value {
						return vals(ordered(x, last...), w, wave(48), dims{1, 1}, dims{1, 1}, dims{1, 1}, false, dims{0, 0}, 6)
					}
					out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 48, 30, 28}, DimOrder: last}}
					out.Data = AlignedBytes(out.Nbytes())
					p, err := Prepare(&ConvolutionF32, &sig, with(&known), []tensor.Meta{out.Meta}, Options{Tier: tier, Bounds: &[2]float32{-1, 40}})
					if err != nil {
						t.Fatal(err)
					}
					v := p.Bind(with(w), []*tensor.Tensor{out}, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n})
					for range 2 {
						if err := v.Call(); err != nil {
							t.Fatal(err)
						}
					}
					if want == nil { // of the first tier, which is scalar
						want = plain[float32](out)
					}
					wantOut(t, out, out.Sizes, want...)
				})
			}
		}
	}
}

// TestFewChannelsTurn holds which contiguous images of groups are turned: those for which there is a kernel.
func TestFewChannelsTurn(t *testing.T) {
	out := &tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{1, 96, 30, 28}}
	for _, tier := range kernel.Tiers()[1:] {
		for _, c := range []struct {
			per, step int64
			turns     bool
		}{{2, 1, true}, {4, 1, true}, {3, 1, false}, {4, 21, true}, {4, 22, false}} { // rows with zeros at both ends are short
			args := vals(wave(1, 96, 30, 28), wave(96, c.per, 3, 3), nil, dims{1, c.step}, dims{1, 1}, dims{1, c.step}, false, dims{0, 0}, int(96/c.per))
			if got := turnsConvolution(args, out, tier); got != c.turns {
				t.Errorf("%v, groups of %d, steps of %d: turned %v, want %v", tier, c.per, c.step, got, c.turns)
			}
		}
	}
}

// TestFewChannelsVary wants an error where a call has other strides, dilation or groups than those that weights were packed for, and results
// where it has smaller images.
func TestFewChannelsVary(t *testing.T) {
	sig, last := ParseSignature(Convolution.Schema), lastOrder(4, true)
	w, bias := wave(32, 4, 3, 3), wave(32)
	with := func(x dims, stride, dilation dims, groups int) ([]Value, *tensor.Tensor) {
		args := vals(ordered(wave(x...), last...), w, bias, stride, dims{20, 1}, dilation, false, dims{0, 0}, groups)
		infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
		if err := inferConvolution(&infer); err != nil {
			t.Fatal(err)
		}
		out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: infer.Out[0].Sizes, DimOrder: last}}
		out.Data = AlignedBytes(out.Nbytes())
		return args, out
	}
	for _, tier := range kernel.Tiers() {
		planned, out := with(dims{2, 32, 14, 9}, dims{1, 1}, dims{1, 1}, 8)
		p, err := Prepare(&ConvolutionF32, &sig, planned, []tensor.Meta{out.Meta}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			x                dims
			stride, dilation dims
			groups           int
			fails            bool
		}{
			{dims{2, 32, 14, 9}, dims{1, 1}, dims{1, 1}, 8, false},
			{dims{1, 32, 9, 1}, dims{1, 1}, dims{1, 1}, 8, false},
			{dims{1, 32, 14, 9}, dims{3, 3}, dims{1, 1}, 8, true},
			{dims{1, 32, 14, 9}, dims{1, 1}, dims{23, 1}, 8, true},
			{dims{1, 4, 14, 9}, dims{1, 1}, dims{1, 1}, 1, true},
		} {
			t.Run(fmt.Sprintf("%v/%v", tier, c), func(t *testing.T) {
				args, out := with(c.x, c.stride, c.dilation, c.groups)
				err := p.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp)}).Call()
				if tier != kernel.Scalar && c.fails {
					if !errors.Is(err, errConvPacked) {
						t.Errorf("error %v, want %v", err, errConvPacked)
					}
					return
				}
				if c.fails { // portable Go packs for some groups, and takes any strides
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				cc := convCase{stride: c.stride, pad: dims{20, 1}, dilation: c.dilation, groups: c.groups}
				wantOut(t, out, out.Sizes, naiveConv(&cc, wave(c.x...), w, bias, &out.Meta)...)
			})
		}
	}
}
