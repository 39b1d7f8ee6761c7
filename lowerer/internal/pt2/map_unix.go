//go:build unix

package pt2

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory; unmap takes it away again.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

// release is advice: that it fails does not matter.
func release(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }
