package exir

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// node reads "%out: type, _ = op(args) as name  # origin", and the graphs below it.
func (p *parser) node(s *scope, indent int) error {
	n := &Node{Origin: Origin{Method: p.method.Name}}
	if err := p.results(s, n); err != nil {
		return err
	}
	err := p.want("=")
	if err == nil {
		n.Op, n.Args, err = p.call(s)
	}
	if err == nil && p.keyword("as") {
		n.Name, err = p.name()
	}
	if err == nil && p.take("#") {
		err = p.origin(&n.Origin)
	}
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return err
	}
	for _, v := range n.Outs {
		if n.Name == "" && v != nil {
			n.Name = v.Name
		}
	}
	s.graph.Nodes = append(s.graph.Nodes, n)
	for i := range n.Args {
		switch a := &n.Args[i]; a.Kind {
		case ArgGraph:
			a.Graph, err = p.nested(indent)
		case ArgLowered:
			a.Lowered, err = p.lowered(indent)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) results(s *scope, n *Node) error {
	if p.take("()") {
		return nil
	}
	for {
		var v *Value
		if !p.keyword("_") {
			var err error
			if v, err = p.value(s); err != nil {
				return err
			}
			v.Node = n
		}
		n.Outs = append(n.Outs, v)
		if !p.take(",") {
			return nil
		}
	}
}

// value reads "%name: type" and declares it.
func (p *parser) value(s *scope) (*Value, error) {
	if err := p.want("%"); err != nil {
		return nil, err
	}
	name, err := p.name()
	if err == nil && s.values[name] != nil {
		err = fmt.Errorf("value %q is defined twice", name)
	}
	if err == nil {
		err = p.want(":")
	}
	if err != nil {
		return nil, err
	}
	v := &Value{Name: name}
	switch rest := p.rest; {
	case p.keyword("int"):
		v.Kind = SymInt
		if err = p.want("("); err == nil {
			v.Sym, err = p.dim()
		}
		if err == nil {
			err = p.want(")")
		}
	case p.keyword("float"):
		v.Kind = SymFloat
	case p.keyword("bool") && !p.take("["):
		v.Kind = SymBool
	default:
		p.rest = rest
		v.Spec, err = p.meta()
	}
	s.values[name] = v
	return v, err
}

// meta reads a type such as f32[2, s0]{1,0}.
func (p *parser) meta() (tensor.Meta, error) {
	word := p.run(isSymbolName)
	m := tensor.Meta{DType: tensor.ParseScalarType(word), Sizes: []tensor.Dim{}}
	if m.DType == tensor.Undefined && word != m.DType.Short() {
		return m, fmt.Errorf("unknown element type %q", word)
	}
	err := p.items("[", "]", func() error {
		d, err := p.dim()
		m.Sizes = append(m.Sizes, d)
		return err
	})
	if err == nil {
		m.DimOrder, err = p.order()
	}
	return m, err
}

// order reads a dim order such as {1,0}, nil where there is none.
func (p *parser) order() ([]uint8, error) {
	if !strings.HasPrefix(p.rest, "{") {
		return nil, nil
	}
	list, err := p.counts("{", "}")
	order := make([]uint8, len(list))
	for i, d := range list {
		if d > math.MaxUint8 {
			return nil, fmt.Errorf("dim order %v", list)
		}
		order[i] = uint8(d)
	}
	return order, err
}

// call reads "ns::op.overload(args)".
func (p *parser) call(s *scope) (*Schema, []Arg, error) {
	name := p.run(func(c byte) bool { return isWord(c) || c == ':' })
	op := LookupSchema(name)
	switch {
	case name == CallDelegate.Name:
		op = CallDelegate
	case strings.HasPrefix(name, "higher_order::"):
		op = &Schema{Name: name, Kind: "hop"}
	}
	if op == nil {
		return nil, nil, fmt.Errorf("no operator %q", name)
	}
	var args []Arg
	named := map[int]Arg{}
	err := p.items("(", ")", func() error {
		at, err := p.argName(op)
		if err != nil {
			return err
		}
		var a Arg
		switch { // the lines of a graph and of a module follow the call
		case op.Kind == "hop" && s.graph != nil && p.keyword("graph"):
			a.Kind = ArgGraph
		case op == CallDelegate && s.graph != nil && p.keyword("lowered"):
			a.Kind = ArgLowered
		default:
			a, err = p.arg(s)
		}
		if at >= 0 {
			named[at] = a
		} else {
			args = append(args, a)
		}
		return err
	})
	if err == nil && op.Kind != "hop" {
		args, err = fill(op, args, named)
	}
	return op, args, err
}

// argName reads "name=", and gives the argument's place; -1 for a positional one.
func (p *parser) argName(op *Schema) (int, error) {
	before := p.rest
	word := p.run(isWord)
	if word == "" || !p.take("=") {
		p.rest = before
		return -1, nil
	}
	at := op.Arg(word)
	if at < 0 {
		return -1, fmt.Errorf("%s has no argument %q", op.Name, word)
	}
	return at, nil
}

// fill puts named arguments and defaults behind the positional ones.
func fill(op *Schema, args []Arg, named map[int]Arg) ([]Arg, error) {
	if len(args) > len(op.Args) {
		return nil, fmt.Errorf("%d arguments of %s, want at most %d", len(args), op.Name, len(op.Args))
	}
	for i := len(args); i < len(op.Args); i++ {
		a, given := named[i]
		switch {
		case given:
		case op.Args[i].HasDefault:
			a = op.Args[i].Default
		default:
			return nil, fmt.Errorf("argument %s of %s is missing", op.Args[i].Name, op.Name)
		}
		args = append(args, a)
		delete(named, i)
	}
	if len(named) > 0 {
		return nil, fmt.Errorf("an argument of %s is given twice", op.Name)
	}
	return args, nil
}

// argWords are the arguments that are one word.
var argWords = map[string]Arg{
	"None": {}, "true": {Kind: ArgBool, Int: 1}, "false": {Kind: ArgBool},
	"inf": {Kind: ArgFloat, Float: math.Inf(1)}, "nan": {Kind: ArgFloat, Float: math.NaN()},
	"torch.strided": {Kind: ArgLayout},
}

func init() {
	for i, name := range memoryFormats {
		argWords[name] = Arg{Kind: ArgMemoryFormat, Int: int64(i)}
	}
}

func (p *parser) arg(s *scope) (Arg, error) {
	p.space()
	switch {
	case p.take("%"):
		return p.valueRef(s)
	case strings.HasPrefix(p.rest, "@"):
		v, err := p.constantRef()
		return ToArg(v), err
	case strings.HasPrefix(p.rest, `"`):
		text, err := p.quoted()
		return Arg{Kind: ArgString, Str: text}, err
	case strings.HasPrefix(p.rest, "["):
		list, err := p.list(s)
		return Arg{Kind: ArgList, List: list}, err
	}
	if a, ok, err := p.wordArg(); ok {
		return a, err
	}
	if x, ok := p.float(); ok {
		return Arg{Kind: ArgFloat, Float: x}, nil
	}
	d, err := p.dim()
	return Arg{Kind: ArgInt, Int: d}, err
}

func (p *parser) valueRef(s *scope) (Arg, error) {
	name, err := p.name()
	if err == nil && s.values[name] == nil {
		err = fmt.Errorf("value %q is not defined before", name)
	}
	return ToArg(s.values[name]), err
}

// wordArg reads an argument that begins with a word, unless that is a size.
func (p *parser) wordArg() (a Arg, ok bool, err error) {
	before := p.rest
	word := p.run(isWord)
	if a, ok = argWords[word]; ok {
		return a, true, nil
	}
	if word == "device" {
		if err = p.want("("); err == nil {
			a.Kind = ArgDevice
			a.Str, err = p.quoted()
		}
		if err == nil {
			err = p.want(")")
		}
		return a, true, err
	}
	if name, found := strings.CutPrefix(word, "torch."); found {
		t := tensor.ParseScalarType(name)
		if t.String() != name {
			err = fmt.Errorf("unknown %q", word)
		}
		return Arg{Kind: ArgDType, Int: int64(t)}, true, err
	}
	p.rest = before
	return a, false, nil
}

// float reads a number that shows to be no integer.
func (p *parser) float() (float64, bool) {
	end := 0
	for end < len(p.rest) && (isNumeral(p.rest[end]) || strings.IndexByte("+-.einf", p.rest[end]) >= 0) {
		end++
	}
	if !strings.ContainsAny(p.rest[:end], ".ei") {
		return 0, false
	}
	x, err := strconv.ParseFloat(p.rest[:end], 64)
	if err != nil {
		return 0, false
	}
	p.rest = p.rest[end:]
	return x, true
}

func (p *parser) list(s *scope) ([]Arg, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("nested too deeply")
	}
	defer func() { p.depth-- }()
	list := []Arg{}
	err := p.items("[", "]", func() error {
		a, err := p.arg(s)
		list = append(list, a)
		return err
	})
	return list, err
}

// origin reads "12 model.py:25 encoder.layer" after the #.
func (p *parser) origin(o *Origin) (err error) {
	if o.DebugHandle, err = p.count(); err != nil {
		return err
	}
	if p.space(); p.rest == "" {
		return nil
	}
	if !p.take("-") {
		f := Frame{}
		if f.File, err = p.name(); err == nil {
			err = p.want(":")
		}
		if err == nil {
			f.Line, err = p.count()
		}
		o.Frames = []Frame{f}
	}
	if p.space(); err == nil && p.rest != "" {
		o.Module, err = p.name()
	}
	return err
}
