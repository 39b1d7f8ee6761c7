package executor

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of the operators around quantized ones.
const (
	quantizeName          = "quantized_decomposed::quantize_per_tensor.out"
	dequantizeName        = "quantized_decomposed::dequantize_per_tensor.out"
	dequantizeTensorName  = "quantized_decomposed::dequantize_per_tensor.Tensor_out"
	dequantizeChannelName = "quantized_decomposed::dequantize_per_channel.out"
	dequantizeTokenName   = "quantized_decomposed::dequantize_per_token.out"
	convolutionName       = "aten::convolution.out"
	linearName            = "aten::linear.out"
	addmmName             = "aten::addmm.out"
	permuteName           = "aten::permute_copy.out"
	castName              = "dim_order_ops::_to_dim_order_copy.out"
)

// products are the operators that integers compute.
var products = map[string]bool{convolutionName: true, linearName: true, addmmName: true}

// beforeProducts are the operators that make a product's operands, and what these are made of; they do nothing else.
var beforeProducts = map[string]bool{dequantizeName: true, dequantizeTensorName: true, dequantizeChannelName: true, dequantizeTokenName: true,
	permuteName: true, castName: true}

// affine is how int8 stands for numbers: (q - zero)·scale, of q from low to high.
type affine struct {
	scale     float64
	zero      int64
	low, high int64
}

// writers knows which step gives each value.
type writers struct {
	pairs
	writes []int // how many steps may write each value
}

// quantizer finds what is computed in Float between an operator that dequantizes and one that quantizes, and can be
// computed in integers.
type quantizer struct {
	writers
	names [][]int32 // as spans.names has them
}

// fuseIntegers lets products and convolutions of dequantized numbers, whose results are quantized, compute in integers, and products of
// other numbers with dequantized weights read these as they are. Such a step runs where its last instruction was, and has its handle; memory
// is planned anew, in an arena that is not larger. The error is that of what packs weights.
func (m *method) fuseIntegers() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = recovered("prepare products of integers", r)
		}
	}()
	integers := func(s step) bool {
		return s.plan != nil && (s.plan.Kernel.Integers != nil || s.plan.Kernel.Bytes != nil)
	}
	if m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, integers) || !m.inLine() {
		return nil
	}
	w := m.findWriters()
	q := quantizer{w, w.spans.names()}
	for j := len(q.steps) - 1; j >= 0; j-- { // what quantizes twice comes before what it reads
		if q.steps[j].name == quantizeName && q.steps[j].plan != nil && !q.gone[j] {
			q.static(j)
		}
	}
	found := slices.Contains(q.gone, true)
	for i := range q.steps {
		if s := &q.steps[i]; !q.gone[i] && s.plan != nil {
			found = products[s.name] && q.dynamic(i) || linears[s.name] && q.keepBytes(i) || found
		}
	}
	if !found {
		return nil
	}
	q.dropUnread()
	if kept := without(q.steps, q.gone); q.replan(kept) {
		m.steps = kept
	}
	return nil
}

// findWriters finds which steps write values.
func (m *method) findWriters() writers {
	q := writers{pairs: pairs{spans: m.findSpans(), steps: slices.Clone(m.steps), gone: make([]bool, len(m.steps))}, writes: make([]int, len(m.vals))}
	for i := range q.steps {
		s := &q.steps[i]
		writes := s.writes()
		if s.kind == pte.DelegateCall {
			writes = s.touches()
		}
		q.each(writes, func(v int32) { q.writes[v]++ })
	}
	return q
}

// writer is the step that alone writes v before anybody reads it, if nothing shares bytes with v.
func (q *writers) writer(v int32) (int, bool) {
	i := int(q.of[v].first)
	if q.vals[v].Kind != op.Tensor || i == never || i < 0 || q.writes[v] != 1 || !q.alone(v) || q.given(v) {
		return 0, false
	}
	return i, q.makes(i, v)
}

// makes reports whether v is a result of a kernel that step i runs.
func (q *writers) makes(i int, v int32) bool {
	s := &q.steps[i]
	return s.plan != nil && slices.Contains(s.outs, v) && !q.gone[i]
}

