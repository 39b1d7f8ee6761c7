package decomp

import (
	"fmt"
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// call is the call of a composite operator, and what replaces it is built with.
type call struct {
	b    *exir.Builder
	s    *exir.Schema
	args []exir.Arg
	// outs are the results in the exported program; nil for a call that a rule made.
	outs []*exir.Value
}

// failure is what a rule panics with; expand turns it into an error.
type failure struct{ err error }

func failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// op calls an ATen operator, named without "aten::", for its first result.
func (c *call) op(name string, args ...any) *exir.Value { return c.ops(name, args...)[0] }

// ops calls an ATen operator for all its results.
func (c *call) ops(name string, args ...any) []*exir.Value {
	outs := c.b.Call(qualified(name), args...)
	if c.b.Err != nil {
		panic(failure{c.b.Err})
	}
	return outs
}

func one(v *exir.Value) []*exir.Value { return []*exir.Value{v} }

func (c *call) arg(name string) exir.Arg {
	i := c.s.Arg(name)
	if i < 0 {
		failf("%s has no argument %s", c.s.Name, name)
	}
	if i >= len(c.args) {
		return exir.Arg{}
	}
	return c.args[i]
}

// has reports an argument that is not None.
func (c *call) has(name string) bool { return c.arg(name).Kind != exir.ArgNone }

// t is the tensor argument called name; nil for None.
func (c *call) t(name string) *exir.Value {
	a := c.arg(name)
	if a.Kind == exir.ArgValue {
		return a.Value
	}
	return nil
}

// tensors are those of a list argument.
func (c *call) tensors(name string) []*exir.Value {
	a := c.arg(name)
	vs := make([]*exir.Value, len(a.List))
	for i, m := range a.List {
		vs[i] = m.Value
	}
	return vs
}

// i is the int argument called name, perhaps symbolic.
func (c *call) i(name string) int64 {
	a := c.arg(name)
	n, _ := a.Dim()
	return n
}

// n is the int argument called name, which must be a plain number.
func (c *call) n(name string) int {
	n := c.i(name)
	if tensor.IsSymbol(n) {
		failf("argument %s must be static", name)
	}
	return int(n)
}

func (c *call) bool(name string) bool { return c.i(name) != 0 }

// f is the float argument called name, which must be a plain number; 0 for None.
func (c *call) f(name string) float64 {
	a := c.arg(name)
	switch {
	case a.Kind == exir.ArgFloat:
		return a.Float
	case a.Kind == exir.ArgValue || tensor.IsSymbol(a.Int):
		failf("argument %s must be a plain number", name)
	}
	return float64(a.Int)
}

// ints is the list of ints called name; nil for None.
func (c *call) ints(name string) []int64 {
	a := c.arg(name)
	if a.Kind != exir.ArgList {
		if n, ok := a.Dim(); ok && a.Kind != exir.ArgNone {
			return []int64{n}
		}
		return nil
	}
	ns := make([]int64, len(a.List))
	for i := range ns {
		ns[i], _ = a.List[i].Dim()
	}
	return ns
}

// spread is the list called name for n dimensions, where one number stands for all.
func (c *call) spread(name string, n int) []int64 {
	ns := c.ints(name)
	if len(ns) == 1 && n != 1 {
		all := make([]int64, n)
		for i := range all {
			all[i] = ns[0]
		}
		return all
	}
	return ns
}

// dtype is the element type called name, or otherwise.
func (c *call) dtype(name string, otherwise tensor.ScalarType) tensor.ScalarType {
	a := c.arg(name)
	if a.Kind == exir.ArgDType || a.Kind == exir.ArgInt {
		return tensor.ScalarType(a.Int)
	}
	return otherwise
}

func (c *call) shapes() *tensor.Shapes { return c.b.Program.Shapes }

func rank(v *exir.Value) int { return len(v.Spec.Sizes) }

// dim counts d from the front.
func dim(d, rank int) int {
	if d < 0 {
		d += max(rank, 1)
	}
	return d
}

// size is the size of v in dimension d, which may count from the back.
func size(v *exir.Value, d int) tensor.Dim {
	d = dim(d, rank(v))
	if d < 0 || d >= rank(v) {
		failf("dimension %d of a tensor of rank %d", d, rank(v))
	}
	return v.Spec.Sizes[d]
}

// fixed is the size of v in dimension d, which must be a plain number.
func fixed(v *exir.Value, d int) int64 {
	n := size(v, d)
	if tensor.IsSymbol(n) {
		failf("dimension %d of a tensor of rank %d must be static", d, rank(v))
	}
	return n
}

// sizes is a copy of the sizes of v.
func sizes(v *exir.Value) []int64 { return append([]int64(nil), v.Spec.Sizes...) }

// view reshapes v; a lone symbolic size is left to be inferred.
func (c *call) view(v *exir.Value, sizes ...int64) *exir.Value {
	if c.same(v.Spec.Sizes, sizes) {
		return v
	}
	lone, others := -1, false
	for i, d := range sizes {
		switch {
		case tensor.IsSymbol(d) && lone < 0:
			lone = i
		case tensor.IsSymbol(d) || d <= 0:
			others = true
		}
	}
	arg := append([]int64(nil), sizes...)
	if lone >= 0 && !others {
		arg[lone] = -1
	}
	return c.op("view_copy", v, arg)
}

// vector is v, or a vector of one element if v has no dimension.
func (c *call) vector(v *exir.Value) *exir.Value {
	if rank(v) > 0 {
		return v
	}
	return c.view(v, 1)
}

// same reports whether a and b are known to be equal.
func (c *call) same(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if c.shapes().Equal(a[i], b[i]) != tensor.Yes {
			return false
		}
	}
	return true
}

