package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// maker makes a program of operators that are fused, on matrices or images that are all alike, and plans it by itself: values lie
// where others have lain, in one arena or two.
type maker struct {
	r         *rand.Rand
	program   *pte.Program
	plan      *pte.ExecutionPlan // its only one
	calls     []pte.Instruction
	constants [][]byte
	shape     []int32
	first     map[int32]int // the instruction that writes a value
	last      map[int32]int // that looks at it last
	values    []int32       // those of Float that there are
	quantizes bool
}

// newMaker is a maker whose values have this shape.
func newMaker(r *rand.Rand, shape ...int32) *maker {
	p := plan(nil, nil)
	return &maker{r: r, program: p, plan: p.Plans[0], first: map[int32]int{}, last: map[int32]int{}, constants: [][]byte{nil}, shape: shape}
}

// input is a value that the caller gives.
func (g *maker) input() int32 {
	v := g.tensor(tensor.Float, g.shape...)
	g.first[v] = -1
	g.plan.Inputs, g.values = append(g.plan.Inputs, v), append(g.values, v)
	return v
}

// output gives v to the caller.
func (g *maker) output(v int32) {
	g.plan.Outputs, g.last[v] = append(g.plan.Outputs, v), len(g.calls)
}

// finish is the program of these calls, planned into so many arenas.
func (g *maker) finish(arenas int) *pte.Program {
	g.place(arenas)
	g.plan.Chains, g.program.ConstantBuffers = []pte.Chain{{Instructions: g.calls}}, g.constants
	return g.program
}

func (g *maker) add(v pte.EValue) int32 {
	g.plan.Values = append(g.plan.Values, v)
	return int32(len(g.plan.Values) - 1)
}

func (g *maker) int(n int64) int32      { return g.add(pte.EValue{Type: pte.Int, Int: n}) }
func (g *maker) double(x float64) int32 { return g.add(pte.EValue{Type: pte.Double, Double: x}) }
func (g *maker) no() int32              { return g.add(pte.EValue{Type: pte.Bool}) }
func (g *maker) none() int32            { return g.add(pte.EValue{Type: pte.Null}) }

func (g *maker) ints(list ...int64) int32 {
	items := make([]int64, len(list))
	for i, n := range list {
		items[i] = int64(g.int(n))
	}
	return g.add(pte.EValue{Type: pte.IntList, Items: items})
}

func (g *maker) tensor(d tensor.ScalarType, sizes ...int32) int32 {
	v := tensorValue(sizes...)
	v.Tensor.ScalarType = d
	return g.add(v)
}

// constant is a constant of Float or Char.
func (g *maker) constant(d tensor.ScalarType, sizes ...int32) int32 {
	v := g.tensor(d, sizes...)
	n, part := 1, float32(4)
	for _, s := range sizes {
		n *= int(s)
	}
	if len(sizes) == 4 { // weights of convolutions, whose results are to stay small
		part = 16
	}
	var chars []byte
	var floats []float32
	for range n {
		x := g.r.IntN(9) - 4
		chars, floats = append(chars, byte(x)), append(floats, float32(x)/part)
	}
	data := chars
	if d == tensor.Float {
		data = tensor.Of(floats, tensor.Dim(n)).Data
	}
	g.constants = append(g.constants, data)
	g.plan.Values[v].Tensor.DataBufferIdx = uint32(len(g.constants) - 1)
	return v
}

// call calls an operator, whose results are outs.
func (g *maker) call(name string, outs []int32, args ...int32) {
	base, overload, _ := strings.Cut(name, ".")
	o := pte.Operator{Name: base, Overload: overload}
	k := slices.Index(g.plan.Operators, o)
	if k < 0 {
		k = len(g.plan.Operators)
		g.plan.Operators = append(g.plan.Operators, o)
	}
	at := len(g.calls)
	g.each(args, func(v int32) { g.last[v] = at })
	g.each(outs, func(v int32) { g.first[v], g.last[v] = at, at })
	list := append(append(args, outs...), outs[0]) // which stands for what a call gives
	g.calls = append(g.calls, pte.Instruction{Type: pte.KernelCall, A: int32(k), Args: list})
}

