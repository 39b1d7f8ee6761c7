package exir

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// rule is what a node must fulfil in dialects that have the property; 0 is every dialect. A node is held against the
// rules in their order up to the first that it breaks.
type rule struct {
	property Dialect
	check    func(v *verifier, n *Node)
}

var rules = []rule{
	{0, arguments},
	{0, results},
	{0, operands},
	{Functional, functional},
	{CoreOps, hasRow},
	{TensorArgs, tensorArgs},
	{NumbersBound, numbersBound},
	{CoreOps, inferred},
	{DimOrders, dimOrders},
}

// arguments: as many as the schema has, each of its type.
func arguments(v *verifier, n *Node) {
	if n.Op.Kind == "hop" {
		return
	}
	if len(n.Args) != len(n.Op.Args) {
		v.fail("%d arguments, want %d", len(n.Args), len(n.Op.Args))
		return
	}
	for i := range n.Args {
		if p := &n.Op.Args[i]; !fits(&n.Args[i], p.Type) {
			v.fail("argument %s does not fit %s", p.Name, p.Type)
		}
	}
}

// argKinds are the kinds of arguments, besides values, that may stand for a type of a schema.
var argKinds = map[string][]ArgKind{
	"Tensor": {ArgInt, ArgFloat, ArgBool}, "Scalar": {ArgInt, ArgFloat, ArgBool}, "float": {ArgFloat, ArgInt, ArgBool},
	"int": {ArgInt, ArgBool}, "SymInt": {ArgInt, ArgBool}, "bool": {ArgBool, ArgInt}, "SymBool": {ArgBool},
	"str": {ArgString}, "ScalarType": {ArgDType}, "Layout": {ArgLayout}, "Device": {ArgDevice},
	"MemoryFormat": {ArgMemoryFormat},
}

// valueTypes are the types that a value may stand for.
var valueTypes = []string{"Tensor", "Scalar", "float", "int", "SymInt", "bool", "SymBool"}

// fits reports that a may stand for typ. Other types than ATen's common ones, such as Generator, fit nothing but None.
func fits(a *Arg, typ string) bool {
	if typ == AnyType {
		return true
	}
	inner, optional := strings.CutSuffix(typ, "?")
	if element, list := strings.CutSuffix(inner, "[]"); list && a.Kind == ArgList {
		for i := range a.List {
			if !fits(&a.List[i], element) {
				return false
			}
		}
		return true
	}
	switch a.Kind {
	case ArgNone:
		return optional
	case ArgValue:
		return slices.Contains(valueTypes, inner)
	}
	return slices.Contains(argKinds[inner], a.Kind)
}

// results: as many as the schema has; a list may be of any length.
func results(v *verifier, n *Node) {
	if n.Op.Kind == "hop" || slices.ContainsFunc(n.Op.Returns, func(p Param) bool { return strings.HasSuffix(p.Type, "[]") }) {
		return
	}
	if len(n.Outs) != len(n.Op.Returns) {
		v.fail("%d results, want %d", len(n.Outs), len(n.Op.Returns))
		return
	}
	for i, out := range n.Outs {
		if out != nil && (out.Kind == TensorValue) != (n.Op.Returns[i].Type == "Tensor") && n.Op.Returns[i].Type != "Scalar" &&
			n.Op.Returns[i].Type != AnyType {
			v.fail("result %s is no %s", out.Name, n.Op.Returns[i].Type)
		}
	}
}

// operandLists says, for each control-flow operator, which arguments are the operands of its graphs, in the order of the
// graphs' inputs.
var operandLists = map[string][]int{
	"higher_order::cond": {3}, "higher_order::while_loop": {2, 3}, "higher_order::map_impl": {1, 2}, "higher_order::scan": {1, 2, 3},
}

// OperandLists are the places of the arguments that are lists of operands of a control-flow operator's graphs, in the
// order of the graphs' inputs; nil for any other operator. What the last list holds is the same in every turn of a loop.
func OperandLists(op string) []int { return operandLists[op] }

// operands: every graph of a control-flow operator takes what the operator gives it.
func operands(v *verifier, n *Node) {
	lists, ok := operandLists[n.Op.Name]
	if !ok {
		return
	}
	given := 0
	for _, at := range lists {
		if at >= len(n.Args) || n.Args[at].Kind != ArgList {
			v.fail("argument %d is no list of operands", at)
			return
		}
		given += len(n.Args[at].List)
	}
	isCond := n.Op.Name == "higher_order::cond"
	at := 0
	if isCond {
		at = 1 // behind the condition
	}
	for ; at < lists[0]; at++ {
		switch a := &n.Args[at]; {
		case a.Kind != ArgGraph || a.Graph == nil:
			v.fail("argument %d is no graph", at)
		case len(a.Graph.Inputs) != given:
			v.fail("the graph of argument %d takes %d operands, got %d", at, len(a.Graph.Inputs), given)
		case isCond && len(a.Graph.Outputs) != len(n.Outs):
			v.fail("the graph of argument %d returns %d values, want %d", at, len(a.Graph.Outputs), len(n.Outs))
		}
	}
}

