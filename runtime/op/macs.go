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

// CachedWork are the multiply-accumulates of a call of an attention with caches, whose work follows from more than sizes, and the bytes that it
// reads and writes: of the caches the rows that count. ok reports whether name is such an operator.
func CachedWork(name string, args []Value) (macs, bytes int64, ok bool) {
	var a cachedArgs
	switch name {
	case "llama::custom_sdpa.out":
		a = customSdpaArgs(args)
	case "llama::custom_quantized_sdpa.out":
		a = customQuantizedSdpaArgs(args)
	case "llama::sdpa_with_kv_cache.out":
		a = sdpaWithKvCacheArgs(args)
		bytes = 2 * int64(args[1].Tensor.Nbytes()+args[2].Tensor.Nbytes()) // into the caches
	default:
		return 0, 0, false
	}
	rows, columns := a.q.Sizes[a.rowsAt], a.k.Sizes[a.rowsAt]
	if a.mask == nil {
		columns = min(columns, a.start+rows)
	} else {
		bytes += int64(a.mask.Nbytes())
	}
	q, depth := numel(a.q.Sizes), a.k.Sizes[3]
	cached := a.k.Sizes[0] * columns * a.k.Sizes[3-a.rowsAt] * depth
	size := int64(a.q.DType.Size())
	bytes += 2 * (q + cached) * size
	if a.q.DType == tensor.Char && depth > 0 {
		bytes += q*(f32Size-size) + (q+2*cached)/depth*(1+f32Size) // of the result, and of zero points and scales
	}
	return 2 * q * columns, bytes, true
}

func numel(sizes []tensor.Dim) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= d
	}
	return n
}
