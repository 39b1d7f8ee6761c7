package etdump

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/etdump/internal/fb"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// identifier of the flatbuffer.
const identifier = "ED00"

// bufferAlignment is where tensors begin in the debug buffer, in bytes.
const bufferAlignment = 16

type offset = flatbuffers.UOffsetT

// Marshal is the file of all events so far (.etdp), and the debug buffer: the bytes of its tensors.
func (g *Gen) Marshal() (dump, debugBuffer []byte) {
	w := &writer{Builder: flatbuffers.NewBuilder(1024)}
	runs := make([]offset, len(g.Runs))
	for i := range g.Runs {
		runs[i] = w.run(&g.Runs[i])
	}
	list := w.vector(runs)
	fb.ETDumpStart(w.Builder)
	fb.ETDumpAddRunData(w.Builder, list)
	w.FinishSizePrefixedWithFileIdentifier(fb.ETDumpEnd(w.Builder), []byte(identifier))
	return w.FinishedBytes(), w.buffer
}

type writer struct {
	*flatbuffers.Builder
	buffer []byte
}

func (w *writer) vector(items []offset) offset {
	w.StartVector(4, len(items), 4)
	for i := len(items) - 1; i >= 0; i-- {
		w.PrependUOffsetT(items[i])
	}
	return w.EndVector(len(items))
}

func (w *writer) longs(list []int64) offset {
	w.StartVector(8, len(list), 8)
	for i := len(list) - 1; i >= 0; i-- {
		w.PrependInt64(list[i])
	}
	return w.EndVector(len(list))
}

// text is s, or nothing if it is "".
func (w *writer) text(s string) offset {
	if s == "" {
		return 0
	}
	return w.CreateString(s)
}

func (w *writer) run(r *Run) offset {
	events := make([]offset, len(r.Events))
	for i := range r.Events {
		events[i] = w.event(&r.Events[i])
	}
	name, list := w.text(r.Name), w.vector(events)
	fb.RunDataStart(w.Builder)
	fb.RunDataAddName(w.Builder, name)
	fb.RunDataAddEvents(w.Builder, list)
	return fb.RunDataEnd(w.Builder)
}

func (w *writer) event(e *Event) offset {
	add, body := fb.EventAddProfileEvent, w.profile
	if e.Kind == Logged {
		add, body = fb.EventAddDebugEvent, w.logged
	}
	at := body(e)
	fb.EventStart(w.Builder)
	add(w.Builder, at)
	return fb.EventEnd(w.Builder)
}

func (w *writer) profile(e *Event) offset {
	name, step := w.text(e.Name), w.text(e.DelegateName)
	var metadata offset
	if len(e.Metadata) > 0 {
		metadata = w.CreateByteVector(e.Metadata)
	}
	fb.ProfileEventStart(w.Builder)
	fb.ProfileEventAddName(w.Builder, name)
	fb.ProfileEventAddChainIndex(w.Builder, int32(e.Chain))
	fb.ProfileEventAddInstructionId(w.Builder, int32(e.Instruction))
	fb.ProfileEventAddDelegateDebugIdInt(w.Builder, int32(e.DelegateID))
	fb.ProfileEventAddDelegateDebugIdStr(w.Builder, step)
	fb.ProfileEventAddDelegateDebugMetadata(w.Builder, metadata)
	fb.ProfileEventAddStartTime(w.Builder, uint64(e.Start))
	fb.ProfileEventAddEndTime(w.Builder, uint64(e.End))
	return fb.ProfileEventEnd(w.Builder)
}

func (w *writer) logged(e *Event) offset {
	value, step := w.value(&e.Value, e.Output), w.text(e.DelegateName)
	fb.DebugEventStart(w.Builder)
	fb.DebugEventAddChainIndex(w.Builder, uint64(e.Chain))
	fb.DebugEventAddInstructionId(w.Builder, int32(e.Instruction))
	fb.DebugEventAddDebugEntry(w.Builder, value)
	fb.DebugEventAddDelegateDebugIdInt(w.Builder, int32(e.DelegateID))
	fb.DebugEventAddDelegateDebugIdStr(w.Builder, step)
	return fb.DebugEventEnd(w.Builder)
}

// value is v; what the schema has no field for becomes Null.
func (w *writer) value(v *backend.Value, output bool) offset {
	kind, add, field := w.field(v)
	var isOutput offset
	if output {
		isOutput = w.boolean(true)
	}
	fb.ValueStart(w.Builder)
	fb.ValueAddVal(w.Builder, kind)
	if add != nil {
		add(w.Builder, field)
	}
	fb.ValueAddOutput(w.Builder, isOutput)
	return fb.ValueEnd(w.Builder)
}

// field is the type of v, the function that adds the field of that type to a Value, and the field.
func (w *writer) field(v *backend.Value) (kind fb.ValueType, add func(*flatbuffers.Builder, offset), field offset) {
	switch v.Kind {
	case op.Int:
		fb.IntStart(w.Builder)
		fb.IntAddIntVal(w.Builder, v.Int)
		return fb.ValueTypeInt, fb.ValueAddIntValue, fb.IntEnd(w.Builder)
	case op.Bool:
		return fb.ValueTypeBool, fb.ValueAddBoolValue, w.boolean(v.Int != 0)
	case op.Float:
		fb.DoubleStart(w.Builder)
		fb.DoubleAddDoubleVal(w.Builder, v.Float)
		return fb.ValueTypeDouble, fb.ValueAddDoubleValue, fb.DoubleEnd(w.Builder)
	case op.Tensor:
		return fb.ValueTypeTensor, fb.ValueAddTensor, w.tensor(v.Tensor)
	case op.Tensors:
		return fb.ValueTypeTensorList, fb.ValueAddTensorList, w.tensors(v.Tensors)
	}
	return fb.ValueTypeNull, nil, 0
}

func (w *writer) boolean(b bool) offset {
	fb.BoolStart(w.Builder)
	fb.BoolAddBoolVal(w.Builder, b)
	return fb.BoolEnd(w.Builder)
}

func (w *writer) tensors(list []*tensor.Tensor) offset {
	var items []offset
	for _, t := range list {
		if t != nil {
			items = append(items, w.tensor(t))
		}
	}
	all := w.vector(items)
	fb.TensorListStart(w.Builder)
	fb.TensorListAddTensors(w.Builder, all)
	return fb.TensorListEnd(w.Builder)
}

// tensor puts the bytes of t, which is in row-major order, into the debug buffer.
func (w *writer) tensor(t *tensor.Tensor) offset {
	strides := make([]int64, len(t.Sizes))
	step := int64(1)
	for i := len(strides) - 1; i >= 0; i-- {
		strides[i] = step
		step *= t.Sizes[i]
	}
	for len(w.buffer)%bufferAlignment != 0 {
		w.buffer = append(w.buffer, 0)
	}
	at := int64(len(w.buffer))
	w.buffer = append(w.buffer, t.Data[:t.Nbytes()]...)
	sizes, steps := w.longs(t.Sizes), w.longs(strides)
	fb.TensorStart(w.Builder)
	fb.TensorAddScalarType(w.Builder, fb.ScalarType(t.DType))
	fb.TensorAddSizes(w.Builder, sizes)
	fb.TensorAddStrides(w.Builder, steps)
	fb.TensorAddOffset(w.Builder, at)
	return fb.TensorEnd(w.Builder)
}
