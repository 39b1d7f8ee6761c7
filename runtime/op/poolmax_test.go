package op

import (
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestMaxPoolTiers runs poolings, NaN and infinities among the elements, in every tier, which call holds against Scalar.
func TestMaxPoolTiers(t *testing.T) {
	for _, c := range []struct {
		size                          dims
		kernel, stride, pad, dilation dims
		ceil                          bool
	}{
		{dims{2, 3, 58, 78}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, true},
		{dims{3, 57, 77}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, true},
		{dims{1, 4, 112, 112}, dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 20, 8, 8}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},
		{dims{1, 5, 9, 7}, dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, true},
		{dims{2, 3, 128, 1}, dims{2, 1}, dims{2, 1}, dims{0, 0}, dims{1, 1}, false},
		{dims{2, 3, 1, 65}, dims{1, 3}, dims{1, 1}, dims{0, 1}, dims{1, 1}, false},
		{dims{1, 2, 40, 33}, dims{3, 5}, dims{1, 3}, dims{0, 2}, dims{4, 2}, true},
		{dims{1, 2, 9, 100}, dims{9, 9}, dims{1, 1}, dims{4, 4}, dims{1, 1}, false},
		{dims{1, 2, 3, 3}, dims{3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 2, 3000, 6}, dims{2, 2}, dims{2, 1}, dims{1, 0}, dims{1, 1}, true},
		{dims{3, 0, 8, 8}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			for _, x := range []*tensor.Tensor{mixed(tensor.Float, 7, c.size...), finite(c.size...)} {
				if _, err := call(&MaxPool2dWithIndicesF32, 2, true, x, c.kernel, c.stride, c.pad, c.dilation, c.ceil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