// each calls f with the values of list, and with the items instead of a list among them.
func (g *maker) each(list []int32, f func(v int32)) {
	for _, v := range list {
		if x := &g.plan.Values[v]; x.Type == pte.TensorList {
			for _, item := range x.Items {
				f(int32(item))
			}
			continue
		}
		f(v)
	}
}

// float calls an operator with one result of Float, which is among the values if it stays.
func (g *maker) float(name string, stays bool, args ...int32) int32 {
	o := g.tensor(tensor.Float, g.shape...)
	g.call(name, []int32{o}, args...)
	if stays {
		g.values = append(g.values, o)
	}
	return o
}

// some is a value, and latest most often the last one.
func (g *maker) some() int32 { return g.values[g.r.IntN(len(g.values))] }

func (g *maker) latest() int32 {
	if g.r.IntN(3) > 0 {
		return g.values[len(g.values)-1]
	}
	return g.some()
}

// between sometimes calls something else, whose result may take a place that is free.
func (g *maker) between() {
	if g.r.IntN(2) == 0 {
		g.float("aten::neg.out", true, g.some())
	}
}

// through quantizes x and dequantizes it again.
func (g *maker) through(x int32) int32 {
	g.quantizes = true
	scale, zero := g.double([]float64{0.25, 0.5, 1}[g.r.IntN(3)]), g.int(int64(g.r.IntN(5)-2))
	low, high, char := g.int(-128), g.int(127), g.int(int64(tensor.Char))
	q := g.tensor(tensor.Char, g.shape...)
	g.call("quantized_decomposed::quantize_per_tensor.out", []int32{q}, x, scale, zero, low, high, char)
	g.between()
	return g.float("quantized_decomposed::dequantize_per_tensor.out", false, q, scale, zero, low, high, char, g.none())
}

// weights are a constant of these sizes, or one of int8 that is dequantized.
func (g *maker) weights(quantized bool, sizes ...int32) int32 {
	if !quantized {
		return g.constant(tensor.Float, sizes...)
	}
	o := g.tensor(tensor.Float, sizes...)
	g.call("quantized_decomposed::dequantize_per_tensor.out", []int32{o}, g.constant(tensor.Char, sizes...), g.double(0.125), g.int(0), g.int(-127), g.int(127),
		g.int(int64(tensor.Char)), g.none())
	return o
}

// product multiplies x with weights, and keeps the results small.
func (g *maker) product(x int32, quantized bool) {
	if quantized {
		x = g.through(x)
		g.between()
	}
	var o int32
	switch side := g.shape[1]; {
	case len(g.shape) == 4:
		w := g.weights(quantized, side, side, 3, 3)
		g.between()
		o = g.convolution(x, w, true)
	case quantized || g.r.IntN(3) > 0:
		w := g.weights(quantized, side, side)
		g.between()
		o = g.float("aten::linear.out", true, x, w, g.none())
	default:
		o = g.float("aten::mm.out", true, x, g.some())
	}
	if g.r.IntN(2) == 0 {
		o = g.float("aten::relu.out", false, o)
	}
	if quantized && g.r.IntN(2) == 0 {
		o = g.through(o)
	}
	g.float("aten::tanh.out", true, o)
}

// normalized scales and shifts each channel of an image, and gives the result.
func (g *maker) normalized(x int32) int32 {
	channels := g.shape[1]
	w, b, mean, variance := g.constant(tensor.Float, channels), g.constant(tensor.Float, channels), g.constant(tensor.Float, channels), g.constant(tensor.Float, channels)
	data := tensor.Elements[float32](&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{tensor.Dim(channels)}}, Data: g.constants[len(g.constants)-1]})
	for i, v := range data {
		data[i] = v*v + 0.5
	}
	o := g.tensor(tensor.Float, g.shape...)
	g.call("aten::_native_batch_norm_legit_no_training.out", []int32{o, g.tensor(tensor.Float, 0), g.tensor(tensor.Float, 0)}, x, w, b, mean, variance,
		g.double(0.1), g.double(1e-5))
	return o
}

// joined puts two images behind each other, makes one of both, and keeps its numbers small.
func (g *maker) joined(x int32) {
	wide := slices.Clone(g.shape)
	wide[1] *= 2
	o := g.tensor(tensor.Float, wide...)
	list := g.add(pte.EValue{Type: pte.TensorList, Items: []int64{int64(x), int64(g.some())}})
	g.call("aten::cat.out", []int32{o}, list, g.int(1))
	g.between()
	g.float("aten::tanh.out", true, g.convolution(o, g.weights(false, g.shape[1], wide[1], 1, 1), false))
}

