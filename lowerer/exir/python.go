package exir

import (
	"strings"
	"sync"
)

// pythonOps are functions of Python on symbolic numbers: those that torch.export leaves in graphs (_SYM_OPS in
// torch/_export/serde/serialize.py), with the names of their arguments.
var pythonOps = []struct{ ops, args string }{
	{"add sub mul floordiv truediv mod pow eq ne lt le gt ge and_ or_ lshift rshift sym_max sym_min", "a b"},
	{"neg pos not_ trunc ceil floor sym_not sym_int sym_float sym_sqrt", "a"},
	{"sym_ite", "b t f"},
}

// pythonSchemas are the signatures of "python::add" and its like.
var pythonSchemas = sync.OnceValue(func() map[string]*Schema {
	table := map[string]*Schema{}
	for _, row := range pythonOps {
		for op := range strings.FieldsSeq(row.ops) {
			s := &Schema{Name: "python::" + op, Kind: "functional", Returns: []Param{{Type: "Scalar"}}}
			for a := range strings.FieldsSeq(row.args) {
				s.Args = append(s.Args, Param{Name: a, Type: "Scalar"})
			}
			table[s.Name] = s
		}
	}
	return table
})
