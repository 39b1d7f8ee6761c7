package functionalize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// handlers rewrite the operators that are neither a plain view nor a regular write.
var handlers map[string]func(s *state, n *exir.Node) error

func init() {
	handlers = map[string]func(s *state, n *exir.Node) error{
		"aten::copy_": copyInto, "aten::fill_.Tensor": copyInto, "aten::fill_.Scalar": fillWith, "aten::zero_": fillWith,
		"aten::fill_diagonal_": fillDiagonal, "aten::as_strided": strided, "aten::as_strided_": strided,
		"aten::tensor_split.tensor_indices_or_sections": splitByTensor,
		"llama::update_cache":                           updateCache, "llama::update_cache_with_indices": updateCache, "llama::sdpa_with_kv_cache": sdpaWithKvCache,
		"aten::unique_consecutive": uniqueAlong,
		"aten::einsum":             einsum, "aten::meshgrid": meshgrid, "aten::meshgrid.indexing": meshgrid,
		"aten::broadcast_tensors": broadcastTensors, "aten::cartesian_prod": cartesianProduct, "aten::sum_to_size": sumToSize,
		"aten::atleast_1d.Sequence": eachOf, "aten::atleast_2d.Sequence": eachOf, "aten::atleast_3d.Sequence": eachOf,
		"aten::resize_": resized, "aten::resize_as_": resized, "aten::lift_fresh": lifted, "aten::lift_fresh_copy": lifted, "aten::contiguous": contiguous, "aten::ravel": ravel,
		"aten::to.dtype": converted, "aten::to.device": converted, "aten::to.dtype_layout": converted,
		"aten::to.other": converted, "aten::to.prim_Device": converted, "aten::to.prim_dtype": converted,
		"aten::to.prim_other": converted, "aten::type_as": converted, "aten::_to_copy": converted, "aten::cpu": converted,
		"aten::_assert_scalar": asserted, "aten::_assert_async": assertedTensor, "aten::_assert_async.msg": assertedTensor,
		"aten::dropout": dropout, "aten::dropout_": dropout, "aten::feature_dropout": dropout, "aten::feature_dropout_": dropout,
		"aten::alpha_dropout": dropout, "aten::alpha_dropout_": dropout, "aten::feature_alpha_dropout": dropout,
		"aten::feature_alpha_dropout_":             dropout,
		"higher_order::wrap_with_set_grad_enabled": inlined,
		"higher_order::wrap_with_autocast":         inlined,
		"higher_order::hints_wrapper":              inlined,
		"higher_order::invoke_subgraph":            inlined,
		"higher_order::wrap_activation_checkpoint": inlined,
		"higher_order::tag_activation_checkpoint":  inlined,
		"higher_order::strict_mode":                inlined,
		"higher_order::wrap":                       inlined,
	}
}

// asserted keeps an assertion, but for those that hold of every size, and those of how tensors lie in memory, which is for
// each runtime to choose.
func asserted(s *state, n *exir.Node) error {
	if cond := n.Args[0].Value; cond != nil && cond.Node != nil && (notNegative(cond.Node) || ofLayout(cond.Node) || ofCount(cond.Node)) {
		return nil
	}
	return s.plain(n)
}

// notNegative reports the condition that a size is at least zero.
func notNegative(n *exir.Node) bool {
	if n.Op.Name != "python::ge" || n.Args[0].Kind != exir.ArgValue || n.Args[0].Value.Node == nil {
		return false
	}
	return n.Args[0].Value.Node.Op.Name == "aten::sym_size.int" && n.Args[1].Kind == exir.ArgInt && n.Args[1].Int == 0
}

// ofCount reports that an operator finds at most as many things as its argument has elements, which is always so; but for
// a mask that has more, where torch.export is wrong (masked_select in torch/_subclasses/fake_impls.py).
func ofCount(n *exir.Node) bool {
	if n.Op.Name != "python::le" || n.Args[0].Kind != exir.ArgValue || n.Args[0].Value.Node == nil || n.Args[1].Kind != exir.ArgInt {
		return false
	}
	size := n.Args[0].Value.Node
	if size.Op.Name != "aten::sym_size.int" || size.Args[1].Int != 0 || size.Args[0].Value.Node == nil {
		return false
	}
	switch from := size.Args[0].Value.Node; from.Op.Name {
	case "aten::nonzero", "aten::masked_select", "aten::_unique2":
		in := &from.Args[0].Value.Spec
		return in.Static() && !tensor.IsSymbol(n.Args[1].Int) && int64(in.Numel()) <= n.Args[1].Int
	}
	return false
}

