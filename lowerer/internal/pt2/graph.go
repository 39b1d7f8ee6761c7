package pt2

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// scope is one graph while it is read; names are local to it.
type scope struct {
	*loader
	json   *graphJSON
	values map[string]*exir.Value
	names  map[string]bool // of nodes
	graph  *exir.Graph
	node   *exir.Node // that is being read
}

// maxGraphDepth bounds how deep sub-graphs nest.
const maxGraphDepth = 16

// subgraph reads the graph of a higher-order operator's argument.
func (s *scope) subgraph(raw json.RawMessage) (*exir.Graph, error) {
	if s.depth++; s.depth > maxGraphDepth {
		return nil, errors.New("sub-graphs nested too deeply")
	}
	defer func() { s.depth-- }()
	var arg struct {
		Name  string    `json:"name"`
		Graph graphJSON `json:"graph"`
	}
	if err := decodeJSON(raw, &arg); err != nil {
		return nil, fmt.Errorf("parse sub-graph: %w", err)
	}
	sub := &scope{loader: s.loader, json: &arg.Graph, values: map[string]*exir.Value{}, names: map[string]bool{}, graph: &exir.Graph{}}
	if err := sub.run(); err != nil {
		return nil, fmt.Errorf("graph %q: %w", arg.Name, err)
	}
	return sub.graph, nil
}

// run reads inputs, nodes and outputs of a sub-graph.
func (s *scope) run() error {
	for i, in := range s.json.Inputs {
		var v *exir.Value
		var err error
		if isValueTag(in.tag) {
			v, err = s.define(in)
		}
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		s.graph.Inputs = append(s.graph.Inputs, v)
	}
	if err := s.nodes(); err != nil {
		return err
	}
	for i, out := range s.json.Outputs {
		a, err := s.arg(out)
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		s.graph.Outputs = append(s.graph.Outputs, a)
	}
	return nil
}

func (s *scope) nodes() error {
	for i := range s.json.Nodes {
		if err := s.readNode(&s.json.Nodes[i]); err != nil {
			return s.fault(&s.json.Nodes[i], err)
		}
	}
	return nil
}

// fault is an error about a node; that of a node in one of its sub-graphs stays as it is.
func (s *scope) fault(j *nodeJSON, err error) error {
	var at *diag.Error
	if errors.As(err, &at) {
		return err
	}
	name := j.Name
	for _, o := range j.Outputs {
		if id, err := nameIn(o); name == "" && err == nil {
			name = id
		}
	}
	code, hint := verdict(err)
	return s.node.Origin.Fault(code, name, opName(j.Target), "%w", err).WithHint("%s", hint)
}

func (s *scope) readNode(j *nodeJSON) error {
	s.handle++
	n := &exir.Node{Origin: exir.Origin{Method: s.method, DebugHandle: s.handle, Frames: s.framesOf(j.Metadata["stack_trace"]),
		Module: ModulePath(j.Metadata["nn_module_stack"]), SourceName: j.Name}}
	s.node = n
	if j.Target == "" || len(j.Target) > maxTarget {
		return fmt.Errorf("target %.80q is no name of an operator", j.Target)
	}
	n.Op = s.schema(j)
	n.Source = n.Op.Name
	args, err := s.bind(n.Op, j.Inputs)
	s.node = n // sub-graphs have changed it
	if err != nil {
		return err
	}
	n.Args = args
	if err := s.outputs(n, j.Outputs); err != nil {
		return err
	}
	s.nameNode(n, j)
	s.graph.Nodes = append(s.graph.Nodes, n)
	return nil
}

func (l *loader) framesOf(trace string) []exir.Frame {
	f, ok := l.frames[trace]
	if !ok {
		f = ParseFrames(trace)
		l.frames[trace] = f
	}
	return f
}

// nameNode gives the node the name in the file, or that of its first result,
// with a number where that is taken.
func (s *scope) nameNode(n *exir.Node, j *nodeJSON) {
	base := j.Name
	for _, o := range n.Outs {
		if base == "" && o != nil {
			base = o.Name
		}
	}
	if base == "" {
		base = n.Op.Base()
	}
	name := base
	for i := len(s.names); s.names[name] || name == ""; i++ {
		name = base + "_n" + strconv.Itoa(i)
	}
	s.names[name] = true
	n.Name = name
	if n.SourceName == "" {
		n.SourceName = name
	}
}

