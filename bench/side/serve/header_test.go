package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestHeader(t *testing.T) {
	for _, m := range []tensor.Meta{
		{DType: tensor.Float, Sizes: []tensor.Dim{1, 3, 4, 5}, DimOrder: []uint8{0, 2, 3, 1}},
		{DType: tensor.Long, Sizes: []tensor.Dim{7}, DimOrder: []uint8{0}},
		{DType: tensor.Bool},
	} {
		got, err := ParseHeader(Header(&tensor.Tensor{Meta: m}))
		if d := cmp.Diff(m, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	for _, wrong := range []string{"", "6:1", "x:1:0", "6:x:0", "6:1:300"} {
		if _, err := ParseHeader(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}
