package symint

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Real is an expression over float64 numbers, computed one operator after the other as Python does: what a rounded
// integer expression, such as trunc(1.3*s0), rounds.
type Real struct {
	// Op is const, int, add, mul, truediv, pow, max, min or sqrt.
	Op string
	// Value is that of a const, Dim the integer of an int.
	Value float64
	Dim   Dim
	Args  []*Real
}

// roundings are torch's functions that make an integer of a real number (torch/utils/_sympy/functions.py).
var roundings = map[string]struct {
	op opKind
	f  func(float64) float64
}{
	"FloorToInt": {opFloor, math.Floor},
	"CeilToInt":  {opCeil, math.Ceil},
	"TruncToInt": {opTrunc, math.Trunc},
	"RoundToInt": {opRound, math.RoundToEven},
}

// rounded is the integer form of a rounded true quotient; false if there is none.
func (t *Table) rounded(op opKind, a, b Dim) (d Dim, ok bool) {
	var err error
	switch op {
	case opFloor:
		d, err = divide(t, a, b)
	case opCeil:
		d, err = ceilDivide(t, a, b)
	case opTrunc:
		d, err = truncDivide(t, a, b)
	default:
		return 0, false
	}
	return d, err == nil
}

// realOps are torch's and sympy's names of the operators of Real.
var realOps = map[string]string{
	"Add": "add", "Mul": "mul", "IntTrueDiv": "truediv", "FloatTrueDiv": "truediv", "Pow": "pow", "FloatPow": "pow",
	"PowByNatural": "pow", "Max": "max", "Min": "min", "OpaqueUnaryFn_sqrt": "sqrt",
}

// unitScale is up to which denominator a scale of a size is a fraction: sizes below 2³³ times such a scale are exact.
const unitScale = 1 << 20

// Scale is ⌊n·factor⌋ of an n ≥ 0, the product a float64.
func (t *Table) Scale(n Dim, factor float64) Dim {
	return t.round(opTrunc, &Real{Op: "mul", Args: []*Real{{Op: "const", Value: factor}, {Op: "int", Dim: n}}})
}

// Real is what the expression d rounds, nil if it is no rounding: trunc, floor, ceil or round, as Node names it.
func (t *Table) Real(d Dim) *Real {
	if !tensor.IsSymbol(d) {
		return nil
	}
	return t.at(d).real
}

// round is r, rounded; an expression over integers where that has the same values.
func (t *Table) round(op opKind, r *Real) Dim {
	if d, ok := t.fraction(op, r); ok {
		return d
	}
	if lo, hi := t.realBounds(r); lo == hi {
		if v := roundBy(op, lo); representable(v) {
			return v
		}
	}
	return t.intern(node{op: op, real: r, key: opNames[op] + "(" + t.realText(r) + ")"})
}

// fraction is a rounded quotient of integers, or multiple of a size by a fraction, as an integer expression.
func (t *Table) fraction(op opKind, r *Real) (Dim, bool) {
	if len(r.Args) != 2 {
		return 0, false
	}
	a, b := r.Args[0], r.Args[1]
	if r.Op == "truediv" && a.Op == "int" && b.Op == "int" {
		return t.rounded(op, a.Dim, b.Dim)
	}
	if b.Op == "const" {
		a, b = b, a
	}
	if r.Op != "mul" || a.Op != "const" || b.Op != "int" {
		return 0, false
	}
	units := a.Value * unitScale
	if units != math.Trunc(units) || units <= 0 || units >= 1<<40 {
		return 0, false
	}
	return t.rounded(op, t.Mul(b.Dim, int64(units)), unitScale)
}

func roundBy(op opKind, x float64) int64 {
	for _, r := range roundings {
		if r.op == op {
			x = r.f(x)
		}
	}
	switch {
	case x >= math.MaxInt64:
		return posInf
	case x > math.MinInt64:
		return int64(x)
	}
	return negInf // also of NaN
}

// calc is one operator on numbers.
func calc(op string, args []float64) float64 {
	x := args[0]
	if op == "sqrt" {
		return math.Sqrt(x)
	}
	for _, y := range args[1:] {
		switch op {
		case "add":
			x += y
		case "mul":
			x *= y
		case "truediv":
			x /= y
		case "pow":
			x = math.Pow(x, y)
		case "max":
			x = max(x, y)
		case "min":
			x = min(x, y)
		}
	}
	return x
}

