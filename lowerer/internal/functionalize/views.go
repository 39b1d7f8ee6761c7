package functionalize

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// viewRule says how result i of n shows n's first argument. A view without op shows all of it unchanged.
type viewRule func(s *state, n *exir.Node, i int) (view, error)

var views = map[string]viewRule{
	"aten::view": reshaped, "aten::_unsafe_view": reshaped, "aten::reshape": reshaped, "aten::_reshape_alias": reshaped,
	"aten::flatten.using_ints": reshaped, "aten::unflatten.int": reshaped, "aten::view_as": reshaped,
	"aten::reshape_as": reshaped, "aten::atleast_1d": reshaped, "aten::atleast_2d": reshaped, "aten::atleast_3d": reshaped,

	"aten::alias": same, "aten::detach": same, "aten::detach_": same, "aten::positive": same, "aten::real": same,
	"aten::resolve_conj": same, "aten::resolve_neg": same, "aten::_conj": same, "aten::conj": same, "aten::conj_physical": same,
	"aten::requires_grad_": same, "aten::lift": same,

	"aten::permute": permuted, "aten::transpose.int": permuted, "aten::t": permuted, "aten::numpy_T": permuted,
	"aten::mT": permuted, "aten::mH": permuted, "aten::adjoint": permuted, "aten::matrix_H": permuted,
	"aten::swapaxes": permuted, "aten::swapdims": permuted, "aten::movedim.int": permuted,
	"aten::movedim.intlist": permuted, "aten::moveaxis.int": permuted, "aten::moveaxis.intlist": permuted,
	"aten::t_": permuted, "aten::transpose_": permuted, "aten::swapaxes_": permuted, "aten::swapdims_": permuted,

	"aten::expand": expanded, "aten::expand_as": expanded, "aten::broadcast_to": expanded,
	"aten::slice.Tensor": sliced, "aten::narrow": sliced, "aten::select.int": selected,
	"aten::squeeze": squeezed, "aten::squeeze.dim": squeezed, "aten::squeeze.dims": squeezed,
	"aten::squeeze_": squeezed, "aten::squeeze_.dim": squeezed, "aten::squeeze_.dims": squeezed,
	"aten::unsqueeze": unsqueezed, "aten::unsqueeze_": unsqueezed,
	"aten::diagonal": diagonal, "aten::linalg_diagonal": diagonal,
	"aten::unfold": windows,

	"aten::split.Tensor": part, "aten::split.sizes": part, "aten::split": part, "aten::split_with_sizes": part,
	"aten::chunk": part, "aten::tensor_split.sections": part, "aten::tensor_split.indices": part,
	"aten::hsplit.int": part, "aten::hsplit.array": part, "aten::vsplit.int": part, "aten::vsplit.array": part,
	"aten::dsplit.int": part, "aten::dsplit.array": part,
	"aten::unsafe_split.Tensor": part, "aten::unsafe_split_with_sizes": part, "aten::unsafe_chunk": part,
	"aten::unbind.int": unbound,
	"aten::view.dtype": reinterpreted,
}

// Views lists the operators that show the memory of their argument, in no order.
func Views() []string {
	names := make([]string, 0, len(views))
	for name := range views {
		names = append(names, name)
	}
	for name := range handlers {
		if s := exir.LookupSchema(name); s != nil && s.Kind == "view" {
			names = append(names, name)
		}
	}
	return names
}

// view rewrites the view operator n by its rule.
func (s *state) view(n *exir.Node, rule viewRule) error {
	in := n.Args[0].Value
	src := s.cell(in)
	now := s.content(src)
	all := whole(n.Op)
	if all != nil {
		all(s, n, now)
	}
	for i, out := range n.Outs {
		if out == nil {
			continue
		}
		how, err := rule(s, n, i)
		if err != nil {
			return err
		}
		switch {
		case how.op == "":
			s.alias(out, in)
			continue
		case how.op == "aten::view_copy" && !s.shares(n, src, out.Spec.Sizes):
			s.emitTo([]*exir.Value{out}, how.op, append([]exir.Arg{value(now)}, how.args...)...)
			s.fresh(out)
			continue
		case all == nil:
			s.emitTo([]*exir.Value{out}, how.op, append([]exir.Arg{value(now)}, how.args...)...)
		}
		s.cells[out] = &cell{val: out, stamp: src.store.version, store: src.store, src: src, how: how}
	}
	return nil
}