// to converts v to t.
func (c *call) to(v *exir.Value, t tensor.ScalarType) *exir.Value {
	if v == nil || v.Spec.DType == t {
		return v
	}
	return c.op("_to_copy", v, exir.KW{Name: "dtype", Arg: t})
}

// expand broadcasts v to sizes.
func (c *call) expand(v *exir.Value, sizes []int64) *exir.Value {
	if c.same(v.Spec.Sizes, sizes) {
		return v
	}
	arg := append([]int64(nil), sizes...)
	for i, d := range v.Spec.Sizes {
		at := len(sizes) - rank(v) + i
		if tensor.IsSymbol(arg[at]) && c.shapes().Equal(d, arg[at]) == tensor.Yes {
			arg[at] = -1
		}
	}
	return c.op("expand_copy", v, arg)
}

// permute reorders the dimensions of v.
func (c *call) permute(v *exir.Value, dims ...int64) *exir.Value {
	for i, d := range dims {
		if int64(i) != d {
			return c.op("permute_copy", v, dims)
		}
	}
	return v
}

// transpose swaps two dimensions of v.
func (c *call) transpose(v *exir.Value, a, b int) *exir.Value {
	dims := iota64(rank(v))
	a, b = dim(a, rank(v)), dim(b, rank(v))
	dims[a], dims[b] = dims[b], dims[a]
	return c.permute(v, dims...)
}

// slice is v from start to end in dimension d.
func (c *call) slice(v *exir.Value, d int, start, end int64) *exir.Value {
	if start == 0 && c.shapes().Equal(end, size(v, d)) == tensor.Yes {
		return v
	}
	return c.op("slice_copy.Tensor", v, d, start, end)
}

func (c *call) unsqueeze(v *exir.Value, d int) *exir.Value { return c.op("unsqueeze_copy", v, d) }

func (c *call) squeeze(v *exir.Value, d int) *exir.Value {
	return c.op("squeeze_copy.dims", v, []int64{int64(d)})
}

func (c *call) mul(a, b *exir.Value) *exir.Value { return c.op("mul.Tensor", a, b) }

func (c *call) add(a, b *exir.Value) *exir.Value { return c.op("add.Tensor", a, b) }

// literal is a constant of these sizes and elements.
func (c *call) literal(hint string, t tensor.ScalarType, sizes []int64, elements []float64) *exir.Value {
	data := make([]byte, 0, len(elements)*t.Size())
	for _, x := range elements {
		if t.IsFloat() {
			data = append(data, exir.EncodeFloat(t, x)...)
		} else {
			data = append(data, exir.EncodeInt(t, int64(x))...)
		}
	}
	return c.b.Literal(hint, tensor.Meta{DType: t, Sizes: sizes}, data)
}

// scalar is a 0-dim constant.
func (c *call) scalar(t tensor.ScalarType, x float64) *exir.Value {
	return c.literal("lifted_scalar", t, nil, []float64{x})
}

// number is a 0-dim tensor of x: int64, perhaps symbolic, float64 or bool.
func (c *call) number(t tensor.ScalarType, x any) *exir.Value {
	n, whole := x.(int64)
	switch {
	case !whole:
		return c.scalar(t, float(x))
	case tensor.IsSymbol(n):
		return c.op("scalar_tensor", n, exir.KW{Name: "dtype", Arg: t})
	}
	return c.b.Literal("lifted_scalar", tensor.Meta{DType: t}, exir.EncodeInt(t, n))
}

func (c *call) arange(n tensor.Dim) *exir.Value {
	return c.op("arange.start_step", 0, n, 1, exir.KW{Name: "dtype", Arg: tensor.Long})
}

func iota64(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}

// limits are the least and the largest finite number of a type.
func limits(t tensor.ScalarType) (lo, hi float64) {
	switch t {
	case tensor.Half:
		hi = 65504
	case tensor.BFloat16:
		hi = 0x1.fep127
	case tensor.Float:
		hi = math.MaxFloat32
	default:
		hi = math.MaxFloat64
	}
	return -hi, hi
}
