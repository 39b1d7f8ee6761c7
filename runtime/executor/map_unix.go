//go:build unix

package executor

import (
	"os"
	"syscall"
)

// mapFile maps a file for reading.
func mapFile(path string) (mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return mapping{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return mapping{}, err
	}
	n := int(info.Size())
	if n == 0 || !info.Mode().IsRegular() {
		b, err := os.ReadFile(path)
		return mapping{data: b}, err
	}
	// Nobody writes to the mapping; if a backend does, it changes a page of its own instead of ending the process.
	b, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		return mapping{}, err
	}
	return mapping{data: b, release: releasePages, unmap: func() { _ = syscall.Munmap(b) }}, nil
}
