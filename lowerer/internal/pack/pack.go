// Package pack evaluates the constants of a lowered program and fills them in.
package pack

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Weights reads a weight as contiguous bytes; where nothing has to move they are a part of the mapped file.
type Weights func(w *exir.Weight, m tensor.Meta) ([]byte, error)

// Fill evaluates the constants of p and puts them into p.Program, each content once, and into the data files that it
// gives. What is computed lies in s, which must stay open as long as p.Program and the data files are used.
func Fill(p *exir.ExecutorchProgram, weights Weights, s *scratch.Scratch) ([]DataFile, error) {
	e := &evaluator{weights: weights, scratch: s, table: op.NewTable(op.Kernels), done: map[*exir.Constant][]byte{}}
	if err := e.required(p.Requirements); err != nil {
		return nil, err
	}
	constants, err := e.buffers(p.Constants)
	if err != nil {
		return nil, err
	}
	p.Program.MutableData, err = e.buffers(p.Mutable)
	if err != nil {
		return nil, err
	}
	external := &dataFiles{seen: map[string][]byte{}}
	if err := external.constants(p, constants); err != nil {
		return nil, err
	}
	if err := e.delegates(p, external); err != nil {
		return nil, err
	}
	unique, index := dedup(constants, func(i int) bool { return p.File(i-1) != "" })
	p.Program.ConstantBuffers = unique
	for _, plan := range p.Program.Plans {
		for i := range plan.Values {
			if t := plan.Values[i].Tensor; t != nil && t.Allocation == nil && t.DataBufferIdx > 0 {
				t.DataBufferIdx = index[t.DataBufferIdx]
			}
		}
	}
	return external.sorted(), nil
}

// required checks what delegates took for granted.
func (e *evaluator) required(list []exir.Requirement) error {
	var errs diag.List
	for _, r := range list {
		data, err := e.constant(r.Zero)
		if err != nil {
			return fmt.Errorf("evaluate constant %s: %w", r.Zero.Name, err)
		}
		if slices.ContainsFunc(data, func(b byte) bool { return b != 0 }) {
			errs = append(errs, r.Otherwise)
		}
	}
	return errs.Err()
}

// dedup keeps each content once, and leaves out those that lie elsewhere. Only buffers of equal size are compared, none
// is hashed.
func dedup(buffers [][]byte, elsewhere func(i int) bool) (unique [][]byte, index []uint32) {
	index = make([]uint32, len(buffers))
	bySize := map[int][]uint32{}
	unique = append(unique, nil)
	for i := 1; i < len(buffers); i++ {
		if elsewhere(i) {
			continue
		}
		b, at := buffers[i], uint32(0)
		for _, j := range bySize[len(b)] {
			if bytes.Equal(unique[j], b) {
				at = j
				break
			}
		}
		if at == 0 {
			at = uint32(len(unique))
			unique = append(unique, b)
			bySize[len(b)] = append(bySize[len(b)], at)
		}
		index[i] = at
	}
	return unique, index
}

type evaluator struct {
	weights Weights
	scratch *scratch.Scratch
	table   *op.Table
	done    map[*exir.Constant][]byte
}

// buffers evaluates constants to the entries from 1 of a buffer list.
func (e *evaluator) buffers(list []*exir.Constant) ([][]byte, error) {
	out := make([][]byte, 1, len(list)+1)
	for _, c := range list {
		b, err := e.constant(c)
		if err != nil {
			return nil, fmt.Errorf("evaluate constant %s: %w", c.Name, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func (e *evaluator) constant(c *exir.Constant) ([]byte, error) {
	if b, ok := e.done[c]; ok {
		return b, nil
	}
	b, err := e.evaluate(c)
	if err == nil && len(b) != c.Meta.Nbytes() {
		err = fmt.Errorf("%d bytes, want %d for %s %v", len(b), c.Meta.Nbytes(), c.Meta.DType, c.Meta.Sizes)
	}
	if err == nil {
		e.done[c] = b
	}
	return b, err
}

func (e *evaluator) evaluate(c *exir.Constant) ([]byte, error) {
	switch {
	case c.Node != nil:
		return e.call(c.Node, c.Meta)
	case c.Weight != nil:
		return e.weights(c.Weight, c.Meta)
	}
	return c.Data, nil
}

// call runs an operator's own kernel on constants.
func (e *evaluator) call(x *exir.ConstExpr, m tensor.Meta) ([]byte, error) {
	row := exir.LookupRow(x.Op.Name)
	if row == nil {
		return nil, fmt.Errorf("no kernel for %s", x.Op.Name)
	}
	picked, err := row.OutArgs(x.Op, x.Args)
	if err != nil {
		return nil, err
	}
	metas, err := exir.Infer(nil, x.Op, x.Args)
	if err != nil {
		return nil, err
	}
	metas[x.Out] = m
	args := make([]op.Value, len(picked))
	for i := range picked {
		args[i] = exir.ToValue(&picked[i])
		if err := e.fillArg(&picked[i], &args[i]); err != nil {
			return nil, err
		}
	}
	outs := make([]*tensor.Tensor, len(metas))
	for i := range metas {
		outs[i] = &tensor.Tensor{Meta: metas[i].Clone(), Data: e.scratch.Alloc(metas[i].Nbytes())}
	}
	if err := e.run(row, args, outs, metas); err != nil {
		return nil, fmt.Errorf("run %s: %w", x.Op.Name, err)
	}
	return outs[x.Out].Data, nil
}

func (e *evaluator) run(row *exir.Row, args []op.Value, outs []*tensor.Tensor, metas []tensor.Meta) error {
	dtype := op.KeyOf(row.Def, args, metas)
	k := e.table.Lookup(row.Out.Name, dtype)
	if k == nil {
		return fmt.Errorf("no kernel for %s", dtype)
	}
	_, sig := e.table.Def(row.Out.Name)
	plan, err := op.Prepare(k, sig, args, metas, op.Options{})
	if err != nil {
		return err
	}
	return plan.Bind(args, outs, &op.Env{Temp: new(op.Temp)}).Call()
}

// fillArg gives the tensors of an argument their bytes.
func (e *evaluator) fillArg(a *exir.Arg, v *op.Value) error {
	var err error
	give := func(a *exir.Arg, t *tensor.Tensor) {
		if err == nil && a.Kind == exir.ArgValue && t != nil {
			t.Data, err = e.constant(a.Value.Const)
		}
	}
	give(a, v.Tensor)
	for i := range a.List {
		if i < len(v.Tensors) {
			give(&a.List[i], v.Tensors[i])
		}
	}
	return err
}

// Constants are those of p that its plans still use.
func Constants(p *pte.Program) int64 {
	var n int64
	for _, b := range p.ConstantBuffers {
		n += int64(len(b))
	}
	return n
}
