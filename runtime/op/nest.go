package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// maxOperands is the most operands of a nest, the out included.
const maxOperands = 4

// rowTile is how many elements of an operand that is strided within a row are gathered at once.
const rowTile = 512

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

// next goes to the next row.
func (n *nest) next() {
	for d := n.rank - 2; d >= 0; d-- {
		n.index[d]++
		for k := range n.count {
			n.off[k] += n.strides[k][d]
		}
		if n.index[d] < n.sizes[d] {
			return
		}
		for k := range n.count {
			n.off[k] -= n.strides[k][d] * n.sizes[d]
		}
		n.index[d] = 0
	}
}

// span is the part of x that a row's elements [lo,hi) of operand k lie in: the
// elements themselves if its step is 1, one element if it is 0, and else they
// are gathered into tile.
func span[T any](n *nest, k int, x, tile []T, lo, hi int) []T {
	off := n.off[k]
	switch step := n.step(k); step {
	case 1:
		return x[off+lo : off+hi]
	case 0:
		return x[off : off+1]
	default:
		tile = tile[:hi-lo]
		for i := range tile {
			tile[i] = x[off+(lo+i)*step]
		}
		return tile
	}
}

// tileLen is how many elements of a row are done at once: all if no operand is gathered.
func (n *nest) tileLen() int {
	for k := 1; k < n.count; k++ {
		if s := n.step(k); s > 1 {
			return min(rowTile, n.row())
		}
	}
	return n.row()
}

// gathers reports whether operand k needs a tile.
func (n *nest) gathers(k int) bool { return k < n.count && n.step(k) > 1 }

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
