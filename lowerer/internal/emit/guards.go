package emit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// shown is a number that an input shows: the size of a dimension of a tensor, or an int itself, of which dim is -1.
type shown struct {
	input, dim int
	v          *exir.Value
	n          tensor.Dim
}

// token is how a guard's expression reads the number.
func (s *shown) token() string {
	if s.dim < 0 {
		return "i" + strconv.Itoa(s.input)
	}
	return "i" + strconv.Itoa(s.input) + "." + strconv.Itoa(s.dim)
}

// guards writes what the symbolic sizes and integers of the inputs have to be, as a string value that no instruction
// uses (pte.GuardsPrefix has its form).
func (e *emitter) guards() {
	inputs := e.shownNumbers()
	known := map[tensor.Dim]string{}
	for i := range inputs {
		if op, _, _ := e.table.Node(inputs[i].n); op == "symbol" && known[inputs[i].n] == "" {
			known[inputs[i].n] = inputs[i].token()
		}
	}
	for i := range inputs {
		e.solveGuard(&inputs[i], known)
	}
	var text strings.Builder
	for i := range inputs {
		text.WriteString(e.guard(&inputs[i], known))
	}
	if text.Len() > 0 {
		e.add(pte.EValue{Type: pte.String, String: pte.GuardsPrefix + text.String()})
	}
}

// shownNumbers are the symbolic integers of the user's inputs, and all sizes of those of which one is symbolic.
func (e *emitter) shownNumbers() []shown {
	var all []shown
	at := -1
	for i, v := range e.m.Graph.Inputs {
		switch e.m.Inputs[i].Kind {
		case exir.UserInput, exir.ConstantInput:
			at++
		}
		if v == nil || e.m.Inputs[i].Kind != exir.UserInput {
			continue
		}
		if v.Kind == exir.SymInt && tensor.IsSymbol(v.Sym) {
			all = append(all, shown{at, -1, v, v.Sym})
		}
		if !slices.ContainsFunc(v.Spec.Sizes, tensor.IsSymbol) {
			continue
		}
		for d, n := range v.Spec.Sizes {
			all = append(all, shown{at, d, v, n})
		}
	}
	return all
}

// solveGuard notes how the only unknown symbol s of a size a·s + c follows from it.
func (e *emitter) solveGuard(s *shown, known map[tensor.Dim]string) {
	scale, offset, symbol := int64(1), int64(0), s.n
	op, args, _ := e.table.Node(symbol)
	if op == "add" && len(args) == 2 && !tensor.IsSymbol(args[1]) {
		symbol, offset = args[0], args[1]
		op, args, _ = e.table.Node(symbol)
	}
	if op == "mul" && len(args) == 2 && !tensor.IsSymbol(args[0]) && args[0] > 0 {
		symbol, scale = args[1], args[0]
		op, _, _ = e.table.Node(symbol)
	}
	if op == "symbol" && known[symbol] == "" {
		known[symbol] = s.token() + " " + strconv.FormatInt(offset, 10) + " - " + strconv.FormatInt(scale, 10) + " /"
	}
}

// guard is the line of a number: input, dimension, name, smallest and largest value, the expression that it equals and
// its text, between tabs; "" if nothing is asked of it.
func (e *emitter) guard(s *shown, known map[tensor.Dim]string) string {
	if !tensor.IsSymbol(s.n) {
		return s.line("", "", e.table.String(s.n), "")
	}
	_, hi := e.table.Bounds(s.n)
	low, high := "", ""
	if lo := e.least(s.n); lo > 0 || s.dim < 0 && lo != math.MinInt64 {
		low = strconv.FormatInt(lo, 10)
	}
	if hi <= maxSize || s.dim < 0 && hi != math.MaxInt64 {
		high = strconv.FormatInt(hi, 10)
	}
	want, ok := e.postfix(s.n, known)
	if !ok || want == s.token() {
		want = ""
	}
	if low == "" && high == "" && want == "" {
		return ""
	}
	return s.line(low, high, want, e.table.String(s.n))
}

func (s *shown) line(low, high, want, text string) string {
	dim := ""
	if s.dim >= 0 {
		dim = strconv.Itoa(s.dim)
	}
	return strings.Join([]string{strconv.Itoa(s.input), dim, s.v.Name, low, high, want, text}, "\t") + "\n"
}

// least is what d is at least. Numbers of the range that torch.export gives a dimension which it knows nothing of, from 2
// on, may also be 0 and 1, as in PyTorch (_check_input_constraints_for_graph).
func (e *emitter) least(d tensor.Dim) int64 {
	lo, _ := e.table.Bounds(d)
	if op, args, _ := e.table.Node(d); op != "const" && op != "symbol" {
		for _, a := range args {
			if tensor.IsSymbol(a) && e.least(a) <= 0 {
				return min(lo, 0)
			}
		}
		return lo
	}
	if tensor.IsSymbol(d) && lo <= 2 {
		return min(lo, 0)
	}
	return lo
}

// guardOps are the operators of guards by symint's names.
var guardOps = map[string]string{"add": " +", "mul": " *", "floordiv": " /", "mod": " %", "max": " max", "min": " min"}

// postfix is d over the numbers that inputs show, operators last; false if it has another operator or symbol.
func (e *emitter) postfix(d tensor.Dim, known map[tensor.Dim]string) (string, bool) {
	op, args, _ := e.table.Node(d)
	switch {
	case op == "const":
		return strconv.FormatInt(d, 10), true
	case op == "symbol":
		return known[d], known[d] != ""
	case guardOps[op] == "" || len(args) == 0:
		return "", false
	}
	text, ok := e.postfix(args[0], known)
	for _, a := range args[1:] {
		next, known := e.postfix(a, known)
		text, ok = text+" "+next+guardOps[op], ok && known
	}
	return text, ok
}
