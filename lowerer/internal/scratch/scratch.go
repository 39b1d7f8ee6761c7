// Package scratch gives room for large values outside of Go's heap, in temporary files that the system can page out.
package scratch

import "errors"

// large is the least number of bytes that are worth a file.
const large = 1 << 20

// Scratch hands out room until it is closed. The zero value is ready. It is not safe for concurrent use.
type Scratch struct {
	unmaps []func() error
}

// Alloc gives n zero bytes: on the heap if they are few or if no file can be mapped.
func (s *Scratch) Alloc(n int) []byte {
	if n >= large {
		if b, unmap, err := mapped(n); err == nil {
			s.unmaps = append(s.unmaps, unmap)
			return b
		}
	}
	return make([]byte, n)
}

// Close gives back all room. What Alloc returned may not be used afterwards.
func (s *Scratch) Close() error {
	var errs []error
	for _, unmap := range s.unmaps {
		errs = append(errs, unmap())
	}
	s.unmaps = nil
	return errors.Join(errs...)
}
