package rt

import (
	"sync"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// product is a linear operator or convolution on 8-bit inputs with constant weights, and the way from its sums to
// results. It is immutable.
type product struct {
	tier kernel.Tier
	// weights are those of each group of channels, or of each block of columns.
	weights []*quant.Weights
	// nibbles are weights of 4 bits that stay so, instead of weights.
	nibbles *quant.Nibbles
	// blocks is the number of blocks of columns; 1 but for weights quantized by group. A row of all of them has depth elements.
	blocks, rows, depth int
	// scales are the scales of the weights, by row and block.
	scales []float32
	// depthwise are the weights of a depthwise convolution.
	depthwise *quant.Depthwise
	// starts are what the sums of each of the weights start at.
	starts [][]int32
	// static says that input and results have one scale and zero point each: a result is sum·factors, bounded.
	static  bool
	zeroIn  int8
	base    []int32 // what is added to the products of a row
	factors []float32
	bounds  quant.Bounds
	// columns and bias are those of dynamic inputs; low and high bound their results.
	columns   []kernel.Columns
	bias      []float32
	low, high float32
	// weigh sets weights or depthwise, while the graph is compiled.
	weigh func()
}

// integers makes a product of a node, or nil if the node is not one: inputs have to be int8, with static parameters and
// int8 results or with dynamic ones and float32 results; weights have to be constant, and inputs may not be.
func (c *compiler) integers(n *blob.Node) *product {
	x, w, out := c.values[n.Inputs[0]], c.values[n.Inputs[1]], c.values[n.Outputs[0]]
	p := &product{tier: c.ctx.Tier, static: x.Type == blob.QInt8, blocks: 1}
	switch {
	case !(x.Type == blob.QInt8 && out.Type == blob.QInt8) && !(x.Type == blob.QDInt8 && out.Type == blob.FP32):
		return nil
	case x.Constant != 0 || w.Constant == 0 || !integerWeights(w, n) || n.Flags&blob.TransposeWeights != 0 || len(w.Dims) == 0 || w.Numel() == 0:
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
	if c.listed != nil {
		return p
	}
	if w.Quant.Kind == blob.PerGroup {
		p.blocks = len(p.scales) / p.rows
	}
	if c.packWeights(p, n, w); c.err != nil {
		return nil
	}
	c.later(w.Numel(), func() {
		p.weigh()
		switch {
		case p.static:
			p.addFactors(n, x, out)
		case p.nibbles == nil:
			p.addColumns(n)
		}
	})
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
	p.base, p.bias = make([]int32, p.rows), make([]float32, p.rows)
	if b == nil {
		return true
	}
	integer := b.Type == blob.QInt32 || b.Type == blob.QCInt32
	if b.Constant == 0 || b.Numel() != p.rows || p.static != integer || !p.static && b.Type != blob.FP32 {
		return false
	}
	raw := c.bytesOf(b.Constant, b.Bytes())
	switch {
	case c.err != nil:
		return false
	case c.listed != nil:
	case p.static:
		copy(p.base, sliceOf[int32](raw, p.rows))
	default:
		copy(p.bias, sliceOf[float32](raw, p.rows))
	}
	return true
}

// sharedWeights are packed weights that the programs of a file share.
type sharedWeights struct {
	data []byte
	once sync.Once
	list []*quant.Weights
}

// packWeights says how p is to pack its weights, once for all programs of the file.
func (c *compiler) packWeights(p *product, n *blob.Node, w *value) {
	raw := c.bytesOf(w.Constant, w.Bytes())
	if c.err != nil {
		return
	}
	if p.depth = w.Numel() / p.rows; n.Type == blob.DepthwiseConv2d {
		p.weigh = func() { p.depthwise = quant.PackDepthwise(p.tier, sliceOf[int8](raw, len(raw)), p.rows) }
		return
	}
	if n.Type == blob.FullyConnected && w.Type.Bits() == 4 && c.packNibbles(p, n, w, raw) {
		return
	}
	groups := 1
	if n.Type == blob.Conv2d {
		groups = n.Conv().Groups
	}
	count, rows, depth := groups, p.rows/groups, p.depth
	if p.blocks > 1 {
		count, rows, depth = p.blocks, p.rows, p.depth/p.blocks
	}
	size := quant.PackedBytes(p.tier, rows, depth)
	key := "xnnpack integers " + address(raw) + " " + w.Type.String() + " " + dimsText(w.Dims) + itoa(uint32(groups)) + " " + itoa(uint32(p.blocks))
	made, err := c.ctx.Share(key, func() (any, error) {
		b, err := c.constants(count * size)
		return &sharedWeights{data: b}, err
	})
	if err != nil {
		c.failWith(err)
		return
	}
	s := made.(*sharedWeights)
	p.weigh = func() {
		s.once.Do(func() {
			s.list = p.pack(sliceOf[int8](s.data, len(s.data)), raw, w.Value, rows)
			c.release(raw)
		})
		p.weights = s.list
	}
}

// pack packs to dst the weights of each group of rows rows or, of all rows, each block.
func (p *product) pack(dst []int8, raw []byte, v *blob.Value, rows int) []*quant.Weights {
	w := sliceOf[int8](raw, len(raw))
	if v.Type.Bits() == 4 {
		w = make([]int8, p.rows*p.depth)
		for i := range w {
			w[i] = int8(integerAt(raw, v.Type, i, p.depth))
		}
	}
	var list []*quant.Weights
	add := func(w []int8, depth int) {
		n := quant.PackedBytes(p.tier, rows, depth)
		list = append(list, quant.Pack(p.tier, dst[:n:n], w, rows, depth))
		dst = dst[n:]
	}
	if p.blocks == 1 {
		for at := 0; at < p.rows; at += rows {
			add(w[at*p.depth:(at+rows)*p.depth], p.depth)
		}
		return list
	}
	size := p.depth / p.blocks
	block := make([]int8, rows*size)
	for b := range p.blocks {
		for r := range rows {
			copy(block[r*size:(r+1)*size], w[r*p.depth+b*size:])
		}
		add(block, size)
	}
	return list
}

// addFactors makes starts, factors and bounds of a static product.
func (p *product) addFactors(n *blob.Node, x, out *value) {
	zero, inverse := float32(out.Quant.ZeroPoint), 1/out.Quant.Scale
	p.zeroIn = int8(x.Quant.ZeroPoint)
	p.bounds = quant.Bounds{Zero: zero, Low: quant.Round(n.Min*inverse, zero, -128, 127), High: quant.Round(n.Max*inverse, zero, -128, 127)}
	p.factors = make([]float32, p.rows)
	for i := range p.factors {
		p.factors[i] = x.Quant.Scale * p.scales[min(i, len(p.scales)-1)] / out.Quant.Scale
	}
	if p.depthwise != nil {
		p.starts = [][]int32{p.depthwise.Start(p.base, x.Quant.ZeroPoint)}
		return
	}
	at := 0
	for _, w := range p.weights {
		base := p.base[at : at+w.Rows]
		for i, s := range w.Sums {
			base[i] -= x.Quant.ZeroPoint * s
		}
		p.starts = append(p.starts, w.Start(base))
		at += w.Rows
	}
}

// addColumns makes starts, columns and bounds of a dynamic product.
func (p *product) addColumns(n *blob.Node) {
	p.low, p.high = n.Min, n.Max
	first := 0
	for i, w := range p.weights {
		c := kernel.Columns{Sums: make([]int32, w.Columns()), Scales: make([]float32, w.Columns())}
		copy(c.Sums, w.Sums)
		for r := range w.Rows {
			at := first + r
			if p.blocks > 1 {
				at = r*p.blocks + i
			}
			c.Scales[r] = p.scales[min(at, len(p.scales)-1)]
		}
		if p.blocks == 1 {
			first += w.Rows
		}
		p.columns, p.starts = append(p.columns, c), append(p.starts, w.Start(nil))
	}
}

// rowParams are the scale and the zero point of row r of a dynamically quantized input.
func rowParams(params *tensor.Tensor, r int) (scale float32, zero int32) {
	l := sliceOf[float32](params.Data, 2*r+2)
	return l[2*r], int32(l[2*r+1])
}
