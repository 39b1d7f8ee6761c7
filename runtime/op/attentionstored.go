package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// groupBlocks is for how many blocks of rows, of heads that read the same keys and values, those become float32 once.
const groupBlocks = 16

// storedRows are rows of int8, each with a scale and a zero point: (x - zero)·scale; or of float16 or bfloat16.
type storedRows struct {
	data, zeros []int8
	scales      []float32
	halves      []uint16
	half        tensor.ScalarType // of halves
	depth       int               // of a row
}

// rows gives n rows in float32, of which the first one begins at an element, and each as many elements after the one before.
func (b *storedRows) rows(t kernel.Tier, o []float32, at, step, n int) {
	if b.halves != nil {
		if kernel.WidenRows(castTier(), o, b.halves[at:], b.half == tensor.BFloat16, n, b.depth, step) {
			return
		}
		for r := range n {
			widenHalves(o[r*b.depth:][:b.depth], b.halves[at+r*step:], b.half)
		}
		return
	}
	i := at / b.depth
	r := kernel.RowsS8{Rows: n, Cols: b.depth, Stride: step, OutStride: b.depth}
	if r.Dequantize(t, o, b.data[at:], b.zeros[i:], b.scales[i:], step/b.depth) {
		return
	}
	for r := range n {
		from := at + r*step
		a := affine{scale: b.scales[from/b.depth], zero: float32(b.zeros[from/b.depth])}
		dequantizeTo(t, o[r*b.depth:][:b.depth], b.data[from:][:b.depth], a)
	}
}

// storedSquares is at least the sum of the squares of what rows from to to of all matrices stand for.
func (h *heads) storedSquares(t kernel.Tier, from, to int) (sum float32) {
	b := &h.store
	if b.halves == nil {
		for _, s := range b.scales { // with those before, which are few
			sum += float32(255 * s * 255 * s)
		}
		return sum * float32(b.depth)
	}
	var block [castBlock]float32
	for i := range h.count {
		for r := from; r < to; r++ {
			row := b.halves[h.at(i)+r*h.steps.row:][:b.depth]
			for len(row) > 0 {
				part := block[:min(len(row), len(block))]
				widenHalves(part, row, b.half)
				sum += squares(t, matrix[float32]{part, 1, len(part), len(part), 1})
				row = row[len(part):]
			}
		}
	}
	return sum
}

// setStored notes that keys and values are rows of k and v.
func (j *attention) setStored(k, v storedRows) {
	j.k.store, j.v.store = k, v
	j.k.matrix, j.v.matrix = matrix[float32]{nil, j.depth, j.columns, 1, j.depth}, matrix[float32]{nil, j.columns, j.width, j.width, 1}
}

// setHalves takes k and v of float16 or bfloat16.
func (j *attention) setHalves(c *Call, a *cachedArgs) (err error) {
	if j.q, err = contiguousOf[float32](c, a.q); err != nil {
		return err
	}
	var x [2]storedRows
	for i, t := range [...]*tensor.Tensor{a.k, a.v} {
		x[i].depth, x[i].half = j.depth, t.DType
		if x[i].halves, err = contiguousOf[uint16](c, t); err != nil {
			return err
		}
	}
	j.setStored(x[0], x[1])
	return nil
}

// setBytes takes q, k and v of int8; q is dequantized as a whole.
func (j *attention) setBytes(c *Call, a *cachedArgs) error {
	var x [3]storedRows
	for i, t := range [...]*tensor.Tensor{a.q, a.k, a.v} {
		b := &x[i]
		b.depth = j.depth
		var err error
		if b.data, err = contiguousOf[int8](c, t); err != nil {
			return err
		}
		if b.zeros, err = contiguousOf[int8](c, a.quantized[i][0]); err != nil {
			return err
		}
		if b.scales, err = contiguousOf[float32](c, a.quantized[i][1]); err != nil {
			return err
		}
	}
	var err error
	if j.q, err = tempOf[float32](c, len(x[0].data)); err != nil {
		return err
	}
	x[0].rows(j.tier, j.q, 0, j.depth, len(j.q)/j.depth)
	j.setStored(x[1], x[2])
	return nil
}

