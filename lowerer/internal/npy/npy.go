// Package npy reads and writes .npy files.
package npy

import (
	"fmt"
	"os"

	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ReadFile is the tensor in a .npy file, in row-major order.
func ReadFile(path string) (*tensor.Tensor, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := npy.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Ordered is a copy of t with its elements in this order; nil means row-major.
func Ordered(t *tensor.Tensor, order []uint8) *tensor.Tensor { return npy.Ordered(t, order) }
