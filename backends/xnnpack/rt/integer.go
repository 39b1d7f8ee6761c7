package rt

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// product is a linear operator or convolution on 8-bit inputs with constant weights, and the way from its sums to
// results. It is immutable.
type product struct {
	// weights are those of each group of channels, or of each block of columns.
	weights []*quant.Weights
	// blocks is the number of blocks of columns; 1 but for weights quantized by group.
	blocks, rows int
	// scales are the scales of the weights, by row and block.
	scales []float32
	// plain are the weights of a depthwise convolution.
	plain []int8
	// static says that input and results have one scale and zero point each: a result is acc·factors + zero, bounded.
	static              bool
	zeroIn              int32
	base                []int32 // what is added to the sums of a row
	factors             []float32
	zeroOut, low, high  float32
	bias                []float32 // of dynamic inputs; nil for none
	lowFloat, highFloat float32
}

// integers makes a product of a node, or nil if the node is not one: inputs have to be int8, with static parameters and
// int8 results or with dynamic ones and float32 results; weights have to be constant.
func (c *compiler) integers(n *blob.Node) *product {
	x, w, out := c.values[n.Inputs[0]], c.values[n.Inputs[1]], c.values[n.Outputs[0]]
	p := &product{static: x.Type == blob.QInt8, blocks: 1}
	switch {
	case !(x.Type == blob.QInt8 && out.Type == blob.QInt8) && !(x.Type == blob.QDInt8 && out.Type == blob.FP32):
		return nil
	case w.Constant == 0 || !integerWeights(w, n) || n.Flags&blob.TransposeWeights != 0 || len(w.Dims) == 0 || w.Numel() == 0:
		return nil
	case n.Type == blob.DepthwiseConv2d && !p.static || w.Quant.Kind == blob.PerGroup && p.static:
		return nil
	}
	p.rows = int(w.Dims[0])
	if n.Type == blob.DepthwiseConv2d {
		p.rows = int(w.Dims[len(w.Dims)-1])
	}
	p.scales = c.scales(w)
	if c.err != nil || !c.addBias(p, n, x, w) {
		return nil
	}
	if w.Quant.Kind == blob.PerGroup {
		p.blocks = len(p.scales) / p.rows
	}
	c.addWeights(p, n, w)
	if p.static {
		c.addFactors(p, n, x, out)
	} else {
		p.lowFloat, p.highFloat = n.Min, n.Max
	}
	return p
}

// integerWeights reports weights in int8 or less whose scales go along the results.
func integerWeights(w *value, n *blob.Node) bool {
	switch w.Type {
	case blob.QInt8:
		return w.Quant.ZeroPoint == 0
	case blob.QCInt8, blob.QCInt4, blob.QBInt4:
		want := 0
		if n.Type == blob.DepthwiseConv2d {
			want = len(w.Dims) - 1
		}
		return int(w.Quant.ChannelDim) == want
	}
	return false
}

// addBias sets base or bias; false if the bias is of another kind.
func (c *compiler) addBias(p *product, n *blob.Node, x, w *value) bool {
	b := c.values[n.Inputs[2]]
	if b == nil {
		p.base = make([]int32, p.rows)
		return true
	}
	integer := b.Type == blob.QInt32 || b.Type == blob.QCInt32
	if b.Constant == 0 || b.Numel() != p.rows || p.static != integer || !p.static && b.Type != blob.FP32 {
		return false
	}
	raw := c.bytesOf(b.Constant, b.Bytes())
	if c.err != nil {
		return false
	}
	if p.static {
		p.base = append([]int32(nil), sliceOf[int32](raw, p.rows)...)
	} else {
		p.bias = sliceOf[float32](raw, p.rows)
	}
	return true
}

