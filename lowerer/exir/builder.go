package exir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Builder appends nodes to a graph. Its first error sticks in Err, and calls after it do nothing.
type Builder struct {
	Program *Program
	Graph   *Graph
	// Origin is given to every node that is made.
	Origin Origin
	// Expand, if set, is asked first about every call: it may build something else in its place and say so.
	Expand func(b *Builder, s *Schema, args []Arg) (outs []*Value, done bool, err error)
	Err    error
	names  map[string]int
}

// NewBuilder makes a builder for an empty graph with the inputs of old. Names of old stay free for Keep.
func NewBuilder(p *Program, old *Graph) *Builder {
	b := &Builder{Program: p, Graph: &Graph{Inputs: old.Inputs}, names: map[string]int{}}
	for _, v := range old.Inputs {
		if v != nil {
			b.names[v.Name] = 1
		}
	}
	return b
}

// Reserve keeps the names of g's nodes and values free for Append.
func (b *Builder) Reserve(g *Graph) {
	for _, n := range g.Nodes {
		b.count(n)
	}
}

// count notes the names of n and of its values.
func (b *Builder) count(n *Node) {
	b.names[n.Name]++
	for _, v := range n.Outs {
		if v != nil && v.Name != n.Name {
			b.names[v.Name]++
		}
	}
}

// Fresh makes a name that no value or node of the graph has, from hint.
func (b *Builder) Fresh(hint string) string {
	for {
		n := b.names[hint]
		b.names[hint]++
		name := hint
		if n > 0 {
			name = hint + "_" + strconv.Itoa(n)
		}
		if n == 0 {
			return name
		}
		if b.names[name] == 0 {
			b.names[name] = 1
			return name
		}
	}
}

// Append adds a finished node, its names taken as they are.
func (b *Builder) Append(n *Node) {
	b.count(n)
	b.Graph.Nodes = append(b.Graph.Nodes, n)
}

