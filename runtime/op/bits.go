package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of operators that take elements apart.
var (
	FrexpTensor = Def{
		Schema: "aten::frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> " +
			"(Tensor(a!) mantissa, Tensor(b!) exponent)",
		Functional: "aten::frexp.Tensor", Infer: inferFrexp, Tags: Extension,
	}
	ViewCopyDtype = Def{
		Schema:     "aten::view_copy.dtype_out(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::view_copy.dtype", Infer: inferViewDtype, Tags: Extension,
	}
)

var errViewDtype = errors.New("view as another type: the last dimension does not fit its size")

func inferFrexp(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	c.Set(0, self.DType, self.Sizes...)
	c.Set(1, tensor.Int, self.Sizes...)
	return nil
}

// runFrexp splits elements into a fraction of [½, 1) and a power of two; 0, infinities and NaN have exponent 0.
func runFrexp[T float](c *Call, _ State) error {
	x, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	fractions, exponents := elems[T](c.Out[0]), elems[int32](c.Out[1])
	for i, v := range x {
		f, e := math.Frexp(float64(v))
		fractions[i], exponents[i] = T(f), int32(e)
	}
	return nil
}

// inferViewDtype reads the bytes of argument 0 as another type: the last dimension grows or shrinks with the element.
func inferViewDtype(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	dtype := tensor.ScalarType(c.Args[1].Int)
	from, to, last := int64(self.DType.Size()), int64(dtype.Size()), self.Rank()-1
	if to <= 0 || from != to && last < 0 {
		return errViewDtype
	}
	c.Set(0, dtype, self.Sizes...)
	if from == to {
		setOrder(&c.Out[0], self.DimOrder)
		return nil
	}
	n := c.Shapes.Mul(self.Sizes[last], from)
	if c.Shapes.Equal(c.Shapes.Mod(n, to), 0) == tensor.No {
		return errViewDtype
	}
	c.Out[0].Sizes[last] = c.Shapes.FloorDiv(n, to)
	return nil
}

func runViewDtype[T word](c *Call, _ State) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	if in.DType.Size() == out.DType.Size() {
		tensor.Copy(out.Data, in.Data) // both have the order of in
		return nil
	}
	x, err := contiguousOf[T](c, in)
	if err != nil {
		return err
	}
	copy(out.Data, bytesOf(x))
	return nil
}
