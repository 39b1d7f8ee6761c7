package exir

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Text is the graph in lines, one a node, as
//
//	%add: f32[2, s0] = aten::add.Tensor(%x, %y, 1)  # model.py:25
//
// Symbolic sizes are named by dim, nested graphs indented under their node.
func (g *Graph) Text(dim func(tensor.Dim) string) string {
	var b strings.Builder
	g.text(&b, "", dim)
	return b.String()
}

func (g *Graph) text(b *strings.Builder, indent string, dim func(tensor.Dim) string) {
	for _, v := range g.Inputs {
		if v != nil {
			fmt.Fprintf(b, "%sinput %s\n", indent, v.text(dim))
		}
	}
	for _, n := range g.Nodes {
		n.text(b, indent, dim)
	}
	b.WriteString(indent + "return (")
	for i := range g.Outputs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(g.Outputs[i].text(dim))
	}
	b.WriteString(")\n")
}

func (n *Node) text(b *strings.Builder, indent string, dim func(tensor.Dim) string) {
	b.WriteString(indent)
	for i, v := range n.Outs {
		if i > 0 {
			b.WriteString(", ")
		}
		if v == nil {
			b.WriteString("_")
			continue
		}
		b.WriteString(v.text(dim))
	}
	b.WriteString(" = " + n.Op.Name + "(")
	for i := range n.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n.Args[i].text(dim))
	}
	b.WriteString(")")
	if f := n.UserFrame(); f != nil {
		fmt.Fprintf(b, "  # %s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
	}
	b.WriteString("\n")
	for i := range n.Args {
		if n.Args[i].Graph != nil {
			fmt.Fprintf(b, "%s  graph %d:\n", indent, i)
			n.Args[i].Graph.text(b, indent+"    ", dim)
		}
	}
}

func (v *Value) text(dim func(tensor.Dim) string) string {
	switch v.Kind {
	case SymInt:
		return "%" + v.Name + ": int = " + dimText(v.Sym, dim)
	case SymFloat:
		return "%" + v.Name + ": float"
	case SymBool:
		return "%" + v.Name + ": bool"
	}
	sizes := make([]string, len(v.Spec.Sizes))
	for i, s := range v.Spec.Sizes {
		sizes[i] = dimText(s, dim)
	}
	text := "%" + v.Name + ": " + v.Spec.DType.Short() + "[" + strings.Join(sizes, ", ") + "]"
	if v.Spec.DimOrder != nil {
		text += fmt.Sprintf("{%v}", v.Spec.DimOrder)
	}
	return text
}

func dimText(d tensor.Dim, dim func(tensor.Dim) string) string {
	if tensor.IsSymbol(d) {
		return dim(d)
	}
	return fmt.Sprint(d)
}

func (a *Arg) text(dim func(tensor.Dim) string) string {
	switch a.Kind {
	case ArgNone:
		return "None"
	case ArgValue:
		if a.Value.Const != nil && a.Value.Node == nil {
			return "@" + a.Value.Const.Name
		}
		return "%" + a.Value.Name
	case ArgInt:
		return dimText(a.Int, dim)
	case ArgFloat:
		return fmt.Sprintf("float(%v)", a.Float)
	case ArgBool:
		return fmt.Sprint(a.Int != 0)
	case ArgString, ArgDevice:
		return fmt.Sprintf("%q", a.Str)
	case ArgDType:
		return tensor.ScalarType(a.Int).Short()
	case ArgMemoryFormat:
		return [...]string{"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}[a.Int&3]
	case ArgLayout:
		return "strided"
	case ArgGraph:
		return "graph"
	}
	parts := make([]string, len(a.List))
	for i := range a.List {
		parts[i] = a.List[i].text(dim)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
