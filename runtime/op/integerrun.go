package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
)

// Products are divided into pieces of at most integerRows rows, and of integerColumns columns: if leastRows rows for each allow it,
// at least leastPieces for each thread.
const (
	integerRows    = 32
	integerColumns = 256 // whole panels in every tier
	leastRows      = 6
	leastPieces    = 4
)

// productMin and linesMin are how many multiplications are worth several threads, in products and in depthwise convolutions.
const (
	productMin = 1 << 19
	linesMin   = 1 << 17
)

// integerPieces are the parts of a product, or the lines of a depthwise convolution.
type integerPieces struct {
	count int
	// Pieces have at most so many rows; a line, which no piece crosses, has so many pieces.
	rows, line, perLine int
	// columns is how many blocks of columns there are; with byColumns those of a block come before the next one's, so that
	// threads read different weights.
	columns   int
	byColumns bool
}

// cut divides a product of m rows.
func (p *IntegerProduct) cut(c *IntegerCall, m int) integerPieces {
	w := integerPieces{columns: ceil(p.columnsOf(), integerColumns), byColumns: p.Rows*p.Depth > len(c.X), line: m}
	if p.strips(&c.Geometry) {
		w.line = c.Geometry.OutWidth
	}
	n, lines := max(1, ceil(w.line, integerRows)), m/max(1, w.line)
	if c.Threads > 1 {
		n = max(n, min(ceil(leastPieces*c.Threads, w.columns*max(1, lines)), w.line/leastRows))
	}
	w.rows = max(1, ceil(w.line, n))
	w.perLine = ceil(w.line, w.rows)
	w.count = lines * w.perLine * w.columns
	return w
}

// at is the first row of piece i of those of a block of columns, and how many it has.
func (w *integerPieces) at(i int) (first, rows int) {
	from := i % w.perLine * w.rows
	return i/w.perLine*w.line + from, min(w.rows, w.line-from)
}

// strips reports that the left factors of the product are strips of the image.
func (p *IntegerProduct) strips(g *quant.Conv) bool {
	return p.Depthwise == nil && p.Nibbles == nil && len(p.Weights) == 1 && !g.Direct() && g.Strips(p.Weights[0])
}

// Run computes the results of c for these images.
func (p *IntegerProduct) Run(c *IntegerCall, images int) error {
	g := &c.Geometry
	positions := images * g.OutHeight * g.OutWidth
	least := productMin
	if p.Depthwise == nil {
		c.work = p.cut(c, positions)
	} else {
		c.work, least = integerPieces{count: images * g.OutHeight}, linesMin
	}
	c.slots = Slots{Count: 1, Items: c.work.count}
	if positions*p.Rows*p.Depth >= least {
		c.slots.Count = max(1, min(c.Threads, c.work.count, MaxSlots))
	}
	b, err := c.Alloc(c.slots.Count * p.spaceOf(g).total())
	if err != nil {
		return err
	}
	c.scratch = b
	if c.body == nil {
		c.body = func(lo, hi int) { p.parts(c, lo, hi) }
	}
	if c.slots.Count == 1 {
		c.body(0, c.work.count)
		return nil
	}
	grain := 1
	if p.Depthwise.Windowed() { // lines one after the other share rows
		grain = ceil(c.work.count, 2*c.slots.Count)
	}
	c.Parallel(c.work.count, grain, c.body)
	return nil
}

func ceil(n, size int) int { return (n + size - 1) / size }

// columnsOf is how many columns the weights of a group, or of a block, have.
func (p *IntegerProduct) columnsOf() int {
	if p.Nibbles != nil {
		return p.Nibbles.Columns()
	}
	return p.Weights[0].Columns()
}

// integerSpace is the scratch of a thread: its sizes in bytes.
type integerSpace struct{ left, lines, zeros, sums, floats int }

// total is the room that a thread has.
func (s integerSpace) total() int { return s.left + s.lines + s.zeros + s.sums + s.floats + SlotGap }

