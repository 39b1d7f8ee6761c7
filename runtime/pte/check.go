package pte

import (
	"errors"
	"math/bits"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// elementSizes are the bytes of an element, for all types of ExecuTorch; 0 is no type.
var elementSizes = [...]uint64{
	1, 1, 2, 4, 8, 2, 4, 8, // uint8 to float64
	4, 8, 16, 1, // complex, bool
	1, 1, 4, 2, 1, 1, // quantized types, bfloat16
	1, 1, 1, 1, 2, // bits
	1, 1, 1, 1, 2, 4, 8, // float8, uint16 to uint64
}

// Nbytes is the number of bytes of a tensor of this layout, or an error where it is none.
func (l *TensorLayout) Nbytes() (uint64, error) {
	n, msg := layoutBytes(l.ScalarType, l.Sizes, l.DimOrder)
	if msg != "" {
		return 0, errors.New(msg)
	}
	return n, nil
}

// checkTensor checks a description on its own and records the size of the buffer that it uses.
func (r *reader) checkTensor(i int, t *Tensor) {
	size, msg := layoutBytes(t.ScalarType, t.Sizes, t.DimOrder)
	switch {
	case t.StorageOffset != 0:
		r.failIn(NotSupported, "value", i, "storage offset "+itoa(t.StorageOffset)+", want 0")
	case t.Dynamism < Static || t.Dynamism > DynamicUnbound:
		r.bad("value", i, "unknown shape dynamism "+itoa(int8(t.Dynamism)))
	case t.Extra != nil && (t.Extra.Location < 0 || t.Extra.Location > LocationExternal):
		r.bad("value", i, "unknown data location "+itoa(t.Extra.Location))
	case msg != "":
		r.bad("value", i, msg)
	default:
		r.refer(t, size)
	}
}

// layoutBytes is the number of bytes of a tensor, or what is wrong with its description.
func layoutBytes(t tensor.ScalarType, sizes []int32, order []uint8) (n uint64, msg string) {
	switch {
	case t < 0 || int(t) >= len(elementSizes):
		return 0, "unknown scalar type " + itoa(int8(t))
	case !permutation(order, len(sizes)):
		return 0, "dim_order is not a permutation of " + itoa(len(sizes)) + " dimensions"
	}
	n = 1
	for d, s := range sizes {
		if s < 0 {
			return 0, "size " + itoa(s) + " of dimension " + itoa(d) + " is negative"
		}
		hi, lo := bits.Mul64(n, uint64(s))
		if hi != 0 || lo>>63 != 0 {
			return 0, "number of elements overflows at dimension " + itoa(d)
		}
		n = lo
	}
	hi, lo := bits.Mul64(n, elementSizes[t])
	if hi != 0 || lo>>63 != 0 {
		return 0, "number of bytes overflows"
	}
	return lo, ""
}

func permutation(order []byte, rank int) bool {
	if len(order) != rank || rank > maxRank {
		return false
	}
	seen := 0
	for _, d := range order {
		if int(d) < rank {
			seen |= 1 << d
		}
	}
	return seen == 1<<rank-1
}

// refer notes which buffer holds the tensor's data.
func (r *reader) refer(t *Tensor, size uint64) {
	if t.DataBufferIdx == 0 || t.Extra != nil && t.Extra.Location == LocationExternal || !r.charge(64) {
		return
	}
	sizes := r.constants
	if t.Allocation != nil {
		sizes = r.mutables
	}
	sizes[t.DataBufferIdx] = max(sizes[t.DataBufferIdx], size)
}

// checkPlan checks the indices of a plan.
func (r *reader) checkPlan(p *ExecutionPlan) {
	r.indices("inputs of plan", r.plan, p.Inputs, len(p.Values))
	r.indices("outputs of plan", r.plan, p.Outputs, len(p.Values))
	for i, n := range p.NonConstBufferSizes {
		if n < 0 {
			r.bad("arena", i, "size "+itoa(n)+" is negative")
		}
	}
	for i := range p.Values {
		r.checkValue(i, &p.Values[i], p)
	}
	for i := range p.Chains {
		r.checkChain(i, &p.Chains[i], p)
	}
}

// indices checks that all of list are below n.
func (r *reader) indices(kind string, i int, list []int32, n int) {
	for _, x := range list {
		if x < 0 || int(x) >= n {
			r.bad(kind, i, "index "+itoa(x)+", want 0 to "+itoa(n-1))
			return
		}
	}
}

// itemTypes are the values that the items of a list may refer to.
var itemTypes = map[ValueType][]ValueType{
	IntList: {Int}, TensorList: {TensorValue}, OptionalTensorList: {TensorValue, Null},
}

func (r *reader) checkValue(i int, v *EValue, p *ExecutionPlan) {
	if v.Tensor != nil && v.Tensor.Allocation != nil {
		r.checkAllocation(i, v.Tensor, p)
	}
	if len(v.Items) == 0 {
		return
	}
	want := itemTypes[v.Type]
	for _, x := range v.Items {
		if want == nil || x == -1 && v.Type == OptionalTensorList {
			continue
		}
		if x < 0 || x >= int64(len(p.Values)) {
			r.bad("value", i, "item "+itoa(x)+", want 0 to "+itoa(len(p.Values)-1))
			return
		}
		if got := p.Values[x].Type; got != want[0] && got != want[len(want)-1] {
			r.bad("value", i, "item "+itoa(x)+" has type "+itoa(uint8(got))+", want "+itoa(uint8(want[0])))
			return
		}
	}
}

func (r *reader) checkAllocation(i int, t *Tensor, p *ExecutionPlan) {
	a := t.Allocation
	if a.MemoryID == 0 || uint64(a.MemoryID) >= uint64(len(p.NonConstBufferSizes)) {
		r.bad("value", i, "arena "+itoa(a.MemoryID)+", want 1 to "+itoa(len(p.NonConstBufferSizes)-1))
		return
	}
	size, _ := layoutBytes(t.ScalarType, t.Sizes, t.DimOrder)
	arena := uint64(p.NonConstBufferSizes[a.MemoryID])
	if a.Offset > arena || size > arena-a.Offset {
		r.failIn(MemoryAllocationFailed, "value", i,
			itoa(size)+" bytes at "+itoa(a.Offset)+" of arena "+itoa(a.MemoryID)+" of "+itoa(arena))
	}
}

func (r *reader) checkChain(i int, c *Chain, p *ExecutionPlan) {
	r.indices("inputs of chain", i, c.Inputs, len(p.Values))
	r.indices("outputs of chain", i, c.Outputs, len(p.Values))
	for j := range c.Instructions {
		in := &c.Instructions[j]
		values, a, b := len(p.Values), 0, 1
		switch in.Type {
		case KernelCall:
			a = len(p.Operators)
		case DelegateCall:
			a = len(p.Delegates)
		case MoveCall:
			a, b = values, values
		case JumpFalseCall:
			a, b = values, len(c.Instructions)+1
		case FreeCall:
			a = values
		default:
			r.bad("instruction", j, "no type")
			return
		}
		r.indices("instruction", j, []int32{in.A}, a)
		r.indices("instruction", j, []int32{in.B}, b)
		r.indices("instruction", j, in.Args, values)
	}
}
