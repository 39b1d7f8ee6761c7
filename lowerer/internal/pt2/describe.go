package pt2

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Describe is a method as text: its symbols, inputs, nodes and outputs.
func Describe(m *exir.Method, shapes *symint.Table) string {
	d := &describer{shapes: shapes}
	d.line(0, "method %s", m.Name)
	for _, r := range m.Ranges {
		d.line(1, "symbol %s in [%d, %d], %d at export", r.Name, r.Min, r.Max, r.Hint)
	}
	for i, in := range m.Inputs {
		d.input(&in, m.Graph.Inputs[i])
	}
	d.nodes(1, m.Graph)
	for i, out := range m.Outputs {
		kind := [...]string{"result", "buffer mutation", "input mutation"}[out.Kind]
		d.line(1, "%s %s%s", kind, prefixed(out.Target, " = "), d.arg(1, m.Graph.Outputs[i]))
	}
	return d.b.String()
}

type describer struct {
	b      strings.Builder
	shapes *symint.Table
}

func (d *describer) line(depth int, format string, args ...any) {
	d.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

func prefixed(s, sep string) string {
	if s == "" {
		return ""
	}
	return s + sep
}

func (d *describer) input(in *exir.InputSpec, v *exir.Value) {
	kind := [...]string{"input", "parameter", "buffer", "constant", "literal"}[in.Kind]
	switch {
	case v == nil:
		d.line(1, "%s %s", kind, d.arg(1, in.Value))
	case v.Const == nil:
		d.line(1, "%s %s", kind, d.value(v))
	case v.Const.Literal:
		d.line(1, "%s %s = %s (%d bytes here)", kind, d.value(v), in.Target, len(v.Const.Data))
	default:
		w := v.Const.Weight
		d.line(1, "%s %s = %s (%s%s, strides %v at %d)", kind, d.value(v), in.Target, w.Record, prefixed(w.Key, ""), w.Strides, w.StorageOffset)
	}
}

func (d *describer) value(v *exir.Value) string {
	switch {
	case v == nil:
		return "_"
	case v.Kind == exir.SymInt:
		return v.Name + ": int " + d.shapes.String(v.Sym)
	case v.Kind != exir.TensorValue:
		return v.Name + [...]string{exir.SymFloat: ": float", exir.SymBool: ": bool"}[v.Kind]
	}
	sizes := make([]string, len(v.Spec.Sizes))
	for i, s := range v.Spec.Sizes {
		sizes[i] = d.shapes.String(s)
	}
	text := v.Name + ": " + v.Spec.DType.Short() + "[" + strings.Join(sizes, ", ") + "]"
	if v.Spec.DimOrder != nil {
		text += fmt.Sprint(" order ", v.Spec.DimOrder)
	}
	return text
}

func (d *describer) nodes(depth int, g *exir.Graph) {
	for _, n := range g.Nodes {
		outs := make([]string, len(n.Outs))
		for i, o := range n.Outs {
			outs[i] = d.value(o)
		}
		args := make([]string, len(n.Args))
		for i, a := range n.Args {
			args[i] = d.arg(depth, a)
		}
		d.line(depth, "%d %s = %s(%s)", n.DebugHandle, strings.Join(outs, ", "), n.Op.Name, strings.Join(args, ", "))
	}
}

func (d *describer) arg(depth int, a exir.Arg) string {
	switch a.Kind {
	case exir.ArgValue:
		return a.Value.Name
	case exir.ArgInt:
		return strconv.FormatInt(a.Int, 10)
	case exir.ArgFloat:
		return strconv.FormatFloat(a.Float, 'g', -1, 64)
	case exir.ArgBool:
		return strconv.FormatBool(a.Int != 0)
	case exir.ArgString, exir.ArgDevice:
		return strconv.Quote(a.Str)
	case exir.ArgList:
		members := make([]string, len(a.List))
		for i, m := range a.List {
			members[i] = d.arg(depth, m)
		}
		return "[" + strings.Join(members, ", ") + "]"
	case exir.ArgGraph:
		return d.graph(depth, a.Graph)
	case exir.ArgDType:
		return tensor.ScalarType(a.Int).String()
	case exir.ArgMemoryFormat:
		return "memory format " + strconv.FormatInt(a.Int, 10)
	case exir.ArgLayout:
		return "strided"
	}
	return "none"
}

// graph is a sub-graph in braces.
func (d *describer) graph(depth int, g *exir.Graph) string {
	sub := &describer{shapes: d.shapes}
	var in, out []string
	for _, v := range g.Inputs {
		in = append(in, sub.value(v))
	}
	for _, a := range g.Outputs {
		out = append(out, sub.arg(depth, a))
	}
	sub.b.WriteString("{" + strings.Join(in, ", ") + "\n")
	sub.nodes(depth+1, g)
	sub.b.WriteString(strings.Repeat("  ", depth) + "-> " + strings.Join(out, ", ") + "}")
	return sub.b.String()
}
