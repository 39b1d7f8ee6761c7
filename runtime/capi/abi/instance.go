package abi

import (
	"context"
	"strconv"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// instance is an instance with the methods that the caller has handles of.
type instance struct {
	*executor.Instance
	program *program
	mu      sync.Mutex
	methods map[string]Handle
	busy    sync.Mutex // held by a call of a method
}

// method is a method with what the caller has set.
type method struct {
	*executor.Method
	busy    *sync.Mutex // of the instance
	inputs  []executor.Value
	tensors []tensor.Tensor // of inputs
	set     []bool
	outputs []executor.Value // of the last call; the memory that they point to stays where it is
}

// NewInstance makes an instance of a program.
func NewInstance(h Handle, out *Handle) error {
	if out == nil {
		return errNil
	}
	*out = 0
	p, err := find[*program](h, "program")
	if err != nil {
		return err
	}
	if p.data != nil && !p.data.retain() {
		return fail("the data file of the program was destroyed")
	}
	in, err := p.NewInstance()
	if err != nil {
		p.data.release()
		return err
	}
	*out = register(&instance{Instance: in, program: p, methods: map[string]Handle{}})
	return nil
}

// DestroyInstance frees an instance, after the call that is under way, and its methods.
func DestroyInstance(h Handle) {
	in, ok := remove[*instance](h)
	if !ok {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.methods {
		remove[*method](m)
	}
	in.Close()
	in.program.data.release()
}

// FindMethod writes the handle of a method of an instance; for one name it is always the same.
func FindMethod(h Handle, name string, out *Handle) error {
	if out == nil {
		return errNil
	}
	*out = 0
	in, err := find[*instance](h, "instance")
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, ok := in.methods[name]; !ok {
		m := in.Method(name)
		if m == nil {
			return noMethod(name, in.program.Methods())
		}
		n := len(m.Info().Inputs)
		in.methods[name] = register(&method{
			Method: m, busy: &in.busy, inputs: make([]executor.Value, n), tensors: make([]tensor.Tensor, n), set: make([]bool, n),
		})
	}
	*out = in.methods[name]
	return nil
}

// enter finds a method and keeps other calls of its instance out until leave is called.
func enter(h Handle) (m *method, err error) {
	if m, err = find[*method](h, "method"); err != nil {
		return nil, err
	}
	if !m.busy.TryLock() {
		return nil, &executor.Error{Code: pte.InvalidState, Msg: "another call of the instance is under way"}
	}
	return m, nil
}

func (m *method) leave() { m.busy.Unlock() }

// SetInput sets an input for the calls that follow. The data of a tensor is read, and written where the method writes it,
// by each call, so it must stay until another is set or the instance is destroyed; a string is copied.
func SetInput(h Handle, i uint32, v *Value) error {
	m, err := enter(h)
	if err != nil {
		return err
	}
	defer m.leave()
	if v == nil {
		return errNil
	}
	if err := index(i, len(m.inputs), "input"); err != nil {
		return err
	}
	m.set[i] = false
	if m.inputs[i], err = v.get(&m.tensors[i]); err != nil {
		return &executor.Error{Code: pte.InvalidArgument, Msg: "input " + strconv.Itoa(int(i)), Err: err}
	}
	m.set[i] = true
	return nil
}

// Run runs a method on the inputs that were set.
func Run(h Handle) error {
	m, err := enter(h)
	if err != nil {
		return err
	}
	defer m.leave()
	m.outputs = nil
	for i, ok := range m.set {
		if !ok {
			return fail("input " + strconv.Itoa(i) + " is not set")
		}
	}
	m.outputs, err = m.Method.Run(context.Background(), m.inputs)
	return err
}

// Output writes an output of the last call. Its data stays until the next call of any method of the instance, or until
// the instance is destroyed; it must not be written.
func Output(h Handle, i uint32, out *Value) error {
	m, err := enter(h)
	if err != nil {
		return err
	}
	defer m.leave()
	if out == nil {
		return errNil
	}
	if m.outputs == nil {
		return &executor.Error{Code: pte.InvalidState, Msg: "there is no output before a call that succeeded"}
	}
	if err := index(i, len(m.outputs), "output"); err != nil {
		return err
	}
	out.set(&m.outputs[i])
	return nil
}
