package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const mmName = "aten::mm.out"

// linears are the operators that multiply rows with a matrix.
var linears = map[string]bool{linearName: true, addmmName: true, mmName: true}

// keepBytes lets step i, which multiplies rows of Float with constant weights of int8 that another step makes Float, read the weights as
// they are: they take a quarter of the memory, and of the time to read them.
func (q *quantizer) keepBytes(i int) bool {
	s, b, ok := q.rowsBy(i)
	if !ok || len(s.outs) != 1 || q.changes(&s) || !q.isFloat(s.args[0]) || !q.isFloat(s.args[1]) || !q.isFloat(s.outs[0]) {
		return false
	}
	d, ok := q.maker(s.args[1])
	if !ok || len(s.args) > 2 && q.vals[s.args[2]].Kind != op.None && (!q.isFloat(s.args[2]) || q.place[s.args[2]] != constant) {
		return false
	}
	w := q.bytesOf(d, s.args[1], &b)
	if w < 0 {
		return false
	}
	s.args[1] = w
	q.args = s.appendArgs(q.args[:0], q.vals)
	plan := op.PrepareBytes(q.steps[d].plan, b, q.args, q.prog.packOf)
	if plan == nil {
		return false
	}
	s.plan = plan
	q.steps[i] = s
	return true
}

// isFloat reports whether v is a tensor of Float.
func (q *quantizer) isFloat(v int32) bool {
	t := q.vals[v].Tensor
	return t != nil && t.DType == tensor.Float
}

// rowsBy is a copy of step i, which multiplies rows with a matrix, whose arguments are the rows, the matrix and, if there is one, a bias.
func (q *quantizer) rowsBy(i int) (s step, b op.Bytes, ok bool) {
	if s, ok = q.asLinear(i); ok && s.name == linearName {
		return s, op.Bytes{Rows: true}, true
	}
	s = q.steps[i]
	s.args = slices.Clone(s.args)
	if s.name == addmmName {
		return s, b, q.biasLast(&s)
	}
	if turned, ok := q.turned(s.args[1]); ok {
		s.args[1], b.Rows = turned, true
	}
	return s, b, true
}

// bytesOf is the constant of int8 of which step d makes v, of Float, or -1. It sets the scales and zero points of b.
func (q *quantizer) bytesOf(d int, v int32, b *op.Bytes) int32 {
	s := &q.steps[d]
	if q.changes(s) {
		return -1
	}
	if s.name != castName {
		w := q.weights(v, &b.Dequantized)
		if !b.Rows && (b.WeightRows != 0 || len(b.Scales) > 1) {
			return -1
		}
		return w
	}
	w := s.args[0]
	if t := q.vals[w].Tensor; q.place[w] != constant || s.outs[0] != v || t.Data == nil {
		return -1
	}
	return w
}
