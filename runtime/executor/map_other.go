//go:build !unix

package executor

import "os"

// mapFile reads a file, where files cannot be mapped.
func mapFile(path string) (mapping, error) {
	b, err := os.ReadFile(path)
	return mapping{data: b}, err
}
