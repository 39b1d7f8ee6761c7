package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// maxOperands is the most operands of a nest, the out included.
const maxOperands = 4

// rowTile is how many elements of an operand that is strided within a row, or broadcasts, are written out at once.
const rowTile = 1024

// nest walks over the elements of an out tensor in the order of its memory, row
// by row, with the operands that are broadcast to it. Operand 0 is the out.
type nest struct {
	// rank counts the merged dimensions, the row included; at least 1.
	rank  int
	count int // operands
	sizes [tensor.MaxRank]int
	// strides in elements; those of a dimension that an operand is broadcast over are 0.
	strides [maxOperands][tensor.MaxRank]int
	index   [tensor.MaxRank]int
	off     [maxOperands]int
}

// row is the elements in a row.
func (n *nest) row() int { return n.sizes[n.rank-1] }

// step is the stride of operand k within a row.
func (n *nest) step(k int) int { return n.strides[k][n.rank-1] }

// rows counts the rows.
func (n *nest) rows() int {
	rows := 1
	for _, s := range n.sizes[:n.rank-1] {
		rows *= s
	}
	if n.row() == 0 {
		return 0
	}
	return rows
}

// setup makes the nest over out of the operands ins, each of which broadcasts to out; nil ones are left out.
func (n *nest) setup(out *tensor.Meta, ins ...*tensor.Meta) error {
	var order [tensor.MaxRank]int
	n.memoryOrder(out, &order)
	n.count = 1
	for _, in := range ins {
		if in == nil {
			continue
		}
		if err := n.addOperand(out, in, &order); err != nil {
			return err
		}
	}
	n.merge()
	return nil
}

// memoryOrder starts the nest with out's dimensions, outermost in memory first.
func (n *nest) memoryOrder(out *tensor.Meta, order *[tensor.MaxRank]int) {
	n.rank = len(out.Sizes)
	var strides [tensor.MaxRank]int
	stridesOf(out, &strides)
	for i := range n.rank {
		order[i] = i
		if len(out.DimOrder) != 0 {
			order[i] = int(out.DimOrder[i])
		}
		n.sizes[i] = int(out.Sizes[order[i]])
		n.strides[0][i] = strides[order[i]]
	}
}

func (n *nest) addOperand(out, in *tensor.Meta, order *[tensor.MaxRank]int) error {
	shift := len(out.Sizes) - len(in.Sizes)
	if shift < 0 {
		return errBroadcast
	}
	var strides [tensor.MaxRank]int
	stridesOf(in, &strides)
	dst := &n.strides[n.count]
	for i := range n.rank {
		d := order[i] - shift
		dst[i] = 0
		if d < 0 || in.Sizes[d] == 1 {
			continue
		}
		if in.Sizes[d] != out.Sizes[order[i]] {
			return errBroadcast
		}
		dst[i] = strides[d]
	}
	n.count++
	return nil
}

// merge drops dimensions of size 1 and joins neighbours that every operand steps through as one.
func (n *nest) merge() {
	to := 0
	for i := range n.rank {
		if n.sizes[i] == 1 {
			continue
		}
		if to > 0 && n.joins(to-1, i) {
			n.sizes[to-1] *= n.sizes[i]
			for k := range n.count {
				n.strides[k][to-1] = n.strides[k][i]
			}
			continue
		}
		n.sizes[to] = n.sizes[i]
		for k := range n.count {
			n.strides[k][to] = n.strides[k][i]
		}
		to++
	}
	if n.rank = to; to == 0 { // one element
		n.rank, n.sizes[0] = 1, 1
		for k := range n.count {
			n.strides[k][0] = 1
		}
	}
}

func (n *nest) joins(outer, inner int) bool {
	for k := range n.count {
		if n.strides[k][outer] != n.strides[k][inner]*n.sizes[inner] {
			return false
		}
	}
	return true
}

// seek goes to row i.
func (n *nest) seek(i int) {
	n.off = [maxOperands]int{}
	for d := n.rank - 2; d >= 0; d-- {
		n.index[d] = i % n.sizes[d]
		i /= n.sizes[d]
		for k := range n.count {
			n.off[k] += n.index[d] * n.strides[k][d]
		}
	}
}

// plane are the rows from row lo on, of those to hi, that lie along one dimension. The rank is at least 2.
func (n *nest) plane(lo, hi int) nest {
	n.seek(lo)
	outer := n.rank - 2
	p := nest{rank: 2, count: n.count, off: n.off}
	p.sizes[0], p.sizes[1] = min(hi-lo, n.sizes[outer]-n.index[outer]), n.row()
	for k := range n.count {
		p.strides[k][0], p.strides[k][1] = n.strides[k][outer], n.step(k)
	}
	return p
}

// next goes to the next row.
func (n *nest) next() { n.advance(n.rank - 2) }

// advance goes one step along dimension d, and at its end along the ones outside; it is false where it is at the start again.
func (n *nest) advance(d int) bool {
	for ; d >= 0; d-- {
		n.index[d]++
		for k := range n.count {
			n.off[k] += n.strides[k][d]
		}
		if n.index[d] < n.sizes[d] {
			return true
		}
		for k := range n.count {
			n.off[k] -= n.strides[k][d] * n.sizes[d]
		}
		n.index[d] = 0
	}
	return false
}

// span is the part of x that a row's elements [lo,hi) of operand k lie in: the elements themselves, or one that stands for
// all. The operand may not be one that gathers.
func span[T any](n *nest, k int, x []T, lo, hi int) []T {
	off := n.off[k]
	if n.step(k) == 0 {
		return x[off : off+1]
	}
	return x[off+lo : off+hi]
}

// gathers reports whether operand k needs a tile.
func (n *nest) gathers(k int) bool { return k < n.count && n.step(k) > 1 }

