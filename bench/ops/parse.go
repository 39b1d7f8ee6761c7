package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// operand is a tensor of a call.
type operand struct {
	meta tensor.Meta
	// constant says that it lies in the program, as weights do, and is no input.
	constant bool
	// below, if not 0, is what all elements are less than; they are not negative then.
	below int64
}

// call is an operator with arguments: a Value holds numbers, text and lists of integers, tensors lie beside it.
type call struct {
	text, op string
	args     []op.Value
	// tensors has the operands of each argument: one for a tensor, several for a list of tensors.
	tensors [][]operand
	// out is the element type of the result if the operator leaves that open, else Undefined.
	out tensor.ScalarType
}

// parser reads the text of a call.
type parser struct{ rest string }

// parseCall reads a call, such as
//
//	add.out(f32[256,256], f32[256,1], 1)
//	_to_copy.out(f32[65536], false, none) -> f16
//
// The operator is the out variant, of aten if it names no other namespace. An argument is a tensor, a number, true, false,
// none, a 'string', or a list of tensors or of integers. A tensor is the short name of its type, its sizes and perhaps
// <N, which bounds its elements; after = it is a constant.
func parseCall(text string) (*call, error) {
	c := &call{text: text, out: tensor.Undefined}
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return nil, fmt.Errorf("parse call %q: no arguments", text)
	}
	c.op = name
	if !strings.Contains(name, "::") {
		c.op = "aten::" + name
	}
	p := parser{rest}
	for !p.take(")") {
		if err := p.arg(c); err != nil {
			return nil, fmt.Errorf("parse call %q before %q: %w", text, p.rest, err)
		}
		p.take(",")
	}
	if p.take("->") {
		c.out = tensor.ParseScalarType(p.word())
	}
	if p.rest != "" {
		return nil, fmt.Errorf("parse call %q: %q is left", text, p.rest)
	}
	return c, nil
}

// take skips blanks, and then text if it comes next.
func (p *parser) take(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), text)
	if ok {
		p.rest = rest
	}
	return ok
}

// word is what comes before the next mark.
func (p *parser) word() string {
	p.take("")
	n := strings.IndexAny(p.rest, ",()[]<> ")
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

func (p *parser) arg(c *call) error {
	if !p.take("[") {
		v, t, err := p.value()
		c.args = append(c.args, v)
		if t != nil {
			c.tensors = append(c.tensors, []operand{*t})
		} else {
			c.tensors = append(c.tensors, nil)
		}
		return err
	}
	list := op.Value{Kind: op.Ints}
	var tensors []operand
	for !p.take("]") {
		v, t, err := p.value()
		switch {
		case err != nil:
			return err
		case t != nil:
			list.Kind = op.Tensors
			tensors = append(tensors, *t)
		default:
			list.Ints = append(list.Ints, v.Int)
		}
		p.take(",")
	}
	c.args, c.tensors = append(c.args, list), append(c.tensors, tensors)
	return nil
}

// value is an argument that is no list.
func (p *parser) value() (op.Value, *operand, error) {
	constant := p.take("=")
	w := p.word()
	if dtype := tensor.ParseScalarType(w); dtype != tensor.Undefined {
		t, err := p.operand(dtype)
		if err == nil {
			t.constant = constant
		}
		return op.Value{Kind: op.Tensor}, t, err
	}
	v, err := scalar(w)
	return v, nil, err
}

func scalar(w string) (op.Value, error) {
	switch {
	case w == "none":
		return op.Value{}, nil
	case w == "true":
		return op.Value{Kind: op.Bool, Int: 1}, nil
	case w == "false":
		return op.Value{Kind: op.Bool}, nil
	case strings.HasPrefix(w, "'"):
		return op.Value{Kind: op.String, Str: strings.Trim(w, "'")}, nil
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return op.Value{Kind: op.Int, Int: n}, nil
	}
	x, err := strconv.ParseFloat(w, 64)
	return op.Value{Kind: op.Float, Float: x}, err
}

func (p *parser) operand(dtype tensor.ScalarType) (*operand, error) {
	t := &operand{meta: tensor.Meta{DType: dtype}}
	if !p.take("[") {
		return nil, errors.New("a tensor has no sizes")
	}
	for !p.take("]") {
		n, err := strconv.ParseInt(p.word(), 10, 64)
		if err != nil {
			return nil, err
		}
		t.meta.Sizes = append(t.meta.Sizes, n)
		p.take(",")
	}
	var err error
	if p.take("<") {
		t.below, err = strconv.ParseInt(p.word(), 10, 64)
	}
	return t, err
}