// spaceOf is the scratch that a thread needs. The parts begin at multiples of 64 bytes.
func (p *IntegerProduct) spaceOf(g *quant.Conv) integerSpace {
	align := func(n int) int { return (n + 63) &^ 63 }
	if p.Depthwise.Windowed() {
		return integerSpace{left: align(g.FramesBytes())}
	}
	if p.Depthwise != nil {
		return integerSpace{zeros: align(g.Width * g.Channels), sums: align(4 * g.OutWidth * p.Rows)}
	}
	if p.Nibbles != nil {
		return integerSpace{left: align(integerRows * p.Nibbles.RowBytes()), floats: 4 * kernel.MaxRowsS4 * kernel.MaxColsS4}
	}
	s := integerSpace{sums: align(4 * integerRows * min(integerColumns, p.columnsOf()))}
	if p.strips(g) {
		s.left = align(g.StripBytes(p.Weights[0], integerRows))
		return s
	}
	if !g.Direct() {
		s.lines = quant.LineBytes
	}
	for _, w := range p.Weights {
		s.left = max(s.left, align(integerRows*w.RowBytes()))
	}
	if p.Blocks > 1 {
		s.floats = s.sums
	}
	return s
}

// integerJob is some pieces of a product with scratch.
type integerJob struct {
	*IntegerProduct
	*quant.Conv
	c      *IntegerCall
	left   []byte
	lines  []byte
	zeros  []int8
	sums   []int32
	floats []float32
}

// parts computes pieces lo to hi.
func (p *IntegerProduct) parts(c *IntegerCall, lo, hi int) {
	if lo >= hi {
		return
	}
	mine := c.slots.Enter(lo)
	defer c.slots.Leave(mine)
	sp := p.spaceOf(&c.Geometry)
	own := c.scratch[mine*sp.total() : (mine+1)*sp.total()]
	j := integerJob{IntegerProduct: p, Conv: &c.Geometry, c: c, left: own[:sp.left]}
	j.lines, own = own[sp.left:][:sp.lines], own[sp.left+sp.lines:]
	j.zeros = sliceOf[int8](own, sp.zeros)
	j.sums = sliceOf[int32](own[sp.zeros:], sp.sums/4)
	j.floats = sliceOf[float32](own[sp.zeros+sp.sums:], sp.floats/4)
	quant.Fill(j.zeros, p.ZeroIn)
	switch {
	case p.Depthwise.Windowed():
		j.windows(lo, hi)
	case p.Depthwise != nil:
		for i := lo; i < hi; i++ {
			j.line(i)
		}
	default:
		for i := lo; i < hi; i++ {
			j.pieceAt(i)
		}
	}
}

// pieceAt computes piece i.
func (j *integerJob) pieceAt(i int) {
	w := &j.c.work
	row, col := i/w.columns, i%w.columns
	if w.byColumns {
		blocks := w.count / w.columns
		row, col = i%blocks, i/blocks
	}
	first, rows := w.at(row)
	if j.Nibbles != nil {
		j.nibblePiece(first, rows, col*integerColumns)
	} else {
		j.piece(first, rows, col*integerColumns)
	}
}

// line computes one line of one image of a depthwise convolution.
func (j *integerJob) line(i int) {
	size := j.Height * j.Width * j.Channels
	l := quant.Line{Conv: j.Conv, Depthwise: j.Depthwise, X: j.c.X[i/j.OutHeight*size:], Zeros: j.zeros, Base: j.Starts[0]}
	l.Sums(j.sums, i%j.OutHeight)
	o := j.c.Int8[i*j.OutWidth*j.Rows:]
	r := quant.Rows{Tier: j.Tier, Rows: j.OutWidth, Cols: j.Rows, Stride: j.Rows, OutStride: j.Rows}
	r.Requantize(o, j.sums, j.Factors, j.Bounds)
}

// windows computes lines lo to hi of a depthwise convolution for which there are kernels of windows.
func (j *integerJob) windows(lo, hi int) {
	w := quant.Windows{Conv: j.Conv, Depthwise: j.Depthwise, X: j.c.X, Start: j.Starts[0], Factors: j.Factors, Bounds: j.Bounds}
	w.Use(j.left[:j.FramesBytes()], j.ZeroIn)
	for i := lo; i < hi; i++ {
		w.Line(j.c.Int8[i*j.OutWidth*j.Rows:], i/j.OutHeight, i%j.OutHeight)
	}
}

