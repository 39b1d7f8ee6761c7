package executor

import (
	"errors"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// primFunc runs an operator on numbers and shapes that every program may use; args are as the
// instruction lists them, results last.
type primFunc func(m *Method, args []*op.Value) error

const (
	prim       = "executorch_prim::"
	etViewName = prim + "et_view.default"
	etCopyName = prim + "et_copy_index.tensor"
)

var errPrimArgs = errors.New("arguments of the wrong kind")

// primOp is the built-in operator of this name with its number of arguments, or nil.
func primOp(name string) (primFunc, int) {
	switch name {
	case "aten::sym_size.int":
		return symSize, 3
	case "aten::sym_numel":
		return symNumel, 2
	case "aten::_local_scalar_dense":
		return localScalar, 2
	case etViewName:
		return etView, 3
	case etCopyName:
		return etCopyIndex, 3
	case prim + "sym_ite.Scalar":
		return symIte, 4
	case prim + "floordiv.int":
		return integers(func(a, b int64) int64 { return a / b }), 3
	case prim + "mod.int":
		return integers(func(a, b int64) int64 { return a % b }), 3
	}
	if f := primBinary(name); f != nil {
		return f, 3
	}
	if f := primUnary(name); f != nil {
		return f, 2
	}
	return nil, 0
}

func primBinary(name string) primFunc {
	switch name {
	case prim + "add.Scalar":
		return arith(func(a, b int64) int64 { return a + b }, func(a, b float64) float64 { return a + b })
	case prim + "sub.Scalar":
		return arith(func(a, b int64) int64 { return a - b }, func(a, b float64) float64 { return a - b })
	case prim + "mul.Scalar":
		return arith(func(a, b int64) int64 { return a * b }, func(a, b float64) float64 { return a * b })
	case prim + "floordiv.Scalar":
		return arith(floorDiv, func(a, b float64) float64 { return math.Floor(a / b) })
	case prim + "mod.Scalar":
		return arith(floorMod, func(a, b float64) float64 { return a - float64(b*math.Floor(a/b)) })
	case prim + "truediv.Scalar":
		return trueDiv
	case prim + "sym_max.Scalar":
		return arith(func(a, b int64) int64 { return max(a, b) }, func(a, b float64) float64 { return max(a, b) })
	case prim + "sym_min.Scalar":
		return arith(func(a, b int64) int64 { return min(a, b) }, func(a, b float64) float64 { return min(a, b) })
	case prim + "eq.Scalar":
		return compare(func(c int) bool { return c == 0 })
	case prim + "gt.Scalar":
		return compare(func(c int) bool { return c == 1 })
	case prim + "lt.Scalar":
		return compare(func(c int) bool { return c == -1 })
	case prim + "ge.Scalar":
		return compare(func(c int) bool { return c == 0 || c == 1 })
	case prim + "le.Scalar":
		return compare(func(c int) bool { return c == 0 || c == -1 })
	}
	return nil
}

func primUnary(name string) primFunc {
	switch name {
	case prim + "neg.Scalar":
		return func(_ *Method, a []*op.Value) error {
			if a[0].Kind == op.Float {
				setFloat(a[1], -a[0].Float)
			} else {
				setInt(a[1], -a[0].Int)
			}
			return nil
		}
	case prim + "sym_float.Scalar":
		return func(_ *Method, a []*op.Value) error { setFloat(a[1], a[0].Scalar()); return nil }
	case prim + "sym_int.Scalar", prim + "trunc.Scalar":
		return rounding(math.Trunc)
	case prim + "ceil.Scalar":
		return rounding(math.Ceil)
	case prim + "round.Scalar":
		return rounding(math.RoundToEven)
	case prim + "sym_not.Scalar":
		return func(_ *Method, a []*op.Value) error { setBool(a[1], a[0].Int == 0); return nil }
	}
	return nil
}

func setInt(v *op.Value, n int64) { v.Kind, v.Int = op.Int, n }

func setFloat(v *op.Value, f float64) { v.Kind, v.Float = op.Float, f }

func setBool(v *op.Value, b bool) {
	v.Kind, v.Int = op.Bool, 0
	if b {
		v.Int = 1
	}
}

func isNumber(v *op.Value) bool { return v.Kind == op.Int || v.Kind == op.Float || v.Kind == op.Bool }

func floorDiv(a, b int64) int64 { return (*tensor.Shapes)(nil).FloorDiv(a, b) }

func floorMod(a, b int64) int64 { return a - b*floorDiv(a, b) }

func integers(f func(a, b int64) int64) primFunc {
	return func(_ *Method, a []*op.Value) error {
		if a[0].Kind != op.Int || a[1].Kind != op.Int || a[1].Int == 0 {
			return errPrimArgs
		}
		setInt(a[2], f(a[0].Int, a[1].Int))
		return nil
	}
}

func arith(ints func(a, b int64) int64, floats func(a, b float64) float64) primFunc {
	return func(_ *Method, a []*op.Value) error {
		if !isNumber(a[0]) || !isNumber(a[1]) {
			return errPrimArgs
		}
		if a[0].Kind == op.Float || a[1].Kind == op.Float {
			setFloat(a[2], floats(a[0].Scalar(), a[1].Scalar()))
			return nil
		}
		setInt(a[2], ints(a[0].Int, a[1].Int))
		return nil
	}
}

func trueDiv(_ *Method, a []*op.Value) error {
	if !isNumber(a[0]) || !isNumber(a[1]) {
		return errPrimArgs
	}
	setFloat(a[2], a[0].Scalar()/a[1].Scalar())
	return nil
}

// compare hands f the sign of a-b, or 2 where they are not ordered.
func compare(f func(c int) bool) primFunc {
	return func(_ *Method, a []*op.Value) error {
		if !isNumber(a[0]) || !isNumber(a[1]) {
			return errPrimArgs
		}
		c := 2
		if a[0].Kind != op.Float && a[1].Kind != op.Float {
			c = order(a[0].Int, a[1].Int)
		} else {
			c = order(a[0].Scalar(), a[1].Scalar())
		}
		setBool(a[2], f(c))
		return nil
	}
}

func order[T int64 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return 2
}

func rounding(f func(float64) float64) primFunc {
	return func(_ *Method, a []*op.Value) error {
		switch a[0].Kind {
		case op.Float:
			setInt(a[1], int64(f(a[0].Float)))
		case op.Int, op.Bool:
			setInt(a[1], a[0].Int)
		default:
			return errPrimArgs
		}
		return nil
	}
}

func symSize(_ *Method, a []*op.Value) error {
	if a[0].Kind != op.Tensor || a[1].Kind != op.Int {
		return errPrimArgs
	}
	dim, err := op.WrapDim(a[1].Int, len(a[0].Tensor.Sizes))
	if err != nil {
		return err
	}
	setInt(a[2], a[0].Tensor.Sizes[dim])
	return nil
}

func symNumel(_ *Method, a []*op.Value) error {
	if a[0].Kind != op.Tensor {
		return errPrimArgs
	}
	setInt(a[1], int64(a[0].Tensor.Numel()))
	return nil
}

func symIte(_ *Method, a []*op.Value) error {
	if a[0].Kind != op.Bool || !isNumber(a[1]) || !isNumber(a[2]) {
		return errPrimArgs
	}
	from := a[2]
	if a[0].Int != 0 {
		from = a[1]
	}
	*a[3] = *from
	return nil
}

// localScalar reads the number in a tensor of one element.
func localScalar(m *Method, a []*op.Value) error {
	if a[0].Kind != op.Tensor || a[0].Tensor.Numel() < 1 {
		return errPrimArgs
	}
	t, b := a[0].Tensor, m.number[:]
	if t.DType.IsFloat() {
		op.CastBytes(b, tensor.Double, t.Data, t.DType, 1)
		setFloat(a[1], math.Float64frombits(uint64At(b)))
		return nil
	}
	op.CastBytes(b, tensor.Long, t.Data, t.DType, 1)
	n := int64(uint64At(b))
	if t.DType == tensor.Bool {
		setBool(a[1], n != 0)
	} else {
		setInt(a[1], n)
	}
	return nil
}

func uint64At(b []byte) uint64 {
	var x uint64
	for i := range 8 {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}

// etView makes args[2] a view of args[0] with the sizes args[1], of which one may be -1.
func etView(m *Method, a []*op.Value) error {
	if a[0].Kind != op.Tensor || a[1].Kind != op.Ints || a[2].Kind != op.Tensor {
		return errPrimArgs
	}
	self, out := a[0].Tensor, a[2].Tensor
	if self.DType != out.DType || len(a[1].Ints) != len(out.Sizes) {
		return errors.New("view of another type or rank")
	}
	var buf [tensor.MaxRank]tensor.Dim
	view := tensor.Meta{DType: out.DType, Sizes: append(buf[:0], a[1].Ints...)}
	fillHole(&view, self.Numel())
	n, ok := view.BoundedBytes(math.MaxInt)
	if !ok || int(n) != self.Nbytes() || m.staticResult() && !slices.Equal(view.Sizes, out.Sizes) {
		return errors.New("view " + op.SizesText(a[1].Ints) + " of a tensor of sizes " + op.SizesText(self.Sizes) + " as one of sizes " + op.SizesText(out.Sizes))
	}
	if !slices.Equal(out.Sizes, view.Sizes) {
		copy(out.Sizes, view.Sizes)
		m.resizes++
	}
	out.Data = self.Data
	return nil
}

// fillHole replaces the -1 in the sizes of a view of n elements, if there is one.
func fillHole(view *tensor.Meta, n int) {
	hole := slices.Index(view.Sizes, -1)
	if hole < 0 {
		return
	}
	view.Sizes[hole] = 1
	if rest, ok := view.BoundedBytes(math.MaxInt); ok && rest > 0 {
		view.Sizes[hole] = int64(n) * int64(view.DType.Size()) / rest
	}
}

// staticResult reports whether the last argument of the step that runs is a static tensor.
func (m *Method) staticResult() bool {
	args := m.m.steps[m.pc].args
	return m.m.static(args[len(args)-1])
}

// etCopyIndex copies args[1] to index args[2] of args[0], which grows to index+1 and keeps what lies before it.
func etCopyIndex(m *Method, a []*op.Value) error {
	if a[0].Kind != op.Tensor || a[1].Kind != op.Tensor || a[2].Kind != op.Int {
		return errPrimArgs
	}
	dst, src, i := a[0].Tensor, a[1].Tensor, a[2].Int
	if len(dst.Sizes) != len(src.Sizes)+1 || dst.DType != src.DType || i < 0 || i == math.MaxInt64 || m.m.static(m.m.steps[m.pc].args[0]) {
		return errPrimArgs
	}
	var sizes [tensor.MaxRank + 1]tensor.Dim
	sizes[0] = i + 1
	copy(sizes[1:], src.Sizes)
	n, held := src.Nbytes(), dst.Data
	if err := m.env.Resize(dst, sizes[:len(dst.Sizes)], m.growLoop); err != nil {
		return err
	}
	if i > 0 && n > 0 && len(held) > 0 && &held[0] != &dst.Data[0] {
		copy(dst.Data, held)
	}
	copy(dst.Data[int(i)*n:], src.Data[:n])
	return nil
}

// growLoop is growOwned for a tensor that a loop fills: with room for as much again, so that not every turn moves it.
func (m *Method) growLoop(t *tensor.Tensor, n int) error {
	if err := m.growOwned(t, n+cap(t.Data)); err != nil {
		return m.growOwned(t, n)
	}
	t.Data = t.Data[:n]
	return nil
}
