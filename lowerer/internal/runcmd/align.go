package runcmd

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// key is what values of two programs are aligned by: a node in a call, or an output of a call.
type key struct {
	call, handle int
	output       int // from the last on, -1, -2 and so on; 0 for a node
}

// outcome is how far two values are apart.
type outcome struct {
	Call   int    `json:"call"`
	Method string `json:"method"`
	// What is the node's name, or "output N"; Handle the debug handle, 0 for an output.
	What   string `json:"what"`
	Handle int    `json:"debug_handle,omitempty"`
	Node   string `json:"node,omitempty"`
	Op     string `json:"op,omitempty"`
	Module string `json:"module,omitempty"`
	Where  string `json:"where,omitempty"`
	// Error is the largest difference as a share of the largest value; nil if it is not finite or nothing was compared.
	Error *float64 `json:"error"`
	// Note says why nothing was compared, or what is not finite.
	Note    string `json:"note,omitempty"`
	Differs bool   `json:"differs"`

	error float64
}

// over reports an error above limit.
func (r *outcome) over(limit float64) bool { return r.error > limit }

// text is the error with three digits.
func (r *outcome) text() string {
	if r.Error == nil {
		return "-"
	}
	return strconv.FormatFloat(*r.Error, 'g', 3, 64)
}

// sameNodes gives an error if a debug handle stands for different nodes in a and b.
func sameNodes(a, b *trace) error {
	if a.debug == nil || b.debug == nil {
		return nil
	}
	for method, nodes := range a.debug.Nodes {
		for h, n := range nodes {
			if m := b.debug.Node(method, h); m != nil && (m.Name != n.Name || m.Op != n.Op) {
				return fmt.Errorf("debug handle %d of method %s is node %s (%s) in one program and %s (%s) in the other", h, method, n.Name, n.Op, m.Name, m.Op)
			}
		}
	}
	return nil
}

// values are what a program made for each key, and when it made the last of it.
type values struct {
	list map[key][]sample
	last map[key]int
	n    int
}

// sample is a value that was recorded; inside says that it is one of a delegate's steps.
type sample struct {
	*op.Value
	inside bool
}

func (v *values) add(k key, x sample) {
	v.n++
	v.last[k] = v.n
	v.list[k] = append(v.list[k], x)
}

// order is the keys in the order in which their last value was made.
func (v *values) order() []key {
	return slices.SortedFunc(maps.Keys(v.last), func(a, b key) int { return v.last[a] - v.last[b] })
}

// values sorts the recorded values by node.
func (t *trace) values() *values {
	v := &values{list: map[key][]sample{}, last: map[key]int{}}
	t.each(func(call int, plan *pte.ExecutionPlan, events []etdump.Event) {
		var outputs []sample
		arg := 0 // of the delegate's call
		for i := range events {
			e := &events[i]
			switch {
			case e.Kind == etdump.Profile:
				if e.Name != "" {
					arg = 0
				}
			case e.Output:
				outputs = append(outputs, sample{&e.Value, false})
			default:
				h := t.handle(plan, e, arg)
				if !e.Delegated() {
					arg++
				}
				if h > 0 {
					v.add(key{call: call, handle: h}, sample{&e.Value, e.Delegated()})
				}
			}
		}
		for i, x := range outputs {
			v.add(key{call: call, output: i - len(outputs)}, x)
		}
	})
	return v
}

// handle is the debug handle of the node whose result a logged value is, or 0. The executor logs all arguments of a
// delegate's call in their order, this one being number arg; the last ones are outputs.
func (t *trace) handle(plan *pte.ExecutionPlan, e *etdump.Event, arg int) int {
	if t.debug == nil || e.Chain != 0 {
		return 0
	}
	in := &plan.Chains[0].Instructions[e.Instruction]
	if in.Type == pte.DelegateCall && !e.Delegated() {
		d := t.debug.Delegates[plan.Name][e.Instruction]
		if d == nil || arg < len(in.Args)-len(d.Outputs) {
			return 0
		}
		return d.Outputs[arg-len(in.Args)+len(d.Outputs)]
	}
	if handles := t.debug.Of(plan.Name, e.Instruction, stepOf(e)); len(handles) > 0 {
		return handles[len(handles)-1] // of nodes that are one step, the last one's result is there
	}
	return 0
}

// align holds the values of two programs against each other. Where a node has as many values of the same sizes in both,
// all are compared, else the last ones that can be: a node may be several instructions in one program and one step in the
// other.
func align(a, b *trace) (rows []outcome) {
	va, vb := a.values(), b.values()
	for _, k := range va.order() {
		la, lb := va.list[k], vb.list[k]
		if len(lb) == 0 {
			continue
		}
		r := a.outcomeOf(k)
		if !slices.EqualFunc(la, lb, canCompare) {
			la, lb = lastPair(la, lb)
		}
		for i := range la {
			r.worsen(la[i], lb[i])
		}
		if r.Note == "" {
			r.Error = &r.error
		}
		rows = append(rows, r)
	}
	return rows
}

