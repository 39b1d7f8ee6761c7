package op

import (
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// dtypeArg is the ScalarType in v, or def for None.
func dtypeArg(v *Value, def tensor.ScalarType) tensor.ScalarType {
	return tensor.ScalarType(intOr(v, int64(def)))
}

func inferQuantize(c *Infer) error { return inferLikeAs(c, dtypeArg(&c.Args[5], tensor.Char)) }

func inferQuantizeChannel(c *Infer) error { return inferLikeAs(c, dtypeArg(&c.Args[6], tensor.Char)) }

func inferDequantize(c *Infer) error { return inferLikeAs(c, dtypeArg(&c.Args[6], tensor.Float)) }

func inferDequantizeChannel(c *Infer) error {
	return inferLikeAs(c, dtypeArg(&c.Args[7], tensor.Float))
}

func inferChooseQparams(c *Infer) error {
	c.Set(0, tensor.Double, 1)
	c.Set(1, tensor.Long, 1)
	return nil
}

func inferQuantizeToken(c *Infer) error { return inferToken(c, dtypeArg(&c.Args[5], tensor.Char)) }

func inferDequantizeToken(c *Infer) error { return inferToken(c, dtypeArg(&c.Args[6], tensor.Float)) }

// inferToken is the rule of operators on rows of the last dimension, which have a scale each. Results are contiguous.
func inferToken(c *Infer, dtype tensor.ScalarType) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		return errDims
	}
	c.Set(0, dtype, t.Sizes...)
	return nil
}

func inferChooseQparamsToken(c *Infer) error {
	if err := inferToken(c, tensor.Double); err != nil {
		return err
	}
	c.Out[0].Sizes[c.Out[0].Rank()-1] = 1
	c.Set(1, tensor.Long, c.Out[0].Sizes...)
	return nil
}

// NumberAt is element i of t, as a number; one element stands for all.
func NumberAt(t *tensor.Tensor, i int) float64 {
	if t.Numel() == 1 {
		i = 0
	}
	switch t.DType {
	case tensor.Float:
		return float64(elems[float32](t)[i])
	case tensor.Double:
		return elems[float64](t)[i]
	case tensor.Long:
		return float64(elems[int64](t)[i])
	case tensor.Int:
		return float64(elems[int32](t)[i])
	}
	var b [8]byte
	size := t.DType.Size()
	CastBytes(b[:], tensor.Double, t.Data[i*size:], t.DType, 1)
	return sliceOf[float64](b[:], 1)[0]
}

// Numbers are all elements of t, in memory order; those of Float are t's own.
func Numbers(t *tensor.Tensor) []float32 {
	if t.DType == tensor.Float {
		return elems[float32](t)
	}
	list := make([]float32, t.Numel())
	CastBytes(bytesOf(list), tensor.Float, t.Data, t.DType, len(list))
	return list
}

// placeAt is where element i of a tensor lies, in the order of its sizes.
func placeAt(m *tensor.Meta, i int) (at int) {
	if m.Contiguous() {
		return i
	}
	var strides [tensor.MaxRank]int
	stridesOf(m, &strides)
	for d := m.Rank() - 1; d >= 0; d-- {
		n := int(m.Sizes[d])
		at += i % n * strides[d]
		i /= n
	}
	return at
}

// number is the number in v, or element i of its tensor in the order of the sizes; 0 for None.
func (v *Value) number(i int) float64 {
	if v.Tensor != nil {
		if v.Tensor.Numel() > 1 {
			i = placeAt(&v.Tensor.Meta, i)
		}
		return NumberAt(v.Tensor, i)
	}
	return v.Scalar()
}

// affine is one quantization: q = round(x·inverse) + zero, bounded; x = (q-zero)·scale.
type affine struct {
	scale, inverse, zero float32
	low, high            float64
}

func (a *affine) set(scale, zero *Value, i int) {
	s := scale.number(i)
	a.scale, a.inverse, a.zero = float32(s), float32(1/s), float32(zero.number(i))
}

