package pte

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/fb"
)

// Region is a part of a file.
type Region struct {
	Name         string
	Offset, Size uint64
}

// Layout lists the parts of a file in order: "program", "padding" and "segment N". The sizes add up to the file's.
// Where segments overlap, the later one gets the rest; an empty one has size 0. The error is Verify's or that of a
// segment outside of the file.
func Layout(file []byte) ([]Region, error) {
	r, err := newReader(file)
	if err != nil {
		return nil, err
	}
	r.checkSegments()
	if r.err != nil {
		return nil, r.err
	}
	h := r.head
	out := []Region{{"program", 0, h.program}}
	at := h.program
	for _, s := range r.sortedSegments() {
		if s.Offset > at {
			out = append(out, Region{"padding", at, s.Offset - at})
			at = s.Offset
		}
		end := max(at, s.Offset+s.Size)
		out = append(out, Region{s.Name, at, end - at})
		at = end
	}
	if size := uint64(len(file)); at < size {
		out = append(out, Region{"padding", at, size - at})
	}
	return out, nil
}

// sortedSegments are the segments by their place in the file; an empty one counts as at its start.
func (r *reader) sortedSegments() []Region {
	out := make([]Region, r.src.SegmentsLength())
	var s fb.DataSegment
	for i := range out {
		r.src.Segments(&s, i)
		out[i] = Region{"segment " + itoa(i), r.head.base + s.Offset(), s.Size()}
		if s.Size() == 0 {
			out[i].Offset = 0
		}
	}
	slices.SortStableFunc(out, func(a, b Region) int {
		switch {
		case a.Offset < b.Offset:
			return -1
		case a.Offset > b.Offset:
			return 1
		}
		return 0
	})
	return out
}
