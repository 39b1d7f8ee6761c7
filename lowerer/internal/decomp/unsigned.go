package decomp

import (
	"slices"
	"sync"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// kernels are those that there are.
var kernels = sync.OnceValue(func() *op.Table { return op.TableOf(op.Kernels) })

// sameBits are the operators whose results have the same bits for int64 as for uint64. The others divide, or ask which of
// two numbers is larger. No result has the bits of a floating-point number, which int64 and uint64 make differently.
var sameBits = []string{
	"aten::eq.Tensor", "aten::eq.Scalar", "aten::ne.Tensor", "aten::ne.Scalar", "aten::mul.Tensor", "aten::mul.Scalar",
	"aten::bitwise_and.Tensor", "aten::bitwise_and.Scalar", "aten::bitwise_or.Tensor", "aten::bitwise_or.Scalar",
	"aten::bitwise_xor.Tensor", "aten::bitwise_xor.Scalar", "aten::logical_not", "aten::any", "aten::any.dim", "aten::any.dims",
	"aten::sum.dim_IntList", "aten::prod", "aten::prod.dim_int", "aten::cumsum", "aten::cumprod",
	"aten::ceil", "aten::floor", "aten::trunc", "aten::round", "aten::where.self",
}

// widens reports whether the call of an operator that has a row wants uint16, uint32 or uint64, for which the row has no
// kernel, and can be computed in int64.
func (r *rewriter) widens(s *exir.Schema, args []exir.Arg) bool {
	if !slices.ContainsFunc(args, func(a exir.Arg) bool { return holds(&a, isUnsigned) }) {
		return false
	}
	if slices.ContainsFunc(args, func(a exir.Arg) bool { return holds(&a, isUnsigned64) }) && !r.keepsBits(s, args) {
		return false
	}
	wide := slices.Clone(args)
	for i := range wide {
		wide[i] = convert(wide[i], func(v *exir.Value) *exir.Value {
			w := *v
			w.Spec.DType = tensor.Long
			return &w
		})
	}
	return !r.hasKernel(s, args) && r.hasKernel(s, wide)
}

// keepsBits reports whether a call with uint64 gives the same in int64: such an operator, of integers alone.
func (r *rewriter) keepsBits(s *exir.Schema, args []exir.Arg) bool {
	float := func(a exir.Arg) bool { return a.Kind == exir.ArgFloat || holds(&a, tensor.ScalarType.IsFloat) }
	metas, err := exir.Infer(r.d.program.Shapes, s, args)
	return err == nil && slices.Contains(sameBits, s.Name) && !slices.ContainsFunc(args, float) &&
		!slices.ContainsFunc(metas, func(m tensor.Meta) bool { return m.DType.IsFloat() })
}

func isUnsigned(t tensor.ScalarType) bool {
	return t == tensor.UInt16 || t == tensor.UInt32 || t == tensor.UInt64
}

func isUnsigned64(t tensor.ScalarType) bool { return t == tensor.UInt64 }

// holds reports whether a is, or a list has, a tensor of such a type.
func holds(a *exir.Arg, is func(tensor.ScalarType) bool) bool {
	if a.Kind == exir.ArgList {
		return slices.ContainsFunc(a.List, func(a exir.Arg) bool { return holds(&a, is) })
	}
	return a.Kind == exir.ArgValue && a.Value.Kind == exir.TensorValue && is(a.Value.Spec.DType)
}

// convert is a with f of its tensors of unsigned types.
func convert(a exir.Arg, f func(*exir.Value) *exir.Value) exir.Arg {
	switch {
	case a.Kind == exir.ArgList:
		list := make([]exir.Arg, len(a.List))
		for i := range list {
			list[i] = convert(a.List[i], f)
		}
		a.List = list
	case holds(&a, isUnsigned):
		a.Value = f(a.Value)
	}
	return a
}

// hasKernel reports whether a kernel takes the call.
func (r *rewriter) hasKernel(s *exir.Schema, args []exir.Arg) bool {
	row := exir.LookupRow(s.Name)
	metas, err := exir.Infer(r.d.program.Shapes, s, args)
	if err != nil {
		return false
	}
	picked, err := row.OutArgs(s, args)
	if err != nil {
		return false
	}
	values := make([]op.Value, len(picked))
	for i := range picked {
		values[i] = exir.ToValue(&picked[i])
	}
	return kernels().Lookup(row.Out.Name, op.KeyOf(row.Def, values, metas)) != nil
}

// widened is the call in int64, with results of the types that it has without that.
func (c *call) widened() []*exir.Value {
	metas, err := exir.Infer(c.shapes(), c.s, c.args)
	if err != nil {
		failf("%w", err)
	}
	args := slices.Clone(c.args)
	for i := range args {
		args[i] = convert(args[i], func(v *exir.Value) *exir.Value { return c.to(v, tensor.Long) })
	}
	outs := slices.Clone(c.b.CallSchema(c.s, args)) // the node keeps its own
	for i := range min(len(outs), len(metas)) {
		outs[i] = c.to(outs[i], metas[i].DType)
	}
	return outs
}