// maker is writer, also where v is a second name of all that the step has written.
func (q *quantizer) maker(v int32) (int, bool) {
	if i, ok := q.writer(v); ok {
		return i, true
	}
	u, ok := q.otherName(v)
	if !ok || q.writes[v] != 0 || q.writes[u] != 1 || !q.method.static(v) || q.given(v) || q.given(u) {
		return 0, false
	}
	x, y := q.vals[u].Tensor, q.vals[v].Tensor
	if q.offset(u) != q.offset(v) || x.DType != y.DType || x.Numel() != y.Numel() || !x.Contiguous() || !y.Contiguous() {
		return 0, false
	}
	i := int(q.of[u].first)
	return i, i >= 0 && q.makes(i, u)
}

// otherName is the only value beside v that shares bytes with it while one of them is in use.
func (q *quantizer) otherName(v int32) (int32, bool) {
	if q.vals[v].Kind != op.Tensor || q.place[v] != planned {
		return 0, false
	}
	names := q.names[q.root(v)]
	if len(names) != 2 || q.of[names[0]].stays || q.of[names[1]].stays {
		return 0, false
	}
	return names[0] + names[1] - v, true
}

// affineOf is how step i, which quantizes or dequantizes by numbers, does that; false unless numbers are int8.
func (q *quantizer) affineOf(i int) (a affine, ok bool) {
	s := &q.steps[i]
	quantized := s.args[0]
	if s.name == quantizeName {
		quantized = s.outs[0]
	}
	for _, v := range s.args[1:5] {
		if q.varies[v] || !isNumber(&q.vals[v]) {
			return a, false
		}
	}
	number := func(k int) float64 { return q.vals[s.args[k]].Scalar() }
	a = affine{number(1), int64(number(2)), int64(number(3)), int64(number(4))}
	return a, q.vals[quantized].Tensor.DType == tensor.Char && a.scale > 0 && a.zero >= math.MinInt8 && a.zero <= math.MaxInt8 &&
		a.low >= math.MinInt8 && a.high <= math.MaxInt8 && a.low <= a.high
}

// quantize is x in int8.
func (a *affine) quantize(x float32) float32 {
	v := math.RoundToEven(float64(x)/a.scale) + float64(a.zero)
	return float32(min(max(v, float64(a.low)), float64(a.high)))
}

// static replaces what step j quantizes, if that is a product or a convolution of dequantized numbers.
func (q *quantizer) static(j int) {
	out, ok := q.affineOf(j)
	if !ok {
		return
	}
	c := op.Quantized{Static: true}
	c.Out, c.ZeroOut, c.Low, c.High = float32(out.scale), int32(out.zero), float32(out.low), float32(out.high)
	taken := []int{j}
	for at := j; ; {
		v := q.steps[at].args[0]
		i, ok := q.writer(v)
		if !ok || q.of[v].reads != 1 || int(q.of[v].reader) != at {
			return
		}
		taken = append(taken, i)
		low, high, bounds := q.boundsOf(&q.steps[i])
		switch name := q.steps[i].name; {
		case bounds && low <= high:
			c.Low, c.High = max(c.Low, out.quantize(low)), min(c.High, out.quantize(high))
		case name == dequantizeName || name == quantizeName:
			if a, ok := q.affineOf(i); !ok || a != out {
				return
			}
		case products[name]:
			q.product(i, &c, taken)
			return
		default:
			return
		}
		at = i
	}
}

// product replaces the steps of taken, of which the first one quantizes what the last one computes.
func (q *quantizer) product(i int, c *op.Quantized, taken []int) {
	s, x, ok := q.factors(i, c)
	if !ok || q.steps[x].name != dequantizeName || !(c.Low <= c.High) {
		return
	}
	in, ok := q.affineOf(x)
	if !ok {
		return
	}
	c.In, c.ZeroIn = float32(in.scale), int32(in.zero)
	last := q.steps[taken[0]]
	if q.integers(&s, x, *c) {
		s.outs, s.chain, s.index, s.fused = last.outs, last.chain, last.index, fusedOf(q.steps, taken...)
		for _, i := range taken {
			q.gone[i] = i != taken[0]
		}
		s.fixed = q.method.fixed(&s)
		q.steps[taken[0]] = s
	}
}

