package executor

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of the operators around quantized ones.
const (
	quantizeName          = "quantized_decomposed::quantize_per_tensor.out"
	dequantizeName        = "quantized_decomposed::dequantize_per_tensor.out"
	dequantizeTensorName  = "quantized_decomposed::dequantize_per_tensor.Tensor_out"
	dequantizeChannelName = "quantized_decomposed::dequantize_per_channel.out"
	convolutionName       = "aten::convolution.out"
	linearName            = "aten::linear.out"
	addmmName             = "aten::addmm.out"
	permuteName           = "aten::permute_copy.out"
)

// products are the operators that integers compute.
var products = map[string]bool{convolutionName: true, linearName: true, addmmName: true}

// dequantizes are the operators that make Float of int8.
var dequantizes = map[string]bool{dequantizeName: true, dequantizeTensorName: true, dequantizeChannelName: true}

// affine is how int8 stands for numbers: (q - zero)·scale, of q from low to high.
type affine struct {
	scale     float64
	zero      int64
	low, high int64
}

// writers knows which step gives each value.
type writers struct {
	pairs
	writes []int // how many steps write each value
}

// quantizer finds what is computed in Float between an operator that dequantizes and one that quantizes, and can be
// computed in integers.
type quantizer struct{ writers }

// fuseIntegers lets products and convolutions of dequantized numbers, whose results are quantized, compute in integers. Such a step
// runs where its last instruction was, and has its handle; memory is planned anew, in an arena that is not larger.
func (m *method) fuseIntegers() {
	integers := func(s step) bool { return s.plan != nil && s.plan.Kernel.Integers != nil }
	if m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, integers) || !m.inLine() {
		return
	}
	q := quantizer{m.findWriters()}
	for j := len(q.steps) - 1; j >= 0; j-- { // what quantizes twice comes before what it reads
		if q.steps[j].name == quantizeName && q.steps[j].plan != nil && !q.gone[j] {
			q.static(j)
		}
	}
	found := slices.Contains(q.gone, true)
	for i := range q.steps {
		if !q.gone[i] && q.steps[i].plan != nil && products[q.steps[i].name] {
			found = q.dynamic(i) || found
		}
	}
	if !found {
		return
	}
	q.dropUnread()
	if kept := without(q.steps, q.gone); q.replan(kept) {
		m.steps = kept
	}
}

// findWriters finds which steps write values.
func (m *method) findWriters() writers {
	q := writers{pairs: pairs{spans: m.findSpans(), steps: slices.Clone(m.steps), gone: make([]bool, len(m.steps))}, writes: make([]int, len(m.vals))}
	for i := range q.steps {
		q.each(q.steps[i].outs, func(v int32) { q.writes[v]++ })
	}
	return q
}

// writer is the step that alone writes v before anybody reads it, if nothing shares bytes with v.
func (q *writers) writer(v int32) (int, bool) {
	i := int(q.of[v].first)
	if q.vals[v].Kind != op.Tensor || i == never || i < 0 || q.writes[v] != 1 || !q.alone(v) || q.given(v) {
		return 0, false
	}
	s := &q.steps[i]
	return i, s.plan != nil && slices.Contains(s.outs, v) && !q.gone[i]
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
	if q.integers(&s, x, *c) {
		last := q.steps[taken[0]]
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
	for _, v := range q.steps[x].args[1:3] {
		if t := q.vals[v].Tensor; q.varies[v] || t != nil && (t.Numel() != 1 || !q.stable(v)) || t == nil && !isNumber(&q.vals[v]) {
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
	if !ok || q.steps[x].plan.Kernel.Integers == nil || !q.stable(q.steps[x].args[0]) {
		return s, 0, false
	}
	w, scales := q.weights(s.args[1])
	if bias := s.args[2]; w < 0 || q.vals[bias].Kind != op.None && q.place[bias] != constant {
		return s, 0, false
	}
	c.Scales, c.Convolution = scales, s.name == convolutionName
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
	for _, v := range s.args[3:5] {
		if q.varies[v] || !isNumber(&q.vals[v]) || q.vals[v].Scalar() != 1 {
			return s, false
		}
	}
	turn, ok := q.writer(s.args[2])
	if !ok || q.steps[turn].name != permuteName || q.varies[q.steps[turn].args[1]] {
		return s, false
	}
	d := q.vals[q.steps[turn].args[1]].Ints
	if len(d) != 2 || d[0]%2 == 0 || d[1]%2 != 0 || q.vals[s.args[0]].Tensor.Rank() != 1 {
		return s, false
	}
	s.name, s.args = linearName, []int32{s.args[1], q.steps[turn].args[0], s.args[0]}
	s.params = []*op.Param{s.params[1], s.params[2], s.params[0]}
	return s, true
}

// stable reports whether value v stays the same once it is there.
func (q *quantizer) stable(v int32) bool {
	if q.isInput[v] {
		return q.writes[v] == 0 && q.place[v] != planned
	}
	_, ok := q.writer(v)
	return ok && q.moves(v)
}

// weights are the int8 constant that v is dequantized from, and its scales along the first dimension; -1 if it is none.
func (q *quantizer) weights(v int32) (w int32, scales []float32) {
	i, ok := q.writer(v)
	if !ok {
		return -1, nil
	}
	s := &q.steps[i]
	t := q.vals[s.args[0]].Tensor
	if s.name != dequantizeName && s.name != dequantizeChannelName || q.place[s.args[0]] != constant || t.DType != tensor.Char || t.Data == nil {
		return -1, nil
	}
	if s.name == dequantizeName {
		a, ok := q.affineOf(i)
		if !ok || a.zero != 0 {
			return -1, nil
		}
		return s.args[0], []float32{float32(a.scale)}
	}
	axis, zeros := &q.vals[s.args[3]], q.vals[s.args[2]].Tensor
	scales = q.numbers(s.args[1])
	if q.varies[s.args[3]] || axis.Int != 0 || len(scales) != int(t.Sizes[0]) {
		return -1, nil
	}
	if zeros != nil {
		list := q.numbers(s.args[2])
		if len(list) != len(scales) || slices.ContainsFunc(list, func(z float32) bool { return z != 0 }) {
			return -1, nil
		}
	}
	return s.args[0], scales
}

// numbers are those of a constant tensor; nil of another one.
func (q *quantizer) numbers(v int32) []float32 {
	t := q.vals[v].Tensor
	if t == nil || q.place[v] != constant || t.Data == nil || t.Rank() != 1 {
		return nil
	}
	return op.Numbers(t)
}

// dropUnread drops steps that dequantize, or turn, what nobody reads any more.
func (q *quantizer) dropUnread() {
	reads := make([]int, len(q.vals))
	for i := range q.steps {
		if !q.gone[i] {
			q.each(q.steps[i].args, func(v int32) { reads[v]++ })
		}
	}
	for i := len(q.steps) - 1; i >= 0; i-- {
		s := &q.steps[i]
		if q.gone[i] || s.plan == nil || len(s.outs) != 1 || !dequantizes[s.name] && s.name != permuteName {
			continue
		}
		if w, ok := q.writer(s.outs[0]); ok && w == i && reads[s.outs[0]] == 0 {
			q.gone[i] = true
			q.each(s.args, func(v int32) { reads[v]-- })
		}
	}
}
