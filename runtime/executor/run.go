package executor

import (
	"context"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Run runs the method. Tensors among the inputs are read, and written where the method mutates them. Outputs
// alias the instance's memory until its next Run or Close.
func (m *Method) Run(ctx context.Context, inputs []Value) ([]Value, error) {
	in := m.inst
	if !in.busy.CompareAndSwap(false, true) {
		return nil, fail(pte.InvalidState, "run ", m.m.plan.Name, ": the instance is busy")
	}
	defer in.busy.Store(false)
	if in.closed {
		return nil, fail(pte.InvalidState, "run ", m.m.plan.Name, ": the instance is closed")
	}
	if ctx == nil {
		ctx = background
	}
	m.restore()
	if err := m.setInputs(inputs); err != nil {
		return nil, wrap(pte.InvalidArgument, "run "+m.m.plan.Name, err)
	}
	if err := m.traced(ctx); err != nil {
		return nil, wrap(pte.Internal, "run "+m.m.plan.Name, err)
	}
	m.writeBack(inputs)
	for i, v := range m.m.plan.Outputs {
		m.outputs[i] = m.vals[v]
	}
	return m.outputs, nil
}

// restore gives the values that change in a run what the file has for them.
func (m *Method) restore() {
	for _, v := range m.varying {
		val := &m.vals[v]
		from := &m.m.vals[v]
		switch val.Kind {
		case op.Int, op.Float, op.Bool:
			val.Kind, val.Int, val.Float = from.Kind, from.Int, from.Float
		}
	}
}

// traced is execute, as events if somebody traces.
func (m *Method) traced(ctx context.Context) error {
	tr := m.m.prog.tracer
	if tr == nil {
		return m.execute(ctx)
	}
	return m.traceRun(tr, func() error { return m.execute(ctx) })
}

// execute runs the instructions; a panic in one becomes an error.
func (m *Method) execute(ctx context.Context) (err error) {
	m.pc = 0
	defer func() {
		if r := recover(); r != nil {
			err = fail(pte.Internal, m.where(), ": panic: ", panicText(r))
		}
	}()
	m.exec.Context = ctx
	done := ctx.Done()
	for count := 0; m.pc < len(m.calls); count++ {
		if count == m.m.prog.opts.MaxInstructions {
			return fail(pte.InvalidProgram, "more than ", itoa(count), " instructions: possible infinite loop")
		}
		if done != nil {
			select {
			case <-done:
				return ctx.Err()
			default:
			}
		}
		next, err := m.next(m.pc)
		if err != nil {
			return wrap(pte.Internal, m.where(), err)
		}
		m.pc = next
	}
	return nil
}

// where names the instruction that runs.
func (m *Method) where() string {
	name := m.m.steps[m.pc].name
	if name == "" {
		name = "control flow"
	}
	return "instruction " + itoa(m.pc) + " (" + name + ")"
}

func panicText(r any) string {
	switch r := r.(type) {
	case error:
		return r.Error()
	case string:
		return r
	}
	return "unknown value"
}

// next is step, as an event if somebody traces.
func (m *Method) next(pc int) (int, error) {
	if tr := m.m.prog.tracer; tr != nil {
		return m.traceStep(tr, pc)
	}
	return m.step(pc)
}

// step runs instruction pc and gives the next one.
func (m *Method) step(pc int) (int, error) {
	s, c := &m.m.steps[pc], &m.calls[pc]
	switch s.kind {
	case pte.KernelCall:
		if s.prim != nil {
			m.refreshArgs(s)
			return pc + 1, s.prim(m, c.args)
		}
		m.refreshCall(s, c)
		return pc + 1, c.invoker.Call()
	case pte.DelegateCall:
		m.refreshArgs(s)
		m.inst.temp.Reset()
		return pc + 1, s.backend.Execute(&m.exec, c.handle, c.args)
	case pte.MoveCall:
		m.vals[s.b] = m.vals[s.a]
	case pte.JumpFalseCall:
		yes, err := truth(&m.vals[s.a])
		if err != nil || !yes {
			return int(s.b), err
		}
	case pte.FreeCall:
		// Owned memory is kept for the next run.
	}
	return pc + 1, nil
}

// refreshArgs updates the lists among the arguments of a built-in operator or delegate.
func (m *Method) refreshArgs(s *step) {
	for _, v := range s.args {
		if m.m.varies[v] && (m.vals[v].Kind == op.Ints || m.vals[v].Kind == op.Tensors) {
			m.refreshList(int(v))
		}
	}
}

// refreshCall updates what varies among the arguments of a kernel.
func (m *Method) refreshCall(s *step, c *call) {
	for _, i := range c.refresh {
		if i >= len(s.args) {
			c.invoker.Outs[i-len(s.args)] = m.vals[s.outs[i-len(s.args)]].Tensor
			continue
		}
		v := s.args[i]
		if m.vals[v].Kind == op.Ints || m.vals[v].Kind == op.Tensors {
			m.refreshList(int(v))
		}
		c.invoker.Args[i] = s.kernelArg(i, &m.vals[v])
	}
}

// truth is a condition: a Bool, or a tensor of Bool that is true everywhere.
func truth(v *op.Value) (bool, error) {
	switch {
	case v.Kind == op.Bool || v.Kind == op.Int:
		return v.Int != 0, nil
	case v.Kind == op.Tensor && v.Tensor.DType.Size() == 1:
		for _, b := range v.Tensor.Data[:v.Tensor.Numel()] {
			if b == 0 {
				return false, nil
			}
		}
		return true, nil
	}
	return false, fail(pte.InvalidType, "condition is neither a bool nor a tensor of bool")
}
