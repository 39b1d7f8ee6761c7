package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const (
	// attentionRows is how many rows of scores are computed at a time, attentionColumns how many columns: a multiple of the
	// panels of all tiers.
	attentionRows, attentionColumns = 24, 512
	// streamColumns is how many columns of each head are computed at a time where heads take turns.
	streamColumns = 128
	// storedColumns is how many columns of another type become float32 at a time.
	storedColumns = 128
	// attentionGap is how much further apart rows of scores are than they are long, so that they are not in one set of a
	// cache.
	attentionGap = 16
)

// attention is a job: packing heads first, and then blocks of rows.
type attention struct {
	Attention
	tiling
	tier                        kernel.Tier
	rows, depth, columns, width int
	q, out, to                  []float32 // out is to, unless operands lie there
	left, result                place     // of q's and of out's rows
	k, v                        heads
	mask                        attentionMask
	ends                        []int32 // of the mask's blocks of rows, nil where all columns count
	step                        int     // how many columns are computed at a time
	streams                     bool
	grouped                     int // blocks of rows in a group, if keys and values are stored in another type
	packing                     bool
	// scratch is where threads compute: room elements for each of the slots, or of the heads that take turns.
	slots   Slots
	scratch []float32
	room    int
}

// place is how far heads are apart, and the rows of a head.
type place struct {
	head, row    int
	batch, heads int // from a batch to the next, and how many heads it has
}

// of is where a head begins.
func (p *place) of(head int) int { return head/p.heads*p.batch + head%p.heads*p.head }

// runAttention computes an attention by blocks of rows and columns: scores are never there as a whole.
func runAttention(c *Call, s State) error {
	var j attention
	if err := j.setup(c, s.(*Attention)); err != nil || c.Out[0].Numel() == 0 {
		return err
	}
	return j.run(c)
}

// run computes the attention that is set up.
func (j *attention) run(c *Call) error {
	if j.k.stored() {
		return j.runStored(c)
	}
	heads := j.k.count * j.k.group
	blocks, work := heads*j.blocks(), j.rows*j.columns*(j.depth+j.width)
	if err := j.allocate(c, blocks); err != nil {
		return err
	}
	j.packing = true
	if heads*work < gemmParallelMin {
		j.parts(0, j.k.packed()+j.v.packed())
		j.packing = false
		j.parts(0, blocks)
	} else {
		share(c, j, j.k.packed()+j.v.packed(), 1)
		j.packing = false
		share(c, j, blocks, max(1, gemmParallelMin/4*j.blocks()/max(1, work)))
	}
	j.giveOut()
	return nil
}

// setup makes the job of a call without its memory.
func (j *attention) setup(c *Call, a *Attention) (err error) {
	q, k, v := c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor
	j.Attention, j.tiling, j.tier = *a, tilingOf[float32](c.Tier), c.Tier
	size := matricesOf(q)
	j.rows, j.depth = size.rows, size.columns
	j.columns, j.width = matricesOf(v).rows, matricesOf(v).columns
	if j.q, err = contiguousOf[float32](c, q); err != nil {
		return err
	}
	j.to = elems[float32](c.Out[0])
	j.left, j.result = place{head: j.rows * j.depth, row: j.depth, heads: size.n}, place{head: j.rows * j.width, row: j.width, heads: size.n}
	j.k.setup(k, a.KeyRows, size.n)
	j.v.setup(v, false, size.n)
	lists := a.Lists
	for i := 3; i < len(c.Args) && err == nil; i++ {
		switch a := &c.Args[i]; a.Kind {
		case Tensor:
			err = j.mask.setup(c, a.Tensor, [3]int{size.n, j.rows, j.columns})
		case Ints:
			err = j.checkSizes(a.Ints, lists[0])
			lists = lists[1:]
		}
	}
	if err == nil {
		err = j.cut(c)
	}
	j.direct()
	return err
}

// direct has keys and values read as they lie where that is faster.
func (j *attention) direct() {
	j.k.direct, j.v.direct = directOf(j.tier, j.rows*j.k.group, j.k.matrix), directOf(j.tier, j.rows*j.v.group, j.v.matrix)
	j.v.direct.on = j.v.direct.on && !j.v.direct.byRows // which cannot add to a sum
	near := j.k.group > 1 || j.k.steps.head < j.k.cs    // heads read the same, or what lies side by side
	if j.step, j.streams = attentionColumns, near && j.k.direct.on && j.v.direct.on && j.blocks() == 1; j.streams {
		j.step = streamColumns
	}
	if j.k.stored() {
		j.step, j.streams = storedColumns, false
	}
}

