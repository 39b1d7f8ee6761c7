package op

import "strings"

// Param is one argument of a schema.
type Param struct {
	// Type is ATen's type without annotations, such as "Tensor", "Tensor[]", "float" or "int[2]?".
	Type string
	Name string
	// Out reports an out argument, InPlace one that is written and is no out argument.
	Out, InPlace bool
}

// Signature is a schema taken apart.
type Signature struct {
	// Name is the operator with its overload, such as "aten::add.out".
	Name   string
	Params []Param
}

// ParseSignature takes a schema in ATen's notation apart, defaults and results left out.
func ParseSignature(schema string) Signature {
	name, rest, _ := strings.Cut(schema, "(")
	s := Signature{Name: name}
	keyword, depth, from := false, 0, 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '(', '[':
			depth++
		case ']':
			depth--
		case ')', ',':
			if depth > 0 {
				if rest[i] == ')' {
					depth--
				}
				continue
			}
			text := strings.TrimSpace(rest[from:i])
			from = i + 1
			if text == "*" {
				keyword = true
			} else if text != "" {
				s.Params = append(s.Params, parseParam(text, keyword))
			}
			if rest[i] == ')' {
				return s
			}
		}
	}
	return s
}

func parseParam(text string, keyword bool) Param {
	text, _, _ = strings.Cut(text, "=")
	typ, name := text, ""
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		typ, name = text[:i], text[i+1:]
	}
	p := Param{Type: typ, Name: name}
	open, end := strings.IndexByte(typ, '('), strings.IndexByte(typ, ')')
	if open < 0 || end < open {
		return p
	}
	p.Type = typ[:open] + typ[end+1:]
	if strings.Contains(typ[open:end], "!") {
		p.Out, p.InPlace = keyword, !keyword
	}
	return p
}