// addWeights packs the weights, once for all programs of the file.
func (c *compiler) addWeights(p *product, n *blob.Node, w *value) {
	raw := c.bytesOf(w.Constant, w.Bytes())
	if c.err != nil {
		return
	}
	if n.Type == blob.DepthwiseConv2d {
		p.plain = sliceOf[int8](raw, len(raw))
		return
	}
	groups := 1
	if n.Type == blob.Conv2d {
		groups = n.Conv().Groups
	}
	key := "xnnpack integers " + address(raw) + " " + w.Type.String() + " " + dimsText(w.Dims) + itoa(uint32(groups)) + " " + itoa(uint32(p.blocks))
	made, err := c.ctx.Share(key, func() (any, error) { return packIntegers(raw, w.Value, p.rows, groups, p.blocks), nil })
	if err != nil {
		c.err = err
		return
	}
	p.weights = made.([]*quant.Weights)
}

// packIntegers packs the rows of each group of channels, or the columns of each block.
func packIntegers(raw []byte, v *blob.Value, rows, groups, blocks int) []*quant.Weights {
	depth := v.Numel() / rows
	w := sliceOf[int8](raw, len(raw))
	if v.Type.Bits() == 4 {
		w = make([]int8, rows*depth)
		for i := range w {
			w[i] = int8(integerAt(raw, v.Type, i, depth))
		}
	}
	var list []*quant.Weights
	if blocks == 1 {
		per := rows / groups
		for g := range groups {
			list = append(list, quant.Pack(w[g*per*depth:(g+1)*per*depth], per, depth))
		}
		return list
	}
	size := depth / blocks
	block := make([]int8, rows*size)
	for b := range blocks {
		for r := range rows {
			copy(block[r*size:(r+1)*size], w[r*depth+b*size:])
		}
		list = append(list, quant.Pack(block, rows, size))
	}
	return list
}

// addFactors makes base, factors and bounds of a static product.
func (c *compiler) addFactors(p *product, n *blob.Node, x, out *value) {
	p.zeroIn, p.zeroOut = x.Quant.ZeroPoint, float32(out.Quant.ZeroPoint)
	inverse := 1 / out.Quant.Scale
	p.low, p.high = quant.Round(n.Min*inverse, p.zeroOut, -128, 127), quant.Round(n.Max*inverse, p.zeroOut, -128, 127)
	p.factors = make([]float32, p.rows)
	for i := range p.factors {
		p.factors[i] = x.Quant.Scale * p.scales[min(i, len(p.scales)-1)] / out.Quant.Scale
	}
	at := 0
	for _, w := range p.weights { // depthwise ones subtract the zero point themselves
		for _, s := range w.Sums {
			p.base[at] -= p.zeroIn * s
			at++
		}
	}
}

// finish makes results of the sums of rows from first on.
func (p *product) finish(o []int8, sums []int32, first int) {
	for i, s := range sums {
		o[i] = int8(quant.Round(float32(s+p.base[first+i])*p.factors[first+i], p.zeroOut, p.low, p.high))
	}
}

// accumulate adds the sums of one block of columns, or of one group of channels, to results of rows from first on.
func (p *product) accumulate(o []float32, sums []int32, w *quant.Weights, first, block int, zero int32) {
	for i, s := range sums {
		at := (first+i)*p.blocks + block
		o[i] += float32(s-zero*w.Sums[i]) * p.scales[min(at, len(p.scales)-1)]
	}
}

// complete scales accumulated results and adds the bias of rows from first on.
func (p *product) complete(o []float32, first int, scale float32) {
	for i, v := range o {
		v *= scale
		if p.bias != nil {
			v += p.bias[first+i]
		}
		o[i] = min(max(v, p.lowFloat), p.highFloat)
	}
}

// rowParams are the scale and the zero point of row r of a dynamically quantized input.
func rowParams(params *tensor.Tensor, r int) (scale float32, zero int32) {
	l := sliceOf[float32](params.Data, 2*r+2)
	return l[2*r], int32(l[2*r+1])
}

