package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

const (
	// directBlock is how many elements of the right factor all rows read before they go on, so that these are in a cache; as many of its rows or
	// columns as directLeast are at least.
	directBlock, directLeast = 1 << 16, 64
)

// directRows is how many rows are multiplied with a right factor as it lies; for more it pays to make panels of that.
const directRows = 8

// direct multiplies rows with a right factor that is read as it lies.
type direct struct {
	kernel.Gemv
	on     bool
	byRows bool // its columns are rows of what lies there
	right  matrix[float32]
}

// directOf is on if m rows are multiplied with b so.
func directOf[T number](t kernel.Tier, m int, b matrix[T]) (d direct) {
	if !isFloat32[T]() || t == kernel.Scalar || m > directRows && b.cols > 1 {
		return d
	}
	d.Gemv, d.right = kernel.GemvF32(t), matrix[float32]{floats(b.data), b.rows, b.cols, b.rs, b.cs}
	d.byRows = b.rs == 1 && b.rows > 0 && b.rows <= kernel.GemvDepth && b.rows%d.Lanes == 0
	d.on = d.byRows || m <= directRows && b.rows > 0 && b.cs == 1 && b.cols%d.Lanes == 0
	return d
}

// from is d of what lies i elements further on.
func (d direct) from(i int) direct {
	d.right.data = d.right.data[i:]
	return d
}

// row computes o = x times some columns, from column at on, plus start, which is nil for nothing and, unless byRows, may be o.
func (d *direct) row(o, x, start []float32, at int) {
	if d.byRows {
		d.Rows(o, d.right.data[at*d.right.cs:], d.right.cs, x)
		for i, s := range start {
			o[i] += s
		}
		return
	}
	if copy(o, start) == 0 {
		clear(o)
	}
	d.Columns(o, d.right.data[at:], d.right.rs, x)
}

// product computes rows lo to hi of the columns from to until of g, block by block of the right factor.
func (d *direct) product(g *gemm[float32], lo, hi, from, until int) {
	if g.n == 1 { // the rows are those of the left factor
		o := g.c[lo:hi]
		d.Rows(o, g.a[lo*g.lda:], g.lda, d.right.data[:g.k])
		for i := range o[:len(o)*len(g.bias)] {
			o[i] += g.bias[0]
		}
		clampTo(o, g.bounds)
		return
	}
	n := until - from
	if d.byRows {
		step := max(directLeast, directBlock/g.k)
		for at := from; at < until; at += step {
			n := min(step, until-at)
			for r := lo; r < hi; r++ {
				d.row(g.c[r*g.rs+at:][:n], g.a[r*g.lda:][:g.k], part32(g.bias, at, n), at)
			}
		}
	} else {
		step := max(directLeast, directBlock/n)
		for at := 0; at < g.k; at += step {
			rest := d.from(at * d.right.rs)
			for r := lo; r < hi; r++ {
				o := g.c[r*g.rs+from:][:n]
				start := o
				if at == 0 {
					start = part32(g.bias, from, n)
				}
				rest.row(o, g.a[r*g.lda:][at:min(at+step, g.k)], start, from)
			}
		}
	}
	for r := lo; r < hi; r++ {
		clampTo(g.c[r*g.rs+from:][:n], g.bounds)
	}
}
