package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// definition is a tensor that a step has written, or a part of one that nobody has written over.
type definition struct {
	value int32 // -1 for a part
	area  area
	step  int
	out   int // which of the step's results it is
}

// dataflow finds which step gives what each other one reads. Tensors that share memory stand for each other.
type dataflow struct {
	*fuser
	calls []op.FlowCall
	live  []definition
	early []area // what is read before anybody writes it
}

// mostLive is how many definitions may be live at a time, so that loading takes no square of the program's length: memory that is planned
// holds far fewer.
const mostLive = 1 << 12

// findFlow gives the steps as calls, which run in line; nil if too many definitions are live.
func (f *fuser) findFlow() []op.FlowCall {
	d := &dataflow{fuser: f, calls: make([]op.FlowCall, len(f.steps))}
	for i := range f.steps {
		if d.step(i); len(d.live) > mostLive {
			return nil
		}
	}
	f.each(f.plan.Outputs, func(v int32) { d.open(&f.areas[v]) })
	for i := range d.early {
		d.open(&d.early[i])
	}
	for k, v := range d.plan.Inputs {
		if !d.writesBack[k] {
			continue
		}
		for _, l := range d.live {
			if l.area.overlaps(&d.areas[v]) {
				d.see(&l)
			}
		}
	}
	return d.calls
}

// step adds step i.
func (d *dataflow) step(i int) {
	s, c := &d.steps[i], &d.calls[i]
	args, outs := s.reads(), s.outs
	if s.name == etViewName {
		args, outs = args[:2], args[2:3]
	}
	if s.plan != nil || s.name == etViewName {
		c.Name, c.Plan, c.Fixed = s.name, s.plan, d.fixed(s)
	}
	c.Args = make([]op.FlowArg, len(args))
	for k, v := range args {
		c.Args[k] = d.read(v, i)
	}
	switch {
	case s.name == etViewName:
		d.live = append(d.live, definition{outs[0], d.areas[outs[0]], i, 0})
	case s.plan == nil:
		d.each(s.touches(), func(v int32) { // it may write them
			d.overwrite(v)
			if s.known {
				d.live = append(d.live, definition{v, d.areas[v], i, 0})
			}
		})
	default:
		for k := range outs {
			d.each(outs[k:k+1], func(v int32) {
				d.overwrite(v)
				d.live = append(d.live, definition{v, d.areas[v], i, k})
			})
		}
		c.Unread = 1<<len(outs) - 1 // until somebody does
	}
	if len(outs) == 1 && d.vals[outs[0]].Kind == op.Tensor {
		c.Out = &d.vals[outs[0]].Tensor.Meta
	}
}

// read is what argument v of step i is.
func (d *dataflow) read(v int32, i int) op.FlowArg {
	a := op.FlowArg{From: -1}
	if !d.varies[v] {
		a.Value = &d.vals[v]
	}
	if d.vals[v].Kind == op.Tensor {
		a.From = d.readTensor(v, i)
		return a
	}
	d.each([]int32{v}, func(v int32) { d.readTensor(v, i) })
	return a
}

// readTensor notes that step i reads tensor v, and gives the step that has written it; -1 if that is not just one.
func (d *dataflow) readTensor(v int32, i int) int {
	at, whole := &d.areas[v], -1
	found := false
	for k := range d.live {
		switch l := &d.live[k]; {
		case !l.area.overlaps(at):
			continue
		case l.area != *at || l.value < 0:
			found = true
			d.calls[l.step].Open = true
		case whole < 0 || d.live[whole].value != v:
			whole = k // the view of this name, or else the last one
		}
		d.see(&d.live[k])
	}
	if whole < 0 {
		if !found && !d.input(at) {
			d.early = append(d.early, *at)
		}
		return -1
	}
	step := d.live[whole].step
	d.use(step, i)
	if found || d.calls[step].Name == "" { // a delegate, which is no call that anybody looks for
		return -1
	}
	return step
}

// input reports whether an input lies in an area.
func (d *dataflow) input(at *area) bool {
	return slices.ContainsFunc(d.plan.Inputs, func(v int32) bool { return d.areas[v].overlaps(at) })
}

// use notes that step i reads what step from has written.
func (d *dataflow) use(from, i int) {
	c := &d.calls[from]
	if n := len(c.Users); n == 0 || c.Users[n-1] != i {
		c.Users = append(c.Users, i)
	}
}

// see says that somebody reads l.
func (d *dataflow) see(l *definition) { d.calls[l.step].Unread &^= 1 << l.out }

// overwrite ends what lies where tensor v does.
func (d *dataflow) overwrite(v int32) {
	at := d.areas[v]
	var rest []definition
	d.live = slices.DeleteFunc(d.live, func(l definition) bool {
		if !l.area.overlaps(&at) {
			return false
		}
		if l.area.from < at.from {
			rest = append(rest, definition{-1, area{at.memory, l.area.from, at.from}, l.step, l.out})
		}
		if l.area.to > at.to {
			rest = append(rest, definition{-1, area{at.memory, at.to, l.area.to}, l.step, l.out})
		}
		return true
	})
	d.live = append(d.live, rest...)
}

// open says that others read what lies in an area in the end.
func (d *dataflow) open(at *area) {
	for _, l := range d.live {
		if l.area.overlaps(at) {
			d.calls[l.step].Open = true
			d.see(&l)
		}
	}
}
