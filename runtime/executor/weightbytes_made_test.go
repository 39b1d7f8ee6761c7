package executor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// byteMaker makes programs of products with weights of int8 that some step makes Float, and that have several names, readers and writers.
type byteMaker struct{ *tokenMaker }

// note adds to what the program has.
func (g *byteMaker) note(a ...any) { g.what = append(g.what, fmt.Sprint(a...)) }

// zeros are n zero points, or none.
func (g *byteMaker) zeros(n int32) int32 {
	switch g.r.IntN(4) {
	case 0:
		g.note("zeros")
		return g.chars(3, n)
	case 1:
		g.note("long zeros")
		return g.castTo(g.chars(3, n), tensor.Long, n)
	}
	return g.none()
}

// blocks is a matrix [n, k] of Float that is another name of blocks of its rows.
func (g *byteMaker) blocks(n, k int32) int32 {
	count := k
	for _, c := range []int32{2, 4, 3} {
		if k%c == 0 && g.r.IntN(2) == 0 {
			count = c
		}
	}
	most := []int{7, 100}[g.r.IntN(2)]
	w, u := g.chars(most, n*count, k/count), g.tensor(tensor.Float, n*count, k/count)
	g.call("quantized_decomposed::dequantize_per_channel.out", []int32{u}, w, g.constant(tensor.Float, n*count), g.zeros(n*count), g.int(0), g.int(-128), g.int(127),
		g.int(int64(tensor.Char)), g.none())
	g.note(count, "blocks up to", most)
	return g.name(u, n, k)
}

// made is a matrix [n, k] of Float that is made of one of int8.
func (g *byteMaker) made(n, k int32) int32 {
	if g.r.IntN(4) == 0 {
		return g.blocks(n, k)
	}
	var w int32 = -1
	for _, c := range g.ws {
		s := g.plan.Values[c].Tensor.Sizes
		if s[0] == n && s[1] == k && g.r.IntN(4) > 0 {
			w = c
		}
	}
	if w < 0 {
		if g.r.IntN(12) == 0 {
			w = g.castTo(g.chars([]int{7, 100}[g.r.IntN(2)], n, k), tensor.Char, n, k)
			g.note("w not constant")
		} else {
			w = g.chars([]int{7, 100, 0}[g.r.IntN(3)], n, k)
			if g.r.IntN(6) == 0 {
				g.plan.Values[w].Tensor.DimOrder = []uint8{1, 0}
				g.note("order of w")
			}
			g.ws = append(g.ws, w)
		}
	}
	u := g.tensor(tensor.Float, n, k)
	g.plan.Values[u].Tensor.DimOrder = slices.Clone(g.plan.Values[w].Tensor.DimOrder)
	char := g.int(int64(tensor.Char))
	switch g.r.IntN(4) {
	case 0:
		zp := int64(0)
		if g.r.IntN(2) == 0 {
			zp = int64(g.r.IntN(9) - 4)
			g.note("zp")
		}
		g.call("quantized_decomposed::dequantize_per_tensor.out", []int32{u}, w, g.double(0.375), g.int(zp), g.int(-128), g.int(127), char, g.none())
		g.note("tensor")
	case 1:
		order := g.none()
		if slices.Equal(g.plan.Values[w].Tensor.DimOrder, []uint8{1, 0}) {
			order = g.ints(1, 0)
		}
		if g.r.IntN(3) == 0 {
			g.plan.Values[u].Tensor.DimOrder = []uint8{1, 0}
			order = g.ints(1, 0)
			g.note("cast turns order")
		}
		g.call("dim_order_ops::_to_dim_order_copy.out", []int32{u}, w, g.no(), order)
		g.note("cast")
	default:
		axis, m := int64(0), n
		if g.r.IntN(4) == 0 {
			axis, m = 1, k
			g.note("axis 1")
		}
		if g.r.IntN(6) == 0 {
			axis -= 2
			g.note("neg axis")
		}
		g.call("quantized_decomposed::dequantize_per_channel.out", []int32{u}, w, g.constant(tensor.Float, m), g.zeros(m), g.int(axis), g.int(-128), g.int(127), char, g.none())
		g.note("channel")
	}
	if g.r.IntN(6) == 0 {
		v := g.name(u, n, k)
		g.note("alias")
		if g.r.IntN(5) == 0 {
			g.write("aten::neg.out", v, v)
			g.note("v written")
		}
		u = v
	}
	switch g.r.IntN(12) {
	case 0:
		o := g.tensor(tensor.Float, n, k)
		g.call("aten::neg.out", []int32{o}, u)
		g.output(o)
		g.note("read")
	case 1:
		g.write("aten::neg.out", u, u)
		g.note("written")
	case 2:
		g.output(u)
		g.note("out")
	}
	return u
}

