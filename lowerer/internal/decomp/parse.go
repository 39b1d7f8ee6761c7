package decomp

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// A rules file has one composite operator a line; lines that start with a
// blank go on with the line before, # starts a comment:
//
//	mish(self) => self * tanh(softplus(self))
//	lerp.Scalar(self, end, weight) =>
//	    d = end - self;
//	    self + d * weight if weight < 0.5 else end - d * (1 - weight)
//
// The left side names an operator (of aten, unless it says so), with its overload, and those of its
// arguments that the right side uses. Every name before a bracket is an
// operator or one of the builtins in eval.go. The operators + - * / // and
// comparisons are those of tensors where one side is a tensor, else of numbers.
//
// A rule with ~> in the place of => computes in float32 what is narrower, and rounds its result once, as PyTorch's own
// kernels do.

//go:embed *.rules
var ruleFiles embed.FS

// rule is one line.
type rule struct {
	schema *exir.Schema
	wide   bool
	params []string
	lets   []let
	result *expr
}

type let struct {
	name  string
	value *expr
}

// expr is a node of an expression's tree.
type expr struct {
	// kind is one of: value name call list tuple if not neg index, or an infix operator.
	kind string
	name string
	num  any
	args []*expr
	keys []string // of args; empty for positional ones
}

var loadRules = sync.OnceValues(func() (map[string]*rule, error) {
	rules := map[string]*rule{}
	files, err := ruleFiles.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	for _, f := range files {
		text, err := ruleFiles.ReadFile(f.Name())
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		if err := parseFile(f.Name(), string(text), rules); err != nil {
			return nil, err
		}
	}
	return rules, nil
})

func ruleTable() map[string]*rule {
	rules, err := loadRules()
	if err != nil {
		panic(err)
	}
	return rules
}

func lookupRule(name string) *rule { return ruleTable()[name] }

// parseFile adds the rules of a file to rules.
func parseFile(name, text string, rules map[string]*rule) error {
	var line string
	start := 0
	flush := func() error {
		if line == "" {
			return nil
		}
		r, err := parseRule(line)
		line = ""
		if err != nil {
			return fmt.Errorf("parse %s:%d: %w", name, start, err)
		}
		if rules[r.schema.Name] != nil {
			return fmt.Errorf("parse %s:%d: a second rule for %s", name, start, r.schema.Name)
		}
		rules[r.schema.Name] = r
		return nil
	}
	for i, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		switch {
		case strings.TrimSpace(l) == "":
		case l[0] == ' ' || l[0] == '\t':
			line += " " + l
		default:
			if err := flush(); err != nil {
				return err
			}
			line, start = l, i+1
		}
	}
	return flush()
}

func parseRule(line string) (*rule, error) {
	left, right, ok := strings.Cut(line, ">")
	left, wide := strings.CutSuffix(left, "~")
	left, plain := strings.CutSuffix(left, "=")
	if !ok || wide == plain {
		return nil, fmt.Errorf("want OPERATOR(ARGUMENTS) => EXPRESSION")
	}
	op, params, ok := strings.Cut(strings.TrimSpace(left), "(")
	if !ok || !strings.HasSuffix(params, ")") {
		return nil, fmt.Errorf("left side %q: want OPERATOR(ARGUMENTS)", left)
	}
	r := &rule{schema: exir.LookupSchema(qualified(op)), wide: wide}
	if r.schema == nil {
		return nil, fmt.Errorf("left side: no operator %s", op)
	}
	for _, p := range strings.FieldsFunc(strings.TrimSuffix(params, ")"), func(c rune) bool { return c == ',' || c == ' ' }) {
		if r.schema.Arg(p) < 0 {
			return nil, fmt.Errorf("left side: %s has no argument %s", op, p)
		}
		r.params = append(r.params, p)
	}
	p := &parser{params: r.params}
	if err := p.lex(right); err != nil {
		return nil, err
	}
	return r, p.body(r)
}

// parser is a Pratt parser over tokens.
type parser struct {
	params []string // names of the rule's arguments, which hide constants
	tokens []string
	at     int
}

var symbols = []string{"//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "<", ">", "(", ")", "[", "]", ",", ";", "="}

func (p *parser) lex(text string) error {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		n := tokenLen(text)
		if n == 0 {
			return fmt.Errorf("cannot read %q", text)
		}
		p.tokens = append(p.tokens, text[:n])
		text = text[n:]
	}
	return nil
}