// linear is a step of a linear operator. Arguments are the input and, if it is dynamic, its parameters.
func (p *product) linear(flatten bool) func(*ownCall) error {
	return func(c *ownCall) error {
		in, out := c.args[0], c.outs[0]
		depth := 0
		for _, w := range p.weights {
			depth += w.Depth
		}
		last := len(in.Sizes) - 1
		if last < 0 || int(in.Sizes[last]) != depth {
			return backend.Fail(pte.InvalidArgument, "the input's last size is not the weights'")
		}
		m := in.Numel() / max(depth, 1)
		sizes := append(c.sizes[:0], in.Sizes...)
		if flatten {
			sizes = append(c.sizes[:0], tensor.Dim(m), 0)
		}
		sizes[len(sizes)-1] = tensor.Dim(p.rows)
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		b, err := c.alloc(4 * m * p.rows)
		if err != nil {
			return err
		}
		c.scratch = b
		if c.body == nil {
			c.body = func(lo, hi int) { p.linearRows(c, lo, hi) }
		}
		c.parallel(m, 8, c.body)
		return nil
	}
}

// linearRows computes rows lo to hi of the results.
func (p *product) linearRows(c *ownCall, lo, hi int) {
	x, sums := sliceOf[int8](c.args[0].Data, c.args[0].Numel()), sliceOf[int32](c.scratch, len(c.scratch)/4)
	if p.static {
		p.linearStatic(c.outs[0], x, sums, lo, hi)
	} else {
		p.linearDynamic(c.args[1], c.outs[0], x, sums, lo, hi)
	}
}

func (p *product) linearStatic(out *tensor.Tensor, x []int8, sums []int32, lo, hi int) {
	w := p.weights[0]
	w.Multiply(sums[lo*p.rows:hi*p.rows], x[lo*w.Depth:], w.Depth, hi-lo)
	o := sliceOf[int8](out.Data, out.Numel())
	for i := lo; i < hi; i++ {
		p.finish(o[i*p.rows:(i+1)*p.rows], sums[i*p.rows:(i+1)*p.rows], 0)
	}
}

func (p *product) linearDynamic(params, out *tensor.Tensor, x []int8, sums []int32, lo, hi int) {
	o := sliceOf[float32](out.Data, out.Numel())
	clear(o[lo*p.rows : hi*p.rows])
	depth := len(p.weights) * p.weights[0].Depth
	per := out.Numel() / p.rows / (params.Numel() / 2) // rows that share parameters
	for b, w := range p.weights {
		w.Multiply(sums[lo*p.rows:hi*p.rows], x[lo*depth+b*w.Depth:], depth, hi-lo)
		for i := lo; i < hi; i++ {
			_, zero := rowParams(params, i/per)
			p.accumulate(o[i*p.rows:(i+1)*p.rows], sums[i*p.rows:(i+1)*p.rows], w, 0, b, zero)
		}
	}
	for i := lo; i < hi; i++ {
		scale, _ := rowParams(params, i/per)
		p.complete(o[i*p.rows:(i+1)*p.rows], 0, scale)
	}
}

// convShares is into how many shares a convolution is divided, convBlock how many positions are unfolded at a time.
const (
	convShares = 8
	convBlock  = 64
)

// geometry is the convolution of a node over an input of these sizes; ok is false if the kernel does not fit.
func geometry(k *blob.Conv, in []tensor.Dim) (g quant.Conv, ok bool) {
	g = quant.Conv{
		Height: int(in[1]), Width: int(in[2]), Channels: int(in[3]), KernelHeight: k.KernelHeight, KernelWidth: k.KernelWidth,
		StrideHeight: k.StrideHeight, StrideWidth: k.StrideWidth, DilationHeight: k.DilationHeight, DilationWidth: k.DilationWidth,
		Top: k.Top, Left: k.Left, Groups: k.Groups, GroupInputs: k.GroupInputs, GroupOutputs: k.GroupOutputs,
	}
	spanH := g.Height + k.Top + k.Bottom - (k.KernelHeight-1)*k.DilationHeight - 1
	spanW := g.Width + k.Left + k.Right - (k.KernelWidth-1)*k.DilationWidth - 1
	if spanH < 0 || spanW < 0 || g.Channels != g.Groups*g.GroupInputs {
		return g, false
	}
	g.OutHeight, g.OutWidth = spanH/k.StrideHeight+1, spanW/k.StrideWidth+1
	return g, true
}

