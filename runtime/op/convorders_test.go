package op

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// shuffled runs the chunks that this many threads would, in random order.
func shuffled(threads int) func(n, grain int, f func(lo, hi int)) {
	r := rand.New(rand.NewSource(int64(threads)))
	return func(n, grain int, f func(lo, hi int)) {
		grain = max(grain, 1, (n+16*threads-1)/(16*threads))
		var chunks [][2]int
		for i := 0; i < n; i += grain {
			chunks = append(chunks, [2]int{i, min(n, i+grain)})
		}
		r.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
		for _, c := range chunks {
			f(c[0], c[1])
		}
	}
}

// TestConvolutionOrders holds convolutions of all tiers, with images and results in both orders, on any number of threads, and in further
// calls, against those of the scalar tier.
func TestConvolutionOrders(t *testing.T) {
	for _, cc := range []convCase{
		{name: "depthwise, one column", in: dims{1, 16, 20, 32}, weight: dims{16, 1, 3, 1}, stride: dims{1, 1}, pad: dims{1, 0}, groups: 16},
		{name: "depthwise, one tap", in: dims{1, 16, 20, 32}, weight: dims{16, 1, 1, 1}, stride: dims{1, 1}, pad: dims{0, 0}, groups: 16},
		{name: "depthwise of one dimension", in: dims{2, 16, 32}, weight: dims{16, 1, 1}, stride: dims{1}, pad: dims{0}, groups: 16},
		{name: "depthwise of few positions", in: dims{1, 16, 16}, weight: dims{16, 1, 1}, stride: dims{2}, pad: dims{0}, groups: 16},
		{name: "one position of groups", in: dims{2, 10, 3}, weight: dims{165, 2, 3}, stride: dims{3}, pad: dims{0}, groups: 5},
		{name: "depthwise volumes", in: dims{2, 16, 6, 10, 12}, weight: dims{16, 1, 3, 3, 3}, stride: dims{2, 1, 1}, pad: dims{1, 1, 0}, groups: 16},
		{name: "volumes", in: dims{2, 20, 5, 9, 17}, weight: dims{24, 20, 3, 2, 3}, stride: dims{1, 1, 2}, pad: dims{2, 1, 1}, groups: 1},
		{name: "far frames", in: dims{1, 18, 7, 8, 13}, weight: dims{16, 18, 3, 3, 3}, stride: dims{1, 1, 1}, pad: dims{1, 1, 1}, dilation: dims{2, 1, 2}, groups: 1},
		{name: "depthwise, far frames", in: dims{1, 18, 7, 8, 13}, weight: dims{18, 1, 3, 3, 3}, stride: dims{1, 1, 1}, pad: dims{1, 1, 1}, dilation: dims{2, 1, 2}, groups: 18},
		{name: "frames around", in: dims{1, 18, 4, 8, 13}, weight: dims{16, 18, 3, 1, 1}, stride: dims{1, 1, 1}, pad: dims{1, 0, 0}, groups: 1},
		{name: "some frames", in: dims{1, 18, 5, 8, 13}, weight: dims{16, 18, 1, 1, 1}, stride: dims{2, 1, 1}, pad: dims{0, 0, 0}, groups: 1},
		{name: "one of many positions", in: dims{1, 18, 5, 28, 33}, weight: dims{16, 18, 1, 1, 1}, stride: dims{2, 3, 2}, pad: dims{0, 0, 0}, groups: 1},
		{name: "some of many positions", in: dims{1, 6, 40, 50}, weight: dims{9, 6, 2, 3}, stride: dims{5, 4}, pad: dims{1, 1}, groups: 1},
		{name: "a large image that many results read", in: dims{1, 1024, 24, 24}, weight: dims{96, 1024, 1, 1}, stride: dims{1, 1}, pad: dims{0, 0}, groups: 1},
		{name: "a row that sees one tap, then one that sees two", in: dims{1, 2048, 3, 20}, weight: dims{256, 2048, 2, 3}, stride: dims{2, 1}, pad: dims{1, 0}, dilation: dims{1, 2}, groups: 1},
		{name: "taps that few positions see", in: dims{1, 64, 14, 15}, weight: dims{40, 64, 3, 3}, stride: dims{1, 1}, pad: dims{12, 12}, dilation: dims{12, 12}, groups: 1},
		{name: "taps that no position sees", in: dims{2, 20, 14, 15}, weight: dims{40, 20, 3, 3}, stride: dims{1, 1}, pad: dims{36, 36}, dilation: dims{36, 36}, groups: 1},
		{name: "positions that see no tap", in: dims{1, 20, 9, 9}, weight: dims{40, 20, 2, 3}, stride: dims{2, 1}, pad: dims{11, 12}, dilation: dims{24, 13}, groups: 1},
		{name: "depthwise, far taps", in: dims{1, 32, 14, 15}, weight: dims{32, 1, 3, 3}, stride: dims{1, 1}, pad: dims{6, 12}, dilation: dims{6, 12}, groups: 32},
		{name: "few results, far taps of a row", in: dims{1, 8, 300}, weight: dims{4, 8, 7}, stride: dims{1}, pad: dims{9}, dilation: dims{3}, groups: 1},
		{name: "groups of few results, a row of taps", in: dims{1, 32, 90}, weight: dims{32, 4, 5}, stride: dims{1}, pad: dims{2}, groups: 8},
		{name: "more columns than those that see the image", in: dims{1, 16, 9, 14}, weight: dims{16, 12, 1, 3}, stride: dims{1, 2}, pad: dims{0, 0}, more: dims{0, 1}, transposed: true, groups: 1},
		{name: "one channel, transposed", in: dims{1, 16, 28}, weight: dims{16, 1, 5}, stride: dims{1}, pad: dims{1}, transposed: true, groups: 1},
		{name: "one channel, transposed by steps", in: dims{2, 16, 9, 7}, weight: dims{16, 1, 3, 3}, stride: dims{2, 2}, pad: dims{1, 1}, transposed: true, groups: 1},
		{name: "dilated, by Winograd's algorithm", in: dims{2, 32, 19, 23}, weight: dims{40, 32, 3, 3}, stride: dims{1, 1}, pad: dims{2, 3}, dilation: dims{2, 3}, groups: 1},
		{name: "groups, by Winograd's algorithm", in: dims{2, 48, 13, 14}, weight: dims{96, 16, 3, 3}, stride: dims{1, 1}, pad: dims{1, 1}, groups: 3},
		{name: "line, by Winograd's algorithm", in: dims{2, 32, 150}, weight: dims{40, 32, 11}, stride: dims{1}, pad: dims{5}, groups: 1},
		{name: "dilated line, by Winograd's algorithm", in: dims{2, 32, 150}, weight: dims{40, 32, 7}, stride: dims{1}, pad: dims{9}, dilation: dims{4}, groups: 1},
		{name: "steps along a dilated line", in: dims{2, 32, 150}, weight: dims{40, 32, 16}, stride: dims{2}, pad: dims{4}, dilation: dims{3}, groups: 1},
		{name: "lines, one tap dilated", in: dims{1, 32, 6, 60}, weight: dims{40, 32, 1, 7}, stride: dims{1, 1}, pad: dims{1, 3}, dilation: dims{3, 1}, groups: 1},
		{name: "steps along a line, by Winograd's algorithm", in: dims{2, 20, 3, 150}, weight: dims{40, 20, 1, 16}, stride: dims{1, 3}, pad: dims{0, 4}, groups: 1},
		{name: "groups of few channels", in: dims{2, 32, 15, 17}, weight: dims{32, 8, 3, 3}, stride: dims{1, 1}, pad: dims{1, 1}, groups: 4},
		{name: "groups of few channels, a vector that overlaps", in: dims{1, 24, 15, 17}, weight: dims{24, 8, 3, 3}, stride: dims{2, 2}, pad: dims{1, 1}, groups: 3},
		{name: "groups of four, without padding", in: dims{1, 36, 19, 25}, weight: dims{36, 4, 3, 3}, stride: dims{1, 2}, pad: dims{0, 0}, groups: 9},
		{name: "groups of two, dilated", in: dims{1, 18, 19, 25}, weight: dims{18, 2, 3, 3}, stride: dims{1, 2}, pad: dims{4, 2}, dilation: dims{5, 2}, groups: 9},
		{name: "groups of few channels, narrow images", in: dims{3, 16, 5, 4}, weight: dims{16, 4, 3, 3}, stride: dims{1, 1}, pad: dims{1, 3}, groups: 4},
		{name: "groups of few channels, one position", in: dims{1, 32, 2, 2}, weight: dims{32, 8, 3, 3}, stride: dims{2, 2}, pad: dims{1, 1}, groups: 4},
		{name: "groups of sixteen", in: dims{1, 512, 9, 7}, weight: dims{512, 16, 3, 3}, stride: dims{1, 1}, pad: dims{1, 1}, groups: 32},
		{name: "many more results than positions", in: dims{1, 96, 7, 7}, weight: dims{160, 96, 1, 1}, stride: dims{1, 1}, pad: dims{0, 0}, groups: 1},
	} {
		if cc.more == nil {
			cc.more = dims{0, 0, 0}[:len(cc.pad)]
		}
		if cc.dilation == nil {
			cc.dilation = dims{1, 1, 1}[:len(cc.pad)]
		}
		t.Run(cc.name, func(t *testing.T) { checkOrders(t, &cc) })
	}
	r := rand.New(rand.NewSource(1))
	for range 80 {
		if cc := randomConv(r); cc != nil {
			t.Run(fmt.Sprint(*cc), func(t *testing.T) { checkOrders(t, cc) })
		}
	}
}

