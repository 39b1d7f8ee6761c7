// Package quant computes on 8-bit integers with sums in int32: products of matrices, convolutions, and the way to and
// from real numbers, x = (q - zero)·scale.
package quant

// panel is how many rows of the weights are packed side by side.
const panel = 4

// Weights is the right factor of products, packed: for every panel rows the columns one after another.
type Weights struct {
	Rows, Depth int
	// Sums are the sums of the rows.
	Sums []int32
	data []int8
}

// Pack packs rows of depth integers each.
func Pack(w []int8, rows, depth int) *Weights {
	p := &Weights{Rows: rows, Depth: depth, Sums: make([]int32, rows), data: make([]int8, (rows+panel-1)/panel*panel*depth)}
	for r := range rows {
		at := r/panel*panel*depth + r%panel
		for k, x := range w[r*depth : (r+1)*depth] {
			p.data[at+k*panel] = x
			p.Sums[r] += int32(x)
		}
	}
	return p
}

// Multiply sets c[i·Rows+j] to the product of row i of a, rows being lda apart, and row j of the weights, for i < m.
func (w *Weights) Multiply(c []int32, a []int8, lda, m int) {
	for p := 0; p < w.Rows; p += panel {
		n := min(panel, w.Rows-p)
		b := w.data[p*w.Depth : (p+panel)*w.Depth]
		i := 0
		for ; i+2 <= m; i += 2 {
			o := tile2(a[i*lda:i*lda+w.Depth], a[(i+1)*lda:(i+1)*lda+w.Depth], b)
			copy(c[i*w.Rows+p:i*w.Rows+p+n], o[:panel])
			copy(c[(i+1)*w.Rows+p:(i+1)*w.Rows+p+n], o[panel:])
		}
		if i < m {
			o := tile1(a[i*lda:i*lda+w.Depth], b)
			copy(c[i*w.Rows+p:i*w.Rows+p+n], o[:])
		}
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
