// Package op has one row, a Def, for each operator, and beside it one Kernel
// for each element type that it runs in.
//
// The lowerer reads the rows for shapes and legality, the executor runs the
// kernels. A row references no kernel, so the Go linker drops every kernel that
// a program's generated list does not name.
package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Tags of an operator.
type Tags uint16

// The tags.
const (
	// Core marks an operator of the core ATen set.
	Core Tags = 1 << iota
	// Extension marks one that the official portable runtime has no kernel for.
	Extension
	// Pointwise marks one whose outputs have the broadcast shape of its tensors.
	Pointwise
	// View marks one whose output has its input's elements, unchanged and in order.
	View
	// DataDependent marks one whose output sizes follow from values: its kernel
	// sets Call.Out sizes itself and Infer gives upper bounds.
	DataDependent
	// Random marks one that draws from the seeded generator; it is never folded.
	Random
	// ReadsData marks one whose Infer reads elements of its arguments.
	ReadsData
	// Clamps marks one whose kernel in Float bounds what it gives by Call.Bounds.
	Clamps
	// Skips marks one whose kernels look at Call.Unread.
	Skips
	// Ordered marks one whose kernels run as well with channels innermost as in row-major order, and give outs the order of the
	// first argument, or that of the members if it is a list.
	Ordered
	// Masks marks a DataDependent one that is so only where a tensor behind its first argument is a mask, Bool or Byte.
	Masks
	// Copies marks one whose out has the elements of its first argument, in its own type and order.
	Copies
)

// Key says from which element type a call picks its kernel.
type Key uint8

// The keys.
const (
	// KeySelf is the element type of the first tensor (of the first list, if that comes first).
	KeySelf Key = iota
	// KeyOut is that of the first out tensor.
	KeyOut
	// KeyPromote is what PyTorch's promotion gives over the tensors and Scalars that KeyArgs
	// selects; those tensors are cast to it before Run.
	KeyPromote
	// KeyPromoteFloat is KeyPromote with an integral result turned into Float, as of sin or true division.
	KeyPromoteFloat
)

// Def is the row of one operator.
//
// It must be a composite literal of constants and function names: a call or a
// map at the top level would keep every row in every binary.
type Def struct {
	// Schema is the out variant as a .pte names it, in ATen's notation:
	// "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)".
	// Operators that have no out variant (aten::copy_) give the schema that is called.
	Schema string
	// Functional is the operator it is the out variant of, such as "aten::add.Tensor".
	Functional string
	// Infer sets c.Out from c.Args.
	Infer func(c *Infer) error
	Key   Key
	// KeyArgs selects the arguments (bit i is argument i) that KeyPromote and
	// KeyPromoteFloat look at and cast; 0 means every tensor and Scalar.
	KeyArgs uint32
	Tags    Tags
	// Inner, unless nil, reports whether a call runs best with the channels of its first argument and of its out innermost. Run
	// then gives such an out whatever order the first argument has.
	Inner func(args []Value, out *tensor.Meta, t kernel.Tier) bool
	// Turns, unless nil, reports of an out in row-major order, or with its channels innermost, whether a call runs so much better in the
	// other one of these orders that its out is turned then.
	Turns func(args []Value, out *tensor.Meta, t kernel.Tier) bool
	// RTol is the relative tolerance in Float against PyTorch; 0 means equal bits are expected of
	// integers and 1e-5 of floats.
	RTol float64
}

// DependsOnData reports whether the sizes of what a call gives follow from values; masks says that a tensor behind its first
// argument is a mask (IsMask).
func (d *Def) DependsOnData(masks bool) bool {
	return d.Tags&DataDependent != 0 && (masks || d.Tags&Masks == 0)
}

// Kind is the kind of a Value.
type Kind uint8

// The kinds of arguments.
const (
	None Kind = iota
	Tensor
	Int // also ScalarType, MemoryFormat, Layout, as ExecuTorch emits them
	Float
	Bool
	String
	Ints
	Floats
	Bools
	Tensors // Tensor[] and Tensor?[], whose absent members are nil
)

// Value is one argument of a call.
type Value struct {
	Kind    Kind
	Int     int64 // Int; Bool as 0 or 1. While lowering an Int may be a symbolic tensor.Dim
	Float   float64
	Str     string
	Tensor  *tensor.Tensor
	Ints    []int64 // Ints and Bools; members may be symbolic while lowering
	Floats  []float64
	Tensors []*tensor.Tensor
}

// Scalar is the number of an Int, Float or Bool.
func (v *Value) Scalar() float64 {
	if v.Kind == Float {
		return v.Float
	}
	return float64(v.Int)
}

// Infer is what a shape rule gets and gives.
type Infer struct {
	// Shapes does the arithmetic on sizes; nil at run time.
	Shapes *tensor.Shapes
	// Args are the arguments in the order of Def.Schema, outs left out. Tensors have no Data
	// unless they are small constants.
	Args []Value
	// Out is what the rule sets, one entry an out tensor; for a Tensor[] out the rule sets its length.
	// Sizes are appended to Out[i].Sizes[:0], so that a call in steady state allocates nothing.
	// DimOrder nil means contiguous.
	Out []tensor.Meta
}

