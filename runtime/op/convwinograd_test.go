package op

import (
	"errors"
	"maps"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// winogradCase is a convolution whose weights are packed for Winograd's algorithm.
type winogradCase struct {
	name      string
	in        dims
	out       int64
	taps      dims // 3x3 if there are none
	step, pad int64
	dilation  int64 // 1 if it is 0
	groups    int   // 1 if it is 0
	bounds    *[2]float32
}

// args are the arguments of a call with such an input.
func (c *winogradCase) args(r *rand.Rand, x *tensor.Tensor, bias *tensor.Tensor) []Value {
	taps := c.taps
	if taps == nil {
		taps = dims{3, 3}
	}
	var step, pad, dilation dims
	for i, n := range taps {
		step, pad, dilation = append(step, 1), append(pad, 0), append(dilation, 1)
		if n > 1 {
			step[i], pad[i], dilation[i] = max(1, c.step), c.pad, max(1, c.dilation)
		}
	}
	groups := max(1, c.groups)
	w := gauss(r, append(dims{c.out, c.in[1] / int64(groups)}, taps...)...)
	return vals(x, w, bias, step, pad, dilation, false, make(dims, len(taps)), groups)
}

// input is a random one, with its channels innermost.
func (c *winogradCase) input(r *rand.Rand) *tensor.Tensor {
	return ordered(gauss(r, c.in...), lastOrder(len(c.in), true)...)
}

// winogradCases have results that end within a tile, images of fewer tiles than a piece and of more, padding that tiles lie in as a
// whole, windows that are dilated, and channels that fill no vector; and along lines taps of one section and of several, lines that end within a step, and
// padding that begins within one.
var winogradCases = []winogradCase{
	{name: "even", in: dims{1, 16, 8, 8}, out: 32, pad: 1},
	{name: "odd", in: dims{1, 16, 9, 13}, out: 37, pad: 1},
	{name: "images", in: dims{3, 19, 8, 10}, out: 16, bounds: &[2]float32{-0.5, 1}},
	{name: "many tiles", in: dims{2, 33, 31, 33}, out: 41, pad: 1},
	{name: "wide padding", in: dims{1, 48, 40, 20}, out: 32, pad: 4, bounds: &[2]float32{0, 6}},
	{name: "one image less than a tile", in: dims{1, 48, 3, 3}, out: 48, pad: 2},
	{name: "few tiles", in: dims{2, 80, 5, 5}, out: 192, pad: 1, bounds: &[2]float32{-40, 50}},
	{name: "few tiles, a panel that is not full", in: dims{1, 80, 5, 4}, out: 112, pad: 1},
	{name: "one line", in: dims{1, 40, 4, 90}, out: 40},
	{name: "dilated", in: dims{2, 20, 19, 23}, out: 33, pad: 2, dilation: 2},
	{name: "dilated, without padding", in: dims{2, 32, 17, 18}, out: 32, dilation: 3},
	{name: "groups", in: dims{2, 48, 13, 14}, out: 96, pad: 1, groups: 3},
	{name: "line", in: dims{1, 32, 61}, out: 48, taps: dims{3}, pad: 1},
	{name: "lines of several images", in: dims{3, 37, 50}, out: 33, taps: dims{3}, bounds: &[2]float32{-1, 2}},
	{name: "line, sections", in: dims{2, 24, 100}, out: 40, taps: dims{32}, pad: 7},
	{name: "line, many pieces", in: dims{2, 32, 750}, out: 32, taps: dims{7}, pad: 3},
	{name: "line, padding wider than tiles", in: dims{1, 48, 40}, out: 32, taps: dims{9}, pad: 8},
	{name: "line, a section of zeros", in: dims{1, 40, 64}, out: 64, taps: dims{10}, pad: 2},
	{name: "line, many weights", in: dims{1, 96, 33}, out: 192, taps: dims{7}, pad: 3},
	{name: "line, channels in two blocks", in: dims{1, 16, 606}, out: 200, taps: dims{3}, pad: 1},
	{name: "channels in two blocks, groups", in: dims{1, 32, 16, 16}, out: 400, pad: 1, groups: 2},
	{name: "rows", in: dims{2, 32, 3, 40}, out: 32, taps: dims{1, 7}, pad: 3},
	{name: "columns", in: dims{2, 32, 40, 1}, out: 32, taps: dims{7, 1}, pad: 3},
	{name: "line, dilated", in: dims{2, 32, 100}, out: 40, taps: dims{3}, pad: 5, dilation: 5},
	{name: "line, dilated, sections", in: dims{2, 33, 110}, out: 32, taps: dims{7}, pad: 3, dilation: 4},
	{name: "line, dilated far", in: dims{1, 64, 250}, out: 64, taps: dims{3}, dilation: 50},
	{name: "line, groups, sections", in: dims{2, 96, 50}, out: 96, taps: dims{16}, pad: 8, groups: 2, bounds: &[2]float32{-30, 30}},
	{name: "steps", in: dims{2, 20, 131}, out: 48, taps: dims{16}, step: 2, pad: 3},
	{name: "steps of several images", in: dims{3, 40, 100}, out: 33, taps: dims{9}, step: 3},
	{name: "steps, few channels", in: dims{2, 1, 700}, out: 128, taps: dims{128}, step: 4, pad: 62},
	{name: "steps, some channels", in: dims{1, 3, 500}, out: 100, taps: dims{88}, step: 3, pad: 1},
}

// gauss is a tensor of random numbers.
func gauss(r *rand.Rand, sizes ...tensor.Dim) *tensor.Tensor {
	t := wave(sizes...)
	for i := range elems[float32](t) {
		elems[float32](t)[i] = float32(r.NormFloat64())
	}
	return t
}

// TestConvWinograd holds results of every tier against float64, those of several threads and of further calls against those of one,
// and counts what a call allocates.
func TestConvWinograd(t *testing.T) {
	for _, c := range winogradCases {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			args := c.args(r, c.input(r), gauss(r, c.out))
			for _, tier := range kernel.Tiers()[1:] {
				var one []float32
				for _, n := range []int{1, 3} {
					pool := threads.New(n)
					v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n}, args, c.bounds)
					call := func() {
						if err := v.Call(); err != nil {
							t.Fatal(err)
						}
					}
					call()
					if n == 1 {
						checkWinograd(t, tier, v, false)
					}
					if allocs := testing.AllocsPerRun(3, call); allocs != 0 {
						t.Errorf("%v, %d threads: %v allocations", tier, n, allocs)
					}
					if y := elems[float32](v.Outs[0]); n == 1 {
						one = slices.Clone(y)
					} else if !slices.Equal(y, one) {
						t.Errorf("%v: %d threads have other results than one", tier, n)
					}
					pool.Close()
				}
			}
		})
	}
}