// randomConv is a convolution, or nil where it is a large one.
func randomConv(r *rand.Rand) *convCase {
	pick := func(v ...int64) int64 { return v[r.Intn(len(v))] }
	g := pick(1, 1, 1, 2, 3, 5)
	in, out := pick(1, 2, 3, 8, 16, 17, 40, 80), pick(1, 4, 8, 9, 12, 16, 17, 24, 33, 64, 100)
	cc := &convCase{in: dims{pick(1, 1, 1, 2, 3), g * in}, weight: dims{g * out, in}, groups: int(g), transposed: r.Intn(6) == 0}
	if cc.transposed {
		cc.weight = dims{g * in, out}
	}
	work := cc.in[0] * g * in * out
	for range pick(1, 2, 2, 2, 3) {
		size, taps := pick(1, 2, 3, 5, 7, 8, 14, 16, 20, 28, 33, 40, 57, 130), pick(1, 1, 2, 3, 3, 3, 5, 7, 16)
		cc.in, cc.weight = append(cc.in, size), append(cc.weight, taps)
		cc.stride, cc.pad = append(cc.stride, pick(1, 1, 1, 2, 3)), append(cc.pad, pick(0, 0, 1, 1, 2, 4, 12))
		cc.dilation, cc.more = append(cc.dilation, pick(1, 1, 1, 2, 5, 12)), append(cc.more, 0)
		if last := len(cc.more) - 1; cc.transposed {
			cc.more[last] = r.Int63n(max(cc.stride[last], cc.dilation[last]))
		}
		work *= size * taps
	}
	if work > 1<<22 {
		return nil
	}
	return cc
}