// resized makes an image larger, by a border or between its elements, and as small as it was again.
func (g *maker) resized(x int32) {
	large := slices.Clone(g.shape)
	large[2], large[3] = 2*large[2], 2*large[3]
	side := int64(g.shape[2])
	o := g.tensor(tensor.Float, large...)
	switch sizes := g.ints(2*side, 2*side); g.r.IntN(3) {
	case 0:
		g.call("aten::constant_pad_nd.out", []int32{o}, x, g.ints(side/2, side/2, side/2, side/2), g.double(0.5))
	case 1:
		g.call("aten::upsample_nearest2d.vec_out", []int32{o}, x, sizes, g.none())
	default:
		g.call("aten::upsample_bilinear2d.vec_out", []int32{o}, x, sizes, g.no(), g.none())
	}
	g.between()
	if g.r.IntN(2) == 0 {
		g.float("aten::_adaptive_avg_pool2d.out", true, o, g.ints(side, side))
		return
	}
	g.float("aten::avg_pool2d.out", true, o, g.ints(2, 2), g.ints(2, 2), g.ints(0, 0), g.no(), g.no(), g.none())
}

// convolution convolves x with weights of 3x3 taps, or of one.
func (g *maker) convolution(x, w int32, stays bool) int32 {
	pad, rank := int64(g.plan.Values[w].Tensor.Sizes[2]/2), len(g.shape)-2
	all := func(n int64) int32 { return g.ints(slices.Repeat([]int64{n}, rank)...) }
	return g.float("aten::convolution.out", stays, x, w, g.none(), all(1), all(pad), all(1), g.no(), all(0), g.int(1))
}

// gates are the products of x with weights, or their sums with another one's, taken apart.
func (g *maker) gates(x int32, count int, summed bool) []int32 {
	rows, n := g.shape[0], g.shape[1]
	product := func(x int32) int32 {
		o := g.tensor(tensor.Float, rows, int32(count)*n)
		g.call("aten::linear.out", []int32{o}, x, g.weights(false, int32(count)*n, n), g.none())
		g.between()
		return o
	}
	o := product(x)
	if summed {
		sum := g.tensor(tensor.Float, rows, int32(count)*n)
		g.call("aten::add.out", []int32{sum}, o, product(g.some()), g.int(1))
		o = sum
	}
	parts, list := make([]int32, count), pte.EValue{Type: pte.TensorList}
	for i := range parts {
		parts[i] = g.tensor(tensor.Float, g.shape...)
		list.Items = append(list.Items, int64(parts[i]))
	}
	g.call("aten::split_with_sizes_copy.out", []int32{g.add(list)}, o, g.ints(slices.Repeat([]int64{int64(n)}, count)...), g.int(1))
	return parts
}

// cell is the cell of an LSTM or a GRU, with something else among its operators.
func (g *maker) cell(x int32) {
	of := func(name string, args ...int32) int32 {
		g.between()
		return g.float("aten::"+name+".out", false, args...)
	}
	one := g.int(1)
	if g.r.IntN(2) == 0 {
		i := g.gates(x, 4, g.r.IntN(2) == 0)
		input, forget, output, candidate := of("sigmoid", i[0]), of("sigmoid", i[1]), of("sigmoid", i[3]), of("tanh", i[2])
		next := of("add", of("mul", forget, g.some()), of("mul", input, candidate), one)
		if g.r.IntN(2) == 0 {
			g.values = append(g.values, next)
		}
		g.float("aten::mul.out", true, output, of("tanh", next))
		return
	}
	a := g.gates(x, 3, false)
	hidden := g.some()
	if g.r.IntN(2) == 0 {
		hidden = of("neg", hidden) // which nobody else reads
	}
	b := g.gates(hidden, 3, false)
	reset, update := of("sigmoid", of("add", a[0], b[0], one)), of("sigmoid", of("add", a[1], b[1], one))
	fresh := of("tanh", of("add", a[2], of("mul", b[2], reset), one))
	g.float("aten::add.out", true, of("mul", of("sub", hidden, fresh, one), update), fresh, one)
}

