package functionalize

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// whole makes all results of a view at once, where there are several; a result that must be made anew later follows its view
// alone. It is nil for other views.
func whole(op *exir.Schema) func(s *state, n *exir.Node, src *exir.Value) {
	switch op.Base() {
	case "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit",
		"unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk":
		return splitAll
	case "unbind":
		return unbindAll
	}
	return nil
}

// splitDim is the dimension that n splits.
func splitDim(n *exir.Node) int {
	rank := self(n).Rank()
	switch n.Op.Base() {
	case "hsplit":
		return min(1, rank-1)
	case "vsplit":
		return 0
	case "dsplit":
		return 2
	}
	return dimOf(n, "dim", rank)
}

// size is the size of result i in dimension dim.
func size(n *exir.Node, i, dim int) tensor.Dim { return n.Outs[i].Spec.Sizes[dim] }

func splitAll(s *state, n *exir.Node, src *exir.Value) {
	dim := splitDim(n)
	sizes := make([]int64, len(n.Outs))
	for i := range n.Outs {
		sizes[i] = size(n, i, dim)
	}
	s.emitTo(n.Outs, "aten::split_with_sizes_copy", value(src), integers(sizes), integer(int64(dim)))
}

func part(s *state, n *exir.Node, i int) (view, error) {
	dim := splitDim(n)
	start := tensor.Dim(0)
	for j := range i {
		start = s.shapes.Add(start, size(n, j, dim))
	}
	return s.slice(dim, integer(start), integer(s.shapes.Add(start, size(n, i, dim))), integer(1)), nil
}

func unbindAll(s *state, n *exir.Node, src *exir.Value) {
	s.emitTo(n.Outs, "aten::unbind_copy.int", value(src), integer(int64(dimOf(n, "dim", self(n).Rank()))))
}

func unbound(_ *state, n *exir.Node, i int) (view, error) {
	return choice(dimOf(n, "dim", self(n).Rank()), integer(int64(i))), nil
}

// splitByTensor makes slices of a split at the indices in a tensor, or into as many sections as the program has results
// where that is a tensor of no dimensions.
func splitByTensor(s *state, n *exir.Node) error {
	symbols, ok := s.shapes.Table.(exir.Symbols)
	at := n.Args[1].Value
	if !ok || at == nil || len(n.Outs) == 0 || at.Spec.Rank() > 1 {
		return errors.New("rewrite split: nothing says where to split")
	}
	dim := splitDim(n)
	ends := make([]exir.Arg, len(n.Outs))
	for i := range len(ends) - 1 {
		if at.Spec.Rank() == 0 {
			ends[i] = integer(s.sectionEnd(self(n).Sizes[dim], i+1, len(ends)))
			continue
		}
		var err error
		if ends[i], err = s.element(symbols, at, i); err != nil {
			return err
		}
	}
	start := integer(0)
	for i, out := range n.Outs {
		if err := s.call(out, "aten::slice.Tensor", n.Args[0], integer(int64(dim)), start, ends[i]); err != nil {
			return err
		}
		start = ends[i]
	}
	return nil
}

// sectionEnd is where the first i of k sections of n elements end: the first n mod k sections have one element more.
func (s *state) sectionEnd(n tensor.Dim, i, k int) tensor.Dim {
	d, m := tensor.Dim(i), tensor.Dim(k)
	return s.shapes.Add(s.shapes.Mul(s.shapes.FloorDiv(n, m), d), s.shapes.Min(s.shapes.Mod(n, m), d))
}

// element is the integer at index i of a tensor of one dimension.
func (s *state) element(symbols exir.Symbols, v *exir.Value, i int) (exir.Arg, error) {
	one := &exir.Value{Name: s.name("index"), Spec: tensor.Meta{DType: v.Spec.DType}}
	number := &exir.Value{Name: s.name("split_at"), Kind: exir.SymInt}
	number.Sym = symbols.Symbol(number.Name, math.MinInt64, math.MaxInt64, 0)
	if err := s.call(one, "aten::select.int", value(v), integer(0), integer(int64(i))); err != nil {
		return exir.Arg{}, err
	}
	return value(number), s.call(number, "aten::item", value(one))
}