// short reports whether rows are so short that several are better done at once, operands gathered: those of which an operand has one
// number each are longer, if filled says that kernel.FillRowsF32 writes that out.
func (n *nest) short(filled bool) bool {
	if n.rank == 1 || n.row() == 0 || n.row() > rowTile/2 {
		return false
	}
	if n.row() < rowTile/16 {
		return true
	}
	for k := 1; filled && k < n.count; k++ {
		if n.step(k) == 0 && n.strides[k][n.rank-2] != 0 {
			return true
		}
	}
	return false
}

// longRow is how many elements a row should have so that what a row costs beside them does not count.
const longRow = 1024

// repeats gives the operand whose one row all rows of two dimensions take, such as a number for each channel, while the others lie as
// the out does, and how many rows can be one, if that row is there as often.
func (n *nest) repeats() (operand, times int) {
	if n.rank != 2 || n.row() == 0 {
		return 0, 1
	}
	for k := range n.count {
		switch line := n.strides[k][0]; {
		case n.step(k) != 1 || line != 0 && line != n.row() || line == 0 && operand > 0:
			return 0, 1
		case line == 0:
			operand = k
		}
	}
	if operand == 0 {
		return 0, 1
	}
	times = min(longRow/n.row(), n.sizes[0])
	for times > 1 && n.sizes[0]%times != 0 {
		times--
	}
	return operand, times
}

// repeat makes rows of so many, of which the operand has one row that stands for all.
func (n *nest) repeat(operand, times int) {
	n.sizes[0] /= times
	n.sizes[1] *= times
	for k := range n.count {
		if k != operand {
			n.strides[k][0] = n.sizes[1]
		}
	}
}

// repeatTo fills to, which has at least one x, with x again and again.
func repeatTo[T any](to, x []T) {
	fillAll(bytesOf(to), len(bytesOf(to[:copy(to, x)])))
}

// walk goes over the elements of a nest's out in pieces that lie together: parts of rows, or several short rows.
type walk struct {
	n *nest
	// A piece has width elements from lo on of rows rows from row on, which counts along the dimension outside of rows.
	row, rows, lo, width int
	most, chunk          int // of rows and width
	tier                 kernel.Tier
}

// walk starts before the first piece; short is what the nest's short reports.
func (n *nest) walk(t kernel.Tier, short bool) walk {
	w := walk{n: n, most: 1, chunk: n.row(), tier: t}
	if short {
		w.most = rowTile / n.row()
	}
	for k := 1; k < n.count; k++ {
		if n.gathers(k) {
			w.chunk = min(w.chunk, rowTile)
		}
	}
	return w
}

// next goes to the next piece; it is false after the last.
func (w *walk) next() bool {
	n, lines := w.n, 1
	if n.rank > 1 {
		lines = n.sizes[n.rank-2]
	}
	switch {
	case w.rows == 0:
		if n.rows() == 0 || n.row() == 0 {
			return false
		}
	case w.lo+w.width < n.row():
		w.lo += w.width
	case w.row+w.rows < lines:
		w.row, w.lo = w.row+w.rows, 0
	case n.advance(n.rank - 3):
		w.row, w.lo = 0, 0
	default:
		return false
	}
	w.rows, w.width = min(w.most, lines-w.row), min(w.chunk, n.row()-w.lo)
	return true
}

// place is where operand k of the piece begins, and its steps within a row and from row to row.
func (w *walk) place(k int) (at, step, line int) {
	n := w.n
	at, step = n.off[k]+w.lo*n.step(k), n.step(k)
	if n.rank > 1 {
		line = n.strides[k][n.rank-2]
		at += w.row * line
	}
	return at, step, line
}

// out is the piece of the out.
func outOf[T any](w *walk, o []T) []T {
	at, _, _ := w.place(0)
	return o[at : at+w.rows*w.width]
}

// piece is operand k of the piece: the elements of x themselves, one that stands for all, or else copies in tile.
func piece[T any](w *walk, k int, x, tile []T) []T {
	at, step, line := w.place(k)
	n := w.rows * w.width
	switch {
	case step == 1 && (w.rows == 1 || line == w.width):
		return x[at : at+n]
	case step == 0 && (w.rows == 1 || line == 0):
		return x[at : at+1]
	}
	if step == 0 && fills[T](w.tier) && kernel.FillRowsF32(w.tier, floats(tile), w.rows, w.width, floats(x[at:]), line) {
		return tile[:n]
	}
	tile = tile[:n]
	if line == 0 {
		gather(tile[:w.width], x[at:], step)
		repeatTo(tile, tile[:w.width])
		return tile
	}
	for lo := 0; lo < n; lo += w.width {
		gather(tile[lo:lo+w.width], x[at:], step)
		at += line
	}
	return tile
}

// gather copies every step-th element of x.
func gather[T any](to, x []T, step int) {
	switch step {
	case 0:
		fillRun(to, x[0])
	case 1:
		copy(to, x)
	default:
		at := 0
		for i := range to {
			to[i] = x[at]
			at += step
		}
	}
}

// tiles reports whether a piece may need copies of an operand.
func (w *walk) tiles() bool {
	return w.most > 1 || w.chunk < w.n.row() || w.n.gathers(1) || w.n.gathers(2) || w.n.gathers(3)
}

// setupStrided makes the nest over out of one operand of out's sizes with these strides.
func (n *nest) setupStrided(out *tensor.Meta, strides *[tensor.MaxRank]int) error {
	var order [tensor.MaxRank]int
	n.memoryOrder(out, &order)
	for i := range n.rank {
		n.strides[1][i] = strides[order[i]]
	}
	n.count = 2
	n.merge()
	return nil
}