// dynamic lets step i, whose input is dequantized by tensors or whose results stay Float, compute in integers.
func (q *quantizer) dynamic(i int) bool {
	c := op.Quantized{}
	s, x, ok := q.factors(i, &c)
	if !ok || q.vals[s.outs[0]].Tensor.DType != tensor.Float {
		return false
	}
	tokens := q.steps[x].name == dequantizeTokenName && !c.Convolution
	for k, v := range q.steps[x].args[1:3] {
		t := q.vals[v].Tensor
		if q.varies[v] || t != nil && (t.Numel() != 1 && !tokens || k == 1 && t.DType.IsFloat() || !q.stable(v)) || t == nil && !isNumber(&q.vals[v]) {
			return false
		}
		s.args = append(s.args, v)
	}
	s.params = append(slices.Clone(s.params), q.steps[x].params[1:3]...)
	if !q.integers(&s, x, c) {
		return false
	}
	q.steps[i] = s
	return true
}

// factors is a copy of step i, which computes a product, with the quantized input and weights, and the step that dequantizes the
// input.
func (q *quantizer) factors(i int, c *op.Quantized) (s step, x int, ok bool) {
	s, ok = q.asLinear(i)
	if !ok || len(s.outs) != 1 || q.changes(&s) {
		return s, 0, false
	}
	x, ok = q.writer(s.args[0])
	if !ok || q.steps[x].plan.Kernel.Integers == nil || !q.stable(q.steps[x].args[0]) || !q.givesFloat(&q.steps[x]) {
		return s, 0, false
	}
	c.Convolution = s.name == convolutionName
	w := q.weights(s.args[1], &c.Dequantized)
	if bias := s.args[2]; w < 0 || c.Zeros != nil || q.vals[bias].Kind != op.None && q.place[bias] != constant {
		return s, 0, false
	}
	s.args[0], s.args[1] = q.steps[x].args[0], w
	return s, x, !c.Convolution || q.vals[s.args[transposedArg]].Int == 0
}

// integers gives s a plan for integers, if there is one.
func (q *quantizer) integers(s *step, x int, c op.Quantized) bool {
	q.args = s.appendArgs(q.args[:0], q.vals)
	plan := op.PrepareIntegers(q.steps[x].plan, c, q.args, q.prog.packOf)
	if plan == nil {
		return false
	}
	s.plan = plan
	return true
}

// transposedArg is the argument of a convolution that says whether it is transposed.
const transposedArg = 6

// asLinear is a copy of step i whose arguments are an input, weights and a bias, and more.
func (q *quantizer) asLinear(i int) (s step, ok bool) {
	s = q.steps[i]
	s.args = slices.Clone(s.args)
	if s.name != addmmName {
		return s, true
	}
	turned, ok := q.turned(s.args[2])
	if !ok || !q.biasLast(&s) {
		return s, false
	}
	s.name, s.args[1] = linearName, turned
	return s, true
}

// biasLast gives s, an addmm, the arguments of a linear operator, if it multiplies nothing with a number, and adds a row of as many elements
// as results have.
func (q *quantizer) biasLast(s *step) bool {
	for _, v := range s.args[3:5] {
		if q.varies[v] || !isNumber(&q.vals[v]) || q.vals[v].Scalar() != 1 {
			return false
		}
	}
	bias, out := q.vals[s.args[0]].Tensor, q.vals[s.outs[0]].Tensor
	if bias == nil || out == nil || bias.Rank() != 1 || out.Rank() != 2 || bias.Sizes[0] != out.Sizes[1] {
		return false
	}
	s.args, s.params = []int32{s.args[1], s.args[2], s.args[0]}, []*op.Param{s.params[1], s.params[2], s.params[0]}
	return true
}

// turned is the matrix that v turns.
func (q *quantizer) turned(v int32) (int32, bool) {
	turn, ok := q.writer(v)
	if !ok || q.steps[turn].name != permuteName || q.varies[q.steps[turn].args[1]] {
		return 0, false
	}
	d := q.vals[q.steps[turn].args[1]].Ints
	return q.steps[turn].args[0], len(d) == 2 && d[0]%2 != 0 && d[1]%2 == 0
}

// stable reports whether value v stays the same once it is there.
func (q *quantizer) stable(v int32) bool {
	if q.place[v] == constant {
		return true
	}
	if q.isInput[v] {
		return q.writes[v] == 0 && q.place[v] != planned
	}
	_, ok := q.writer(v)
	return ok && q.moves(v)
}

