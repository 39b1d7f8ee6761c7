package rt

import (
	"context"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestBadPayloads runs payloads that are well-formed and do not fit their inputs: errors, not panics.
func TestBadPayloads(t *testing.T) {
	image := []tensor.Dim{1, 1, 2, 2}
	for name, c := range map[string]struct {
		payload string
		inputs  [][]tensor.Dim
		weight  []byte
	}{
		"operands of two sizes":    {"1#div_decomp_from_tan,0\n2 2\n0,1\n", [][]tensor.Dim{{3}, {2}}, nil},
		"weights of 2^64 elements": {"1#conv_op,0\n1 1\n0 w - 65536,65536,65536,65536,1,1,0,0,1,1,1\n", [][]tensor.Dim{image}, []byte{}},
		"a result of 2^64 elements": {"1#conv_op,0\n1 1\n0 w - 1,1,1,1,1,1,2147483647,2147483647,1,1,1\n", [][]tensor.Dim{image},
			make([]byte, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			args := []*backend.Value{}
			for _, sizes := range append(c.inputs, image) {
				x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
				x.Data = make([]byte, x.Nbytes())
				args = append(args, &backend.Value{Kind: op.Tensor, Tensor: x})
			}
			h, err := Backend{}.Init(&backend.InitContext{Args: args, NamedData: func(string) []byte { return c.weight }},
				backend.NewFreeableBuffer([]byte(c.payload), nil), nil)
			if err == nil {
				err = Backend{}.Execute(&backend.ExecuteContext{Context: context.Background(),
					Alloc:    func(n int) ([]byte, error) { return make([]byte, n), nil },
					Parallel: func(n, _ int, f func(lo, hi int)) { f(0, n) },
					Resize:   func(x *tensor.Tensor, sizes []tensor.Dim) error { return op.Resize(x, sizes, nil) }}, h, args)
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
}
