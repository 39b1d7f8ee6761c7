package exir

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Row is an operator's row with its parsed out schema.
type Row struct {
	Def *op.Def
	// Out is the parsed Def.Schema.
	Out *Schema
	// In are the indices in Out.Args of what Infer and kernels see as Args, Outs those of the out tensors.
	In, Outs []int
}

var rows struct {
	once                sync.Once
	byFunctional, byOut map[string]*Row
}

func loadRows() {
	rows.byFunctional = make(map[string]*Row, len(op.Rows))
	rows.byOut = make(map[string]*Row, len(op.Rows))
	for _, d := range op.Rows {
		s, err := ParseSchema(d.Schema)
		if err != nil {
			panic(err)
		}
		r := &Row{Def: d, Out: s}
		for i, p := range s.Args {
			if p.Write && p.KwOnly {
				r.Outs = append(r.Outs, i)
			} else {
				r.In = append(r.In, i)
			}
		}
		rows.byOut[s.Name] = r
		if d.Functional != "" {
			rows.byFunctional[d.Functional] = r
		}
	}
}

// LookupRow is the row of a functional operator, such as "aten::add.Tensor", or nil.
func LookupRow(functional string) *Row {
	rows.once.Do(loadRows)
	return rows.byFunctional[functional]
}

// LookupOutRow is the row with this out variant, such as "aten::add.out", or nil.
func LookupOutRow(out string) *Row {
	rows.once.Do(loadRows)
	return rows.byOut[out]
}

// OutArgs picks the arguments of the row's out schema, outs left out, from those of its functional schema s, by name.
func (r *Row) OutArgs(s *Schema, args []Arg) ([]Arg, error) {
	picked := make([]Arg, len(r.In))
	for i, at := range r.In {
		p := &r.Out.Args[at]
		j := s.Arg(p.Name)
		switch {
		case j >= 0 && j < len(args):
			picked[i] = args[j]
		case p.HasDefault:
			picked[i] = p.Default
		default:
			return nil, fmt.Errorf("call %s: its out variant wants %s", s.Name, p.Name)
		}
	}
	return picked, nil
}

// Infer gives the types and shapes of the results of calling the functional operator s, from its row.
func Infer(shapes *tensor.Shapes, s *Schema, args []Arg) ([]tensor.Meta, error) {
	r := LookupRow(s.Name)
	if r == nil {
		return nil, fmt.Errorf("infer %s: no row for this operator", s.Name)
	}
	picked, err := r.OutArgs(s, args)
	if err != nil {
		return nil, err
	}
	call := op.Infer{Shapes: shapes, Args: make([]op.Value, len(picked)), Out: make([]tensor.Meta, len(r.Outs))}
	for i := range picked {
		call.Args[i] = ToValue(&picked[i])
	}
	if err := r.Def.Infer(&call); err != nil {
		return nil, fmt.Errorf("infer %s: %w", s.Name, err)
	}
	if at := s.Arg("dtype"); at >= 0 && at < len(args) && args[at].Kind == ArgDType && r.Out.Arg("dtype") < 0 {
		for i := range call.Out {
			call.Out[i].DType = tensor.ScalarType(args[at].Int)
		}
	}
	for i := range call.Out {
		call.Out[i] = normalize(call.Out[i])
	}
	return call.Out, nil
}

// normalize copies m, with a nil DimOrder where it is contiguous.
func normalize(m tensor.Meta) tensor.Meta {
	m = m.Clone()
	if len(m.DimOrder) == 0 || slices.IsSorted(m.DimOrder) {
		m.DimOrder = nil
	}
	return m
}

// ToValue converts an argument to what rows and kernels take. Tensors have Data where they are literal constants.
func ToValue(a *Arg) op.Value {
	switch a.Kind {
	case ArgValue:
		return symbolOrTensor(a.Value)
	case ArgInt, ArgDType, ArgMemoryFormat, ArgLayout:
		return op.Value{Kind: op.Int, Int: a.Int}
	case ArgBool:
		return op.Value{Kind: op.Bool, Int: a.Int}
	case ArgFloat:
		return op.Value{Kind: op.Float, Float: a.Float}
	case ArgString, ArgDevice:
		return op.Value{Kind: op.String, Str: a.Str}
	case ArgList:
		return listValue(a.List)
	}
	return op.Value{}
}

func symbolOrTensor(v *Value) op.Value {
	switch v.Kind {
	case SymInt:
		return op.Value{Kind: op.Int, Int: v.Sym}
	case SymBool:
		return op.Value{Kind: op.Bool}
	case SymFloat:
		return op.Value{Kind: op.Float}
	}
	return op.Value{Kind: op.Tensor, Tensor: tensorOf(v)}
}

func tensorOf(v *Value) *tensor.Tensor {
	t := &tensor.Tensor{Meta: v.Spec}
	if v.Const != nil && v.Const.Literal {
		t.Data = v.Const.Data
	}
	return t
}

// listValue takes a list by its first member; an empty one is Ints.
func listValue(list []Arg) op.Value {
	v := op.Value{Kind: op.Ints, Ints: []int64{}}
	for i := range list {
		m := ToValue(&list[i])
		switch {
		case m.Kind == op.Tensor || m.Kind == op.None:
			v.Kind = op.Tensors
		case m.Kind == op.Float:
			v.Kind = op.Floats
		case m.Kind == op.Bool && v.Kind != op.Floats:
			v.Kind = op.Bools
		}
		v.Tensors = append(v.Tensors, m.Tensor)
		v.Ints = append(v.Ints, m.Int)
		v.Floats = append(v.Floats, m.Scalar())
	}
	return v
}
