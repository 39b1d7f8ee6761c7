package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// memory formats as c10 numbers them.
const (
	formatContiguous = iota
	formatPreserve
	formatChannelsLast
	formatChannelsLast3d
)

var (
	orderChannelsLast   = []uint8{0, 2, 3, 1}
	orderChannelsLast3d = []uint8{0, 2, 3, 4, 1}
)

// openType is the type of an out whose type is no argument of the out variant:
// at run time that of the out itself, else def, which the lowerer replaces by a dtype of the functional call.
func openType(c *Infer, def tensor.ScalarType) tensor.ScalarType {
	if c.Shapes == nil {
		return tensor.Undefined
	}
	return def
}

// setFormat gives out the order of a memory format; None, Preserve and those of another rank, which the lowerer refuses, leave it.
func setFormat(out *tensor.Meta, v *Value) {
	if v.Kind == None {
		return
	}
	switch format, rank := v.Int, out.Rank(); {
	case format == formatContiguous:
		out.DimOrder = out.DimOrder[:0]
	case format == formatChannelsLast && rank == len(orderChannelsLast):
		setOrder(out, orderChannelsLast)
	case format == formatChannelsLast3d && rank == len(orderChannelsLast3d):
		setOrder(out, orderChannelsLast3d)
	}
}

// setDimOrder gives out the order in v; None leaves it.
func setDimOrder(out *tensor.Meta, v *Value) error {
	if v.Kind == None || len(v.Ints) == 0 {
		return nil
	}
	if len(v.Ints) != len(out.Sizes) {
		return errDim
	}
	var order [tensor.MaxRank]uint8
	for i, d := range v.Ints {
		at, err := WrapDim(d, len(out.Sizes))
		if err != nil {
			return err
		}
		order[i] = uint8(at)
	}
	if m := (tensor.Meta{Sizes: out.Sizes, DimOrder: order[:len(v.Ints)]}); !m.ValidOrder() {
		return errDimTwice
	}
	setOrder(out, order[:len(v.Ints)])
	return nil
}

func inferToCopy(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	c.Out[0].DType = openType(c, c.Out[0].DType)
	setFormat(&c.Out[0], &c.Args[2])
	return nil
}

func inferClone(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	setFormat(&c.Out[0], &c.Args[1])
	return nil
}

func inferToDimOrder(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	c.Out[0].DType = openType(c, c.Out[0].DType)
	return setDimOrder(&c.Out[0], &c.Args[2])
}

func inferCloneDimOrder(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	return setDimOrder(&c.Out[0], &c.Args[2])
}

func inferCopyInPlace(c *Infer) error {
	if len(c.Out) == 0 {
		return nil
	}
	return inferLike(c)
}

// runCopy converts argument 0 to Out[0], runCopySrc argument 1.
func runCopy(c *Call, _ State) error    { return Convert(c, c.Out[0], c.Args[0].Tensor) }
func runCopySrc(c *Call, _ State) error { return Convert(c, c.Out[0], c.Args[1].Tensor) }

// Convert fills dst with src, broadcast, in dst's type and order. It uses c.Alloc only.
func Convert(c *Call, dst, src *tensor.Tensor) error {
	if slices.Equal(dst.Sizes, src.Sizes) && sameOrder(src, dst.DimOrder) {
		CastBytes(dst.Data, dst.DType, src.Data, src.DType, dst.Numel())
		return nil
	}
	var n nest
	if err := n.setup(&dst.Meta, &src.Meta); err != nil {
		return err
	}
	if n.rank == 1 && n.step(1) == 1 {
		CastBytes(dst.Data, dst.DType, src.Data, src.DType, dst.Numel())
		return nil
	}
	if dst.DType == src.DType {
		return arrange(&n, dst.Data, src, dst.Numel())
	}
	temp, err := c.Alloc(dst.Numel() * src.DType.Size())
	if err != nil {
		return err
	}
	if err := arrange(&n, temp, src, dst.Numel()); err != nil {
		return err
	}
	CastBytes(dst.Data, dst.DType, temp, src.DType, dst.Numel())
	return nil
}

// arrange puts src's elements into dst as the nest has them.
func arrange(n *nest, dst []byte, src *tensor.Tensor, count int) error {
	switch src.DType.Size() {
	case 1:
		gatherRows(n, sliceOf[uint8](dst, count), elems[uint8](src))
	case 2:
		gatherRows(n, sliceOf[uint16](dst, count), elems[uint16](src))
	case 4:
		gatherRows(n, sliceOf[uint32](dst, count), elems[uint32](src))
	case 8:
		gatherRows(n, sliceOf[uint64](dst, count), elems[uint64](src))
	default:
		return errNoTensor
	}
	return nil
}

func gatherRows[T word](n *nest, o, x []T) {
	width, step := n.row(), n.step(1)
	for range n.rows() {
		row := o[n.off[0] : n.off[0]+width]
		switch off := n.off[1]; step {
		case 0:
			fillRun(row, x[off])
		case 1:
			tensor.Copy(row, x[off:off+width])
		default:
			for i := range row {
				row[i] = x[off+i*step]
			}
		}
		n.next()
	}
}