// evalReal is the value of r, with integers by f.
func evalReal(r *Real, f func(Dim) int64) float64 {
	switch r.Op {
	case "const":
		return r.Value
	case "int":
		return float64(f(r.Dim))
	}
	args := make([]float64, len(r.Args))
	for i, a := range r.Args {
		args[i] = evalReal(a, f)
	}
	return calc(r.Op, args)
}

// realBounds are numbers between which r lies: every operator of Real is monotone in each argument where the others
// keep their sign, so the ends of the arguments' ranges give its own. Quotients and powers of what may be 0 or
// negative have no bounds.
func (t *Table) realBounds(r *Real) (lo, hi float64) {
	switch r.Op {
	case "const":
		return r.Value, r.Value
	case "int":
		v := t.interval(r.Dim, maxSubstitutions)
		return bound(v.lo), bound(v.hi)
	}
	ends := make([][2]float64, len(r.Args))
	for i, a := range r.Args {
		ends[i][0], ends[i][1] = t.realBounds(a)
		if (r.Op == "truediv" && i > 0 || r.Op == "pow" && i == 0) && ends[i][0] <= 0 {
			return math.Inf(-1), math.Inf(1)
		}
	}
	return corner(r.Op, ends)
}

func corner(op string, ends [][2]float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	args := make([]float64, len(ends))
	for bits := range 1 << min(len(ends), 8) {
		for i := range ends {
			args[i] = ends[i][bits>>i&1]
		}
		x := calc(op, args)
		if math.IsNaN(x) || len(ends) > 8 {
			return math.Inf(-1), math.Inf(1)
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

func bound(n int64) float64 {
	switch n {
	case negInf:
		return math.Inf(-1)
	case posInf:
		return math.Inf(1)
	}
	return float64(n)
}

// rebuildReal is r with the integers in it rebuilt.
func (t *Table) rebuildReal(r *Real, done map[Dim]Dim) *Real {
	c := *r
	if c.Op == "int" {
		c.Dim = t.rebuild(c.Dim, done)
	}
	c.Args = slices.Clone(r.Args)
	for i, a := range c.Args {
		c.Args[i] = t.rebuildReal(a, done)
	}
	return &c
}

func (t *Table) realText(r *Real) string {
	switch r.Op {
	case "const":
		return realNumber(r.Value)
	case "int":
		return t.String(r.Dim)
	}
	args := make([]string, len(r.Args))
	for i, a := range r.Args {
		args[i] = t.realText(a)
	}
	return r.Op + "(" + strings.Join(args, ", ") + ")"
}

// realNumber has a point or an exponent, to be none of the integers.
func realNumber(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

// real reads an expression that may have real numbers in it.
func (p *parser) real(depth int) (*Real, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	before := *p
	name := p.word()
	switch op := realOps[name]; {
	case !p.take("("):
		return nil, errors.New("want NAME( at " + strconv.Quote(name))
	case name == "Float":
		return p.float()
	case name == "ToFloat" || name == "Identity":
		args, err := arguments(p, depth, p.real)
		if err == nil && len(args) == 1 {
			return args[0], nil
		}
		return nil, errors.Join(err, errors.New(name+" takes one argument"))
	case op != "":
		args, err := arguments(p, depth, p.real)
		if err == nil && !slices.ContainsFunc(args, func(r *Real) bool { return r.Op != "int" }) && op != "truediv" && op != "sqrt" {
			*p = before // an integer expression
			break
		}
		if err == nil && (len(args) == 1) != (op == "sqrt") {
			err = errors.New(name + " of another number of arguments")
		}
		return &Real{Op: op, Args: args}, err
	default:
		*p = before
	}
	d, err := p.expr(depth + 1)
	return &Real{Op: "int", Dim: d}, err
}

// float reads Float('1.3', precision=53) after "Float(".
func (p *parser) float() (*Real, error) {
	text, rest, ok := strings.Cut(p.rest, ")")
	p.rest = rest
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "'"), "'")
	x, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return nil, errors.New("unusable real number " + strconv.Quote(number))
	}
	return &Real{Op: "const", Value: x}, nil
}
