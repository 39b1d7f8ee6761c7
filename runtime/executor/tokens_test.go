package executor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// tokenMaker makes programs of products whose rows are quantized one by one, and whose weights have several names, readers and writers.
type tokenMaker struct {
	*maker
	alias map[int32]int32
	d     int32
	ws    []int32 // constants of weights
	ss    []int32
	what  []string
}

// name is another value with the place of u.
func (g *tokenMaker) name(u int32, sizes ...int32) int32 {
	v := g.tensor(g.plan.Values[u].Tensor.ScalarType, sizes...)
	g.alias[v] = u
	return v
}

// write calls an operator whose result somebody has written before.
func (g *tokenMaker) write(name string, o int32, args ...int32) {
	f, ok := g.first[o]
	l := g.last[o]
	g.call(name, []int32{o}, args...)
	if _, is := g.alias[o]; is {
		delete(g.first, o)
	} else if ok {
		g.first[o] = f
	}
	g.last[o] = max(l, g.last[o])
}

// chars is a constant of int8 from -most to most.
func (g *tokenMaker) chars(most int, sizes ...int32) int32 {
	v := g.constant(tensor.Char, sizes...)
	b := g.constants[len(g.constants)-1]
	for i := range b {
		b[i] = byte(int8(g.r.IntN(2*most+1) - most))
	}
	return v
}

// castTo is v in another type.
func (g *tokenMaker) castTo(v int32, d tensor.ScalarType, sizes ...int32) int32 {
	o := g.tensor(d, sizes...)
	g.call("dim_order_ops::_to_dim_order_copy.out", []int32{o}, v, g.no(), g.none())
	return o
}

// weight gives the Float weights [d,d] that a linear reads, dequantized.
func (g *tokenMaker) weight() int32 {
	d := g.d
	blocks := []int32{1, 1, 2, 4}[g.r.IntN(4)]
	n, k := d*blocks, d/blocks
	most := []int{7, 7, 100}[g.r.IntN(3)]
	var w int32
	if len(g.ws) > 0 && g.r.IntN(3) == 0 {
		w = g.ws[g.r.IntN(len(g.ws))]
		n, k = g.plan.Values[w].Tensor.Sizes[0], g.plan.Values[w].Tensor.Sizes[1]
		blocks = n / d
	} else {
		w = g.chars(most, n, k)
		g.ws = append(g.ws, w)
	}
	var s int32 = -1
	for _, c := range g.ss {
		if g.plan.Values[c].Tensor.Sizes[0] == n && g.r.IntN(2) == 0 {
			s = c
		}
	}
	if s < 0 {
		s = g.constant(tensor.Float, n)
		g.ss = append(g.ss, s)
	}
	zero := g.none()
	switch g.r.IntN(5) {
	case 0:
		c := g.chars(0, n)
		zero = g.castTo(c, tensor.Long, n)
		g.what = append(g.what, "castzero")
	case 1:
		c := g.chars(1, n)
		zero = g.castTo(c, tensor.Long, n)
		g.what = append(g.what, "nonzero")
	case 2:
		c := g.chars(0, n/2, 2)
		u := g.castTo(c, tensor.Long, n/2, 2)
		zero = g.name(u, n)
		g.what = append(g.what, "namezero")
		if g.r.IntN(3) == 0 {
			g.write("dim_order_ops::_to_dim_order_copy.out", u, g.chars(1, n/2, 2), g.no(), g.none())
			g.what = append(g.what, "zero written again")
		}
	case 3:
		zero = g.chars(g.r.IntN(2), n)
	}
	u := g.tensor(tensor.Float, n, k)
	char := g.int(int64(tensor.Char))
	deq := func(o, w int32) {
		g.write("quantized_decomposed::dequantize_per_channel.out", o, w, s, zero, g.int(0), g.int(-128), g.int(127), char, g.none())
	}
	deq(u, w)
	g.what = append(g.what, fmt.Sprint("weights ", n, k))
	v := u
	if blocks > 1 || g.r.IntN(3) == 0 {
		v = g.name(u, d, d)
		g.what = append(g.what, "alias")
	}
	for range g.r.IntN(3) {
		switch g.r.IntN(9) {
		case 0: // somebody reads u
			o := g.tensor(tensor.Float, n, k)
			g.call("aten::neg.out", []int32{o}, u)
			g.output(o)
			g.what = append(g.what, "u read")
		case 1:
			o := g.tensor(tensor.Float, d, d)
			g.call("aten::neg.out", []int32{o}, v)
			g.output(o)
			g.what = append(g.what, "v read")
		case 2:
			g.write("aten::neg.out", u, u)
			g.what = append(g.what, "u written")
		case 3:
			g.write("aten::neg.out", v, v)
			g.what = append(g.what, "v written")
		case 4:
			deq(u, w)
			g.what = append(g.what, "again")
		case 5:
			if v != u {
				x := g.name(u, d, d)
				o := g.tensor(tensor.Float, d, d)
				g.call("aten::neg.out", []int32{o}, x)
				g.output(o)
				g.what = append(g.what, "third name")
			}
		case 6:
			if v != u && g.r.IntN(2) == 0 {
				g.output(v)
			} else {
				g.output(u)
			}
			g.what = append(g.what, "output")
		case 7:
			if v != u {
				g.write("aten::neg.out", v, g.another(d, d))
				g.what = append(g.what, "v of input")
			}
		}
	}
	return v
}