// conv is a step of a convolution. Arguments are the input and, if it is dynamic, its parameters, by image.
func (p *product) conv(k blob.Conv) func(*ownCall) error {
	return func(c *ownCall) error {
		in, out := c.args[0], c.outs[0]
		g, ok := geometry(&k, in.Sizes)
		if !ok {
			return backend.Fail(pte.InvalidArgument, "the kernel does not fit the input")
		}
		sizes := append(c.sizes[:0], in.Sizes[0], tensor.Dim(g.OutHeight), tensor.Dim(g.OutWidth), tensor.Dim(p.rows))
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		scratch, err := c.alloc(convShares * p.convShare(&g))
		if err != nil {
			return err
		}
		c.geometry, c.scratch = g, scratch
		if c.body == nil {
			c.body = func(lo, hi int) {
				for s := lo; s < hi; s++ {
					p.convPart(c, s)
				}
			}
		}
		c.parallel(convShares, 1, c.body)
		return nil
	}
}

// convShare is the bytes of scratch of a share: sums, and unfolded rows.
func (p *product) convShare(g *quant.Conv) int { return convBlock * (g.Depth() + 4*p.rows) }

// convPart computes share s of all blocks of all images.
func (p *product) convPart(c *ownCall, s int) {
	g := &c.geometry
	size := p.convShare(g)
	own := c.scratch[s*size : (s+1)*size]
	j := convJob{p, g, sliceOf[int32](own, convBlock*p.rows), sliceOf[int8](own[4*convBlock*p.rows:], convBlock*g.Depth())}
	blocks := (g.OutHeight*g.OutWidth + convBlock - 1) / convBlock
	total := blocks * int(c.args[0].Sizes[0])
	for b := total * s / convShares; b < total*(s+1)/convShares; b++ {
		j.block(c, b/blocks, b%blocks*convBlock)
	}
}

// convJob is one share of a convolution with its scratch.
type convJob struct {
	*product
	*quant.Conv
	sums []int32
	rows []int8
}

// block computes up to convBlock positions of an image.
func (j *convJob) block(c *ownCall, image, pos int) {
	size, positions := j.Height*j.Width*j.Channels, j.OutHeight*j.OutWidth
	x := sliceOf[int8](c.args[0].Data, (image+1)*size)[image*size:]
	m, from := min(convBlock, positions-pos), (image*positions+pos)*j.product.rows
	switch {
	case j.plain != nil:
		o := sliceOf[int8](c.outs[0].Data, c.outs[0].Numel())[from:]
		for i := range m {
			j.Depthwise(j.sums[:j.product.rows], x, j.plain, pos+i, j.zeroIn)
			j.finish(o[i*j.product.rows:(i+1)*j.product.rows], j.sums[:j.product.rows], 0)
		}
	case j.static:
		o := sliceOf[int8](c.outs[0].Data, c.outs[0].Numel())[from:]
		j.groups(x, pos, m, int8(j.zeroIn), func(i, first int, _ *quant.Weights, sums []int32) {
			j.finish(o[i*j.product.rows+first:][:len(sums)], sums, first)
		})
	default:
		o := sliceOf[float32](c.outs[0].Data, c.outs[0].Numel())[from:]
		scale, zero := rowParams(c.args[1], image)
		j.groups(x, pos, m, int8(zero), func(i, first int, w *quant.Weights, sums []int32) {
			row := o[i*j.product.rows+first:][:len(sums)]
			clear(row)
			j.accumulate(row, sums, w, first, 0, zero)
			j.complete(row, first, scale)
		})
	}
}

// groups gives the sums of m positions from pos on to done, group by group.
func (j *convJob) groups(x []int8, pos, m int, zero int8, done func(i, first int, w *quant.Weights, sums []int32)) {
	depth := j.Depth()
	for g, w := range j.weights {
		a := j.rows
		if j.Direct() {
			a = x[pos*j.Channels:]
		} else {
			j.Unfold(a, x, pos, m, g, zero)
		}
		w.Multiply(j.sums[:m*w.Rows], a, depth, m)
		for i := range m {
			done(i, g*w.Rows, w, j.sums[i*w.Rows:(i+1)*w.Rows])
		}
	}
}