// step adds an operator, or some that belong together.
func (g *maker) step(quantizes bool) {
	x, image := g.latest(), len(g.shape) == 4
	switch g.r.IntN(14) {
	case 0:
		g.float("aten::relu.out", true, x)
	case 1:
		g.float("aten::hardtanh.out", true, x, g.double(-2), g.double(3))
	case 2:
		g.float([]string{"aten::add.out", "aten::sub.out"}[g.r.IntN(2)], true, x, g.some(), g.int(int64(1+g.r.IntN(2))))
	case 3:
		g.float("aten::tanh.out", true, g.float("aten::mul.out", false, x, g.some()))
	case 4:
		g.float([]string{"aten::sigmoid.out", "aten::neg.out", "aten::abs.out"}[g.r.IntN(3)], true, x)
	case 5, 6:
		g.product(x, false)
	case 7, 8:
		g.product(x, quantizes)
	case 9:
		if image {
			i := g.tensor(tensor.Long, g.shape...)
			o := g.tensor(tensor.Float, g.shape...)
			g.call("aten::max_pool2d_with_indices.out", []int32{o, i}, x, g.ints(3, 3), g.ints(1, 1), g.ints(1, 1), g.ints(1, 1), g.no())
			g.values = append(g.values, o)
			return
		}
		g.float("aten::_softmax.out", true, x, g.int(-1), g.no())
	case 10:
		if image {
			g.float("aten::avg_pool2d.out", true, x, g.ints(3, 3), g.ints(1, 1), g.ints(1, 1), g.no(), g.no(), g.none())
			return
		}
		g.float("aten::permute_copy.out", true, x, g.ints(1, 0))
	case 11:
		if !image {
			g.cell(x)
			return
		}
		o := g.normalized(x)
		if g.r.IntN(2) == 0 {
			o = g.float("aten::relu.out", false, o)
		}
		g.float("aten::tanh.out", true, o)
	case 12:
		if image {
			g.joined(x)
		}
	case 13:
		if image {
			g.resized(x)
		}
	}
}

// place plans the memory: each value takes the lowest place in its arena that is free as long as it lives.
func (g *maker) place(arenas int) {
	type piece struct {
		from, to   int // instructions
		start, end int64
	}
	pieces, sizes := make([][]piece, arenas+1), make([]int64, arenas+1)
	for v := range int32(len(g.plan.Values)) {
		from, ok := g.first[v]
		if !ok || from < 0 && g.r.IntN(2) == 0 { // an input may have no place
			continue
		}
		t := g.plan.Values[v].Tensor
		n := int64(t.ScalarType.Size())
		for _, s := range t.Sizes {
			n *= int64(s)
		}
		id, p := 1+g.r.IntN(arenas), piece{from, g.last[v], 0, n}
		for {
			k := slices.IndexFunc(pieces[id], func(q piece) bool { return q.from <= p.to && p.from <= q.to && q.start < p.end && p.start < q.end })
			if k < 0 {
				break
			}
			p.start = (pieces[id][k].end + 15) &^ 15
			p.end = p.start + n
		}
		pieces[id] = append(pieces[id], p)
		sizes[id] = max(sizes[id], p.end)
		t.Allocation = &pte.Allocation{MemoryID: uint32(id), Offset: uint64(p.start)}
	}
	g.plan.NonConstBufferSizes = sizes
}

// madeProgram is a program by this seed.
func madeProgram(seed uint64, quantizes bool) *pte.Program {
	r := rand.New(rand.NewPCG(seed, 3))
	g := newMaker(r, 24, 24)
	if r.IntN(2) == 0 {
		g.shape = []int32{1, 16, 8, 8}
	}
	for range 1 + r.IntN(3) {
		g.input()
	}
	for range 2 + r.IntN(8) {
		g.step(quantizes)
	}
	for i, v := range g.values {
		if i == len(g.values)-1 || i >= len(g.values)-6 && i >= len(g.plan.Inputs) && r.IntN(4) == 0 {
			g.output(v)
		}
	}
	return g.finish(1 + r.IntN(2))
}

