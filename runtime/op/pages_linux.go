package op

import "syscall"

// useHugePages asks for large pages behind b, whose first and last parts may lie in small ones. It changes nothing but
// speed, and so does a failure.
func useHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