func (b *Builder) fail(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// ToArg makes an Arg of *Value, Arg, int, int64 (also a Dim), float64, bool, string, nil, tensor.ScalarType,
// []int64, []*Value and []Arg.
func ToArg(x any) Arg {
	switch x := x.(type) {
	case nil:
		return Arg{}
	case Arg:
		return x
	case *Value:
		if x == nil {
			return Arg{}
		}
		return Arg{Kind: ArgValue, Value: x}
	case int:
		return Arg{Kind: ArgInt, Int: int64(x)}
	case int64:
		return Arg{Kind: ArgInt, Int: x}
	case float64:
		return Arg{Kind: ArgFloat, Float: x}
	case bool:
		a := Arg{Kind: ArgBool}
		if x {
			a.Int = 1
		}
		return a
	case string:
		return Arg{Kind: ArgString, Str: x}
	case tensor.ScalarType:
		return Arg{Kind: ArgDType, Int: int64(x)}
	case []int64:
		a := Arg{Kind: ArgList, List: make([]Arg, len(x))}
		for i, v := range x {
			a.List[i] = Arg{Kind: ArgInt, Int: v}
		}
		return a
	case []*Value:
		a := Arg{Kind: ArgList, List: make([]Arg, len(x))}
		for i, v := range x {
			a.List[i] = ToArg(v)
		}
		return a
	case []Arg:
		return Arg{Kind: ArgList, List: x}
	}
	panic(fmt.Sprintf("argument of type %T", x))
}

// KW is a keyword argument of Call.
type KW struct {
	Name string
	Arg  any
}

// Call calls a functional operator by name. Arguments are positional, in the order of its schema, then KWs;
// the rest take their defaults. A number where the schema wants a tensor becomes a 0-dim constant.
func (b *Builder) Call(name string, args ...any) []*Value {
	if b.Err != nil {
		return b.dummies(name)
	}
	s := LookupSchema(name)
	if s == nil {
		b.fail(fmt.Errorf("call %s: no such operator", name))
		return b.dummies(name)
	}
	bound, err := bindArgs(s, args)
	if err != nil {
		b.fail(err)
		return b.dummies(name)
	}
	return b.CallSchema(s, bound)
}

// Op is the first result of Call.
func (b *Builder) Op(name string, args ...any) *Value { return b.Call(name, args...)[0] }

// dummies stand in for results after an error.
func (b *Builder) dummies(name string) []*Value {
	n := 1
	if s := LookupSchema(name); s != nil {
		n = max(n, len(s.Returns))
	}
	outs := make([]*Value, n)
	for i := range outs {
		outs[i] = &Value{Name: "error", Spec: tensor.Meta{DType: tensor.Float}}
	}
	return outs
}

func bindArgs(s *Schema, args []any) ([]Arg, error) {
	bound := make([]Arg, len(s.Args))
	set := make([]bool, len(s.Args))
	for i, x := range args {
		at := i
		if kw, ok := x.(KW); ok {
			if at = s.Arg(kw.Name); at < 0 {
				return nil, fmt.Errorf("call %s: no argument %s", s.Name, kw.Name)
			}
			x = kw.Arg
		}
		if at >= len(bound) {
			return nil, fmt.Errorf("call %s: %d arguments, want at most %d", s.Name, len(args), len(bound))
		}
		bound[at], set[at] = ToArg(x), true
	}
	for i, p := range s.Args {
		if !set[i] {
			if !p.HasDefault {
				return nil, fmt.Errorf("call %s: argument %s is missing", s.Name, p.Name)
			}
			bound[i] = p.Default
		}
	}
	return bound, nil
}

// CallSchema calls s with all its arguments, expanding it if Expand wants to.
func (b *Builder) CallSchema(s *Schema, args []Arg) []*Value {
	if b.Err != nil {
		return b.dummies(s.Name)
	}
	if b.Expand != nil {
		outs, done, err := b.Expand(b, s, args)
		if err != nil {
			b.fail(err)
			return b.dummies(s.Name)
		}
		if done {
			return outs
		}
	}
	args = b.scalarsToTensors(s, args)
	metas, err := Infer(b.Program.Shapes, s, args)
	if err != nil {
		b.fail(err)
		return b.dummies(s.Name)
	}
	n := &Node{Name: b.Fresh(strings.TrimLeft(s.Base(), "_")), Op: s, Args: args, Origin: b.Origin}
	for i, m := range metas {
		v := &Value{Name: n.Name, Spec: m, Node: n}
		if len(metas) > 1 {
			v.Name = b.Fresh(n.Name + "_" + strconv.Itoa(i))
		}
		n.Outs = append(n.Outs, v)
	}
	b.Graph.Nodes = append(b.Graph.Nodes, n)
	return n.Outs
}

// Dim is an Int argument's number: a size, or the handle of a symbol.
func (a *Arg) Dim() (tensor.Dim, bool) {
	switch {
	case a.Kind == ArgInt || a.Kind == ArgBool:
		return a.Int, true
	case a.Kind == ArgValue && a.Value.Kind == SymInt:
		return a.Value.Sym, true
	}
	return 0, false
}

// scalarsToTensors replaces numbers where s wants tensors by 0-dim constants. Their type is that of the call's
// first tensor where the number's category is no higher than it, as PyTorch does with wrapped numbers, and Float where
// that is narrower.
func (b *Builder) scalarsToTensors(s *Schema, args []Arg) []Arg {
	out := args
	for i, p := range s.Args {
		if (p.Type != "Tensor" && p.Type != "Tensor?") || i >= len(args) || !isNumber(&args[i]) {
			continue
		}
		if &out[0] == &args[0] {
			out = append([]Arg(nil), args...)
		}
		out[i] = ToArg(b.wrapNumber(&args[i], firstTensor(args)))
	}
	return out
}

func isNumber(a *Arg) bool {
	return a.Kind == ArgInt || a.Kind == ArgFloat || a.Kind == ArgBool || a.Kind == ArgValue && a.Value.Kind != TensorValue
}

func firstTensor(args []Arg) *Value {
	for i := range args {
		if args[i].Kind == ArgValue && args[i].Value.Kind == TensorValue {
			return args[i].Value
		}
	}
	return nil
}

// wide is the type of a number beside a tensor of type t: narrow floating-point types compute in Float, and a number
// that is rounded or too large for them must not be so before.
func wide(t tensor.ScalarType) tensor.ScalarType {
	if t == tensor.Half || t == tensor.BFloat16 {
		return tensor.Float
	}
	return t
}

func (b *Builder) wrapNumber(a *Arg, like *Value) *Value {
	dtype := tensor.Float
	switch {
	case a.Kind == ArgInt || a.Kind == ArgValue && a.Value.Kind == SymInt:
		dtype = tensor.Long
	case a.Kind == ArgBool || a.Kind == ArgValue && a.Value.Kind == SymBool:
		dtype = tensor.Bool
	}
	if like != nil && like.Spec.DType.Category() >= dtype.Category() {
		dtype = like.Spec.DType
		if like.Spec.Rank() > 0 { // else the wider number would count as much as the tensor in promotion
			dtype = wide(dtype)
		}
	}
	if a.Kind == ArgValue || tensor.IsSymbol(a.Int) {
		return b.Op("aten::scalar_tensor", *a, KW{"dtype", dtype})
	}
	x := a.Float
	if a.Kind != ArgFloat {
		x = float64(a.Int)
		if dtype == tensor.Long {
			return b.Literal("lifted_number", tensor.Meta{DType: dtype}, EncodeInt(dtype, a.Int))
		}
	}
	return b.Literal("lifted_number", tensor.Meta{DType: dtype}, EncodeFloat(dtype, x))
}

// Literal is a constant of these bytes; it is no input of the graph, and may be used anywhere in the method.
func (b *Builder) Literal(hint string, m tensor.Meta, data []byte) *Value {
	name := b.Fresh(hint)
	return &Value{Name: name, Spec: m, Const: &Constant{Name: name, Meta: m, Data: data, Literal: true}}
}