// asType makes all tensors of Float such of d.
func asType(p *pte.Program, d tensor.ScalarType) {
	for _, v := range p.Plans[0].Values {
		if v.Tensor == nil || v.Tensor.ScalarType != tensor.Float {
			continue
		}
		v.Tensor.ScalarType = d
		if i := v.Tensor.DataBufferIdx; i > 0 {
			x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{tensor.Dim(len(p.ConstantBuffers[i]) / 4)}}, Data: p.ConstantBuffers[i]}
			p.ConstantBuffers[i] = cast(x, d).Data
		}
	}
}

// cast is x in type d.
func cast(x *tensor.Tensor, d tensor.ScalarType) *tensor.Tensor {
	y := &tensor.Tensor{Meta: tensor.Meta{DType: d, Sizes: x.Sizes}}
	y.Data = op.AlignedBytes(y.Nbytes())
	op.CastBytes(y.Data, d, x.Data, x.DType, x.Numel())
	return y
}

// randomOf is a tensor of eighths from -2 to 2.
func randomOf(r *rand.Rand, d tensor.ScalarType, sizes ...tensor.Dim) *tensor.Tensor {
	x := make([]float32, (&tensor.Meta{Sizes: sizes}).Numel())
	for i := range x {
		x[i] = float32(r.IntN(33)-16) / 8
	}
	return cast(tensor.Of(x, sizes...), d)
}

// resultsOf are the outputs of three Runs of p, on inputs by this seed, and how many steps it has.
func resultsOf(t *testing.T, p *pte.Program, seed uint64, tracer EventTracer) (all [][]float32, steps []step) {
	t.Helper()
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2), Tracer: tracer})).Method("forward")
	all, err := runsOf(m, seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return all, m.m.steps
}

// runsOf are the outputs of three Runs of m, on inputs by this seed.
func runsOf(m *Method, seed uint64) (all [][]float32, err error) {
	r := rand.New(rand.NewPCG(seed, 9))
	for range 3 {
		var ins []Value
		for _, in := range m.Info().Inputs {
			ins = append(ins, TensorOf(randomOf(r, in.Meta.DType, in.Meta.Sizes...)))
		}
		outs, err := m.Run(context.Background(), ins)
		if err != nil {
			return nil, err
		}
		all = append(all, floatsOf(outs)...)
	}
	return all, nil
}

// checkNear holds results against those of the steps one by one.
func checkNear(t *testing.T, what string, got, want [][]float32, tol float64) {
	t.Helper()
	for k := range want {
		for i, w := range want[k] {
			if !golden.Near(float64(got[k][i]), float64(w), tol, tol) {
				t.Fatalf("%s: result %d, element %d is %v, want %v", what, k, i, got[k][i], w)
			}
		}
	}
}

// checkMost is checkNear of types that round so much that some results are far: where a value does not come to be, it is not rounded.
func checkMost(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for k := range want {
		far := 0
		for i, w := range want[k] {
			if !golden.Near(float64(got[k][i]), float64(w), 0.1, 0.1) {
				far++
			}
		}
		if far > len(want[k])/5 {
			t.Fatalf("%s: result %d has %d of %d elements that are far from what they should be", what, k, far, len(want[k]))
		}
	}
}

// TestMadePrograms holds made programs against themselves while somebody looks at their values, and so nothing is fused, turned or
// placed anew. Those that quantize run on the scalar tier alone: elsewhere sums differ by their rounding, and so do integers.
func TestMadePrograms(t *testing.T) {
	quantizes := kernel.Best() == kernel.Scalar
	count, fused, cells := uint64(2000), 0, map[string]int{}
	if testing.Short() {
		count = 50
	}
	for seed := range count {
		p, half := madeProgram(seed, quantizes), !quantizes && seed%4 == 3
		if half {
			asType(p, []tensor.ScalarType{tensor.Half, tensor.BFloat16}[seed/4%2])
		}
		got, steps := resultsOf(t, p, seed, nil)
		want, all := resultsOf(t, p, seed, values{&scribe{}})
		if len(steps) < len(all) {
			fused++
		}
		for _, s := range steps {
			if s.name == op.LSTMName || s.name == op.GRUName {
				cells[s.name]++
			}
		}
		if what := "seed " + strconv.FormatUint(seed, 10); half {
			checkMost(t, what, got, want)
		} else {
			checkNear(t, what, got, want, 5e-5)
		}
	}
	if fused < int(count)/4 {
		t.Errorf("%d of %d programs are shorter than their instructions", fused, count)
	}
	if !testing.Short() && (cells[op.LSTMName] < 10 || cells[op.GRUName] < 10) {
		t.Errorf("fused cells: %v", cells)
	}
}

