package pte

import (
	"bytes"
	"io"
	"math/bits"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/fb"
	"github.com/rules-pte/rules_pte/runtime/pte/internal/wire"
)

// The alignments that a Program with zeros asks for.
const (
	DefaultSegmentAlignment  = 128
	DefaultConstantAlignment = 16
	DefaultDelegateAlignment = 16
)

// Marshal is the file that Write writes.
func Marshal(p *Program) ([]byte, error) {
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write writes p as a .pte: the flatbuffer, then the segments: constants, mutable data, delegates' payloads, named
// data. Payloads of equal bytes share a segment. Equal programs give equal bytes. The data of segments is written
// as it is, never copied.
func Write(w io.Writer, p *Program) error {
	l, err := newLayout(p)
	if err != nil {
		return err
	}
	buf, err := encode(p, l)
	if err != nil {
		return err
	}
	out := &wire.Stream{W: w}
	if l.size == 0 {
		out.Write(buf)
		return out.Err
	}
	insert := wire.Align(headerLength, uint64(l.minAlign))
	program := uint64(len(buf)) + insert
	base := wire.Align(program, l.segmentAlign)
	head := make([]byte, placementSize+insert)
	wire.Put32(head, wire.U32(buf)+uint32(insert))
	copy(head[4:], buf[4:8])
	copy(head[8:], headerMagic)
	wire.Put32(head[12:], headerLength)
	wire.Put64(head[16:], program)
	wire.Put64(head[24:], base)
	wire.Put64(head[32:], l.size)
	out.Write(head)
	out.Write(buf[placementSize:])
	for _, part := range l.parts {
		out.PadTo(base + part.offset)
		out.Write(part.data)
	}
	out.PadTo(base + l.size)
	return out.Err
}

// part is bytes at an offset from the first segment.
type part struct {
	offset uint64
	data   []byte
}

type segment struct{ offset, size uint64 }

// layout says where the data beside the flatbuffer goes.
type layout struct {
	segmentAlign, constantAlign uint64
	minAlign                    int
	parts                       []part
	segments                    []segment
	constants, mutables         []uint64 // offsets in their segments
	mutableSegment              int
	delegates, named            []int // segments; -1 for an empty payload, which stays inline
	size                        uint64
}

func newLayout(p *Program) (*layout, error) {
	seg, con, del := p.SegmentAlignment, p.ConstantAlignment, p.DelegateAlignment
	for _, a := range []struct {
		name     string
		value    *int
		standard int
	}{
		{"SegmentAlignment", &seg, DefaultSegmentAlignment},
		{"ConstantAlignment", &con, DefaultConstantAlignment},
		{"DelegateAlignment", &del, DefaultDelegateAlignment},
	} {
		if *a.value == 0 {
			*a.value = a.standard
		}
		if *a.value < 0 || bits.OnesCount(uint(*a.value)) != 1 || *a.value > 1<<30 {
			return nil, &writeError{a.name + " " + itoa(*a.value) + ", want a power of two"}
		}
	}
	for _, plan := range p.Plans {
		for _, d := range plan.Delegates {
			if d.Processed < 0 || d.Processed >= len(p.DelegateData) {
				return nil, &writeError{"delegate " + d.ID + " of plan " + plan.Name + " has no data " + strconv.Itoa(d.Processed)}
			}
		}
	}
	l := &layout{segmentAlign: uint64(seg), constantAlign: uint64(con), minAlign: max(16, con, del)}
	l.constants = l.buffers(p.ConstantBuffers, l.constantAlign, false)
	if len(p.MutableData) > 1 {
		l.mutableSegment = len(l.segments)
		l.mutables = l.buffers(p.MutableData, 1, true)
	}
	return l, l.payloads(p)
}

type writeError struct{ msg string }

func (e *writeError) Error() string { return "write program: " + e.msg }

// buffers lays out one segment of many buffers and gives their offsets. Those with the same bytes, such as the zeros of caches, lie in
// one place if share says so.
func (l *layout) buffers(list [][]byte, step uint64, share bool) []uint64 {
	base := l.start(1)
	offsets := make([]uint64, max(1, len(list)))
	at, end := uint64(0), uint64(0)
	seen := contents{}
	for i := 1; i < len(list); i++ {
		at = wire.Align(end, step)
		if share && len(list[i]) > 0 {
			if same, ok := seen.find(list[i]); ok {
				offsets[i] = same
				continue
			}
			seen.put(at, list[i])
		}
		offsets[i] = at
		l.parts = append(l.parts, part{base + at, list[i]})
		end = at + uint64(len(list[i]))
	}
	l.add(base, end)
	return offsets
}

// contents are what is in a file, by length, each with a number that says where.
type contents map[int][]part

// find is the number of what has the bytes of data.
func (c contents) find(data []byte) (uint64, bool) {
	for _, s := range c[len(data)] {
		if bytes.Equal(s.data, data) {
			return s.offset, true
		}
	}
	return 0, false
}

func (c contents) put(at uint64, data []byte) { c[len(data)] = append(c[len(data)], part{at, data}) }

// start is the offset of the next segment.
func (l *layout) start(own uint64) uint64 { return wire.Align(l.size, max(l.segmentAlign, own)) }

func (l *layout) add(offset, size uint64) {
	if size == 0 {
		offset = 0
	} else {
		l.size = offset + size
	}
	l.segments = append(l.segments, segment{offset, size})
}

func (l *layout) payloads(p *Program) error {
	seen := contents{}
	place := func(data []byte, own int) int {
		if n, ok := seen.find(data); ok {
			return int(n)
		}
		n := len(l.segments)
		at := l.start(uint64(max(own, 1)))
		l.parts = append(l.parts, part{at, data})
		l.add(at, uint64(len(data)))
		seen.put(uint64(n), data)
		return n
	}
	for _, d := range p.DelegateData {
		n := -1
		if len(d) > 0 {
			n = place(d, 1)
		}
		l.delegates = append(l.delegates, n)
	}
	clear(seen)
	for _, d := range p.NamedData {
		if d.Alignment < 0 || bits.OnesCount(uint(d.Alignment)) > 1 {
			return &writeError{"alignment " + itoa(d.Alignment) + " of named data " + d.Key + ", want a power of two"}
		}
		l.named = append(l.named, place(d.Data, d.Alignment))
	}
	return nil
}

// encode makes the flatbuffer, without the extended header.
func encode(p *Program, l *layout) (buf []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			if _, ok := fault.(string); !ok {
				panic(fault)
			}
			err = &writeError{"the flatbuffer would be larger than 2 GiB"}
		}
	}()
	e := &encoder{Builder: flatbuffers.NewBuilder(1 << 16), l: l}
	root := e.program(p)
	e.Prep(l.minAlign, 8)
	e.FinishWithFileIdentifier(root, []byte(schema.Identifier))
	return e.FinishedBytes(), nil
}