// heads are the matrices of an operand, which panels are made of.
type heads struct {
	matrix[float32]       // the first one
	steps           place // of the matrices; of the rows those of caches
	count, group    int   // how many there are, and how many heads read the same one
	direct          direct
	panels          []float32
	size            int        // of the panels of a matrix
	store           storedRows // what is read instead of the data, if it is there
}

// attentionPart is some columns of the keys or values that a head reads, as they lie or in panels.
type attentionPart struct {
	data         []float32
	first, count int
}

// setup takes the matrices of t, transposed or not, which so many heads read.
func (h *heads) setup(t *tensor.Tensor, transposed bool, readers int) {
	var s [tensor.MaxRank]int
	stridesOf(&t.Meta, &s)
	size, r := matricesOf(t), t.Rank()-2
	h.matrix = matrix[float32]{elems[float32](t), size.rows, size.columns, s[r], s[r+1]}
	if transposed {
		h.matrix = matrix[float32]{h.data, size.columns, size.rows, s[r+1], s[r]}
	}
	h.steps = place{head: s[r-1], heads: size.n}
	h.count, h.group = size.n, readers/max(1, size.n)
}

// stored reports whether the matrices are rows of another type.
func (h *heads) stored() bool { return h.store.depth > 0 }

// row is row r of matrix i of a cache; a room has as many elements.
func (h *heads) row(t kernel.Tier, room []float32, i, r int) []float32 {
	at := h.at(i) + r*h.steps.row
	if !h.stored() {
		return h.data[at:][:len(room)]
	}
	h.store.rows(t, room, at, h.store.depth, 1)
	return room
}

// at is where matrix i begins.
func (h *heads) at(i int) int { return h.steps.of(i) }

// packed is how many matrices panels are made of.
func (h *heads) packed() int {
	if h.direct.on {
		return 0
	}
	return h.count
}

// allocate makes room for the panels.
func (h *heads) allocate(c *Call, t tiling) (err error) {
	h.size = t.len(h.rows, h.cols)
	h.panels, err = tempOf[float32](c, h.packed()*h.size)
	return err
}

// pack makes the panels of matrix i.
func (h *heads) pack(i int, t tiling) {
	if h.rows > 0 && h.cols > 0 {
		m := h.matrix
		m.data = m.data[h.at(i):]
		pack(h.panels[i*h.size:(i+1)*h.size], m, t)
	}
}

// of are all columns, which are so many, of what a head reads.
func (h *heads) of(head, columns int) attentionPart {
	i := head / h.group
	if h.direct.on {
		return attentionPart{h.data[h.at(i):], 0, columns}
	}
	return attentionPart{h.panels[i*h.size : (i+1)*h.size], 0, columns}
}

// checkSizes holds what the program says of sizes against what they are; -1 says nothing.
func (j *attention) checkSizes(sizes []int64, of AttentionSizes) error {
	want := [...][2]int{
		ScoreSizes: {j.rows, j.columns}, QuerySizes: {j.rows, j.depth}, KeySizes: {j.depth, j.columns}, KeyRowSizes: {j.columns, j.depth},
		ValueSizes: {j.columns, j.width},
	}[of]
	n := len(sizes)
	if n < 2 || sizes[n-1] != -1 && int(sizes[n-1]) != want[1] || sizes[n-2] != -1 && int(sizes[n-2]) != want[0] {
		return errSizes
	}
	return nil
}

// blocks is how many blocks the rows of a head make.
func (j *attention) blocks() int { return (j.rows + attentionRows - 1) / attentionRows }

// stride is how far rows of scores are apart.
func (j *attention) stride() int { return j.whole(min(j.columns, j.step)) + attentionGap }

// whole is n columns in whole panels.
func (j *attention) whole(n int) int { return j.panels(n) * j.cols }

// allocate makes the job's memory.
func (j *attention) allocate(c *Call, blocks int) (err error) {
	if err = j.k.allocate(c, j.tiling); err != nil {
		return err
	}
	if err = j.v.allocate(c, j.tiling); err != nil {
		return err
	}
	j.slots = Slots{Count: min(blocks, c.Threads, MaxSlots), Items: blocks}
	if j.streams {
		j.slots.Count = blocks
	}
	j.room = j.scoreRoom() + j.stateRoom() + SlotGap/f32Size
	if j.scratch, err = tempOf[float32](c, j.slots.Count*j.room); err != nil {
		return err
	}
	return j.placeOut(c)
}

