package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// panel is how many columns of the right factor are packed side by side in portable Go.
const panel = 4

// rowBlock is how many rows of the left factor go through all panels together.
const rowBlock = 64

// gemmParallelMin is the number of multiplications from which a product is divided among threads.
const gemmParallelMin = 1 << 18

// matrix is a strided view of a matrix.
type matrix[T number] struct {
	data       []T
	rows, cols int
	rs, cs     int // strides
}

// tiling is how the right factor of a product is packed, and what multiplies it.
type tiling struct {
	cols  int          // of a panel
	micro *kernel.Gemm // nil: portable Go
}

// tilingOf is the tiling for elements T in tier t.
func tilingOf[T number](t kernel.Tier) tiling {
	if isFloat32[T]() {
		if g := kernel.GemmF32(t); g != nil {
			return tiling{g.Cols, g}
		}
	}
	return tiling{cols: panel}
}

// isFloat32 reports whether T is float32; the compiler knows the answer.
func isFloat32[T number]() bool { return unsafe.Sizeof(T(0)) == 4 && T(1)/T(2) != 0 }

// panels is how many panels n columns make.
func (t tiling) panels(n int) int { return (n + t.cols - 1) / t.cols }

// width is how many columns a panel has in memory that takes the last n columns: the last panel may be narrow.
func (t tiling) width(n int) int {
	if t.micro != nil && n <= t.micro.Narrow {
		return t.micro.Narrow
	}
	return t.cols
}

// len is how many elements a k × n matrix has when packed.
func (t tiling) len(k, n int) int {
	rest := n % t.cols
	if rest > 0 {
		rest = t.width(rest)
	}
	return (n/t.cols*t.cols + rest) * k
}

// pack puts b into panels: for each the rows one after another, padded with zeros.
func pack[T number](dst []T, b matrix[T], t tiling) { packPanels(dst, b, t, false) }

// packWeights is pack for what no cache has, as constants at load; what a Run packs has just been computed.
func packWeights[T number](dst []T, b matrix[T], t tiling) { packPanels(dst, b, t, true) }

// packPanels is pack, which reads each panel ahead if that is asked for.
func packPanels[T number](dst []T, b matrix[T], t tiling, ahead bool) {
	for j := 0; j < b.cols; j += t.cols {
		n := min(t.cols, b.cols-j)
		width := t.width(n)
		part := dst[:b.rows*width]
		dst = dst[len(part):]
		if b.rows == 0 {
			continue
		}
		if b.rs == 1 && b.cs != 1 {
			if ahead {
				kernel.ReadAhead(b.data[j*b.cs:], b.rows, n, b.cs)
			}
			kernel.Transpose(part, b.data[j*b.cs:], b.rows, n, width, b.cs)
			for i := 0; n < width && i < b.rows; i++ {
				clear(part[i*width+n : (i+1)*width])
			}
			continue
		}
		if b.cs == 1 && n == width && copyRows(part, b.data[j:], b.rows, n, b.rs) {
			continue
		}
		for i := range b.rows {
			at, row := i*b.rs+j*b.cs, part[i*width:][:width]
			if b.cs == 1 {
				copy(row[:n], b.data[at:at+n])
			} else {
				for l := range row[:n] {
					row[l] = b.data[at+l*b.cs]
				}
			}
			clear(row[n:])
		}
	}
}

// copyRows copies rows of n elements, which are stride apart in src, one after another to dst, if n is the width of a panel of vectors: a
// call of copy takes longer than what it copies.
func copyRows[T number](dst, src []T, rows, n, stride int) bool {
	switch n {
	case 8:
		copyArrays[[8]T](dst, src, rows, stride)
	case 16:
		copyArrays[[16]T](dst, src, rows, stride)
	case 32:
		copyArrays[[32]T](dst, src, rows, stride)
	default:
		return false
	}
	return true
}

// copyArrays is copyRows for rows that are an A each, an array of T.
func copyArrays[A, T any](dst, src []T, rows, stride int) {
	var (
		row     A
		element T
	)
	n := int(unsafe.Sizeof(row) / unsafe.Sizeof(element))
	for i := range rows {
		*(*A)(unsafe.Pointer(unsafe.SliceData(dst[i*n : (i+1)*n]))) = *(*A)(unsafe.Pointer(unsafe.SliceData(src[i*stride : i*stride+n])))
	}
}

// gemm is a product c = a·b (+ bias), of an m × k and a k × n matrix.
type gemm[T number] struct {
	tiling
	m, n, k int
	a       []T // rows contiguous, lda apart
	lda     int
	b       []T // packed, unless it is direct
	direct  direct
	c       []T
	rs, cs  int // strides of c
	bias    []T // nil, or one a column
	bounds  [2]float32
}

// run computes g between the bounds of c, on several threads if it is large.
func (g *gemm[T]) run(c *Call) {
	g.bounds = c.bounds()
	if g.small(c) {
		g.alone()
		return
	}
	n, grain := g.pieces(c.Threads)
	share(c, g, n, grain)
	g.clamp()
}

