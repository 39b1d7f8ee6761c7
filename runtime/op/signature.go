package op

import (
	"slices"
	"strings"
)

// Param is one argument of a schema.
type Param struct {
	// Type is ATen's type without annotations, such as "Tensor", "Tensor[]", "float" or "int[2]?".
	Type string
	Name string
	// Out reports an out argument, InPlace one that is written and is no out argument.
	Out, InPlace bool

	kinds uint16 // bit k: values of Kind k are taken; 0: all
	float bool   // whether an Int is taken as a Float
}

// Float reports a parameter whose numbers are floats: an Int among its values stands for one.
func (p *Param) Float() bool { return p.float }

// Takes reports whether v is of a kind that the parameter's type allows, its members too.
func (p *Param) Takes(v *Value) bool {
	switch {
	case p.kinds == 0:
		return true
	case p.kinds>>v.Kind&1 == 0:
		return false
	case v.Kind == Tensors:
		return strings.HasPrefix(p.Type, "Tensor?") || !slices.Contains(v.Tensors, nil)
	}
	return v.Kind != Tensor || v.Tensor != nil
}

// kindsOf is Param.kinds of a type. A list of a given length may be a number, which stands for all members.
func kindsOf(typ string) uint16 {
	base, optional := strings.CutSuffix(typ, "?")
	base, _, list := strings.Cut(base, "[")
	one, many := baseKinds(strings.TrimSuffix(base, "?"))
	kinds := one
	switch {
	case one == 0:
		return 0
	case list && one == 1<<Tensor:
		kinds = many
	case list:
		kinds = one | many
	}
	if optional {
		kinds |= 1 << None
	}
	return kinds
}

// baseKinds are the kinds of a value of a type, and of a list of them.
func baseKinds(base string) (one, many uint16) {
	switch base {
	case "Tensor":
		return 1 << Tensor, 1 << Tensors
	case "int", "SymInt", "ScalarType", "MemoryFormat", "bool":
		return 1<<Int | 1<<Bool, 1<<Ints | 1<<Bools
	case "float", "Scalar":
		return 1<<Int | 1<<Bool | 1<<Float, 1<<Ints | 1<<Bools | 1<<Floats
	case "str":
		return 1 << String, 0
	}
	return 0, 0
}

// Signature is a schema taken apart.
type Signature struct {
	// Name is the operator with its overload, such as "aten::add.out".
	Name   string
	Params []Param
	// Ins are the parameters but the outs.
	Ins []*Param

	inPlace []int // for each out the argument of Ins that it is, or -1 for an out argument
}

// ParseSignature takes a schema in ATen's notation apart, defaults and results left out.
func ParseSignature(schema string) Signature {
	name, rest, _ := strings.Cut(schema, "(")
	s := Signature{Name: name, Params: parseParams(rest)}
	for i := range s.Params {
		p := &s.Params[i]
		if p.Out {
			s.inPlace = append(s.inPlace, -1)
			continue
		}
		if p.InPlace {
			s.inPlace = append(s.inPlace, len(s.Ins))
		}
		s.Ins = append(s.Ins, p)
	}
	return s
}

// parseParams takes parameters apart, up to the parenthesis after the last one.
func parseParams(list string) (params []Param) {
	keyword, depth, from := false, 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '(', '[':
			depth++
		case ']':
			depth--
		case ')', ',':
			if depth > 0 {
				if list[i] == ')' {
					depth--
				}
				continue
			}
			text := strings.TrimSpace(list[from:i])
			from = i + 1
			if text == "*" {
				keyword = true
			} else if text != "" {
				params = append(params, parseParam(text, keyword))
			}
			if list[i] == ')' {
				return params
			}
		}
	}
	return params
}

func parseParam(text string, keyword bool) Param {
	text, _, _ = strings.Cut(text, "=")
	typ, name := text, ""
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		typ, name = text[:i], text[i+1:]
	}
	p := Param{Type: typ, Name: name, kinds: kindsOf(typ), float: strings.HasPrefix(typ, "float")}
	open, end := strings.IndexByte(typ, '('), strings.IndexByte(typ, ')')
	if open < 0 || end < open {
		return p
	}
	p.Type = typ[:open] + typ[end+1:]
	p.kinds = kindsOf(p.Type)
	if strings.Contains(typ[open:end], "!") {
		p.Out, p.InPlace = keyword, !keyword
	}
	return p
}
