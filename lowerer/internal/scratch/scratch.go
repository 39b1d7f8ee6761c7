// Package scratch gives room for large values outside of Go's heap, in temporary files that the system can page out.
package scratch

import "errors"

// large is the least number of bytes that are worth a file.
const large = 1 << 20

// Scratch hands out room until it is closed. The zero value is ready. It is not safe for concurrent use.
type Scratch struct {
	rooms [][]byte
}

// Alloc gives n zero bytes: on the heap if they are few or if no file can be mapped.
func (s *Scratch) Alloc(n int) []byte {
	if n >= large {
		if b, err := mapped(n); err == nil {
			s.rooms = append(s.rooms, b)
			return b
		}
	}
	return make([]byte, n)
}

// Release lets the system take the pages out of memory; their content stays.
func (s *Scratch) Release() {
	for _, b := range s.rooms {
		release(b)
	}
}

// Close gives back all room. What Alloc returned may not be used afterwards.
func (s *Scratch) Close() error {
	var errs []error
	for _, b := range s.rooms {
		errs = append(errs, unmap(b))
	}
	s.rooms = nil
	return errors.Join(errs...)
}
