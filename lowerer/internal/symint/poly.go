package symint

import (
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// term is coef times the product of atoms: symbols, divisions, maxima and
// minima, sorted by key, repeated for powers.
type term struct {
	coef  int64
	atoms []Dim
}

// poly is a sum of terms with different atoms, sorted by degree and then by
// atoms, which is a monomial order: long division in it finds every exact quotient.
type poly []term

func (t *Table) atomLess(a, b Dim) bool { return t.at(a).key < t.at(b).key }

// cmpTerms orders terms: higher degree first, then by the keys of the atoms.
func (t *Table) cmpTerms(a, b []Dim) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	for i := range a {
		if a[i] != b[i] {
			return strings.Compare(t.at(a[i]).key, t.at(b[i]).key)
		}
	}
	return 0
}

// poly is the expanded form of d.
func (t *Table) poly(d Dim) poly {
	if !tensor.IsSymbol(d) {
		if d == 0 {
			return nil
		}
		return poly{{coef: d}}
	}
	n := t.at(d)
	switch n.op {
	case opAdd:
		p := make(poly, len(n.args))
		for i, a := range n.args {
			p[i] = t.term(a)
		}
		return p
	case opMul:
		return poly{t.term(d)}
	}
	return poly{{coef: 1, atoms: []Dim{d}}}
}

func (t *Table) term(d Dim) term {
	if !tensor.IsSymbol(d) {
		return term{coef: d}
	}
	n := t.at(d)
	if n.op != opMul {
		return term{coef: 1, atoms: []Dim{d}}
	}
	if !tensor.IsSymbol(n.args[0]) {
		return term{coef: n.args[0], atoms: n.args[1:]}
	}
	return term{coef: 1, atoms: n.args}
}

// representable says that a number is none of the handles.
func representable(n int64) bool { return !tensor.IsSymbol(n) }

func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) && representable(s)
}

func mulOK(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	if a == math.MinInt64 || b == math.MinInt64 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(absInt(a)), uint64(absInt(b)))
	p := a * b
	return p, hi == 0 && lo <= math.MaxInt64 && representable(p)
}

func absInt(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// normal sorts the terms and adds up equal ones. It is false on overflow.
func (t *Table) normal(p poly) (poly, bool) {
	sort.SliceStable(p, func(i, j int) bool { return t.cmpTerms(p[i].atoms, p[j].atoms) < 0 })
	out := p[:0:0]
	for _, x := range p {
		if n := len(out); n > 0 && t.cmpTerms(out[n-1].atoms, x.atoms) == 0 {
			c, ok := addOK(out[n-1].coef, x.coef)
			if !ok {
				return nil, false
			}
			out[n-1].coef = c
			continue
		}
		out = append(out, x)
	}
	kept := out[:0]
	for _, x := range out {
		if x.coef != 0 {
			kept = append(kept, x)
		}
	}
	return kept, len(kept) <= maxTerms
}

// mulTerms multiplies two terms.
func (t *Table) mulTerms(a, b term) (term, bool) {
	c, ok := mulOK(a.coef, b.coef)
	if !ok || len(a.atoms)+len(b.atoms) > maxDegree {
		return term{}, false
	}
	atoms := append(append(make([]Dim, 0, len(a.atoms)+len(b.atoms)), a.atoms...), b.atoms...)
	sort.SliceStable(atoms, func(i, j int) bool { return t.atomLess(atoms[i], atoms[j]) })
	return term{c, atoms}, true
}

func (t *Table) addPoly(a, b poly) (poly, bool) {
	return t.normal(append(append(make(poly, 0, len(a)+len(b)), a...), b...))
}

func (t *Table) mulPoly(a, b poly) (poly, bool) {
	if len(a)*len(b) > 4*maxTerms {
		return nil, false
	}
	out := make(poly, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			z, ok := t.mulTerms(x, y)
			if !ok {
				return nil, false
			}
			out = append(out, z)
		}
	}
	return t.normal(out)
}

// dim is the handle of a normal poly.
func (t *Table) dim(p poly) Dim {
	if len(p) == 0 {
		return 0
	}
	if len(p) == 1 {
		return t.termDim(p[0])
	}
	args := make([]Dim, len(p))
	var key strings.Builder
	for i, x := range p {
		args[i] = t.termDim(x)
		s := t.String(args[i])
		switch {
		case i > 0 && s[0] == '-':
			key.WriteString(" - ")
			s = s[1:]
		case i > 0:
			key.WriteString(" + ")
		}
		key.WriteString(s)
	}
	return t.intern(node{op: opAdd, args: args, key: key.String()})
}

func (t *Table) termDim(x term) Dim {
	if len(x.atoms) == 0 {
		return x.coef
	}
	if len(x.atoms) == 1 && x.coef == 1 {
		return x.atoms[0]
	}
	args := x.atoms
	var key strings.Builder
	switch x.coef {
	case 1:
	case -1:
		key.WriteByte('-')
	default:
		key.WriteString(strconv.FormatInt(x.coef, 10))
		key.WriteByte('*')
	}
	if x.coef != 1 {
		args = append([]Dim{x.coef}, x.atoms...)
	}
	for i, a := range x.atoms {
		if i > 0 {
			key.WriteByte('*')
		}
		key.WriteString(t.factor(a))
	}
	return t.intern(node{op: opMul, args: args, key: key.String()})
}

// factor is a's text, in brackets if it is an infix expression.
func (t *Table) factor(a Dim) string {
	s := t.String(a)
	if !tensor.IsSymbol(a) && a >= 0 {
		return s
	}
	if tensor.IsSymbol(a) {
		switch t.at(a).op {
		case opSymbol, opMax, opMin, opTrunc, opFloor, opCeil, opRound:
			return s
		}
	}
	return "(" + s + ")"
}

// quotient is a/b if b divides a without a remainder.
func (t *Table) quotient(a, b poly) (poly, bool) {
	if len(b) == 0 {
		return nil, false
	}
	var q poly
	for len(a) > 0 {
		x, ok := divTerm(a[0], b[0])
		if !ok || len(q) > maxTerms {
			return nil, false
		}
		q = append(q, x)
		sub, ok := t.mulPoly(poly{{-x.coef, x.atoms}}, b)
		if !ok {
			return nil, false
		}
		if a, ok = t.addPoly(a, sub); !ok {
			return nil, false
		}
	}
	return q, true
}

// divTerm is a/b if b divides a.
func divTerm(a, b term) (term, bool) {
	if b.coef == 0 || a.coef == math.MinInt64 || a.coef%b.coef != 0 {
		return term{}, false
	}
	rest := make([]Dim, 0, len(a.atoms))
	i := 0
	for _, x := range a.atoms {
		if i < len(b.atoms) && b.atoms[i] == x {
			i++
			continue
		}
		rest = append(rest, x)
	}
	return term{a.coef / b.coef, rest}, i == len(b.atoms)
}
