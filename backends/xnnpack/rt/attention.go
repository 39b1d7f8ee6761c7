package rt

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fuseAttention replaces two products and the softmax between them by one step, which is part of the node of the second.
func (c *compiler) fuseAttention() {
	var calls []op.FlowCall
	gone := make([]bool, len(c.out.steps))
	for i := range c.out.steps {
		if p := c.out.steps[i].plan; p == nil || operatorOf(p) != softmaxName {
			continue
		}
		if calls == nil {
			calls = c.flow()
		}
		if a := op.FindAttention(calls, i); a != nil {
			c.attention(a, gone)
		}
	}
	if slices.Contains(gone, true) {
		c.rebuild(gone)
	}
}

// softmaxName is the operator in the middle of an attention.
const softmaxName = "aten::_softmax.out"

// operatorOf is the name of a plan's operator.
func operatorOf(p *op.Plan) string {
	name, _, _ := strings.Cut(p.Kernel.Def.Schema, "(")
	return name
}

// flow gives the steps as calls. Results of leading are none: a product follows each of them.
func (c *compiler) flow() []op.FlowCall {
	calls, writer := make([]op.FlowCall, len(c.out.steps)), absent(len(c.out.slots))
	for i := range c.out.steps {
		s := &c.out.steps[i]
		if s.leads {
			continue
		}
		vals := c.bindValues(s.args)
		call := &calls[i]
		call.Args = make([]op.FlowArg, len(vals))
		for k := range vals {
			call.Args[k] = op.FlowArg{Value: &vals[k], From: -1}
			if at := s.args[k].slot; at >= 0 {
				call.Args[k].From = writer[at]
			}
		}
		c.eachSlot(s.args, func(at int) {
			if w := writer[at]; w >= 0 {
				calls[w].Users = append(calls[w].Users, i)
			}
		})
		if s.plan != nil {
			call.Name, call.Plan = operatorOf(s.plan), s.plan
		}
		if len(s.outs) == 1 {
			call.Out = &c.tensorOf(&s.outs[0]).Meta
		}
		c.eachSlot(s.outs, func(at int) {
			if w := writer[at]; w >= 0 {
				calls[w].Open = true // a second step changes what it has written
			}
			writer[at] = i
			call.Open = call.Open || c.out.slots[at].external >= 0
		})
	}
	return calls
}

// eachSlot calls f with the slots of operands.
func (c *compiler) eachSlot(list []operand, f func(at int)) {
	for i := range list {
		if list[i].slot >= 0 {
			f(list[i].slot)
		}
		c.eachSlot(list[i].list, f)
	}
}

// attention lets the second product's step compute all of an attention.
func (c *compiler) attention(a *op.FoundAttention, gone []bool) {
	steps := c.out.steps
	last, lead := &steps[a.Last], &steps[a.Last-1]
	fused := step{plan: op.PrepareAttention(steps[a.First].plan, a.Attention), outs: last.outs, node: last.node}
	for _, r := range a.Args {
		fused.args = append(fused.args, steps[r.Call].args[r.Arg])
	}
	q, out := fused.args[0], &c.out.slots[last.outs[0].slot]
	if fused.plan == nil || !lead.leads || !leadsLike(c.out.slots[q.slot].dims, out.dims) {
		return
	}
	for _, i := range a.Gone {
		gone[i] = true
		if i > 0 && steps[i-1].leads {
			gone[i-1] = true
		}
	}
	gone[a.Last], gone[a.Last-1] = false, false
	*last = fused
	lead.run, lead.args = leadingHeads, []operand{of(q.slot)}
}

// leadsLike reports whether leadingHeads knows the sizes of a product of as many matrices as q has.
func leadsLike(q, out []tensor.Dim) bool {
	n := len(out) - 2
	return n == 1 || len(q) == len(out) && slices.Equal(q[:n], out[:n])
}

// leadingHeads is leading for an attention, whose result may have all of argument 0's matrices along one dimension.
func leadingHeads(c *ownCall) error {
	out, q := c.outs[0].Sizes, c.args[0].Sizes
	if len(out) == len(q) {
		return leading(c)
	}
	out[0] = (*tensor.Shapes)(nil).Product(q[:len(q)-2])
	return nil
}
