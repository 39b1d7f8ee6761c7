package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// program is a .pte that makes one call many times, and what it wants.
type program struct {
	call   *call
	file   []byte
	inputs []*tensor.Tensor
	// elements are those of the largest tensor of the call.
	elements int
	repeats  int
}

// maxRepeats is the most calls of a program.
const maxRepeats = 2048

// builder makes the only plan of a program.
type builder struct {
	plan      pte.ExecutionPlan
	constants [][]byte
	inputs    []*tensor.Tensor
	arena     int64
	elements  int
	results   pte.Dynamism
}

// build makes a program that makes a call until about so many elements are done.
func build(table *op.Table, c *call, elements int) (*program, error) {
	def, sig := table.Def(c.op)
	if def == nil {
		return nil, fmt.Errorf("build %s: no such operator", c.text)
	}
	b := &builder{constants: [][]byte{nil}}
	if def.Tags&op.DataDependent != 0 {
		b.results = pte.DynamicBound
	}
	args, ids := b.arguments(c, sig)
	outs, err := inferOuts(def, sig, c, args)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", c.text, err)
	}
	instruction, err := b.instruction(sig, ids, outs)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", c.text, err)
	}
	p := &program{call: c, inputs: b.inputs, elements: b.elements, repeats: min(max(elements/max(b.elements, 1), 1), maxRepeats)}
	instructions := make([]pte.Instruction, p.repeats)
	for i := range instructions {
		instructions[i] = instruction
	}
	name, overload, _ := strings.Cut(c.op, ".")
	b.plan.Name, b.plan.Operators = "forward", []pte.Operator{{Name: name, Overload: overload}}
	b.plan.Chains = []pte.Chain{{Instructions: instructions}}
	b.plan.NonConstBufferSizes = []int64{0, b.arena}
	p.file, err = pte.Marshal(&pte.Program{Plans: []*pte.ExecutionPlan{&b.plan}, ConstantBuffers: b.constants})
	return p, err
}

func (b *builder) add(v pte.EValue) int32 {
	b.plan.Values = append(b.plan.Values, v)
	return int32(len(b.plan.Values) - 1)
}

func (b *builder) list(t pte.ValueType, items []int32) int32 {
	wide := make([]int64, len(items))
	for i, at := range items {
		wide[i] = int64(at)
	}
	return b.add(pte.EValue{Type: t, Items: wide})
}

// arguments adds the values of c's arguments. The tensors of args have data only if they are constants.
func (b *builder) arguments(c *call, sig *op.Signature) (args []op.Value, ids []int32) {
	for i, a := range c.args {
		var tensors []int32
		for j := range c.tensors[i] {
			t, id := b.operand(&c.tensors[i][j], uint64(i+17*j+1))
			tensors = append(tensors, id)
			if a.Kind == op.Tensor {
				a.Tensor = t
			} else {
				a.Tensors = append(a.Tensors, t)
			}
		}
		args = append(args, a)
		if a.Kind == op.Tensors && i < len(sig.Params) && strings.HasPrefix(sig.Params[i].Type, "Tensor?") {
			ids = append(ids, b.list(pte.OptionalTensorList, tensors))
			continue
		}
		ids = append(ids, b.argument(a, tensors))
	}
	return args, ids
}

func (b *builder) argument(a op.Value, tensors []int32) int32 {
	switch a.Kind {
	case op.Tensor:
		return tensors[0]
	case op.Tensors:
		return b.list(pte.TensorList, tensors)
	case op.Int:
		return b.add(pte.EValue{Type: pte.Int, Int: a.Int})
	case op.Bool:
		return b.add(pte.EValue{Type: pte.Bool, Int: a.Int})
	case op.Float:
		return b.add(pte.EValue{Type: pte.Double, Double: a.Float})
	case op.String:
		return b.add(pte.EValue{Type: pte.String, String: a.Str})
	case op.Ints:
		var items []int32
		for _, n := range a.Ints {
			items = append(items, b.add(pte.EValue{Type: pte.Int, Int: n}))
		}
		return b.list(pte.IntList, items)
	}
	return b.add(pte.EValue{Type: pte.Null})
}

// operand adds a tensor argument, an input or a constant.
func (b *builder) operand(o *operand, seed uint64) (*tensor.Tensor, int32) {
	t := &tensor.Tensor{Meta: o.meta}
	data := fill(o, seed)
	d := b.describe(&o.meta)
	if o.constant {
		t.Data = data
		d.DataBufferIdx = uint32(len(b.constants))
		b.constants = append(b.constants, data)
		return t, b.add(pte.EValue{Type: pte.TensorValue, Tensor: d})
	}
	id := b.add(pte.EValue{Type: pte.TensorValue, Tensor: d})
	b.inputs = append(b.inputs, &tensor.Tensor{Meta: o.meta, Data: data})
	b.plan.Inputs = append(b.plan.Inputs, id)
	return t, id
}

func (b *builder) describe(m *tensor.Meta) *pte.Tensor {
	d := &pte.Tensor{ScalarType: m.DType}
	for i, n := range m.Sizes {
		d.Sizes, d.DimOrder = append(d.Sizes, int32(n)), append(d.DimOrder, uint8(i))
	}
	b.elements = max(b.elements, m.Numel())
	return d
}

// inferOuts are the results of a call.
func inferOuts(def *op.Def, sig *op.Signature, c *call, args []op.Value) ([]tensor.Meta, error) {
	n := 0
	for _, p := range sig.Params {
		if p.Out {
			n++
		} else if p.InPlace {
			return nil, errors.New("the operator works in place")
		}
	}
	if want := len(sig.Params) - n; want != len(args) {
		return nil, fmt.Errorf("%d arguments, want %d", len(args), want)
	}
	infer := op.Infer{Args: args, Out: make([]tensor.Meta, n)}
	err := def.Infer(&infer)
	for i := range infer.Out {
		if c.out != tensor.Undefined {
			infer.Out[i].DType = c.out
		}
	}
	return infer.Out, err
}

// instruction calls the operator with arguments ids and new tensors as its outs, which are the plan's outputs.
func (b *builder) instruction(sig *op.Signature, ids []int32, outs []tensor.Meta) (pte.Instruction, error) {
	var args, results []int32
	for _, p := range sig.Params {
		switch {
		case !p.Out:
			args, ids = append(args, ids[0]), ids[1:]
		case p.Type == "Tensor[]":
			for i := range outs {
				results = append(results, b.result(&outs[i]))
			}
			args = append(args, b.list(pte.TensorList, results))
		default:
			id := b.result(&outs[len(results)])
			args, results = append(args, id), append(results, id)
		}
	}
	if len(results) == 0 {
		return pte.Instruction{}, errors.New("the operator has no result")
	}
	b.plan.Outputs = results
	last := results[0]
	if len(results) > 1 {
		last = b.list(pte.TensorList, results)
	}
	return pte.Instruction{Type: pte.KernelCall, Args: append(args, last)}, nil
}

// arenaAlignment is where tensors of an arena begin, in bytes.
const arenaAlignment = 64

func (b *builder) result(m *tensor.Meta) int32 {
	d := b.describe(m)
	d.Dynamism = b.results
	d.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(b.arena)}
	b.arena += (int64(m.Nbytes()) + arenaAlignment - 1) &^ (arenaAlignment - 1)
	return b.add(pte.EValue{Type: pte.TensorValue, Tensor: d})
}
