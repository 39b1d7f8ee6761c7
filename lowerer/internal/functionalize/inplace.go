package functionalize

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// inplace rewrites an operator that writes to its first argument.
func (s *state) inplace(n *exir.Node) error {
	fn, args, err := functional(n)
	if err != nil {
		return err
	}
	for i := range args {
		args[i] = s.arg(args[i])
	}
	want := *self(n)
	spec := want
	spec.DType = resultType(fn, args, want.DType)
	return s.rebind(n, s.cast(s.emit(fn.Name, spec, args...), want.DType))
}

// rebind writes val to the first argument of n, whose other name n's result is.
func (s *state) rebind(n *exir.Node, val *exir.Value) error {
	to := n.Args[0].Value
	if err := s.write(to, val); err != nil {
		return err
	}
	for _, out := range n.Outs {
		if out != nil {
			s.alias(out, to)
		}
	}
	return nil
}

// irregular are in-place operators whose functional form has another name.
var irregular = map[string]string{
	"aten::floor_divide_.Tensor": "aten::floor_divide", "aten::normal_": "aten::normal_functional",
	"aten::pow_.Scalar": "aten::pow.Tensor_Scalar", "aten::pow_.Tensor": "aten::pow.Tensor_Tensor",
	"aten::float_power_.Scalar": "aten::float_power.Tensor_Scalar", "aten::float_power_.Tensor": "aten::float_power.Tensor_Tensor",
	"aten::ldexp_": "aten::ldexp.Tensor", "aten::bernoulli_.float": "aten::bernoulli.p",
	"aten::_index_put_impl_": "aten::index_put",
	"aten::__iand__.Tensor":  "aten::bitwise_and.Tensor", "aten::__iand__.Scalar": "aten::bitwise_and.Scalar",
	"aten::__ior__.Tensor": "aten::bitwise_or.Tensor", "aten::__ior__.Scalar": "aten::bitwise_or.Scalar",
	"aten::__ixor__.Tensor": "aten::bitwise_xor.Tensor", "aten::__ixor__.Scalar": "aten::bitwise_xor.Scalar",
	"aten::__ilshift__.Tensor": "aten::__lshift__.Tensor", "aten::__ilshift__.Scalar": "aten::__lshift__.Scalar",
	"aten::__irshift__.Tensor": "aten::__rshift__.Tensor", "aten::__irshift__.Scalar": "aten::__rshift__.Scalar",
}

// functional is the operator that computes what n writes, and its arguments.
func functional(n *exir.Node) (*exir.Schema, []exir.Arg, error) {
	name, ok := irregular[n.Op.Name]
	if !ok {
		base := n.Op.Base()
		name = strings.Replace(n.Op.Name, "::"+base, "::"+strings.TrimSuffix(base, "_"), 1)
	}
	fn := exir.LookupSchema(name)
	if fn == nil {
		return nil, nil, fmt.Errorf("rewrite write: %s has no functional form", n.Op.Name)
	}
	args := make([]exir.Arg, len(fn.Args))
	for i, p := range fn.Args {
		j := n.Op.Arg(p.Name)
		if j < 0 && i == 0 {
			j = 0 // dropouts call "input" what they call "self" where they write to it
		}
		switch {
		case j >= 0:
			args[i] = n.Args[j]
		case p.HasDefault:
			args[i] = p.Default
		default:
			return nil, nil, fmt.Errorf("rewrite write: %s lacks argument %s of %s", n.Op.Name, p.Name, name)
		}
	}
	return fn, args, nil
}

// resultType is the type of a pointwise fn's result; self is that of any other.
func resultType(fn *exir.Schema, args []exir.Arg, self tensor.ScalarType) tensor.ScalarType {
	if !strings.Contains(fn.Tags, "pointwise") {
		return self
	}
	switch fn.Base() {
	case "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not":
		return tensor.Bool
	case "masked_fill", "copy", "lerp", "index_put":
		return self
	}
	return promoted(args)
}

// promoted is torch.result_type of the tensors among args; numbers never widen what is written in place.
func promoted(args []exir.Arg) tensor.ScalarType {
	dim, zero := tensor.Undefined, tensor.Undefined
	for _, a := range args {
		switch {
		case a.Kind != exir.ArgValue || a.Value.Kind != exir.TensorValue:
		case a.Value.Spec.Rank() == 0:
			zero = op.Promote(zero, a.Value.Spec.DType)
		default:
			dim = op.Promote(dim, a.Value.Spec.DType)
		}
	}
	if dim == tensor.Undefined || category(zero) > category(dim) {
		return op.Promote(dim, zero)
	}
	return dim
}

func category(t tensor.ScalarType) int {
	switch {
	case t == tensor.Undefined:
		return -1
	case t == tensor.Bool:
		return 0
	case t.IsFloat():
		return 2
	}
	return 1
}

// cast is v in type t.
func (s *state) cast(v *exir.Value, t tensor.ScalarType) *exir.Value {
	if v.Spec.DType == t {
		return v
	}
	return s.emit("aten::_to_copy", tensor.Meta{DType: t, Sizes: v.Spec.Sizes}, value(v), dtype(t))
}

// fit is v in the type and the sizes of like.
func (s *state) fit(v *exir.Value, like *tensor.Meta) *exir.Value {
	v = s.cast(v, like.DType)
	if s.sameSizes(v.Spec.Sizes, like.Sizes) {
		return v
	}
	return s.emit("aten::expand_copy", *like, value(v), expandSizes(s, v.Spec.Sizes, like.Sizes))
}

// copyInto rewrites copy_ and fill_.Tensor, whose second argument is the source.
func copyInto(s *state, n *exir.Node) error {
	src := s.read(n.Args[1].Value)
	if src == s.read(n.Args[0].Value) {
		s.alias(n.Outs[0], n.Args[0].Value)
		return nil
	}
	return s.rebind(n, s.fit(src, self(n)))
}

// fillDiagonal rewrites fill_diagonal_ of a matrix; one that is taller than wide must not wrap around.
func fillDiagonal(s *state, n *exir.Node) error {
	spec := *self(n)
	if spec.Rank() != 2 || argOf(n, "wrap").Int != 0 && s.shapes.Less(spec.Sizes[1], spec.Sizes[0]) != tensor.No {
		return fmt.Errorf("rewrite write: fill_diagonal_ takes a matrix here, without wrap; write torch.where with an index comparison")
	}
	now := value(s.read(n.Args[0].Value))
	at := []exir.Arg{integer(0), integer(0), integer(1)}
	like := tensor.Meta{DType: spec.DType, Sizes: []tensor.Dim{s.shapes.Min(spec.Sizes[0], spec.Sizes[1])}}
	diagonal := s.emit("aten::diagonal_copy", like, append([]exir.Arg{now}, at...)...)
	filled := s.emit("aten::full_like", like, value(diagonal), argOf(n, "fill_value"))
	return s.rebind(n, s.emit("aten::diagonal_scatter", spec, append([]exir.Arg{now, value(filled)}, at...)...))
}

// fillWith rewrites fill_.Scalar and zero_.
func fillWith(s *state, n *exir.Node) error {
	number := integer(0)
	if len(n.Args) > 1 {
		number = n.Args[1]
	}
	v := s.emit("aten::full_like", *self(n), value(s.read(n.Args[0].Value)), number)
	return s.rebind(n, v)
}
