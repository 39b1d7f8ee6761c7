package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fusedPiece is about how many elements go through all links at a time.
const fusedPiece = 2048

// fusedJob is a fused operator under way.
type fusedJob struct {
	*fused
	call     *Call
	operands []operand
	n        int // elements of the result
	block    int // elements that pieces divide: no piece has some of two blocks
	piece    int
	workers  []fusedWorker
	slots    Slots
}

// fusedWorker is what one thread has: calls of the links, whose tensors are parts of those of the whole.
type fusedWorker struct {
	calls  []Call
	stored [][]*tensor.Tensor // the arguments of links that cast, before
	tiles  []tile             // of the operands
	temps  []byte             // the results of links, and what one that casts computes with
	err    error
}

// tile is an operand that broadcasts, written out for a piece.
type tile struct {
	data     []byte
	phase, n int // the elements of the operand that are there: from which one on, and how many
}

// wordBytes is the size of the largest elements.
const wordBytes = 8

// runFused computes fused operators piece by piece.
func runFused(c *Call, s State) error {
	if c.Out[0].Numel() == 0 {
		return nil
	}
	k := keep[fusedJob, *fusedJob](c)
	j := &k.job
	if !c.same || j.fused == nil {
		j.fused, j.call = s.(*fused), c
		j.setup()
	}
	if err := j.place(); err != nil {
		return err
	}
	grain := j.slots.Items
	if j.slots.Count > 1 {
		grain = max(1, parallelGrain/j.piece)
	}
	c.Parallel(j.slots.Items, grain, k.run)
	for i := range j.workers {
		if err := j.workers[i].err; err != nil {
			return err
		}
	}
	return nil
}

// setup sets what follows from the sizes.
func (j *fusedJob) setup() {
	c := j.call
	j.operands, j.n = j.operands[:0], c.Out[0].Numel()
	for i := range c.Args {
		j.operands = append(j.operands, operandOf(&c.Out[0].Meta, &c.Args[i].Tensor.Meta))
	}
	for k := range j.links {
		j.spread(&j.links[k])
	}
	j.divide()
	each := (j.block + j.piece - 1) / j.piece
	j.slots = Slots{Count: 1, Items: j.n/j.block*each + (j.n%j.block+j.piece-1)/j.piece}
	if parallel(c, j.n) {
		j.slots.Count = min(c.Threads, MaxSlots)
	}
	for len(j.workers) < j.slots.Count {
		w := fusedWorker{calls: make([]Call, len(j.links)), stored: make([][]*tensor.Tensor, len(j.links)), tiles: make([]tile, len(j.operands))}
		for k := range j.links {
			w.calls[k] = j.links[k].call(c)
			w.stored[k] = j.links[k].stored()
		}
		j.workers = append(j.workers, w)
	}
}

// spread sees to it that a link has an operand with all elements, where sizes turn out to be 1 that may be more.
func (j *fusedJob) spread(l *fusedLink) {
	first := -1
	for i, from := range l.From {
		switch {
		case l.Args[i].Tensor == nil:
		case from < 0 || j.operands[from].odd || j.operands[from].count == j.n:
			return
		case first < 0:
			first = from
		}
	}
	j.operands[first].spread = true
}

// divide sets block and piece such that an operand that broadcasts has one element for a piece, or all of them in a row,
// where it has enough.
func (j *fusedJob) divide() {
	j.block = j.n
	for i := range j.operands {
		o := &j.operands[i]
		if o.odd || o.count == 1 || o.count == j.n {
			continue
		}
		j.block = o.inner
		if o.inner == 1 {
			j.block = o.count
		}
		break
	}
	if j.block <= fusedPiece/2 {
		j.block *= fusedPiece / j.block
	}
	j.block = min(j.block, j.n)
	parts := (j.block + fusedPiece - 1) / fusedPiece
	j.piece = (j.block + parts - 1) / parts
}