// guard is how many bytes behind results must stay as they are.
const guard = 16 << 10

func checkOrders(t *testing.T, cc *convCase) {
	x, w := wave(cc.in...), wave(cc.weight...)
	for i := range elems[float32](w) {
		elems[float32](w)[i] *= 6 // so that Winograd's algorithms, which divide by 6, are exact
	}
	infer := Infer{Args: vals(cc.args(x, w, nil)...), Out: make([]tensor.Meta, 1)}
	if err := ConvolutionF32.Def.Infer(&infer); err != nil {
		return // the kernel is larger than the image
	}
	sig := ParseSignature(Convolution.Schema)
	last := lastOrder(x.Rank(), true)
	run := func(tier kernel.Tier, threads int, x *tensor.Tensor, order []uint8) []float32 {
		out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: slices.Clone(infer.Out[0].Sizes), DimOrder: order}}
		args := vals(cc.args(x, w, nil)...)
		plan, err := Prepare(&ConvolutionF32, &sig, args, []tensor.Meta{out.Meta}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		v := plan.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp), Parallel: shuffled(threads), Threads: threads})
		v.Stable = true
		var results []float32
		for round := range 2 {
			all := sliceOf[float32](AlignedBytes(out.Nbytes()+guard), out.Numel()+guard/f32Size)
			for i := range all {
				all[i] = float32(math.NaN())
			}
			out.Data = bytesOf(all)[:out.Nbytes()]
			if err := v.Call(); err != nil {
				t.Fatal(err)
			}
			for _, x := range all[out.Numel():] {
				if x == x {
					t.Fatal("elements behind the results were written")
				}
			}
			if got := slices.Clone(plain[float32](out)); round == 0 {
				results = got
			} else if !slices.Equal(got, results) {
				t.Fatal("another call gives other results")
			}
		}
		return results
	}
	want := run(kernel.Scalar, 1, x, nil)
	for _, tier := range kernel.Tiers()[1:] {
		for _, from := range [][]uint8{nil, last} {
			for _, to := range [][]uint8{nil, last} {
				for _, threads := range []int{1, 2, 3, 16} {
					if got := run(tier, threads, ordered(x, from...), to); !slices.Equal(got, want) {
						t.Errorf("%v, from order %v to %v, %d threads: results differ from the scalar tier's", tier, from, to, threads)
					}
				}
			}
		}
	}
}