// TestConvWinogradReordered has an image with its channels innermost and results in row-major order, which the algorithm makes as the
// image lies.
func TestConvWinogradReordered(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	x := ordered(gauss(r, 1, 16, 8, 8), lastOrder(4, true)...)
	args := vals(x, gauss(r, 24, 16, 3, 3), gauss(r, 24), dims{1, 1}, dims{1, 1}, dims{1, 1}, false, dims{0, 0}, 1)
	sig := ParseSignature(Convolution.Schema)
	for _, tier := range kernel.Tiers()[1:] {
		want := boundConv(t, tier, &Env{Temp: new(Temp)}, args, nil)
		out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{1, 24, 8, 8}}}
		out.Data = AlignedBytes(out.Nbytes())
		plan, err := Prepare(&ConvolutionF32, &sig, args, []tensor.Meta{out.Meta}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := plan.state.(*packed[float32]); !ok || !s.winograd {
			t.Fatalf("%v: the weights are not packed for the algorithm", tier)
		}
		v := plan.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
		for range 2 {
			if err := errors.Join(v.Call(), want.Call()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(plain[float32](out), plain[float32](want.Outs[0])) {
				t.Errorf("%v: results are others in the other order", tier)
			}
		}
	}
}

// checkWinograd holds the results of a call against float64; huge says that sums may not be finite in float32.
func checkWinograd(t *testing.T, tier kernel.Tier, v *Invoker, huge bool) {
	t.Helper()
	if s, ok := v.plan.state.(*packed[float32]); !ok || !s.winograd {
		t.Fatalf("%v: not by Winograd's algorithm", tier)
	}
	low, high := math.Inf(-1), math.Inf(1)
	if b := v.call.Bounds; b != nil {
		low, high = float64(b[0]), float64(b[1])
	}
	c := newConv(v.Args, &v.Args[convInput].Tensor.Meta, &v.Outs[0].Meta)
	x, y := elems[float32](v.Args[convInput].Tensor), elems[float32](v.Outs[0])
	w, bias := elems[float32](v.Args[convWeight].Tensor), elems[float32](v.Args[convBias].Tensor)
	for n := range c.out.batch {
		for p := range c.out.size.product() {
			at := triple{0, p / c.out.size[2], p % c.out.size[2]}
			for o := range c.out.channels {
				want, size := float64(bias[o]), math.Abs(float64(bias[o]))
				for k := range c.depth() {
					channel, tap := k/c.taps(), k%c.taps()
					h, col := c.source(1, at[1], tap/c.kernel[2]), c.source(2, at[2], tap%c.kernel[2])
					if h < 0 || col < 0 {
						continue
					}
					d := float64(w[o*c.depth()+k]) * float64(x[n*c.in.sn+(o/c.outPer*c.inPer+channel)*c.in.sc+h*c.in.step[1]+col*c.in.step[2]])
					want, size = want+d, size+math.Abs(d)
				}
				got := float64(y[n*c.out.sn+o*c.out.sc+at[1]*c.out.step[1]+at[2]*c.out.step[2]])
				want = min(max(want, low), high) // NaN of NaN
				if got == want || math.IsNaN(want) && math.IsNaN(got) || math.Abs(got-want) <= 2e-6*size || huge && size > math.MaxFloat32 && !math.IsNaN(got) {
					continue
				}
				t.Fatalf("%v: image %d, channel %d at %v: %v, want %v", tier, n, o, at[1:], got, want)
			}
		}
	}
}

