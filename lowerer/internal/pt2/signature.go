package pt2

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// specJSON has the members of every InputSpec and OutputSpec.
type specJSON struct {
	Arg            json.RawMessage `json:"arg"`
	Name           string          `json:"name"`
	Value          union           `json:"value"`
	ParameterName  string          `json:"parameter_name"`
	BufferName     string          `json:"buffer_name"`
	ConstantName   string          `json:"tensor_constant_name"`
	UserInputName  string          `json:"user_input_name"`
	Persistent     *bool           `json:"persistent"`
	CustomObjName  string          `json:"custom_obj_name"`
	CustomObjClass string          `json:"class_fqn"`
}

func (s *scope) signatureInputs(m *exir.Method, specs []union) error {
	if len(specs) != len(s.json.Inputs) {
		return fmt.Errorf("signature has %d inputs, graph %d", len(specs), len(s.json.Inputs))
	}
	for i, u := range specs {
		var spec specJSON
		if err := json.Unmarshal(u.raw, &spec); err != nil {
			return fmt.Errorf("parse input %d: %w", i, err)
		}
		in, v, err := s.input(u.tag, &spec, s.json.Inputs[i])
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		m.Inputs = append(m.Inputs, in)
		s.graph.Inputs = append(s.graph.Inputs, v)
	}
	return nil
}

// input is one placeholder; its Value is nil for a constant.
func (s *scope) input(tag string, spec *specJSON, arg union) (exir.InputSpec, *exir.Value, error) {
	in := exir.InputSpec{}
	switch tag {
	case "user_input":
		if !isValueTag(arg.tag) {
			a, err := s.arg(arg)
			return exir.InputSpec{Kind: exir.ConstantInput, Value: a}, nil, err
		}
	case "constant_input":
		a, err := s.arg(spec.Value)
		return exir.InputSpec{Kind: exir.ConstantInput, Target: spec.Name, Value: a}, nil, err
	case "parameter":
		in = exir.InputSpec{Kind: exir.Parameter, Target: spec.ParameterName, Persistent: true}
	case "buffer":
		in = exir.InputSpec{Kind: exir.Buffer, Target: spec.BufferName, Persistent: spec.Persistent == nil || *spec.Persistent}
	case "tensor_constant":
		in = exir.InputSpec{Kind: exir.TensorConstant, Target: spec.ConstantName}
	default:
		return in, nil, fmt.Errorf("inputs of kind %q are not supported", tag)
	}
	v, err := s.define(arg)
	if err == nil && tag != "user_input" {
		err = s.bindConstant(v, &in)
	}
	return in, v, err
}

func isValueTag(tag string) bool {
	return tag == "as_tensor" || tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool"
}

// maxLiteral is how large a constant may be that belongs to the graph whatever it is.
const maxLiteral = 4 << 10

// bindConstant gives a placeholder the constant that it stands for. Lifted ones and integers (indices and small
// ones, not int8 weights) are read here and now; of floating-point parameters and buffers no value is.
func (s *scope) bindConstant(v *exir.Value, in *exir.InputSpec) error {
	if v == nil || v.Kind != exir.TensorValue {
		return fmt.Errorf("constant %q is no tensor", in.Target)
	}
	p, err := s.tables.find(in.Target, in.Kind == exir.Parameter || in.Kind == exir.Buffer && in.Persistent)
	if err != nil {
		return err
	}
	if !sameMeta(&p.meta, &v.Spec) {
		return fmt.Errorf("constant %q is %s%v in the archive and %s%v in the graph",
			in.Target, p.meta.DType, p.meta.Sizes, v.Spec.DType, v.Spec.Sizes)
	}
	v.Spec.DimOrder = p.meta.DimOrder
	c := &exir.Constant{Name: in.Target, Meta: p.meta.Clone()}
	v.Const = c
	if in.Kind != exir.TensorConstant && (c.Meta.DType.IsFloat() || !wideInteger(c.Meta.DType) && c.Meta.Nbytes() > maxLiteral) {
		w := p.weight
		c.Weight = &w
		return nil
	}
	data, err := s.archive.ReadWeight(&p.weight, c.Meta)
	if err != nil {
		return err
	}
	c.Data, c.Literal = bytes.Clone(data), true
	return nil
}

func wideInteger(t tensor.ScalarType) bool {
	return t.IsIntegral(true) && t != tensor.Char && t != tensor.Byte
}

func sameMeta(a, b *tensor.Meta) bool {
	if a.DType != b.DType || len(a.Sizes) != len(b.Sizes) {
		return false
	}
	for i := range a.Sizes {
		if a.Sizes[i] != b.Sizes[i] {
			return false
		}
	}
	return true
}

func (s *scope) signatureOutputs(m *exir.Method, specs []union) error {
	if len(specs) != len(s.json.Outputs) {
		return fmt.Errorf("signature has %d outputs, graph %d", len(specs), len(s.json.Outputs))
	}
	for i, u := range specs {
		var spec specJSON
		if err := json.Unmarshal(u.raw, &spec); err != nil {
			return fmt.Errorf("parse output %d: %w", i, err)
		}
		out, err := outputSpec(u.tag, &spec)
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if out.Kind == exir.UserInputMutation && s.values[out.Target] == nil {
			return fmt.Errorf("output %d: mutates unknown input %q", i, out.Target)
		}
		a, err := s.arg(s.json.Outputs[i])
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		m.Outputs = append(m.Outputs, out)
		s.graph.Outputs = append(s.graph.Outputs, a)
	}
	return nil
}

func outputSpec(tag string, spec *specJSON) (exir.OutputSpec, error) {
	switch tag {
	case "user_output", "loss_output":
		return exir.OutputSpec{Kind: exir.UserOutput}, nil
	case "buffer_mutation":
		return exir.OutputSpec{Kind: exir.BufferMutation, Target: spec.BufferName}, nil
	case "parameter_mutation":
		return exir.OutputSpec{Kind: exir.BufferMutation, Target: spec.ParameterName}, nil
	case "user_input_mutation":
		return exir.OutputSpec{Kind: exir.UserInputMutation, Target: spec.UserInputName}, nil
	}
	return exir.OutputSpec{}, fmt.Errorf("outputs of kind %q are not supported", tag)
}