// placeOut sets out, which must not lie where operands are read that are still needed.
func (j *attention) placeOut(c *Call) (err error) {
	j.out = j.to
	for i := range c.Args {
		if t := c.Args[i].Tensor; t != nil && tensor.Overlap(bytesOf(j.to), t.Data) {
			j.out, err = tempOf[float32](c, len(j.out))
			break
		}
	}
	return err
}

// giveOut copies out to where it belongs.
func (j *attention) giveOut() {
	if &j.to[0] != &j.out[0] {
		copy(j.to, j.out)
	}
}

// parts packs matrices lo to hi, those of k before those of v, or computes blocks.
func (j *attention) parts(lo, hi int) {
	if j.packing {
		for i := lo; i < hi; i++ {
			if i < j.k.packed() {
				j.k.pack(i, j.tiling)
			} else {
				j.v.pack(i-j.k.packed(), j.tiling)
			}
		}
		return
	}
	if j.streams {
		j.stream(lo, hi)
		return
	}
	mine := j.slots.Enter(lo)
	defer j.slots.Leave(mine)
	room := j.scratch[mine*j.room:][:j.room]
	for i := lo; i < hi; i++ {
		if j.k.stored() {
			j.groupOf(room, i)
		} else {
			j.block(room, i/j.blocks(), i%j.blocks())
		}
	}
}

// scores are some rows of a head, from `from` on, in a room.
type scores struct {
	j                *attention
	head, from, rows int
	x, sums, state   []float32
	k, v             attentionPart
}

// row is where row r of these lies.
func (s *scores) row(p *place, r int) int { return p.of(s.head) + (s.from+r)*p.row }

// height is how many rows a block has.
func (j *attention) height() int { return balanced(j.rows, attentionRows) }

// scoreRoom is room for the scores of a block, stateRoom for what is kept of it from columns to columns.
func (j *attention) scoreRoom() int { return j.height() * j.stride() }
func (j *attention) stateRoom() int {
	return j.height() * (j.whole(j.width) + kernel.SoftStateF32(j.tier))
}

// scores are those of block i of the rows of a head, none of which are there yet, of all columns.
func (j *attention) scores(room []float32, head, i int) scores {
	s := j.scoresIn(room[:j.scoreRoom()], room[j.scoreRoom():], head, i)
	s.k, s.v = j.k.of(head, j.columns), j.v.of(head, j.columns)
	return s
}

// scoresIn are those of block i of the rows of a head in x; state has room for what is kept.
func (j *attention) scoresIn(x, state []float32, head, i int) scores {
	height := j.height()
	s := scores{j: j, head: head, from: i * height, x: x}
	s.rows = max(min(height, j.rows-s.from), 0)
	m := height * j.whole(j.width)
	s.sums, s.state = state[:m], state[m:][:s.rows*kernel.SoftStateF32(j.tier)]
	return s
}

// block computes block i of the rows of a head.
func (j *attention) block(room []float32, head, i int) {
	s := j.scores(room, head, i)
	if s.rows == 0 {
		return
	}
	kernel.StartSoftF32(j.tier, s.state)
	columns := j.seen(head, i)
	for at := 0; at < columns; at += j.step {
		s.take(at, min(j.step, columns-at))
	}
	s.finish()
}

// stream computes heads lo to hi, some columns of each in turn: a cache that has a row of all heads for each column is read as it lies.
func (j *attention) stream(lo, hi int) {
	of := func(head int) scores { return j.scores(j.scratch[head*j.room:][:j.room], head, 0) }
	most := 0
	for head := lo; head < hi; head++ {
		kernel.StartSoftF32(j.tier, of(head).state)
		most = max(most, j.seen(head, 0))
	}
	for at := 0; at < most; at += j.step {
		for head := lo; head < hi; head++ {
			if n := min(j.step, j.seen(head, 0)-at); n > 0 {
				s := of(head)
				s.take(at, n)
			}
		}
	}
	for head := lo; head < hi; head++ {
		s := of(head)
		s.finish()
	}
}

// take adds what n columns give, from column at on.
func (s *scores) take(at, n int) {
	s.multiply(at, n)
	s.exponentials(at, n)
	s.add(at, n)
}

