package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// attentionMask is a mask; without one neither bools nor floats are there.
type attentionMask struct {
	bools  []uint8
	floats []float32
	// heads is how many heads of a batch the mask has; sizes are how many batches, heads, rows and columns it tells apart, steps are
	// from one to the next.
	heads        int
	sizes, steps [4]int
	// causal says that row r sees the columns up to start+r.
	causal bool
	start  int
}

// setup takes the mask of this many heads of all batches, rows and columns.
func (m *attentionMask) setup(c *Call, t *tensor.Tensor, sizes [3]int) (err error) {
	var have, steps [4]int
	lead := len(have) - t.Rank()
	if lead < 0 {
		return errDims
	}
	step := 1
	for i := len(have) - 1; i >= 0; i-- {
		if have[i] = 1; i >= lead {
			have[i] = int(t.Sizes[i-lead])
		}
		if have[i] != 1 {
			steps[i] = step
		}
		step *= have[i]
	}
	m.heads, m.sizes, m.steps = have[1], have, steps
	if have[1] == 1 && have[0] > 0 {
		m.heads = sizes[0] / have[0]
	}
	if have[0] != 1 && have[0]*m.heads != sizes[0] || m.heads > 0 && sizes[0]%m.heads != 0 || have[2] != 1 && have[2] != sizes[1] || have[3] != 1 && have[3] != sizes[2] {
		return errSizes
	}
	if t.DType == tensor.Bool {
		m.bools, err = contiguousOf[uint8](c, t)
	} else {
		m.floats, err = contiguousOf[float32](c, t)
	}
	return err
}

// head is where what a head sees of the mask begins.
func (m *attentionMask) head(head int) int { return head/m.heads*m.steps[0] + head%m.heads*m.steps[1] }

func (m *attentionMask) masks() bool { return m.bools != nil || m.floats != nil }

// maskLeast is from how many scores on a mask of bools has calls of a kernel.
const maskLeast = 32

// apply masks a row of scores, which begins at this head, row and column, and gives what has yet to multiply it.
func (m *attentionMask) apply(tier kernel.Tier, x []float32, scale float32, at [3]int) float32 {
	if m.causal {
		for i := max(m.start+at[1]+1-at[2], 0); i < len(x); i++ {
			x[i] = kernel.Unclamped[0]
		}
	}
	if !m.masks() {
		return scale
	}
	from, step := m.head(at[0])+at[1]*m.steps[2]+at[2]*m.steps[3], m.steps[3]
	low := kernel.Unclamped[:1]
	switch {
	case m.bools != nil && step == 1 && len(x) >= maskLeast:
		rowWhere(x, m.bools[from:][:len(x)], x, low, par{tier: tier})
		return scale
	case m.bools != nil:
		for i := range x {
			if m.bools[from+i*step] == 0 {
				x[i] = low[0]
			}
		}
		return scale
	}
	if step == 1 && kernel.AffineRowF32(tier, x, x, nil, m.floats[from:][:len(x)], 0, scale) {
		return 1
	}
	for i, v := range x {
		x[i] = float32(v*scale) + m.floats[from+i*step]
	}
	return 1
}

// end is behind the last of the first n columns of a row, which begins at from, that counts, or least if that is more.
func (m *attentionMask) end(from, least, n int) int {
	if m.bools != nil {
		x := m.bools[from:]
		for ; n-8 >= least && [8]uint8(x[n-8:]) == [8]uint8{}; n -= 8 {
		}
		for ; n > least && x[n-1] == 0; n-- {
		}
		return n
	}
	x, low := m.floats[from:], kernel.Unclamped[0]
	for ; n > least && x[n-1] == low; n-- {
	}
	return n
}

