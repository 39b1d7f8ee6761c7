package pt2

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pythonPrefixes are the modules of Python whose functions on symbolic numbers torch.export leaves in graphs.
var pythonPrefixes = []string{"_operator.", "math.", "torch._", "torch."}

// pythonSchema is the signature of a target such as "_operator.add" or "torch._sym_sqrt", or nil.
func pythonSchema(target string) *exir.Schema {
	for _, prefix := range pythonPrefixes {
		if name, ok := strings.CutPrefix(target, prefix); ok {
			return exir.LookupSchema("python::" + name)
		}
	}
	return nil
}

const maxTarget = 256

// opName is the operator's name in a schema: "aten::add.Tensor" for "torch.ops.aten.add.Tensor".
func opName(target string) string {
	rest, ok := strings.CutPrefix(target, "torch.ops.")
	if !ok {
		return target
	}
	namespace, op, _ := strings.Cut(rest, ".")
	return namespace + "::" + strings.TrimSuffix(op, ".default")
}

// schema is the operator of a node; one that is not known takes what the node gives it.
func (l *loader) schema(j *nodeJSON) *exir.Schema {
	if s := pythonSchema(j.Target); s != nil {
		return s
	}
	if hop, ok := strings.CutPrefix(j.Target, "torch.ops.higher_order."); ok {
		if l.schemas[hop] == nil {
			l.schemas[hop] = &exir.Schema{Name: "higher_order::" + hop, Kind: "hop"}
		}
		return l.schemas[hop]
	}
	name := opName(j.Target)
	if s := exir.LookupSchema(name); s != nil {
		return s
	}
	s := &exir.Schema{Name: name, Kind: "functional"}
	for i, in := range j.Inputs {
		s.Args = append(s.Args, exir.Param{Name: argName(in.Name, i), Type: exir.AnyType})
	}
	for range j.Outputs {
		s.Returns = append(s.Returns, exir.Param{Type: exir.AnyType})
	}
	return s
}

func argName(name string, i int) string {
	if name == "" {
		return "arg" + strconv.Itoa(i)
	}
	return name
}

// bind puts arguments into the order of the schema and fills defaults in.
func (s *scope) bind(op *exir.Schema, inputs []namedJSON) ([]exir.Arg, error) {
	if op.Kind == "hop" {
		return s.bindAll(inputs)
	}
	args := make([]exir.Arg, len(op.Args))
	given := make([]bool, len(op.Args))
	for pos, in := range inputs {
		i := op.Arg(in.Name)
		if in.Name == "" || i < 0 && strings.HasPrefix(op.Name, "python::") {
			i = pos
		}
		if i < 0 || i >= len(args) || given[i] {
			return nil, fmt.Errorf("argument %q is unknown or given twice", in.Name)
		}
		a, err := s.arg(in.Arg)
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", in.Name, err)
		}
		if args[i], err = fit(a, op.Args[i].Type); err != nil {
			return nil, fmt.Errorf("argument %q: %w", op.Args[i].Name, err)
		}
		given[i] = true
	}
	for i, p := range op.Args {
		switch {
		case given[i] || strings.HasSuffix(p.Type, "?") && !p.HasDefault:
		case p.HasDefault:
			args[i] = p.Default
		default:
			return nil, fmt.Errorf("argument %q is missing", p.Name)
		}
	}
	return args, nil
}