// lastPair is the last value of b that can be compared with one of a, and the last such; or the last of each.
func lastPair(a, b []sample) (x, y []sample) {
	for j := len(b) - 1; j >= 0; j-- {
		for i := len(a) - 1; i >= 0; i-- {
			if canCompare(a[i], b[j]) {
				return a[i : i+1], b[j : j+1]
			}
		}
	}
	return a[len(a)-1:], b[len(b)-1:]
}

// outcomeOf is the outcome for k without its error.
func (t *trace) outcomeOf(k key) outcome {
	r := outcome{Call: k.call, Method: t.calls[k.call], Handle: k.handle}
	if k.output < 0 {
		r.What = fmt.Sprintf("output %d", len(t.planOf(r.Method).Outputs)+k.output)
		return r
	}
	if n := t.debug.Node(r.Method, k.handle); n != nil {
		r.What, r.Node, r.Op, r.Module, r.Where = n.Name, n.Name, n.Op, n.Module, n.Where
	}
	return r
}

// layouts are the ways to read a value: a delegate's step may give an image with its channels last without saying so, and
// a line as an image of height 1.
func (s sample) layouts() []*op.Value {
	list := []*op.Value{s.Value}
	if s.Tensor == nil || !s.inside || len(s.Tensor.Sizes) != 4 {
		return list
	}
	read := func(sizes []tensor.Dim, order ...uint8) {
		t := &tensor.Tensor{Meta: tensor.Meta{DType: s.Tensor.DType, Sizes: sizes, DimOrder: order}, Data: s.Tensor.Data}
		list = append(list, &op.Value{Kind: op.Tensor, Tensor: npy.Ordered(t, nil)})
	}
	n := s.Tensor.Sizes
	read([]tensor.Dim{n[0], n[3], n[1], n[2]}, 0, 2, 3, 1)
	if n[1] == 1 {
		read([]tensor.Dim{n[0], n[3], n[2]}, 0, 2, 1)
	}
	return list
}

// canCompare reports whether some ways to read a and b have the same type and sizes.
func canCompare(a, b sample) bool {
	for _, x := range a.layouts() {
		for _, y := range b.layouts() {
			if sameShape(x, y) {
				return true
			}
		}
	}
	return false
}

func sameShape(a, b *op.Value) bool {
	ta, tb := a.Tensor, b.Tensor
	return a.Kind == b.Kind && (ta == nil) == (tb == nil) && (ta == nil || ta.DType == tb.DType && slices.Equal(ta.Sizes, tb.Sizes))
}

// worsen takes the error of b against a into r, the smallest one over their layouts. Outputs that cannot be compared
// differ; nodes of different types, as a quantized and a plain program have, do not.
func (r *outcome) worsen(a, b sample) {
	if !canCompare(a, b) {
		r.Note = "not compared: " + shapeText(a.Value) + " and " + shapeText(b.Value)
		if r.Handle == 0 {
			r.error = math.Inf(1)
		}
		return
	}
	least, why := math.Inf(1), ""
	for _, x := range a.layouts() {
		for _, y := range b.layouts() {
			if !sameShape(x, y) {
				continue
			}
			if e, note := errorOf(numbers(x), numbers(y)); e < least || why == "" && note != "" && math.IsInf(least, 1) {
				least, why = e, note
			}
		}
	}
	r.error = max(r.error, least)
	if why != "" {
		r.Note = why
	}
}

// errorOf is the largest difference between x and y as a share of the largest element of x; it is infinite if one has
// an element that is not finite where the other has another, and note says which.
func errorOf(x, y []float64) (e float64, note string) {
	worst, scale := 0.0, 0.0
	for i := range x {
		switch {
		case !finite(x[i]) || !finite(y[i]):
			if x[i] != y[i] && (x[i] == x[i] || y[i] == y[i]) {
				return math.Inf(1), fmt.Sprintf("element %d is %v and %v", i, x[i], y[i])
			}
		default:
			worst, scale = max(worst, math.Abs(x[i]-y[i])), max(scale, math.Abs(x[i]))
		}
	}
	if scale > 0 {
		worst /= scale
	}
	return worst, ""
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func shapeText(v *op.Value) string {
	if v.Kind != op.Tensor {
		return kindNames[v.Kind]
	}
	return bench.Shape(v.Tensor)
}

// numbers are the elements of v in row-major order.
func numbers(v *op.Value) []float64 {
	switch v.Kind {
	case op.Tensor:
		return elements(v.Tensor)
	case op.Int, op.Bool, op.Float:
		return []float64{v.Scalar()}
	}
	return nil
}

// elements are the elements of t, which is in row-major order.
func elements(t *tensor.Tensor) []float64 {
	b := make([]byte, 8*t.Numel())
	op.CastBytes(b, tensor.Double, t.Data, t.DType, t.Numel())
	list := make([]float64, t.Numel())
	for i := range list {
		list[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}
