//go:build unix && !linux

package executor

// releasePages does nothing where the standard library cannot advise the system.
func releasePages([]byte) {}