func self(n *exir.Node) *tensor.Meta { return &n.Args[0].Value.Spec }

func same(*state, *exir.Node, int) (view, error) { return view{}, nil }

// reshapedTo is the view with these sizes of a tensor with sizes in.
func (s *state) reshapedTo(in, sizes []tensor.Dim) view {
	return view{op: "aten::view_copy", args: []exir.Arg{viewSizes(sizes)}, back: backReshape, lay: s.reshapeLayout(in, sizes)}
}

func backReshape(s *state, src, val *exir.Value) *exir.Value {
	return s.emit("aten::view_copy", src.Spec, value(val), viewSizes(src.Spec.Sizes))
}

func reshaped(s *state, n *exir.Node, i int) (view, error) {
	out := n.Outs[i].Spec.Sizes
	if s.sameSizes(out, self(n).Sizes) {
		return view{}, nil
	}
	return s.reshapedTo(self(n).Sizes, out), nil
}

func (s *state) sameSizes(a, b []tensor.Dim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if s.shapes.Equal(a[i], b[i]) != tensor.Yes {
			return false
		}
	}
	return true
}

// permuted tells the permutation from the operator's name.
func permuted(_ *state, n *exir.Node, _ int) (view, error) {
	dims := permutation(n, self(n).Rank())
	inverse := make([]int64, len(dims))
	identity := true
	for i, d := range dims {
		inverse[d] = int64(i)
		identity = identity && d == int64(i)
	}
	if identity {
		return view{}, nil
	}
	back := func(s *state, src, val *exir.Value) *exir.Value {
		return s.emit("aten::permute_copy", src.Spec, value(val), integers(inverse))
	}
	return view{op: "aten::permute_copy", args: []exir.Arg{integers(dims)}, back: back, lay: picked(dims)}, nil
}

func permutation(n *exir.Node, rank int) []int64 {
	dims := make([]int64, rank)
	for i := range dims {
		dims[i] = int64(i)
	}
	swap := func(a, b int) {
		if rank > 0 {
			dims[a], dims[b] = dims[b], dims[a]
		}
	}
	switch n.Op.Base() {
	case "permute":
		return dimsOf(n, "dims", rank)
	case "transpose", "transpose_", "swapdims", "swapdims_":
		swap(dimOf(n, "dim0", rank), dimOf(n, "dim1", rank))
	case "swapaxes", "swapaxes_":
		swap(dimOf(n, "axis0", rank), dimOf(n, "axis1", rank))
	case "movedim", "moveaxis":
		return moved(rank, dimsOf(n, "source", rank), dimsOf(n, "destination", rank))
	case "numpy_T":
		for i := range dims {
			dims[i] = int64(rank - 1 - i)
		}
	default: // t, mT, mH, adjoint: the last two
		if rank >= 2 {
			swap(rank-2, rank-1)
		}
	}
	return dims
}

// moved is the permutation that puts dimensions source at destination, the others in order.
func moved(rank int, source, destination []int64) []int64 {
	dims := make([]int64, rank)
	used := make([]bool, rank)
	for i := range dims {
		dims[i] = -1
	}
	for i, d := range destination {
		dims[d] = source[i]
		used[source[i]] = true
	}
	next := 0
	for i := range dims {
		if dims[i] >= 0 {
			continue
		}
		for used[next] {
			next++
		}
		dims[i] = int64(next)
		next++
	}
	return dims
}

func expanded(s *state, n *exir.Node, i int) (view, error) {
	in, out := self(n).Sizes, n.Outs[i].Spec.Sizes
	if s.sameSizes(in, out) {
		return view{}, nil
	}
	return view{op: "aten::expand_copy", args: []exir.Arg{expandSizes(s, in, out)}, lay: s.widened(in, out)}, nil
}

// expandSizes are the sizes for expand_copy: -1 where the size stays.
func expandSizes(s *state, in, out []tensor.Dim) exir.Arg {
	sizes := append([]int64(nil), out...)
	for i := range in {
		at := len(out) - len(in) + i
		if tensor.IsSymbol(out[at]) && s.shapes.Equal(in[i], out[at]) == tensor.Yes {
			sizes[at] = -1
		}
	}
	return integers(sizes)
}

