package symint

import (
	"math"
	"sort"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Add is a + b.
func (t *Table) Add(a, b Dim) Dim {
	p, ok := t.addPoly(t.poly(a), t.poly(b))
	if !ok {
		return t.unknown()
	}
	return t.dim(p)
}

// Mul is a · b.
func (t *Table) Mul(a, b Dim) Dim {
	p, ok := t.mulPoly(t.poly(a), t.poly(b))
	if !ok {
		return t.unknown()
	}
	return t.dim(p)
}

func (t *Table) sub(a, b Dim) (Dim, bool) {
	before := t.opaque
	d := t.Add(a, t.Mul(b, -1))
	return d, before == t.opaque
}

// FloorDiv is ⌊a / b⌋; b must not be 0.
func (t *Table) FloorDiv(a, b Dim) Dim {
	if !tensor.IsSymbol(b) && b > 0 {
		return t.floorDivConst(a, b)
	}
	if b == 0 {
		return t.unknown()
	}
	if q, ok := t.quotient(t.poly(a), t.poly(b)); ok {
		return t.dim(q)
	}
	if t.within(a, b) {
		return 0
	}
	return t.binary(opFloorDiv, a, b)
}

// within says that 0 ≤ a < b.
func (t *Table) within(a, b Dim) bool {
	lo, _ := t.Bounds(a)
	return lo >= 0 && t.Less(a, b) == tensor.Yes
}

// floorDivConst divides by b > 0: ⌊(b·q + r)/b⌋ = q + ⌊r/b⌋, and common
// factors of r and b cancel: ⌊(g·x + c)/(g·m)⌋ = ⌊(x + ⌊c/g⌋)/m⌋.
func (t *Table) floorDivConst(a, b Dim) Dim {
	var q, r poly
	g := b
	for _, x := range t.poly(a) {
		if whole := floorDiv(x.coef, b); whole != 0 && (x.coef%b == 0 || len(x.atoms) == 0) {
			q = append(q, term{whole, x.atoms})
			x.coef -= b * whole
		}
		if x.coef != 0 {
			r = append(r, x)
			if len(x.atoms) > 0 {
				g = gcd(g, x.coef)
			}
		}
	}
	for i := range r {
		r[i].coef = floorDiv(r[i].coef, g)
	}
	r, ok := t.normal(r)
	if !ok {
		return t.unknown()
	}
	return t.Add(t.dim(q), t.floorDivRest(t.dim(r), b/g))
}

// floorDivRest is ⌊r/b⌋ for an r of which nothing can be taken out any more.
func (t *Table) floorDivRest(r, b Dim) Dim {
	if b == 1 {
		return r
	}
	if !tensor.IsSymbol(r) {
		return floorDiv(r, b)
	}
	if lo, hi := t.Bounds(r); lo != math.MinInt64 && hi != math.MaxInt64 && floorDiv(lo, b) == floorDiv(hi, b) {
		return floorDiv(lo, b)
	}
	if n := t.at(r); n.op == opFloorDiv && !tensor.IsSymbol(n.args[1]) && n.args[1] > 0 {
		if m, ok := mulOK(n.args[1], b); ok { // ⌊⌊x/m⌋/b⌋ = ⌊x/(m·b)⌋
			return t.FloorDiv(n.args[0], m)
		}
	}
	return t.binary(opFloorDiv, r, b)
}

func gcd(a, b int64) int64 {
	a, b = absInt(a), absInt(b)
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Mod is a - b·⌊a / b⌋; b must not be 0.
func (t *Table) Mod(a, b Dim) Dim {
	if b == 0 {
		return t.unknown()
	}
	if !tensor.IsSymbol(b) && b > 0 {
		a = t.reduce(a, b)
	}
	if !tensor.IsSymbol(a) && !tensor.IsSymbol(b) {
		return a - b*floorDiv(a, b)
	}
	if _, ok := t.quotient(t.poly(a), t.poly(b)); ok {
		return 0
	}
	if t.within(a, b) {
		return a
	}
	return t.binary(opMod, a, b)
}

// reduce takes every coefficient modulo b > 0.
func (t *Table) reduce(a, b Dim) Dim {
	var p poly
	for _, x := range t.poly(a) {
		if x.coef -= b * floorDiv(x.coef, b); x.coef != 0 {
			p = append(p, x)
		}
	}
	return t.dim(p)
}

func (t *Table) binary(op opKind, a, b Dim) Dim {
	sign := "//"
	if op == opMod {
		sign = " % "
	}
	return t.intern(node{op: op, args: []Dim{a, b}, key: t.factor(a) + sign + t.factor(b)})
}

// Max is the larger of a and b.
func (t *Table) Max(a, b Dim) Dim { return t.extreme(opMax, a, b) }

// Min is the smaller of a and b.
func (t *Table) Min(a, b Dim) Dim { return t.extreme(opMin, a, b) }

// extreme merges the arguments of nested maxima (minima) and drops those that
// another one bounds.
func (t *Table) extreme(op opKind, a, b Dim) Dim {
	var kept []Dim
	for _, x := range append(t.flat(op, a), t.flat(op, b)...) {
		kept = t.insertExtreme(op, kept, x)
	}
	if len(kept) == 1 {
		return kept[0]
	}
	if len(kept) > maxDegree {
		return t.unknown()
	}
	sort.SliceStable(kept, func(i, j int) bool { return t.String(kept[i]) < t.String(kept[j]) })
	texts := make([]string, len(kept))
	for i, k := range kept {
		texts[i] = t.String(k)
	}
	return t.intern(node{op: op, args: kept, key: opNames[op] + "(" + strings.Join(texts, ", ") + ")"})
}

func (t *Table) flat(op opKind, d Dim) []Dim {
	if tensor.IsSymbol(d) && t.at(d).op == op {
		return append([]Dim(nil), t.at(d).args...)
	}
	return []Dim{d}
}

func (t *Table) insertExtreme(op opKind, kept []Dim, x Dim) []Dim {
	for _, k := range kept {
		if t.covers(op, k, x) {
			return kept
		}
	}
	out := kept[:0]
	for _, k := range kept {
		if !t.covers(op, x, k) {
			out = append(out, k)
		}
	}
	return append(out, x)
}

// covers says that the maximum (minimum) of k and x is k.
func (t *Table) covers(op opKind, k, x Dim) bool {
	d, ok := t.sub(k, x)
	if !ok {
		return false
	}
	lo, hi := t.Bounds(d)
	return op == opMax && lo >= 0 || op == opMin && hi <= 0
}

// Equal answers a = b.
func (t *Table) Equal(a, b Dim) tensor.Truth {
	if a == b {
		return tensor.Yes
	}
	d, ok := t.difference(a, b)
	if !ok {
		return tensor.Unknown
	}
	lo, hi := t.Bounds(d)
	switch {
	case lo == 0 && hi == 0:
		return tensor.Yes
	case lo > 0 || hi < 0 || !t.canBeZero(d):
		return tensor.No
	}
	return tensor.Unknown
}

// canBeZero is false if the coefficients have a common divisor that the
// constant term lacks, as in 2·s + 1.
func (t *Table) canBeZero(d Dim) bool {
	var g, c int64
	for _, x := range t.poly(d) {
		if len(x.atoms) == 0 {
			c = x.coef
			continue
		}
		g = gcd(g, x.coef)
	}
	return g == 0 || c%g == 0
}

// Less answers a < b.
func (t *Table) Less(a, b Dim) tensor.Truth {
	if a == b {
		return tensor.No
	}
	d, ok := t.difference(a, b)
	if !ok {
		return tensor.Unknown
	}
	lo, hi := t.Bounds(d)
	switch {
	case hi < 0:
		return tensor.Yes
	case lo >= 0:
		return tensor.No
	}
	return tensor.Unknown
}

// difference is a - b in terms of the present ranges.
func (t *Table) difference(a, b Dim) (Dim, bool) {
	if t.narrowed > 0 {
		a, b = t.Simplify(a), t.Simplify(b)
	}
	return t.sub(a, b)
}

// Simplify rebuilds an expression with the present ranges, which may have been
// narrowed since it was made.
func (t *Table) Simplify(d Dim) Dim {
	if !tensor.IsSymbol(d) {
		return d
	}
	return t.rebuild(d, map[Dim]Dim{})
}

func (t *Table) rebuild(d Dim, done map[Dim]Dim) Dim {
	if !tensor.IsSymbol(d) {
		return d
	}
	if r, ok := done[d]; ok {
		return r
	}
	n := *t.at(d)
	if n.op == opSymbol {
		done[d] = d
		if n.min == n.max {
			done[d] = n.min
		}
		return done[d]
	}
	if n.real != nil {
		done[d] = t.round(n.op, t.rebuildReal(n.real, done))
		return done[d]
	}
	r := t.rebuild(n.args[0], done)
	for _, a := range n.args[1:] {
		r = t.apply(n.op, r, t.rebuild(a, done))
	}
	done[d] = r
	return r
}

func (t *Table) apply(op opKind, a, b Dim) Dim {
	switch op {
	case opAdd:
		return t.Add(a, b)
	case opMul:
		return t.Mul(a, b)
	case opMax:
		return t.Max(a, b)
	case opMin:
		return t.Min(a, b)
	case opFloorDiv:
		return t.FloorDiv(a, b)
	}
	return t.Mod(a, b)
}
