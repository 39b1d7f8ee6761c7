package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// zeros start the sums of a product without bias.
var zeros [kernel.RowPanels * kernel.MaxCols]float32

// f32Size is the size of a float32 in bytes.
const f32Size = 4

// strip computes tiles of one panel.
type strip struct {
	kernel.Tile
	micro *kernel.Gemm
	width int       // columns of the panel in memory
	cols  int       // columns of the result
	next  []float32 // what tiles have still to fetch ahead
}

// fetch lets the next tile fetch its part of next.
func (s *strip) fetch() {
	s.Ahead = nil
	if n := kernel.AheadOf(int(s.Depth * s.Segments)); n > 0 && len(s.next) > 0 {
		s.Ahead = &s.next[0]
		s.next = s.next[min(len(s.next), n):]
	}
}

// startAt lets the sums start at bias, one number for each column, or at zero without one.
func (s *strip) startAt(bias []float32) {
	s.Start = &zeros[0]
	if bias != nil {
		s.Start = &bias[0]
	}
}

// rows computes this many rows by tiles of n rows.
func (s *strip) rows(count, n int) {
	for {
		tile, tiles := min(n, count), 1
		if s.fetch(); s.Ahead == nil && s.whole() {
			tiles = count / tile
		}
		s.More = uintptr(tiles - 1)
		s.run(tile)
		done := tile * tiles
		if count -= done; count == 0 {
			return
		}
		s.Left, s.Out = behind(s.Left, done, s.Stride), behind(s.Out, done, s.OutStride)
	}
}

// behind is the address n strides after p.
func behind(p *float32, n int, stride uintptr) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), uintptr(n)*stride))
}

// whole reports that tiles write what a row has of the panel, and nothing beside it.
func (s *strip) whole() bool {
	if s.cols == s.width || s.micro.Partial() {
		s.Lacks = kernel.Lacking(s.cols)
		return true
	}
	return false
}

// run computes tiles of this many rows, or one whose results do not fill the panel and go through a buffer.
func (s *strip) run(rows int) {
	if s.whole() {
		s.call(&s.Tile, rows)
		return
	}
	var start [kernel.MaxCols]float32
	var out [kernel.MaxRows * kernel.MaxCols]float32
	copy(start[:], unsafe.Slice(s.Start, s.cols))
	edge := s.Tile
	edge.Start = &start[0]
	edge.Out, edge.OutStride = &out[0], uintptr(s.width*f32Size)
	s.call(&edge, rows)
	for i := range rows {
		copy(unsafe.Slice(behind(s.Out, i, s.OutStride), s.cols), out[i*s.width:])
	}
}

func (s *strip) call(t *kernel.Tile, rows int) {
	if s.width == s.micro.Cols {
		s.micro.Run(t, rows)
	} else {
		s.micro.RunNarrow(t, rows)
	}
}

// tiles computes rows lo to hi of the panels from to until with the tiles of a tier. T is float32, g.cs is 1.
func (g *gemm[T]) tiles(lo, hi, from, until int) {
	s := strip{micro: g.micro}
	s.Stride, s.OutStride = uintptr(g.lda*f32Size), uintptr(g.rs*f32Size)
	s.Depth, s.Segments = uintptr(g.k), 1
	s.Low, s.High = g.bounds[0], g.bounds[1]
	rows := balanced(hi-lo, max(rowBlock, leftBlock/max(g.k, 1)))
	for r := lo; r < hi; r += rows {
		end := min(r+rows, hi)
		p := from
		if end-r == 1 {
			p = g.row(&s, r, from, until)
		}
		for ; p < until; p++ {
			s.cols = min(g.cols, g.n-p*g.cols)
			s.width = g.width(s.cols)
			s.Panel = at32(g.b, p*g.cols*g.k)
			s.startAt(part32(g.bias, p*g.cols, s.cols))
			g.strips(&s, r, end, p)
		}
	}
}

// row computes row r of the panels from to until, as many as the kernel of a row takes, and gives the first one that is left.
func (g *gemm[T]) row(s *strip, r, from, until int) int {
	most := min(until, g.n/g.cols) // those that are full
	for ; from+kernel.RowPanels <= most; from += kernel.RowPanels {
		s.Left, s.Panel, s.Out = at32(g.a, r*g.lda), at32(g.b, from*g.cols*g.k), at32(g.c, r*g.rs+from*g.cols)
		s.PanelGap = uintptr(g.cols * g.k * f32Size)
		s.startAt(part32(g.bias, from*g.cols, kernel.RowPanels*g.cols))
		g.micro.RunRow(&s.Tile)
	}
	return from
}

// leftBlock is how many elements of the left factor stay in the cache while panels go by.
const leftBlock = 64 << 10

// strips computes rows lo to hi of panel p. If there are many weights, each tile fetches its part of the next panel on the way.
func (g *gemm[T]) strips(s *strip, lo, hi, p int) {
	s.Left, s.Out, s.next = at32(g.a, lo*g.lda), at32(g.c, lo*g.rs+p*g.cols), nil
	if ahead := (p + 1) * g.cols * g.k; len(g.b) > nearWeights && ahead < len(g.b) {
		s.next = floats(g.b[ahead:min(len(g.b), ahead+g.cols*g.k)])
	}
	s.rows(hi-lo, balanced(hi-lo, tileRows(g.micro.Rows, g.lda)))
}

// nearWeights is how many weights stay in a second-level cache, from where tiles have them soon enough.
const nearWeights = 16 << 10

// tileRows is how many rows a tile has at most that may have so many: fewer where all rows, lda apart, would lie in one set of a cache.
func tileRows(most, lda int) int {
	const page = 4096 / f32Size
	if lda%page == 0 {
		return min(most, 8)
	}
	return most
}

// part32 is n elements of x, which are float32, from i on; nil of nil.
func part32[T number](x []T, i, n int) []float32 {
	if x == nil {
		return nil
	}
	return floats(x[i : i+n])
}

// at32 is the address of x[i], which is a float32; x may end there.
func at32[T number](x []T, i int) *float32 {
	return (*float32)(unsafe.Pointer(unsafe.SliceData(x[i:])))
}

// floats is x, whose elements are float32; nil of nil.
func floats[T any](x []T) []float32 { return elementsAs[float32](x) }

// elementsAs is x as elements of another type of the same size.
func elementsAs[U, T any](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// balanced is the height of tiles of at most most rows that cut n rows evenly.
func balanced(n, most int) int {
	tiles := (n + most - 1) / most
	return (n + tiles - 1) / max(tiles, 1)
}