// multiply computes the scores of n columns from at on.
func (s *scores) multiply(at, n int) {
	j := s.j
	at -= s.k.first
	if j.k.direct.on {
		keys := j.k.direct
		keys.right.data = s.k.data
		for r := range s.rows {
			keys.row(s.x[r*j.stride():][:n], j.q[s.row(&j.left, r):][:j.depth], nil, at)
		}
		return
	}
	stride := uintptr(j.stride() * f32Size)
	for p := 0; p < n; p += j.cols {
		t := kernel.Tile{Left: at32(j.q, s.row(&j.left, 0)), Stride: uintptr(j.left.row * f32Size), Depth: uintptr(j.depth),
			Panel: at32(s.k.data, (at+p)*j.depth), Out: &s.x[p], OutStride: stride, Start: &zeros[0]}
		s.tiles(&t, j.tiling.width(min(j.cols, n-p)))
	}
}

// tiles runs t for all rows; results fill the panel.
func (s *scores) tiles(t *kernel.Tile, width int) {
	t.Segments, t.Low, t.High = 1, kernel.Unclamped[0], kernel.Unclamped[1]
	strip := strip{Tile: *t, micro: s.j.micro, width: width, cols: width}
	n := balanced(s.rows, s.j.micro.Rows)
	for r := 0; ; r += n { // rather than strip.rows, which would move all to the heap
		if strip.run(min(n, s.rows-r)); r+n >= s.rows {
			return // what is behind the last row may lie outside
		}
		strip.Left, strip.Out = behind(strip.Left, n, t.Stride), behind(strip.Out, n, t.OutStride)
		if t.StartStride > 0 {
			strip.Start = strip.Out
		}
	}
}

// exponentials masks n scores of each row, from column at on, and makes exponentials of them.
func (s *scores) exponentials(at, n int) {
	j, scale, low := s.j, s.j.Scale, kernel.Unclamped[0]
	lanes := kernel.SoftStateF32(j.tier) / 3
	whole := (n + lanes - 1) / lanes * lanes
	for r := range s.rows {
		row := s.x[r*j.stride():][:whole]
		scale = j.mask.apply(j.tier, row[:n], j.Scale, [3]int{s.head, s.from + r, at})
		for i := n; i < whole; i++ {
			row[i] = low
		}
	}
	kernel.SoftmaxBlocksF32(j.tier, &kernel.Softs{X: s.x, Out: s.x, XStride: j.stride(), OutStride: j.stride(), Rows: s.rows, Width: whole,
		State: s.state, Scale: scale})
}

// add multiplies n columns from at on by the values, and adds the products to the sums.
func (s *scores) add(at, n int) {
	j := s.j
	across := j.whole(j.width)
	if at > 0 {
		for r := range s.rows {
			row := s.sums[r*across:][:across]
			multiplyRow(j.tier, row, row, s.stateOf(r, 2))
		}
	}
	from := at - s.v.first
	if j.v.direct.on {
		values := j.v.direct
		values.right.data = s.v.data[from*j.v.rs:]
		for r := range s.rows {
			row, start := s.sums[r*across:][:j.width], []float32(nil)
			if at > 0 {
				start = row
			}
			values.row(row, s.x[r*j.stride():][:n], start, 0)
		}
		return
	}
	for p := 0; p < j.width; p += j.cols {
		width := j.tiling.width(min(j.cols, j.width-p))
		t := kernel.Tile{Left: &s.x[0], Stride: uintptr(j.stride() * f32Size), Depth: uintptr(n), Panel: at32(s.v.data, p*s.v.count+from*width),
			Out: &s.sums[p], OutStride: uintptr(across * f32Size), Start: &zeros[0]}
		if at > 0 {
			t.Start, t.StartStride = t.Out, t.OutStride
		}
		s.tiles(&t, width)
	}
}

// stateOf is number k of the state of row r: top, sum, or factor.
func (s *scores) stateOf(r, k int) float32 {
	n := kernel.SoftStateF32(s.j.tier)
	return s.state[r*n+k*n/3]
}

// finish divides the sums by those of the exponentials.
func (s *scores) finish() {
	j := s.j
	for r := range s.rows {
		to := j.out[s.row(&j.result, r):][:j.width]
		if j.columns == 0 {
			clear(to)
			continue
		}
		sum := s.stateOf(r, 1)
		if j.EmptyZero && sum == 0 { // exponentials, which are 0, stand for the weights
			sum = 1
		}
		multiplyRow(j.tier, to, s.sums[r*j.whole(j.width):][:j.width], 1/sum)
	}
}

// multiplyRow sets to to the row times a factor. A kernel may not take rows as short as these.
func multiplyRow(t kernel.Tier, to, row []float32, factor float32) {
	if kernel.AffineRowF32(t, to, row, nil, nil, 0, factor) {
		return
	}
	for i, x := range row {
		to[i] = x * factor
	}
}