// turned is a matrix [n, k] that is made and turned.
func (g *byteMaker) turned(n, k int32) int32 {
	w := g.made(k, n)
	t := g.tensor(tensor.Float, n, k)
	d := [][]int64{{1, 0}, {-1, 0}, {1, -2}, {-1, -2}}[g.r.IntN(4)]
	g.call("aten::permute_copy.out", []int32{t}, w, g.ints(d...))
	if g.r.IntN(8) == 0 {
		o := g.tensor(tensor.Float, n, k)
		g.call("aten::neg.out", []int32{o}, t)
		g.output(o)
	}
	return t
}

// byteProgram is a program of one to four products, and what it has.
func byteProgram(seed uint64) (p *pte.Program, what []string) {
	r := rand.New(rand.NewPCG(seed, 78))
	d := []int32{1, 3, 8, 17, 32, 33, 64, 67}[r.IntN(8)]
	rows := []int32{1, 2, 3, 7, 25, 70}[r.IntN(6)]
	shape := []int32{rows, d}
	switch r.IntN(5) {
	case 0:
		shape = []int32{2, 3, d}
	case 1:
		shape = []int32{d}
	}
	g := &byteMaker{&tokenMaker{maker: newMaker(r, shape...), alias: map[int32]int32{}, d: d}}
	g.note(shape)
	x := g.input()
	if r.IntN(2) == 0 {
		x = g.float("aten::neg.out", false, x)
	}
	for range 1 + r.IntN(4) {
		n := d
		if r.IntN(2) == 0 {
			n = []int32{1, 5, 16, 20, 64, 130}[r.IntN(6)]
		}
		s := append(slices.Clone(shape[:len(shape)-1]), n)
		o := g.tensor(tensor.Float, s...)
		op := g.r.IntN(4)
		if len(shape) != 2 {
			op = 0
		}
		second := func(n, k int32) int32 {
			if g.r.IntN(2) == 0 {
				return g.turned(n, k)
			}
			return g.made(n, k)
		}
		switch op {
		case 0, 3:
			bias := g.none()
			if r.IntN(2) == 0 {
				bias = g.constant(tensor.Float, n)
			}
			g.call("aten::linear.out", []int32{o}, x, second(n, d), bias)
			g.note("linear", n)
		case 1:
			g.call("aten::mm.out", []int32{o}, x, second(d, n))
			g.note("mm", n)
		case 2:
			var b int32
			switch g.r.IntN(9) {
			case 8:
				b = g.constant(tensor.Float, 1)
			case 0:
				b = g.constant(tensor.Float, rows, n)
			case 1:
				b = g.constant(tensor.Float, 1, n)
			case 2:
				b = g.float("aten::neg.out", false, x)
				if n != d {
					b = g.constant(tensor.Float, n)
				}
			default:
				b = g.constant(tensor.Float, n)
			}
			beta, alpha := g.int(1), g.int(1)
			switch g.r.IntN(8) {
			case 0:
				beta = g.double(0.5)
			case 1:
				alpha = g.int(2)
			}
			g.call("aten::addmm.out", []int32{o}, b, x, second(d, n), beta, alpha)
			g.note("addmm", n)
		}
		if r.IntN(3) == 0 {
			o2 := g.tensor(tensor.Float, s...)
			switch r.IntN(3) {
			case 0:
				g.call("aten::relu.out", []int32{o2}, o)
			case 1:
				g.call("aten::hardtanh.out", []int32{o2}, o, g.double(-1), g.double(2))
			case 2:
				g.call("aten::add.out", []int32{o2}, o, o, g.int(1))
			}
			o = o2
		}
		g.output(o)
		if n == d && r.IntN(2) == 0 {
			x = o
		}
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

// TestMadeBytes holds random programs of byteMaker, on one thread and on three, against the same that keep all values of the file.
func TestMadeBytes(t *testing.T) {
	kept := 0
	for seed := range uint64(600) {
		run := func(tracer EventTracer, threads int) [][]float32 {
			p, what := byteProgram(seed)
			m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: threads, Tracer: tracer})).Method("forward")
			all, err := runsOf(m, seed)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, err, what)
			}
			kept += keptBytes(m.m)
			return all
		}
		got, threads, want := run(nil, 1), run(nil, 3), run(values{&scribe{}}, 1)
		name := fmt.Sprintf("seed %d", seed)
		for k := range want {
			size := 1.0
			for _, w := range want[k] {
				size = max(size, math.Abs(float64(w)))
			}
			checkNear(t, name, got[k:k+1], want[k:k+1], 2e-5*size)
		}
		if !slices.EqualFunc(got, threads, func(a, b []float32) bool {
			return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
		}) {
			t.Errorf("%s: three threads give something else than one", name)
		}
	}
	if kept == 0 && kernel.MixedOf(kernel.Best(), kernel.StoredS8) != nil {
		t.Error("no product reads weights of int8")
	}
}
