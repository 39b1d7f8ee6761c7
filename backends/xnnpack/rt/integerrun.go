package rt

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Products are divided into pieces of at most rowBlock rows, and of columnBlock columns: if leastRows rows for each allow it,
// at least leastPieces for each thread.
const (
	rowBlock    = 32
	columnBlock = 256 // whole panels in every tier
	leastRows   = 6
	leastPieces = 4
)

// productMin and linesMin are how many multiplications are worth several threads, in products and in depthwise convolutions.
const (
	productMin = 1 << 19
	linesMin   = 1 << 17
)

// linear is a step of a linear operator. Arguments are the input and, if it is dynamic, its parameters.
func (p *product) linear(flatten bool) func(*ownCall) error {
	return func(c *ownCall) error {
		in, out := c.args[0], c.outs[0]
		last := len(in.Sizes) - 1
		if last < 0 || int(in.Sizes[last]) != p.depth {
			return backend.Fail(pte.InvalidArgument, "the input's last size is not the weights'")
		}
		m := in.Numel() / max(p.depth, 1)
		sizes := append(c.sizes[:0], in.Sizes...)
		if flatten {
			sizes = append(c.sizes[:0], tensor.Dim(m), 0)
		}
		sizes[len(sizes)-1] = tensor.Dim(p.rows)
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		c.geometry = quant.Conv{Height: 1, Width: m, Channels: p.depth, OutHeight: 1, OutWidth: m, KernelHeight: 1, KernelWidth: 1,
			StrideHeight: 1, StrideWidth: 1, Groups: 1, GroupInputs: p.depth, GroupOutputs: p.rows}
		return p.run(c, 1)
	}
}

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
		c.geometry = g
		return p.run(c, int(in.Sizes[0]))
	}
}

// pieces are the parts of a product, or the lines of a depthwise convolution.
type pieces struct {
	count, rows int
	// columns is how many blocks of columns there are; with byColumns those of a block come before the next one's, so that
	// threads read different weights.
	columns   int
	byColumns bool
}

// cut divides a product of m rows.
func (p *product) cut(c *ownCall, m int) pieces {
	w := pieces{columns: ceil(p.columnsOf(), columnBlock), byColumns: p.rows*p.depth > c.args[0].Numel()}
	n := max(1, ceil(m, rowBlock))
	if c.threads > 1 {
		n = max(n, min(ceil(leastPieces*c.threads, w.columns), m/leastRows))
	}
	w.rows = max(1, ceil(m, n))
	w.count = ceil(m, w.rows) * w.columns
	return w
}

// run computes c.geometry for these images.
func (p *product) run(c *ownCall, images int) error {
	g := &c.geometry
	positions := images * g.OutHeight * g.OutWidth
	least := productMin
	if p.depthwise == nil {
		c.work = p.cut(c, positions)
	} else {
		c.work, least = pieces{count: images * g.OutHeight}, linesMin
	}
	c.slots = op.Slots{Count: 1, Items: c.work.count}
	if positions*p.rows*p.depth >= least {
		c.slots.Count = max(1, min(c.threads, c.work.count, op.MaxSlots))
	}
	b, err := c.alloc(c.slots.Count * p.spaceOf(g).total())
	if err != nil {
		return err
	}
	c.scratch = b
	if c.body == nil {
		c.body = func(lo, hi int) { p.parts(c, lo, hi) }
	}
	if c.slots.Count == 1 {
		c.body(0, c.work.count)
	} else {
		c.parallel(c.work.count, 1, c.body)
	}
	return nil
}

func ceil(n, size int) int { return (n + size - 1) / size }

// columnsOf is how many columns the weights of a group, or of a block, have.
func (p *product) columnsOf() int {
	if p.nibbles != nil {
		return p.nibbles.Columns()
	}
	return p.weights[0].Columns()
}

// space is the scratch of a thread: its sizes in bytes.
type space struct{ left, zeros, sums, floats int }

// total is the room that a thread has.
func (s space) total() int { return s.left + s.zeros + s.sums + s.floats + op.SlotGap }

// spaceOf is the scratch that a thread needs. The parts begin at multiples of 64 bytes.
func (p *product) spaceOf(g *quant.Conv) space {
	align := func(n int) int { return (n + 63) &^ 63 }
	if p.depthwise != nil {
		return space{zeros: align(g.Width * g.Channels), sums: align(4 * g.OutWidth * p.rows)}
	}
	if p.nibbles != nil {
		return space{left: align(rowBlock * p.nibbles.RowBytes()), floats: 4 * kernel.MaxRowsS4 * kernel.MaxColsS4}
	}
	s := space{zeros: align(g.KernelWidth * g.GroupInputs), sums: align(4 * rowBlock * min(columnBlock, p.columnsOf()))}
	for _, w := range p.weights {
		s.left = max(s.left, align(rowBlock*w.RowBytes()))
	}
	if p.blocks > 1 {
		s.floats = s.sums
	}
	return s
}

// job is some pieces of a product with scratch.
type job struct {
	*product
	*quant.Conv
	c      *ownCall
	x      []int8
	left   []byte
	zeros  []int8
	sums   []int32
	floats []float32
}

