package ptd

import (
	"bytes"
	"io"
	"math/bits"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/internal/wire"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd/internal/fb"
)

// Write writes entries as a .ptd, each content once, at multiples of alignment bytes (0 means 128) and of the entry's
// own. Equal entries give equal bytes. Data is written as it is, never copied.
func Write(w io.Writer, entries []pte.NamedData, alignment int) error {
	if alignment == 0 {
		alignment = pte.DefaultSegmentAlignment
	}
	l := layout{align: uint64(alignment), base: uint64(alignment)}
	for i := range entries {
		if err := l.add(&entries[i]); err != nil {
			return err
		}
	}
	buf := encode(entries, &l)
	program := uint64(headerPadded + len(buf))
	base := wire.Align(program, l.base)
	head := make([]byte, headerOffset+headerPadded)
	wire.Put32(head, wire.U32(buf)+headerPadded)
	copy(head[4:], buf[4:headerOffset])
	fillHeader(head[headerOffset:], uint64(len(buf)), base, l.size)
	out := &wire.Stream{W: w}
	out.Write(head)
	out.Write(buf[headerOffset:])
	for _, s := range l.segments {
		out.PadTo(base + s.offset)
		out.Write(s.data)
	}
	out.PadTo(base + l.size)
	return out.Err
}

func fillHeader(head []byte, program, base, size uint64) {
	copy(head, headerMagic)
	wire.Put32(head[4:], headerLength)
	wire.Put64(head[8:], headerPadded)
	wire.Put64(head[16:], program)
	wire.Put64(head[24:], base)
	wire.Put64(head[32:], size)
}

// segment is data at an offset from the segment base.
type segment struct {
	offset uint64
	data   []byte
}

// layout says where data goes: of is the segment of each entry.
type layout struct {
	align, base, size uint64
	segments          []segment
	of                []int
}

func (l *layout) add(e *pte.NamedData) error {
	if bits.OnesCount(uint(max(e.Alignment, 0))) > 1 || e.Alignment < 0 {
		return &writeError{"alignment " + strconv.Itoa(e.Alignment) + " of named data " + e.Key + ", want a power of two"}
	}
	for i, s := range l.segments {
		if len(s.data) == len(e.Data) && s.offset%uint64(max(e.Alignment, 1)) == 0 && bytes.Equal(s.data, e.Data) {
			l.of = append(l.of, i)
			return nil
		}
	}
	own := max(l.align, uint64(e.Alignment))
	l.base = max(l.base, own)
	l.of = append(l.of, len(l.segments))
	l.segments = append(l.segments, segment{wire.Align(l.size, own), e.Data})
	l.size = wire.Align(l.size, own) + uint64(len(e.Data))
	return nil
}

type writeError struct{ msg string }

func (e *writeError) Error() string { return "write data file: " + e.msg }

// encode makes the flatbuffer, without the header. The keys of some 10 million entries would exceed its 2 GiB.
func encode(entries []pte.NamedData, l *layout) []byte {
	b := flatbuffers.NewBuilder(1 << 12)
	segments := tables(b, len(l.segments), func(i int) flatbuffers.UOffsetT {
		fb.DataSegmentStart(b)
		fb.DataSegmentAddOffset(b, l.segments[i].offset)
		fb.DataSegmentAddSize(b, uint64(len(l.segments[i].data)))
		return fb.DataSegmentEnd(b)
	})
	named := tables(b, len(entries), func(i int) flatbuffers.UOffsetT {
		key, tensor := b.CreateString(entries[i].Key), encodeLayout(b, entries[i].Layout)
		fb.NamedDataStart(b)
		fb.NamedDataAddKey(b, key)
		fb.NamedDataAddSegmentIndex(b, uint32(l.of[i]))
		if tensor != 0 {
			fb.NamedDataAddTensorLayout(b, tensor)
		}
		return fb.NamedDataEnd(b)
	})
	fb.FlatTensorStart(b)
	fb.FlatTensorAddSegments(b, segments)
	fb.FlatTensorAddNamedData(b, named)
	root := fb.FlatTensorEnd(b)
	b.Prep(16, headerOffset)
	b.FinishWithFileIdentifier(root, []byte(schema.Identifier))
	return b.FinishedBytes()
}

func encodeLayout(b *flatbuffers.Builder, l *pte.TensorLayout) flatbuffers.UOffsetT {
	if l == nil {
		return 0
	}
	order := b.CreateByteVector(l.DimOrder)
	b.StartVector(4, len(l.Sizes), 4)
	for i := len(l.Sizes) - 1; i >= 0; i-- {
		b.PrependInt32(l.Sizes[i])
	}
	sizes := b.EndVector(len(l.Sizes))
	fb.TensorLayoutStart(b)
	fb.TensorLayoutAddScalarType(b, fb.ScalarType(l.ScalarType))
	fb.TensorLayoutAddSizes(b, sizes)
	fb.TensorLayoutAddDimOrder(b, order)
	return fb.TensorLayoutEnd(b)
}

// tables encodes n tables and the vector of their offsets.
func tables(b *flatbuffers.Builder, n int, one func(int) flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	list := make([]flatbuffers.UOffsetT, n)
	for i := range list {
		list[i] = one(i)
	}
	b.StartVector(4, n, 4)
	for i := n - 1; i >= 0; i-- {
		b.PrependUOffsetT(list[i])
	}
	return b.EndVector(n)
}
