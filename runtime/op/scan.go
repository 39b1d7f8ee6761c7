package op

import (
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// scan computes the rows along dimension argument 1 of Out[0] from those of argument 0.
func scan[T, U any](c *Call, f func(o []U, x []T)) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	dim, err := WrapDim(c.Args[1].Int, len(in.Sizes))
	if err != nil {
		return err
	}
	src, err := rowReducer[T](c, in, 1<<dim, &in.Meta)
	if err != nil {
		return err
	}
	dst, err := rowReducer[U](c, out, 1<<dim, &out.Meta)
	if err != nil {
		return err
	}
	for i := range src.outs {
		row := dst.row(i)
		f(row, src.row(i))
		if dst.gathers {
			dst.move(row, true)
		}
	}
	return nil
}

// cumsum is the sum so far, in float64 or int64.
func cumsum[T number](c *Call) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	if in.DType != out.DType || !in.Contiguous() || !out.Contiguous() || !isFloat32[T]() && unsafe.Sizeof(T(0)) != 8 {
		return scanTo[T](c, cumsumRow[float64], cumsumRow[int64])
	}
	dim, err := WrapDim(c.Args[1].Int, len(in.Sizes))
	if err != nil {
		return err
	}
	if isFloat[T]() {
		return cumsumLines[T, float64](c, dim)
	}
	return cumsumLines[T, int64](c, dim)
}

// cumsumLines sums along dimension dim of contiguous tensors, lines of what lies inside of it at a time.
func cumsumLines[T number, A int64 | float64](c *Call, dim int) error {
	n := int(sizeAt(&c.Args[0].Tensor.Meta, dim))
	outer, inner := outerInner(&c.Args[0].Tensor.Meta, dim)
	x, o := elems[T](c.Args[0].Tensor), elems[T](c.Out[0])
	acc, err := tempOf[A](c, inner)
	if err != nil {
		return err
	}
	for range outer {
		if inner == 1 {
			cumsumWide[T, A](o[:n], x[:n])
			x, o = x[n:], o[n:]
			continue
		}
		clear(acc)
		for range n {
			cumsumLine(o[:inner], acc, x[:inner])
			x, o = x[inner:], o[inner:]
		}
	}
	return nil
}

// cumsumWide is cumsumRow with a wider sum.
func cumsumWide[T number, A int64 | float64](o, x []T) {
	s := A(0)
	for i, v := range x {
		s += A(v)
		o[i] = T(s)
	}
}

func cumsumLine[T number, A int64 | float64](o []T, acc []A, x []T) {
	acc, o = acc[:len(x)], o[:len(x)]
	for i, v := range x {
		s := acc[i] + A(v)
		acc[i] = s
		o[i] = T(s)
	}
}

// scanTo is scan in the type of Out[0]: argument 0 is converted to it first.
func scanTo[T number](c *Call, asFloat func(o, x []float64), asInt func(o, x []int64)) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	n := out.Numel()
	data, err := c.Alloc(8 * n)
	if err != nil {
		return err
	}
	work := tensor.Long
	if out.DType.IsFloat() {
		work = tensor.Double
	}
	wide := tensor.Tensor{Meta: tensor.Meta{DType: work, Sizes: out.Sizes, DimOrder: out.DimOrder}, Data: data}
	if err := Convert(c, &wide, in); err != nil {
		return err
	}
	if err := scanInPlace(c, &wide, asFloat, asInt); err != nil {
		return err
	}
	CastBytes(out.Data, out.DType, data, work, n)
	return nil
}

func scanInPlace(c *Call, t *tensor.Tensor, asFloat func(o, x []float64), asInt func(o, x []int64)) error {
	dim, err := WrapDim(c.Args[1].Int, len(t.Sizes))
	if err != nil {
		return err
	}
	if t.DType == tensor.Double {
		return rowsInPlace(c, t, dim, asFloat)
	}
	return rowsInPlace(c, t, dim, asInt)
}

func rowsInPlace[T any](c *Call, t *tensor.Tensor, dim int, f func(o, x []T)) error {
	r, err := rowReducer[T](c, t, 1<<dim, &t.Meta)
	if err != nil {
		return err
	}
	for i := range r.outs {
		row := r.row(i)
		f(row, row)
		if r.gathers {
			r.move(row, true)
		}
	}
	return nil
}

func cumsumRow[T number](o, x []T) {
	s := T(0)
	for i, v := range x {
		s += v
		o[i] = s
	}
}

func cumprodRow[T number](o, x []T) {
	p := T(1)
	for i, v := range x {
		p *= v
		o[i] = p
	}
}

func inferCumsum(c *Infer) error { return inferLikeAs(c, sumType(c, 2)) }

// sumType is the type in argument i, or else that of argument 0 with integers as Long.
func sumType(c *Infer, i int) tensor.ScalarType {
	if i < len(c.Args) && c.Args[i].Kind != None {
		return tensor.ScalarType(c.Args[i].Int)
	}
	if t := firstType(c.Args); !t.IsIntegral(true) {
		return t
	}
	return tensor.Long
}

// inferReduce sets out i to argument 0 reduced over argument 1 (all if absent); keep is the flag's place.
func inferReduce(c *Infer, i, keep int, dtype tensor.ScalarType) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	mask := uint32(math.MaxUint32)
	if keep >= 0 {
		if mask, err = maskOf(c.Args, len(t.Sizes)); err != nil {
			return err
		}
	}
	reduceMeta(&c.Out[i], &t.Meta, mask, keep >= 0 && c.Args[keep].Int != 0, dtype)
	return nil
}

// meanType is the type in argument i, or that of argument 0.
func meanType(c *Infer, i int) tensor.ScalarType {
	if c.Args[i].Kind != None {
		return tensor.ScalarType(c.Args[i].Int)
	}
	return firstType(c.Args)
}

func inferSum(c *Infer) error     { return inferReduce(c, 0, 2, sumType(c, 3)) }
func inferSumAll(c *Infer) error  { return inferReduce(c, 0, -1, sumType(c, 1)) }
func inferMean(c *Infer) error    { return inferReduce(c, 0, 2, meanType(c, 3)) }
func inferMeanAll(c *Infer) error { return inferReduce(c, 0, -1, meanType(c, 1)) }
func inferAmax(c *Infer) error    { return inferReduce(c, 0, 2, firstType(c.Args)) }
func inferMaxAll(c *Infer) error  { return inferReduce(c, 0, -1, firstType(c.Args)) }
func inferAny(c *Infer) error     { return inferReduce(c, 0, 2, boolOrByte(c)) }
func inferAnyAll(c *Infer) error  { return inferReduce(c, 0, -1, boolOrByte(c)) }
func inferArgmax(c *Infer) error  { return inferReduce(c, 0, 2, tensor.Long) }

// boolOrByte: any and all of uint8 are uint8 in PyTorch.
func boolOrByte(c *Infer) tensor.ScalarType {
	if firstType(c.Args) == tensor.Byte {
		return tensor.Byte
	}
	return tensor.Bool
}

func inferMaxDim(c *Infer) error {
	if err := inferReduce(c, 0, 2, firstType(c.Args)); err != nil {
		return err
	}
	return inferReduce(c, 1, 2, tensor.Long)
}

func inferVar(c *Infer) error {
	for i := range c.Out {
		if err := inferReduce(c, i, 3, firstType(c.Args)); err != nil {
			return err
		}
	}
	return nil
}
