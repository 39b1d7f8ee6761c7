package executor

import (
	"math/rand/v2"
	"slices"
	"strings"

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
	buffers   []int32       // which keep what they hold from Run to Run
	pending   [][2]int32    // what is copied to a buffer at the end
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
	for _, c := range g.pending {
		g.copyTo(c[0], c[1])
	}
	for _, v := range g.buffers {
		g.first[v], g.last[v] = -1, len(g.calls)
	}
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

// update replaces a part of a buffer by one of x, and copies the result to the buffer, then or at the end.
func (g *maker) update(x int32) {
	if len(g.buffers) == 0 || g.r.IntN(3) == 0 {
		v := g.tensor(tensor.Float, g.shape...)
		g.buffers, g.values = append(g.buffers, v), append(g.values, v)
	}
	buffer, dim := g.buffers[g.r.IntN(len(g.buffers))], g.r.IntN(2)
	if len(g.shape) == 4 {
		dim = 1
	}
	part := slices.Clone(g.shape)
	at, along := g.int(int64(g.r.IntN(4))), g.int(int64(dim))
	end, one := g.int(g.plan.Values[at].Int+3), g.int(1)
	self, stays := buffer, g.r.IntN(2) == 0
	if g.r.IntN(6) == 0 {
		self = g.some()
	}
	var whole int32
	switch g.r.IntN(4) {
	case 0:
		whole = g.latest()
	case 1:
		o := g.tensor(tensor.Float, slices.Delete(part, dim, dim+1)...)
		g.call("aten::select_copy.int_out", []int32{o}, x, along, at)
		whole = g.float("aten::select_scatter.out", stays, self, o, along, at)
	default:
		part[dim] = 3
		o := g.tensor(tensor.Float, part...)
		g.call("aten::slice_copy.Tensor_out", []int32{o}, x, along, at, end, one)
		whole = g.float("aten::slice_scatter.out", stays, self, o, along, at, end, one)
	}
	if g.between(); g.r.IntN(2) == 0 {
		g.pending = append(g.pending, [2]int32{buffer, whole})
		return
	}
	g.copyTo(buffer, whole)
}

// copyTo copies a value to a buffer.
func (g *maker) copyTo(buffer, from int32) {
	first, ok := g.first[buffer]
	if g.call("aten::copy_", []int32{buffer}, buffer, from, g.no()); ok {
		g.first[buffer] = first
	}
	in := &g.calls[len(g.calls)-1]
	in.Args = in.Args[:len(in.Args)-1] // what it gives is its first argument
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
	switch g.r.IntN(16) {
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
	default:
		g.update(x)
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
		if !ok || from < 0 && !slices.Contains(g.buffers, v) && g.r.IntN(2) == 0 { // an input may have no place
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
	g := startMade(r)
	for range 2 + r.IntN(8) {
		g.step(quantizes)
	}
	g.outputs()
	return g.finish(1 + r.IntN(2))
}

// startMade is a maker of matrices or images, with one to three inputs.
func startMade(r *rand.Rand) *maker {
	g := newMaker(r, 24, 24)
	if r.IntN(2) == 0 {
		g.shape = []int32{1, 16, 8, 8}
	}
	for range 1 + r.IntN(3) {
		g.input()
	}
	return g
}

// outputs gives the last value to the caller, and some of those before it.
func (g *maker) outputs() {
	for i, v := range g.values {
		if i == len(g.values)-1 || i >= len(g.values)-6 && i >= len(g.plan.Inputs) && g.r.IntN(4) == 0 {
			g.output(v)
		}
	}
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