// another is another input.
func (g *tokenMaker) another(sizes ...int32) int32 {
	v := g.tensor(tensor.Float, sizes...)
	g.first[v] = -1
	g.plan.Inputs = append(g.plan.Inputs, v)
	return v
}

// tokens quantizes the rows of x and dequantizes them.
func (g *tokenMaker) tokens(x int32) int32 {
	rows := slices.Clone(g.shape)
	rows[len(rows)-1] = 1
	if g.r.IntN(3) == 0 {
		rows = rows[:len(rows)-1]
	}
	s, z := g.tensor(tensor.Double, append(slices.Clone(g.shape[:len(g.shape)-1]), 1)...), g.tensor(tensor.Long, append(slices.Clone(g.shape[:len(g.shape)-1]), 1)...)
	char := g.int(int64(tensor.Char))
	g.call("quantized_decomposed::choose_qparams_per_token_asymmetric.out", []int32{s, z}, x, char)
	sv, zv := s, z
	if len(rows) < len(g.shape) {
		sv, zv = g.name(s, rows...), g.name(z, rows...)
		g.what = append(g.what, "named scales")
	}
	q := g.tensor(tensor.Char, g.shape...)
	g.call("quantized_decomposed::quantize_per_token.out", []int32{q}, x, sv, zv, g.int(-128), g.int(127), char)
	o := g.tensor(tensor.Float, g.shape...)
	g.call("quantized_decomposed::dequantize_per_token.out", []int32{o}, q, sv, zv, g.int(-128), g.int(127), char, g.int(int64(tensor.Float)))
	switch g.r.IntN(12) {
	case 0:
		g.write("aten::neg.out", o, o)
		g.what = append(g.what, "rows written")
	case 1:
		g.output(o)
	case 2:
		g.output(s)
	case 3:
		g.write("quantized_decomposed::quantize_per_token.out", q, g.another(g.shape...), sv, zv, g.int(-128), g.int(127), char)
		g.what = append(g.what, "q written")
	case 4:
		c := g.constant(tensor.Float, g.plan.Values[s].Tensor.Sizes...)
		g.write("dim_order_ops::_to_dim_order_copy.out", s, c, g.no(), g.none())
		g.what = append(g.what, "s written")
	}
	return o
}

// tokenProgram is a program, and what is odd in it.
func tokenProgram(seed uint64) (p *pte.Program, what []string) {
	r := rand.New(rand.NewPCG(seed, 77))
	d := []int32{32, 64, 256}[r.IntN(3)]
	shape := []int32{int32(1 + r.IntN(7)), d}
	if r.IntN(4) == 0 {
		shape = []int32{2, 3, d}
	}
	g := &tokenMaker{maker: newMaker(r, shape...), alias: map[int32]int32{}, d: d}
	x := g.input()
	if r.IntN(2) == 0 {
		x = g.float("aten::neg.out", false, x)
	}
	y := g.tokens(x)
	for range 1 + r.IntN(3) {
		if r.IntN(3) == 0 {
			y = g.tokens(x)
		}
		w := g.weight()
		bias := g.none()
		if r.IntN(2) == 0 {
			bias = g.constant(tensor.Float, d)
		}
		var o int32
		if len(shape) == 2 && r.IntN(3) == 0 {
			t := g.tensor(tensor.Float, d, d)
			g.call("aten::permute_copy.out", []int32{t}, w, g.ints(1, 0))
			o = g.tensor(tensor.Float, shape...)
			g.call("aten::addmm.out", []int32{o}, g.constant(tensor.Float, d), y, t, g.int(1), g.int(1))
			g.what = append(g.what, "addmm")
		} else {
			o = g.tensor(tensor.Float, shape...)
			g.call("aten::linear.out", []int32{o}, y, w, bias)
		}
		if r.IntN(3) == 0 {
			o2 := g.tensor(tensor.Float, shape...)
			g.call("aten::relu.out", []int32{o2}, o)
			o = o2
		}
		g.output(o)
	}
	for _, v := range g.plan.Outputs {
		g.last[v] = len(g.calls)
	}
	for v, u := range g.alias {
		g.last[u] = max(g.last[u], g.last[v])
		if slices.Contains(g.plan.Outputs, v) {
			g.last[u] = len(g.calls)
		}
		delete(g.first, v)
	}
	p = g.finish(1 + r.IntN(2))
	for v, u := range g.alias {
		a := *p.Plans[0].Values[u].Tensor.Allocation
		p.Plans[0].Values[v].Tensor.Allocation = &a
	}
	return p, g.what
}

