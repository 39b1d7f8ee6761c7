package executor

import (
	"context"
	"errors"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Run runs the method. Tensors among the inputs are read, some of them where they are, and written where the method mutates them;
// they may be outputs of earlier Runs. Outputs alias the instance's memory until its next Run or Close; nobody may write to them.
// After an error, state and mutated inputs may be half written.
//
// ctx, which may be nil, is looked at between instructions. Errors are an *Error: InvalidState if another Run is under
// way or the instance is closed, InvalidArgument for inputs that the method does not take, and what a kernel or backend
// says, with the instruction that it happened in.
func (m *Method) Run(ctx context.Context, inputs []Value) ([]Value, error) {
	in := m.inst
	if !in.busy.TryLock() {
		return nil, fail(pte.InvalidState, "run ", m.m.plan.Name, ": the instance is busy")
	}
	defer in.busy.Unlock()
	if in.closed {
		return nil, fail(pte.InvalidState, "run ", m.m.plan.Name, ": the instance is closed")
	}
	if ctx == nil {
		ctx = background
	}
	err := m.run(ctx, inputs)
	m.giveBack()
	if err != nil {
		return nil, wrap(pte.Internal, "run "+m.m.plan.Name, err)
	}
	return m.outputs, nil
}

// run is a Run of an instance that is there; a panic becomes an error.
func (m *Method) run(ctx context.Context, inputs []Value) (err error) {
	m.pc = outside
	defer func() {
		if r := recover(); r != nil {
			err = recovered(m.where(), r)
		}
	}()
	for i, v := range m.varying {
		*m.vals[v] = m.initial[i]
	}
	if err := m.setInputs(inputs); err != nil {
		return err
	}
	if err := m.traced(ctx); err != nil {
		return err
	}
	m.pc = outside
	if err := m.writeBack(inputs); err != nil {
		return err
	}
	m.setOutputs()
	return nil
}

// setOutputs makes the outputs of the values, with tensors that share nothing but the bytes.
func (m *Method) setOutputs() {
	for i, v := range m.m.plan.Outputs {
		from, out := m.vals[v], &m.outputs[i]
		t := from.Tensor
		if t == nil {
			*out = *from
			continue
		}
		to, n := &m.results[i], t.Nbytes()
		to.DType, to.Data = t.DType, t.Data[:n:n]
		to.Sizes, to.DimOrder = append(to.Sizes[:0], t.Sizes...), append(to.DimOrder[:0], t.DimOrder...)
		out.Kind, out.Tensor = from.Kind, to
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

// execute runs the instructions.
func (m *Method) execute(ctx context.Context) error {
	m.pc = 0
	m.exec.Context = ctx
	done := ctx.Done()
	most := m.m.prog.opts.MaxInstructions + m.m.more
	for count := 0; m.pc < len(m.calls); count++ {
		if count == most {
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
			return wrap(codeOfKernel(err), m.where(), err)
		}
		m.pc = next
	}
	return nil
}

// codeOfKernel is ExecuTorch's code for a kernel's error that has none.
func codeOfKernel(err error) pte.Code {
	if errors.Is(err, op.ErrTemp) {
		return pte.MemoryAllocationFailed
	}
	return pte.InvalidArgument
}

// outside is pc while no instruction runs.
const outside = -1

// where names the instruction that runs, with its arguments.
func (m *Method) where() string {
	if m.pc == outside {
		return "take inputs and give outputs"
	}
	s := &m.m.steps[m.pc]
	text := "instruction " + itoa(m.m.instruction(s.index))
	if s.chain > 0 {
		text += " of chain " + itoa(s.chain)
	}
	if s.assert != nil {
		return text
	}
	if s.name == "" {
		return text + " (control flow)"
	}
	text += " (" + s.name + "("
	for i, v := range s.args {
		if i > 0 {
			text += ", "
		}
		text += m.vals[v].String()
	}
	return text + "))"
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
		if err := m.refreshCall(s, c); err != nil {
			return pc, err
		}
		return pc + 1, c.invoker.Call()
	case pte.DelegateCall:
		m.refreshArgs(s)
		m.inst.temp.Release() // if a backend has panicked
		m.inst.temp.Reset()
		return pc + 1, s.backend.Execute(&m.exec, c.handle, c.args)
	case pte.MoveCall:
		if s.assert != nil {
			return pc + 1, s.assert.check(m, m.vals[s.a])
		}
		*m.vals[s.b] = *m.vals[s.a]
	case pte.JumpFalseCall:
		yes, err := truth(m.vals[s.a])
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
func (m *Method) refreshCall(s *step, c *call) error {
	for _, i := range c.refresh {
		if i >= len(s.args) {
			c.invoker.Outs[i-len(s.args)] = m.vals[s.outs[i-len(s.args)]].Tensor
			continue
		}
		v := s.args[i]
		if m.vals[v].Kind == op.Ints || m.vals[v].Kind == op.Tensors {
			m.refreshList(int(v))
		}
		c.invoker.Args[i] = s.kernelArg(i, m.vals[v])
		if err := s.checkArg(i, &c.invoker.Args[i]); err != nil {
			return err
		}
	}
	return nil
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