type encoder struct {
	*flatbuffers.Builder
	l *layout
}

type offset = flatbuffers.UOffsetT

// each encodes n things and the vector of their offsets.
func (e *encoder) each(n int, one func(int) offset) offset {
	list := make([]offset, n)
	for i := range list {
		list[i] = one(i)
	}
	e.StartVector(4, n, 4)
	for i := n - 1; i >= 0; i-- {
		e.PrependUOffsetT(list[i])
	}
	return e.EndVector(n)
}

// vector encodes scalars of size bytes.
func vector[T any](e *encoder, size int, list []T, put func(T)) offset {
	e.StartVector(size, len(list), size)
	for i := len(list) - 1; i >= 0; i-- {
		put(list[i])
	}
	return e.EndVector(len(list))
}

func (e *encoder) int32s(list []int32) offset { return vector(e, 4, list, e.PrependInt32) }

func (e *encoder) string(s string) offset { return e.CreateSharedString(s) }

func (e *encoder) program(p *Program) offset {
	l := e.l
	plans := e.each(len(p.Plans), func(i int) offset { return e.plan(p.Plans[i]) })
	none := e.each(0, nil)
	inline := e.inline()
	segments := e.each(len(l.segments), func(i int) offset {
		fb.DataSegmentStart(e.Builder)
		fb.DataSegmentAddOffset(e.Builder, l.segments[i].offset)
		fb.DataSegmentAddSize(e.Builder, l.segments[i].size)
		return fb.DataSegmentEnd(e.Builder)
	})
	constants := e.subsegments(0, l.constants)
	var mutables, named offset
	if l.mutables != nil {
		mutables = e.each(1, func(int) offset { return e.subsegments(l.mutableSegment, l.mutables) })
	}
	if len(p.NamedData) > 0 {
		named = e.each(len(p.NamedData), func(i int) offset { return e.named(p.NamedData[i].Key, l.named[i]) })
	}
	fb.ProgramStart(e.Builder)
	fb.ProgramAddVersion(e.Builder, p.Version)
	fb.ProgramAddExecutionPlan(e.Builder, plans)
	fb.ProgramAddConstantBuffer(e.Builder, none)
	fb.ProgramAddBackendDelegateData(e.Builder, inline)
	fb.ProgramAddSegments(e.Builder, segments)
	fb.ProgramAddConstantSegment(e.Builder, constants)
	fb.ProgramAddMutableDataSegments(e.Builder, mutables)
	fb.ProgramAddNamedData(e.Builder, named)
	return fb.ProgramEnd(e.Builder)
}

// inline encodes the empty payloads.
func (e *encoder) inline() offset {
	n := 0
	for _, s := range e.l.delegates {
		if s < 0 {
			n = 1
		}
	}
	return e.each(n, func(int) offset {
		data := e.CreateByteVector(nil)
		fb.BackendDelegateInlineDataStart(e.Builder)
		fb.BackendDelegateInlineDataAddData(e.Builder, data)
		return fb.BackendDelegateInlineDataEnd(e.Builder)
	})
}

func (e *encoder) subsegments(segment int, offsets []uint64) offset {
	list := vector(e, 8, offsets, e.PrependUint64)
	fb.SubsegmentOffsetsStart(e.Builder)
	fb.SubsegmentOffsetsAddSegmentIndex(e.Builder, uint32(segment))
	fb.SubsegmentOffsetsAddOffsets(e.Builder, list)
	return fb.SubsegmentOffsetsEnd(e.Builder)
}

func (e *encoder) named(key string, segment int) offset {
	k := e.string(key)
	fb.NamedDataStart(e.Builder)
	fb.NamedDataAddKey(e.Builder, k)
	fb.NamedDataAddSegmentIndex(e.Builder, uint32(segment))
	return fb.NamedDataEnd(e.Builder)
}