// span are the elements of piece i.
func (j *fusedJob) span(i int) (lo, hi int) {
	each := (j.block + j.piece - 1) / j.piece
	start := i / each * j.block
	lo = start + i%each*j.piece
	return lo, min(lo+j.piece, start+j.block, j.n)
}

// line is a tensor of one dimension.
func line(t tensor.ScalarType) *tensor.Tensor {
	return &tensor.Tensor{Meta: tensor.Meta{DType: t, Sizes: make([]tensor.Dim, 1)}}
}

// stored are the arguments of l as they are before it casts them; nil if it does not.
func (l *fusedLink) stored() []*tensor.Tensor {
	if !l.Casts() {
		return nil
	}
	list := make([]*tensor.Tensor, len(l.Args))
	for i := range list {
		if t := l.Args[i].Tensor; t != nil {
			list[i] = line(t.DType)
		}
	}
	return list
}

// call is a call of l with tensors of one dimension.
func (l *fusedLink) call(whole *Call) Call {
	scalars := make([]byte, 2*wordBytes)
	c := Call{Args: append([]Value(nil), l.Args...), Out: []*tensor.Tensor{line(l.Plan.runType(l.Out.DType))}, Tier: whole.Tier, Threads: 1, Parallel: serially,
		Bounds: l.Plan.bounds}
	c.Alloc = func(n int) ([]byte, error) {
		if n > len(scalars) {
			return make([]byte, n), nil
		}
		return scalars[:n], nil
	}
	for i := range c.Args {
		if t := c.Args[i].Tensor; t != nil {
			c.Args[i].Tensor = line(l.Plan.argType(i, t.DType))
		}
	}
	return c
}

// place gives the workers their temporaries.
func (j *fusedJob) place() error {
	c := j.call
	size := (j.results + j.wide) * j.roomSize()
	each := size
	for i := range j.operands {
		each += j.tileSize(i)
	}
	b, err := c.Alloc(len(j.workers) * (each + SlotGap))
	if err != nil {
		return err
	}
	for i := range j.workers {
		w := &j.workers[i]
		w.err = nil
		w.temps, b = b[:size], b[size:]
		for k := range w.tiles {
			n := j.tileSize(k)
			w.tiles[k], b = tile{data: b[:n]}, b[n:]
		}
		b = b[SlotGap:]
	}
	return nil
}

// roomSize is the size of the room for a result.
func (j *fusedJob) roomSize() int { return (j.piece*wordBytes + 63) &^ 63 }

// tileSize is the size of what operand i may be written out to.
func (j *fusedJob) tileSize(i int) int {
	if o := &j.operands[i]; o.odd || o.spread || o.count > 1 && o.count < j.n {
		return (j.piece*o.size+63)&^63 + kernel.FillRoom*f32Size
	}
	return 0
}

// parts computes pieces lo to hi.
func (j *fusedJob) parts(lo, hi int) {
	mine := j.slots.Enter(lo)
	defer j.slots.Leave(mine)
	w := &j.workers[mine]
	for i := lo; i < hi && w.err == nil; i++ {
		from, to := j.span(i)
		w.err = j.run(w, from, to)
	}
}

// run computes elements lo to hi.
func (j *fusedJob) run(w *fusedWorker, lo, hi int) error {
	n := hi - lo
	for k := range j.links {
		l, c := &j.links[k], &w.calls[k]
		for i := range l.From {
			if c.Args[i].Tensor != nil {
				j.argument(w, k, i, lo, hi)
			}
		}
		made := j.call.Out[0].Data[lo*j.call.Out[0].DType.Size():]
		if k < len(j.links)-1 {
			made = j.result(w, k)
		}
		o := c.Out[0]
		if o.DType == l.Out.DType {
			setLine(o, made, n)
		} else {
			setLine(o, j.wideRoom(w, len(l.Args)), n)
		}
		if l.function != nil {
			l.function(c.Tier, elems[float32](o), floatsAt(c, 0), floatsAt(c, 1))
		} else if err := l.Plan.Kernel.Run(c, nil); err != nil {
			return err
		}
		if o.DType != l.Out.DType {
			CastBytes(made, l.Out.DType, o.Data, o.DType, n)
		}
	}
	return nil
}

