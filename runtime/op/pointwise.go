package op

import (
	"errors"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errDivZero = errors.New("divide integers: division by zero")
	errMode    = errors.New("divide: unknown rounding mode")
	errBounds  = errors.New("clamp: wants min or max")
)

// unary runs an operator of one tensor.
func unary[T, U any](c *Call, row rowFunc1[T, U]) error {
	return map1(c, c.Args[0].Tensor, row, par{})
}

// binary runs an operator of two tensors, or of a tensor and a Scalar.
func binary[T number, U any](c *Call, row rowFunc2[T, U]) error { return binaryWith(c, row, &par{}) }

func binaryWith[T number, U any](c *Call, row rowFunc2[T, U], p *par) error {
	a, b := &c.Args[0], &c.Args[1]
	switch {
	case b.Tensor == nil:
		return map2scalar(c, a.Tensor, scalarAs[T](b), row, p)
	case a.Tensor == nil:
		return scalarMap2(c, scalarAs[T](a), b.Tensor, row, p)
	}
	return map2(c, a.Tensor, b.Tensor, row, p)
}

// binaryAlpha is binary with argument 2 as factor of the second (of the first for rsub).
func binaryAlpha[T number](c *Call, row, scaled rowFunc2[T, T]) error {
	alpha := &c.Args[2]
	if alpha.Kind == None || alpha.Scalar() == 1 {
		return binaryWith(c, row, &par{x: 1, i: 1})
	}
	return binaryWith(c, scaled, &par{x: alpha.Scalar(), i: alpha.Int})
}

// parAs is the number x or i of p in T.
func parAs[T number](p par) T {
	if isFloat[T]() {
		return T(p.x)
	}
	return T(p.i)
}

// divideInt is binary with a check of the divisors.
func divideInt[T integer](c *Call, row rowFunc2[T, T]) error {
	if b := &c.Args[1]; b.Tensor == nil {
		if scalarAs[T](b) == 0 {
			return errDivZero
		}
	} else {
		for _, x := range elems[T](b.Tensor) {
			if x == 0 {
				return errDivZero
			}
		}
	}
	return binary(c, row)
}

func divMode[T float](c *Call, exact, floor, trunc rowFunc2[T, T]) error {
	switch c.Args[2].Str {
	case "":
		return binary(c, exact)
	case "floor":
		return binary(c, floor)
	case "trunc":
		return binary(c, trunc)
	}
	return errMode
}

func divModeInt[T integer](c *Call, floor, trunc rowFunc2[T, T]) error {
	switch c.Args[2].Str {
	case "floor":
		return divideInt(c, floor)
	case "trunc":
		return divideInt(c, trunc)
	case "":
		return binary(c, rowDivExactInt[T])
	}
	return errMode
}

// rowDivExactInt is the true division of integers, in Float.
func rowDivExactInt[T integer](o []float32, a, b []T, _ par) {
	for i := range o {
		o[i] = float32(a[min(i, len(a)-1)]) / float32(b[min(i, len(b)-1)])
	}
}

// inferDivMode: promoted, and Float for integers without a rounding mode.
func inferDivMode(c *Infer) error {
	if c.Args[2].Kind == None {
		return inferBinaryFloat(c)
	}
	return inferBinary(c)
}

// shiftLeftScalar multiplies by a power of two, which takes less time.
func shiftLeftScalar[T integer](c *Call) error {
	return map2scalar(c, c.Args[0].Tensor, shiftLeft(1, scalarAs[T](&c.Args[1])), rowMul[T], &par{})
}

// powRows are the row functions of x to a constant power.
type powRows[T float] struct {
	pow                                         rowFunc2[T, T]
	square, cube, sqrt, invSquare, recip, rsqrt rowFunc1[T, T]
}

func powScalar[T float](c *Call, rows powRows[T]) error {
	switch c.Args[1].Scalar() {
	case 2:
		return unary(c, rows.square)
	case 3:
		return unary(c, rows.cube)
	case 0.5:
		return unary(c, rows.sqrt)
	case -0.5:
		return unary(c, rows.rsqrt)
	case -1:
		return unary(c, rows.recip)
	case -2:
		return unary(c, rows.invSquare)
	}
	return binary(c, rows.pow)
}

func gelu[T float](c *Call, erf, tanh rowFunc1[T, T]) error {
	if c.Args[1].Str == "tanh" {
		return unary(c, tanh)
	}
	return unary(c, erf)
}

func elu[T float](c *Call, row rowFunc1[T, T]) error {
	return map1(c, c.Args[0].Tensor, row, par{x: c.Args[1].Scalar(), y: c.Args[2].Scalar(), z: c.Args[3].Scalar()})
}

func leakyRelu[T float](c *Call, row rowFunc1[T, T]) error {
	return map1(c, c.Args[0].Tensor, row, par{x: c.Args[1].Scalar()})
}

// logit clips by eps, argument 1, or not at all if that is negative.
func logit[T float](c *Call, row rowFunc1[T, T]) error {
	p := par{x: -1}
	if c.Args[1].Kind != None {
		p.x = c.Args[1].Scalar()
	}
	return map1(c, c.Args[0].Tensor, row, p)
}

// Bits of par.z in a clamp: which bounds there are.
const (
	hasLow  = 1
	hasHigh = 2
)