func quantizeRun[T float](c *Call, lo, hi int, a affine) {
	x, out := elems[T](c.Args[0].Tensor), c.Out[0]
	switch out.DType {
	case tensor.Char:
		quantizeTo(c.Tier, elems[int8](out)[lo:hi], x[lo:hi], a)
	case tensor.Byte:
		quantizeTo(c.Tier, elems[uint8](out)[lo:hi], x[lo:hi], a)
	default:
		for i := lo; i < hi; i++ {
			putFloat(out, i, a.quantize(float32(x[i])))
		}
	}
}

func quantizeTo[T float, U int8 | uint8](t kernel.Tier, o []U, x []T, a affine) {
	if isFloat32[T]() && a.vectors(int(^U(0)) < 0) && kernel.QuantizeS8(t, o, floats(x), a.inverse, a.rows()) {
		return
	}
	for i, v := range x {
		o[i] = U(a.quantize(float32(v)))
	}
}

// vectors reports that a's numbers are as kernels of bytes take them: integers, with bounds that bytes have.
func (a *affine) vectors(signed bool) bool {
	least := 0.0
	if signed {
		least = math.MinInt8
	}
	return a.zero == float32(math.Trunc(float64(a.zero))) && a.low == math.Trunc(a.low) && a.high == math.Trunc(a.high) &&
		math.Abs(float64(a.zero)) <= math.MaxUint16 && a.low >= least && a.high <= least+math.MaxUint8
}

func (a *affine) rows() kernel.RowsS8 {
	return kernel.RowsS8{Low: float32(a.low) - a.zero, High: float32(a.high) - a.zero, Zero: int32(a.zero)}
}

// quantize is NaN-free: NaN becomes the least value.
func (a *affine) quantize(x float32) float64 {
	q := float64(float32(math.RoundToEven(float64(x*a.inverse))) + a.zero)
	if !(q > a.low) {
		return a.low
	}
	return min(q, a.high)
}

func dequantizeRun[T integer | uint16](c *Call, lo, hi int, a affine) {
	x, out := elems[T](c.Args[0].Tensor), c.Out[0]
	if out.DType == tensor.Float {
		dequantizeTo(c.Tier, elems[float32](out)[lo:hi], x[lo:hi], a)
		return
	}
	for i := lo; i < hi; i++ {
		putFloat(out, i, float64((float32(x[i])-a.zero)*a.scale))
	}
}

func dequantizeTo[T integer | uint16](t kernel.Tier, o []float32, x []T, a affine) {
	if unsafe.Sizeof(T(0)) == 1 && dequantizeBytes(t, o, x, a) {
		return
	}
	for i, v := range x {
		o[i] = (float32(v) - a.zero) * a.scale
	}
}

// dequantizeBytes is dequantizeTo for int8 or uint8, if t has kernels for so many.
func dequantizeBytes[T integer | uint16](t kernel.Tier, o []float32, x []T, a affine) bool {
	if ^T(0) < 0 {
		return kernel.DequantizeS8(t, o, elementsAs[int8](x), a.scale, a.zero)
	}
	return kernel.DequantizeS8(t, o, elementsAs[uint8](x), a.scale, a.zero)
}

// quantizeTensor has one scale and zero point, numbers or tensors.
func quantizeTensor[T float](c *Call) error {
	a := affine{low: c.Args[3].Scalar(), high: c.Args[4].Scalar()}
	a.set(&c.Args[1], &c.Args[2], 0)
	quantizeRun[T](c, 0, c.Out[0].Numel(), a)
	return nil
}

func dequantizeTensor[T integer | uint16](c *Call) error {
	var a affine
	a.set(&c.Args[1], &c.Args[2], 0)
	dequantizeRun[T](c, 0, c.Out[0].Numel(), a)
	return nil
}

