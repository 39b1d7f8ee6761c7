package op

import (
	"strings"
	"sync/atomic"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Table finds kernels by operator and element type. It is safe for use by several goroutines.
type Table struct {
	ops map[string]*tableEntry
}

type tableEntry struct {
	def     *Def
	kernels []*Kernel
	sig     atomic.Pointer[Signature] // of those that a program calls
}

// NewTable is a table of these kernels; of two for one operator and type the later one counts.
func NewTable(kernels []*Kernel) *Table {
	rows := 0
	for i := 0; i < len(kernels); i = endOfRow(kernels, i) {
		rows++
	}
	t, entries := &Table{ops: make(map[string]*tableEntry, rows)}, make([]tableEntry, rows)
	for i := 0; i < len(kernels); {
		end := endOfRow(kernels, i)
		name, _, _ := strings.Cut(kernels[i].Def.Schema, "(")
		e := t.ops[name]
		if e == nil {
			e, entries = &entries[0], entries[1:]
			e.def, e.kernels = kernels[i].Def, kernels[i:end:end]
			t.ops[name] = e
		} else {
			e.kernels = append(e.kernels, kernels[i:end]...)
		}
		i = end
	}
	return t
}

// keptTable is the last table that TableOf made, and of which list.
var keptTable atomic.Pointer[listedTable]

type listedTable struct {
	list  []*Kernel
	table *Table
}

// TableOf is NewTable of a list that never changes: it gives the last table again if it is of the same list.
func TableOf(kernels []*Kernel) *Table {
	if k := keptTable.Load(); k != nil && len(kernels) > 0 && len(k.list) == len(kernels) && &k.list[0] == &kernels[0] {
		return k.table
	}
	t := NewTable(kernels)
	keptTable.Store(&listedTable{kernels, t})
	return t
}

// endOfRow is where the kernels end that follow i and belong to the same row.
func endOfRow(kernels []*Kernel, i int) int {
	def := kernels[i].Def
	for i++; i < len(kernels) && kernels[i].Def == def; i++ {
	}
	return i
}

// Def is the row and the signature of an operator such as "aten::add.out", or nil if no kernel of it is there.
func (t *Table) Def(name string) (*Def, *Signature) {
	e := t.ops[name]
	if e == nil {
		return nil, nil
	}
	sig := e.sig.Load()
	if sig == nil {
		parsed := ParseSignature(e.def.Schema)
		sig = &parsed
		e.sig.Store(sig)
	}
	return e.def, sig
}

// Lookup is the kernel of an operator for an element type, or nil.
func (t *Table) Lookup(name string, dtype tensor.ScalarType) *Kernel {
	e := t.ops[name]
	if e == nil {
		return nil
	}
	for i := len(e.kernels) - 1; i >= 0; i-- {
		if e.kernels[i].DType == dtype {
			return e.kernels[i]
		}
	}
	return nil
}
