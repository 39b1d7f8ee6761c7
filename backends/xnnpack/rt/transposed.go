package rt

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const (
	bmmName     = "aten::bmm.out"
	permuteName = "aten::permute_copy.out"
	viewName    = "aten::view_copy.out"
)

// fuseTransposes lets products read right factors where they lie before a transpose that nobody else reads, also behind reshapes
// of the leading dimensions: a step of a language model turns its whole cache of keys for one row.
func (c *compiler) fuseTransposes() {
	var writer, readers []int
	gone := make([]bool, len(c.out.steps))
	for i := range c.out.steps {
		s := &c.out.steps[i]
		if s.plan == nil || operatorOf(s.plan) != bmmName || s.args[1].view != batches {
			continue
		}
		if writer == nil {
			writer, readers = c.uses()
		}
		var between []int
		for slot := s.args[1].slot; ; {
			at := writer[slot]
			if at < 0 || readers[slot] != 1 || !c.out.slots[slot].planned() {
				break
			}
			between = append(between, at)
			from := c.out.steps[at].args
			if c.transposes(at) {
				c.node = s.node
				args := []operand{s.args[0], as(from[0].slot, transposedBatches)}
				if plan := c.prepare(tensor.Undefined, bmmName, s.outs[0], args); plan != nil {
					operands := c.out.nodes[s.node].operands
					if k := slices.Index(operands, s.args[1].slot); k >= 0 {
						operands[k] = from[0].slot
					}
					s.args, s.plan = args, plan
					for _, k := range between {
						gone[k] = true
					}
				}
				c.err = nil // the graph's largest sizes do not agree: it stays as it is written
				break
			}
			if !c.keepsMatrices(at) {
				break
			}
			slot = from[0].slot
		}
	}
	if slices.Contains(gone, true) {
		c.rebuild(gone)
	}
}

// uses gives the last step that writes each slot, or -1, and how many arguments are that slot.
func (c *compiler) uses() (writer, readers []int) {
	writer, readers = absent(len(c.out.slots)), make([]int, len(c.out.slots))
	for i := range c.out.steps {
		s := &c.out.steps[i]
		c.eachSlot(s.args, func(at int) { readers[at]++ })
		c.eachSlot(s.outs, func(at int) { writer[at] = i })
	}
	return writer, readers
}

// callsOn reports whether step at is a call of this operator with a result and a first argument as their slots lie.
func (c *compiler) callsOn(at int, name string) bool {
	s := &c.out.steps[at]
	return s.plan != nil && operatorOf(s.plan) == name && s.args[0].view == nil && s.outs[0].view == nil
}

// keepsMatrices reports whether step at reshapes no more than the dimensions before the last two.
func (c *compiler) keepsMatrices(at int) bool {
	s := &c.out.steps[at]
	if !c.callsOn(at, viewName) {
		return false
	}
	x, y := c.out.slots[s.args[0].slot].dims, c.out.slots[s.outs[0].slot].dims
	return len(x) > 2 && len(y) > 2 && slices.Equal(x[len(x)-2:], y[len(y)-2:])
}

// transposes reports whether step at transposes matrices.
func (c *compiler) transposes(at int) bool {
	return c.callsOn(at, permuteName) && op.SwapsMatrices(c.out.steps[at].args[1].value.Ints)
}

// rebuild adds the steps that are not gone anew, with the lives of their slots.
func (c *compiler) rebuild(gone []bool) {
	steps := c.out.steps
	c.out.steps = nil
	for i := range c.out.slots {
		c.out.slots[i].first = -1
	}
	for i := range steps {
		if !gone[i] {
			c.node = steps[i].node
			c.add(steps[i])
		}
	}
}
