package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// zeros start the sums of a product without bias.
var zeros [kernel.MaxCols]float32

// f32Size is the size of a float32 in bytes.
const f32Size = 4

// tiles computes rows lo to hi of the panels from to until with the tiles of a tier. T is float32, g.cs is 1.
func (g *gemm[T]) tiles(lo, hi, from, until int) {
	t := kernel.Tile{Stride: uintptr(g.lda * f32Size), OutStride: uintptr(g.rs * f32Size), Depth: uintptr(g.k), Segments: 1,
		Low: kernel.Unclamped[0], High: kernel.Unclamped[1]}
	for r := lo; r < hi; r += rowBlock {
		end := min(r+rowBlock, hi)
		for p := from; p < until; p++ {
			n := min(g.cols, g.n-p*g.cols)
			t.Panel = at32(g.b, p*g.cols*g.k)
			if n == g.cols {
				g.fullStrip(&t, r, end, p)
			} else {
				g.edgeStrip(&t, r, end, p)
			}
		}
	}
}

// at32 is the address of x[i], which is a float32; x may end there.
func at32[T number](x []T, i int) *float32 {
	return (*float32)(unsafe.Pointer(unsafe.SliceData(x[i:])))
}

// floats is x, whose elements are float32.
func floats[T any](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// fullStrip computes rows lo to hi of a panel that has all its columns.
func (g *gemm[T]) fullStrip(t *kernel.Tile, lo, hi, p int) {
	t.Start = &zeros[0]
	if g.bias != nil {
		t.Start = at32(g.bias, p*g.cols)
	}
	n := balanced(hi-lo, g.micro.Rows)
	for r := lo; r < hi; r += n {
		t.Left, t.Out = at32(g.a, r*g.lda), at32(g.c, r*g.rs+p*g.cols)
		g.micro.Run(t, min(n, hi-r))
	}
}

// edgeStrip computes rows lo to hi of the last panel, which is wider than what is left of c.
func (g *gemm[T]) edgeStrip(t *kernel.Tile, lo, hi, p int) {
	var start [kernel.MaxCols]float32
	var out [kernel.MaxRows * kernel.MaxCols]float32
	cols := g.n - p*g.cols
	if g.bias != nil {
		copy(start[:cols], unsafe.Slice(at32(g.bias, p*g.cols), cols))
	}
	edge := *t
	edge.Start, edge.Out, edge.OutStride = &start[0], &out[0], uintptr(g.cols*f32Size)
	n := balanced(hi-lo, g.micro.Rows)
	for r := lo; r < hi; r += n {
		rows := min(n, hi-r)
		edge.Left = at32(g.a, r*g.lda)
		g.micro.Run(&edge, rows)
		for i := range rows {
			to := unsafe.Slice(at32(g.c, (r+i)*g.rs+p*g.cols), cols)
			copy(to, out[i*g.cols:])
		}
	}
}

// balanced is the height of tiles of at most most rows that cut n rows evenly.
func balanced(n, most int) int {
	tiles := (n + most - 1) / most
	return (n + tiles - 1) / max(tiles, 1)
}
