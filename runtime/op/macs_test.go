package op

import (
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestMACs(t *testing.T) {
	type dims = []tensor.Dim
	for _, c := range []struct {
		name       string
		args       []dims
		out        dims
		transposed bool
		want       int64
	}{
		{"aten::mm.out", []dims{{2, 3}, {3, 5}}, dims{2, 5}, false, 30},
		{"aten::bmm.out", []dims{{4, 2, 3}, {4, 3, 5}}, dims{4, 2, 5}, false, 120},
		{"aten::addmm.out", []dims{{5}, {2, 3}, {3, 5}}, dims{2, 5}, false, 30},
		{"aten::linear.out", []dims{{7, 3}, {5, 3}}, dims{7, 5}, false, 105},
		{"aten::convolution.out", []dims{{1, 4, 8, 8}, {6, 2, 3, 3}}, dims{1, 6, 4, 4}, false, 6 * 16 * 18},
		{"aten::convolution.out", []dims{{1, 4, 8, 8}, {4, 2, 3, 3}}, dims{1, 4, 17, 17}, true, 4 * 64 * 18},
		{"aten::add.out", []dims{{2}, {2}}, dims{2}, false, 0},
		{"aten::mm.out", nil, nil, false, 0},
	} {
		arg := func(i int) dims {
			if i < len(c.args) {
				return c.args[i]
			}
			return nil
		}
		if got := MACs(c.name, arg, c.out, c.transposed); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.name, c.args, got, c.want)
		}
	}
}