func (s *scope) bindAll(inputs []namedJSON) ([]exir.Arg, error) {
	var args []exir.Arg
	for i, in := range inputs {
		a, err := s.arg(in.Arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		args = append(args, a)
	}
	return args, nil
}

func kinds(ks ...exir.ArgKind) (set uint32) {
	for _, k := range ks {
		set |= 1 << k
	}
	return set
}

var numeric = kinds(exir.ArgValue, exir.ArgInt, exir.ArgFloat, exir.ArgBool)

// fitting says which kinds of arguments may stand for a type of the schema.
var fitting = map[string]uint32{
	"Tensor": numeric, "Scalar": numeric, "float": numeric,
	"int": kinds(exir.ArgValue, exir.ArgInt, exir.ArgBool), "SymInt": kinds(exir.ArgValue, exir.ArgInt, exir.ArgBool),
	"bool": kinds(exir.ArgValue, exir.ArgBool, exir.ArgInt), "SymBool": kinds(exir.ArgValue, exir.ArgBool),
	"str": kinds(exir.ArgString), "ScalarType": kinds(exir.ArgDType), "Layout": kinds(exir.ArgLayout),
	"Device": kinds(exir.ArgDevice), "MemoryFormat": kinds(exir.ArgMemoryFormat),
}

// fit checks an argument against the type in the schema. Files may have an
// integer where a float is meant, or a number where a list of it is.
func fit(a exir.Arg, typ string) (exir.Arg, error) {
	if typ == exir.AnyType {
		return a, nil
	}
	if inner, optional := strings.CutSuffix(typ, "?"); optional {
		if a.Kind == exir.ArgNone {
			return a, nil
		}
		typ = inner
	}
	if element, list := strings.CutSuffix(typ, "[]"); list {
		return fitList(a, typ, element)
	}
	want, known := fitting[typ]
	if known && want&(1<<a.Kind) == 0 || a.Kind == exir.ArgNone {
		return a, fmt.Errorf("does not fit type %s", typ)
	}
	if strings.HasPrefix(typ, "Tensor") || a.Kind != exir.ArgValue {
		return asFloat(a, typ), nil
	}
	if a.Value.Kind == exir.TensorValue && typ != "Scalar" {
		return a, fmt.Errorf("is a tensor, want %s", typ)
	}
	return a, nil
}

func asFloat(a exir.Arg, typ string) exir.Arg {
	if typ == "float" && a.Kind == exir.ArgInt && !tensor.IsSymbol(a.Int) {
		return exir.Arg{Kind: exir.ArgFloat, Float: float64(a.Int)}
	}
	return a
}

func fitList(a exir.Arg, typ, element string) (exir.Arg, error) {
	if a.Kind == exir.ArgInt || a.Kind == exir.ArgFloat || a.Kind == exir.ArgValue && a.Value.Kind != exir.TensorValue {
		a = exir.Arg{Kind: exir.ArgList, List: []exir.Arg{a}}
	}
	if a.Kind != exir.ArgList {
		return a, fmt.Errorf("does not fit type %s", typ)
	}
	for i, m := range a.List {
		fitted, err := fit(m, element)
		if err != nil {
			return a, fmt.Errorf("member %d: %w", i, err)
		}
		a.List[i] = fitted
	}
	return a, nil
}

// memoryFormats maps the archive's numbers to c10's.
var memoryFormats = map[int]int64{1: 0, 2: 2, 3: 3, 4: 1}

// arg is one member of the Argument union.
func (s *scope) arg(u union) (exir.Arg, error) {
	switch u.tag {
	case "as_none":
		return exir.Arg{}, nil
	case "as_tensor", "as_optional_tensor", "as_sym_int", "as_sym_float", "as_sym_bool":
		return s.valueArg(u)
	case "as_graph":
		g, err := s.subgraph(u.raw)
		return exir.Arg{Kind: exir.ArgGraph, Graph: g}, err
	case "as_string":
		a := exir.Arg{Kind: exir.ArgString}
		return a, json.Unmarshal(u.raw, &a.Str)
	case "as_int", "as_float", "as_bool":
		return plainArg(u)
	case "as_scalar_type", "as_memory_format", "as_layout", "as_device":
		return enumArg(u)
	}
	if inner, ok := listTags[u.tag]; ok {
		return s.listArg(inner, u.raw)
	}
	if u.tag == "" {
		return exir.Arg{}, errors.New("empty argument")
	}
	return exir.Arg{}, fmt.Errorf("arguments of kind %q are not supported", u.tag)
}

// listTags maps a list to what its members are.
var listTags = map[string]string{
	"as_tensors": "as_tensor", "as_optional_tensors": "as_optional_tensor", "as_nested_tensors": "as_tensors",
	"as_ints": "as_int", "as_int_lists": "as_ints", "as_floats": "as_float", "as_float_lists": "as_floats",
	"as_bools": "as_bool", "as_strings": "as_string", "as_sym_ints": "as_sym_int", "as_sym_floats": "as_sym_float", "as_sym_bools": "as_sym_bool",
}

func (s *scope) listArg(inner string, raw json.RawMessage) (exir.Arg, error) {
	var members []json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return exir.Arg{}, err
	}
	list := exir.Arg{Kind: exir.ArgList, List: make([]exir.Arg, 0, len(members))}
	for _, m := range members {
		a, err := s.arg(union{inner, m})
		if err != nil {
			return exir.Arg{}, err
		}
		list.List = append(list.List, a)
	}
	return list, nil
}

