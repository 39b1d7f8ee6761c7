package op

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// convCase is a convolution over len(stride) dimensions.
type convCase struct {
	name                        string
	in, weight                  dims
	stride, pad, dilation, more dims
	transposed                  bool
	groups                      int
}

var convCases = []convCase{
	{"1-D", dims{2, 3, 9}, dims{5, 3, 3}, dims{2}, dims{1}, dims{2}, dims{0}, false, 1},
	{"1-D without batch", dims{3, 9}, dims{5, 3, 3}, dims{1}, dims{0}, dims{1}, dims{0}, false, 1},
	{"2-D", dims{2, 3, 7, 6}, dims{5, 3, 3, 2}, dims{2, 1}, dims{1, 0}, dims{1, 2}, dims{0, 0}, false, 1},
	{"2-D large", dims{1, 8, 40, 41}, dims{9, 8, 3, 3}, dims{1}, dims{1}, dims{1}, dims{0}, false, 1},
	{"2-D 1x1", dims{2, 6, 5, 4}, dims{7, 6, 1, 1}, dims{1, 1}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D groups", dims{2, 6, 5, 4}, dims{4, 3, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 2},
	{"2-D one channel", dims{2, 1, 5, 4}, dims{4, 1, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D depthwise", dims{2, 6, 7, 5}, dims{6, 1, 3, 3}, dims{2, 1}, dims{1, 2}, dims{1, 2}, dims{0, 0}, false, 6},
	{"2-D depthwise twice", dims{1, 3, 5, 4}, dims{6, 1, 3, 1}, dims{1, 1}, dims{1, 0}, dims{1, 1}, dims{0, 0}, false, 3},
	{"3-D", dims{1, 2, 4, 5, 6}, dims{3, 2, 2, 3, 1}, dims{1, 2, 1}, dims{0, 1, 0}, dims{1, 1, 1}, dims{0, 0, 0}, false, 1},
	{"1-D transposed", dims{1, 4, 5}, dims{4, 3, 3}, dims{2}, dims{1}, dims{1}, dims{1}, true, 1},
	{"2-D transposed", dims{2, 4, 5, 3}, dims{4, 3, 3, 2}, dims{2, 3}, dims{1, 0}, dims{2, 1}, dims{1, 2}, true, 1},
	{"2-D transposed groups", dims{1, 4, 3, 3}, dims{4, 2, 3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, true, 2},
	{"1-D wide kernel", dims{2, 3, 20}, dims{5, 3, 9}, dims{1}, dims{4}, dims{1}, dims{0}, false, 1},
	{"2-D wide kernel", dims{2, 4, 9, 11}, dims{6, 2, 7, 5}, dims{1, 2}, dims{3, 2}, dims{1, 1}, dims{0, 0}, false, 2},
	{"2-D wide", dims{1, 5, 9, 37}, dims{19, 5, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D wide strides", dims{2, 3, 33, 35}, dims{40, 3, 3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D wide groups", dims{1, 8, 11, 13}, dims{36, 4, 2, 3}, dims{1, 3}, dims{2, 1}, dims{2, 1}, dims{0, 0}, false, 2},
	{"2-D depthwise wide", dims{1, 35, 20, 23}, dims{35, 1, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 35},
	{"2-D depthwise strides", dims{2, 18, 17, 30}, dims{18, 1, 5, 5}, dims{2, 2}, dims{2, 2}, dims{1, 1}, dims{0, 0}, false, 18},
	{"2-D depthwise dilated", dims{1, 20, 19, 22}, dims{40, 1, 3, 3}, dims{2, 3}, dims{3, 0}, dims{3, 2}, dims{0, 0}, false, 20},
	{"2-D depthwise far padding", dims{1, 16, 4, 4}, dims{16, 1, 3, 3}, dims{3, 3}, dims{7, 9}, dims{1, 1}, dims{0, 0}, false, 16},
	{"2-D depthwise no bottom", dims{1, 16, 9, 31}, dims{16, 1, 2, 2}, dims{4, 4}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 16},
	{"2-D transposed wide", dims{1, 6, 9, 21}, dims{6, 17, 3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{1, 1}, true, 1},
	{"1-D wide", dims{2, 20, 100}, dims{33, 20, 5}, dims{1}, dims{2}, dims{1}, dims{0}, false, 1},
	{"1-D depthwise", dims{2, 20, 100}, dims{20, 1, 5}, dims{2}, dims{2}, dims{1}, dims{0}, false, 20},
	{"2-D narrow", dims{1, 7, 12, 9}, dims{16, 7, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D 1x1 strides", dims{2, 20, 9, 8}, dims{50, 20, 1, 1}, dims{2, 3}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D 1x1 groups", dims{1, 20, 3, 50}, dims{40, 10, 1, 1}, dims{1, 1}, dims{1, 0}, dims{1, 1}, dims{0, 0}, false, 2},
	{"2-D far padding", dims{1, 4, 3, 4}, dims{33, 4, 3, 3}, dims{1, 2}, dims{5, 6}, dims{2, 1}, dims{0, 0}, false, 1},
	{"2-D larger than the image", dims{1, 5, 3, 2}, dims{8, 5, 5, 5}, dims{1, 1}, dims{2, 2}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D depthwise 7x7", dims{1, 35, 20, 23}, dims{35, 1, 7, 7}, dims{1, 1}, dims{3, 3}, dims{1, 1}, dims{0, 0}, false, 35},
	{"2-D depthwise 9x9 strides", dims{2, 18, 17, 30}, dims{18, 1, 9, 9}, dims{2, 2}, dims{4, 4}, dims{1, 1}, dims{0, 0}, false, 18},
	{"2-D depthwise 11x11 dilated", dims{1, 17, 30, 41}, dims{17, 1, 11, 11}, dims{1, 3}, dims{10, 5}, dims{2, 1}, dims{0, 0}, false, 17},
	{"2-D depthwise 13x13", dims{1, 16, 20, 15}, dims{16, 1, 13, 13}, dims{1, 1}, dims{6, 6}, dims{1, 1}, dims{0, 0}, false, 16},
	{"2-D depthwise small", dims{2, 48, 7, 7}, dims{48, 1, 5, 5}, dims{1, 1}, dims{2, 2}, dims{1, 1}, dims{0, 0}, false, 48},
	{"2-D few channels", dims{2, 32, 9, 11}, dims{32, 8, 3, 3}, dims{1, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 4},
	{"2-D few channels without batch", dims{32, 9, 11}, dims{32, 4, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 8},
	{"2-D few channels far padding", dims{2, 32, 2, 1}, dims{32, 8, 3, 3}, dims{1, 2}, dims{2, 7}, dims{1, 1}, dims{0, 0}, false, 4},
	{"2-D few channels, one position", dims{2, 32, 1, 1}, dims{32, 8, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 4},
	{"2-D few channels, farthest rows", dims{1, 16, 50, 4}, dims{16, 4, 3, 3}, dims{2, 1}, dims{21, 1}, dims{21, 1}, dims{0, 0}, false, 4},
	{"2-D few channels, farther rows", dims{1, 16, 50, 4}, dims{16, 4, 3, 3}, dims{2, 1}, dims{22, 1}, dims{22, 1}, dims{0, 0}, false, 4},
	{"2-D few channels, far columns", dims{1, 32, 4, 5}, dims{32, 8, 3, 3}, dims{1, 300}, dims{1, 300}, dims{1, 300}, dims{0, 0}, false, 4},
	{"3-D few channels, one frame", dims{2, 32, 1, 9, 11}, dims{32, 8, 1, 3, 3}, dims{1, 1, 1}, dims{0, 1, 1}, dims{1, 1, 1}, dims{0, 0, 0}, false, 4},
	{"3-D few channels, one column", dims{2, 32, 9, 11, 1}, dims{32, 8, 3, 3, 1}, dims{1, 1, 1}, dims{1, 1, 0}, dims{1, 1, 1}, dims{0, 0, 0}, false, 4},
	{"1-D long", dims{1, 1, 90}, dims{20, 1, 30}, dims{4}, dims{14}, dims{1}, dims{0}, false, 1},
	{"2-D one column", dims{2, 6, 128, 1}, dims{33, 6, 40, 1}, dims{1, 1}, dims{3, 0}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D one column groups", dims{1, 6, 75, 1}, dims{34, 3, 5, 1}, dims{2, 1}, dims{0, 0}, dims{2, 1}, dims{0, 0}, false, 2},
	{"2-D transposed twice as large", dims{2, 16, 7, 9}, dims{16, 24, 4, 4}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D transposed without overlap", dims{1, 9, 5, 13}, dims{9, 20, 2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D transposed, one more", dims{1, 8, 6, 5}, dims{8, 17, 3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{1, 1}, true, 1},
	{"2-D transposed of stride 1", dims{1, 10, 6, 31}, dims{10, 16, 3, 5}, dims{1, 1}, dims{1, 2}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D transposed, other strides", dims{1, 10, 6, 4}, dims{10, 33, 5, 4}, dims{3, 2}, dims{2, 0}, dims{1, 1}, dims{2, 1}, true, 1},
	{"2-D transposed of a position", dims{3, 12, 1, 1}, dims{12, 16, 4, 4}, dims{3, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D transposed, few results", dims{1, 12, 1, 2}, dims{12, 16, 4, 4}, dims{3, 3}, dims{1, 1}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D transposed, wide padding", dims{1, 12, 5, 6}, dims{12, 16, 3, 3}, dims{2, 2}, dims{2, 2}, dims{1, 1}, dims{0, 0}, true, 1},
	{"1-D transposed, large stride", dims{2, 16, 11}, dims{16, 8, 16}, dims{8}, dims{4}, dims{1}, dims{0}, true, 1},
	{"2-D one column transposed", dims{1, 6, 40, 1}, dims{6, 5, 5, 1}, dims{3, 1}, dims{1, 0}, dims{1, 1}, dims{0, 0}, true, 1},
	{"2-D depthwise of 8 channels", dims{2, 8, 13, 20}, dims{8, 1, 3, 3}, dims{2, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 8},
	{"2-D depthwise of 13 channels", dims{1, 13, 17, 9}, dims{13, 1, 7, 7}, dims{1, 1}, dims{3, 3}, dims{1, 1}, dims{0, 0}, false, 13},
	{"2-D one column depthwise", dims{2, 20, 60, 1}, dims{20, 1, 5, 1}, dims{2, 1}, dims{2, 0}, dims{1, 1}, dims{0, 0}, false, 20},
	{"2-D deep", dims{2, 40, 20, 21}, dims{27, 40, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D deep groups", dims{1, 40, 9, 11}, dims{26, 20, 3, 3}, dims{2, 1}, dims{1, 0}, dims{1, 2}, dims{0, 0}, false, 2},
	{"2-D long rows", dims{2, 3, 7, 150}, dims{10, 3, 3, 3}, dims{1, 1}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D 1x1 of many positions", dims{1, 20, 21, 40}, dims{30, 20, 1, 1}, dims{1, 1}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 1},
	{"1-D of a position", dims{3, 40, 1}, dims{1, 40, 1}, dims{1}, dims{0}, dims{1}, dims{0}, false, 1},
	{"2-D of few positions", dims{2, 9, 4, 3}, dims{5, 9, 2, 2}, dims{2, 1}, dims{0, 1}, dims{1, 1}, dims{0, 0}, false, 1},
	{"2-D groups of few positions", dims{1, 12, 3, 6}, dims{9, 4, 3, 2}, dims{1, 2}, dims{1, 0}, dims{1, 1}, dims{0, 0}, false, 3},
	{"2-D groups that fill vectors", dims{2, 48, 9, 27}, dims{48, 16, 3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 3},
	{"2-D groups that fill some vectors", dims{1, 20, 15, 14}, dims{58, 10, 3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, false, 2},
	{"2-D groups of several panels", dims{1, 6, 7, 7}, dims{144, 3, 5, 3}, dims{1, 2}, dims{2, 1}, dims{1, 1}, dims{0, 0}, false, 2},
	{"2-D dilated groups", dims{1, 64, 12, 40}, dims{64, 32, 3, 3}, dims{1, 1}, dims{2, 3}, dims{2, 3}, dims{0, 0}, false, 2},
	{"2-D dilated both ways", dims{1, 9, 12, 15}, dims{32, 9, 3, 3}, dims{1, 1}, dims{2, 2}, dims{2, 2}, dims{0, 0}, false, 1},
	{"2-D depthwise, two each", dims{2, 5, 17, 19}, dims{10, 1, 7, 7}, dims{2, 2}, dims{3, 3}, dims{1, 1}, dims{0, 0}, false, 5},
	{"1-D dilated", dims{2, 7, 60}, dims{48, 7, 5}, dims{1}, dims{8}, dims{4}, dims{0}, false, 1},
	{"2-D windows beyond the image", dims{1, 32, 2, 3}, dims{32, 16, 3, 3}, dims{1, 1}, dims{3, 3}, dims{2, 2}, dims{0, 0}, false, 2},
	{"2-D transposed groups of a position", dims{1, 6, 1, 1}, dims{6, 2, 1, 1}, dims{1, 1}, dims{0, 0}, dims{1, 1}, dims{0, 0}, true, 3},
	{"no image", dims{0, 3, 5, 5}, dims{2, 3, 3, 3}, dims{1, 1}, dims{0, 0}, dims{1, 1}, dims{0, 0}, false, 1},
}

func (cc *convCase) args(x, w, bias any) []any {
	return []any{x, w, bias, cc.stride, cc.pad, cc.dilation, cc.transposed, cc.more, cc.groups}
}

// naiveConv scatters every product to where it belongs.
func naiveConv(cc *convCase, x, w, bias *tensor.Tensor, out *tensor.Meta) []float32 {
	c := newConv(vals(cc.args(x, w, bias)...), &x.Meta, out)
	o, xs, ws := make([]float32, out.Numel()), elems[float32](x), elems[float32](w)
	for n := range c.out.batch {
		for co := range c.out.channels {
			for p := range c.out.size.product() {
				at := triple{p / (c.out.size[1] * c.out.size[2]), p / c.out.size[2] % c.out.size[1], p % c.out.size[2]}
				sum := elems[float32](bias)[co]
				g := co / c.outPer
				for ci := range c.inPer {
					for t := range c.taps() {
						k := triple{t / (c.kernel[1] * c.kernel[2]), t / c.kernel[2] % c.kernel[1], t % c.kernel[2]}
						src, ok := naiveSource(&c, at, k)
						if !ok {
							continue
						}
						wi := (co*c.inPer+ci)*c.taps() + t
						if c.transposed {
							wi = ((g*c.inPer+ci)*c.outPer+co%c.outPer)*c.taps() + t
						}
						xi := (n*c.in.channels + g*c.inPer + ci) * c.in.size.product()
						sum += ws[wi] * xs[xi+(src[0]*c.in.size[1]+src[1])*c.in.size[2]+src[2]]
					}
				}
				o[(n*c.out.channels+co)*c.out.size.product()+p] = sum
			}
		}
	}
	return o
}

// naiveSource searches for the input position that meets output position at under kernel position k.
func naiveSource(c *conv, at, k triple) (src triple, ok bool) {
	for i := range 3 {
		found := false
		for s := range c.in.size[i] {
			lies := at[i]*c.stride[i]+k[i]*c.dilation[i]-c.pad[i] == s
			if c.transposed {
				lies = s*c.stride[i]+k[i]*c.dilation[i]-c.pad[i] == at[i]
			}
			if lies {
				src[i], found = s, true
			}
		}
		if !found {
			return src, false
		}
	}
	return src, true
}

// lastOrder is the channels-last order of this rank; a batch comes first if it has one.
func lastOrder(rank int, batch bool) []uint8 {
	var order []uint8
	channel := 0
	if batch {
		order, channel = append(order, 0), 1
	}
	for d := channel + 1; d < rank; d++ {
		order = append(order, uint8(d))
	}
	return append(order, uint8(channel))
}

func TestConvolution(t *testing.T) {
	for _, cc := range convCases {
		t.Run(cc.name, func(t *testing.T) {
			x, w := wave(cc.in...), wave(cc.weight...)
			channels := cc.weight[0]
			if cc.transposed {
				channels = cc.weight[1] * int64(cc.groups)
			}
			bias := wave(channels)
			last := ordered(x, lastOrder(x.Rank(), x.Rank() == w.Rank())...)
			odd := ordered(x, reverseOrder(x.Rank())...)
			wlast := ordered(w, lastOrder(w.Rank(), true)...)
			for i, pair := range [][2]*tensor.Tensor{{x, w}, {last, w}, {x, wlast}, {last, wlast}, {odd, w}} {
				outs, err := call(&ConvolutionF32, 1, i != 2, cc.args(pair[0], pair[1], bias)...)
				if err != nil {
					t.Fatal(err)
				}
				if got := len(outs[0].DimOrder) != 0; got != channelsInner(&pair[0].Meta, w.Rank()-2) {
					t.Errorf("channels-last output: %v", got)
				}
				wantOut(t, outs[0], outs[0].Sizes, naiveConv(&cc, x, w, bias, &outs[0].Meta)...)
			}
		})
	}
}

// TestConvolutionAgain holds calls of one invoker, which keeps what follows from sizes, against those of new ones: with other
// numbers at other places, then with less images, then with as many as before.
func TestConvolutionAgain(t *testing.T) {
	for _, cc := range convCases {
		for _, tier := range kernel.Tiers() {
			for _, order := range [][]uint8{nil, lastOrder(len(cc.in), len(cc.in) == len(cc.weight))} {
				t.Run(cc.name, func(t *testing.T) { convAgainCase(t, &cc, tier, order) })
			}
		}
	}
}

func convAgainCase(t *testing.T, cc *convCase, tier kernel.Tier, order []uint8) {
	w := wave(cc.weight...)
	input := func(round int) *tensor.Tensor {
		sizes := slices.Clone(cc.in)
		if round == 2 && len(cc.in) == len(cc.weight) && cc.in[0] > 1 {
			sizes[0] = 1
		}
		x := ordered(wave(sizes...), order...)
		for i, v := range elems[float32](x) {
			elems[float32](x)[i] = v * float32(round+1)
		}
		return x
	}
	bind := func(x *tensor.Tensor) *Invoker {
		v := boundConv(t, tier, &Env{Temp: new(Temp)}, vals(cc.args(x, w, nil)...), nil)
		v.Stable = true
		return v
	}
	v := bind(input(0))
	for round := range 5 {
		x := input(round)
		*v.Args[convInput].Tensor = *x
		v.Outs[0].Data = AlignedBytes(cap(v.Outs[0].Data))
		fresh := bind(x)
		if err := errors.Join(v.Call(), fresh.Call()); err != nil {
			t.Fatal(err)
		}
		if err := sameResults(fresh.Outs[0], v.Outs[0]); err != nil {
			t.Errorf("tier %v, order %v, call %d: %v", tier, order, round, err)
		}
	}
}

func reverseOrder(rank int) []uint8 {
	var order []uint8
	for d := range rank {
		order = append(order, uint8(rank-1-d))
	}
	return order
}

func TestConvolutionSizes(t *testing.T) {
	x, w := wave(1, 4, 5), wave(4, 3, 3)
	out, err := call(&ConvolutionF32, 1, true, x, w, nil, dims{2}, dims{1}, dims{1}, true, dims{1}, 1)
	if err != nil || !slices.Equal(out[0].Sizes, dims{1, 3, 10}) {
		t.Fatalf("%v, %v", out, err)
	}
	for _, test := range []struct {
		want error
		args []any
	}{
		{errConvGroups, []any{x, w, nil, dims{1}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errConvGroups, []any{wave(1, 0, 5), wave(0, 0, 3), nil, dims{1}, dims{0}, dims{1}, false, dims{0}, math.MaxInt}},
		{errConvSize, []any{wave(1, 3, 2), w, nil, dims{1}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errConvEmpty, []any{wave(1, 3, 0), w, nil, dims{1}, dims{2}, dims{1}, false, dims{0}, 1}},
		{errConvEmpty, []any{wave(1, 0, 20, 20), wave(4, 0, 3, 3), nil, dims{1}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errConvEmpty, []any{wave(1, 4, 5), wave(4, 0, 3), nil, dims{1}, dims{0}, dims{1}, true, dims{0}, 1}},
		{errConvParam, []any{wave(1, 3, 5), w, nil, dims{0}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errConvParam, []any{wave(1, 3, 5), w, nil, dims{math.MaxInt64}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errConvParam, []any{wave(1, 3, 5), w, nil, dims{1}, dims{math.MaxInt64}, dims{1}, false, dims{0}, 1}},
		{errConvParam, []any{wave(1, 3, 5), w, nil, dims{1}, dims{0}, dims{math.MaxInt64}, false, dims{0}, 1}},
		{errConvBias, []any{wave(1, 3, 5), w, wave(3), dims{1}, dims{0}, dims{1}, false, dims{0}, 1}},
		{errDims, []any{wave(3), w, nil, dims{1}, dims{0}, dims{1}, false, dims{0}, 1}},
	} {
		if _, err := call(&ConvolutionF32, 1, true, test.args...); err != test.want {
			t.Errorf("%v, want %v", err, test.want)
		}
	}
}

// TestConvolutionFrames holds which convolutions copy their input into a frame: those of one dimension whose windows are wide do,
// since each position of the border sees other taps and would read all weights alone.
func TestConvolutionFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		x, w  dims
		pad   dims
		frame bool
	}{
		{"32 taps", dims{1, 64, 41}, dims{512, 64, 32}, dims{16}, true},
		{"7 taps", dims{1, 64, 41}, dims{64, 64, 7}, dims{3}, true},
		{"one tap", dims{1, 64, 41}, dims{64, 64, 1}, dims{0}, false},
		{"3x3 of a large image", dims{1, 8, 600, 600}, dims{8, 8, 3, 3}, dims{1, 1}, false},
	} {
		n := len(c.x) - 2
		x := ordered(wave(c.x...), lastOrder(len(c.x), true)...)
		args := vals(x, wave(c.w...), nil, dims{1, 1}[:n], c.pad, dims{1, 1}[:n], false, dims{0, 0}[:n], 1)
		infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
		if err := inferConvolution(&infer); err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			s := segments{convJob: convJob[float32]{conv: newConv(args, &x.Meta, &infer.Out[0])}}
			if s.tiling = tilingOf[float32](tier); s.micro == nil {
				continue
			}
			if s.layOut(1); s.framed != c.frame {
				t.Errorf("%s, %v: frame %v", c.name, tier, s.framed)
			}
		}
	}
}

func BenchmarkConv3x3(b *testing.B)       { benchConv(b, wave(1, 64, 56, 56), wave(64, 64, 3, 3), 1) }
func BenchmarkConv1x1(b *testing.B)       { benchConv(b, wave(1, 128, 28, 28), wave(128, 128, 1, 1), 1) }
func BenchmarkConvDepthwise(b *testing.B) { benchConv(b, wave(1, 96, 56, 56), wave(96, 1, 3, 3), 96) }

func benchConv(b *testing.B, x, w *tensor.Tensor, groups int) {
	args := vals(x, w, nil, dims{1, 1}, dims{w.Sizes[2] / 2, w.Sizes[2] / 2}, dims{1, 1}, false, dims{0, 0}, groups)
	inf := Infer{Args: args, Out: make([]tensor.Meta, 1)}
	if err := inferConvolution(&inf); err != nil {
		b.Fatal(err)
	}
	out := &tensor.Tensor{Meta: inf.Out[0], Data: make([]byte, inf.Out[0].Nbytes())}
	s, err := ConvolutionF32.Prepare(&Prep{Args: args, Out: inf.Out})
	if err != nil {
		b.Fatal(err)
	}
	var temp Temp
	c := &Call{Args: args, Out: []*tensor.Tensor{out}, Alloc: temp.Alloc}
	b.SetBytes(2 * int64(out.Numel()) * w.Sizes[1] * w.Sizes[2] * w.Sizes[3])
	b.ReportAllocs()
	for b.Loop() {
		temp.Reset()
		if err := ConvolutionF32.Run(c, s); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBounds holds bounded results of every tier against those that are bounded afterwards.
func TestBounds(t *testing.T) {
	bounds := [2]float32{-20, 31}
	for _, cc := range convCases {
		x, w := wave(cc.in...), wave(cc.weight...)
		for _, in := range []*tensor.Tensor{x, ordered(x, lastOrder(x.Rank(), x.Rank() == w.Rank())...)} {
			t.Run(cc.name, func(t *testing.T) { checkBounds(t, &ConvolutionF32, bounds, cc.args(in, w, nil)...) })
		}
	}
	checkBounds(t, &LinearF32, bounds, wave(9, 30), wave(45, 30), wave(45))
	checkBounds(t, &MmF32, bounds, wave(9, 30), wave(30, 45))
	checkBounds(t, &MmF32, bounds, wave(3, 32), wave(32, 48))
	checkBounds(t, &LinearF32, bounds, wave(3, 32), wave(1, 32), wave(1))
	checkBounds(t, &AddmmF32, bounds, wave(45), wave(9, 30), wave(30, 45), 1.0, 1.0)
	checkBounds(t, &AddmmF32, bounds, wave(9, 45), wave(9, 30), wave(30, 45), 3.0, 0.5)
}

func checkBounds(t *testing.T, k *Kernel, bounds [2]float32, args ...any) {
	t.Helper()
	want := mustCall(t, k, args...)
	for i, v := range elems[float32](want) {
		elems[float32](want)[i] = clampOf(v, bounds[0], bounds[1])
	}
	for _, tier := range kernel.Tiers() {
		c := &Call{Args: vals(args...), Out: []*tensor.Tensor{ordered(want, want.DimOrder...)}, Tier: tier, Alloc: new(Temp).Alloc, Parallel: serially, Bounds: &bounds}
		if err := k.Run(c, nil); err != nil {
			t.Fatal(err)
		}
		if err := sameResults(want, c.Out[0]); err != nil {
			t.Errorf("tier %v: %v", tier, err)
		}
	}
}