// channels runs f on each run of elements of one channel along the axis, argument 3, or each on lines of elements that
// have a channel each.
func channels(c *Call, a affine, f func(c *Call, lo, hi int, a affine), each func(c *Call, lo int, as []affine)) error {
	out := c.Out[0]
	axis, err := WrapDim(c.Args[3].Int, len(out.Sizes))
	if err != nil || len(out.Sizes) == 0 {
		return errDim
	}
	n := int(out.Sizes[axis])
	if s := c.Args[1].Tensor; s == nil || s.Numel() != n {
		return errBroadcast
	}
	if z := c.Args[2].Tensor; z != nil && z.Numel() != n {
		return errBroadcast
	}
	var strides [tensor.MaxRank]int
	stridesOf(&out.Meta, &strides)
	run, total := strides[axis], out.Numel()
	if run == 1 {
		as, err := tempOf[affine](c, n)
		for i := range as {
			as[i] = a
			as[i].set(&c.Args[1], &c.Args[2], i)
		}
		for lo := 0; lo < total && n > 0; lo += n {
			each(c, lo, as)
		}
		return err
	}
	for lo, i := 0, 0; lo < total; lo, i = lo+run, i+1 {
		a.set(&c.Args[1], &c.Args[2], i%n)
		f(c, lo, lo+run, a)
	}
	return nil
}

func quantizeChannels[T float](c *Call) error {
	return channels(c, affine{low: c.Args[4].Scalar(), high: c.Args[5].Scalar()}, quantizeRun[T], quantizeEach[T])
}

func dequantizeChannels[T integer | uint16](c *Call) error {
	return channels(c, affine{}, dequantizeRun[T], dequantizeEach[T])
}

// quantizeEach quantizes an element by each of as.
func quantizeEach[T float](c *Call, lo int, as []affine) {
	x, out := elems[T](c.Args[0].Tensor)[lo:lo+len(as)], c.Out[0]
	for i := range as {
		putFloat(out, lo+i, as[i].quantize(float32(x[i])))
	}
}

func dequantizeEach[T integer | uint16](c *Call, lo int, as []affine) {
	x, out := elems[T](c.Args[0].Tensor)[lo:lo+len(as)], c.Out[0]
	if out.DType != tensor.Float {
		for i := range as {
			putFloat(out, lo+i, float64((float32(x[i])-as[i].zero)*as[i].scale))
		}
		return
	}
	o := elems[float32](out)[lo : lo+len(as)]
	for i := range as {
		o[i] = (float32(x[i]) - as[i].zero) * as[i].scale
	}
}

// chooseQparams gives the scale and the zero point by which the range of argument 0 fits, as affine per tensor.
func chooseQparams[T float](c *Call) error {
	low, high := rangeOf(c.Tier, elems[T](c.Args[0].Tensor))
	qmin, qmax := float32(c.Args[1].Scalar()), float32(c.Args[2].Scalar())
	scale := (float32(high) - float32(low)) / (qmax - qmin)
	scale = maxOf(scale, float32(c.Args[3].Scalar()))
	zero := qmin - float32(math.RoundToEven(float64(float32(low)/scale)))
	zero = clampOf(zero, qmin, qmax)
	putFloat(c.Out[0], 0, float64(scale))
	putInt(c.Out[1], 0, int64(zero))
	return nil
}

// tokens are the rows of the last dimension of a contiguous input, which have a scale and a zero point each.
type tokens struct {
	c    *Call
	x    *tensor.Tensor // the input as it was given
	rows int
	n    int // the length of a row
}

