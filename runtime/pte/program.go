// Package pte reads, verifies and writes ExecuTorch programs (.pte).
package pte

import "github.com/rules-pte/rules_pte/runtime/tensor"

// Program is a whole .pte, decoded. Field names and meaning are schema/program.fbs's.
type Program struct {
	Version uint32
	Plans   []*ExecutionPlan
	// ConstantBuffers are the constants, one for each data_buffer_idx; entry 0 is the placeholder for
	// "no constant". Read gives slices of the file.
	ConstantBuffers [][]byte
	// MutableData are initial values of mutable tensors, by data_buffer_idx; entry 0 is a placeholder.
	MutableData [][]byte
	// DelegateData are delegate payloads, referred to by BackendDelegate.Processed.
	DelegateData [][]byte
	// NamedData in the order of the file.
	NamedData []NamedData
	// SegmentAlignment (default 128) and ConstantAlignment (default 16) are used by Write only.
	SegmentAlignment, ConstantAlignment, DelegateAlignment int
}

// NamedData is one entry of the named data map of a program or a data file.
type NamedData struct {
	Key       string
	Data      []byte
	Alignment int // used when writing only; 0 means 1
	// Layout says which tensor the bytes are; nil for mere bytes, which is all that a program itself can have.
	Layout *TensorLayout
}

// TensorLayout describes the tensor that some bytes are: they lie in DimOrder, from the outermost dimension to the
// innermost.
type TensorLayout struct {
	ScalarType tensor.ScalarType
	Sizes      []int32
	DimOrder   []uint8
}

// ExecutionPlan is one method.
type ExecutionPlan struct {
	Name string
	// EncodedInpStr and EncodedOutStr are the pytree specs of inputs and outputs.
	EncodedInpStr, EncodedOutStr string
	Values                       []EValue
	Inputs, Outputs              []int32
	Chains                       []Chain
	Operators                    []Operator
	Delegates                    []BackendDelegate
	// NonConstBufferSizes are the arenas' sizes in bytes; entry 0 is always 0.
	NonConstBufferSizes  []int64
	NonConstBufferDevice []NonConstBufferDevice
}

// NonConstBufferDevice says on which device an arena lies, where that is not the CPU.
type NonConstBufferDevice struct {
	BufferIdx   int32
	DeviceType  int8
	DeviceIndex int8
}

// ValueType is the member of the KernelTypes union, numbered as in the schema.
type ValueType uint8

// The value types.
const (
	NoValue ValueType = iota
	Null
	Int
	Bool
	Double
	TensorValue
	String
	IntList
	DoubleList
	BoolList
	TensorList
	OptionalTensorList
)

// EValue is one value of a plan.
type EValue struct {
	Type    ValueType
	Int     int64 // Int; Bool as 0 or 1
	Double  float64
	String  string
	Tensor  *Tensor
	Items   []int64   // IntList, TensorList, OptionalTensorList: indices of values, -1 for None; BoolList: 0 and 1
	Doubles []float64 // DoubleList
}

// GuardsPrefix begins a String value of a plan, used by no instruction, that says what the sizes and integers of the
// method's inputs must be; other runtimes pass over it. A line for each number follows, its fields between tabs:
//
//	input, dimension ("" of an int), the input's name, smallest and largest value, what it equals, text of that
//
// Fields after the name may be empty. What it equals is in postfix notation: numbers, i2.0 for the size of dimension 0
// of input 2, i3 for the int input 3, and the operators + - * / % max min, of which / and % round as Python's.
const GuardsPrefix = "rules_pte.guards\n"

// AssertsPrefix begins a String value of a plan, used by no instruction, that makes checks of moves of a bool or number to
// itself; other runtimes pass over it. A line for each follows, its fields between tabs:
//
//	the instruction's place in its chain, which is the first; what has to hold, as text; the Python line, or "";
//	then pairs of the name and the value of the numbers that the text is about
const AssertsPrefix = "rules_pte.asserts\n"

// Dynamism says how a tensor's shape may change.
type Dynamism int8

// The dynamisms.
const (
	Static Dynamism = iota
	DynamicBound
	DynamicUnbound
)

// Tensor is the description of a tensor value.
type Tensor struct {
	ScalarType    tensor.ScalarType
	StorageOffset int32
	Sizes         []int32
	DimOrder      []uint8
	RequiresGrad  bool
	DataBufferIdx uint32
	// Allocation is its place in an arena, or nil.
	Allocation *Allocation
	Layout     int8
	Dynamism   Dynamism
	Extra      *ExtraTensorInfo
}

// Allocation is a place in arena MemoryID (from 1), at Offset bytes.
type Allocation struct {
	MemoryID uint32
	Offset   uint64
}

// Where the data of a tensor lies: in a segment of the file, or among named data, its own or a data file's.
const (
	LocationSegment = iota
	LocationExternal
)

// ExtraTensorInfo names a tensor's data outside of the plan.
type ExtraTensorInfo struct {
	MutableDataSegmentsIdx uint64
	FullyQualifiedName     string
	Location               int8
	DeviceType             int8
	DeviceIndex            int8
}

// Operator is the name and overload of a kernel: "aten::add", "out".
type Operator struct{ Name, Overload string }

// FullName is the name with the overload, if there is one: "aten::add.out".
func (o *Operator) FullName() string {
	if o.Overload == "" {
		return o.Name
	}
	return o.Name + "." + o.Overload
}

// Chain is a list of instructions.
type Chain struct {
	Inputs, Outputs []int32
	Instructions    []Instruction
	Stacktrace      [][]Frame
}

// Frame is one line of a stack trace.
type Frame struct {
	Filename string
	Lineno   int32
	Name     string
	Context  string
}

// InstructionType is the member of the InstructionArguments union.
type InstructionType uint8

// The instructions.
const (
	NoInstruction InstructionType = iota
	KernelCall
	DelegateCall
	MoveCall
	JumpFalseCall
	FreeCall
)

// Instruction is one step of a chain.
type Instruction struct {
	Type InstructionType
	// A is op_index, delegate_index, move_from, cond_value_index or value_index.
	A int32
	// B is move_to or destination_instruction.
	B int32
	// Args are the values of a KernelCall or DelegateCall.
	Args []int32
}

// CompileSpec is a key with bytes for a backend.
type CompileSpec struct {
	Key   string
	Value []byte
}

// BackendDelegate is one delegated part of a plan.
type BackendDelegate struct {
	ID string
	// Processed is an index into Program.DelegateData.
	Processed    int
	CompileSpecs []CompileSpec
}
