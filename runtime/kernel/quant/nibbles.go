package quant

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Nibbles is the right factor of products of int8 rows with weights of 4 bits, which stay so in memory, packed for a tier. Weights
// have scales by row or, if there are more of them, by block of a row.
type Nibbles struct {
	// Rows is the number of results of a row of the left factor, Depth the length of the rows of both.
	Rows, Depth int
	// Panel is how many rows a panel has.
	Panel int

	tiles        *kernel.GemmS4
	blocks, size int // of a row in a panel
	grouped      bool
	data         []byte
	columnScales []float32
}

// NibblesOf are weights that are yet to be packed; scales are those of each row, or of each block of the first row, then of the
// second, and so on. It is nil where tier t has no tiles for them.
func NibblesOf(t kernel.Tier, scales []float32, rows, depth int) *Nibbles {
	g := kernel.NibblesOf(t)
	if g == nil || depth == 0 || depth > kernel.MostDepthS4 || len(scales) < rows || len(scales)%rows != 0 {
		return nil
	}
	w := &Nibbles{Rows: rows, Depth: depth, Panel: g.Cols, tiles: g, blocks: len(scales) / rows, grouped: len(scales) > rows}
	if !w.grouped {
		w.blocks = ceil(depth, kernel.MostBlockS4)
	}
	w.size = ceil(ceil(depth, w.blocks), wordBytes) * wordBytes
	if w.grouped {
		return w.ifWhole()
	}
	if w.blocks > mostExact {
		return nil
	}
	return w
}

// mostExact is how many of the longest blocks have sums of products below 2^24, which float32 has exactly.
const mostExact = 2

// ones are the scales of blocks where those of columns stand for all.
var ones = func() (o [mostExact * kernel.MaxColsS4]float32) {
	Fill(o[:], 1)
	return o
}()

func ceil(n, size int) int { return (n + size - 1) / size }

// ifWhole is w, or nil if panels do not have blocks like those of the rows.
func (w *Nibbles) ifWhole() *Nibbles {
	if w.size*w.blocks != w.Depth || w.size > kernel.MostBlockS4 {
		return nil
	}
	return w
}

// PackedBytes is how many bytes Pack writes.
func (w *Nibbles) PackedBytes() int { return w.Columns() / w.Panel * w.panelBytes() }

func (w *Nibbles) panelBytes() int { return w.tiles.PanelBytes(w.size, w.blocks) }

// Columns is the number of rows in whole panels.
func (w *Nibbles) Columns() int { return ceil(w.Rows, w.Panel) * w.Panel }

// Use sets the weights to what Pack writes to packed, with the scales that NibblesOf has seen.
func (w *Nibbles) Use(packed []byte, scales []float32) {
	w.data, w.columnScales = packed, make([]float32, w.Columns())
	for i := range w.columnScales {
		w.columnScales[i] = 1
	}
	if !w.grouped {
		copy(w.columnScales, scales)
	}
}

// Pack packs weights with the scales that NibblesOf has seen into dst, PackedBytes bytes. Rows of raw are whole
// bytes, with two weights in each, the low half first, and each 8 more than the weight.
func (w *Nibbles) Pack(dst, raw []byte, scales []float32) {
	w.pack(dst, raw, scales, ceil(w.Depth, 2), false)
}

// PackBytes is Pack of weights from -8 to 7 with a byte each.
func (w *Nibbles) PackBytes(dst []byte, rows []int8, scales []float32) {
	w.pack(dst, bytesOf(rows), scales, w.Depth, true)
}

// pack writes the panels of rows of stride bytes each; whole says that weights have a byte each.
func (w *Nibbles) pack(dst, rows []byte, scales []float32, stride int, whole bool) {
	for row := 0; row < w.Rows; row += w.Panel {
		cols := min(w.Panel, w.Rows-row)
		p := kernel.PanelS4{Weights: rows[row*stride:], Whole: whole, Stride: stride, Depth: w.Depth, Blocks: w.blocks}
		if w.grouped {
			p.Scales = scales[row*w.blocks:][:cols*w.blocks]
		} else {
			p.Scales = ones[:cols*w.blocks]
		}
		dst = w.tiles.Pack(dst, &p, w.size)
	}
}

// RowBytes is the size of a row of a left factor.
func (w *Nibbles) RowBytes() int { return w.blocks * w.tiles.RowBytes(w.size) }

// Load makes m rows of a left factor of x, where rows have Depth elements. dst has m·RowBytes bytes, which Left may use.
func (w *Nibbles) Load(dst []byte, x []int8, m int) Left {
	if w.tiles.Direct(w.Depth) && w.RowBytes() == w.Depth {
		return Left{data: bytesOf(x), stride: w.Depth}
	}
	l := Left{data: dst, stride: w.RowBytes()}
	for i := range m {
		w.tiles.Load(dst[i*l.stride:], x[i*w.Depth:(i+1)*w.Depth])
	}
	return l
}

// DynamicRows are rows of a left factor that were quantized one by one, and the way from products to results.
type DynamicRows struct {
	Left
	Rows   []kernel.DynamicRow
	Linear // Bias has Columns numbers
	// Partial has a place for the results of a panel that is not whole.
	Partial []float32
}

// Multiply sets results, whose rows are b.Stride apart and begin with the first panel of the block, to the products of the rows.
func (w *Nibbles) Multiply(o []float32, d *DynamicRows, b Block) {
	var rows [kernel.MaxRowsS4]kernel.DynamicRow
	count, size := ceil(b.Rows, w.tiles.Rows), w.panelBytes()
	t := kernel.TileS4{Stride: uintptr(d.stride), Pairs: uintptr(w.size / wordBytes), Blocks: uintptr(w.blocks), Params: &rows[0], Low: d.Low, High: d.High}
	for p := b.From; p < b.Until; p++ {
		at, cols := p*w.Panel, min(w.Panel, w.Rows-p*w.Panel)
		t.Panel, t.ColumnScales, t.Bias = &w.data[p*size : (p+1)*size][0], &w.columnScales[at], &d.Bias[at : at+w.Panel][0]
		for i := range count {
			lo, hi := b.Rows*i/count, b.Rows*(i+1)/count
			for r, row := range d.Rows[lo:hi] {
				rows[r] = kernel.DynamicRow{Zero: w.tiles.Zero(row.Zero), Scale: row.Scale}
			}
			t.Left = &d.data[lo*d.stride:][0]
			to, stride := o[lo*b.Stride+at-b.From*w.Panel:], b.Stride
			if cols < w.Panel {
				to, stride = d.Partial, w.Panel
			}
			t.Out, t.OutStride = &to[:(hi-lo-1)*stride+w.Panel][0], uintptr(stride)*unsafe.Sizeof(o[0])
			w.tiles.Run(&t, hi-lo)
			for r := lo; r < hi && cols < w.Panel; r++ {
				copy(o[r*b.Stride+at-b.From*w.Panel:][:cols], d.Partial[(r-lo)*w.Panel:])
			}
		}
	}
}
