package op

import (
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// summed is for each product of matrices the argument whose last dimension is summed over.
var summed = []struct {
	name string
	arg  int
}{{"aten::mm", 0}, {"aten::bmm", 0}, {"aten::addmm", 1}, {"aten::linear", 0}}

// TransposedArg is the argument of aten::convolution that says whether it is transposed.
const TransposedArg = 6

// MACs are the multiply-accumulates of a call of an operator, such as "aten::mm.out": of convolutions and products of
// matrices. Those of others are 0. arg gives the sizes of an argument, nil for what is no tensor; out are those of the
// result.
func MACs(name string, arg func(i int) []tensor.Dim, out []tensor.Dim, transposed bool) int64 {
	name, _, _ = strings.Cut(name, ".")
	for _, p := range summed {
		if sizes := arg(p.arg); p.name == name && len(sizes) > 0 {
			return numel(out) * sizes[len(sizes)-1]
		}
	}
	if q := arg(0); name == attentionBase && len(q) > 1 {
		return q[len(q)-2] * (numel(arg(1)) + numel(arg(2)))
	}
	if weight := arg(1); name == "aten::convolution" && len(weight) > 0 {
		if transposed {
			out = arg(0)
		}
		return numel(out) * numel(weight[1:])
	}
	return 0
}

// CachedName is the operator whose work CachedWork gives, since it follows from more than sizes.
const CachedName = "llama::custom_sdpa.out"

// CachedWork are the multiply-accumulates of a call of it, and the bytes that it reads and writes: of the caches the rows that count.
func CachedWork(args []Value) (macs, bytes int64) {
	q, k, mask := args[0].Tensor, args[1].Tensor, args[4].Tensor
	rows, columns := q.Sizes[1], k.Sizes[1]
	if mask == nil {
		columns = min(columns, args[3].Int+rows)
	} else {
		bytes = int64(mask.Nbytes())
	}
	cached := k.Sizes[0] * columns * k.Sizes[2] * k.Sizes[3]
	return 2 * numel(q.Sizes) * columns, bytes + 2*(numel(q.Sizes)+cached)*int64(q.DType.Size())
}

func numel(sizes []tensor.Dim) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= d
	}
	return n
}
