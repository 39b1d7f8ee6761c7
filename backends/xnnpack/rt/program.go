package rt

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// program is a compiled graph. It is immutable.
type program struct {
	slots []slot
	steps []step
	// inputs and outputs are slots by external id; the other's entries are -1.
	inputs, outputs []int
	// nodes are what traces say of the graph's nodes.
	nodes []traced
	// inline says that constants lie in the payload.
	inline bool
	// lodgers are the slots that lie in arguments.
	lodgers []lodger
	// workspace is the bytes of the slots that have a place in it.
	workspace int64
}

// lodger is a slot that lies where slot home does, an argument.
type lodger struct{ slot, home int }

// traced is a node in a trace: the handle that the ahead-of-time half gave it, its type, the slots of its results, and what
// it has to do.
type traced struct {
	handle  int64
	name    string
	results []int

	// operands are the slots that it reads and writes, constants the bytes of its weights.
	operands  []int
	constants int64
	// perElement are the multiply-accumulates for each element of the slot elements; integers says of what.
	perElement int64
	elements   int
	integers   bool
	window     backend.Window
}

// noHandle is the handle of nodes that no node of a model stands behind.
const noHandle = math.MaxUint16

// step is what a trace calls the node: its handle or, without one, its type.
func (t *traced) step() (name string, id int64) {
	if t.handle == noHandle {
		return t.name, 0
	}
	return "", t.handle
}

// slot is a value in row-major order.
type slot struct {
	// dtype is how elements lie: Float, Half and Char stand for all types of their size.
	dtype tensor.ScalarType
	// dims are the largest sizes.
	dims []tensor.Dim
	// data is the bytes of a constant.
	data []byte
	// external is the argument that the slot is, or -1.
	external int
	// argument is the type that the argument must have.
	argument tensor.ScalarType
	// offset is the place in the workspace; -1 for constants and arguments.
	offset int64
	// first and last are the steps that write and read it.
	first, last int
}

func (s *slot) meta() tensor.Meta { return tensor.Meta{DType: s.dtype, Sizes: s.dims} }

// planned reports a slot that has a place in the workspace: no constant, no argument, and none that nobody uses.
func (s *slot) planned() bool { return s.data == nil && s.external < 0 && s.first >= 0 }

// bytes is the size of its largest value.
func (s *slot) bytes() int {
	m := s.meta()
	return m.Nbytes()
}

// step is one call: of a portable kernel, or of run, which gets the tensors of args and outs.
type step struct {
	plan *op.Plan
	run  func(c *ownCall) error
	// args are the kernel's arguments; members of lists are in list.
	args []operand
	outs []operand
	// node is the index of the graph's node.
	node int
	// leads says that run sets nothing but leading sizes of what the next step, a product, gives.
	leads bool
	// inPlace is what run does to elements, unless nil; it leaves zeros alone.
	inPlace func(t kernel.Tier, x []float32)
	// chain is how many steps from this one on compute a convolution, and of its results, changed by steps inPlace, a
	// depthwise one, whose results alone anybody reads; 0 if they do not.
	chain int
}

// operand is an argument of a step: a number, a tensor (slot ≥ 0) or a list of tensors.
type operand struct {
	value op.Value
	slot  int
	view  *view
	list  []operand
}

// view is another way to see a slot's bytes.
type view struct {
	// rank is the rank of a slot that can be seen so: the least one if collapses, else the only one.
	rank      int
	collapses bool
	// order is the view's DimOrder.
	order []uint8
	// sizes are the view's sizes for the slot's, dims the way back.
	sizes, dims func(dst, src []tensor.Dim) []tensor.Dim
}

// reordered is the view whose dimension order[i] is the slot's dimension i.
func reordered(order ...uint8) *view {
	return &view{
		rank:  len(order),
		order: order,
		sizes: func(dst, src []tensor.Dim) []tensor.Dim {
			dst = append(dst[:0], src...)
			for i, d := range order {
				dst[d] = src[i]
			}
			return dst
		},
		dims: func(dst, src []tensor.Dim) []tensor.Dim {
			dst = dst[:0]
			for _, d := range order {
				dst = append(dst, src[d])
			}
			return dst
		},
	}
}

// The views of images and weights.
var (
	// nchw sees NHWC as NCHW, and OHWI weights as OIHW.
	nchw = reordered(0, 2, 3, 1)
	// depthwise sees weights 1HWO as O1HW.
	depthwise = reordered(1, 2, 3, 0)
	// transposed sees a matrix transposed.
	transposed = reordered(1, 0)
)

// batches sees all dimensions but the last two as one. On the way back the others stay as they are.
var batches = &view{
	rank: 2, collapses: true,
	sizes: func(dst, src []tensor.Dim) []tensor.Dim {
		n := len(src) - 2
		return append(dst[:0], (*tensor.Shapes)(nil).Product(src[:n]), src[n], src[n+1])
	},
	dims: func(dst, src []tensor.Dim) []tensor.Dim {
		copy(dst[len(dst)-2:], src[1:])
		return dst
	},
}

// transposedBatches is batches with each matrix transposed.
var transposedBatches = &view{rank: 2, collapses: true, order: []uint8{0, 2, 1}, sizes: func(dst, src []tensor.Dim) []tensor.Dim {
	n := len(src) - 2
	return append(dst[:0], (*tensor.Shapes)(nil).Product(src[:n]), src[n+1], src[n])
}}

// flat sees all dimensions but the last as one.
var flat = &view{rank: 1, collapses: true, sizes: func(dst, src []tensor.Dim) []tensor.Dim {
	n := len(src) - 1
	return append(dst[:0], (*tensor.Shapes)(nil).Product(src[:n]), src[n])
}}

func number(n int64) operand { return operand{value: op.Value{Kind: op.Int, Int: n}, slot: -1} }
func truth(b bool) operand   { return operand{value: op.Value{Kind: op.Bool, Int: bit(b)}, slot: -1} }
func float(x float32) operand {
	return operand{value: op.Value{Kind: op.Float, Float: float64(x)}, slot: -1}
}
func numbers(l ...int64) operand   { return operand{value: op.Value{Kind: op.Ints, Ints: l}, slot: -1} }
func text(s string) operand        { return operand{value: op.Value{Kind: op.String, Str: s}, slot: -1} }
func none() operand                { return operand{slot: -1} }
func of(slot int) operand          { return operand{slot: slot} }
func as(slot int, v *view) operand { return operand{slot: slot, view: v} }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// dimsOf are sizes as Dims.
func dimsOf(list []uint32) []tensor.Dim {
	dims := make([]tensor.Dim, len(list))
	for i, d := range list {
		dims[i] = tensor.Dim(d)
	}
	return dims
}

// intsOf are numbers as an argument.
func intsOf(list []uint32) operand { return numbers(dimsOf(list)...) }
