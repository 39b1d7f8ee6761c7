package functionalize

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// einsum of one operand that sums nothing is a view of it: its diagonals, permuted.
func einsum(s *state, n *exir.Node) error {
	tensors := argOf(n, "tensors").List
	if len(tensors) != 1 {
		return s.plain(n)
	}
	v := tensors[0].Value
	in, out := letters(argOf(n, "equation").Str, v.Spec.Rank())
	if len(in) != v.Spec.Rank() || strings.Trim(in, out) != "" || strings.Trim(out, in) != "" {
		return s.plain(n)
	}
	for i := 0; i < len(in); {
		j := strings.LastIndexByte(in, in[i])
		if j == i {
			i++
			continue
		}
		sizes := v.Spec.Sizes
		spec := tensor.Meta{DType: v.Spec.DType, Sizes: slices.Concat(sizes[:i], sizes[i+1:j], sizes[j+1:], sizes[i:i+1])}
		shown := &exir.Value{Name: s.name("diagonal"), Spec: spec}
		if err := s.call(shown, "aten::diagonal", value(v), integer(0), integer(int64(i)), integer(int64(j))); err != nil {
			return err
		}
		v, in = shown, in[:i]+in[i+1:j]+in[j+1:]+in[i:i+1]
	}
	dims := make([]int64, len(out))
	for i := range dims {
		dims[i] = int64(strings.IndexByte(in, out[i]))
	}
	return s.call(n.Outs[0], "aten::permute", value(v), integers(dims))
}

// letters are those of the dimensions of the operand of an einsum and of its result; where there is an ellipsis, they are
// ones that sort before all that an equation can have.
func letters(equation string, rank int) (in, out string) {
	in, out, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	if before, after, ok := strings.Cut(in, "..."); ok {
		rest := "0123456789:;<=>?"[:max(0, rank-len(before)-len(after))]
		in, out = before+rest+after, strings.Replace(out, "...", rest, 1)
	}
	if !explicit {
		once := slices.DeleteFunc([]byte(in), func(b byte) bool { return strings.Count(in, string(b)) > 1 })
		slices.Sort(once)
		out = string(once)
	}
	return in, out
}

// meshgrid shows each of its arguments along a dimension of its own.
func meshgrid(s *state, n *exir.Node) error {
	swapped := argOf(n, "indexing").Str == "xy" && len(n.Outs) > 1
	for i, out := range n.Outs {
		if out == nil {
			continue
		}
		at := i
		if swapped && i < 2 {
			at = 1 - i
		}
		sizes := slices.Repeat([]tensor.Dim{1}, len(n.Outs))
		sizes[at] = out.Spec.Sizes[at]
		line := &exir.Value{Name: s.name("line"), Spec: tensor.Meta{DType: out.Spec.DType, Sizes: sizes}}
		if err := s.call(line, "aten::view", n.Args[0].List[i], integers(sizes)); err != nil {
			return err
		}
		if err := s.call(out, "aten::expand", value(line), integers(out.Spec.Sizes)); err != nil {
			return err
		}
	}
	return nil
}

// broadcastTensors expands each of its arguments to the sizes of all.
func broadcastTensors(s *state, n *exir.Node) error {
	for i, out := range n.Outs {
		if out == nil {
			continue
		}
		if err := s.call(out, "aten::expand", n.Args[0].List[i], integers(out.Spec.Sizes)); err != nil {
			return err
		}
	}
	return nil
}

// eachOf rewrites the operator of a list of tensors that does to each what the operator of one does.
func eachOf(s *state, n *exir.Node) error {
	for i, out := range n.Outs {
		if out == nil {
			continue
		}
		if err := s.call(out, strings.TrimSuffix(n.Op.Name, ".Sequence"), n.Args[0].List[i]); err != nil {
			return err
		}
	}
	return nil
}

// cartesianProduct of one tensor is that tensor.
func cartesianProduct(s *state, n *exir.Node) error {
	if list := n.Args[0].List; len(list) == 1 {
		s.alias(n.Outs[0], list[0].Value)
		return nil
	}
	return s.plain(n)
}

// sumToSize gives its argument as it is where that has the sizes already, but for one without dimensions.
func sumToSize(s *state, n *exir.Node) error {
	if x := self(n); x.Rank() > 0 && s.sameSizes(x.Sizes, n.Outs[0].Spec.Sizes) {
		s.alias(n.Outs[0], n.Args[0].Value)
		return nil
	}
	return s.plain(n)
}