// runStored computes the attention with keys and values that are stored in other types: j.step of them at a time become float32 for a group of
// blocks, so that they take as much memory as that, and no more, however long a cache is.
func (j *attention) runStored(c *Call) error {
	blocks, columns := j.k.group*j.blocks(), min(j.step, j.columns)
	j.grouped = balanced(blocks, groupBlocks)
	groups := j.k.count * j.groups()
	j.slots = Slots{Count: min(groups, c.Threads, MaxSlots), Items: groups}
	j.room = j.scoreRoom() + j.grouped*j.stateRoom() + columns*(j.depth+j.width) + SlotGap/f32Size
	if !j.k.direct.on {
		j.room += j.len(j.depth, columns)
	}
	if !j.v.direct.on {
		j.room += j.len(columns, j.width)
	}
	var err error
	if j.scratch, err = tempOf[float32](c, j.slots.Count*j.room); err != nil {
		return err
	}
	if err = j.placeOut(c); err != nil {
		return err
	}
	share(c, j, groups, max(1, gemmParallelMin/4/max(1, j.grouped*j.height()*j.columns*(j.depth+j.width))))
	j.giveOut()
	return nil
}

// groups is how many groups of blocks read the same keys.
func (j *attention) groups() int { return ceil(j.k.group*j.blocks(), j.grouped) }

// stage are the blocks of a group while they are computed.
type stage struct {
	j               *attention
	matrix, from, n int
	x, states       []float32
}

// block is block b, and how many columns it sees.
func (g *stage) block(b int) (scores, int) {
	j := g.j
	head, i := g.matrix*j.k.group+(g.from+b)/j.blocks(), (g.from+b)%j.blocks()
	return j.scoresIn(g.x, g.states[b*j.stateRoom():], head, i), j.seen(head, i)
}

// groupOf computes group i of blocks.
func (j *attention) groupOf(room []float32, i int) {
	g := stage{j: j, matrix: i / j.groups(), from: i % j.groups() * j.grouped}
	g.n = min(j.grouped, j.k.group*j.blocks()-g.from)
	n, m := j.scoreRoom(), g.n*j.stateRoom()
	g.x, g.states, room = room[:n], room[n:n+m], room[n+m:]
	most := 0
	for b := range g.n {
		s, columns := g.block(b)
		kernel.StartSoftF32(j.tier, s.state)
		most = max(most, columns)
	}
	for at := 0; at < most; at += j.step {
		n := min(j.step, most-at)
		k, rest := j.load(&j.k, room, g.matrix, at, n, matrix[float32]{nil, j.depth, n, 1, j.depth})
		v, _ := j.load(&j.v, rest, g.matrix, at, n, matrix[float32]{nil, n, j.width, j.width, 1})
		for b := range g.n {
			if s, columns := g.block(b); s.rows > 0 && columns > at {
				s.k, s.v = k, v
				s.take(at, min(n, columns-at))
			}
		}
	}
	for b := range g.n {
		s, _ := g.block(b)
		s.finish()
	}
}

// load gives n rows of matrix i from column at on into a room, where they are the matrix m, and gives the rest of that.
func (j *attention) load(h *heads, room []float32, i, at, n int, m matrix[float32]) (attentionPart, []float32) {
	m.data = room[:m.rows*m.cols]
	room = room[len(m.data):]
	h.store.rows(j.tier, m.data, h.at(i)+at*h.steps.row, h.steps.row, n)
	if h.direct.on {
		return attentionPart{m.data, at, n}, room
	}
	panels := room[:j.len(m.rows, m.cols)]
	pack(panels, m, j.tiling)
	return attentionPart{panels, at, n}, room[len(panels):]
}
