package symint

import (
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Equate takes a = b for true. It narrows the ranges of symbols, and puts what the equation gives in place of a division,
// remainder, maximum or minimum in it, where expressions are made from now on or simplified.
func (t *Table) Equate(a, b Dim) {
	d, ok := t.difference(a, b)
	if !ok || !tensor.IsSymbol(d) {
		return
	}
	t.align(a, b)
	t.restrict(t.poly(d), interval{0, 0})
	t.substitute(t.poly(d))
}

// align lowers the upper bound of a symbol of which a is the remainder, b, by a constant. The lower bound stays: torch.export
// gives 2 where it may be less.
func (t *Table) align(a, b Dim) {
	if !tensor.IsSymbol(a) || tensor.IsSymbol(b) || t.at(a).op != opMod {
		return
	}
	s, m := t.at(a).args[0], t.at(a).args[1]
	if _, hi := t.Bounds(s); tensor.IsSymbol(s) && t.at(s).op == opSymbol && !tensor.IsSymbol(m) && m > 0 && hi != posInf {
		_ = t.SetRange(t.String(s), negInf, hi-apply(opMod, hi-b, m))
	}
}

// restrict narrows the ranges of symbols by p lying in v. A range that has no value in common with that stays as it is.
func (t *Table) restrict(p poly, v interval) {
	for i, x := range p {
		if n, m := t.divided(x); m != 0 { // c·⌊n/m⌋ + rest in v: c·n + m·rest in m·v + c·(n mod m)
			q := t.Add(t.Mul(n, x.coef), t.Mul(t.without(p, i), m))
			v = applyInterval(opMul, v, interval{m, m})
			r := applyInterval(opMul, interval{0, m - 1}, interval{x.coef, x.coef})
			t.restrict(t.poly(q), applyInterval(opAdd, v, r))
			return
		}
	}
	for i, x := range p {
		if len(x.atoms) != 1 || t.at(x.atoms[0]).op != opSymbol {
			continue
		}
		lo, hi := t.Bounds(t.without(p, i))
		w := applyInterval(opAdd, v, interval{mulSat(hi, -1), mulSat(lo, -1)})
		if x.coef < 0 {
			w = interval{mulSat(w.hi, -1), mulSat(w.lo, -1)}
		}
		c := absInt(x.coef)
		_ = t.SetRange(t.String(x.atoms[0]), mulSat(divSat(mulSat(w.lo, -1), c), -1), divSat(w.hi, c))
	}
}

// divided are n and m of a multiple of ⌊n/m⌋ where m is a constant; 0 of another term.
func (t *Table) divided(x term) (n, m Dim) {
	if len(x.atoms) != 1 {
		return 0, 0
	}
	a := t.at(x.atoms[0])
	if a.op != opFloorDiv || tensor.IsSymbol(a.args[1]) || a.args[1] < 0 {
		return 0, 0
	}
	return a.args[0], a.args[1]
}

// without is p without its term i.
func (t *Table) without(p poly, i int) Dim {
	return t.dim(append(append(poly(nil), p[:i]...), p[i+1:]...))
}

// substitute solves p = 0 for a term that is no symbol and that the rest does not hold.
func (t *Table) substitute(p poly) {
	for i, x := range p {
		if len(x.atoms) != 1 || absInt(x.coef) != 1 || t.at(x.atoms[0]).op == opSymbol {
			continue
		}
		d := t.Mul(t.without(p, i), -x.coef)
		if strings.Contains(t.String(d), t.String(x.atoms[0])) {
			continue
		}
		t.equal[x.atoms[0]] = d
		t.narrowed++
		clear(t.bounds)
		return
	}
}
