package blob

import (
	"math"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Write is the payload of g, with a header; equal graphs give equal bytes. Constants with a Key are referred to by
// it, others follow the flatbuffer, 16-byte aligned. The error is that of Read, for a graph that Read would refuse.
func Write(g *Graph) ([]byte, error) {
	w := &writer{b: flatbuffers.NewBuilder(1024)}
	root := w.graph(g)
	w.b.FinishWithFileIdentifier(root, []byte(g.Identifier))
	buf := w.b.FinishedBytes()
	at := align16(headerPadded + len(buf))
	out := make([]byte, at, at+len(w.data))
	copy(out[4:], headerMagic)
	out[8] = headerLength
	flatbuffers.WriteUint32(out[10:], headerPadded)
	flatbuffers.WriteUint32(out[14:], uint32(len(buf)))
	flatbuffers.WriteUint32(out[18:], uint32(at))
	flatbuffers.WriteUint64(out[22:], uint64(len(w.data)))
	copy(out[headerPadded:], buf)
	out = append(out, w.data...)
	if _, err := Read(out); err != nil {
		return nil, err
	}
	return out, nil
}

func align16(n int) int { return (n + 15) &^ 15 }

// writer encodes one graph; data is its inline constants.
type writer struct {
	b    *flatbuffers.Builder
	data []byte
}

// offsets writes a vector of tables.
func (w *writer) offsets(list []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	w.b.StartVector(4, len(list), 4)
	for i := len(list) - 1; i >= 0; i-- {
		w.b.PrependUOffsetT(list[i])
	}
	return w.b.EndVector(len(list))
}

func (w *writer) u32s(list []uint32) flatbuffers.UOffsetT {
	w.b.StartVector(4, len(list), 4)
	for i := len(list) - 1; i >= 0; i-- {
		w.b.PrependUint32(list[i])
	}
	return w.b.EndVector(len(list))
}

func (w *writer) graph(g *Graph) flatbuffers.UOffsetT {
	constants, values, nodes := make([]flatbuffers.UOffsetT, len(g.Constants)), make([]flatbuffers.UOffsetT, len(g.Values)), make([]flatbuffers.UOffsetT, len(g.Nodes))
	for i := range g.Constants {
		constants[i] = w.constant(i, &g.Constants[i])
	}
	for i := range g.Values {
		values[i] = w.value(&g.Values[i])
	}
	for i := range g.Nodes {
		nodes[i] = w.node(&g.Nodes[i])
	}
	fields := []flatbuffers.UOffsetT{
		graphVersion: w.b.CreateString(g.Version), graphNodes: w.offsets(nodes), graphValues: w.offsets(values),
		graphInputs: w.u32s(g.Inputs), graphOutputs: w.u32s(g.Outputs), graphConstants: w.offsets(constants),
	}
	w.b.StartObject(len(fields))
	w.b.PrependUint32Slot(graphExterns, g.NumExterns, 0)
	for slot, at := range fields {
		w.b.PrependUOffsetTSlot(slot, at, 0)
	}
	return w.b.EndObject()
}

// constant writes an entry of the table of constants; only a named one has the field named_key.
func (w *writer) constant(i int, c *Constant) flatbuffers.UOffsetT {
	var at uint64
	var key flatbuffers.UOffsetT
	switch {
	case c.Key != "":
		at, key = math.MaxUint64, w.b.CreateString(c.Key)
	case i > 0:
		at = uint64(align16(len(w.data)))
		w.data = append(append(w.data, make([]byte, at-uint64(len(w.data)))...), c.Data...)
	}
	w.b.StartObject(3)
	w.b.PrependUint64Slot(0, at, 0)
	w.b.PrependUint64Slot(1, c.Size, 0)
	w.b.PrependUOffsetTSlot(2, key, 0)
	return w.b.EndObject()
}

func (w *writer) value(v *Value) flatbuffers.UOffsetT {
	dims := w.u32s(v.Dims)
	w.b.StartObject(8)
	w.b.PrependInt16Slot(0, int16(v.Type), 0)
	w.b.PrependUint32Slot(1, uint32(len(v.Dims)), 0)
	w.b.PrependUOffsetTSlot(2, dims, 0)
	w.b.PrependUint32Slot(3, v.Constant, 0)
	w.b.PrependUint32Slot(4, v.External, 0)
	w.b.PrependUint32Slot(5, v.Flags, 0)
	w.b.PrependUint32Slot(6, v.ID, 0)
	w.b.PrependInt16Slot(7, int16(v.DynamicType), 0)
	at := w.b.EndObject()
	kind := byte(1)
	if v.Quant.Kind != NoQuant {
		kind, at = 2, w.quantized(at, &v.Quant)
	}
	return w.union(kind, at)
}

// union writes a table whose first fields are a union.
func (w *writer) union(kind byte, at flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	w.b.StartObject(2)
	w.b.PrependByteSlot(0, kind, 0)
	w.b.PrependUOffsetTSlot(1, at, 0)
	return w.b.EndObject()
}

func (w *writer) quantized(base flatbuffers.UOffsetT, q *Quant) flatbuffers.UOffsetT {
	var scales flatbuffers.UOffsetT
	if len(q.Scales) > 0 {
		bits := make([]uint32, len(q.Scales))
		for i, s := range q.Scales {
			bits[i] = math.Float32bits(s)
		}
		scales = w.u32s(bits)
	}
	w.b.StartObject(6)
	switch q.Kind {
	case PerTensor:
		w.b.PrependFloat32Slot(0, q.Scale, 0)
		w.b.PrependInt32Slot(1, q.ZeroPoint, 0)
	case PerToken:
		w.b.PrependInt32Slot(0, q.NonbatchDims, 0)
	case PerChannel:
		w.b.PrependUOffsetTSlot(0, scales, 0)
		w.b.PrependInt32Slot(1, q.ChannelDim, 0)
		w.b.PrependUint32Slot(2, q.ScaleConstant, 0)
		w.b.PrependUint32Slot(3, q.NumScales, 0)
	case PerGroup:
		w.b.PrependUOffsetTSlot(0, scales, 0)
		w.b.PrependInt32Slot(1, q.ChannelDim, 0)
		w.b.PrependInt32Slot(2, q.GroupSize, 0)
		w.b.PrependUint32Slot(4, q.ScaleConstant, 0)
		w.b.PrependUint32Slot(5, q.NumScales, 0)
	}
	params := w.b.EndObject()
	w.b.StartObject(3)
	w.b.PrependUOffsetTSlot(0, base, 0)
	w.b.PrependByteSlot(1, byte(q.Kind), 0)
	w.b.PrependUOffsetTSlot(2, params, 0)
	return w.b.EndObject()
}

func (w *writer) node(n *Node) flatbuffers.UOffsetT {
	body := w.body(n)
	var bounds flatbuffers.UOffsetT
	if n.Bounded {
		w.b.StartObject(2)
		w.b.PrependFloat32Slot(0, n.Min, 0)
		w.b.PrependFloat32Slot(1, n.Max, 0)
		bounds = w.b.EndObject()
	}
	w.b.StartObject(4)
	w.b.PrependByteSlot(0, byte(n.Type), 0)
	w.b.PrependUOffsetTSlot(1, body, 0)
	w.b.PrependUint32Slot(2, n.DebugHandle, 0)
	w.b.PrependUOffsetTSlot(3, bounds, 0)
	return w.b.EndObject()
}

func (w *writer) body(n *Node) flatbuffers.UOffsetT {
	f := &form{}
	if n.Type > NoNode && n.Type < numNodeTypes {
		f = nodeInfos[n.Type].form
	}
	lists := make([]flatbuffers.UOffsetT, len(f.lists))
	for i := range min(len(lists), len(n.Lists)) {
		lists[i] = w.u32s(n.Lists[i])
	}
	w.b.StartObject(20)
	if f.hasFactor {
		w.b.PrependFloat32Slot(int(f.factor), n.Factor, 0)
	}
	for i, slot := range f.lists {
		w.b.PrependUOffsetTSlot(int(slot), lists[i], 0)
	}
	w.numbers(f.params, n.Params)
	w.numbers(f.inputs, n.Inputs)
	w.numbers(f.outputs, n.Outputs)
	w.b.PrependUint32Slot(int(f.flags), n.Flags, 0)
	return w.b.EndObject()
}

// numbers writes as many of list as there are slots.
func (w *writer) numbers(slots []uint16, list []uint32) {
	for i := range min(len(slots), len(list)) {
		w.b.PrependUint32Slot(int(slots[i]), list[i], 0)
	}
}
