// Package symint holds symbolic integers: the sizes of a program that are not
// known before it runs. Expressions are kept in a canonical form, so that equal
// ones mostly have equal handles, and have bounds by interval arithmetic.
package symint

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Dim is a plain number or the handle of an expression in a Table.
type Dim = tensor.Dim

// Limits on what one expression may be. Beyond them it becomes a fresh symbol
// without bounds, about which nothing can be proved.
const (
	maxTerms  = 512
	maxKey    = 1 << 14
	maxDegree = 64
	maxNodes  = 1 << 20
)

type opKind uint8

const (
	opConst opKind = iota
	opSymbol
	opAdd
	opMul
	opFloorDiv
	opMod
	opMax
	opMin
	opTrunc
	opFloor
	opCeil
	opRound
)

var opNames = [...]string{"const", "symbol", "add", "mul", "floordiv", "mod", "max", "min", "trunc", "floor", "ceil", "round"}

type node struct {
	op   opKind
	args []Dim
	key  string // the printed form, unique
	real *Real  // of a rounding, which has no args
	// Of a symbol:
	min, max, hint int64
}

// Table is a set of hash-consed expressions. It implements
// tensor.Expressions. It is not safe for concurrent use.
type Table struct {
	nodes    []node
	byKey    map[string]Dim
	symbols  []string
	narrowed int // how often SetRange or Equate changed something
	opaque   int // how many expressions went over a limit
	bounds   map[Dim]interval
	equal    map[Dim]Dim // what Equate puts in place of an expression
}

var _ tensor.Expressions = (*Table)(nil)

// NewTable is a table without symbols.
func NewTable() *Table {
	return &Table{byKey: map[string]Dim{}, bounds: map[Dim]interval{}, equal: map[Dim]Dim{}}
}

// Symbol declares a symbol with min ≤ symbol ≤ max, where math.MaxInt64 is no
// upper bound and math.MinInt64 no lower one; hint is its value at export. A symbol that is there already is
// narrowed to both ranges.
func (t *Table) Symbol(name string, min, max, hint int64) Dim {
	if d, ok := t.byKey[name]; ok {
		_ = t.SetRange(name, min, max)
		return d
	}
	t.symbols = append(t.symbols, name)
	return t.intern(node{op: opSymbol, key: name, min: min, max: max, hint: hint})
}

// Lookup is the symbol of this name.
func (t *Table) Lookup(name string) (Dim, bool) {
	d, ok := t.byKey[name]
	return d, ok && t.at(d).op == opSymbol
}

// Symbols lists the declared symbols in the order of declaration.
func (t *Table) Symbols() []string { return t.symbols }

// Hint is the value of d at export.
func (t *Table) Hint(d Dim) int64 { return t.Eval(d, nil) }

// SetRange narrows the range of a symbol. It refuses an unknown name and a
// range without a value in common with the present one.
func (t *Table) SetRange(name string, min, max int64) error {
	d, ok := t.Lookup(name)
	if !ok {
		return fmt.Errorf("set range of %q: no such symbol", name)
	}
	n := t.at(d)
	lo, hi := maxInt(n.min, min), minInt(n.max, max)
	if lo > hi {
		return fmt.Errorf("set range of %q: [%s] and [%s] have no value in common",
			name, interval{n.min, n.max}, interval{min, max})
	}
	if lo != n.min || hi != n.max {
		n.min, n.max = lo, hi
		t.narrowed++
		clear(t.bounds)
	}
	return nil
}

// Node takes an expression apart: op is add, mul, floordiv, mod, max, min,
// symbol, const or a rounding of Real. add, mul, max and min have two or more arguments; name is
// that of a symbol. The only argument of a const is the number itself.
func (t *Table) Node(d Dim) (op string, args []Dim, name string) {
	if !tensor.IsSymbol(d) {
		return opNames[opConst], []Dim{d}, ""
	}
	n := t.at(d)
	if n.op == opSymbol {
		name = n.key
	}
	return opNames[n.op], n.args, name
}

// String is the expression in Python's notation.
func (t *Table) String(d Dim) string {
	if !tensor.IsSymbol(d) {
		return strconv.FormatInt(d, 10)
	}
	return t.at(d).key
}

// Eval is the value of an expression. A symbol that values lacks counts as its
// hint; a division by zero gives 0.
func (t *Table) Eval(d Dim, values map[string]int64) int64 {
	if !tensor.IsSymbol(d) {
		return d
	}
	n := t.at(d)
	if n.op == opSymbol {
		if v, ok := values[n.key]; ok {
			return v
		}
		return n.hint
	}
	if n.real != nil {
		return roundBy(n.op, evalReal(n.real, func(d Dim) int64 { return t.Eval(d, values) }))
	}
	acc := t.Eval(n.args[0], values)
	for _, a := range n.args[1:] {
		acc = apply(n.op, acc, t.Eval(a, values))
	}
	return acc
}

// apply is one operator on numbers, with Python's rounding.
func apply(op opKind, a, b int64) int64 {
	switch op {
	case opAdd:
		return a + b
	case opMul:
		return a * b
	case opMax:
		return maxInt(a, b)
	case opMin:
		return minInt(a, b)
	}
	if b == 0 {
		return 0
	}
	if op == opFloorDiv {
		return floorDiv(a, b)
	}
	return a - b*floorDiv(a, b)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func maxInt(a, b int64) int64 { return max(a, b) }
func minInt(a, b int64) int64 { return min(a, b) }

func (t *Table) at(d Dim) *node { return &t.nodes[tensor.SymbolIndex(d)] }

func (t *Table) intern(n node) Dim {
	if d, ok := t.byKey[n.key]; ok {
		if e, ok := t.equal[d]; ok {
			return e
		}
		return d
	}
	if n.op != opSymbol && (len(n.key) > maxKey || len(t.nodes) > maxNodes) {
		return t.unknown()
	}
	d := tensor.SymbolDim(len(t.nodes))
	t.nodes = append(t.nodes, n)
	t.byKey[n.key] = d
	return d
}

// unknown is a fresh symbol that stands for a number nothing is known of.
func (t *Table) unknown() Dim {
	t.opaque++
	return t.intern(node{op: opSymbol, key: "?" + strconv.Itoa(t.opaque), min: math.MinInt64, max: math.MaxInt64})
}

// Opaque counts the expressions that went over a limit so far.
func (t *Table) Opaque() int { return t.opaque }
