package executor

import (
	"os"
	"syscall"
	"unsafe"
)

// mapLeast is from how many bytes on memory comes from the system.
const mapLeast = 256 << 10

// madvPopulateWrite is MADV_POPULATE_WRITE.
const madvPopulateWrite = 23

// mapMemory is n zero bytes from the system, at a large page, and what gives them back; nil if n is small, if addresses are
// scarce, or if the system has none.
func mapMemory(n int) (data []byte, unmap func()) {
	if n < mapLeast || uint64(^uintptr(0))>>32 == 0 {
		return nil, nil
	}
	all, err := syscall.Mmap(-1, 0, n+hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, nil
	}
	skip := int(-uintptr(unsafe.Pointer(&all[0])) & (hugePage - 1))
	return all[skip : skip+n : skip+n], func() { _ = syscall.Munmap(all) }
}

// useHugePages asks for large pages behind b. It changes nothing but speed, and so does a failure.
func useHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }

// populate gives b its pages now, all at once; one by one, when they are used, takes longer. Failing does no harm.
func populate(b []byte) {
	skip := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(os.Getpagesize()-1))
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), -skip)), len(b)+skip), madvPopulateWrite)
}