// alone computes g on this thread.
func (g *gemm[T]) alone() {
	n, _ := g.pieces(1)
	g.parts(0, n)
	g.clamp()
}

// clamp bounds the result where no kernel did.
func (g *gemm[T]) clamp() {
	if g.micro == nil {
		clampTo(g.c[:g.m*g.n], g.bounds)
	}
}

// byPanels reports whether threads divide the panels of g, not its rows: if rows are few, and weights so many more than what they are
// multiplied with that it takes longest to fetch them.
func (g *gemm[T]) byPanels() bool { return g.m < 16 || g.n > fetchCost*g.m }

// small reports whether one thread computes g.
func (g *gemm[T]) small(c *Call) bool { return c.Parallel == nil || g.m*g.n*g.k < gemmParallelMin }

// pieces are the panels or rows that threads divide: how many there are, and how many a thread takes at least.
func (g *gemm[T]) pieces(threads int) (n, grain int) {
	if g.byPanels() {
		n, grain = g.panels(g.n), max(1, gemmParallelMin/4/max(1, g.m*g.k*g.cols))
		if g.m == 1 && g.micro != nil { // which takes panels side by side
			grain = max(grain, min(kernel.RowPanels, n/max(1, threads)))
		}
		return n, grain
	}
	return g.m, max(8, ceil(g.m, 2*max(1, threads)), gemmParallelMin/4/max(1, g.n*g.k)) // each piece reads all weights
}

// area is what pieces lo to hi are: rows, and panels from one to another.
func (g *gemm[T]) area(lo, hi int) (row, end, from, until int) {
	if g.byPanels() {
		return 0, g.m, lo, hi
	}
	return lo, hi, 0, g.panels(g.n)
}

// parts computes panels lo to hi, or rows.
func (g *gemm[T]) parts(lo, hi int) { g.block(g.area(lo, hi)) }

// block computes rows lo to hi of the panels from to until.
func (g *gemm[T]) block(lo, hi, from, until int) {
	if g.direct.on {
		g.direct.product(any(g).(*gemm[float32]), lo, hi, from*g.cols, min(until*g.cols, g.n))
		return
	}
	if g.micro != nil {
		g.tiles(lo, hi, from, until)
		return
	}
	for r := lo; r < hi; r += rowBlock {
		end := min(r+rowBlock, hi)
		for p := from; p < until; p++ {
			g.strip(r, end, p)
		}
	}
}

// strip computes rows lo to hi of one panel.
func (g *gemm[T]) strip(lo, hi, p int) {
	b := g.b[p*panel*g.k : (p+1)*panel*g.k]
	n := min(panel, g.n-p*panel)
	var bias [panel]T
	if g.bias != nil {
		copy(bias[:n], g.bias[p*panel:])
	}
	i := lo
	for ; i+2 <= hi; i += 2 {
		var o [2 * panel]T
		at := i * g.lda
		tile2(g.a[at:at+g.k], g.a[at+g.lda:at+g.lda+g.k], b, &o)
		g.store(i, p, n, o[:panel], &bias)
		g.store(i+1, p, n, o[panel:], &bias)
	}
	if i < hi {
		var o [panel]T
		tile1(g.a[i*g.lda:i*g.lda+g.k], b, &o)
		g.store(i, p, n, o[:], &bias)
	}
}

// store writes n sums of row i.
func (g *gemm[T]) store(i, p, n int, o []T, bias *[panel]T) {
	at := i*g.rs + p*panel*g.cs
	for l := range n {
		g.c[at] = o[l] + bias[l]
		at += g.cs
	}
}

// clampTo bounds x, which is float32 if there are bounds.
func clampTo[T number](x []T, bounds [2]float32) {
	if isFloat32[T]() && bounds != kernel.Unclamped {
		y := floats(x)
		for i, v := range y {
			y[i] = clampOf(v, bounds[0], bounds[1])
		}
	}
}

// tile2 multiplies two rows with a panel. Products are converted before they are
// added, so that no machine fuses the two and all give equal bits.
func tile2[T number](a0, a1, b []T, o *[2 * panel]T) {
	var s0, s1, s2, s3, t0, t1, t2, t3 T
	a1 = a1[:len(a0)]
	for k, x := range a0 {
		y, w := a1[k], b[:panel]
		b = b[panel:]
		s0 += T(x * w[0])
		t0 += T(y * w[0])
		s1 += T(x * w[1])
		t1 += T(y * w[1])
		s2 += T(x * w[2])
		t2 += T(y * w[2])
		s3 += T(x * w[3])
		t3 += T(y * w[3])
	}
	*o = [2 * panel]T{s0, s1, s2, s3, t0, t1, t2, t3}
}

// tile1 multiplies one row with a panel.
func tile1[T number](a, b []T, o *[panel]T) {
	var s0, s1, s2, s3 T
	for _, x := range a {
		w := b[:panel]
		b = b[panel:]
		s0 += T(x * w[0])
		s1 += T(x * w[1])
		s2 += T(x * w[2])
		s3 += T(x * w[3])
	}
	*o = [panel]T{s0, s1, s2, s3}
}
