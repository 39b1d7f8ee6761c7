package pte

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/fb"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

type table = flatbuffers.Table

// accessors read one table after another: each kind has one, since a new one for each table would lie on the heap.
type accessors struct {
	kernelCall         fb.KernelCall
	delegateCall       fb.DelegateCall
	moveCall           fb.MoveCall
	jumpFalseCall      fb.JumpFalseCall
	freeCall           fb.FreeCall
	int                fb.Int
	bool               fb.Bool
	double             fb.Double
	string             fb.String
	tensor             fb.Tensor
	intList            fb.IntList
	doubleList         fb.DoubleList
	boolList           fb.BoolList
	tensorList         fb.TensorList
	optionalTensorList fb.OptionalTensorList
	allocation         fb.AllocationDetails
}

// as is p, set to the table t.
func as[P interface {
	Init([]byte, flatbuffers.UOffsetT)
}](p P, t table) P {
	p.Init(t.Bytes, t.Pos)
	return p
}

func (r *reader) values(p *fb.ExecutionPlan, out *ExecutionPlan) {
	out.Values = array[EValue](r, p.ValuesLength(), 104)
	var v fb.EValue
	for i := 0; i < len(out.Values) && r.err == nil; i++ {
		p.Values(&v, i)
		r.value(i, &v, &out.Values[i])
	}
}

// value reads v into out, which is zero.
func (r *reader) value(i int, v *fb.EValue, out *EValue) {
	var t table
	v.Val(&t)
	out.Type = ValueType(v.ValType())
	switch out.Type {
	case Null:
	case Int:
		out.Int = as(&r.at.int, t).IntVal()
	case Bool:
		out.Int = bit(as(&r.at.bool, t).BoolVal())
	case Double:
		out.Double = as(&r.at.double, t).DoubleVal()
	case String:
		out.String = r.string(as(&r.at.string, t).StringVal())
	case TensorValue:
		out.Tensor = r.tensor(i, as(&r.at.tensor, t))
	case NoValue:
		r.bad("value", i, "no type")
	default:
		r.list(i, t, out)
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (r *reader) list(i int, t table, out *EValue) {
	if t.Offset(slotItems) == 0 {
		r.bad("value", i, "missing items")
		return
	}
	switch out.Type {
	case IntList:
		l := as(&r.at.intList, t)
		out.Items = integers(r, l.ItemsLength(), l.Items)
	case DoubleList:
		l := as(&r.at.doubleList, t)
		out.Doubles = numbers(r, l.ItemsLength(), l.Items)
	case BoolList:
		l := as(&r.at.boolList, t)
		out.Items = numbers(r, l.ItemsLength(), func(j int) int64 { return bit(l.Items(j)) })
	case TensorList:
		l := as(&r.at.tensorList, t)
		out.Items = integers(r, l.ItemsLength(), l.Items)
	case OptionalTensorList:
		l := as(&r.at.optionalTensorList, t)
		out.Items = integers(r, l.ItemsLength(), l.Items)
	}
}

func (r *reader) tensor(i int, t *fb.Tensor) *Tensor {
	raw := t.Table()
	if raw.Offset(slotSizes) == 0 || raw.Offset(slotDimOrder) == 0 {
		r.bad("value", i, "missing sizes or dim_order")
		return nil
	}
	if t.SizesLength() > maxRank {
		r.failIn(NotSupported, "value", i, "rank "+itoa(int64(t.SizesLength()))+", want at most "+itoa(maxRank))
		return nil
	}
	if !r.charge(240) {
		return nil
	}
	out := r.tensors.one()
	*out = Tensor{
		ScalarType: tensor.ScalarType(t.ScalarType()), StorageOffset: t.StorageOffset(),
		Sizes: int32s(r, raw, slotSizes), DimOrder: r.bytes(t.DimOrderBytes()),
		RequiresGrad: t.RequiresGrad(), DataBufferIdx: t.DataBufferIdx(),
		Layout: t.Layout(), Dynamism: Dynamism(t.ShapeDynamism()),
	}
	if a := t.AllocationInfo(&r.at.allocation); a != nil {
		out.Allocation = r.allocations.one()
		*out.Allocation = Allocation{a.MemoryId(), uint64(a.MemoryOffsetHigh())<<32 | uint64(a.MemoryOffsetLow())}
	}
	if e := t.ExtraTensorInfo(nil); e != nil {
		out.Extra = &ExtraTensorInfo{
			e.MutableDataSegmentsIdx(), r.string(e.FullyQualifiedName()), int8(e.Location()), int8(e.DeviceType()), e.DeviceIndex(),
		}
	}
	r.checkTensor(i, out)
	return out
}
