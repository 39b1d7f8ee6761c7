package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of embeddings whose table is quantized, each row in groups of its own scale.
var (
	EmbeddingByte = Def{
		Schema:     "quantized_decomposed::embedding_byte.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_byte", Infer: inferEmbeddingByte, Key: KeyOut,
	}
	EmbeddingByteDtype = Def{
		Schema:     "quantized_decomposed::embedding_byte.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_byte.dtype", Infer: inferEmbeddingByte, Key: KeyOut,
	}
	Embedding4bit = Def{
		Schema:     "quantized_decomposed::embedding_4bit.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_4bit", Infer: inferEmbedding4bit, Key: KeyOut,
	}
	Embedding4bitDtype = Def{
		Schema:     "quantized_decomposed::embedding_4bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_4bit.dtype", Infer: inferEmbedding4bit, Key: KeyOut,
	}
)

var errWeightType = errors.New("check weight: type must be int8 or uint8")

func inferEmbeddingByte(c *Infer) error { return inferQuantEmbedding(c, 1) }
func inferEmbedding4bit(c *Infer) error { return inferQuantEmbedding(c, 2) }

// inferQuantEmbedding is for a weight with this many elements in a byte.
func inferQuantEmbedding(c *Infer, perByte tensor.Dim) error {
	w, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	scales, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	indices, err := argTensor(c.Args, 5)
	if err != nil {
		return err
	}
	if err := checkQuantWeight(c, w, scales, perByte); err != nil {
		return err
	}
	dtype := scales.DType
	if len(c.Args) > 6 && c.Args[6].Kind == Int {
		dtype = tensor.ScalarType(c.Args[6].Int)
	}
	c.Set(0, dtype, indices.Sizes...)
	c.Out[0].Sizes = append(c.Out[0].Sizes, c.Shapes.Mul(w.Sizes[1], perByte))
	return nil
}

func checkQuantWeight(c *Infer, w, scales *tensor.Tensor, perByte tensor.Dim) error {
	if w.DType != tensor.Byte && (w.DType != tensor.Char || perByte != 1) {
		return errWeightType
	}
	if w.Rank() != 2 || scales.Rank() < 1 || scales.Rank() > 2 || len(c.Args[5].Tensor.Sizes) == tensor.MaxRank {
		return errDims
	}
	if c.Shapes.Equal(w.Sizes[0], scales.Sizes[0]) == tensor.No {
		return errSizes
	}
	groups := groupsOf(scales)
	if groups <= 0 && !tensor.IsSymbol(groups) || c.Shapes.Equal(c.Shapes.Mod(w.Sizes[1]*perByte, groups), 0) == tensor.No {
		return errSizes
	}
	if zeros := c.Args[2].Tensor; zeros != nil && !sameSizes(c.Shapes, zeros.Sizes, scales.Sizes) {
		return errSizes
	}
	return nil
}

// groupsOf is how many scales a row of the table has.
func groupsOf(scales *tensor.Tensor) tensor.Dim {
	if scales.Rank() == 2 {
		return scales.Sizes[1]
	}
	return 1
}

func runEmbeddingByte[T float](c *Call, _ State) error {
	if c.Args[0].Tensor.DType == tensor.Char {
		return embedRows(c, unpackBytes[T, int8])
	}
	return embedRows(c, unpackBytes[T, uint8])
}

func runEmbedding4bit[T float](c *Call, _ State) error { return embedRows(c, unpack4bits[T]) }

// unpackBytes dequantizes elements of a row of bytes, from element lo on.
func unpackBytes[T float, S int8 | uint8](o []T, row []byte, lo int, zero, scale float32) {
	for i, q := range sliceOf[S](row, len(row))[lo : lo+len(o)] {
		o[i] = T((float32(q) - zero) * scale)
	}
}

// unpack4bits dequantizes elements of a row of half bytes, of which the high one comes first.
func unpack4bits[T float](o []T, row []byte, lo int, zero, scale float32) {
	for i := range o {
		at := uint(lo + i)
		q := int32(row[at/2]>>(4*(^at&1)))&15 - 8
		o[i] = T((float32(q) - zero) * scale)
	}
}

// embedRows puts the dequantized row of each index into the out.
func embedRows[T float](c *Call, unpack func(o []T, row []byte, lo int, zero, scale float32)) error {
	w, scales, zeros, indices := c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor, c.Args[5].Tensor
	groups, cols, rows := int(groupsOf(scales)), int(w.Sizes[1]), int(w.Sizes[0])
	s, err := tempOf[float32](c, groups)
	if err != nil {
		return err
	}
	z, err := tempOf[float32](c, groups)
	if err != nil {
		return err
	}
	clear(z)
	o := elems[T](c.Out[0])
	width := int(c.Out[0].Sizes[c.Out[0].Rank()-1])
	for i := range indices.Numel() {
		k := int(countAt(indices, i))
		if k < 0 || k >= rows {
			return errIndex
		}
		loadRow(s, scales, k)
		if zeros != nil {
			loadRow(z, zeros, k)
		}
		row := w.Data[k*cols : (k+1)*cols]
		part, line := width/groups, o[i*width:(i+1)*width]
		for g := range groups {
			unpack(line[g*part:(g+1)*part], row, g*part, z[g], s[g])
		}
	}
	return nil
}

// loadRow puts row k of t, as wide as dst, into dst.
func loadRow(dst []float32, t *tensor.Tensor, k int) {
	CastBytes(bytesOf(dst), tensor.Float, t.Data[k*len(dst)*t.DType.Size():], t.DType, len(dst))
}
