package op

import (
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Table finds kernels by operator and element type.
type Table struct {
	ops map[string]*tableEntry
}

type tableEntry struct {
	sig     Signature
	def     *Def
	kernels []*Kernel
}

// NewTable is a table of these kernels; of two for one operator and type the later one counts.
func NewTable(kernels []*Kernel) *Table {
	t := &Table{ops: make(map[string]*tableEntry)}
	for _, k := range kernels {
		name, _, _ := strings.Cut(k.Def.Schema, "(")
		e := t.ops[name]
		if e == nil {
			e = &tableEntry{sig: ParseSignature(k.Def.Schema), def: k.Def}
			t.ops[name] = e
		}
		e.kernels = append(e.kernels, k)
	}
	return t
}

// Def is the row and the signature of an operator such as "aten::add.out", or nil if no kernel of it is there.
func (t *Table) Def(name string) (*Def, *Signature) {
	if e := t.ops[name]; e != nil {
		return e.def, &e.sig
	}
	return nil, nil
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
