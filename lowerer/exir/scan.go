package exir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// scanner reads one line of a text from left to right.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " ") }

// take consumes t, if that is next.
func (s *scanner) take(t string) bool {
	s.space()
	rest, ok := strings.CutPrefix(s.rest, t)
	s.rest = rest
	return ok
}

// want consumes t or says that it is missing.
func (s *scanner) want(t string) error {
	if !s.take(t) {
		return fmt.Errorf("want %q at %.30q", t, s.rest)
	}
	return nil
}

// end wants nothing more.
func (s *scanner) end() error {
	if s.space(); s.rest != "" {
		return fmt.Errorf("unexpected %.30q", s.rest)
	}
	return nil
}

// run consumes the characters that ok accepts.
func (s *scanner) run(ok func(c byte) bool) string {
	s.space()
	i := 0
	for i < len(s.rest) && ok(s.rest[i]) {
		i++
	}
	text := s.rest[:i]
	s.rest = s.rest[i:]
	return text
}

// keyword consumes word, if that is the whole next word.
func (s *scanner) keyword(word string) bool {
	before := s.rest
	if s.run(isWord) == word {
		return true
	}
	s.rest = before
	return false
}

// name reads a word, or a quoted name.
func (s *scanner) name() (string, error) {
	if s.space(); strings.HasPrefix(s.rest, `"`) {
		return s.quoted()
	}
	if w := s.run(isWord); w != "" {
		return w, nil
	}
	return "", fmt.Errorf("want a name at %.30q", s.rest)
}

func (s *scanner) quoted() (string, error) {
	s.space()
	q, err := strconv.QuotedPrefix(s.rest)
	if err != nil || q[0] != '"' {
		return "", fmt.Errorf("want a quoted text at %.30q", s.rest)
	}
	s.rest = s.rest[len(q):]
	return strconv.Unquote(q)
}

func isNumeral(c byte) bool { return c >= '0' && c <= '9' }

func isSymbolName(c byte) bool { return isWord(c) || c == '?' }

// integer reads digits with an optional minus.
func (s *scanner) integer() (int64, error) {
	s.space()
	sign := ""
	if strings.HasPrefix(s.rest, "-") {
		sign, s.rest = "-", s.rest[1:]
	}
	n, err := strconv.ParseInt(sign+s.run(isNumeral), 10, 64)
	if err != nil || tensor.IsSymbol(n) {
		return 0, fmt.Errorf("unusable integer before %.30q", s.rest)
	}
	return n, nil
}

// count reads an integer ≥ 0 that fits an int.
func (s *scanner) count() (int, error) {
	n, err := s.integer()
	if err == nil && (n < 0 || int64(int(n)) != n) {
		err = fmt.Errorf("%d is out of range", n)
	}
	return int(n), err
}

// counts reads integers in brackets.
func (s *scanner) counts(open, shut string) ([]int, error) {
	var list []int
	err := s.items(open, shut, func() error {
		n, err := s.count()
		list = append(list, n)
		return err
	})
	return list, err
}

// items calls item for every member of a bracketed list with commas.
func (s *scanner) items(open, shut string, item func() error) error {
	if err := s.want(open); err != nil {
		return err
	}
	if s.take(shut) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.take(shut) {
			return nil
		}
		if err := s.want(","); err != nil {
			return err
		}
	}
}

// hex reads bytes in brackets.
func (s *scanner) hex() ([]byte, error) {
	if err := s.want("("); err != nil {
		return nil, err
	}
	data, err := hex.DecodeString(s.run(isWord))
	if err != nil {
		return nil, err
	}
	return data, s.want(")")
}

// maxNesting is how deep brackets and graphs may nest.
const maxNesting = 64

// dims reads expressions over the symbols of a text.
type dims struct {
	*scanner
	symbols Symbols
	known   map[string]tensor.Dim
	depth   int
}

// ParseDim reads an expression, as Symbols.String writes it, over symbols that have the names in known.
func ParseDim(text string, symbols Symbols, known map[string]tensor.Dim) (tensor.Dim, error) {
	d := dims{scanner: &scanner{rest: text}, symbols: symbols, known: known}
	n, err := d.dim()
	if err == nil {
		err = d.end()
	}
	return n, err
}

// dim reads an expression as Symbols.String writes it: + - * // % max() min(), with Python's precedence.
func (d *dims) dim() (tensor.Dim, error) {
	before := d.opaque()
	n, err := d.sum()
	if err == nil && d.opaque() != before {
		err = errors.New("expression too large, or divides by zero")
	}
	return n, err
}

// opaque counts the expressions that the table gave up on, if it counts them.
func (d *dims) opaque() int {
	if t, ok := d.symbols.(interface{ Opaque() int }); ok {
		return t.Opaque()
	}
	return 0
}

func (d *dims) sum() (tensor.Dim, error) {
	if d.depth++; d.depth > maxNesting {
		return 0, errors.New("nested too deeply")
	}
	defer func() { d.depth-- }()
	a, err := d.product()
	for err == nil {
		var b tensor.Dim
		switch {
		case d.take("+"):
			b, err = d.product()
		case d.take("-"):
			b, err = d.product()
			b = d.symbols.Mul(b, -1)
		default:
			return a, nil
		}
		a = d.symbols.Add(a, b)
	}
	return 0, err
}

func (d *dims) product() (tensor.Dim, error) {
	a, err := d.unary()
	for err == nil {
		f := d.symbols.Mul
		switch {
		case d.take("//"):
			f = d.symbols.FloorDiv
		case d.take("%"):
			f = d.symbols.Mod
		case !d.take("*"):
			return a, nil
		}
		var b tensor.Dim
		b, err = d.unary()
		a = f(a, b)
	}
	return 0, err
}

func (d *dims) unary() (tensor.Dim, error) {
	d.space()
	switch {
	case len(d.rest) > 1 && d.rest[0] == '-' && isNumeral(d.rest[1]), d.rest != "" && isNumeral(d.rest[0]):
		return d.integer()
	case d.take("-"):
		a, err := d.atom()
		return d.symbols.Mul(a, -1), err
	}
	return d.atom()
}

func (d *dims) atom() (tensor.Dim, error) {
	if d.take("(") {
		a, err := d.sum()
		if err != nil {
			return 0, err
		}
		return a, d.want(")")
	}
	name := d.run(isSymbolName)
	if sym, ok := d.known[name]; ok {
		return sym, nil
	}
	switch name {
	case "max":
		return d.extreme(d.symbols.Max)
	case "min":
		return d.extreme(d.symbols.Min)
	}
	return 0, fmt.Errorf("want a number or a declared symbol, got %.30q", name+d.rest)
}

func (d *dims) extreme(f func(a, b tensor.Dim) tensor.Dim) (tensor.Dim, error) {
	var acc tensor.Dim
	first := true
	err := d.items("(", ")", func() error {
		x, err := d.sum()
		if acc = f(acc, x); first {
			acc, first = x, false
		}
		return err
	})
	if err == nil && first {
		err = errors.New("max or min of nothing")
	}
	return acc, err
}
