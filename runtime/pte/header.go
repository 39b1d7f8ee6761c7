package pte

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/wire"
	"github.com/rules-pte/rules_pte/runtime/pte/verifier"
)

//go:generate go run ../../tools/fbs -schema schema/program.fbs -fb internal/fb -verify zverify.go -package pte

const (
	minFile       = 64 // what ExecuTorch's loader reads at once
	headerOffset  = 8
	headerMagic   = "eh00"
	minHeader     = 24
	headerLength  = 32
	maxRank       = 16
	placementSize = 8 // bytes before the extended header: root offset and identifier
)

// header is the extended header, or the same facts for a file without one.
type header struct {
	present               bool
	length                uint32
	program, base, segEnd uint64 // sizes and offsets from the start of the file; base is 0 without segments
}

func headerError(msg string) error { return &Error{Code: InvalidProgram, Where: "header", Msg: msg} }

// cutShort is the error of a file whose header says that it has at least want bytes.
func cutShort(size, want uint64) error {
	return headerError("the file is cut short: it has " + itoa(size) + " of its " + itoa(want) + " bytes")
}

func parseHeader(file []byte) (header, error) {
	size := uint64(len(file))
	if size < minFile {
		return header{}, headerError("file of " + itoa(size) + " bytes, want at least " + itoa(minFile))
	}
	if string(file[headerOffset:headerOffset+4]) != headerMagic {
		return header{program: size}, nil
	}
	h := header{present: true, length: wire.U32(file[12:]), program: wire.U64(file[16:]), base: wire.U64(file[24:])}
	if h.length < minHeader {
		return h, headerError("length " + itoa(h.length) + ", want at least " + itoa(minHeader))
	}
	if h.program > size {
		return h, cutShort(size, h.program)
	}
	return h, h.segments(file)
}

// segments sets segEnd and checks the range of all segments.
func (h *header) segments(file []byte) error {
	size := uint64(len(file))
	if h.base == 0 {
		return nil
	}
	if h.base > size {
		return cutShort(size, h.base)
	}
	h.segEnd = size
	if h.length < headerLength {
		return nil
	}
	n := wire.U64(file[32:])
	if n > size-h.base {
		return cutShort(size, h.base+min(n, math.MaxUint64-h.base))
	}
	return nil
}

// Verify checks the header and that the flatbuffer is well formed, so that reading it cannot go out of range. It
// is as strict as ExecuTorch's InternalConsistency without the checks on values, which Read does. The error is an
// *Error with code InvalidProgram.
func Verify(file []byte) error {
	h, err := parseHeader(file)
	if err != nil {
		return err
	}
	return verifyFlatbuffer(file[:h.program])
}

func verifyFlatbuffer(buf []byte) error {
	err := schema.Verify(buf)
	if err == nil {
		return nil
	}
	var e *verifier.Error
	if errors.As(err, &e) {
		return &Error{Code: InvalidProgram, Where: e.Where + " at byte " + itoa(e.Offset), Msg: e.Msg}
	}
	return err
}
