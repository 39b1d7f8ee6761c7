package exir

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ParseMethod reads what Method.Text wrote, and the same by hand: empty lines and lines that begin with # mean
// nothing. Symbols are declared in symbols. The error says at which line, counted from 1, it happened. A method that
// is read need not be a valid one: Verify says that.
func ParseMethod(text string, symbols Symbols) (*Method, error) {
	p := &parser{
		dims:   dims{scanner: &scanner{}, symbols: symbols, known: map[string]tensor.Dim{}},
		method: &Method{Graph: &Graph{}}, consts: map[string]*Value{},
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && trimmed[0] != '#' {
			p.lines = append(p.lines, sourceLine{i + 1, len(line) - len(strings.TrimLeft(line, " ")), trimmed})
		}
	}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("parse text line %d: %w", p.line(), err)
	}
	return p.method, nil
}

// line is the number of the present line.
func (p *parser) line() int {
	if p.at == 0 {
		return 0
	}
	return p.lines[p.at-1].number
}

type sourceLine struct {
	number, indent int
	text           string
}

// parser reads a method line by line.
type parser struct {
	dims
	lines  []sourceLine
	at     int // the next line
	method *Method
	consts map[string]*Value
	graphs int // how deep the present graph is nested
}

// scope is the names in one graph.
type scope struct {
	graph  *Graph
	values map[string]*Value
}

// next makes the next line the present one, if it has this indent.
func (p *parser) next(indent int) bool {
	if p.at >= len(p.lines) || p.lines[p.at].indent != indent {
		return false
	}
	p.rest = p.lines[p.at].text
	p.at++
	return true
}

func (p *parser) parse() error {
	s := &scope{graph: p.method.Graph, values: map[string]*Value{}}
	for p.next(0) {
		if err := p.declaration(s); err != nil {
			return err
		}
		if err := p.end(); err != nil {
			return err
		}
	}
	if p.at < len(p.lines) {
		p.at++
		return errors.New("unexpected indent")
	}
	for i := range p.method.Ranges { // only now, so that no expression is simplified further than it was
		r := &p.method.Ranges[i]
		p.symbols.Symbol(r.Name, r.Min, r.Max, r.Hint)
	}
	return nil
}

// declaration reads a line of a method.
func (p *parser) declaration(s *scope) error {
	if strings.HasPrefix(p.rest, "%") || strings.HasPrefix(p.rest, "_") || strings.HasPrefix(p.rest, "(") {
		return p.node(s, 0)
	}
	word := p.run(isWord)
	for kind, w := range inputWords {
		if w == word {
			return p.input(s, InputKind(kind))
		}
	}
	switch word {
	case "method", "in_spec", "out_spec":
		return p.header(word)
	case "symbol":
		return p.symbol()
	case "const":
		return p.constant()
	case "output", "mutate":
		return p.output(s, word)
	}
	return fmt.Errorf("unexpected %q", word)
}

func (p *parser) header(word string) (err error) {
	switch word {
	case "method":
		p.method.Name, err = p.name()
	case "in_spec":
		p.method.InSpec, err = p.quoted()
	default:
		p.method.OutSpec, err = p.quoted()
	}
	return err
}

// symbol reads "s0 in [2, inf] hint 4".
func (p *parser) symbol() error {
	name := p.run(isSymbolName)
	if name == "" || isNumeral(name[0]) || p.known[name] != 0 {
		return fmt.Errorf("unusable symbol name %q", name)
	}
	r := SymbolRange{Name: name}
	var ends []int64
	err := p.want("in")
	if err == nil {
		err = p.items("[", "]", func() error {
			n, err := p.rangeEnd()
			ends = append(ends, n)
			return err
		})
	}
	if err == nil && (len(ends) != 2 || ends[0] > ends[1]) {
		err = fmt.Errorf("unusable range %v", ends)
	}
	if err == nil {
		err = p.want("hint")
	}
	if err != nil {
		return err
	}
	r.Min, r.Max = ends[0], ends[1]
	if r.Hint, err = p.integer(); err != nil {
		return err
	}
	r.Dim = p.symbols.Symbol(name, math.MinInt64, math.MaxInt64, r.Hint)
	p.known[name] = r.Dim
	p.method.Ranges = append(p.method.Ranges, r)
	return nil
}

func (p *parser) rangeEnd() (int64, error) {
	switch {
	case p.take("-inf"):
		return math.MinInt64, nil
	case p.take("inf"):
		return math.MaxInt64, nil
	}
	return p.integer()
}

// constant reads "@name: f32[2] = " and a literal, a weight or an expression.
func (p *parser) constant() error {
	if err := p.want("@"); err != nil {
		return err
	}
	name, err := p.name()
	if err != nil {
		return err
	}
	if p.consts[name] != nil {
		return fmt.Errorf("constant %q is defined twice", name)
	}
	c := &Constant{Name: name}
	if err := p.want(":"); err != nil {
		return err
	}
	if c.Meta, err = p.meta(); err != nil {
		return err
	}
	if err := p.want("="); err != nil {
		return err
	}
	if err := p.definition(c); err != nil {
		return err
	}
	p.consts[name] = &Value{Name: name, Spec: c.Meta, Const: c}
	return nil
}