// TestMadeDynamic holds made programs on images whose sizes and orders change from call to call against themselves as TestMadePrograms
// does: two instances that take turns, on one thread and on three.
func TestMadeDynamic(t *testing.T) {
	for seed := range uint64(300) {
		p, d := madeProgram(seed+1000, false), tensor.Float
		if len(p.Plans[0].Values[p.Plans[0].Inputs[0]].Tensor.Sizes) != 4 || slices.ContainsFunc(p.Plans[0].Operators, resizes) {
			continue
		}
		if seed%3 == 2 {
			d = []tensor.ScalarType{tensor.Half, tensor.BFloat16}[seed/3%2]
			asType(p, d)
		}
		for _, v := range p.Plans[0].Values {
			if v.Tensor != nil && len(v.Tensor.Sizes) == 4 && v.Tensor.DataBufferIdx == 0 {
				v.Tensor.Dynamism = pte.DynamicBound
			}
		}
		program := loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2)*2})
		ref := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}})).Method("forward")
		both := [2]*Method{instanceOf(t, program).Method("forward"), instanceOf(t, program).Method("forward")}
		r := rand.New(rand.NewPCG(seed, 9))
		side := [2]tensor.Dim{8, 8}
		for round := range 10 {
			if r.IntN(2) == 0 {
				side = [2]tensor.Dim{tensor.Dim(1 + r.IntN(8)), tensor.Dim(1 + r.IntN(8))}
			}
			m := both[round%4/3]
			ins := imagesOf(m, r, side)
			got, err := m.Run(context.Background(), ins)
			if err != nil {
				t.Fatal(seed, err)
			}
			want, err := ref.Run(context.Background(), ins)
			if err != nil {
				t.Fatal(seed, err)
			}
			what := fmt.Sprintf("seed %d, round %d, %v of %v", seed, round, side, d)
			if g, w := floatsOf(got), floatsOf(want); d == tensor.Float {
				checkNear(t, what, g, w, 5e-5)
			} else {
				checkMost(t, what, g, w)
			}
		}
	}
}

// TestMadeTogether runs two instances of a program at once: each gives what it gives alone.
func TestMadeTogether(t *testing.T) {
	for seed := range uint64(100) {
		program := loadOf(t, madeProgram(seed+5000, false), LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2)})
		var methods [2]*Method
		var want [2][][]float32
		for k := range methods {
			methods[k] = instanceOf(t, program).Method("forward")
			var err error
			if want[k], err = runsOf(methods[k], seed+uint64(k)); err != nil {
				t.Fatal(seed, err)
			}
		}
		var both sync.WaitGroup
		for k, m := range methods {
			both.Go(func() {
				got, err := runsOf(m, seed+uint64(k))
				if err != nil || !reflect.DeepEqual(got, want[k]) {
					t.Errorf("seed %d: instance %d gives something else beside the other one (error %v)", seed, k, err)
				}
			})
		}
		both.Wait()
	}
}

// resizes reports whether an operator has sizes for an argument.
func resizes(o pte.Operator) bool {
	return slices.Contains([]string{"aten::constant_pad_nd", "aten::upsample_nearest2d", "aten::upsample_bilinear2d", "aten::_adaptive_avg_pool2d"}, o.Name)
}

// imagesOf are inputs of m that are images of this height and width, in either order.
func imagesOf(m *Method, r *rand.Rand, side [2]tensor.Dim) (ins []Value) {
	for _, in := range m.Info().Inputs {
		sizes := slices.Clone(in.Meta.Sizes)
		sizes[2], sizes[3] = side[0], side[1]
		image := randomOf(r, in.Meta.DType, sizes...)
		if r.IntN(3) == 0 {
			plain := image
			image = &tensor.Tensor{Meta: tensor.Meta{DType: plain.DType, Sizes: sizes, DimOrder: innerOrders[4]}, Data: op.AlignedBytes(len(plain.Data))}
			op.Reorder(image, plain)
		}
		ins = append(ins, TensorOf(image))
	}
	return ins
}

// floatsOf are the elements of outputs, as Float.
func floatsOf(outs []Value) (all [][]float32) {
	for _, o := range outs {
		all = append(all, tensor.Elements[float32](cast(o.Tensor, tensor.Float)))
	}
	return all
}

