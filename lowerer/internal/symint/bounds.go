package symint

import (
	"math"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// interval is a range of integers; the smallest and the largest int64 stand
// for no bound.
type interval struct{ lo, hi int64 }

const (
	negInf = math.MinInt64
	posInf = math.MaxInt64
)

func (v interval) String() string {
	text := func(n int64) string {
		if n == negInf || n == posInf {
			return "open"
		}
		return strconv.FormatInt(n, 10)
	}
	return text(v.lo) + ", " + text(v.hi)
}

// Bounds are numbers between which the value of d lies; math.MaxInt64 (and
// math.MinInt64) say that there is no bound.
func (t *Table) Bounds(d Dim) (lo, hi int64) {
	v := t.interval(d, maxSubstitutions)
	return v.lo, v.hi
}

func (t *Table) interval(d Dim, depth int) interval {
	if !tensor.IsSymbol(d) {
		return interval{d, d}
	}
	if v, ok := t.bounds[d]; ok {
		return v
	}
	v := t.computeInterval(d, depth)
	if depth == maxSubstitutions {
		t.bounds[d] = v
	}
	return v
}

func (t *Table) computeInterval(d Dim, depth int) interval {
	n := *t.at(d)
	if n.op == opSymbol {
		return interval{n.min, n.max}
	}
	if n.real != nil {
		lo, hi := t.realBounds(n.real)
		return interval{roundBy(n.op, lo), roundBy(n.op, hi)}
	}
	v := t.interval(n.args[0], depth)
	for _, a := range n.args[1:] {
		v = applyInterval(n.op, v, t.interval(a, depth))
	}
	if n.op == opAdd && depth > 0 {
		v = t.tighten(n, v, depth)
	}
	return v
}

// maxSubstitutions is how deep tighten replaces maxima.
const maxSubstitutions = 2

// tighten uses max(x, y) ≥ x: a sum with a positive multiple of a maximum is
// at least the sum with any one of its arguments instead; likewise for minima.
func (t *Table) tighten(n node, v interval, depth int) interval {
	if len(n.args) > 8 {
		return v
	}
	for i, a := range n.args {
		x := t.term(a)
		if len(x.atoms) != 1 {
			continue
		}
		m := *t.at(x.atoms[0])
		if m.op != opMax && m.op != opMin {
			continue
		}
		for _, with := range m.args {
			w, ok := t.replaced(n.args, i, x.coef, with, depth-1)
			switch {
			case !ok:
			case (m.op == opMax) == (x.coef > 0):
				v.lo = max(v.lo, w.lo)
			default:
				v.hi = min(v.hi, w.hi)
			}
		}
	}
	return v
}

// replaced is the interval of the sum of args with coef·with in place of args[i].
func (t *Table) replaced(args []Dim, i int, coef int64, with Dim, depth int) (interval, bool) {
	before := t.opaque
	d := t.Mul(with, coef)
	for j, a := range args {
		if j != i {
			d = t.Add(d, a)
		}
	}
	return t.interval(d, depth), before == t.opaque
}

func applyInterval(op opKind, a, b interval) interval {
	switch op {
	case opAdd:
		return interval{addLow(a.lo, b.lo), addHigh(a.hi, b.hi)}
	case opMul:
		return corners(a, b, mulSat)
	case opMax:
		return interval{max(a.lo, b.lo), max(a.hi, b.hi)}
	case opMin:
		return interval{min(a.lo, b.lo), min(a.hi, b.hi)}
	case opFloorDiv:
		return floorDivInterval(a, b)
	}
	return modInterval(a, b)
}

func addLow(a, b int64) int64 {
	if a == negInf || b == negInf {
		return negInf
	}
	return addSat(a, b)
}

func addHigh(a, b int64) int64 {
	if a == posInf || b == posInf {
		return posInf
	}
	return addSat(a, b)
}

func addSat(a, b int64) int64 {
	s := a + b
	switch {
	case b > 0 && s < a:
		return posInf
	case b < 0 && s > a:
		return negInf
	}
	return s
}

func infinite(a int64) bool { return a == negInf || a == posInf }

func mulSat(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if !infinite(a) && !infinite(b) {
		if p := a * b; p/b == a && !infinite(p) {
			return p
		}
	}
	if (a < 0) != (b < 0) {
		return negInf
	}
	return posInf
}

// divSat is ⌊a/b⌋ with infinities; b is not 0.
func divSat(a, b int64) int64 {
	switch {
	case infinite(a) && (a < 0) != (b < 0):
		return negInf
	case infinite(a):
		return posInf
	case infinite(b) && a != 0 && (a < 0) != (b < 0):
		return -1
	case infinite(b):
		return 0
	}
	return floorDiv(a, b)
}

func corners(a, b interval, f func(a, b int64) int64) interval {
	w, x, y, z := f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)
	return interval{min(w, x, y, z), max(w, x, y, z)}
}

// nonZero takes a 0 at the end of the range of a divisor off.
func nonZero(b interval) (interval, bool) {
	if b.lo == 0 {
		b.lo = 1
	}
	if b.hi == 0 {
		b.hi = -1
	}
	return b, b.lo <= b.hi && (b.lo > 0 || b.hi < 0)
}

func floorDivInterval(a, b interval) interval {
	b, ok := nonZero(b)
	if !ok {
		return interval{negInf, posInf}
	}
	return corners(a, b, divSat)
}

func modInterval(a, b interval) interval {
	b, ok := nonZero(b)
	switch {
	case !ok:
		return interval{negInf, posInf}
	case b.lo > 0 && a.lo >= 0:
		return interval{0, min(a.hi, dec(b.hi))}
	case b.lo > 0:
		return interval{0, dec(b.hi)}
	case b.lo == negInf:
		return interval{negInf, 0}
	}
	return interval{b.lo + 1, 0}
}

func dec(a int64) int64 {
	if a == posInf {
		return a
	}
	return a - 1
}
