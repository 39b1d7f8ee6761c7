package op

import (
	"errors"
	"math"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errStepZero = errors.New("arange: step must not be 0")

func setSizes(c *Infer, v *Value, dtype tensor.ScalarType) error {
	if len(v.Ints) > tensor.MaxRank {
		return errRank
	}
	c.Set(0, openType(c, dtype), v.Ints...)
	return nil
}

func inferFull(c *Infer) error  { return setSizes(c, &c.Args[0], scalarType(&c.Args[1])) }
func inferZeros(c *Infer) error { return setSizes(c, &c.Args[0], tensor.Float) }

func inferEmpty(c *Infer) error {
	if err := inferZeros(c); err != nil {
		return err
	}
	setFormat(&c.Out[0], &c.Args[1])
	return nil
}

func inferEmptyDimOrder(c *Infer) error {
	if err := inferZeros(c); err != nil {
		return err
	}
	return setDimOrder(&c.Out[0], &c.Args[1])
}

func inferFullLike(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	c.Out[0].DType = openType(c, c.Out[0].DType)
	setFormat(&c.Out[0], &c.Args[2])
	return nil
}

func inferScalarTensor(c *Infer) error {
	c.Set(0, openType(c, tensor.Float))
	return nil
}

func inferArange(c *Infer) error {
	return arangeSize(c, &Value{Kind: Int}, &c.Args[0], &Value{Kind: Int, Int: 1})
}

func inferArangeStart(c *Infer) error {
	return arangeSize(c, &c.Args[0], &c.Args[1], &c.Args[2])
}

// arangeSize sets the out to ⌈(end-start)/step⌉ numbers.
func arangeSize(c *Infer, start, end, step *Value) error {
	if step.Scalar() == 0 {
		return errStepZero
	}
	if start.Kind != Float && end.Kind != Float && step.Kind != Float {
		s := c.Shapes
		n := s.Mul(s.FloorDiv(s.Sub(start.Int, end.Int), step.Int), -1)
		if !tensor.IsSymbol(n) {
			n = max(n, 0)
		}
		c.Set(0, openType(c, tensor.Long), n)
		return nil
	}
	n := math.Ceil((end.Scalar() - start.Scalar()) / step.Scalar())
	if !(n <= 1<<40) {
		return errStepZero
	}
	c.Set(0, openType(c, tensor.Float), max(int64(n), 0))
	return nil
}

func runArange(c *Call, _ State) error {
	return arange(c, &Value{Kind: Int}, &Value{Kind: Int, Int: 1})
}

func runArangeStart(c *Call, _ State) error { return arange(c, &c.Args[0], &c.Args[2]) }

// arange counts in integers where no number has a fraction and float64 holds all: each gives the same bits then.
func arange(c *Call, start, step *Value) error {
	out := c.Out[0]
	n, size := out.Numel(), out.DType.Size()
	if out.DType.IsFloat() || start.Kind == Float || step.Kind == Float {
		a, d := start.Scalar(), step.Scalar()
		whole := a == math.Trunc(a) && d == math.Trunc(d) && math.Abs(a)+float64(math.Abs(d)*float64(n)) <= 1<<53
		if !whole || a == 0 && math.Signbit(a) { // which may be the first number
			return arangeFloats(c, a, d)
		}
	}
	at, by := scalarAs[int64](start), scalarAs[int64](step)
	block, err := tempOf[int64](c, min(rowTile, n))
	for lo := 0; lo < n && err == nil; lo += rowTile {
		part, to := block[:min(rowTile, n-lo)], out.Data[lo*size:]
		if out.DType == tensor.Long {
			part = sliceOf[int64](to, len(part))
		}
		for i := range part {
			part[i] = at
			at += by
		}
		if out.DType != tensor.Long {
			CastBytes(to, out.DType, bytesOf(part), tensor.Long, len(part))
		}
	}
	return err
}

func arangeFloats(c *Call, start, step float64) error {
	out := c.Out[0]
	n, size := out.Numel(), out.DType.Size()
	block, err := tempOf[float64](c, min(rowTile, n))
	for lo := 0; lo < n && err == nil; lo += rowTile {
		part := block[:min(rowTile, n-lo)]
		for i := range part {
			part[i] = start + float64(float64(lo+i)*step)
		}
		CastBytes(out.Data[lo*size:], out.DType, bytesOf(part), tensor.Double, len(part))
	}
	return err
}

// fillWith sets every element of Out[0] to the Scalar v.
func fillWith(c *Call, v *Value) {
	data, dtype := scalarBytes(v)
	fillFrom(c, data, dtype)
}

// scalarBytes is where the number of the Scalar v lies, and its type: Double or Long.
func scalarBytes(v *Value) ([]byte, tensor.ScalarType) {
	if v.Kind == Float {
		return bytesOf(unsafe.Slice(&v.Float, 1)), tensor.Double
	}
	return bytesOf(unsafe.Slice(&v.Int, 1)), tensor.Long
}

// fillMost is about how many bytes fillAll copies at most at once.
const fillMost = 16 << 10

// fillFrom sets every element of Out[0] to the one in data.
func fillFrom(c *Call, data []byte, dtype tensor.ScalarType) {
	out := c.Out[0]
	if out.Numel() == 0 {
		return
	}
	CastBytes(out.Data, out.DType, data, dtype, 1)
	switch out.DType.Size() {
	case 1:
		fillWords[uint8](out)
	case 2:
		fillWords[uint16](out)
	case 4:
		fillWords[uint32](out)
	case 8:
		fillWords[uint64](out)
	}
}

// fillWords sets all elements of out to the first one.
func fillWords[T word](out *tensor.Tensor) {
	o := elems[T](out)
	fillRun(o, o[0])
}

// fillAll fills all with its first bytes, of which there are size, again and again.
func fillAll(all []byte, size int) {
	most := max(1, fillMost/max(1, size)) * size
	for done := size; done < len(all); {
		done += tensor.Copy(all[done:], all[:min(done, most)])
	}
}

// fillRun sets all elements of o to x: the first ones one by one, as copies of what has just been written in parts wait.
func fillRun[T any](o []T, x T) {
	first := o[:min(len(o), fillLeast, fillBytes/int(unsafe.Sizeof(x)))]
	for i := range first {
		first[i] = x
	}
	if len(first) < len(o) {
		fillAll(bytesOf(o), len(bytesOf(first)))
	}
}

// fillLeast is how many elements make copies worth it, and fillBytes how many bytes: the fewer elements count.
const (
	fillLeast = 32
	fillBytes = 128
)

func runFull(c *Call, _ State) error   { fillWith(c, &c.Args[1]); return nil }
func runScalar(c *Call, _ State) error { fillWith(c, &c.Args[0]); return nil }
func runOnes(c *Call, _ State) error   { fillWith(c, &one); return nil }

func runFillTensor(c *Call, _ State) error {
	t := c.Args[1].Tensor
	fillFrom(c, t.Data, t.DType)
	return nil
}

var one = Value{Kind: Int, Int: 1}

// runZeros clears Out[0]; empty runs it too, so that results never depend on what was there.
func runZeros(c *Call, _ State) error {
	clear(c.Out[0].Data[:c.Out[0].Nbytes()])
	return nil
}
