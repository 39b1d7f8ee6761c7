// Package quant computes on 8-bit integers with sums in int32: products of matrices, convolutions, and the way to and
// from real numbers, x = (q - zero)·scale.
package quant

import (
	"slices"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// panel is how many rows of the weights are packed side by side in portable Go.
const panel = 4

// Weights is the right factor of products, packed for a tier: for every panel of rows the columns one after another.
type Weights struct {
	// Rows is the number of results of a row of the left factor, Depth the length of the rows of both. A row has Segments parts of equal
	// length, each of whole groups, so that the parts of a row of the left factor may lie apart.
	Rows, Depth, Segments int
	// Sums are the sums of the rows.
	Sums []int32
	// Panel is how many rows a panel has.
	Panel int

	tiles *kernel.GemmS8 // nil: portable Go
	data  []int8
}

// PackedBytes is how many bytes Pack writes.
func PackedBytes(t kernel.Tier, rows, depth, segments int) int {
	p := weightsOf(t, rows, depth, segments)
	return p.Columns() / p.Panel * p.panelBytes()
}

// weightsOf are weights that are yet to be packed.
func weightsOf(t kernel.Tier, rows, depth, segments int) *Weights {
	p := &Weights{Rows: rows, Depth: depth, Segments: segments, Panel: panel, tiles: kernel.IntegersOf(t)}
	if depth == 0 {
		p.tiles = nil
	}
	if p.tiles != nil {
		p.Panel = p.tiles.Cols
	}
	return p
}

// panelBytes is the size of a packed panel.
func (w *Weights) panelBytes() int {
	if w.tiles == nil {
		return w.Panel * w.Depth
	}
	return w.Segments * w.tiles.PanelBytes(w.Depth/w.Segments)
}

// Pack packs rows of depth integers each, of so many segments, for tier t into dst, PackedBytes zeros, which stay in use.
func Pack(t kernel.Tier, dst, w []int8, rows, depth, segments int) *Weights {
	p := weightsOf(t, rows, depth, segments)
	p.data, p.Sums = dst, make([]int32, rows)
	if p.tiles == nil {
		p.packPortable(w)
		return p
	}
	size, segment := p.panelBytes(), depth/segments
	var sums [kernel.MaxColsS8]int32
	for r := 0; r < rows; r += p.Panel {
		part := p.data[r/p.Panel*size:][:size]
		for s := range segments {
			p.tiles.Pack(part[s*size/segments:], w[r*depth+s*segment:rows*depth-(segments-1-s)*segment], segment, depth)
		}
		p.tiles.Sums(sums[:], part, size/p.Panel)
		copy(p.Sums[r:], sums[:p.Panel])
	}
	return p
}

// Packed are weights that Pack has packed for tier t to data before, with the sums of their rows.
func Packed(t kernel.Tier, data []int8, sums []int32, depth, segments int) *Weights {
	p := weightsOf(t, len(sums), depth, segments)
	p.data, p.Sums = data, sums
	return p
}

func (w *Weights) packPortable(rows []int8) {
	for r := range w.Rows {
		for _, x := range rows[r*w.Depth : (r+1)*w.Depth] {
			w.Sums[r] += int32(x)
		}
	}
	for r := range w.Rows {
		at := r/panel*panel*w.Depth + r%panel
		for k, x := range rows[r*w.Depth : (r+1)*w.Depth] {
			w.data[at+k*panel] = x
		}
	}
}

// Columns is the number of rows in whole panels.
func (w *Weights) Columns() int { return (w.Rows + w.Panel - 1) / w.Panel * w.Panel }

// flip is how much more than they are bytes of a left factor are where tiles flip, and those of windows.
const flip = 128

// Start is what sums start at so that base, which has Rows numbers or none, is added to the products: Columns numbers.
func (w *Weights) Start(base []int32) []int32 {
	start := slices.Grow(slices.Clone(base), w.Columns())[:w.Columns()]
	clear(start[len(base):])
	for i, s := range w.Sums {
		if w.tiles != nil && w.tiles.Flips {
			start[i] -= flip * s
		}
	}
	return start
}

// elementBytes is the size of an element of a left factor.
func (w *Weights) elementBytes() int {
	if w.tiles == nil {
		return 1
	}
	return w.tiles.RowBytes(w.tiles.Group) / w.tiles.Group
}

// RowBytes is the size of a row of a left factor.
func (w *Weights) RowBytes() int {
	if w.tiles == nil {
		return w.Depth
	}
	return w.Segments * w.tiles.RowBytes(w.Depth/w.Segments)
}

// Left are rows of a left factor, as the tier wants them.
type Left struct {
	data   []byte
	stride int
	gap    int // bytes from the end of a segment to the start of the next
}

// segmentBytes is the size of a segment of a row of a left factor.
func (w *Weights) segmentBytes() int { return w.RowBytes() / w.Segments }

// Load makes m rows of a left factor of x, where rows are lda apart, for weights of one segment. dst has m·RowBytes bytes, which Left may use.
func (w *Weights) Load(dst []byte, x []int8, lda, m int) Left {
	if w.tiles == nil || w.tiles.Direct(w.Depth) {
		return Left{data: bytesOf(x), stride: lda}
	}
	l := Left{data: dst, stride: w.RowBytes()}
	if lda == w.Depth { // what the last group of a row lacks is what the next row begins with, or anything behind the last one
		w.tiles.Load(dst, x[:m*lda])
		l.stride = lda * w.elementBytes()
		return l
	}
	for i := range m {
		w.tiles.Load(dst[i*l.stride:], x[i*lda:i*lda+w.Depth])
	}
	return l
}

// Unfolded is the left factor whose rows Conv.Unfold wrote to dst.
func (w *Weights) Unfolded(dst []byte) Left { return Left{data: dst, stride: w.RowBytes()} }

// put makes elements of a row of a left factor.
func (w *Weights) put(dst []byte, x []int8) {
	if w.tiles == nil {
		copy(dst, bytesOf(x))
		return
	}
	w.tiles.Load(dst, x)
}

// bytesOf is the memory of x.
func bytesOf[T int8 | int32](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// Block is some rows and panels of a product.
type Block struct {
	Rows        int
	From, Until int // panels
	Stride      int // of the sums, at least the columns of the panels
}

// Multiply sets sums to start, from the first panel of the block on, plus the products of the rows of a.
func (w *Weights) Multiply(sums []int32, a Left, start []int32, b Block) {
	if w.tiles != nil {
		w.multiplyTiles(sums, a, start, b)
		return
	}
	for p := b.From; p < b.Until; p++ {
		right, first, at := w.data[p*panel*w.Depth:(p+1)*panel*w.Depth], start[(p-b.From)*panel:], (p-b.From)*panel
		i := 0
		for ; i+2 <= b.Rows; i += 2 {
			o := tile2(a.row(i, w.Depth), a.row(i+1, w.Depth), right)
			addTo(sums[i*b.Stride+at:], o[:panel], first)
			addTo(sums[(i+1)*b.Stride+at:], o[panel:], first)
		}
		if i < b.Rows {
			o := tile1(a.row(i, w.Depth), right)
			addTo(sums[i*b.Stride+at:], o[:], first)
		}
	}
}

func addTo(o, x, y []int32) {
	for i, v := range x {
		o[i] = v + y[i]
	}
}

// row is row i of n elements, as they were given.
func (l *Left) row(i, n int) []int8 {
	b := l.data[i*l.stride : i*l.stride+n]
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// multiplyTiles is Multiply in tiles.
func (w *Weights) multiplyTiles(sums []int32, a Left, start []int32, b Block) {
	t := kernel.TileS8{OutStride: uintptr(4 * b.Stride)}
	for p := b.From; p < b.Until; p++ {
		at := (p - b.From) * w.Panel
		t.Start, t.Out = &start[at : at+w.Panel][0], unsafe.Pointer(&sums[at : (b.Rows-1)*b.Stride+at+w.Panel][0])
		w.panelTiles(&t, a, b.Rows, p)
	}
}

// panelTiles computes rows of panel p in tiles whose heights differ by one at most. t has what all of them have in common, and where the
// results of the first row go.
func (w *Weights) panelTiles(t *kernel.TileS8, a Left, rows, p int) {
	size, out := w.panelBytes(), t.Out
	t.Stride, t.Depth, t.Panel = uintptr(a.stride), uintptr(w.tiles.Groups(w.Depth/w.Segments)), &w.data[p*size : (p+1)*size][0]
	t.Segments, t.Gap = uintptr(w.Segments), uintptr(a.gap)
	count := (rows + w.tiles.Rows - 1) / w.tiles.Rows
	for i := range count {
		lo, hi := rows*i/count, rows*(i+1)/count
		t.Left, t.Out = &a.data[lo*a.stride:][0], unsafe.Add(out, lo*int(t.OutStride))
		if w.Rows-p*w.Panel <= w.tiles.Narrow {
			w.tiles.RunNarrow(t, hi-lo)
		} else {
			w.tiles.Run(t, hi-lo)
		}
	}
}

// Requantized is the way from the sums of a product to int8. Start and Factors have a number for each column, also of those of a last panel
// that the weights lack, whatever it is there.
type Requantized struct {
	Tier    kernel.Tier
	Start   []int32
	Factors []float32
	Bounds  Bounds
	Stride  int // of the results
}

// Requantize sets o to the products of the rows of a, as Multiply and Rows.Requantize make them, but for columns behind the last one. It
// may change sums, which Multiply would set.
func (w *Weights) Requantize(o []int8, sums []int32, a Left, r *Requantized, b Block) {
	at, end := 0, min(b.Until*w.Panel, w.Rows)-b.From*w.Panel
	if w.tiles != nil {
		z := r.Bounds.Zero
		t := kernel.TileS8{Low: r.Bounds.Low - z, High: r.Bounds.High - z, Zero: int32(z)}
		for ; at < end; b.From++ {
			cols, narrow := min(w.Panel, end-at), w.tiles.Narrow
			if cols > narrow && cols < w.Panel {
				break // of the sums, Rows.Requantize makes vectors that overlap
			}
			t.Start, t.Factors, t.OutStride = &r.Start[at : at+w.Panel][0], &r.Factors[at : at+max(cols, narrow)][0], uintptr(r.Stride)
			to := o[at : (b.Rows-1)*r.Stride+at+cols]
			if t.Out = unsafe.Pointer(&to[0]); cols < narrow { // a tile stores more, from where these are copied
				t.Out, t.OutStride = unsafe.Pointer(&sums[:b.Rows*w.Panel][0]), uintptr(w.Panel)
			}
			w.panelTiles(&t, a, b.Rows, b.From)
			if cols < narrow {
				spread(bytesOf(to), bytesOf(sums), spreading{count: b.Rows, size: cols, step: w.Panel, stride: r.Stride, room: cols})
			}
			at += cols
		}
	}
	if at < end {
		w.Multiply(sums, a, r.Start[at:], b)
		rows := Rows{Tier: r.Tier, Rows: b.Rows, Cols: end - at, Stride: b.Stride, OutStride: r.Stride}
		rows.Requantize(o[at:], sums, r.Factors[at:], r.Bounds)
	}
}

// tile2 multiplies two rows with a panel.
func tile2(a0, a1, b []int8) [2 * panel]int32 {
	var s0, s1, s2, s3, t0, t1, t2, t3 int32
	a1 = a1[:len(a0)]
	for k, x := range a0 {
		w := b[:panel]
		b = b[panel:]
		u, v := int32(x), int32(a1[k])
		w0, w1, w2, w3 := int32(w[0]), int32(w[1]), int32(w[2]), int32(w[3])
		s0 += u * w0
		t0 += v * w0
		s1 += u * w1
		t1 += v * w1
		s2 += u * w2
		t2 += v * w2
		s3 += u * w3
		t3 += v * w3
	}
	return [2 * panel]int32{s0, s1, s2, s3, t0, t1, t2, t3}
}

// tile1 multiplies one row with a panel.
func tile1(a, b []int8) [panel]int32 {
	var s0, s1, s2, s3 int32
	for _, x := range a {
		w := b[:panel]
		b = b[panel:]
		u := int32(x)
		s0 += u * int32(w[0])
		s1 += u * int32(w[1])
		s2 += u * int32(w[2])
		s3 += u * int32(w[3])
	}
	return [panel]int32{s0, s1, s2, s3}
}
