package op

// panel is how many columns of the right factor are packed side by side.
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

// packedLen is how many elements a k × n matrix has when packed.
func packedLen(k, n int) int { return (n + panel - 1) / panel * panel * k }

// pack puts b into panels: for every panel columns the rows one after another, padded with zeros.
func pack[T number](dst []T, b matrix[T]) {
	for j := 0; j < b.cols; j += panel {
		n := min(panel, b.cols-j)
		for i := range b.rows {
			at := i*b.rs + j*b.cs
			for l := range panel {
				var x T
				if l < n {
					x = b.data[at+l*b.cs]
				}
				dst[l] = x
			}
			dst = dst[panel:]
		}
	}
}

// gemm is a product c = a·b (+ bias), of an m × k and a k × n matrix.
type gemm[T number] struct {
	m, n, k int
	a       []T // rows contiguous, lda apart
	lda     int
	b       []T // packed
	c       []T
	rs, cs  int // strides of c
	bias    []T // nil, or one a column
}

// runGemm computes g, on several threads if it is large.
func runGemm[T number](c *Call, g gemm[T]) {
	panels := (g.n + panel - 1) / panel
	if c.Parallel == nil || g.m*g.n*g.k < gemmParallelMin {
		g.block(0, g.m, 0, panels)
		return
	}
	parallelGemm(c, g, panels)
}

// parallelGemm is apart so that only it lets g escape.
func parallelGemm[T number](c *Call, g gemm[T], panels int) {
	if g.m < 16 {
		grain := max(1, gemmParallelMin/4/max(1, g.m*g.k*panel))
		c.Parallel(panels, grain, func(lo, hi int) { g.block(0, g.m, lo, hi) })
		return
	}
	grain := max(8, gemmParallelMin/4/max(1, g.n*g.k))
	c.Parallel(g.m, grain, func(lo, hi int) { g.block(lo, hi, 0, panels) })
}

// block computes rows lo to hi of the panels from to until.
func (g *gemm[T]) block(lo, hi, from, until int) {
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