// cut leaves out the columns behind the last one that counts, such as those of a cache that is not full, and of a causal mask: their
// exponentials are 0, which is what they add unless a value is infinite or NaN, or, before a mask is added to it, a score.
func (j *attention) cut(c *Call) (err error) {
	m := &j.mask
	if !m.masks() || m.steps[3] == 0 || j.columns <= j.cols || len(j.to) == 0 {
		return nil
	}
	if j.ends, err = tempOf[int32](c, m.sizes[0]*m.sizes[1]*j.maskBlocks()); err != nil {
		return err
	}
	least, most := j.findEnds()
	if least == j.columns || !j.finite(least) {
		j.ends = nil
		return nil
	}
	j.columns, j.k.cols, j.v.rows = most, most, most
	return nil
}

// maskBlocks is how many blocks of rows of a head the mask tells apart.
func (j *attention) maskBlocks() int {
	if j.mask.sizes[2] == 1 {
		return 1
	}
	return j.blocks()
}

// findEnds finds the ends, and the least and the largest of them.
func (j *attention) findEnds() (least, most int) {
	m, blocks, height := &j.mask, j.maskBlocks(), j.height()
	least, most = j.columns, 1
	for k := range j.ends {
		from, end := k/blocks*m.sizes[2]*m.sizes[3], 1
		for r := min((k%blocks+1)*height, m.sizes[2]) - 1; r >= k%blocks*height && end < j.columns; r-- {
			end = m.end(from+r*m.steps[2], end, j.columns)
		}
		j.ends[k] = int32(end)
		least, most = min(least, end), max(most, end)
	}
	return least, most
}

// finite reports whether the columns from least on add nothing where they do not count: no value is infinite or NaN and, where a mask
// is added, no score, by the inequality of Cauchy and Schwarz.
func (j *attention) finite(least int) bool {
	if !(j.v.squares(j.tier, least, 0) <= math.MaxFloat32) {
		return false
	}
	if j.mask.floats == nil {
		return true
	}
	q, k := squares(j.tier, matrix[float32]{j.q, 1, len(j.q), len(j.q), 1}), j.k.squares(j.tier, 0, least)
	return float64(q)*float64(k)*max(1, float64(j.Scale)*float64(j.Scale)) < 1e76 // the square of what a float32 has room for
}

// squares is at least the sum of the squares of all matrices' elements from a row and a column on.
func (h *heads) squares(t kernel.Tier, row, col int) (sum float32) {
	if h.stored() {
		return h.storedSquares(t, max(row, col), h.rows*h.cols/h.store.depth)
	}
	m := h.matrix
	m.rows, m.cols = m.rows-row, m.cols-col
	if m.rows == 0 || m.cols == 0 {
		return 0
	}
	for i := range h.count {
		m.data = h.data[h.at(i)+row*m.rs+col*m.cs:]
		sum += squares(t, m)
	}
	return sum
}

// squares is the sum of the squares of a matrix's elements; infinite or NaN if one of them is, and if there is no kernel for
// them, or no dimension in which they are neighbours.
func squares(t kernel.Tier, m matrix[float32]) (sum float32) {
	if m.cs != 1 {
		m.rows, m.cols, m.rs, m.cs = m.cols, m.rows, m.cs, m.rs
	}
	if m.cs != 1 {
		return float32(math.Inf(1))
	}
	if m.rs == m.cols {
		m.rows, m.cols = 1, m.rows*m.cols
	}
	for r := range m.rows {
		s, ok := kernel.SquaresRowF32(t, m.data[r*m.rs:][:m.cols], 0)
		if !ok {
			return float32(math.Inf(1))
		}
		sum += s
	}
	return sum
}

// seen is how many columns block i of the rows of a head sees, in whole panels.
func (j *attention) seen(head, i int) int {
	if j.mask.causal {
		return min(j.whole(j.mask.start+min((i+1)*j.height(), j.rows)), j.columns)
	}
	if j.ends == nil {
		return j.columns
	}
	m, blocks := &j.mask, j.maskBlocks()
	k := m.head(head) / (m.sizes[2] * m.sizes[3])
	return min(j.whole(int(j.ends[k*blocks+min(i, blocks-1)])), j.columns)
}
