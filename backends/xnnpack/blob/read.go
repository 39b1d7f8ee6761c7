package blob

import (
	"errors"
	"math"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/pte/verifier"
)

const (
	headerMagic  = "XH00"
	headerLength = 30
	headerPadded = 32
)

// The memory that decoding may take: budgetBase and budgetFactor bytes for each byte of the flatbuffer.
const (
	budgetBase   = 24 << 20
	budgetFactor = 48
)

// Error is a fault of a payload: Where names the part, such as "node 3 (Conv2d)".
type Error struct {
	Where, Msg string
}

// Error is "read XNNPACK payload: node 3 (Conv2d): input 9 does not exist".
func (e *Error) Error() string { return "read XNNPACK payload: " + e.Where + ": " + e.Msg }

// Read decodes a payload and checks it: every offset, index, rank and enum is in range, every value is written before
// it is read and at most once, quantizations fit types and sizes. Inline constants are slices of payload, all else is
// copied. Memory is at most 32 MiB and 64 times the flatbuffer. The error is an *Error.
func Read(payload []byte) (*Graph, error) {
	buf, data, err := parseHeader(payload)
	if err != nil {
		return nil, err
	}
	if err := verify(buf); err != nil {
		return nil, err
	}
	r := &reader{data: data, budget: budgetBase + budgetFactor*len(buf), out: &Graph{Identifier: string(buf[4:8])}}
	r.graph(rootOf(buf))
	if r.err == nil {
		r.check()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

// inputsSchema is the part of the schema that Inputs reads.
var inputsSchema = verifier.Schema{Identifier: schema.Identifier, Tables: []verifier.TableType{{Name: "XNNGraph",
	Fields: []verifier.Field{{Name: "input_ids", Slot: graphInputs, Kind: verifier.Vector, Size: 4}}}}}

// Inputs is how many inputs the graph of a payload has, or -1 if it has no list of them. All else of the payload may be wrong.
func Inputs(payload []byte) int {
	buf, _, err := parseHeader(payload)
	if err != nil || verifyAs(inputsSchema, buf) != nil {
		return -1
	}
	root := rootOf(buf)
	_, n := root.vector(graphInputs)
	return n
}

// parseHeader splits a payload into flatbuffer and constant data.
func parseHeader(b []byte) (buf, data []byte, err error) {
	if len(b) < headerPadded || string(b[4:8]) != headerMagic {
		return b, nil, nil
	}
	size := uint64(len(b))
	if n := uint64(b[8]) | uint64(b[9])<<8; n != headerLength {
		return nil, nil, &Error{"header", "length " + itoa(n) + ", want " + itoa(headerLength)}
	}
	from, n, at := u32(b[10:]), u32(b[14:]), u32(b[18:])
	count := flatbuffers.GetUint64(b[22:])
	switch {
	case from < headerLength || n == 0 || from+n > size:
		return nil, nil, &Error{"header", "flatbuffer of " + itoa(n) + " bytes at byte " + itoa(from) + " of " + itoa(size)}
	case at < from+n || at > size || count > size-at:
		return nil, nil, &Error{"header", "constant data of " + itoa(count) + " bytes at byte " + itoa(at) + " of " + itoa(size)}
	}
	return b[from : from+n], b[at : at+count], nil
}

func u32(b []byte) uint64 { return uint64(flatbuffers.GetUint32(b)) }

func itoa[T int | int32 | uint16 | uint32 | uint64](n T) string {
	return strconv.FormatInt(int64(n), 10)
}

// verify checks that buf is a well-formed flatbuffer of either version.
func verify(buf []byte) error { return verifyAs(schema, buf) }

func verifyAs(s verifier.Schema, buf []byte) error {
	if len(buf) >= 8 && string(buf[4:8]) == XN00 {
		s.Identifier = XN00
	}
	err := s.Verify(buf)
	var e *verifier.Error
	if errors.As(err, &e) {
		return &Error{e.Where + " at byte " + itoa(e.Offset), e.Msg}
	}
	return err
}

// reader decodes one graph. The first fault stays in err.
type reader struct {
	data   []byte
	out    *Graph
	budget int
	err    *Error
	ids    map[uint32]int
}

func (r *reader) fail(where string, parts ...string) {
	if r.err != nil {
		return
	}
	r.err = &Error{Where: where}
	for _, p := range parts {
		r.err.Msg += p
	}
}

// charge takes n elements of this size from the budget.
func (r *reader) charge(n, size int) bool {
	if n*size > r.budget {
		r.fail("graph", "decoded size is out of proportion to the payload's")
	}
	r.budget -= n * size
	return r.err == nil
}

// table is a table of a verified flatbuffer.
type table struct{ flatbuffers.Table }

func rootOf(buf []byte) table {
	return table{flatbuffers.Table{Bytes: buf, Pos: flatbuffers.GetUOffsetT(buf)}}
}

// at is the place of a field, 0 if it is absent.
func (t *table) at(slot uint16) flatbuffers.UOffsetT {
	o := flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
	if o == 0 {
		return 0
	}
	return t.Pos + o
}

func (t *table) u32(slot uint16) uint32 {
	if at := t.at(slot); at != 0 {
		return t.GetUint32(at)
	}
	return 0
}

func (t *table) u64(slot uint16) uint64 {
	if at := t.at(slot); at != 0 {
		return t.GetUint64(at)
	}
	return 0
}

func (t *table) i16(slot uint16) int16 {
	if at := t.at(slot); at != 0 {
		return t.GetInt16(at)
	}
	return 0
}

func (t *table) u8(slot uint16) uint8 {
	if at := t.at(slot); at != 0 {
		return t.GetByte(at)
	}
	return 0
}

func (t *table) i32(slot uint16) int32 { return int32(t.u32(slot)) }

func (t *table) f32(slot uint16) float32 { return math.Float32frombits(t.u32(slot)) }

// sub is the table in a field or a member of a union; ok is false if it is absent.
func (t *table) sub(slot uint16) (table, bool) {
	at := t.at(slot)
	if at == 0 {
		return table{}, false
	}
	return table{flatbuffers.Table{Bytes: t.Bytes, Pos: at + t.GetUOffsetT(at)}}, true
}

// vector is the place of the first element of a vector and its length.
func (t *table) vector(slot uint16) (flatbuffers.UOffsetT, int) {
	at := t.at(slot)
	if at == 0 {
		return 0, 0
	}
	at += t.GetUOffsetT(at)
	return at + 4, int(t.GetUOffsetT(at))
}

// bytes is a vector of bytes or a string; ok is false if it is absent.
func (t *table) bytes(slot uint16) ([]byte, bool) {
	at, n := t.vector(slot)
	return t.Bytes[at : int(at)+n], at != 0
}

func (r *reader) string(t *table, slot uint16) string {
	b, _ := t.bytes(slot)
	if !r.charge(len(b), 1) {
		return ""
	}
	return string(b)
}

func (r *reader) u32s(t *table, slot uint16) []uint32 {
	at, n := t.vector(slot)
	if n == 0 || !r.charge(n, 4) {
		return nil
	}
	list := make([]uint32, n)
	for i := range list {
		list[i] = t.GetUint32(at + flatbuffers.UOffsetT(4*i))
	}
	return list
}

// tables runs f on the members of a vector of tables, for which it makes room by size bytes each.
func (r *reader) tables(t *table, slot uint16, size int, start func(n int), f func(i int, m table)) {
	at, n := t.vector(slot)
	if !r.charge(n, size) {
		return
	}
	start(n)
	for i := 0; i < n && r.err == nil; i++ {
		p := at + flatbuffers.UOffsetT(4*i)
		f(i, table{flatbuffers.Table{Bytes: t.Bytes, Pos: p + t.GetUOffsetT(p)}})
	}
}

// The slots of XNNGraph.
const (
	graphVersion = iota
	graphNodes
	graphValues
	graphExterns
	graphInputs
	graphOutputs
	graphBuffers
	graphMemory
	graphConstants
)

func (r *reader) graph(t table) {
	g := r.out
	g.Version, g.NumExterns = r.string(&t, graphVersion), t.u32(graphExterns)
	g.Inputs, g.Outputs = r.u32s(&t, graphInputs), r.u32s(&t, graphOutputs)
	r.constants(&t)
	r.tables(&t, graphValues, 160, func(n int) { g.Values = make([]Value, n) }, func(i int, m table) { r.value(i, &m) })
	r.tables(&t, graphNodes, 192, func(n int) { g.Nodes = make([]Node, n) }, func(i int, m table) { r.node(i, &m) })
}

// constants reads the table of constants: constant_data, or else constant_buffer.
func (r *reader) constants(t *table) {
	g := r.out
	start := func(n int) { g.Constants = make([]Constant, n) }
	if _, n := t.vector(graphConstants); n > 0 {
		r.tables(t, graphConstants, 64, start, r.constant)
		return
	}
	r.tables(t, graphBuffers, 64, start, func(i int, m table) {
		data, _ := m.bytes(0)
		g.Constants[i] = Constant{Data: data, Size: uint64(len(data))}
	})
}

func (r *reader) constant(i int, m table) {
	c := &r.out.Constants[i]
	c.Size = m.u64(1)
	if _, named := m.bytes(2); named {
		c.Key = r.string(&m, 2)
		return
	}
	at := m.u64(0)
	if n := uint64(len(r.data)); i > 0 && (at > n || c.Size > n-at) {
		r.fail("constant "+itoa(i), strconv.FormatUint(c.Size, 10), " bytes at byte ", strconv.FormatUint(at, 10), " of ", itoa(n))
	} else if i > 0 {
		c.Data = r.data[at : at+c.Size : at+c.Size]
	}
}

func (r *reader) value(i int, m *table) {
	v := &r.out.Values[i]
	t, ok := m.sub(1)
	kind := m.u8(0) // without one, the verifier has not seen the table
	if kind == 2 && ok {
		q := t
		t, ok = q.sub(0)
		v.Quant = r.quant(&q)
	}
	if !ok || kind == 0 {
		r.fail("value "+itoa(i), "it has no tensor")
		return
	}
	v.Type, v.Constant, v.External, v.Flags = DataType(t.i16(0)), t.u32(3), t.u32(4), t.u32(5)
	v.ID, v.DynamicType = t.u32(6), DataType(t.i16(7))
	if _, n := t.vector(2); n > MaxRank || uint32(n) != t.u32(1) {
		r.fail("value "+itoa(i), "it has ", itoa(n), " sizes and num_dims ", itoa(t.u32(1)), ", want the same, at most ", itoa(MaxRank))
		return
	}
	v.Dims = r.u32s(&t, 2)
}

func (r *reader) quant(t *table) Quant {
	q := Quant{Kind: QuantKind(t.u8(1))}
	p, ok := t.sub(2)
	if !ok {
		q.Kind = NoQuant
	}
	switch q.Kind {
	case PerTensor:
		q.Scale, q.ZeroPoint = p.f32(0), p.i32(1)
	case PerToken:
		q.NonbatchDims = p.i32(0)
	case PerChannel:
		q.ChannelDim, q.ScaleConstant, q.NumScales = p.i32(1), p.u32(2), p.u32(3)
	case PerGroup:
		q.ChannelDim, q.GroupSize, q.ScaleConstant, q.NumScales = p.i32(1), p.i32(2), p.u32(4), p.u32(5)
	}
	if q.Kind == PerChannel || q.Kind == PerGroup {
		for _, bits := range r.u32s(&p, 0) {
			q.Scales = append(q.Scales, math.Float32frombits(bits))
		}
	}
	return q
}

func (r *reader) node(i int, m *table) {
	n := &r.out.Nodes[i]
	n.Type, n.DebugHandle = NodeType(m.u8(0)), m.u32(2)
	body, ok := m.sub(1)
	if !ok || n.Type == NoNode {
		r.fail("node "+itoa(i), "it has no operator")
		return
	}
	n.Min, n.Max = float32(math.Inf(-1)), float32(math.Inf(1))
	if b, ok := m.sub(3); ok {
		n.Bounded, n.Min, n.Max = true, b.f32(0), b.f32(1)
	}
	f := nodeInfos[n.Type].form
	n.Inputs, n.Outputs, n.Params = r.numbers(&body, f.inputs), r.numbers(&body, f.outputs), r.numbers(&body, f.params)
	n.Flags = body.u32(f.flags)
	for _, slot := range f.lists {
		if _, n := body.vector(slot); n > MaxRank {
			r.fail("node "+itoa(i), "a list has ", itoa(n), " members, want at most ", itoa(MaxRank))
			return
		}
		n.Lists = append(n.Lists, r.u32s(&body, slot))
	}
	if f.hasFactor {
		n.Factor = body.f32(f.factor)
	}
}

// numbers are the numbers in these slots.
func (r *reader) numbers(t *table, slots []uint16) []uint32 {
	if len(slots) == 0 || !r.charge(len(slots), 4) {
		return nil
	}
	list := make([]uint32, len(slots))
	for i, s := range slots {
		list[i] = t.u32(s)
	}
	return list
}
