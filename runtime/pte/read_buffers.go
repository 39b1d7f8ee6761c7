package pte

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/fb"
)

// whole is b with nil for no bytes and without spare capacity.
func whole(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b[:len(b):len(b)]
}

// segment is the bytes of segment n; ok is false when it does not exist or lies outside of the file.
func (r *reader) segment(n uint32) (data []byte, ok bool) {
	if uint64(n) >= uint64(r.src.SegmentsLength()) {
		return nil, false
	}
	var s fb.DataSegment
	r.src.Segments(&s, int(n))
	offset, size := s.Offset(), s.Size()
	if size == 0 {
		return nil, true
	}
	left := uint64(len(r.file)) - r.head.base
	if r.head.base == 0 || offset > left || size > left-offset {
		return nil, false
	}
	at := r.head.base + offset
	return whole(r.file[at : at+size]), true
}

// checkSegments checks that every segment lies in the file.
func (r *reader) checkSegments() {
	for i := range r.src.SegmentsLength() {
		if _, ok := r.segment(uint32(i)); !ok {
			r.fail(InvalidProgram, "segment "+itoa(i), "outside of the file")
			return
		}
	}
}

func (r *reader) buffers() {
	r.checkSegments()
	if r.err == nil {
		r.out.ConstantBuffers = r.constantBuffers()
	}
	if n := r.src.MutableDataSegmentsLength(); n > 1 {
		r.fail(NotSupported, "mutable_data_segments", itoa(n)+" entries, want at most 1")
	} else if n == 1 && r.err == nil {
		var s fb.SubsegmentOffsets
		r.src.MutableDataSegments(&s, 0)
		r.out.MutableData = r.subsegments("mutable_data_segments", &s, r.mutables)
	}
	r.checkReferences("constant", r.constants, r.out.ConstantBuffers)
	r.checkReferences("mutable", r.mutables, r.out.MutableData)
}

func (r *reader) constantBuffers() [][]byte {
	s := r.src.ConstantSegment(nil)
	inline := r.src.ConstantBufferLength()
	if s == nil || s.OffsetsLength() <= 1 {
		return r.inlineConstants(max(inline, 1))
	}
	if inline > 0 {
		r.fail(InvalidProgram, "constant_buffer", itoa(inline)+" entries beside a constant_segment")
		return nil
	}
	return r.subsegments("constant_segment", s, r.constants)
}

func (r *reader) inlineConstants(n int) [][]byte {
	out := array[[]byte](r, n, 24)
	var b fb.Buffer
	for i := range out {
		if i < r.src.ConstantBufferLength() {
			r.src.ConstantBuffer(&b, i)
			out[i] = whole(b.StorageBytes())
		}
	}
	return out
}

// subsegments cuts a segment at its offsets; sizes has the size of each buffer that a tensor uses.
func (r *reader) subsegments(where string, s *fb.SubsegmentOffsets, sizes map[uint32]uint64) [][]byte {
	data, ok := r.segment(s.SegmentIndex())
	if !ok {
		r.fail(InvalidProgram, where, "no segment "+itoa(s.SegmentIndex()))
		return nil
	}
	offsets := numbers(r, s.OffsetsLength(), s.Offsets)
	sorted := slices.Clone(offsets)
	slices.Sort(sorted)
	out := array[[]byte](r, len(offsets), 48)
	for i := 1; i < len(out); i++ {
		start, end := offsets[i], uint64(len(data))
		if start > end {
			r.fail(InvalidProgram, where+" "+itoa(i), "offset "+itoa(start)+" in a segment of "+itoa(end)+" bytes")
			return nil
		}
		if size, used := sizes[uint32(i)]; used {
			end = min(end, start+min(size, end))
		} else if next, _ := slices.BinarySearch(sorted, start+1); next < len(sorted) {
			end = min(end, sorted[next])
		}
		out[i] = whole(data[start:end])
	}
	return out
}

// checkReferences checks that the buffers have the bytes that tensors need.
func (r *reader) checkReferences(kind string, sizes map[uint32]uint64, buffers [][]byte) {
	for _, i := range sortedKeys(sizes) {
		where := kind + " buffer " + itoa(i)
		if uint64(i) >= uint64(len(buffers)) {
			r.fail(InvalidProgram, where, "a tensor refers to it, but there are "+itoa(len(buffers)))
			return
		}
		if got := uint64(len(buffers[i])); got < sizes[i] {
			r.fail(InvalidProgram, where, itoa(got)+" bytes, but a tensor has "+itoa(sizes[i]))
			return
		}
	}
}

func sortedKeys(m map[uint32]uint64) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (r *reader) namedData() {
	t := r.src.Table()
	if t.Offset(slotNamedData) == 0 || r.err != nil {
		return
	}
	if t.Offset(slotSegments) == 0 {
		r.fail(InvalidProgram, "named_data", "no segments")
		return
	}
	r.out.NamedData = array[NamedData](r, r.src.NamedDataLength(), 64)
	seen := map[string]bool{}
	var d fb.NamedData
	for i := 0; i < len(r.out.NamedData) && r.charge(64); i++ {
		r.src.NamedData(&d, i)
		key := r.string(d.Key())
		data, ok := r.segment(d.SegmentIndex())
		if !ok || key == "" || seen[key] {
			r.fail(InvalidProgram, "named_data "+itoa(i), "no segment "+itoa(d.SegmentIndex())+", no key, or a key twice")
			return
		}
		seen[key] = true
		r.out.NamedData[i] = NamedData{Key: key, Data: data}
	}
}