// TestStretches holds stretches against the taps that each position sees. Those without any may be cut in two.
func TestStretches(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		pick := func(n int) int { return 1 + r.Intn(n) }
		c := conv{}
		c.in.size[2], c.kernel[2], c.stride[2], c.dilation[2], c.pad[2] = pick(30), pick(7), pick(4), pick(20), r.Intn(40)
		c.out.size[2] = pick(50)
		sees := func(o int) (taps []int) {
			for k := range c.kernel[2] {
				if c.source(2, o, k) >= 0 {
					taps = append(taps, k)
				}
			}
			return taps
		}
		var s stretch
		s.limit, s.to = c.out.size[2], r.Intn(c.out.size[2])
		for at := s.to; c.next(2, &s); at = s.to {
			if s.from != at || s.len() <= 0 {
				t.Fatalf("%+v: stretch %+v does not begin at %d, or has no position", c, s, at)
			}
			for o := s.from; o < s.to; o++ {
				taps := sees(o)
				if len(taps) != s.taps() || len(taps) > 0 && taps[0] != s.lo {
					t.Fatalf("%+v: position %d sees %v, stretch %+v", c, o, taps, s)
				}
			}
			if s.to < s.limit && s.taps() > 0 && slices.Equal(sees(s.to), sees(s.from)) {
				t.Fatalf("%+v: stretch %+v could be longer", c, s)
			}
		}
		if s.to != s.limit {
			t.Fatalf("%+v: the last stretch, %+v, ends before %d", c, s, s.limit)
		}
	}
}

// TestCrowded looks at which images are read where they lie, and which are copied to panels.
func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		name   string
		x, w   dims
		copies bool
	}{
		{"large, many results", dims{1, 1024, 24, 24}, dims{96, 1024, 1, 1}, true},
		{"large, few results", dims{1, 1024, 24, 24}, dims{24, 1024, 1, 1}, false},
		{"small", dims{1, 1024, 22, 22}, dims{96, 1024, 1, 1}, false},
		{"taps", dims{1, 1024, 24, 24}, dims{96, 1024, 3, 3}, false},
	} {
		one := dims{1, 1}
		args := vals(wave(c.x...), wave(c.w...), nil, one, dims{0, 0}, one, false, dims{0, 0}, 1)
		infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
		if err := inferConvolution(&infer); err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			j := rowsJob{convJob: convJob[float32]{conv: newConv(args, &args[convInput].Tensor.Meta, &infer.Out[0])}}
			if j.tiling = tilingOf[float32](tier); j.micro == nil {
				continue
			}
			j.planes = phasesOf(&j.conv)
			if got := !j.scatters(); got != c.copies {
				t.Errorf("%s, %v: copied is %v", c.name, tier, got)
			}
		}
	}
}

// TestReorder holds moves by several threads against those by one.
func TestReorder(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	c := Call{Threads: 3, Parallel: shuffled(3)}
	for range 40 {
		x := wave(int64(1+r.Intn(3)), int64(1+r.Intn(40)), int64(1+r.Intn(60)), int64(1+r.Intn(60)))
		order := []uint8{0, 1, 2, 3}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		want, got := ordered(x, order...), testTensor(tensor.Float, x.Sizes)
		reorder(&c, elems[float32](got), elems[float32](x), sameMove(&x.Meta, &want.Meta))
		if !slices.Equal(elems[float32](got), elems[float32](want)) {
			t.Errorf("%v in order %v: the threads give other elements", x.Sizes, order)
		}
	}
	x, got := wave(2, 32, 20, 20), testTensor(tensor.Float, dims{2, 32, 20, 20})
	inner := tensor.Meta{DType: tensor.Float, Sizes: x.Sizes, DimOrder: lastOrder(4, true)}
	c.Parallel = func(n, _ int, f func(lo, hi int)) { f(0, n/2); f(n/2, n) }
	move := func() { reorder(&c, elems[float32](got), elems[float32](x), sameMove(&x.Meta, &inner)) }
	if n := testing.AllocsPerRun(5, move); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
