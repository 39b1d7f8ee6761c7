//go:build !unix

package executor

import "os"

// mapFile reads a file.
func mapFile(path string) ([]byte, func(), error) {
	b, err := os.ReadFile(path)
	return b, func() {}, err
}
