// Package ptd reads, verifies and writes ExecuTorch's data files (.ptd): named tensors and bytes that programs refer to
// and do not hold themselves.
package ptd

//go:generate go run ../../../tools/fbs -schema schema/flat_tensor.fbs -fb internal/fb -verify zverify.go -package ptd

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/internal/wire"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd/internal/fb"
	"github.com/rules-pte/rules_pte/runtime/pte/verifier"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const (
	headerMagic   = "FH01"
	headerOffset  = 8
	headerLength  = 40
	headerPadded  = 48 // the header and what makes the flatbuffer behind it lie at a multiple of 16
	minFile       = 64 // what ExecuTorch's loader reads at once
	maxVersion    = 0
	budgetPerByte = 48 // decoded bytes for each byte of the flatbuffer
	entrySize     = 160
)

func fault(where, msg string) error {
	return &pte.Error{Code: pte.InvalidExternalData, File: "data file", Where: where, Msg: msg}
}

// Is reports whether file begins as a data file does.
func Is(file []byte) bool {
	return len(file) >= headerOffset && string(file[4:headerOffset]) == schema.Identifier
}

// Read decodes and checks a whole file. The entries' data are slices of file; all else is copied. The error is a
// *pte.Error with code InvalidExternalData.
func Read(file []byte) ([]pte.NamedData, error) {
	segments, err := verify(file)
	if err != nil {
		return nil, err
	}
	src := fb.GetRootAsFlatTensor(file, 0)
	if v := src.Version(); v > maxVersion {
		return nil, fault("file", "version "+strconv.FormatUint(uint64(v), 10)+", want at most "+strconv.Itoa(maxVersion))
	}
	n := src.NamedDataLength()
	if n > len(file)*budgetPerByte/entrySize {
		return nil, fault("named_data", strconv.Itoa(n)+" entries in a file of "+strconv.Itoa(len(file))+" bytes")
	}
	out := make([]pte.NamedData, n)
	seen := make(map[string]bool, n)
	for i := range out {
		if err := readEntry(src, i, segments, &out[i]); err != nil {
			return nil, err
		}
		if key := out[i].Key; seen[key] {
			return nil, fault(at(i), "the key "+strconv.Quote(key)+" stands there twice")
		}
		seen[out[i].Key] = true
	}
	return out, nil
}

func at(i int) string { return "named_data " + strconv.Itoa(i) }

// verify checks header and flatbuffer and gives the bytes that segments lie in.
func verify(file []byte) ([]byte, error) {
	size := uint64(len(file))
	if size < minFile {
		return nil, fault("header", "file of "+strconv.Itoa(len(file))+" bytes, want at least "+strconv.Itoa(minFile))
	}
	head := file[headerOffset:]
	if string(head[:4]) != headerMagic || wire.U32(head[4:]) < headerLength {
		return nil, fault("header", "this is no .ptd file")
	}
	start, length, base, n := wire.U64(head[8:]), wire.U64(head[16:]), wire.U64(head[24:]), wire.U64(head[32:])
	if start > size || length > size-start {
		return nil, fault("header", "the flatbuffer ends behind the file")
	}
	if base > size || n > size-base {
		return nil, fault("header", "the segments end behind the file")
	}
	if err := schema.Verify(file[:start+length]); err != nil {
		var e *verifier.Error
		if errors.As(err, &e) {
			return nil, fault(e.Where+" at byte "+strconv.Itoa(e.Offset), e.Msg)
		}
		return nil, err
	}
	return file[base : base+n : base+n], nil
}

func readEntry(src *fb.FlatTensor, i int, segments []byte, out *pte.NamedData) error {
	var d fb.NamedData
	src.NamedData(&d, i)
	out.Key = string(d.Key())
	if out.Key == "" || !utf8.ValidString(out.Key) {
		return fault(at(i), "no key, or one that is not UTF-8")
	}
	var err error
	if out.Data, err = segmentOf(src, d.SegmentIndex(), segments); err != nil {
		return err
	}
	if l := d.TensorLayout(nil); l != nil {
		out.Layout, err = readLayout(at(i), l, len(out.Data))
	}
	return err
}

func segmentOf(src *fb.FlatTensor, n uint32, segments []byte) ([]byte, error) {
	where := "segment " + strconv.FormatUint(uint64(n), 10)
	if uint64(n) >= uint64(src.SegmentsLength()) {
		return nil, fault(where, "there are "+strconv.Itoa(src.SegmentsLength()))
	}
	var s fb.DataSegment
	src.Segments(&s, int(n))
	size := uint64(len(segments))
	if s.Offset() > size || s.Size() > size-s.Offset() {
		return nil, fault(where, "it ends behind the file")
	}
	end := s.Offset() + s.Size()
	return segments[s.Offset():end:end], nil
}

func readLayout(where string, l *fb.TensorLayout, size int) (*pte.TensorLayout, error) {
	out := &pte.TensorLayout{ScalarType: tensor.ScalarType(l.ScalarType()), Sizes: make([]int32, l.SizesLength()), DimOrder: l.DimOrderBytes()}
	for i := range out.Sizes {
		out.Sizes[i] = l.Sizes(i)
	}
	out.DimOrder = append([]uint8(nil), out.DimOrder...)
	n, err := out.Nbytes()
	if err != nil {
		return nil, fault(where, err.Error())
	}
	if n != uint64(size) {
		return nil, fault(where, strconv.Itoa(size)+" bytes, but the tensor has "+strconv.FormatUint(n, 10))
	}
	return out, nil
}