// parts computes pieces lo to hi.
func (p *product) parts(c *ownCall, lo, hi int) {
	if lo >= hi {
		return
	}
	mine := c.slots.Enter(lo)
	defer c.slots.Leave(mine)
	sp := p.spaceOf(&c.geometry)
	own := c.scratch[mine*sp.total() : (mine+1)*sp.total()]
	j := job{product: p, Conv: &c.geometry, c: c, x: sliceOf[int8](c.args[0].Data, c.args[0].Numel()), left: own[:sp.left]}
	own = own[sp.left:]
	j.zeros = sliceOf[int8](own, sp.zeros)
	j.sums = sliceOf[int32](own[sp.zeros:], sp.sums/4)
	j.floats = sliceOf[float32](own[sp.zeros+sp.sums:], sp.floats/4)
	if p.static && !c.geometry.Direct() {
		fill(j.zeros, p.zeroIn)
	}
	for i := lo; i < hi; i++ {
		if p.depthwise != nil {
			j.line(i)
		} else {
			j.pieceAt(i)
		}
	}
}

// pieceAt computes piece i.
func (j *job) pieceAt(i int) {
	w := &j.c.work
	row, col := i/w.columns, i%w.columns
	if w.byColumns {
		blocks := w.count / w.columns
		row, col = i%blocks, i/blocks
	}
	if j.nibbles != nil {
		j.nibblePiece(row*w.rows, col*columnBlock)
	} else {
		j.piece(row*w.rows, col*columnBlock)
	}
}

// fill sets all of x to v.
func fill[T any](x []T, v T) {
	if len(x) == 0 {
		return
	}
	x[0] = v
	for n := 1; n < len(x); n *= 2 {
		copy(x[n:], x[:n])
	}
}

// line computes one line of one image of a depthwise convolution.
func (j *job) line(i int) {
	size := j.Height * j.Width * j.Channels
	l := quant.Line{Conv: j.Conv, Depthwise: j.depthwise, X: j.x[i/j.OutHeight*size:], Zeros: j.zeros, Base: j.starts[0]}
	l.Sums(j.sums, i%j.OutHeight)
	o := sliceOf[int8](j.c.outs[0].Data, j.c.outs[0].Numel())[i*j.OutWidth*j.rows:]
	r := quant.Rows{Tier: j.tier, Rows: j.OutWidth, Cols: j.rows, Stride: j.rows, OutStride: j.rows}
	r.Requantize(o, j.sums, j.factors, j.bounds)
}

// piece computes rows from first on and columns from col on, of all groups of channels.
func (j *job) piece(first, col int) {
	m := min(j.c.work.rows, j.c.outs[0].Numel()/j.rows-first)
	var d dynamicRows
	if !j.static {
		d.read(j.c, first, m)
	}
	at := 0
	for i, w := range j.weights {
		b := quant.Block{Rows: m, From: col / w.Panel, Until: min(col+columnBlock, w.Columns()) / w.Panel}
		b.Stride = (b.Until - b.From) * w.Panel
		w.Multiply(j.sums, j.leftOf(i, first, m, &d), j.starts[i][col:], b)
		r := quant.Rows{Tier: j.tier, Rows: m, Cols: min(columnBlock, w.Rows-col), Stride: b.Stride, OutStride: j.product.rows}
		switch to := first*j.product.rows + at + col; {
		case j.static:
			o := sliceOf[int8](j.c.outs[0].Data, j.c.outs[0].Numel())
			r.Requantize(o[to:], j.sums, j.factors[at+col:], j.bounds)
		default:
			j.dynamic(i, col, to, r, &d)
		}
		if j.blocks == 1 {
			at += w.Rows
		}
	}
}

// dynamic makes float32 of sums, and results after the last block of columns.
func (j *job) dynamic(i, col, to int, r quant.Rows, d *dynamicRows) {
	k := kernel.Columns{Sums: j.columns[i].Sums[col:], Scales: j.columns[i].Scales[col:]}
	o := sliceOf[float32](j.c.outs[0].Data, j.c.outs[0].Numel())[to:]
	l := quant.Linear{Bias: j.bias[to%j.product.rows:], Low: j.low, High: j.high}
	if j.blocks == 1 {
		r.Finish(o, j.sums, &k, d[:r.Rows], &l)
		return
	}
	whole := r
	whole.Cols = r.Stride
	whole.Scale(j.floats, j.sums, &k, d[:r.Rows], i > 0)
	if i == j.blocks-1 {
		r.Complete(o, j.floats, d[:r.Rows], &l)
	}
}

// leftOf are m rows from first on of the left factor of weights i.
func (j *job) leftOf(i, first, m int, d *dynamicRows) quant.Left {
	w := j.weights[i]
	if j.blocks > 1 {
		return w.Load(j.left, j.x[first*j.Channels+i*w.Depth:], j.Channels, m)
	}
	if j.Direct() {
		return w.Load(j.left, j.x[first*j.Channels:], j.Channels, m)
	}
	positions, size := j.OutHeight*j.OutWidth, j.Height*j.Width*j.Channels
	for r := 0; r < m; {
		image, pos := (first+r)/positions, (first+r)%positions
		n := min(m-r, positions-pos)
		if !j.static {
			fill(j.zeros, int8(d[r].Zero))
		}
		j.Unfold(w, j.left[r*w.RowBytes():], j.x[image*size:(image+1)*size], j.zeros, pos, n, i)
		r += n
	}
	return w.Unfolded(j.left)
}

// dynamicRows are the scales and the zero points of rows of a dynamically quantized input.
type dynamicRows [rowBlock]kernel.DynamicRow

// read sets d to the parameters of m rows of results from first on.
func (d *dynamicRows) read(c *ownCall, first, m int) {
	params := c.args[1]
	l := sliceOf[float32](params.Data, params.Numel())
	per := c.outs[0].Numel() / int(c.outs[0].Sizes[len(c.outs[0].Sizes)-1]) / (len(l) / 2) // rows that share parameters
	for i := range m {
		at := (first + i) / per
		d[i] = kernel.DynamicRow{Zero: int32(l[2*at+1]), Scale: l[2*at]}
	}
}