// TestIntegersInAnotherArena quantizes a matrix into an arena that is not planned anew, where another value has its place after the
// matrix is dequantized: the product of integers may not read it there later.
func TestIntegersInAnotherArena(t *testing.T) {
	const side = 8
	char := func(v pte.EValue) pte.EValue { v.Tensor.ScalarType = tensor.Char; return v }
	at := func(v pte.EValue, arena uint32, offset uint64) pte.EValue {
		v.Tensor.Allocation = &pte.Allocation{MemoryID: arena, Offset: offset}
		return v
	}
	square := func() pte.EValue { return tensorValue(side, side) }
	w := char(square())
	w.Tensor.DataBufferIdx = 1
	results := func(arena uint32) []float32 {
		values := []pte.EValue{
			0: at(square(), 1, 0), 1: at(char(square()), arena, 1024), 2: at(square(), 1, 256), 3: at(square(), arena, 1024), // over 1
			4: w, 5: at(square(), 1, 512), 6: at(square(), 1, 768), 7: {Type: pte.Double, Double: 0.5}, 8: {Type: pte.Int}, 9: {Type: pte.Int, Int: -128},
			10: {Type: pte.Int, Int: 127}, 11: {Type: pte.Int, Int: int64(tensor.Char)}, 12: {Type: pte.Null}, 13: at(square(), 1, 1280),
		}
		call := func(op int32, args ...int32) pte.Instruction {
			return pte.Instruction{Type: pte.KernelCall, A: op, Args: append(args, args[len(args)-1])}
		}
		p := plan(values, []int64{0, 4096, 4096}, call(0, 0, 7, 8, 9, 10, 11, 1), call(1, 1, 7, 8, 9, 10, 11, 12, 2), call(2, 0, 3),
			call(1, 4, 7, 8, 9, 10, 11, 12, 5), call(3, 2, 5, 12, 6), call(4, 3, 13))
		p.Plans[0].Operators = []pte.Operator{{Name: "quantized_decomposed::quantize_per_tensor", Overload: "out"},
			{Name: "quantized_decomposed::dequantize_per_tensor", Overload: "out"}, {Name: "aten::exp", Overload: "out"}, {Name: "aten::linear", Overload: "out"},
			{Name: "aten::neg", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{6, 13}
		var weights []byte
		var x []float32
		for k := range side * side {
			weights, x = append(weights, byte(k*7%11)-5), append(x, float32(k%9)-4)
		}
		p.ConstantBuffers = [][]byte{nil, weights}
		outs, err := methodOf(t, p, op.Kernels).Run(context.Background(), Values(tensor.Of(x, side, side)))
		if err != nil {
			t.Fatal(err)
		}
		return tensor.Elements[float32](outs[0].Tensor)
	}
	if got, want := results(2), results(1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTiedWeights has the same weights in a convolution and a transposed one, which want them in different orders.
func TestTiedWeights(t *testing.T) {
	const channels, side = 16, 8
	results := func(transposed ...int64) [][]float32 {
		w := tensorValue(channels, channels, 3, 3)
		w.Tensor.DimOrder, w.Tensor.DataBufferIdx = []uint8{0, 2, 3, 1}, 1
		values := []pte.EValue{tensorValue(1, channels, side, side), w, {Type: pte.Null}, {Type: pte.IntList, Items: []int64{4, 4}}, {Type: pte.Int, Int: 1},
			{Type: pte.Bool}, {Type: pte.Bool, Int: 1}, {Type: pte.IntList, Items: []int64{8, 8}}, {Type: pte.Int}}
		var calls []pte.Instruction
		var outs []int32
		for _, kind := range transposed {
			o := int32(len(values))
			values, outs = append(values, tensorValue(1, channels, side, side)), append(outs, o)
			calls = append(calls, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 3, 3, 3, int32(5 + kind), 7, 4, o, o}})
		}
		p := plan(values, []int64{0, 0}, calls...)
		p.Plans[0].Operators = []pte.Operator{{Name: "aten::convolution", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, outs
		var weights, x []float32
		for i := range channels * channels * 9 {
			weights = append(weights, float32(i%97)-48)
		}
		for i := range channels * side * side {
			x = append(x, float32(i%13)-6)
		}
		p.ConstantBuffers = [][]byte{nil, tensor.Of(weights, tensor.Dim(len(weights))).Data}
		got, err := methodOf(t, p, op.Kernels).Run(context.Background(), Values(tensor.Of(x, 1, channels, side, side)))
		if err != nil {
			t.Fatal(err)
		}
		return floatsOf(got)
	}
	both := results(0, 1)
	for kind, got := range both {
		if want := results(int64(kind))[0]; !slices.Equal(got, want) {
			t.Errorf("transposed %d: results are others with the other convolution beside it", kind)
		}
	}
}

// TestMovedOutput gives a method what its Run before has given, an output that an instruction sets to another tensor.
func TestMovedOutput(t *testing.T) {
	values := []pte.EValue{tensorValue(3, 3), {Type: pte.IntList, Items: []int64{4, 5}}, tensorValue(3, 3), tensorValue(3, 3), {Type: pte.Int, Int: 1}, {Type: pte.Int}}
	p := plan(values, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 2}}, pte.Instruction{Type: pte.MoveCall, A: 2, B: 3})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::permute_copy", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{3}
	m := methodOf(t, p, op.Kernels)
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3)
	for range 4 {
		outs, err := m.Run(context.Background(), Values(x))
		if err != nil {
			t.Fatal(err)
		}
		x = outs[0].Tensor
	}
	if got := tensor.Elements[float32](x); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("after an even number of transpositions: %v", got)
	}
}