func sliced(s *state, n *exir.Node, i int) (view, error) {
	dim := dimOf(n, "dim", self(n).Rank())
	if n.Op.Base() == "narrow" {
		start, length := intOf(n, "start"), intOf(n, "length")
		if !tensor.IsSymbol(start) && start < 0 {
			start = s.shapes.Add(start, self(n).Sizes[dim])
		}
		return s.slice(dim, integer(start), integer(s.shapes.Add(start, length)), integer(1)), nil
	}
	if s.sameSizes(self(n).Sizes, n.Outs[i].Spec.Sizes) && intOf(n, "step") == 1 {
		return view{}, nil
	}
	return s.slice(dim, argOf(n, "start"), argOf(n, "end"), argOf(n, "step")), nil
}

// slice is the view of dimension dim from start to end.
func (s *state) slice(dim int, start, end, step exir.Arg) view {
	args := []exir.Arg{integer(int64(dim)), start, end, step}
	back := func(s *state, src, val *exir.Value) *exir.Value {
		if s.sameSizes(src.Spec.Sizes, val.Spec.Sizes) {
			return val
		}
		return s.emit("aten::slice_scatter", src.Spec, append([]exir.Arg{value(src), value(val)}, args...)...)
	}
	return view{op: "aten::slice_copy.Tensor", args: args, back: back, lay: s.stepped(dim, step)}
}

func selected(_ *state, n *exir.Node, _ int) (view, error) {
	return choice(dimOf(n, "dim", self(n).Rank()), argOf(n, "index")), nil
}

// choice is the view of one index of dimension dim.
func choice(dim int, index exir.Arg) view {
	args := []exir.Arg{integer(int64(dim)), index}
	back := func(s *state, src, val *exir.Value) *exir.Value {
		return s.emit("aten::select_scatter", src.Spec, append([]exir.Arg{value(src), value(val)}, args...)...)
	}
	return view{op: "aten::select_copy.int", args: args, back: back, lay: without(dim)}
}

// squeezed removes the dimensions that the result lacks.
func squeezed(s *state, n *exir.Node, i int) (view, error) {
	in, out := self(n).Sizes, n.Outs[i].Spec.Sizes
	if len(in) == len(out) {
		return view{}, nil
	}
	var dims []int64
	asked := map[int64]bool{}
	if argOf(n, "dim").Kind != exir.ArgNone {
		for _, d := range dimsOf(n, "dim", len(in)) {
			asked[d] = true
		}
	}
	for d, size := range in {
		if s.shapes.Equal(size, 1) == tensor.Yes && (len(asked) == 0 || asked[int64(d)]) {
			dims = append(dims, int64(d))
		}
	}
	if len(in)-len(dims) != len(out) {
		return view{}, fmt.Errorf("rewrite squeeze: sizes %v do not give %v", in, out)
	}
	return view{op: "aten::squeeze_copy.dims", args: []exir.Arg{integers(dims)}, back: backReshape, lay: s.reshapeLayout(in, out)}, nil
}

func unsqueezed(s *state, n *exir.Node, i int) (view, error) {
	dim := integer(int64(dimOf(n, "dim", n.Outs[i].Spec.Rank())))
	back := func(s *state, src, val *exir.Value) *exir.Value {
		return s.emit("aten::squeeze_copy.dims", src.Spec, value(val), exir.Arg{Kind: exir.ArgList, List: []exir.Arg{dim}})
	}
	return view{op: "aten::unsqueeze_copy", args: []exir.Arg{dim}, back: back, lay: s.reshapeLayout(self(n).Sizes, n.Outs[i].Spec.Sizes)}, nil
}

func diagonal(s *state, n *exir.Node, _ int) (view, error) {
	args := []exir.Arg{argOf(n, "offset"), argOf(n, "dim1"), argOf(n, "dim2")}
	back := func(s *state, src, val *exir.Value) *exir.Value {
		return s.emit("aten::diagonal_scatter", src.Spec, append([]exir.Arg{value(src), value(val)}, args...)...)
	}
	return view{op: "aten::diagonal_copy", args: args, back: back, lay: s.onDiagonal(dimOf(n, "dim1", self(n).Rank()), dimOf(n, "dim2", self(n).Rank()))}, nil
}

func reinterpreted(_ *state, n *exir.Node, _ int) (view, error) {
	return view{op: "aten::view_copy.dtype", args: n.Args[1:]}, nil
}

func windows(_ *state, n *exir.Node, _ int) (view, error) {
	return view{op: "aten::unfold_copy", args: n.Args[1:]}, nil
}