// tokensOf are those of argument 0, which it puts into the order of its sizes until restore. Arguments 1 and 2, if there are so
// many, are scales and zero points.
func tokensOf(c *Call) (t tokens, err error) {
	x := c.Args[0].Tensor
	t = tokens{c: c, x: x, n: int(x.Sizes[x.Rank()-1])}
	switch {
	case c.Out[0].Numel() == 0:
		return t, nil
	case t.n == 0: // of which there is no range
		return t, errDims
	}
	t.rows = x.Numel() / t.n
	for i := 1; i < min(len(c.Args), 3); i++ {
		if s := c.Args[i].Tensor; s != nil && s.Numel() != t.rows {
			return t, errBroadcast
		}
	}
	if !x.Contiguous() {
		b, err := c.Alloc(x.Nbytes())
		if err != nil {
			return t, err
		}
		c.Args[0].Tensor = &tensor.Tensor{Meta: tensor.Meta{DType: x.DType, Sizes: x.Sizes}, Data: b}
		Reorder(c.Args[0].Tensor, x)
	}
	return t, nil
}

func (t *tokens) restore() { t.c.Args[0].Tensor = t.x }

// grain is how many rows are worth another thread.
func (t *tokens) grain() int { return max(1, parallelGrain/max(1, t.n)) }

// affine is a with the scale and the zero point of row i.
func (t *tokens) affine(a affine, i int) affine {
	a.set(&t.c.Args[1], &t.c.Args[2], i)
	return a
}

// Jobs on tokens.
type (
	quantizing[T float]     struct{ tokens }
	dequantizing[T integer] struct{ tokens }
	choosing[T float]       struct{ tokens }
)

func quantizeTokens[T float](c *Call) error {
	t, err := tokensOf(c)
	if err == nil {
		share(c, &quantizing[T]{t}, t.rows, t.grain())
	}
	t.restore()
	return err
}

func (t *quantizing[T]) parts(lo, hi int) {
	a := affine{low: t.c.Args[3].Scalar(), high: t.c.Args[4].Scalar()}
	for i := lo; i < hi; i++ {
		quantizeRun[T](t.c, i*t.n, (i+1)*t.n, t.affine(a, i))
	}
}

func dequantizeTokens[T integer](c *Call) error {
	t, err := tokensOf(c)
	if err == nil {
		share(c, &dequantizing[T]{t}, t.rows, t.grain())
	}
	t.restore()
	return err
}

func (t *dequantizing[T]) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		dequantizeRun[T](t.c, i*t.n, (i+1)*t.n, t.affine(affine{}, i))
	}
}

// chooseTokens gives the scale and the zero point by which the range of each row fits int8, as torch.ao computes them: of the zero
// points that the least number gives, and the largest, the one with the smaller error.
func chooseTokens[T float](c *Call) error {
	t, err := tokensOf(c)
	if err == nil {
		share(c, &choosing[T]{t}, t.rows, t.grain())
	}
	t.restore()
	return err
}

func (t *choosing[T]) parts(lo, hi int) {
	x := elems[T](t.c.Args[0].Tensor)
	for i := lo; i < hi; i++ {
		low, high := rangeOf(t.c.Tier, x[i*t.n:(i+1)*t.n])
		scale := maxOf((float32(high)-float32(low))/(math.MaxInt8-math.MinInt8), 0x1p-23)
		least, most := float32(low)/scale, float32(high)/scale
		zero := math.MaxInt8 - most
		if (math.MinInt8+least)+(math.MaxInt8+most) > 0 {
			zero = math.MinInt8 - least
		}
		if zero != zero { // NaN is no integer
			zero = 0
		}
		putFloat(t.c.Out[0], i, float64(scale))
		putInt(t.c.Out[1], i, int64(math.RoundToEven(float64(clampOf(zero, math.MinInt8, math.MaxInt8)))))
	}
}

// rangeOf are the least and the largest of x and 0, NaN if one is.
func rangeOf[T float](t kernel.Tier, x []T) (low, high T) {
	if isFloat32[T]() {
		if sum, ok := kernel.SumRowF32(t, floats(x)); ok && sum == sum { // NaN plays no part in RangeS8
			if l, h, ok := kernel.RangeS8(t, floats(x)); ok {
				return T(l), T(h)
			}
		}
	}
	for _, v := range x {
		low, high = minOf(low, v), maxOf(high, v)
	}
	return low, high
}
