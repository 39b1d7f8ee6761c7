package scratch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapped maps n zero bytes of a file that has no name any more. Its blocks are taken at once: with a full disk this is
// an error, where writing to the mapping would be a fault.
func mapped(n int) (b []byte, err error) {
	f, err := os.CreateTemp("", "pte-scratch-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(n)); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(b []byte) error { return unix.Munmap(b) }

// release is advice: that it fails does not matter.
func release(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