func (p *parser) definition(c *Constant) (err error) {
	switch {
	case p.keyword("literal"):
		c.Literal = true
		c.Data, err = p.contents(&c.Meta)
	case p.keyword("initial"):
		c.Data, err = p.contents(&c.Meta)
	case p.keyword("weight"):
		c.Weight = &Weight{}
		err = p.items("(", ")", func() error { return p.weight(c.Weight) })
	default:
		c.Node = &ConstExpr{}
		if c.Node.Op, c.Node.Args, err = p.call(&scope{values: map[string]*Value{}}); err == nil && p.take("[") {
			if c.Node.Out, err = p.count(); err == nil {
				err = p.want("]")
			}
		}
	}
	return err
}

// contents reads the bytes of a tensor of type m.
func (p *parser) contents(m *tensor.Meta) ([]byte, error) {
	data, err := p.hex()
	if err != nil {
		return nil, err
	}
	want := uint64(m.DType.Size())
	for _, d := range m.Sizes {
		if tensor.IsSymbol(d) || d < 0 || d > math.MaxInt32 || want > math.MaxInt32 {
			return nil, errors.New("a constant of unknown or very large size has contents")
		}
		want *= uint64(d)
	}
	if uint64(len(data)) != want {
		return nil, fmt.Errorf("%d bytes, want %d", len(data), want)
	}
	return data, nil
}

// weight reads one key=value.
func (p *parser) weight(w *Weight) (err error) {
	key := p.run(isWord)
	if err := p.want("="); err != nil {
		return err
	}
	switch key {
	case "record":
		w.Record, err = p.quoted()
	case "key":
		w.Key, err = p.quoted()
	case "model":
		w.Model, err = p.quoted()
	case "offset":
		w.Offset, err = p.count()
	case "size":
		w.Size, err = p.count()
	case "strides":
		w.Strides, err = p.counts("[", "]")
	case "start":
		w.StorageOffset, err = p.count()
	default:
		err = fmt.Errorf("unknown part %q of a weight", key)
	}
	return err
}

func (p *parser) input(s *scope, kind InputKind) (err error) {
	spec := InputSpec{Kind: kind, Persistent: persistent(kind)}
	switch {
	case p.take("(persistent)"):
		spec.Persistent = true
	case p.take("(non_persistent)"):
		spec.Persistent = false
	}
	if kind != UserInput && !strings.HasPrefix(strings.TrimLeft(p.rest, " "), "=") {
		if spec.Target, err = p.name(); err != nil {
			return err
		}
	}
	var v *Value
	if kind == ConstantInput {
		if err = p.want("="); err == nil {
			spec.Value, err = p.arg(s)
		}
	} else {
		v, err = p.placeholder(s)
	}
	p.method.Inputs = append(p.method.Inputs, spec)
	s.graph.Inputs = append(s.graph.Inputs, v)
	return err
}

// placeholder reads a graph's input, or None.
func (p *parser) placeholder(s *scope) (*Value, error) {
	if p.keyword("None") {
		return nil, nil
	}
	v, err := p.value(s)
	if err == nil && p.take("=") {
		var c *Value
		if c, err = p.constantRef(); err == nil {
			v.Const = c.Const
		}
	}
	return v, err
}

func (p *parser) constantRef() (*Value, error) {
	if err := p.want("@"); err != nil {
		return nil, err
	}
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if v := p.consts[name]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("constant %q is not defined", name)
}

func (p *parser) output(s *scope, word string) (err error) {
	var spec OutputSpec
	if word == "mutate" {
		if spec.Kind = BufferMutation; p.keyword("input") {
			spec.Kind = UserInputMutation
		} else if !p.keyword("buffer") {
			return fmt.Errorf("want buffer or input at %.30q", p.rest)
		}
		if spec.Target, err = p.name(); err == nil {
			err = p.want("=")
		}
	}
	if err != nil {
		return err
	}
	a, err := p.arg(s)
	p.method.Outputs = append(p.method.Outputs, spec)
	s.graph.Outputs = append(s.graph.Outputs, a)
	return err
}

// nested reads the graph below a node whose line has this indent.
func (p *parser) nested(indent int) (*Graph, error) {
	if p.graphs++; p.graphs > maxNesting {
		return nil, errors.New("graphs nested too deeply")
	}
	defer func() { p.graphs-- }()
	if !p.next(indent+2) || !p.take("graph:") {
		return nil, errors.New("want graph: and the graph, indented")
	}
	s := &scope{graph: &Graph{}, values: map[string]*Value{}}
	for p.next(indent + 4) {
		var err error
		switch {
		case p.keyword("input"):
			var v *Value
			v, err = p.placeholder(s)
			s.graph.Inputs = append(s.graph.Inputs, v)
		case p.keyword("return"):
			s.graph.Outputs, err = p.list(s)
			if err == nil {
				err = p.end()
			}
			return s.graph, err
		default:
			err = p.node(s, indent+4)
		}
		if err == nil {
			err = p.end()
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the graph does not return")
}