// ofLayout reports a number that is computed of a stride or an offset.
func ofLayout(n *exir.Node) bool {
	if base := n.Op.Base(); base == "sym_storage_offset" || base == "sym_stride" {
		return true
	}
	return strings.HasPrefix(n.Op.Name, "python::") && slices.ContainsFunc(n.Args, func(a exir.Arg) bool {
		return a.Kind == exir.ArgValue && a.Value.Node != nil && ofLayout(a.Value.Node)
	})
}

// assertedTensor asserts the only element of a tensor.
func assertedTensor(s *state, n *exir.Node) error {
	text := "the assertion does not hold"
	if len(n.Args) > 1 {
		text = n.Args[1].Str
	}
	cond := s.arg(n.Args[0]).Value
	if cond.Spec.DType != tensor.Bool {
		cond = s.emit("aten::ne.Scalar", tensor.Meta{DType: tensor.Bool, Sizes: cond.Spec.Sizes}, value(cond), integer(0))
	}
	v := &exir.Value{Name: s.name(n.Name), Kind: exir.SymBool}
	s.emitTo([]*exir.Value{v}, "aten::_local_scalar_dense", value(cond))
	return s.plain(&exir.Node{Name: n.Name, Op: exir.MustSchema(exir.AssertScalar), Args: []exir.Arg{value(v), exir.ToArg(text)}, Origin: n.Origin})
}

// lifted takes a constant as it is: only the copy can be written to.
func lifted(s *state, n *exir.Node) error {
	s.copied(n.Outs[0], n.Args[0].Value)
	return nil
}

// uniqueAlong puts the sizes of the result along a negative dimension d right, for which torch.export has all of the
// argument's behind the new one, and of those the last one for the counts (_unique in torch/_subclasses/fake_impls.py).
func uniqueAlong(s *state, n *exir.Node) error {
	x, out, along := self(n), n.Outs[0], argOf(n, "dim")
	if along.Kind == exir.ArgInt && along.Int < 0 && out != nil {
		d := x.Rank() + int(along.Int)
		if d >= 0 && len(out.Spec.Sizes) > x.Rank() {
			out.Spec.Sizes, out.Order = slices.Concat(out.Spec.Sizes[:d+1], x.Sizes[d+1:]), nil
			if counts := n.Outs[2]; counts != nil && counts.Spec.Rank() == 1 {
				counts.Spec.Sizes = out.Spec.Sizes[d : d+1]
			}
		}
	}
	return s.plain(n)
}

// resized makes a tensor of the new sizes. What the argument shares memory with does not see later writes.
func resized(s *state, n *exir.Node) error {
	base := n.Op.Base()
	args := append([]exir.Arg{value(s.read(n.Args[0].Value))}, n.Args[1:]...)
	for i := range args {
		args[i] = s.arg(args[i])
	}
	s.emitFresh(n, "aten::"+base[:len(base)-1], args)
	return nil
}

// c10's memory formats.
const (
	contiguousFormat = 0
	preserveFormat   = 1
)

// format is the memory format that n asks for, none if it keeps its argument's.
func format(n *exir.Node) exir.Arg {
	a := argOf(n, "memory_format")
	if a.Kind != exir.ArgMemoryFormat && a.Kind != exir.ArgInt || a.Int == preserveFormat {
		return exir.Arg{}
	}
	if a.Int == contiguousFormat && self(n).Contiguous() {
		return exir.Arg{}
	}
	return exir.Arg{Kind: exir.ArgMemoryFormat, Int: a.Int}
}

// contiguous needs no copy: what a view shows has been copied.
func contiguous(s *state, n *exir.Node) error {
	f := format(n)
	if f.Kind == exir.ArgNone {
		if s.rowMajor(s.cell(n.Args[0].Value)) {
			s.alias(n.Outs[0], n.Args[0].Value)
		} else {
			s.copied(n.Outs[0], n.Args[0].Value)
		}
		return nil
	}
	s.fresh(n.Outs[0])
	s.formatted(n.Outs[0], "aten::clone", value(s.read(n.Args[0].Value)), f)
	return nil
}

// ravel is a view of contiguous().
func ravel(s *state, n *exir.Node) error {
	packed := &exir.Value{Name: s.name("contiguous"), Spec: tensor.Meta{DType: self(n).DType, Sizes: self(n).Sizes}}
	if err := s.call(packed, "aten::contiguous", n.Args[0]); err != nil {
		return err
	}
	return s.call(n.Outs[0], "aten::view", value(packed), viewSizes(n.Outs[0].Spec.Sizes))
}

