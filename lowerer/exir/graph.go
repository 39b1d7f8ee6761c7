// Package exir is the intermediate representation of the lowerer: graphs of
// ATen, Edge and out-variant operators, their values and constants.
package exir

import (
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ValueKind is what a Value holds.
type ValueKind uint8

// The kinds of values.
const (
	TensorValue ValueKind = iota
	SymInt
	SymFloat
	SymBool
)

// Value is one SSA value: a graph input or a result of a node.
type Value struct {
	Name string
	Kind ValueKind
	// Spec is the tensor's type and shape (TensorValue).
	Spec tensor.Meta
	// Order is how PyTorch's tensor lies in memory, its dimensions from the outermost to the innermost; nil is row-major,
	// or unknown. Values here do not lie so: it only tells which operators of the program copy.
	Order []uint8
	// Sym is the symbolic number of a SymInt: a size or a handle into Program.Shapes.
	Sym tensor.Dim
	// Node made it; nil for an input of a graph.
	Node *Node
	// Const is the constant that a placeholder stands for, else nil.
	Const *Constant
}

// ArgKind is the kind of an Arg.
type ArgKind uint8

// The kinds of arguments.
const (
	ArgNone  ArgKind = iota
	ArgValue         // a tensor or a symbolic number
	ArgInt           // also ScalarType (ExecuTorch's numbers), Layout
	ArgFloat
	ArgBool
	ArgString
	ArgList // ints, floats, bools, tensors; members of kind ArgNone are absent tensors
	ArgGraph
	ArgDType        // Int is a tensor.ScalarType
	ArgMemoryFormat // Int: 0 contiguous, 1 preserve, 2 channels_last, 3 channels_last_3d (c10's numbers)
	ArgDevice       // Str
	ArgLayout
	ArgLowered
)

// Arg is one argument of a node.
type Arg struct {
	Kind  ArgKind
	Value *Value
	Int   int64 // ArgInt may be a symbolic tensor.Dim; ArgBool is 0 or 1
	Float float64
	Str   string
	List  []Arg
	Graph *Graph
	// Lowered is what a call of CallDelegate calls.
	Lowered *LoweredModule
}

// Node is a call of an operator.
type Node struct {
	// Name is unique in its graph.
	Name string
	// Op is the schema of what is called: "aten::add.Tensor", "higher_order::cond", "python::add".
	Op *Schema
	// Args are in the order of Op.Args, with every default filled in; of higher-order operators the
	// positional arguments as written.
	Args []Arg
	// Outs are the results. A Tensor[] result is flattened. An absent one is nil.
	Outs []*Value
	Origin
}

// Defines reports that a size or the number of a result of n is known only when it runs: then symbols stand for it that
// other nodes may mention.
func (n *Node) Defines() bool {
	return strings.Contains(n.Op.Tags, "data_dependent_output") || strings.Contains(n.Op.Tags, "dynamic_output_shape") ||
		n.Op.Name == "aten::item" || n.Op.Name == "aten::_local_scalar_dense"
}

// AssertScalar is the operator that fails where a number is zero or false. It has no result.
const AssertScalar = "aten::_assert_scalar"

// Asserts reports that n is a check, which stays though nothing uses it.
func (n *Node) Asserts() bool { return n.Op.Name == AssertScalar }

// Origin is where a node comes from.
type Origin struct {
	// Method of the program.
	Method string
	// DebugHandle counts from 1; nodes made from one exported node share it.
	DebugHandle int
	// Frames are Python's, outermost first.
	Frames []Frame
	// Module is the path of the innermost nn.Module, such as "encoder.layer.0.attention".
	Module string
	// Source is the exported operator, such as "aten::linear", and Name of the node it came from.
	Source, SourceName string
}

// Frame is one line of a Python stack trace.
type Frame struct {
	File string
	Line int
	Func string
	Text string
}

// Graph is a list of nodes in an order in which they can run.
type Graph struct {
	Inputs  []*Value
	Nodes   []*Node
	Outputs []Arg
}

// Constant is a tensor known when lowering: a weight, or an expression over weights.
type Constant struct {
	// Name is the fully qualified name (of a weight) or a made-up one.
	Name string
	Meta tensor.Meta
	// Exactly one of the following says what it is.
	Data    []byte // literal bytes, in Meta's order; also a zero-byte literal, with Literal true
	Literal bool
	Weight  *Weight    // a payload of the .pt2
	Node    *ConstExpr // an operator over constants
}

// Weight is a (strided) view of a payload in the .pt2.
type Weight struct {
	// Model is the key of the .pt2 that holds it, where a program has several.
	Model string
	// Record is the zip entry's name; Key that of a storage in a nested archive, else "".
	Record, Key string
	// Offset of the payload in bytes: in the file, or, where Key is set, in the record.
	Offset        int
	Size          int   // of the payload in bytes
	Strides       []int // in elements
	StorageOffset int   // in elements
}

// ConstExpr is an operator applied to constants, evaluated when packing.
type ConstExpr struct {
	Op   *Schema
	Args []Arg // ArgValue members refer to Values whose Const is set
	Out  int   // which result
}

// InputKind is the kind of a placeholder.
type InputKind uint8

// The kinds of placeholders.
const (
	UserInput InputKind = iota
	Parameter
	Buffer // persistent or not
	TensorConstant
	ConstantInput // a specialised non-tensor argument
)

// InputSpec describes one of Graph.Inputs of a method.
type InputSpec struct {
	Kind InputKind
	// Target is the fully qualified name of a parameter, buffer or constant.
	Target     string
	Persistent bool
	// Value is a ConstantInput's; and the graph input's Value is nil then.
	Value Arg
}

// OutputKind is the kind of a result.
type OutputKind uint8

// The kinds of results.
const (
	UserOutput OutputKind = iota
	BufferMutation
	UserInputMutation
)

// OutputSpec describes one of Graph.Outputs of a method.
type OutputSpec struct {
	Kind OutputKind
	// Target is the buffer's name, or the name of the user input's Value.
	Target string
}

// Method is one entry point.
type Method struct {
	Name    string
	Graph   *Graph
	Inputs  []InputSpec  // one for each Graph.Inputs
	Outputs []OutputSpec // one for each Graph.Outputs
	// InSpec and OutSpec are pytree specs, as JSON text.
	InSpec, OutSpec string
	// Ranges has the symbols' bounds; a missing upper bound is math.MaxInt64.
	Ranges []SymbolRange
}

// SymbolRange is the bounds of a symbol.
type SymbolRange struct {
	Name     string
	Dim      tensor.Dim
	Min, Max int64
	Hint     int64
}

// Program is what all three program types hold.
type Program struct {
	Methods []*Method // sorted by name
	Shapes  *tensor.Shapes
	// Torch is the version that exported it.
	Torch string
}

// ExportedProgram is a program of ATen operators as torch.export wrote it.
type ExportedProgram struct{ Program }

// EdgeProgram is a functional program of core ATen operators, parts of it perhaps delegated.
type EdgeProgram struct {
	Program
	// NamedData is what the delegates' payloads refer to, in the order in which it was added.
	NamedData []*NamedData
	// Requirements are what the delegates took for granted.
	Requirements []Requirement
}

// UserFrame is the innermost frame outside of PyTorch's own files and generated code, or the innermost of all, or nil.
func (o *Origin) UserFrame() *Frame {
	for i := len(o.Frames) - 1; i >= 0; i-- {
		file := o.Frames[i].File
		if !strings.Contains(file, "site-packages/") && !strings.Contains(file, "dist-packages/") && !strings.HasPrefix(file, "<") {
			return &o.Frames[i]
		}
	}
	if len(o.Frames) == 0 {
		return nil
	}
	return &o.Frames[len(o.Frames)-1]
}