// clampScalars bounds by arguments 1 and 2, which may be None.
func clampScalars[T number](c *Call, row rowFunc1[T, T]) error {
	p := par{x: c.Args[1].Scalar(), y: c.Args[2].Scalar(), i: intPart(&c.Args[1]), j: intPart(&c.Args[2])}
	if c.Args[1].Kind != None {
		p.z += hasLow
	}
	if c.Args[2].Kind != None {
		p.z += hasHigh
	}
	return map1(c, c.Args[0].Tensor, row, p)
}

func intPart(v *Value) int64 {
	if v.Kind == Float {
		return int64(v.Float)
	}
	return v.Int
}

// clampTensors bounds by tensors, of which one may be absent.
func clampTensors[T number](c *Call, row rowFunc3[T, T, T]) error {
	x, low, high := c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor
	switch {
	case low == nil && high == nil:
		return errBounds
	case low == nil:
		return map2(c, x, high, rowMinimum[T], &par{})
	case high == nil:
		return map2(c, x, low, rowMaximum[T], &par{})
	}
	return map3(c, x, low, high, row, &par{})
}

func rowClampTensor[T number](o, x, low, high []T, p par) {
	if isFloat32[T]() && clamps(p.tier, floats(o), floats(x), floats(low), floats(high)) {
		return
	}
	sx, sl, sh := stepOf(len(x)), stepOf(len(low)), stepOf(len(high))
	for i := range o {
		o[i] = minOf(maxOf(x[i*sx], low[i*sl]), high[i*sh])
	}
}

// stepOf is 0 for an operand that stands for all elements of a row.
func stepOf(n int) int {
	if n == 1 {
		return 0
	}
	return 1
}

func where[T any](c *Call, row rowFunc3[uint8, T, T]) error {
	return map3(c, c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor, row, &par{})
}

// rowWhere chooses words of the elements' size, which takes no branch.
func rowWhere[T any](o []T, cond []uint8, x, y []T, p par) {
	if len(cond) == 1 {
		if cond[0] == 0 {
			x = y
		}
		if len(x) == 1 {
			fillRun(o, x[0])
		} else {
			copy(o, x)
		}
		return
	}
	switch unsafe.Sizeof(*new(T)) {
	case 1:
		chooseWords(elementsAs[uint8](o), cond, elementsAs[uint8](x), elementsAs[uint8](y))
	case 2:
		chooseWords(elementsAs[uint16](o), cond, elementsAs[uint16](x), elementsAs[uint16](y))
	case 4:
		n := kernel.WhereF32(p.tier, floats(o), cond, floats(x), floats(y))
		chooseWords(elementsAs[uint32](o[n:]), cond[n:], elementsAs[uint32](past(x, n)), elementsAs[uint32](past(y, n)))
	case 8:
		chooseWords(elementsAs[uint64](o), cond, elementsAs[uint64](x), elementsAs[uint64](y))
	}
}

// past is x without its first n elements, unless it has one that stands for all.
func past[T any](x []T, n int) []T {
	if len(x) == 1 {
		return x
	}
	return x[n:]
}

// chooseWords is rowWhere of as many conditions as elements.
func chooseWords[W word](o []W, cond []uint8, x, y []W) {
	if len(x) == len(o) && len(y) == len(o) {
		for i, yes := range cond {
			v := y[i]
			if u := x[i]; yes != 0 {
				v = u
			}
			o[i] = v
		}
		return
	}
	sx, sy := stepOf(len(x)), stepOf(len(y))
	for i, yes := range cond {
		v := y[i*sy]
		if u := x[i*sx]; yes != 0 {
			v = u
		}
		o[i] = v
	}
}

func inferWhere(c *Infer) error {
	c.Out[0].DType = promoteArgs(c.Args, 6)
	return broadcastArgs(c)
}

func inferClamp(c *Infer) error {
	c.Out[0].DType = promoteArgs(c.Args, 7)
	return broadcastArgs(c)
}

// fillFalse sets Out[0], of Bool, to false.
func fillFalse(c *Call) error {
	clear(elems[uint8](c.Out[0]))
	return nil
}

// inferGlu: argument 0 with half of dimension dim.
func inferGlu(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	dim, err := WrapDim(intOr(&c.Args[1], -1), len(t.Sizes))
	if err != nil {
		return err
	}
	if len(t.Sizes) == 0 {
		return errDim
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	c.Out[0].Sizes[dim] = c.Shapes.FloorDiv(t.Sizes[dim], 2)
	return nil
}

// glu is the first half of dimension dim times the sigmoid of the second.
func glu[T float](c *Call) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	dim, err := WrapDim(intOr(&c.Args[1], -1), len(in.Sizes))
	if err != nil {
		return err
	}
	var n nest
	var strides [tensor.MaxRank]int
	stridesOf(&in.Meta, &strides)
	if err := n.setupStrided(&out.Meta, &strides); err != nil {
		return err
	}
	half := strides[dim] * int(out.Sizes[dim])
	o, x := elems[T](out), elems[T](in)
	for range n.rows() {
		if at, w := n.off[1], n.row(); n.step(1) == 1 && isFloat32[T]() &&
			gates(c.Tier, floats(o[n.off[0]:n.off[0]+w]), floats(x[at:at+w]), floats(x[at+half:at+half+w])) {
			n.next()
			continue
		}
		for i := range n.row() {
			at := n.off[1] + i*n.step(1)
			o[n.off[0]+i] = x[at] * scalarmath.Sigmoid(x[at+half])
		}
		n.next()
	}
	return nil
}
