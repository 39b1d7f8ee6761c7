package op

import (
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Quantized is a linear operator or a convolution whose input, weights and result were quantized: how they stand for numbers.
type Quantized struct {
	// Static says that the quantization holds; else the input's scales and zero points are the last two arguments, numbers or
	// tensors of one element or of one for each row, and results are Float.
	Static bool
	Quantization
	// Dequantized are the weights; no zero points are.
	Dequantized
	// Convolution tells the two operators apart.
	Convolution bool
}

// PrepareIntegers makes a plan that computes in integers what two operators do: that of p, which dequantizes the input, and the
// one that reads it. args are those of the latter with quantized input and weights; a linear operator has an input, weights
// [rows, depth] and a bias; they are not kept. It is nil if p has no kernel for that, or if sums might not fit.
func PrepareIntegers(p *Plan, q Quantized, args []Value, pack PackFunc) *Plan {
	if p.Kernel.Integers == nil {
		return nil
	}
	def := &Def{Schema: "rules_pte::integers.out(Tensor input, Tensor weight, Tensor? bias, *, Tensor(a!) out) -> Tensor(a!)", Infer: func(c *Infer) error {
		return q.infer(c)
	}}
	state := p.Kernel.Integers.prepare(q, args, Options{Pack: pack, Tier: p.tier})
	if state == nil {
		return nil
	}
	dtype := tensor.Char
	if !q.Static {
		dtype, def.Tags = tensor.Float, Clamps
	}
	return &Plan{Kernel: &Kernel{Def: def, DType: dtype, Run: p.Kernel.Integers.run}, state: state, tier: p.tier, inPlace: []int{-1}}
}

// infer is the rule of the operator, with results in the order that integers have them.
func (q *Quantized) infer(c *Infer) error {
	var err error
	switch {
	case q.Convolution:
		err = inferConvolution(c)
	case q.WeightRows > 0:
		err = inferLinearOf(c, [2]tensor.Dim{tensor.Dim(q.WeightRows), tensor.Dim(c.Args[1].Tensor.Numel() / q.WeightRows)})
	default:
		err = inferLinear(c)
	}
	if err != nil {
		return err
	}
	if !q.Static {
		c.Out[0].DType = tensor.Float
	}
	if q.Convolution {
		c.Out[0].DimOrder = appendInner(c.Out[0].DimOrder[:0], c.Out[0].Rank(), c.Args[convWeight].Tensor.Rank()-2)
	}
	return nil
}

// appendInner is the order of this rank that has the channels innermost.
func appendInner(order []uint8, rank, spatial int) []uint8 {
	for d := range rank {
		if d != rank-spatial-1 {
			order = append(order, uint8(d))
		}
	}
	return append(order, uint8(rank-spatial-1))
}

// IntegerKernels compute what is between an operator that dequantizes and one that quantizes.
type IntegerKernels struct {
	prepare func(q Quantized, args []Value, o Options) State
	run     func(c *Call, s State) error
}

// integerKernels are those of int8.
var integerKernels = IntegerKernels{prepareIntegers, runIntegers}

// leastBlock is how long blocks of weights of 8 bits are, of which each has a pass over the results, where that is faster than Float.
const leastBlock = 128

// mostDepth is how many products of int8 a sum has at most.
const mostDepth = 1 << 15

// integers is the State of a product of integers.
type integers struct {
	IntegerProduct
	Quantized
	spatial int
	base    []int32
	groups  int
	// segments is how many segments a row of packed weights has.
	segments int
	data     []byte // the packed weights
	once     sync.Once
}

func prepareIntegers(q Quantized, args []Value, o Options) State {
	w := args[1].Tensor
	s := &integers{Quantized: q, groups: 1, segments: 1, spatial: w.Rank() - 2}
	o.Pack = o.Pack.orNew()
	if q.Convolution {
		s.groups = int(args[convGroups].Int)
	}
	rows := int(w.Sizes[0])
	if q.WeightRows > 0 {
		rows = q.WeightRows
	}
	if rows == 0 || w.Numel() == 0 || s.groups < 1 || rows%s.groups != 0 || w.Numel()/rows > mostDepth || !w.Contiguous() {
		return nil
	}
	s.IntegerProduct = IntegerProduct{Tier: o.Tier, Static: q.Static, Blocks: max(1, len(q.Scales)/rows), Rows: rows, Depth: w.Numel() / rows}
	if !s.setBias(args[2].Tensor) || s.Blocks > 1 && (q.Static || s.Depth%s.Blocks != 0) {
		return nil
	}
	if !q.Convolution {
		if s.packNibbles(w, o.Pack) {
			return s
		}
		if s.Blocks > 1 && s.Depth/s.Blocks < leastBlock {
			return nil
		}
		s.pack(w, o.Pack)
		return s
	}
	kernel, dilation := kernelOf(&w.Meta), axesOf(&args[convDilation], s.spatial, 1)
	g := quant.Conv{KernelHeight: kernel[1], KernelWidth: kernel[2], DilationHeight: dilation[1], DilationWidth: dilation[2],
		Groups: s.groups, GroupInputs: int(w.Sizes[1]), GroupOutputs: rows / s.groups}
	if s.groups > 1 && g.GroupInputs == 1 {
		if !q.Static {
			return nil
		}
		s.Depthwise = quant.PackDepthwise(o.Tier, s.tapRows(w), &g)
		return s
	}
	s.segments = g.Segments()
	s.pack(w, o.Pack)
	return s
}

// setBias sets base or Bias; false if the bias does not fit into sums.
func (s *integers) setBias(t *tensor.Tensor) bool {
	if t != nil && (t.DType != tensor.Float || t.Numel() != s.Rows) {
		return false
	}
	if !s.Quantized.Static {
		s.Bias = make([]float32, s.Rows)
		if t != nil {
			copy(s.Bias, elems[float32](t))
		}
		return true
	}
	s.base = make([]int32, s.Rows)
	if t == nil {
		return true
	}
	for i, b := range elems[float32](t) {
		x := math.RoundToEven(float64(b) / (float64(s.In) * float64(s.Scales[min(i, len(s.Scales)-1)])))
		if !(math.Abs(x) < 1<<30) {
			return false
		}
		s.base[i] = int32(x)
	}
	return true
}

// tapRows are the weights of a depthwise convolution, [taps, rows].
func (s *integers) tapRows(w *tensor.Tensor) []int8 {
	o := make([]int8, w.Numel())
	kernel.Transpose(o, elems[int8](w), s.Depth, s.Rows, s.Rows, s.Depth)
	return o
}

// factors are the packed factors.
func (s *integers) factors() quant.Factors {
	if s.Blocks > 1 {
		return quant.Factors{Tier: s.Tier, Count: s.Blocks, Rows: s.Rows, Depth: s.Depth / s.Blocks, Segments: 1}
	}
	return quant.Factors{Tier: s.Tier, Count: s.groups, Rows: s.Rows / s.groups, Depth: s.Depth, Segments: s.segments}
}

// packNibbles packs weights that fit 4 bits so; false where there are others, or no tiles for them.
func (s *integers) packNibbles(w *tensor.Tensor, keep PackFunc) bool {
	made := quant.NibblesOf(s.Tier, s.Scales, s.Rows, s.Depth)
	if s.Quantized.Static || made == nil || !kernel.FitS4(elems[int8](w)) {
		return false
	}
	s.Nibbles = made
	s.Bias = append(s.Bias, make([]float32, made.Columns()-s.Rows)...)
	how := Packing{Layout: "nibbles of bytes " + strconv.Itoa(s.Rows) + "x" + strconv.Itoa(s.Depth), Bytes: made.PackedBytes(), Fill: func(dst []byte) {
		made.PackBytes(dst, elems[int8](w), s.Scales)
	}}
	if len(s.Scales) > s.Rows { // which lie between the weights
		how.From = [][]byte{bytesOf(s.Scales)}
	}
	s.data = keep(w, how)
	return true
}

// pack packs the weights.
func (s *integers) pack(w *tensor.Tensor, keep PackFunc) {
	f := s.factors()
	layout := "integers " + strconv.Itoa(f.Count) + "x" + strconv.Itoa(f.Rows) + "x" + strconv.Itoa(f.Segments)
	s.data = keep(w, Packing{Layout: layout, Bytes: f.Bytes(), Fill: func(dst []byte) {
		x := s.channelsLast(w)
		f.Pack(dst, func(i int) []int8 { return s.factor(x, i) })
	}})
}

// channelsLast are the weights with the channels of a tap side by side.
func (s *integers) channelsLast(w *tensor.Tensor) []int8 {
	x := elems[int8](w)
	if !s.Convolution || int(w.Sizes[1]) == s.Depth {
		return x
	}
	channels := int(w.Sizes[1])
	taps, o := s.Depth/channels, make([]int8, len(x))
	for r := 0; r < len(x); r += s.Depth {
		for c := range channels {
			for t, v := range x[r+c*taps : r+(c+1)*taps] {
				o[r+t*channels+c] = v
			}
		}
	}
	return o
}

// factor are the rows of packed factor i.
func (s *integers) factor(x []int8, i int) []int8 {
	f := s.factors()
	count, rows, depth := f.Count, f.Rows, f.Depth
	if s.Blocks == 1 {
		return x[i*rows*depth : (i+1)*rows*depth]
	}
	block := make([]int8, rows*depth)
	for r := range rows {
		copy(block[r*depth:(r+1)*depth], x[(r*count+i)*depth:])
	}
	return block
}

// ready makes what follows from packed weights, which are there when the first call comes.
func (s *integers) ready() {
	if s.Nibbles != nil {
		s.Nibbles.Use(s.data, s.Scales)
		return
	}
	if s.Depthwise == nil {
		s.Weights = s.factors().Weights(s.data)
	}
	if s.Quantized.Static {
		s.SetStatic(&s.Quantization, s.Scales, s.base)
	} else {
		s.SetDynamic(s.Scales)
	}
}

var (
	errIntegers = errors.New("check integers: the kernel does not fit the input")
	errParams   = errors.New("check integers: want a scale, and a zero point of int8, for all rows or for each")
)

// integerCall is what a call keeps for the next one.
type integerCall struct {
	IntegerCall
	images int
	in     tensor.Tensor // the input with the channels innermost
	order  [tensor.MaxRank]uint8
}

func runIntegers(c *Call, state State) error {
	s := state.(*integers)
	s.once.Do(s.ready)
	c.left = true
	k, ok := c.kept.(*integerCall)
	if !ok {
		k = &integerCall{IntegerCall: IntegerCall{Threads: c.Threads, Parallel: c.Parallel, Alloc: c.Alloc}}
		c.kept = k
	}
	if c.Out[0].Numel() == 0 {
		return nil
	}
	if !ok || !c.same {
		if err := s.measure(c, k); err != nil {
			return err
		}
	}
	if err := s.input(c, k); err != nil {
		return err
	}
	if s.Quantized.Static {
		k.Int8 = elems[int8](c.Out[0])
		return s.Run(&k.IntegerCall, k.images)
	}
	bounds := c.bounds()
	k.Float, k.Low, k.High = elems[float32](c.Out[0]), bounds[0], bounds[1]
	if err := k.setParams(c); err != nil {
		return err
	}
	return s.Run(&k.IntegerCall, k.images)
}

// measure sets the geometry of a call.
func (s *integers) measure(c *Call, k *integerCall) error {
	in := &c.Args[0].Tensor.Meta
	if k.images = 1; !s.Convolution {
		s.SetRows(&k.IntegerCall, in.Numel()/s.Depth)
		return nil
	}
	k.in.Meta = tensor.Meta{DType: in.DType, Sizes: in.Sizes, DimOrder: appendInner(k.order[:0], in.Rank(), s.spatial)}
	v := newConv(c.Args, &k.in.Meta, &c.Out[0].Meta)
	if v.in.size[0] != 1 || v.kernel[0] != 1 || v.out.size[0] != 1 {
		return errIntegers
	}
	k.images = v.in.batch
	k.Geometry = quant.Conv{Height: v.in.size[1], Width: v.in.size[2], Channels: v.in.channels, OutHeight: v.out.size[1], OutWidth: v.out.size[2],
		KernelHeight: v.kernel[1], KernelWidth: v.kernel[2], StrideHeight: v.stride[1], StrideWidth: v.stride[2],
		DilationHeight: v.dilation[1], DilationWidth: v.dilation[2], Top: v.pad[1], Left: v.pad[2], Groups: v.groups, GroupInputs: v.inPer, GroupOutputs: v.outPer}
	return nil
}

// input sets X, with the channels innermost.
func (s *integers) input(c *Call, k *integerCall) error {
	x := c.Args[0].Tensor
	if k.X = elems[int8](x); !s.Convolution && x.Contiguous() || s.Convolution && channelsInner(&x.Meta, s.spatial) {
		return nil
	}
	if !s.Convolution {
		k.in.Meta = tensor.Meta{DType: x.DType, Sizes: x.Sizes}
	}
	b, err := c.Alloc(len(k.X))
	if err != nil {
		return err
	}
	k.in.Data = b
	Reorder(&k.in, x)
	k.X = elems[int8](&k.in)
	return nil
}

// setParams sets Params to the scales and zero points that are the last two arguments.
func (k *integerCall) setParams(c *Call) error {
	scale, zero := &c.Args[len(c.Args)-2], &c.Args[len(c.Args)-1]
	n := 1
	if scale.Tensor != nil {
		n = scale.Tensor.Numel()
	}
	rows := k.Geometry.OutHeight * k.Geometry.OutWidth * k.images
	if zero.Tensor != nil && zero.Tensor.Numel() != n || n != 1 && n != rows {
		return errParams
	}
	p, err := tempOf[float32](c, 2*n)
	if err != nil {
		return err
	}
	for i := range n {
		p[2*i], p[2*i+1] = float32(scale.number(i)), float32(zero.number(i))
		if z := p[2*i+1]; !(z >= math.MinInt8 && z <= math.MaxInt8) {
			return errParams
		}
	}
	k.Params = p
	return nil
}