// TestConvWinogradOdd holds that numbers which are not finite spoil no results but those that see them.
func TestConvWinogradOdd(t *testing.T) {
	pool := threads.New(2)
	defer pool.Close()
	for _, c := range []winogradCase{
		{in: dims{1, 20, 11, 14}, out: 30, pad: 1},
		{in: dims{1, 20, 11, 14}, out: 30, pad: 1, bounds: &[2]float32{-1, 3}},
		{in: dims{1, 80, 5, 9}, out: 192, pad: 1},
		{in: dims{1, 20, 90}, out: 30, taps: dims{10}, pad: 4},
		{in: dims{1, 40, 90}, out: 30, taps: dims{7}, pad: 9, dilation: 3},
		{in: dims{1, 64, 60}, out: 64, taps: dims{16}, pad: 8, groups: 2},
		{in: dims{1, 96, 33}, out: 192, taps: dims{7}, pad: 3},
		{in: dims{1, 16, 1206}, out: 200, taps: dims{3}},
		{in: dims{2, 2, 400}, out: 100, taps: dims{88}, step: 3, pad: 7},
	} {
		for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 3e38} {
			r := rand.New(rand.NewSource(1))
			x := c.input(r)
			for _, at := range []int{0, len(elems[float32](x)) / 2, len(elems[float32](x)) - 1} {
				elems[float32](x)[at] = float32(odd)
			}
			args := c.args(r, x, gauss(r, c.out))
			for _, tier := range kernel.Tiers()[1:] {
				v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: 2}, args, c.bounds)
				if err := v.Call(); err != nil {
					t.Fatal(err)
				}
				checkWinograd(t, tier, v, odd == 3e38)
			}
		}
	}
}

// TestConvWinogradHuge has a channel whose sums are infinite, or an input that is: whatever the number of threads, which divide the channels,
// and the blocks of channels that are computed at a time, the results have the same bits.
func TestConvWinogradHuge(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		in, w  dims
		pad    int64
		input  bool // it is infinite, not the sums of the first channel
		shared bool // threads divide the channels, and not the tiles
	}{
		{dims{1, 80, 5, 9}, dims{192, 80, 3, 3}, 1, false, true},
		{dims{1, 16, 1, 606}, dims{200, 16, 1, 3}, 0, false, false},
		{dims{1, 16, 1, 1206}, dims{200, 16, 1, 3}, 0, true, false},
	} {
		x, w := ordered(gauss(r, c.in...), lastOrder(4, true)...), gauss(r, c.w...)
		if c.input {
			elems[float32](x)[0] = float32(math.Inf(1))
		} else {
			for i := range c.w[1] * c.w[2] * c.w[3] {
				elems[float32](w)[i] = 3e38
			}
		}
		args := vals(x, w, nil, dims{1, 1}, dims{c.pad, c.pad}, dims{1, 1}, false, dims{0, 0}, 1)
		for _, tier := range kernel.Tiers()[1:] {
			var one []float32
			for _, n := range []int{1, 2, 3} {
				v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: shuffled(n), Threads: n}, args, nil)
				if err := v.Call(); err != nil {
					t.Fatal(err)
				}
				y := elems[float32](v.Outs[0])
				k, ok := v.call.kept.(*kept[winograd])
				if !ok {
					t.Fatalf("%v of %v: not by Winograd's algorithm", tier, c.w)
				}
				if n == 1 {
					one = y
				}
				switch {
				case c.shared && k.job.shares != n:
					t.Errorf("%v of %v: %d threads share no channels", tier, c.w, n)
				case !c.shared && (k.job.shares > 1 || n == 1 && k.job.atOnce >= int(c.w[0])):
					t.Errorf("%v of %v: %d threads share channels, or compute all of %d at once", tier, c.w, n, k.job.atOnce)
				}
				for i := range y {
					if math.Float32bits(y[i]) != math.Float32bits(one[i]) && (y[i] == y[i] || one[i] == one[i]) {
						t.Fatalf("%v of %v, %d threads: result %d is %v, of one thread %v", tier, c.w, n, i, y[i], one[i])
					}
				}
			}
		}
	}
}

