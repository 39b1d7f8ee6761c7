//go:build unix

package executor

import (
	"os"
	"syscall"
)

// releaseLeast is from how many bytes on a file's pages are given back: for less it takes longer than they are worth.
const releaseLeast = 256 << 10

// mapFile maps a file for reading. It asks the system itself: an os.File would be made ready for waiting first.
func mapFile(path string) (mapping, error) {
	var f int
	err := retry(func() (err error) {
		f, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return mapping{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(f)
	var info syscall.Stat_t
	if err := retry(func() error { return syscall.Fstat(f, &info) }); err != nil {
		return mapping{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	n := int(info.Size)
	if n == 0 || info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		b, err := os.ReadFile(path)
		return mapping{data: b}, err
	}
	// Nobody writes to the mapping; if a backend does, it changes a page of its own instead of ending the process.
	b, err := syscall.Mmap(f, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		return mapping{}, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	m := mapping{data: b, unmap: func() { _ = syscall.Munmap(b) }}
	if n >= releaseLeast {
		m.release = releasePages
	}
	return m, nil
}

// retry calls the system again where a signal interrupted it.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