// outputs defines the results of a node.
func (s *scope) outputs(n *exir.Node, outs []union) error {
	if op := n.Op; op.Kind != "hop" && len(outs) != len(op.Returns) {
		return fmt.Errorf("has %d results, want %d", len(outs), len(op.Returns))
	}
	for i, u := range outs {
		values, err := s.output(u)
		if err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		if op := n.Op; op.Kind != "hop" {
			if err := checkReturn(op.Returns[i].Type, u.tag); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		for _, v := range values {
			if v != nil {
				v.Node = n
			}
		}
		n.Outs = append(n.Outs, values...)
	}
	return nil
}

// checkReturn holds what a file says of a result against the schema.
func checkReturn(typ, tag string) error {
	ok := true
	switch typ {
	case "Tensor":
		ok = tag == "as_tensor" || tag == "as_none"
	case "Tensor[]":
		ok = tag == "as_tensors" || tag == "as_none"
	case exir.AnyType:
	default:
		ok = tag != "as_tensor" && tag != "as_tensors"
	}
	if !ok {
		return fmt.Errorf("is %s, want %s", tag, typ)
	}
	return nil
}

// output is the values of one result: several of a list, a nil of an absent or constant one.
func (s *scope) output(u union) ([]*exir.Value, error) {
	switch u.tag {
	case "as_none", "as_int", "as_float", "as_bool":
		return []*exir.Value{nil}, nil
	case "as_tensors", "as_optional_tensors", "as_sym_ints":
		var list []json.RawMessage
		if err := json.Unmarshal(u.raw, &list); err != nil {
			return nil, err
		}
		var values []*exir.Value
		for _, raw := range list {
			v, err := s.output(memberOf(u.tag, raw))
			if err != nil {
				return nil, err
			}
			values = append(values, v...)
		}
		return values, nil
	}
	v, err := s.define(u)
	return []*exir.Value{v}, err
}

// memberOf is an element of a list as a union of its own.
func memberOf(listTag string, raw json.RawMessage) union {
	switch listTag {
	case "as_tensors":
		return union{"as_tensor", raw}
	case "as_sym_ints":
		return union{"as_sym_int", raw}
	}
	return union{"as_optional_tensor", raw}
}

// define makes the value that a placeholder or result names; nil for a plain
// number in the place of a symbolic one.
func (s *scope) define(u union) (*exir.Value, error) {
	name, err := nameIn(u)
	if err != nil || name == "" {
		return nil, err
	}
	if s.values[name] != nil {
		return nil, fmt.Errorf("value %q is defined twice", name)
	}
	v := &exir.Value{Name: name}
	switch u.tag {
	case "as_tensor", "as_optional_tensor":
		m, ok := s.json.Tensors[name]
		if !ok {
			return nil, fmt.Errorf("tensor %q is not described", name)
		}
		if v.Spec, v.Order, err = s.symbols.meta(m); err != nil {
			return nil, fmt.Errorf("tensor %q %w", name, err)
		}
	case "as_sym_int":
		v.Kind = exir.SymInt
		if v.Sym, err = s.symbols.dim(s.json.SymInts[name]); err != nil {
			return nil, fmt.Errorf("number %q: %w", name, err)
		}
	case "as_sym_float":
		v.Kind = exir.SymFloat
	case "as_sym_bool":
		v.Kind = exir.SymBool
	default:
		return nil, fmt.Errorf("values of kind %q are not supported", u.tag)
	}
	s.values[name] = v
	return v, nil
}

// nameIn is the name in an as_tensor, as_optional_tensor or as_sym_x; "" if there is a constant instead.
func nameIn(u union) (string, error) {
	var arg struct {
		Name   string    `json:"name"`
		AsName string    `json:"as_name"`
		Tensor *nameJSON `json:"as_tensor"`
	}
	if err := json.Unmarshal(u.raw, &arg); err != nil {
		return "", fmt.Errorf("parse %s: %w", u.tag, err)
	}
	if arg.Tensor != nil {
		return arg.Tensor.Name, nil
	}
	if u.tag == "as_tensor" && arg.Name == "" {
		return "", errors.New("tensor without a name")
	}
	return arg.Name + arg.AsName, nil
}
