package exir

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// Fault is an error about n: its place is "method: node = operator", and the Python line of the user follows it.
func (n *Node) Fault(code diag.Code, format string, args ...any) *diag.Error {
	name := ""
	if n.Op != nil {
		name = n.Op.Name
	}
	return n.Origin.Fault(code, n.Name, name, format, args...)
}

// Fault is an error about the node of that name, which calls op and came from o.
func (o *Origin) Fault(code diag.Code, node, op, format string, args ...any) *diag.Error {
	e := diag.New(code, fmt.Sprintf("%s: %s = %s", o.Method, node, PythonName(op)), format, args...)
	if line := o.Line(); line != "" {
		e.More = []string{line}
	}
	return e
}

// Line is the user's Python line: "net.py:41 in forward: y = torch.relu(x)", or "" if it is not known.
func (o *Origin) Line() string {
	f := o.UserFrame()
	if f == nil {
		return ""
	}
	line := fmt.Sprintf("%s:%d", f.File, f.Line)
	if f.Func != "" {
		line += " in " + f.Func
	}
	if f.Text != "" {
		line += ": " + f.Text
	}
	return line
}

// PythonName is an operator's name as Python writes it: "aten.relu.default" for "aten::relu". Names of other
// namespaces, such as "higher_order::cond", have no overload.
func PythonName(op string) string {
	space, name, ok := strings.Cut(op, "::")
	switch {
	case !ok:
		return op
	case space == "python" || space == "higher_order" || strings.Contains(name, "."):
		return space + "." + name
	}
	return space + "." + name + ".default"
}
