package functionalize

import (
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
