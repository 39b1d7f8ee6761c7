package abi

import (
	"strconv"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Value is pte_value, 192 bytes: an input or output. Its address is no pointer to Go, since the struct lies in the caller's
// memory, which may hold anything before it is written.
type Value struct {
	Kind     int32                 // executor.Kind
	DType    int32                 // tensor.ScalarType of a tensor
	Int      int64                 // an int; a bool as 0 or 1
	Float    float64               // a float
	Data     uintptr               // address: the elements of a tensor, or the bytes of a string
	Nbytes   uint64                // how many bytes lie there
	Rank     uint32                // of a tensor
	Reserved uint32                // 0
	DimOrder [tensor.MaxRank]uint8 // of a tensor, outermost first; zeros are row-major order
	Sizes    [tensor.MaxRank]int64 // of a tensor, outermost first
}

// ValueInfo is pte_value_info, 168 bytes: what is known of an input or output before a call.
type ValueInfo struct {
	Kind     int32
	DType    int32
	Dynamism int32  // pte.Dynamism
	Flags    uint32 // Planned and Written
	Rank     uint32
	Reserved uint32
	DimOrder [tensor.MaxRank]uint8 // as in Value, never zeros for a rank above 1
	Sizes    [tensor.MaxRank]int64 // the largest ones, if Dynamism is DynamicBound
}

// Flags of a ValueInfo.
const (
	// Planned says that the tensor has a place in an arena; another input is read where the caller has it.
	Planned = 1 << iota
	// Written says that the method writes to the input.
	Written
)

// describe writes what is known of one of infos.
func describe(infos []executor.ValueInfo, i uint32, what string, out *ValueInfo) error {
	if out == nil {
		return errNil
	}
	if err := index(i, len(infos), what); err != nil {
		return err
	}
	from := &infos[i]
	*out = ValueInfo{Kind: int32(from.Kind), Dynamism: int32(from.Dynamism)}
	if from.Kind == executor.Tensor {
		out.DType = int32(from.Meta.DType)
		out.Rank = shape(&from.Meta, &out.Sizes, &out.DimOrder)
	}
	if from.Planned {
		out.Flags |= Planned
	}
	if from.Written {
		out.Flags |= Written
	}
	return nil
}

// shape writes sizes and order and gives the rank.
func shape(m *tensor.Meta, sizes *[tensor.MaxRank]int64, order *[tensor.MaxRank]uint8) uint32 {
	copy(sizes[:], m.Sizes)
	copy(order[:], m.DimOrder)
	for i := range m.Sizes {
		if len(m.DimOrder) == 0 {
			order[i] = uint8(i)
		}
	}
	return uint32(len(m.Sizes))
}

// get takes a value of a caller; t holds the tensor if it is one.
func (v *Value) get(t *tensor.Tensor) (executor.Value, error) {
	if v.Reserved != 0 {
		return executor.Value{}, fail("reserved is not 0")
	}
	switch executor.Kind(v.Kind) {
	case executor.Int:
		return executor.IntOf(v.Int), nil
	case executor.Float:
		return executor.FloatOf(v.Float), nil
	case executor.Bool:
		return executor.BoolOf(v.Int != 0), nil
	case executor.None:
		return executor.Value{}, nil
	case executor.String:
		bytes, err := v.bytes(v.Nbytes)
		return executor.StringOf(string(bytes)), err
	case executor.Tensor:
		return executor.TensorOf(t), v.tensor(t)
	}
	return executor.Value{}, fail("there is no kind " + strconv.Itoa(int(v.Kind)))
}

// bytes are the first n where the caller has them.
func (v *Value) bytes(n uint64) ([]byte, error) {
	switch {
	case n > v.Nbytes || v.Nbytes > 1<<46:
		return nil, fail("nbytes is " + strconv.FormatUint(v.Nbytes, 10) + ", want " + strconv.FormatUint(n, 10) + " or more")
	case n == 0:
		return []byte{}, nil
	case v.Data == 0:
		return nil, fail("data is null")
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&v.Data)), n), nil
}

// tensor fills t, whose slices it uses again.
func (v *Value) tensor(t *tensor.Tensor) error {
	dtype := tensor.ScalarType(v.DType)
	switch {
	case int32(dtype) != v.DType || !dtype.Valid():
		return fail("there is no dtype " + strconv.Itoa(int(v.DType)))
	case v.Rank > tensor.MaxRank:
		return fail("rank is " + strconv.Itoa(int(v.Rank)) + ", want at most " + strconv.Itoa(tensor.MaxRank))
	}
	t.DType = dtype
	t.Sizes = append(t.Sizes[:0], v.Sizes[:v.Rank]...)
	t.DimOrder = t.DimOrder[:0]
	if v.DimOrder != [tensor.MaxRank]uint8{} {
		t.DimOrder = append(t.DimOrder, v.DimOrder[:v.Rank]...)
	}
	if !t.ValidOrder() {
		return fail("dim_order is no order of the dimensions")
	}
	n, ok := t.BoundedBytes(1 << 46)
	if !ok {
		return fail("a size is negative, or the tensor is too large")
	}
	data, err := v.bytes(uint64(n))
	if err == nil && n > 0 && v.Data%uintptr(dtype.Size()) != 0 {
		err = fail("data does not lie as its elements must: want a multiple of " + strconv.Itoa(dtype.Size()))
	}
	t.Data = data
	return err
}

// set writes a value for a caller. Its data is where from has it.
func (v *Value) set(from *executor.Value) {
	*v = Value{Kind: int32(from.Kind), Int: from.Int, Float: from.Float}
	switch {
	case from.Kind == executor.String:
		v.Data, v.Nbytes = uintptr(unsafe.Pointer(unsafe.StringData(from.Str))), uint64(len(from.Str))
	case from.Kind == executor.Tensor && from.Tensor != nil:
		t := from.Tensor
		v.DType = int32(t.DType)
		v.Rank = shape(&t.Meta, &v.Sizes, &v.DimOrder)
		v.Data, v.Nbytes = uintptr(unsafe.Pointer(unsafe.SliceData(t.Data))), uint64(t.Nbytes())
	}
}