// TestConvWinogradLayouts packs weights for several convolutions, and looks at whether those whose layouts have one name are the same.
func TestConvWinogradLayouts(t *testing.T) {
	tier := kernel.Best()
	if tier == kernel.Scalar {
		t.Skip("the scalar tier has no transforms")
	}
	w := gauss(rand.New(rand.NewSource(1)), 64, 32, 1, 30)
	sig := ParseSignature(Convolution.Schema)
	have := map[string][]byte{}
	for _, groups := range []int{1, 2} {
		for _, step := range []int64{1, 2, 3} {
			for pad := range int64(4) {
				x := ordered(wave(1, int64(32*groups), 1, 400), lastOrder(4, true)...)
				args := vals(x, w, nil, dims{1, step}, dims{0, pad}, dims{1, 1}, false, dims{0, 0}, groups)
				infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
				if err := Convolution.Infer(&infer); err != nil {
					t.Fatal(err)
				}
				_, err := Prepare(&ConvolutionF32, &sig, args, infer.Out, Options{Tier: tier, Pack: func(_ *tensor.Tensor, p Packing) []byte {
					b := AlignedBytes(p.Bytes)
					p.Fill(b)
					if was := have[p.Layout]; was != nil && !slices.Equal(was, b) {
						t.Errorf("%d groups, steps of %d, padding of %d: other bytes of layout %q", groups, step, pad, p.Layout)
					}
					have[p.Layout] = b
					return b
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(have) != 1+2+3+2 { // as many as a step has places, for each step; with groups the algorithm has none, so that other steps have one layout
		t.Errorf("%d layouts: %q", len(have), slices.Collect(maps.Keys(have)))
	}
}

// TestConvWinogradReleases wants large weights to be released panel by panel, each of them once and in their order, and those of an output
// channel that lie apart, or are few, not at all.
func TestConvWinogradReleases(t *testing.T) {
	tier := kernel.Best()
	if tier == kernel.Scalar {
		t.Skip("the scalar tier has no transforms")
	}
	sig := ParseSignature(Convolution.Schema)
	for _, c := range []struct {
		name   string
		w      *tensor.Tensor
		groups int
		want   bool
	}{
		{"line", wave(192, 64, 1, 32), 1, true},
		{"groups", wave(192, 64, 1, 32), 2, true},
		{"channels innermost", ordered(wave(96, 300, 3, 3), lastOrder(4, true)...), 1, true},
		{"few weights", wave(64, 16, 1, 7), 1, false},
		{"output channels innermost", ordered(wave(192, 64, 1, 32), 1, 2, 3, 0), 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := ordered(wave(1, c.w.Sizes[1]*int64(c.groups), 20*c.w.Sizes[2]-19, 400), lastOrder(4, true)...)
			args := vals(x, c.w, nil, dims{1, 1}, dims{0, 0}, dims{1, 1}, false, dims{0, 0}, c.groups)
			infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
			if err := Convolution.Infer(&infer); err != nil {
				t.Fatal(err)
			}
			at := 0
			release := func(b []byte) {
				if &b[0] != &c.w.Data[at] {
					t.Fatalf("released %d bytes that are not at %d", len(b), at)
				}
				at += len(b)
			}
			plan, err := Prepare(&ConvolutionF32, &sig, args, infer.Out, Options{Tier: tier, Release: release})
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := plan.state.(*packed[float32]); !ok || !s.winograd {
				t.Fatal("not by Winograd's algorithm")
			}
			if want := len(c.w.Data); c.want && at != want || !c.want && at > 0 {
				t.Errorf("released %d bytes of %d", at, want)
			}
		})
	}
}

// TestConvWinogradPieces looks at how many tiles the pieces of lines have: one long line has some for each thread, and many lines are cut no
// finer than pays. Threads that divide the panels of weights, which are as wide as the tier has them, would have no use for pieces: one line
// has seven.
func TestConvWinogradPieces(t *testing.T) {
	tier := kernel.Best()
	if tier == kernel.Scalar {
		t.Skip("the scalar tier has no transforms")
	}
	for _, c := range []struct {
		rows, size     int64
		threads        int
		pieces, atMost int // how many, and tiles of each
	}{
		{1, 606, 1, 1, 200}, {1, 606, 2, 2, 100}, {1, 1506, 2, 4, 125}, {1, 36, 7, 2, 5}, {17, 23, 1, 17, 6}, {17, 23, 8, 17, 6}, {3, 96, 2, 9, 10}, {4, 96, 2, 4, 30},
	} {
		x := ordered(wave(1, 128, c.rows, c.size), lastOrder(4, true)...)
		args := vals(x, wave(128, 128, 1, 7), nil, dims{1, 1}, dims{0, 0}, dims{1, 1}, false, dims{0, 0}, 1)
		v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: shuffled(c.threads), Threads: c.threads}, args, nil)
		if err := v.Call(); err != nil {
			t.Fatal(err)
		}
		k, _ := v.call.kept.(*kept[winograd])
		if k == nil {
			t.Fatalf("%+v: not by Winograd's algorithm", c)
		}
		if n := k.job.slots.Items / k.job.shares; n != c.pieces || k.job.piece != c.atMost {
			t.Errorf("%+v: %d pieces of %d tiles, %d shares", c, n, k.job.piece, k.job.shares)
		}
	}
}

// TestConvWinogradSmaller packs weights for images that are larger than those of calls, whose results have as few as one position, and holds
// results against those of the scalar tier, also where inputs are not finite.
func TestConvWinogradSmaller(t *testing.T) {
	sig := ParseSignature(Convolution.Schema)
	for _, c := range winogradCases {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			args := c.args(r, ordered(wave(c.in...), lastOrder(len(c.in), true)...), nil)
			w := args[convWeight].Tensor
			for i, v := range elems[float32](wave(w.Sizes...)) {
				elems[float32](w)[i] = 6 * v // sums are exact
			}
			bind := func(tier kernel.Tier, threads int) *Invoker {
				args, x := slices.Clone(args), *args[convInput].Tensor
				args[convInput].Tensor = &x
				infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
				if err := Convolution.Infer(&infer); err != nil {
					t.Fatal(err)
				}
				plan, err := Prepare(&ConvolutionF32, &sig, args, infer.Out, Options{Tier: tier, Bounds: c.bounds})
				if err != nil {
					t.Fatal(err)
				}
				out := &tensor.Tensor{Meta: infer.Out[0].Clone()}
				out.Data = AlignedBytes(out.Nbytes())
				v := plan.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp), Parallel: shuffled(threads), Threads: threads})
				v.Stable = true
				return v
			}
			want, tested := bind(kernel.Scalar, 1), 0
			var list []*Invoker
			for _, tier := range kernel.Tiers()[1:] {
				list = append(list, bind(tier, 3))
			}
			for range 5 {
				sizes := slices.Clone(c.in)
				for d := range sizes {
					if d != 1 && sizes[d] > 1 {
						sizes[d] = 1 + r.Int63n(sizes[d])
					}
				}
				x := ordered(wave(sizes...), lastOrder(len(sizes), true)...)
				if e := elems[float32](x); r.Intn(3) == 0 {
					e[r.Intn(len(e))] = float32(math.Inf(1))
				}
				give := func(v *Invoker) {
					in := v.Args[convInput].Tensor
					in.Sizes, in.Data = slices.Clone(x.Sizes), x.Data
				}
				give(want)
				if Convolution.Infer(&Infer{Args: want.Args, Out: make([]tensor.Meta, 1)}) != nil {
					continue // the kernel is larger than the image
				}
				tested++
				err := want.Call()
				for _, got := range list {
					give(got)
					err = errors.Join(err, got.Call(), got.Call())
					if err != nil {
						t.Fatal(err)
					}
					if err := sameResults(want.Outs[0], got.Outs[0]); err != nil {
						t.Fatalf("%v, %v of %v: %v", got.plan.tier, sizes, c.in, err)
					}
				}
			}
			if tested == 0 {
				t.Error("no image was large enough")
			}
		})
	}
}