// argument puts what elements lo to hi see of argument i into the call of link k, in the type that the kernel takes.
func (j *fusedJob) argument(w *fusedWorker, k, i, lo, hi int) {
	to := w.calls[k].Args[i].Tensor
	t := to
	if w.stored[k] != nil && w.stored[k][i].DType != to.DType {
		t = w.stored[k][i]
	}
	if from := j.links[k].From[i]; from >= 0 {
		j.operand(w, t, from, lo, hi)
	} else {
		setLine(t, j.result(w, ^from), hi-lo)
	}
	if t != to {
		n := int(t.Sizes[0])
		setLine(to, j.wideRoom(w, i), n)
		CastBytes(to.Data, to.DType, t.Data, t.DType, n)
	}
}

// wideRoom is room i for what a link that casts computes with.
func (j *fusedJob) wideRoom(w *fusedWorker, i int) []byte {
	size := j.roomSize()
	return w.temps[(j.results+i)*size:][:size]
}

func floatsAt(c *Call, i int) []float32 {
	if i >= len(c.Args) || c.Args[i].Tensor == nil {
		return nil
	}
	return elems[float32](c.Args[i].Tensor)
}

// setLine makes t the first n elements of b.
func setLine(t *tensor.Tensor, b []byte, n int) {
	t.Sizes[0], t.Data = tensor.Dim(n), b[:n*t.DType.Size()]
}

// result is the room for the result of link k.
func (j *fusedJob) result(w *fusedWorker, k int) []byte {
	size := j.roomSize()
	return w.temps[j.links[k].room*size:][:size]
}

// operand makes t what elements lo to hi see of argument i.
func (j *fusedJob) operand(w *fusedWorker, t *tensor.Tensor, i, lo, hi int) {
	o, from, b := &j.operands[i], j.call.Args[i].Tensor, &w.tiles[i]
	first := lo / o.inner % o.count
	switch {
	case o.odd:
		for k := lo; k < hi; k++ {
			copy(b.data[(k-lo)*o.size:], from.Data[at(&j.call.Out[0].Meta, &from.Meta, k)*o.size:][:o.size])
		}
		setLine(t, b.data, hi-lo)
	case !o.spread && (o.count == 1 || lo/o.inner == (hi-1)/o.inner):
		setLine(t, from.Data[first*o.size:], 1)
	case o.inner == 1 && o.count > 1 && first+hi-lo <= o.count:
		setLine(t, from.Data[first*o.size:], hi-lo)
	default:
		if phase := lo % (o.inner * o.count); b.phase != phase || b.n < hi-lo {
			o.write(j.call.Tier, b.data, from.Data, lo, hi)
			b.phase, b.n = phase, hi-lo
		}
		setLine(t, b.data, hi-lo)
	}
}

// write writes to dst what elements lo to hi see of x. Whole rows that have one number each are written at once, where there is a kernel.
func (o *operand) write(t kernel.Tier, dst, x []byte, lo, hi int) {
	for at := lo; at < hi; {
		n, first := min(o.inner-at%o.inner, hi-at), at/o.inner%o.count
		rows := min((hi-at)/o.inner, o.count-first)
		switch {
		case o.inner == 1:
			n = min(o.count-first, hi-at)
			copy(dst, x[first*o.size:(first+n)*o.size])
		case n == o.inner && o.size == f32Size && kernel.FillRowsF32(t, sliceOf[float32](dst, len(dst)/f32Size), rows, n, sliceOf[float32](x[first*o.size:], rows), 1):
			n *= rows
		default:
			fillAll(dst[:n*o.size], copy(dst, x[first*o.size:][:o.size]))
		}
		dst, at = dst[n*o.size:], at+n
	}
}
