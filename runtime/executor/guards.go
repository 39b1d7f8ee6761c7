package executor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// guard is what a size or an integer of the inputs must be (pte.GuardsPrefix).
type guard struct {
	read
	name   string
	lo, hi int64
	// bounded says that lo and hi count, for each.
	bounded [2]bool
	// want is what the number equals, if it is not empty; text says it to people.
	want []term
	text string
}

// read is where a number comes from: the size of a dimension of an input, or, if dim is -1, the input.
type read struct{ input, dim int }

// term is one step of an expression in postfix notation: an operator, or else a number of the inputs or a constant.
type term struct {
	op       byte // '+', '-', '*', '/', '%', 'M'ax, 'm'in; 'r' reads an input, 'n' is a constant
	from     read
	constant int64
}

// maxGuardDepth bounds the stack of an expression.
const maxGuardDepth = 16

// loadGuards reads the guards of a method's plan.
func (m *method) loadGuards() error {
	for i := range m.plan.Values {
		lines, ok := strings.CutPrefix(m.plan.Values[i].String, pte.GuardsPrefix)
		if m.plan.Values[i].Type != pte.String || !ok {
			continue
		}
		for line := range strings.Lines(lines) {
			g, ok := parseGuard(strings.TrimSuffix(line, "\n"), len(m.plan.Inputs))
			if !ok {
				return fail(pte.InvalidProgram, "unusable guard ", strconv.Quote(line))
			}
			m.guards = append(m.guards, g)
		}
	}
	return nil
}

func parseGuard(line string, inputs int) (g guard, ok bool) {
	f := strings.Split(line, "\t")
	if len(f) != 7 {
		return g, false
	}
	at := "i" + f[0]
	if f[1] != "" {
		at += "." + f[1]
	}
	g.read, ok = parseRead(at, inputs)
	g.name, g.text = f[2], f[6]
	for i, end := range []*int64{&g.lo, &g.hi} {
		if f[3+i] == "" {
			continue
		}
		var err error
		*end, err = strconv.ParseInt(f[3+i], 10, 64)
		g.bounded[i], ok = true, ok && err == nil
	}
	depth := 0
	for word := range strings.FieldsSeq(f[5]) {
		t, known := parseTerm(word, inputs)
		if depth++; t.op != 'r' && t.op != 'n' {
			depth -= 2
		}
		if !known || depth < 1 || depth > maxGuardDepth {
			return g, false
		}
		g.want = append(g.want, t)
	}
	return g, ok && depth <= 1
}

func parseTerm(word string, inputs int) (t term, ok bool) {
	switch word {
	case "+", "-", "*", "/", "%":
		return term{op: word[0]}, true
	case "max":
		return term{op: 'M'}, true
	case "min":
		return term{op: 'm'}, true
	}
	if word[0] == 'i' {
		t.op = 'r'
		t.from, ok = parseRead(word, inputs)
		return t, ok
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return term{op: 'n', constant: n}, err == nil
}

// parseRead reads "i2.0" or "i2".
func parseRead(word string, inputs int) (r read, ok bool) {
	input, dim, sized := strings.Cut(word[1:], ".")
	n, err := strconv.ParseUint(input, 10, 31)
	r = read{int(n), -1}
	if sized && err == nil {
		n, err = strconv.ParseUint(dim, 10, 31)
		r.dim = int(n)
	}
	return r, err == nil && r.input < inputs
}

// number is what r reads of the inputs; false if they are of another kind.
func (r read) number(inputs []Value) (int64, bool) {
	in := &inputs[r.input]
	if r.dim < 0 {
		return in.Int, in.Kind == Int
	}
	if in.Kind != Tensor || in.Tensor == nil || r.dim >= len(in.Tensor.Sizes) {
		return 0, false
	}
	return in.Tensor.Sizes[r.dim], true
}

// checkGuards holds the inputs, as many as the method has, to its guards. Those of inputs of another kind or rank are
// left to setInput.
func (m *method) checkGuards(inputs []Value) error {
	for i := range m.guards {
		g := &m.guards[i]
		n, ok := g.number(inputs)
		if !ok {
			continue
		}
		if g.bounded[0] && n < g.lo || g.bounded[1] && n > g.hi {
			return fail(pte.InvalidArgument, g.subject(n), ", want ", g.rangeText())
		}
		if want, ok := g.value(inputs); ok && n != want {
			return fail(pte.InvalidArgument, g.subject(n), ", want ", strconv.FormatInt(want, 10), g.reason())
		}
	}
	return nil
}

// describe adds to inputs what the guards say of them.
func (m *method) describe(inputs []ValueInfo) {
	for i := range m.guards {
		g := &m.guards[i]
		in := &inputs[g.input]
		in.Name = g.name
		if g.dim < 0 || g.dim >= len(in.Sizes) {
			continue
		}
		s := &in.Sizes[g.dim]
		if g.bounded[0] {
			s.Least = max(s.Least, g.lo)
		}
		if g.bounded[1] {
			s.Most = min(s.Most, g.hi)
		}
		switch {
		case len(g.want) == 1 && g.want[0].op == 'n':
			s.Least, s.Most = g.want[0].constant, g.want[0].constant
		case len(g.want) > 0:
			s.Derived = g.text
		}
	}
}

// subject is "input 1 (mask): dimension 0 has size 5".
func (g *guard) subject(n int64) string {
	s := "input " + itoa(g.input) + " (" + g.name + ")"
	if g.dim < 0 {
		return s + " is " + strconv.FormatInt(n, 10)
	}
	return s + ": dimension " + itoa(g.dim) + " has size " + strconv.FormatInt(n, 10)
}

func (g *guard) rangeText() string {
	lo, hi := strconv.FormatInt(g.lo, 10), strconv.FormatInt(g.hi, 10)
	switch {
	case !g.bounded[0]:
		return "at most " + hi
	case !g.bounded[1]:
		return "at least " + lo
	}
	return lo + " to " + hi
}

// reason says which numbers the wanted one follows from.
func (g *guard) reason() string {
	at := slices.IndexFunc(g.want, func(t term) bool { return t.op == 'r' })
	if at < 0 {
		return ""
	}
	s, from := ", which is "+g.text+" by ", g.want[at].from
	if from.dim >= 0 {
		s += "dimension " + itoa(from.dim) + " of "
	}
	return s + "input " + itoa(from.input)
}

// value is what the number must equal; false if nothing is said of it, or the inputs that say it are of another kind.
func (g *guard) value(inputs []Value) (int64, bool) {
	var stack [maxGuardDepth]int64
	top := -1
	for i := range g.want {
		t := &g.want[i]
		switch t.op {
		case 'n':
			top++
			stack[top] = t.constant
		case 'r':
			n, ok := t.from.number(inputs)
			if !ok {
				return 0, false
			}
			top++
			stack[top] = n
		default:
			if stack[top] == 0 && (t.op == '/' || t.op == '%') {
				return 0, false
			}
			top--
			stack[top] = t.apply(stack[top], stack[top+1])
		}
	}
	return stack[0], top == 0
}

func (t *term) apply(a, b int64) int64 {
	var plain *tensor.Shapes
	switch t.op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return plain.FloorDiv(a, b)
	case '%':
		return plain.Mod(a, b)
	case 'M':
		return max(a, b)
	}
	return min(a, b)
}