// TestConvWinogradChosen holds for which convolutions weights are packed so.
func TestConvWinogradChosen(t *testing.T) {
	tier := kernel.Best()
	if tier == kernel.Scalar {
		t.Skip("the scalar tier has no transforms")
	}
	for _, c := range []struct {
		name        string
		in, w       dims
		stride, dil int64
		groups      int
		want        bool
	}{
		{"56x56 of 64", dims{1, 64, 56, 56}, dims{64, 64, 3, 3}, 1, 1, 1, true},
		{"8x8 of 16 to 32", dims{1, 16, 8, 8}, dims{32, 16, 3, 3}, 1, 1, 1, true},
		{"few channels", dims{1, 3, 56, 56}, dims{64, 3, 3, 3}, 1, 1, 1, false},
		{"too many weights", dims{1, 512, 7, 7}, dims{512, 512, 3, 3}, 1, 1, 1, false},
		{"one tile", dims{1, 64, 1, 1}, dims{64, 64, 3, 3}, 1, 1, 1, false},
		{"stride", dims{1, 64, 56, 56}, dims{64, 64, 3, 3}, 2, 1, 1, false},
		{"dilation", dims{1, 64, 56, 56}, dims{64, 64, 3, 3}, 1, 2, 1, true},
		{"dilation of few positions", dims{1, 64, 10, 10}, dims{64, 64, 3, 3}, 1, 8, 1, false},
		{"groups", dims{1, 64, 56, 56}, dims{64, 32, 3, 3}, 1, 1, 2, true},
		{"narrow groups", dims{1, 64, 56, 56}, dims{64, 8, 3, 3}, 1, 1, 8, false},
		{"5x5", dims{1, 64, 56, 56}, dims{64, 64, 5, 5}, 1, 1, 1, false},
		{"line", dims{1, 64, 1, 200}, dims{64, 64, 1, 3}, 1, 1, 1, true},
		{"line of 32 taps", dims{1, 64, 1, 200}, dims{256, 64, 1, 32}, 1, 1, 1, true},
		{"line, too many weights", dims{1, 512, 1, 200}, dims{512, 512, 1, 7}, 1, 1, 1, false},
		{"line of 2 taps", dims{1, 64, 1, 200}, dims{64, 64, 1, 2}, 1, 1, 1, false},
		{"dilation whose taps few positions see", dims{1, 64, 28, 28}, dims{64, 64, 3, 3}, 1, 16, 1, false},
		{"line, steps and dilation", dims{1, 64, 1, 400}, dims{64, 64, 1, 16}, 2, 2, 1, false},
		{"lines of one tile", dims{1, 64, 100, 9}, dims{64, 64, 1, 9}, 1, 1, 1, false},
		{"line, groups", dims{1, 64, 1, 200}, dims{64, 32, 1, 7}, 1, 1, 2, true},
		{"line, dilation", dims{1, 64, 1, 200}, dims{64, 64, 1, 7}, 1, 2, 1, true},
		{"line, dilation of few positions", dims{1, 64, 1, 20}, dims{64, 64, 1, 3}, 1, 12, 1, false},
		{"line, few channels", dims{1, 1, 1, 200}, dims{64, 1, 1, 7}, 1, 1, 1, false},
		{"line, as many taps as a step", dims{1, 64, 1, 200}, dims{64, 64, 1, 4}, 4, 1, 1, false},
	} {
		x := ordered(wave(c.in...), lastOrder(4, true)...)
		args := vals(x, wave(c.w...), nil, dims{min(c.stride, c.w[2]), c.stride}, dims{c.dil * min(c.w[2]-1, 1), c.dil}, dims{c.dil, c.dil}, false, dims{0, 0}, c.groups)
		v := boundConv(t, tier, &Env{Temp: new(Temp)}, args, nil)
		s, _ := v.plan.state.(*packed[float32]) // nil where weights stay as they lie
		if got := s != nil && s.winograd; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