// TestTracedSteps has one step for each instruction while somebody looks at values.
func TestTracedSteps(t *testing.T) {
	for _, name := range []string{"attention", "recurrent", "images", "quantized"} {
		m := loadTest(t, name, LoadOptions{Tracer: values{&scribe{}}}).methods[0]
		n := 0
		for _, c := range m.plan.Chains {
			n += len(c.Instructions)
		}
		if len(m.steps) != n {
			t.Errorf("%s: %d steps, want those of %d instructions", name, len(m.steps), n)
		}
	}
}

// longProgram is n calls: pairs of an operator and a sum of its result with that of the pair before, in places of their own. Wide ones
// have all operators before all sums.
func longProgram(operator string, n int, wide bool) *pte.Program {
	g := newMaker(nil, 4)
	x, zero, one, no := g.input(), g.int(0), g.int(1), g.no()
	apply := func(from int32) int32 {
		if operator == "aten::_softmax.out" {
			return g.float(operator, false, from, zero, no)
		}
		return g.float(operator, false, from)
	}
	var made []int32
	for range n / 2 {
		if wide {
			made = append(made, apply(x))
		}
	}
	y := x
	for k := range n / 2 {
		if wide {
			y = g.float("aten::add.out", false, y, made[k], one)
		} else {
			y = g.float("aten::add.out", false, apply(y), x, one)
		}
	}
	at := uint64(0)
	for v := range g.plan.Values {
		if t := g.plan.Values[v].Tensor; t != nil {
			t.Allocation = &pte.Allocation{MemoryID: 1, Offset: at}
			at += 16
		}
	}
	g.output(y)
	g.plan.NonConstBufferSizes, g.plan.Chains = []int64{0, int64(at)}, []pte.Chain{{Instructions: g.calls}}
	return g.program
}

// TestLongPrograms runs programs that are too long for some of what is fused, and one that is not.
func TestLongPrograms(t *testing.T) {
	const soft = "aten::_softmax.out"
	for name, p := range map[string]*pte.Program{
		"short": longProgram(soft, 100, true), "far": longProgram("aten::relu.out", 4*farthest, true), "near": longProgram(soft, 4*farthest, false),
		"many live": longProgram(soft, 3*mostLive, true),
	} {
		checkAlone(t, name, p)
	}
}

// BenchmarkLoadLong loads programs of which half the values are in use at a time, twice as long each.
func BenchmarkLoadLong(b *testing.B) {
	for _, operator := range []string{"aten::relu.out", "aten::_softmax.out"} {
		for _, n := range []int{5000, 10000, 20000} {
			b.Run(operator+"/"+strconv.Itoa(n), func(b *testing.B) {
				p := longProgram(operator, n, true)
				for b.Loop() {
					loadOf(b, p, LoadOptions{Kernels: op.Kernels})
				}
			})
		}
	}
}
