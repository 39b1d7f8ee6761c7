//go:build !linux

package op

// useHugePages does nothing here.
func useHugePages([]byte) {}
