package rt

import (
	"math"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// product is a linear operator or convolution on 8-bit inputs with constant weights. It is immutable once weigh has run.
type product struct {
	op.IntegerProduct
	// scales are the scales of the weights, by row and block.
	scales []float32
	base   []int32 // what is added to the products of a row
	// low and high bound the results of dynamic inputs.
	low, high float32
	// weigh sets weights, while the graph is compiled.
	weigh func()
	// columns says that the weights of a row lie a line of all rows apart.
	columns bool
}

// integers makes a product of a node, or nil if the node is not one: inputs have to be int8, with static parameters and
// int8 results or with dynamic ones and float32 results; weights have to be constant, and inputs may not be.
func (c *compiler) integers(n *blob.Node) *product {
	x, w, out := c.values[n.Inputs[0]], c.values[n.Inputs[1]], c.values[n.Outputs[0]]
	p := &product{IntegerProduct: op.IntegerProduct{Tier: c.ctx.Tier, Static: x.Type == blob.QInt8, Blocks: 1}, low: n.Min, high: n.Max}
	switch {
	case !(x.Type == blob.QInt8 && out.Type == blob.QInt8) && !(x.Type == blob.QDInt8 && out.Type == blob.FP32):
		return nil
	case x.Constant != 0 || w.Constant == 0 || !integerWeights(w, n) || n.Flags&blob.TransposeWeights != 0 || len(w.Dims) == 0 || w.Numel() == 0:
		return nil
	case n.Type == blob.DepthwiseConv2d && !(p.Static && w.Dims[0] == 1) || w.Quant.Kind == blob.PerGroup && p.Static:
		return nil
	}
	p.Rows = int(w.Dims[0])
	if n.Type == blob.DepthwiseConv2d {
		p.Rows = int(w.Dims[len(w.Dims)-1])
	}
	p.scales = c.scales(w)
	if c.err != nil || !c.addBias(p, n, x, w) {
		return nil
	}
	if c.listed != nil {
		return p
	}
	if w.Quant.Kind == blob.PerGroup {
		p.Blocks = len(p.scales) / p.Rows
	}
	if c.packWeights(p, n, w); c.err != nil {
		return nil
	}
	c.jobs = append(c.jobs, backend.Packing{Bytes: w.Numel(), Run: func() {
		p.weigh()
		switch {
		case p.Static:
			p.setStatic(n, x, out)
		case p.Nibbles == nil:
			p.SetDynamic(p.scales)
		}
	}})
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
	if p.Static {
		p.base = make([]int32, p.Rows)
	} else {
		p.Bias = make([]float32, p.Rows)
	}
	if b == nil {
		return true
	}
	integer := b.Type == blob.QInt32 || b.Type == blob.QCInt32
	if b.Constant == 0 || b.Numel() != p.Rows || p.Static != integer || !p.Static && b.Type != blob.FP32 {
		return false
	}
	raw := c.bytesOf(b.Constant, b.Bytes())
	switch {
	case c.err != nil:
		return false
	case c.listed != nil:
	case p.Static:
		copy(p.base, sliceOf[int32](raw, p.Rows))
	default:
		copy(p.Bias, sliceOf[float32](raw, p.Rows))
	}
	return true
}

// packWeights says how p is to pack its weights, once for all programs of the file.
func (c *compiler) packWeights(p *product, n *blob.Node, w *value) {
	raw := c.bytesOf(w.Constant, w.Bytes())
	if c.err != nil {
		return
	}
	p.Depth = w.Numel() / p.Rows
	if p.columns = n.Type == blob.DepthwiseConv2d; p.columns && n.Conv().Groups > 1 {
		p.weigh = func() {
			k := n.Conv()
			g := kernelOf(&k)
			p.Depthwise = quant.PackDepthwise(p.Tier, sliceOf[int8](raw, len(raw)), &g)
		}
		return
	}
	if n.Type == blob.FullyConnected && w.Type.Bits() == 4 && c.packNibbles(p, n, w, raw) {
		return
	}
	groups, segments := 1, 1
	if n.Type == blob.Conv2d {
		k := n.Conv()
		g := kernelOf(&k)
		groups, segments = k.Groups, g.Segments()
	}
	f := quant.Factors{Tier: p.Tier, Count: groups, Rows: p.Rows / groups, Depth: p.Depth, Segments: segments}
	if p.Blocks > 1 {
		f.Count, f.Rows, f.Depth = p.Blocks, p.Rows, p.Depth/p.Blocks
	}
	layout := "integers "
	if p.columns {
		layout += "by columns "
	}
	layout += w.Type.String() + " " + dimsText(w.Dims) + itoa(uint32(groups)) + " " + itoa(uint32(p.Blocks)) + " " + itoa(uint32(segments))
	s, err := c.shared("xnnpack "+layout+" "+address(raw), f.Bytes(), layout, raw)
	if err != nil {
		return
	}
	p.weigh = func() {
		c.write(s, raw, func(dst []byte) { p.pack(dst, f, raw, w.Value) })
		p.Weights = f.Weights(s.data)
	}
}

// pack packs the weights of each group or, of all rows, each block.
func (p *product) pack(dst []byte, f quant.Factors, raw []byte, v *blob.Value) {
	w := sliceOf[int8](raw, len(raw))
	if v.Type.Bits() == 4 {
		w = make([]int8, p.Rows*p.Depth)
		for i := range w {
			w[i] = int8(integerAt(raw, v.Type, i, p.Depth))
		}
	}
	if p.columns {
		rows := make([]int8, len(w))
		for i, x := range w {
			rows[i%p.Rows*p.Depth+i/p.Rows] = x
		}
		w = rows
	}
	if p.Blocks == 1 {
		f.Pack(dst, func(i int) []int8 { return w[i*f.Rows*f.Depth : (i+1)*f.Rows*f.Depth] })
		return
	}
	block := make([]int8, f.Rows*f.Depth)
	f.Pack(dst, func(i int) []int8 {
		for r := range f.Rows {
			copy(block[r*f.Depth:(r+1)*f.Depth], w[r*p.Depth+i*f.Depth:])
		}
		return block
	})
}

// setStatic is SetStatic of node n, which makes out of x.
func (p *product) setStatic(n *blob.Node, x, out *value) {
	b := boundsOf(n, &out.Quant)
	p.SetStatic(&op.Quantization{In: x.Quant.Scale, ZeroIn: x.Quant.ZeroPoint, Out: out.Quant.Scale, ZeroOut: out.Quant.ZeroPoint,
		Low: b.Low, High: b.High}, p.scales, p.base)
}

// boundsOf are the bounds of n's results, of int8 with q.
func boundsOf(n *blob.Node, q *blob.Quant) quant.Bounds {
	zero, inverse := float32(q.ZeroPoint), 1/q.Scale
	return quant.Bounds{Zero: zero, Low: quant.Round(n.Min*inverse, zero, math.MinInt8, math.MaxInt8), High: quant.Round(n.Max*inverse, zero, math.MinInt8, math.MaxInt8)}
}

// rowParams are the scale and the zero point of row r of a dynamically quantized input.
func rowParams(params *tensor.Tensor, r int) (scale float32, zero int32) {
	l := sliceOf[float32](params.Data, 2*r+2)
	return l[2*r], int32(l[2*r+1])
}
