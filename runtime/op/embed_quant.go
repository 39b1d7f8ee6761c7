package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/kernel"
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
	Embedding2bit = Def{
		Schema:     "quantized_decomposed::embedding_2bit.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_2bit", Infer: inferEmbedding2bit, Key: KeyOut,
	}
	Embedding2bitDtype = Def{
		Schema:     "quantized_decomposed::embedding_2bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Functional: "quantized_decomposed::embedding_2bit.dtype", Infer: inferEmbedding2bit, Key: KeyOut,
	}
)

var (
	errWeightType  = errors.New("check weight: type must be int8 or uint8")
	errWeightOrder = errors.New("check weight: the table, its scales and its zero points must be contiguous")
)

func inferEmbeddingByte(c *Infer) error { return inferQuantEmbedding(c, 1) }
func inferEmbedding4bit(c *Infer) error { return inferQuantEmbedding(c, 2) }
func inferEmbedding2bit(c *Infer) error { return inferQuantEmbedding(c, 4) }

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
	if !w.Contiguous() || !scales.Contiguous() || c.Args[2].Tensor != nil && !c.Args[2].Tensor.Contiguous() {
		return errWeightOrder
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

func runEmbeddingByte[T float](c *Call, _ State) error { return embedRows[T](c, 1) }
func runEmbedding4bit[T float](c *Call, _ State) error { return embedRows[T](c, 2) }
func runEmbedding2bit[T float](c *Call, _ State) error { return embedRows[T](c, 4) }

// embedding is a job on the indices of a call, each of which gets a row of the table.
type embedding[T float] struct {
	c                    *Call
	perByte              int
	groups, width, bytes int // of a row
}

// embedRows puts the dequantized row of each index into the out.
func embedRows[T float](c *Call, perByte int) error {
	w, indices := c.Args[0].Tensor, c.Args[5].Tensor
	for i := range indices.Numel() {
		if k := countAt(indices, i); k < 0 || k >= int64(w.Sizes[0]) {
			return &indexError{k, int(w.Sizes[0])}
		}
	}
	e := embedding[T]{c: c, perByte: perByte, groups: int(groupsOf(c.Args[1].Tensor)), bytes: int(w.Sizes[1])}
	e.width = e.bytes * perByte
	share(c, &e, indices.Numel(), max(1, parallelGrain/max(e.width, 1)))
	return nil
}

func (e *embedding[T]) parts(lo, hi int) {
	w, scales, zeros, indices := e.c.Args[0].Tensor, e.c.Args[1].Tensor, e.c.Args[2].Tensor, e.c.Args[5].Tensor
	part, o := e.width/e.groups, elems[T](e.c.Out[0])
	for i := lo; i < hi; i++ {
		k := int(countAt(indices, placeAt(&indices.Meta, i)))
		row, line := w.Data[k*e.bytes:(k+1)*e.bytes], o[i*e.width:(i+1)*e.width]
		for g := range e.groups {
			a := affine{scale: float32(NumberAt(scales, k*e.groups+g))}
			if zeros != nil {
				a.zero = float32(NumberAt(zeros, k*e.groups+g))
			}
			switch to := line[g*part : (g+1)*part]; {
			case e.perByte > 1:
				e.packed(to, row, g*part, a)
			case w.DType == tensor.Char:
				embedPart(e.c.Tier, to, sliceOf[int8](row, len(row))[g*part:][:part], a)
			default:
				embedPart(e.c.Tier, to, row[g*part:][:part], a)
			}
		}
	}
}

// embedPart dequantizes q.
func embedPart[T float, S int8 | uint8](t kernel.Tier, o []T, q []S, a affine) {
	if isFloat32[T]() {
		dequantizeTo(t, floats(o), q, a)
		return
	}
	for i, v := range q {
		o[i] = T((float32(v) - a.zero) * a.scale)
	}
}

// packed dequantizes elements of a row that has several in a byte, from element at on.
func (e *embedding[T]) packed(o []T, row []byte, at int, a affine) {
	var words [32]uint64
	q, spread := elementsAs[int8](bytesOf(words[:])), spread4
	if e.perByte == 4 {
		spread = spread2
	}
	for len(o) > 0 {
		skip := at % e.perByte
		n := min(len(o), len(q)-skip)
		spread(words[:], row[at/e.perByte:][:ceil(skip+n, e.perByte)])
		embedPart(e.c.Tier, o[:n], q[skip:][:n], a)
		o, at = o[n:], at+n
	}
}

// spread4 sets words to the halves of b as int8, 8 less than they are, the high one first.
func spread4(words []uint64, b []byte) {
	for ; len(b) > 0; words = words[1:] {
		n := min(len(b), 4)
		var x uint64
		if n == 4 {
			x = uint64(b[0]) | uint64(b[1])<<16 | uint64(b[2])<<32 | uint64(b[3])<<48
		} else {
			for i, v := range b {
				x |= uint64(v) << (16 * i)
			}
		}
		x = x>>4&0x000f000f000f000f | x&0x000f000f000f000f<<8 ^ 0x0808080808080808
		words[0] = x | x&0x0808080808080808*0x1e // the sign
		b = b[n:]
	}
}

// spread2 sets words to the quarters of b as int8, 2 less than they are, the low one first.
func spread2(words []uint64, b []byte) {
	for ; len(b) > 0; words = words[1:] {
		n := min(len(b), 2)
		x := uint64(b[0])
		if n == 2 {
			x |= uint64(b[1]) << 32
		}
		x = (x | x<<12) & 0x000f000f000f000f
		x = (x|x<<6)&0x0303030303030303 ^ 0x0202020202020202
		words[0] = x | x&0x0202020202020202*0x7e // the sign
		b = b[n:]
	}
}