// TestMadeTokens holds made programs against themselves while somebody looks at their values, and so nothing is fused.
func TestMadeTokens(t *testing.T) {
	count, fused := uint64(600), 0
	if testing.Short() {
		count = 30
	}
	for seed := range count {
		run := func(tr EventTracer) (all [][]float32, dequantize int) {
			p, what := tokenProgram(seed)
			m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2), Tracer: tr})).Method("forward")
			all, err := runsOf(m, seed)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, err, what)
			}
			for i := range m.m.steps {
				if strings.Contains(m.m.steps[i].name, "dequantize") {
					dequantize++
				}
			}
			return all, dequantize
		}
		got, n := run(nil)
		want, all := run(values{&scribe{}})
		if n < all {
			fused++
		}
		for k := range want {
			size := 1.0
			for _, w := range want[k] {
				size = max(size, math.Abs(float64(w)))
			}
			for i, w := range want[k] {
				if d := math.Abs(float64(got[k][i] - w)); !(d <= 2e-5*size) && w == w {
					_, what := tokenProgram(seed)
					t.Fatalf("seed %d: result %d[%d] is %v, want %v: %v", seed, k, i, got[k][i], w, what)
				}
			}
		}
	}
	if fused < int(count)/3 {
		t.Errorf("%d of %d programs are fused", fused, count)
	}
}

// TestTokensOfImages convolves an image whose lines were quantized: their scales do not go along results.
func TestTokensOfImages(t *testing.T) {
	for seed := range uint64(20) {
		p := func() *pte.Program {
			g := &tokenMaker{maker: newMaker(rand.New(rand.NewPCG(seed, 1)), 1, 4, 8, 8), alias: map[int32]int32{}, d: 8}
			x := g.float("aten::neg.out", false, g.input())
			s, z := g.tensor(tensor.Double, 1, 4, 8, 1), g.tensor(tensor.Long, 1, 4, 8, 1)
			char := g.int(int64(tensor.Char))
			g.call("quantized_decomposed::choose_qparams_per_token_asymmetric.out", []int32{s, z}, x, char)
			q := g.tensor(tensor.Char, g.shape...)
			g.call("quantized_decomposed::quantize_per_token.out", []int32{q}, x, s, z, g.int(-128), g.int(127), char)
			x = g.float("quantized_decomposed::dequantize_per_token.out", false, q, s, z, g.int(-128), g.int(127), char, g.int(int64(tensor.Float)))
			g.output(g.convolution(x, g.weights(true, 4, 4, 3, 3), true))
			return g.finish(1)
		}
		got, _ := resultsOf(t, p(), seed, nil)
		want, _ := resultsOf(t, p(), seed, values{&scribe{}})
		checkNear(t, "seed "+strconv.FormatUint(seed, 10), got, want, 5e-5)
	}
}