// piece computes m rows from first on and columns from col on, of all groups of channels.
func (j *integerJob) piece(first, m, col int) {
	var d dynamicRows
	if !j.Static {
		j.readRows(&d, first, m)
	}
	at := 0
	for i, w := range j.Weights {
		b := quant.Block{Rows: m, From: col / w.Panel, Until: min(col+integerColumns, w.Columns()) / w.Panel}
		b.Stride = (b.Until - b.From) * w.Panel
		left, start, to := j.leftOf(i, first, m, &d), j.Starts[i][col:], first*j.Rows+at+col
		if j.Static {
			r := quant.Requantized{Tier: j.Tier, Start: start, Factors: j.Factors[at+col:], Bounds: j.Bounds, Stride: j.Rows}
			w.Requantize(j.c.Int8[to:], j.sums, left, &r, b)
		} else {
			w.Multiply(j.sums, left, start, b)
			r := quant.Rows{Tier: j.Tier, Rows: m, Cols: min(integerColumns, w.Rows-col), Stride: b.Stride, OutStride: j.Rows}
			j.dynamic(i, col, to, r, &d)
		}
		if j.Blocks == 1 {
			at += w.Rows
		}
	}
}

// dynamic makes float32 of sums, and results after the last block of columns.
func (j *integerJob) dynamic(i, col, to int, r quant.Rows, d *dynamicRows) {
	k := kernel.Columns{Sums: j.Columns[i].Sums[col:], Scales: j.Columns[i].Scales[col:]}
	o := j.c.Float[to:]
	l := quant.Linear{Bias: j.Bias[to%j.Rows:], Low: j.c.Low, High: j.c.High}
	if j.Blocks == 1 {
		r.Finish(o, j.sums, &k, d[:r.Rows], &l)
		return
	}
	whole := r
	whole.Cols = r.Stride
	whole.Scale(j.floats, j.sums, &k, d[:r.Rows], i > 0)
	if i == j.Blocks-1 {
		r.Complete(o, j.floats, d[:r.Rows], &l)
	}
}

// leftOf are m rows from first on of the left factor of weights i.
func (j *integerJob) leftOf(i, first, m int, d *dynamicRows) quant.Left {
	w := j.Weights[i]
	if j.Blocks > 1 {
		return w.Load(j.left, j.c.X[first*j.Channels+i*w.Depth:], j.Channels, m)
	}
	if j.Direct() {
		return w.Load(j.left, j.c.X[first*j.Channels:], j.Channels, m)
	}
	positions, size, strips := j.OutHeight*j.OutWidth, j.Height*j.Width*j.Channels, j.strips(j.Conv)
	for r := 0; r < m; {
		image, pos := (first+r)/positions, (first+r)%positions
		n := min(m-r, positions-pos)
		zero := j.ZeroIn
		if !j.Static {
			zero = int8(d[r].Zero)
		}
		if strips {
			return j.Strip(w, j.left, j.c.X[image*size:(image+1)*size], zero, pos, m)
		}
		j.Unfold(w, j.left[r*w.RowBytes():], j.lines, j.c.X[image*size:(image+1)*size], zero, pos, n, i)
		r += n
	}
	return w.Unfolded(j.left)
}

// dynamicRows are the scales and the zero points of rows of a dynamically quantized input.
type dynamicRows [integerRows]kernel.DynamicRow

// readRows sets d to the parameters of m rows of results from first on.
func (j *integerJob) readRows(d *dynamicRows, first, m int) {
	l := j.c.Params
	per := len(j.c.Float) / j.Rows / (len(l) / 2) // rows that share parameters
	for i := range m {
		at := (first + i) / per
		d[i] = kernel.DynamicRow{Zero: int32(l[2*at+1]), Scale: l[2*at]}
	}
}

// nibblePiece computes m rows from first on and columns from col on of a product with weights of 4 bits.
func (j *integerJob) nibblePiece(first, m, col int) {
	w := j.Nibbles
	var rows dynamicRows
	j.readRows(&rows, first, m)
	d := quant.DynamicRows{Left: w.Load(j.left, j.c.X[first*w.Depth:], m), Rows: rows[:m],
		Linear: quant.Linear{Bias: j.Bias, Low: j.c.Low, High: j.c.High}, Partial: j.floats}
	b := quant.Block{Rows: m, From: col / w.Panel, Until: min(col+integerColumns, w.Columns()) / w.Panel, Stride: j.Rows}
	w.Multiply(j.c.Float[first*j.Rows+col:], &d, b)
}