// Set makes the sizes of out i these, its type dtype, its order contiguous.
func (c *Infer) Set(i int, dtype tensor.ScalarType, sizes ...tensor.Dim) {
	c.Out[i].DType = dtype
	c.Out[i].Sizes = append(c.Out[i].Sizes[:0], sizes...)
	c.Out[i].DimOrder = c.Out[i].DimOrder[:0]
}

// Kernel runs a Def in one element type.
type Kernel struct {
	Def *Def
	// DType is the element type that the Def's Key yields.
	DType tensor.ScalarType
	// Compute, if not equal to DType and Cast is true, is the type that Run works in: the caller casts
	// every tensor argument of type DType to it before Run, and outs that Infer gives type DType from it after.
	// So half types run in Float.
	Compute tensor.ScalarType
	Cast    bool
	// Keep has bits for the arguments, by their number, that stay in DType nevertheless.
	Keep uint8
	// Prepare is called once for each instruction when a program is loaded; nil if there is nothing to prepare.
	Prepare func(p *Prep) (State, error)
	// Attention computes this product of matrices, a softmax of it, and the product of that with another matrix: the Run of
	// PrepareAttention. Nil if there is nothing for it.
	Attention func(c *Call, s State) error
	// Cell computes a cell of a recurrent network, one of whose functions is this: the Run of PrepareLSTM and PrepareGRU. Nil
	// if there is nothing for it.
	Cell func(c *Call, s State) error
	// Integers compute products of what this dequantizes without doing that: PrepareIntegers. Nil if there is nothing for it.
	Integers *IntegerKernels
	// Bytes compute products with weights of int8 of which this makes Float: PrepareBytes. Nil if there is nothing for it.
	Bytes *ByteKernels
	// Run computes c.Out, which has its final sizes (but see DataDependent). It must not allocate.
	Run func(c *Call, s State) error
}

// State is what Prepare hands to Run; it is shared by instances and never written by Run.
type State any

// Prep is what Prepare sees.
type Prep struct {
	// Args as in Call; a tensor that is not constant has no Data.
	Args []Value
	// Out has the largest sizes of the outs.
	Out []tensor.Meta
	// Turned says that Out has the order that Run gives for Def.Turns.
	Turned bool
	// Scratch is set by Prepare: bytes that Run wants in Call.Scratch, at the largest sizes.
	Scratch int
	// Pack keeps packed constants; nil: the State does.
	Pack PackFunc
	// Release is Options.Release.
	Release func(b []byte)
	// Packed is set by Prepare: bit i says that Run reads no element of argument i, which is packed.
	Packed uint32
	// Tier is Call.Tier.
	Tier kernel.Tier
}

// PackFunc gives the bytes, 64-byte aligned, that a constant is packed into: those that were made before for the constant and
// the layout, or new ones.
type PackFunc func(t *tensor.Tensor, p Packing) []byte

// Packing is how a constant is packed.
type Packing struct {
	// Layout names the result; together with the constant, and From, it says what the bytes are.
	Layout string
	// From is what is packed with the constant, two lists at most.
	From [][]byte
	// Bytes is how many there are.
	Bytes int
	// Fill writes them; dst is zero. It may run on any goroutine until the first Run.
	Fill func(dst []byte)
	// Now says that Fill has to have run when Pack returns.
	Now bool
}

// orNew is f or, without one, packNew.
func (f PackFunc) orNew() PackFunc {
	if f == nil {
		return packNew
	}
	return f
}

// packNew is a PackFunc that shares nothing.
func packNew(_ *tensor.Tensor, p Packing) []byte {
	b := AlignedBytes(p.Bytes)
	p.Fill(b)
	return b
}

// Call is what Run gets.
type Call struct {
	// Args are the arguments in the order of Def.Schema, outs left out.
	Args []Value
	// Out are the out tensors, sized.
	Out []*tensor.Tensor
	// Scratch is at least Prep.Scratch bytes, 64-byte aligned, of any content.
	Scratch []byte
	// Tier is the instruction set to use where there is a choice.
	Tier kernel.Tier
	// Parallel runs f over [0,n) in chunks of at least grain, on several threads or on this one.
	Parallel func(n, grain int, f func(lo, hi int))
	// Threads is how many threads Parallel has at most, the caller's included.
	Threads int
	// Bounds are the least and greatest results of an operator that Clamps, NaN stays; nil for none.
	Bounds *[2]float32
	// Unread says of outs, bit i of out i, that nobody reads their elements: kernels of operators that Skip leave any there.
	Unread uint32
	// Rand is the generator that random operators draw from; others do not look at it.
	Rand *Generator
	// Alloc gives a temporary of n bytes, 16-byte aligned, valid until Run returns; growth is kept for
	// later calls, so that steady state allocates nothing.
	Alloc func(n int) ([]byte, error)

	kept  any                  // what keep keeps
	mover *kept[moved[uint32]] // the last move of reorder
	// same says that since the last call of this kernel nothing has changed but bytes of tensors, and where they lie; and that kept is
	// of a call with these sizes.
	same bool
	left bool // kept is of the last call that was not same, or later
}

// bounds are c.Bounds, infinite without.
func (c *Call) bounds() [2]float32 {
	if c.Bounds != nil {
		return *c.Bounds
	}
	return kernel.Unclamped
}