// TestTokenParams gives zero points that int8 does not have, of another type, and scales in another order than that of the sizes: what is
// fused gives what is not fused, or an error.
func TestTokenParams(t *testing.T) {
	for _, most := range []int{7, 100} {
		for name, c := range map[string]struct {
			dtype tensor.ScalarType
			zeros []float32
			order []uint8
			fails bool
		}{
			"int64":               {tensor.Long, []float32{1, -2, 3, 4, 5, 6}, nil, false},
			"float32":             {tensor.Float, []float32{0.5, 1.5, 2.5, 0.25, .75, 1}, nil, false},
			"out of int8":         {tensor.Long, []float32{1000, 40000, -5000000, 200, 300, -300}, nil, true},
			"in another order":    {tensor.Long, []float32{1, -2, 3, 4, 5, 6}, []uint8{1, 0, 2}, false},
			"int8 zero points":    {tensor.Char, []float32{1, -2, 3, 4, 5, 6}, nil, false},
			"no number is passed": {tensor.Int, []float32{0, 0, 0, 0, 0, 0}, nil, false},
		} {
			run := func(tr EventTracer) ([]float32, error) {
				g := newMaker(rand.New(rand.NewPCG(1, 1)), 2, 3, 64)
				char := g.int(int64(tensor.Char))
				q, s, z := g.tensor(tensor.Char, 2, 3, 64), g.tensor(tensor.Double, 2, 3, 1), g.tensor(c.dtype, 2, 3, 1)
				scales, zeros := tensor.Of([]float64{1, 2, 3, 4, 5, 6}, 2, 3, 1), cast(tensor.Of(c.zeros, 2, 3, 1), c.dtype)
				if c.order != nil {
					g.plan.Values[s].Tensor.DimOrder, g.plan.Values[z].Tensor.DimOrder, scales.DimOrder, zeros.DimOrder = c.order, c.order, c.order, c.order
				}
				g.plan.Inputs = []int32{q, s, z}
				x := g.float("quantized_decomposed::dequantize_per_token.out", false, q, s, z, g.int(-128), g.int(127), char, g.int(int64(tensor.Float)))
				w, u := g.constant(tensor.Char, 64, 64), g.tensor(tensor.Float, 64, 64)
				for i, b := 0, g.constants[len(g.constants)-1]; i < len(b); i++ {
					b[i] = byte(int8(i*7%(2*most+1) - most))
				}
				g.call("quantized_decomposed::dequantize_per_channel.out", []int32{u}, w, g.constant(tensor.Float, 64), g.none(), g.int(0), g.int(-128), g.int(127), char, g.none())
				g.output(g.float("aten::linear.out", false, x, u, g.none()))
				m := instanceOf(t, loadOf(t, g.finish(1), LoadOptions{Kernels: op.Kernels, Tracer: tr})).Method("forward")
				in := randomOf(rand.New(rand.NewPCG(3, 9)), tensor.Float, 2, 3, 64)
				outs, err := m.Run(context.Background(), []Value{TensorOf(cast(in, tensor.Char)), TensorOf(scales), TensorOf(zeros)})
				if err != nil {
					return nil, err
				}
				return floatsOf(outs)[0], nil
			}
			want, err := run(values{&scribe{}})
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := run(nil)
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), "want a scale, and a zero point of int8") {
					t.Errorf("%s: error %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(name, err)
			}
			checkNear(t, name, [][]float32{got}, [][]float32{want}, 5e-5)
		}
	}
}

// TestNamedWeights loads products whose weights have other ranks than they should, or another name of such a rank: that is an error when
// they run, or nothing is fused.
func TestNamedWeights(t *testing.T) {
	for _, channel := range []bool{false, true} {
		for _, named := range []bool{false, true} {
			for _, sizes := range [][]int32{{}, {1}, {1, 1}, {1, 1, 1}} {
				g := newMaker(rand.New(rand.NewPCG(1, 1)), 4, 1)
				x, char := g.input(), g.int(int64(tensor.Char))
				q := g.tensor(tensor.Char, 4, 1)
				g.call("quantized_decomposed::quantize_per_tensor.out", []int32{q}, x, g.double(1), g.int(0), g.int(-128), g.int(127), char)
				dx := g.float("quantized_decomposed::dequantize_per_tensor.out", false, q, g.double(1), g.int(0), g.int(-128), g.int(127), char, g.none())
				own := sizes
				if named {
					own = []int32{1, 1}
				}
				w, u := g.constant(tensor.Char, own...), g.tensor(tensor.Float, own...)
				if channel {
					g.call("quantized_decomposed::dequantize_per_channel.out", []int32{u}, w, g.constant(tensor.Float, 1), g.none(), g.int(0), g.int(-128), g.int(127), char, g.none())
				} else {
					g.call("quantized_decomposed::dequantize_per_tensor.out", []int32{u}, w, g.double(1), g.int(0), g.int(-128), g.int(127), char, g.none())
				}
				v := u
				if named {
					v = g.tensor(tensor.Float, sizes...)
				}
				o := g.float("aten::linear.out", false, dx, v, g.none())
				g.output(o)
				g.last[u] = g.last[v]
				p := g.finish(1)
				p.Plans[0].Values[v].Tensor.Allocation = p.Plans[0].Values[u].Tensor.Allocation
				for _, v := range []int32{x, q, dx, o} {
					p.Plans[0].Values[v].Tensor.Dynamism = pte.DynamicBound
				}
				b, err := pte.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				if p, err := Load(b, LoadOptions{Kernels: op.Kernels}); err == nil {
					_, err = runsOf(instanceOf(t, p).Method("forward"), 1)
					if (err == nil) != (len(sizes) == 2) {
						t.Errorf("weights of sizes %v, named: %t: error %v", sizes, named, err)
					}
				}
			}
		}
	}
}
