// Package wire has what the files of ExecuTorch share: little endian numbers, alignment, and a writer that pads.
package wire

import "io"

// U32 is the number at the start of b.
func U32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// U64 is the number at the start of b.
func U64(b []byte) uint64 { return uint64(U32(b)) | uint64(U32(b[4:]))<<32 }

// Put32 writes v to the start of b.
func Put32(b []byte, v uint32) {
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

// Put64 writes v to the start of b.
func Put64(b []byte, v uint64) {
	Put32(b, uint32(v))
	Put32(b[4:], uint32(v>>32))
}

// Align is the first multiple of to that is not below n.
func Align(n, to uint64) uint64 { return (n + to - 1) / to * to }

// Stream counts what it writes and keeps the first error.
type Stream struct {
	W   io.Writer
	Pos uint64
	Err error
}

// Write writes b as it is, unless something failed before.
func (s *Stream) Write(b []byte) {
	if s.Err == nil && len(b) > 0 {
		_, s.Err = s.W.Write(b)
		s.Pos += uint64(len(b))
	}
}

var zeros [4096]byte

// PadTo writes zeros up to pos.
func (s *Stream) PadTo(pos uint64) {
	for s.Err == nil && s.Pos < pos {
		s.Write(zeros[:min(pos-s.Pos, uint64(len(zeros)))])
	}
}
