package executor

import (
	"os"
	"syscall"
	"unsafe"
)

// releasePages gives the whole pages of mapped bytes back to the system, which reads them anew if they are used again.
func releasePages(b []byte) {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if n := (len(b) - skip) &^ (page - 1); n > 0 {
		_ = syscall.Madvise(b[skip:skip+n], syscall.MADV_DONTNEED)
	}
}