func plainArg(u union) (a exir.Arg, err error) {
	switch u.tag {
	case "as_int":
		a.Kind = exir.ArgInt
		if err = json.Unmarshal(u.raw, &a.Int); err == nil && tensor.IsSymbol(a.Int) {
			err = fmt.Errorf("number %d is out of range", a.Int)
		}
	case "as_float":
		a.Kind = exir.ArgFloat
		err = json.Unmarshal(u.raw, (*number)(&a.Float))
	default:
		var b bool
		err = json.Unmarshal(u.raw, &b)
		a.Kind = exir.ArgBool
		if b {
			a.Int = 1
		}
	}
	return a, err
}

func enumArg(u union) (exir.Arg, error) {
	if u.tag == "as_device" {
		var d struct {
			Type string `json:"type"`
		}
		err := json.Unmarshal(u.raw, &d)
		return exir.Arg{Kind: exir.ArgDevice, Str: d.Type}, err
	}
	var n int
	if err := json.Unmarshal(u.raw, &n); err != nil {
		return exir.Arg{}, err
	}
	switch u.tag {
	case "as_scalar_type":
		t, err := dtypeOf(n)
		return exir.Arg{Kind: exir.ArgDType, Int: int64(t)}, err
	case "as_layout":
		if n != stridedLayout {
			return exir.Arg{}, fmt.Errorf("layout %d is not supported", n)
		}
		return exir.Arg{Kind: exir.ArgLayout}, nil
	}
	f, ok := memoryFormats[n]
	if !ok {
		return exir.Arg{}, fmt.Errorf("unknown memory format %d", n)
	}
	return exir.Arg{Kind: exir.ArgMemoryFormat, Int: f}, nil
}

// plainTags are what may stand for a symbolic number or an optional tensor.
var plainTags = map[string]bool{"as_int": true, "as_float": true, "as_bool": true, "as_none": true}

// valueArg refers to a value by name; symbolic arguments may also be plain
// numbers, {"as_int": 3}, and optional tensors absent, {"as_none": true}.
func (s *scope) valueArg(u union) (exir.Arg, error) {
	name, err := nameIn(u)
	if err != nil {
		return exir.Arg{}, err
	}
	if name == "" {
		var inner union
		if err := json.Unmarshal(u.raw, &inner); err != nil || !plainTags[inner.tag] {
			return exir.Arg{}, fmt.Errorf("%s without a name", u.tag)
		}
		return s.arg(inner)
	}
	v := s.values[name]
	if v == nil {
		return exir.Arg{}, s.undefined(name)
	}
	if tensorTag := !strings.HasPrefix(u.tag, "as_sym"); tensorTag != (v.Kind == exir.TensorValue) {
		return exir.Arg{}, fmt.Errorf("value %q is used as another kind than it is", name)
	}
	return exir.Arg{Kind: exir.ArgValue, Value: v}, nil
}

// undefined tells a cycle from a name that nothing gives.
func (s *scope) undefined(name string) error {
	for i := range s.json.Nodes {
		for _, out := range s.json.Nodes[i].Outputs {
			if id, err := nameIn(out); err == nil && id == name {
				return fmt.Errorf("value %q is the result of this node or of a later one: the graph has a cycle", name)
			}
		}
	}
	return fmt.Errorf("value %q is not defined: no input or node of the graph gives it", name)
}