func writes(s *Schema) bool {
	return slices.ContainsFunc(s.Args, func(p Param) bool { return p.Write })
}

// functional: nothing is written, and no result shares memory with an argument.
func functional(v *verifier, n *Node) {
	switch {
	case writes(n.Op):
		v.fail("it writes to an argument")
	case slices.ContainsFunc(n.Op.Returns, func(p Param) bool { return p.Alias != "" }):
		v.fail("its result is a view of an argument")
	}
}

// IsPrim reports an operator that works on numbers and belongs to the program, not to a kernel: a prim op of the
// runtime, or one of Python's that becomes one.
func IsPrim(s *Schema) bool {
	return strings.HasPrefix(s.Name, "executorch_prim::") || strings.HasPrefix(s.Name, "python::") ||
		strings.HasPrefix(s.Name, "aten::sym_") || s.Name == "aten::_local_scalar_dense" || s.Name == AssertScalar
}

// hasRow: a kernel, a prim op or control flow.
func hasRow(v *verifier, n *Node) {
	if n.Op.Kind != "hop" && !IsPrim(n.Op) && LookupRow(n.Op.Name) == nil {
		v.fail("no kernel and no rule for this operator")
	}
}

// tensorArgs: tensors where the schema has tensors, and nowhere else.
func tensorArgs(v *verifier, n *Node) {
	if n.Op.Kind == "hop" || IsPrim(n.Op) {
		return
	}
	for i := range n.Args {
		p := &n.Op.Args[i]
		mixed := isNumber(&n.Args[i])
		if !strings.HasPrefix(p.Type, "Tensor") {
			mixed = n.Args[i].Kind == ArgValue && n.Args[i].Value.Kind == TensorValue
		}
		if mixed {
			v.fail("argument %s does not fit %s: numbers and tensors are mixed", p.Name, p.Type)
		}
	}
}

// numbersBound: every symbolic number is a value.
func numbersBound(v *verifier, n *Node) {
	for i := range n.Args {
		_ = n.Args[i].EachArg(func(a *Arg) error {
			if a.Kind == ArgInt && tensor.IsSymbol(a.Int) {
				v.fail("argument %d has a symbolic number that no value of the graph stands for", i)
			}
			return nil
		})
	}
	if strings.HasPrefix(n.Op.Name, "python::") {
		v.fail("Python's operator is no prim op")
	}
}

// inferred: the types and sizes of results, and their dim orders where these count, are those that the row gives.
func inferred(v *verifier, n *Node) {
	if LookupRow(n.Op.Name) == nil {
		return
	}
	metas, err := Infer(v.shapes, n.Op, n.Args)
	if err != nil {
		v.fail("%w", err)
		return
	}
	for i, out := range n.Outs {
		switch {
		case out == nil || i >= len(metas) || out.Kind != TensorValue:
		case out.Spec.DType != metas[i].DType:
			v.fail("result %s is %s, want %s", out.Name, out.Spec.DType, metas[i].DType)
		case !v.sameSizes(n, out.Spec.Sizes, metas[i].Sizes):
			v.fail("result %s is %s, want %s", out.Name, v.typeText(&out.Spec), v.typeText(&metas[i]))
		case v.dialect&DimOrders != 0 && !slices.Equal(out.Spec.DimOrder, metas[i].DimOrder):
			v.fail("result %s has dim order %v, want %v", out.Name, out.Spec.DimOrder, metas[i].DimOrder)
		}
	}
}

// sameSizes allows what may be equal; an operator whose result's sizes depend on data may have any.
func (v *verifier) sameSizes(n *Node, a, b []tensor.Dim) bool {
	if len(a) != len(b) {
		return false
	}
	if strings.Contains(n.Op.Tags, "dynamic_output_shape") {
		return true
	}
	for i := range a {
		if v.shapes.Equal(a[i], b[i]) == tensor.No {
			return false
		}
	}
	return true
}

// dimOrders: memory formats are dim orders.
func dimOrders(v *verifier, n *Node) {
	for i := range n.Args {
		if n.Args[i].Kind == ArgMemoryFormat {
			v.fail("argument %s is a memory format", n.Op.Args[i].Name)
			return
		}
	}
	switch n.Op.Name {
	case "aten::_to_copy", "aten::clone", "aten::empty.memory_format":
		v.fail("it has no dim order")
	}
}