// weights are the int8 constant that v is dequantized from, or -1. It sets the scales and zero points of c, which go along the first
// dimension of the constant: that of v, or blocks of its rows.
func (q *quantizer) weights(v int32, c *op.Dequantized) int32 {
	i, ok := q.maker(v)
	if !ok {
		return -1
	}
	s := &q.steps[i]
	w := s.args[0]
	t := q.vals[w].Tensor
	if s.name != dequantizeName && s.name != dequantizeChannelName || q.place[w] != constant || t.DType != tensor.Char || t.Data == nil || t.Rank() < 2 || !q.givesFloat(s) {
		return -1
	}
	if s.outs[0] != v {
		matrix := q.vals[v].Tensor
		if t.Rank() != 2 || matrix.Rank() != 2 || matrix.Sizes[0] == 0 || t.Sizes[0]%matrix.Sizes[0] != 0 {
			return -1
		}
		c.WeightRows = int(matrix.Sizes[0])
	}
	if s.name == dequantizeName {
		a, ok := q.affineOf(i)
		if c.Scales = q.number(float32(a.scale)); a.zero != 0 {
			c.Zeros = q.number(float32(a.zero))
		}
		if !ok {
			return -1
		}
		return w
	}
	axis := &q.vals[s.args[3]]
	c.Scales = q.numbers(s.args[1])
	if q.varies[s.args[3]] || axis.Int != 0 || len(c.Scales) != int(t.Sizes[0]) || !q.zeros(s.args[2], c) {
		return -1
	}
	return w
}

// givesFloat reports whether step s, which dequantizes, rounds nothing to another type before it gives Float.
func (q *quantizer) givesFloat(s *step) bool {
	v := s.args[len(s.args)-1]
	t := &q.vals[v]
	return !q.varies[v] && (t.Kind == op.None || t.Int == int64(tensor.Float))
}

// zeros sets the zero points of c to v, which is None, or a constant or integers that are made of one, as many as there are scales; else it is
// false.
func (q *quantizer) zeros(v int32, c *op.Dequantized) bool {
	if q.vals[v].Kind == op.None {
		return true
	}
	keeps := true // the numbers of the constant
	if i, ok := q.maker(v); ok && q.steps[i].name == castName {
		from, to := q.vals[q.steps[i].args[0]].Tensor.DType, q.vals[v].Tensor.DType
		if from.IsFloat() {
			return false
		}
		v, keeps = q.steps[i].args[0], to.Size() > from.Size()
	}
	list := q.numbers(v)
	if slices.ContainsFunc(list, func(z float32) bool { return z != 0 }) {
		c.Zeros = list
	}
	return len(list) == len(c.Scales) && (keeps || c.Zeros == nil)
}

// numbers are those of a constant tensor, the same list for all who ask; nil of another one.
func (q *quantizer) numbers(v int32) []float32 {
	t := q.vals[v].Tensor
	if t == nil || q.place[v] != constant || len(t.Data) == 0 || !t.Contiguous() {
		return nil
	}
	return q.prog.numbersOf(numbersKey{data: &t.Data[0], bytes: len(t.Data), dtype: t.DType}, func() []float32 { return op.Numbers(t) })
}

// number is a list of x alone, the same for all who ask.
func (q *quantizer) number(x float32) []float32 {
	return q.prog.numbersOf(numbersKey{number: x}, func() []float32 { return []float32{x} })
}

// dropUnread drops steps that make what products may have read, if nobody reads it any more.
func (q *quantizer) dropUnread() {
	reads := make([]int, len(q.vals))
	for i := range q.steps {
		if !q.gone[i] {
			q.each(q.steps[i].args, func(v int32) { reads[v]++ })
		}
	}
	for i := len(q.steps) - 1; i >= 0; i-- {
		s := &q.steps[i]
		if q.gone[i] || s.plan == nil || len(s.outs) != 1 || !beforeProducts[s.name] {
			continue
		}
		v := s.outs[0]
		w, ok := q.maker(v)
		if other, two := q.otherName(v); !ok && two {
			w, ok = q.maker(other)
			ok = ok && reads[other] == 0
		}
		if ok && w == i && reads[v] == 0 {
			q.gone[i] = true
			q.each(s.args, func(v int32) { reads[v]-- })
		}
	}
}
