package symint

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Parse reads an integer expression in the form of sympy's srepr, as
// torch.export writes them: Add(Symbol('s0', positive=True, integer=True), Integer(1)).
// A symbol that the table lacks is declared with the range that its assumptions give.
func (t *Table) Parse(srepr string) (Dim, error) {
	return t.ParseWith(srepr, func(name string, positive bool) (Dim, error) {
		if d, ok := t.Lookup(name); ok {
			return d, nil
		}
		lo := int64(math.MinInt64)
		if positive {
			lo = 1
		}
		return t.Symbol(name, lo, math.MaxInt64, 0), nil
	})
}

// ParseWith is Parse with symbols found by a function; positive tells that the
// expression declares the symbol positive.
func (t *Table) ParseWith(srepr string, symbol func(name string, positive bool) (Dim, error)) (Dim, error) {
	before := t.opaque
	p := &parser{t: t, rest: srepr, symbol: symbol}
	d, err := p.expr(0)
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("unexpected %.20q after the end", p.rest)
	}
	if err == nil && before != t.opaque {
		err = errors.New("too large, or divides by zero")
	}
	if err != nil {
		return 0, fmt.Errorf("parse expression %.80q: %w", srepr, err)
	}
	return d, nil
}

// ErrUnsupported is the error of an expression that is well formed and has no form here.
var ErrUnsupported = errors.New("not an expression that is supported")

const maxDepth = 100

type parser struct {
	t      *Table
	rest   string
	symbol func(string, bool) (Dim, error)
}

func (p *parser) take(s string) bool {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

func (p *parser) word() string {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	i := 0
	for i < len(p.rest) && strings.IndexByte("(),='\" ", p.rest[i]) < 0 {
		i++
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *parser) expr(depth int) (Dim, error) {
	name := p.word()
	if depth > maxDepth {
		return 0, errors.New("nested too deeply")
	}
	if !p.take("(") {
		return 0, fmt.Errorf("want NAME( at %.20q", name+p.rest)
	}
	switch name {
	case "Symbol":
		return p.symbolExpr()
	case "Integer":
		return p.integer()
	}
	if rounding, ok := roundings[name]; ok {
		r, err := p.real(depth + 1)
		if err == nil && !p.take(")") {
			err = fmt.Errorf("want ) at %.20q", p.rest)
		}
		if err != nil {
			return 0, err
		}
		return p.t.round(rounding.op, r), nil
	}
	args, err := arguments(p, depth, p.expr)
	if err != nil {
		return 0, err
	}
	return p.call(name, args)
}

// arguments reads what read gives, up to the closing bracket.
func arguments[T any](p *parser, depth int, read func(depth int) (T, error)) ([]T, error) {
	var args []T
	for {
		a, err := read(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if p.take(",") {
			continue
		}
		if !p.take(")") {
			return nil, fmt.Errorf("want , or ) at %.20q", p.rest)
		}
		return args, nil
	}
}

func (p *parser) integer() (Dim, error) {
	w := p.word()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || !p.take(")") || !representable(n) {
		return 0, fmt.Errorf("unusable integer %.30q", w)
	}
	return n, nil
}

func (p *parser) symbolExpr() (Dim, error) {
	if !p.take("'") {
		return 0, errors.New("symbol without a quoted name")
	}
	name, rest, ok := strings.Cut(p.rest, "'")
	if !ok || !identifier(name) {
		return 0, fmt.Errorf("unusable symbol name %.20q", name)
	}
	p.rest = rest
	assumptions, rest, ok := strings.Cut(p.rest, ")")
	if !ok {
		return 0, errors.New("symbol not closed")
	}
	p.rest = rest
	return p.symbol(name, strings.Contains(assumptions, "positive=True"))
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9') && s != "max" && s != "min"
}

// fold maps operators with any number of arguments.
var folds = map[string]opKind{"Add": opAdd, "Mul": opMul, "Max": opMax, "Min": opMin}

var binaries = map[string]func(t *Table, a, b Dim) (Dim, error){
	"FloorDiv": divide, "CleanDiv": divide, "TruncDiv": truncDivide, "CeilDiv": ceilDivide,
	"Mod": modulo, "PythonMod": modulo, "Pow": power, "PowByNatural": power,
	"LShift": func(t *Table, a, b Dim) (Dim, error) { return shift(a, b, t.Mul) },
	"RShift": func(t *Table, a, b Dim) (Dim, error) { return shift(a, b, t.FloorDiv) },
}

func (p *parser) call(name string, args []Dim) (Dim, error) {
	if op, ok := folds[name]; ok {
		d := args[0]
		for _, a := range args[1:] {
			d = p.t.apply(op, d, a)
		}
		return d, nil
	}
	if f, ok := binaries[name]; ok && len(args) == 2 {
		return f(p.t, args[0], args[1])
	}
	switch {
	case name == "Identity" && len(args) == 1:
		return args[0], nil
	case name == "ModularIndexing" && len(args) == 3:
		q, err := divide(p.t, args[0], args[1])
		if err != nil {
			return 0, err
		}
		return modulo(p.t, q, args[2])
	}
	return 0, fmt.Errorf("%s of %d arguments: %w", name, len(args), ErrUnsupported)
}

var errZero = errors.New("division by zero")

func divide(t *Table, a, b Dim) (Dim, error) {
	if b == 0 {
		return 0, errZero
	}
	return t.FloorDiv(a, b), nil
}

func modulo(t *Table, a, b Dim) (Dim, error) {
	if b == 0 {
		return 0, errZero
	}
	return t.Mod(a, b), nil
}

func ceilDivide(t *Table, a, b Dim) (Dim, error) {
	q, err := divide(t, t.Mul(a, -1), b)
	return t.Mul(q, -1), err
}

func truncDivide(t *Table, a, b Dim) (Dim, error) {
	al, _ := t.Bounds(a)
	bl, _ := t.Bounds(b)
	if al < 0 || bl < 0 {
		return 0, errors.New("truncating division of a number that may be negative")
	}
	return divide(t, a, b)
}

func power(t *Table, a, b Dim) (Dim, error) {
	if tensor.IsSymbol(b) || b < 0 || b > maxDegree {
		return 0, fmt.Errorf("power with exponent %s: %w", t.String(b), ErrUnsupported)
	}
	d := Dim(1)
	for range b {
		d = t.Mul(d, a)
	}
	return d, nil
}

func shift(a, b Dim, f func(a, b Dim) Dim) (Dim, error) {
	if tensor.IsSymbol(b) || b < 0 || b > 62 {
		return 0, fmt.Errorf("shift by no constant from 0 to 62: %w", ErrUnsupported)
	}
	return f(a, 1<<b), nil
}

// IsName reports whether s can be the name of a symbol.
func IsName(s string) bool { return identifier(s) }

// SymbolName is the name in an srepr that is a symbol and nothing else, or "".
func SymbolName(srepr string) string {
	rest, ok := strings.CutPrefix(srepr, "Symbol('")
	name, rest, quoted := strings.Cut(rest, "'")
	if !ok || !quoted || strings.IndexByte(rest, ')') != len(rest)-1 {
		return ""
	}
	return name
}