func tokenLen(text string) int {
	c := rune(text[0])
	switch {
	case c == '"':
		return strings.IndexByte(text[1:], '"') + 2
	case unicode.IsLetter(c) || c == '_':
		return len(text) - len(strings.TrimLeftFunc(text, func(c rune) bool {
			return c == '_' || c == '.' || c == ':' || unicode.IsLetter(c) || unicode.IsDigit(c)
		}))
	case unicode.IsDigit(c):
		n := 1
		for n < len(text) && (unicode.IsDigit(rune(text[n])) || strings.ContainsRune(".e", rune(text[n])) || text[n] == '-' && text[n-1] == 'e') {
			n++
		}
		return n
	}
	for _, s := range symbols {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	p.at++
	return t
}

// take skips the token t if it is next.
func (p *parser) take(t string) bool {
	if p.peek() != t {
		return false
	}
	p.at++
	return true
}

// body parses "name = expression; … expression".
func (p *parser) body(r *rule) error {
	for p.at+1 < len(p.tokens) && p.tokens[p.at+1] == "=" {
		name := p.next()
		p.next()
		x, err := p.expr(0)
		if err != nil {
			return err
		}
		if !p.take(";") {
			return fmt.Errorf("want ; after %s = …, not %q", name, p.peek())
		}
		r.lets = append(r.lets, let{name, x})
	}
	x, err := p.tuple()
	if err != nil {
		return err
	}
	if p.peek() != "" {
		return fmt.Errorf("unexpected %q", p.peek())
	}
	r.result = x
	return nil
}

// tuple parses one or more expressions between commas.
func (p *parser) tuple() (*expr, error) {
	x, err := p.expr(0)
	if err != nil || p.peek() != "," {
		return x, err
	}
	t := &expr{kind: "tuple", args: []*expr{x}}
	for p.take(",") {
		if x, err = p.expr(0); err != nil {
			return nil, err
		}
		t.args = append(t.args, x)
	}
	return t, nil
}

// precedence of infix operators; if is the weakest.
var precedence = map[string]int{
	"if": 1, "or": 2, "and": 3, "is": 5, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "in": 5,
	"+": 6, "-": 6, "*": 7, "/": 7, "//": 7,
}

func (p *parser) expr(least int) (*expr, error) {
	x, err := p.prefix()
	for err == nil {
		op := p.peek()
		prec := precedence[op]
		if prec <= least {
			break
		}
		p.next()
		x, err = p.infix(x, op, prec)
	}
	return x, err
}

func (p *parser) infix(left *expr, op string, prec int) (*expr, error) {
	switch op {
	case "if":
		cond, err := p.expr(1)
		if err != nil {
			return nil, err
		}
		if !p.take("else") {
			return nil, fmt.Errorf("want else, not %q", p.peek())
		}
		other, err := p.expr(0)
		return &expr{kind: "if", args: []*expr{cond, left, other}}, err
	case "is":
		not := p.take("not")
		if !p.take("None") {
			return nil, fmt.Errorf("want None after is, not %q", p.peek())
		}
		x := &expr{kind: "isnone", args: []*expr{left}}
		if not {
			x = &expr{kind: "not", args: []*expr{x}}
		}
		return x, nil
	}
	right, err := p.expr(prec)
	return &expr{kind: op, args: []*expr{left, right}}, err
}

func (p *parser) prefix() (*expr, error) {
	t := p.next()
	switch {
	case t == "(":
		return p.closed(")")
	case t == "[":
		x, err := p.arguments("]")
		if x != nil {
			x.kind = "list"
		}
		return p.postfix(x, err)
	case t == "-":
		x, err := p.expr(8)
		return &expr{kind: "neg", args: []*expr{x}}, err
	case t == "not":
		x, err := p.expr(4)
		return &expr{kind: "not", args: []*expr{x}}, err
	case t == "":
		return nil, fmt.Errorf("unexpected end")
	case t[0] == '"':
		return &expr{kind: "value", num: t[1 : len(t)-1]}, nil
	case unicode.IsDigit(rune(t[0])):
		return number(t)
	case t[0] == '_' || unicode.IsLetter(rune(t[0])):
		return p.name(t)
	}
	return nil, fmt.Errorf("unexpected %q", t)
}

func (p *parser) closed(end string) (*expr, error) {
	x, err := p.expr(0)
	if err == nil && !p.take(end) {
		err = fmt.Errorf("want %s, not %q", end, p.peek())
	}
	return p.postfix(x, err)
}

// postfix parses [index] after x.
func (p *parser) postfix(x *expr, err error) (*expr, error) {
	for err == nil && p.take("[") {
		var i *expr
		i, err = p.expr(0)
		if err == nil && !p.take("]") {
			err = fmt.Errorf("want ], not %q", p.peek())
		}
		x = &expr{kind: "index", args: []*expr{x, i}}
	}
	return x, err
}

func number(t string) (*expr, error) {
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return &expr{kind: "value", num: n}, nil
	}
	f, err := strconv.ParseFloat(t, 64)
	return &expr{kind: "value", num: f}, err
}

func (p *parser) name(t string) (*expr, error) {
	if v, ok := constants[t]; ok && !slices.Contains(p.params, t) {
		return &expr{kind: "value", num: v}, nil
	}
	if !p.take("(") {
		return p.postfix(&expr{kind: "name", name: t}, nil)
	}
	x, err := p.arguments(")")
	if err != nil {
		return nil, err
	}
	x.kind, x.name = "call", t
	return p.postfix(x, nil)
}

// arguments parses "a, b, key=c" and the closing bracket.
func (p *parser) arguments(end string) (*expr, error) {
	x := &expr{}
	for !p.take(end) {
		key := ""
		if p.at+1 < len(p.tokens) && p.tokens[p.at+1] == "=" {
			key = p.next()
			p.next()
		}
		a, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		x.args, x.keys = append(x.args, a), append(x.keys, key)
		if !p.take(",") && p.peek() != end {
			return nil, fmt.Errorf("want , or %s, not %q", end, p.peek())
		}
	}
	return x, nil
}

// qualified is the full name of an operator, which is ATen's where it names no other namespace.
func qualified(op string) string {
	if strings.Contains(op, "::") {
		return op
	}
	return "aten::" + op
}