// formatted emits a call that gives out in the order its Spec asks for.
func (s *state) formatted(out *exir.Value, op string, args ...exir.Arg) {
	order := out.Spec.DimOrder
	s.emitTo([]*exir.Value{out}, op, args...)
	out.Spec.DimOrder = order
}

// converted rewrites the many forms of Tensor.to.
func converted(s *state, n *exir.Node) error {
	in, out := n.Args[0].Value, n.Outs[0]
	f := format(n)
	must := argOf(n, "copy").Int != 0 || n.Op.Base() == "_to_copy"
	if out.Spec.DType == in.Spec.DType && f.Kind == exir.ArgNone {
		if must {
			s.copied(out, in)
		} else {
			s.alias(out, in)
		}
		return nil
	}
	now := value(s.read(in))
	none := exir.Arg{}
	args := []exir.Arg{now, dtype(out.Spec.DType), none, none, none, {Kind: exir.ArgBool}, f}
	s.fresh(out)
	if f.Kind == exir.ArgNone {
		s.emitTo([]*exir.Value{out}, "aten::_to_copy", args...)
	} else {
		s.formatted(out, "aten::_to_copy", args...)
	}
	return nil
}

// dropout in eval mode gives its argument.
func dropout(s *state, n *exir.Node) error {
	switch {
	case argOf(n, "train").Int == 0 || argOf(n, "p").Float == 0:
		s.alias(n.Outs[0], n.Args[0].Value)
		return nil
	case n.Op.Kind == "inplace":
		return s.inplace(n)
	}
	args := append([]exir.Arg{value(s.read(n.Args[0].Value))}, n.Args[1:]...)
	s.fresh(n.Outs[0])
	s.emitTo(n.Outs, n.Op.Name, args...)
	return nil
}

// inlined puts the nodes of the sub-graph of n in n's place.
func inlined(s *state, n *exir.Node) error {
	defer func(outer tensor.ScalarType) { s.region = outer }(s.region)
	if n.Op.Base() == "wrap_with_autocast" && n.Args[0].Str == "cpu" {
		s.region = tensor.Undefined
		if n.Args[2].Int != 0 {
			s.region = tensor.ScalarType(n.Args[1].Int)
		}
	}
	g, operands := subgraphOf(n)
	if g == nil || len(g.Inputs) > len(operands) {
		return fmt.Errorf("inline sub-graph: its arguments are not as expected")
	}
	for i, v := range g.Inputs {
		if v != nil && v.Kind == exir.TensorValue && operands[i].Kind == exir.ArgValue {
			s.alias(v, operands[i].Value)
		}
	}
	symbols := map[*exir.Value]exir.Arg{}
	for i, v := range g.Inputs {
		if v != nil && v.Kind != exir.TensorValue {
			symbols[v] = operands[i]
		}
	}
	replaceSymbols(g, symbols)
	if err := s.body(g); err != nil {
		return err
	}
	return s.bindResults(n, g)
}

// subgraphOf is the graph among n's arguments and what follows it, flattened.
func subgraphOf(n *exir.Node) (*exir.Graph, []exir.Arg) {
	for i, a := range n.Args {
		if a.Kind == exir.ArgGraph {
			return a.Graph, flatten(nil, n.Args[i+1:])
		}
	}
	return nil, nil
}

func flatten(dst, args []exir.Arg) []exir.Arg {
	for _, a := range args {
		switch a.Kind {
		case exir.ArgList:
			dst = flatten(dst, a.List)
		case exir.ArgString, exir.ArgGraph:
		default:
			dst = append(dst, a)
		}
	}
	return dst
}

// replaceSymbols puts the operands in the place of symbolic numbers among g's inputs.
func replaceSymbols(g *exir.Graph, with map[*exir.Value]exir.Arg) {
	if len(with) == 0 {
		return
	}
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i] = replaced(n.Args[i], with)
		}
	}
}

func replaced(a exir.Arg, with map[*exir.Value]exir.Arg) exir.Arg {
	if b, ok := with[a.Value]; ok && a.Kind == exir.ArgValue {
		return b
	}
	if a.Kind == exir.ArgList {
		list := make([]exir.Arg, len(a.List))
		for i := range list {
			list[i] = replaced(a.List[i], with)
		}
		a.List = list
	}
	return a
}

func (s *state) bindResults(n *exir.Node, g *exir.Graph) error {
	results := flatten(nil, g.Outputs)
	for i, out := range n.Outs {
		if out == nil {
			continue
		}
		if i >= len(results) || results[i].Kind != exir.ArgValue || out.Kind != exir.TensorValue {
			return fmt.Errorf("inline sub-graph: result %d is not a tensor", i)
		}
		s.alias(out, results[i].Value)
	}
	return nil
}
