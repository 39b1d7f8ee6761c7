package op

import (
	"slices"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// parallelMin is how many elements make an elementwise operator run on
// several threads, and parallelGrain how many a thread takes at least.
const (
	parallelMin   = 1 << 14
	parallelGrain = 1 << 12
)

// par are the numbers that a row function gets beside its operands. Where they find no place in registers beside these, they are not copied on
// the way there: what copies numbers that have just been written one by one waits for them.
type par struct {
	x, y, z float64
	i, j    int64
	tier    kernel.Tier
}

// A row function computes o from operands that are as long, or have length 1
// and stand for all. A call through it must not keep its slices.
type (
	rowFunc1[T, U any]    func(o []U, a []T, p par)
	rowFunc2[T, U any]    func(o []U, a, b []T, p par)
	rowFunc3[S, T, U any] func(o []U, a []S, b, c []T, p par)
)

// parallel reports whether a tensor of n elements is worth threads.
func parallel(c *Call, n int) bool { return n >= parallelMin && c.Parallel != nil }

// sharers is how many threads a tensor of n elements is worth.
func sharers(c *Call, n int) int {
	if parallel(c, n) {
		return c.Threads
	}
	return 1
}

// even reports whether n pieces give about as many to each thread.
func even(n, threads int) bool { return n%threads == 0 || n >= dividedLeast*threads }

// dividedLeast is how many pieces for each thread are so many that it does not matter if one has one more.
const dividedLeast = 4

// flat reports whether an operand of n elements lies as the out does, or has one element for all.
func flat(out, in *tensor.Meta, n int) bool {
	return n == 1 && len(in.Sizes) <= len(out.Sizes) || slices.Equal(in.Sizes, out.Sizes) && slices.Equal(in.DimOrder, out.DimOrder)
}

// map1 computes Out[0] from a.
func map1[T, U any](c *Call, a *tensor.Tensor, row rowFunc1[T, U], p par) error {
	p.tier = c.Tier
	out := c.Out[0]
	o, x := elems[U](out), elems[T](a)
	if flat(&out.Meta, &a.Meta, len(x)) {
		if parallel(c, len(o)) && len(x) == len(o) {
			share(c, &job1[T, U]{o, x, row, p}, len(o), parallelGrain)
		} else if len(o) > 0 {
			row(o, x, p)
		}
		return nil
	}
	var n nest
	if err := n.setup(&out.Meta, &a.Meta); err != nil {
		return err
	}
	return walk1(c, &n, o, x, row, p)
}

// job1 is a row function of one operand over elements that lie alike.
type job1[T, U any] struct {
	o   []U
	x   []T
	row rowFunc1[T, U]
	p   par
}

func (j *job1[T, U]) parts(lo, hi int) { j.row(j.o[lo:hi], j.x[lo:hi], j.p) }

func walk1[T, U any](c *Call, n *nest, o []U, x []T, row rowFunc1[T, U], p par) error {
	w := n.walk(p.tier, n.short(false))
	tile, err := tileOf[T](c, &w, 1)
	if err != nil {
		return err
	}
	for w.next() {
		row(outOf(&w, o), piece(&w, 1, x, tile), p)
	}
	return nil
}

// tileRoom is the room for a copy of an operand.
const tileRoom = rowTile + kernel.FillRoom

// tileOf is room for copies of so many operands of the pieces of w, if they need any.
func tileOf[T any](c *Call, w *walk, operands int) ([]T, error) {
	if !w.tiles() {
		return nil, nil
	}
	return tempOf[T](c, operands*tileRoom)
}

// fills reports whether kernel.FillRowsF32 writes out rows of a T each.
func fills[T any](t kernel.Tier) bool {
	var x T
	return unsafe.Sizeof(x) == f32Size && t != kernel.Scalar
}

// map2 computes Out[0] from a and b, broadcast.
func map2[T, U any](c *Call, a, b *tensor.Tensor, row rowFunc2[T, U], p *par) error {
	return map2of(c, &a.Meta, elems[T](a), &b.Meta, elems[T](b), row, p)
}

// oneElement is the Meta of a Scalar operand.
var oneElement tensor.Meta

// map2scalar computes Out[0] from a and the number s.
func map2scalar[T, U any](c *Call, a *tensor.Tensor, s T, row rowFunc2[T, U], p *par) error {
	one, err := tempOf[T](c, 1)
	if err != nil {
		return err
	}
	one[0] = s
	return map2of(c, &a.Meta, elems[T](a), &oneElement, one, row, p)
}

// scalarMap2 is map2scalar with the number first.
func scalarMap2[T, U any](c *Call, s T, b *tensor.Tensor, row rowFunc2[T, U], p *par) error {
	one, err := tempOf[T](c, 1)
	if err != nil {
		return err
	}
	one[0] = s
	return map2of(c, &oneElement, one, &b.Meta, elems[T](b), row, p)
}

func map2of[T, U any](c *Call, am *tensor.Meta, x []T, bm *tensor.Meta, y []T, row rowFunc2[T, U], p *par) error {
	p.tier = c.Tier
	out := c.Out[0]
	o := elems[U](out)
	if !parallel(c, len(o)) && flat(&out.Meta, am, len(x)) && flat(&out.Meta, bm, len(y)) {
		if len(o) > 0 {
			row(o, x, y, *p)
		}
		return nil
	}
	var n nest
	if err := n.setup(&out.Meta, am, bm); err != nil {
		return err
	}
	if k, times := n.repeats(); times > 1 {
		operands := [...]*[]T{1: &x, 2: &y}
		line, err := tempOf[T](c, times*n.row())
		if err != nil {
			return err
		}
		repeatTo(line, (*operands[k])[:n.row()])
		n.repeat(k, times)
		*operands[k] = line
	}
	j := job2[T, U]{n: n, o: o, x: x, y: y, row: row, p: *p, short: n.short(fills[T](p.tier)), slots: Slots{Count: 1, Items: n.rows()}}
	gathers := n.gathers(1) || n.gathers(2)
	shares := parallel(c, len(o)) && (n.rank > 1 || !gathers)
	if shares {
		j.slots.Count = min(c.Threads, MaxSlots)
	}
	if j.short || gathers {
		var err error
		if j.tiles, err = tempOf[T](c, j.slots.Count*2*tileRoom); err != nil { // less will do, and rows that lie together need none
			shares = false
			if j.tiles, err = tempOf[T](c, 2*tileRoom); err != nil && gathers {
				return err
			}
			j.short = j.short && err == nil
		}
	}
	if shares {
		shareRows(c, &j, &n)
	} else {
		j.walk(&n, j.tiles)
	}
	return nil
}

// job2 is a row function of two operands over the rows of a nest.
type job2[T, U any] struct {
	n     nest
	o     []U
	x, y  []T
	row   rowFunc2[T, U]
	p     par
	short bool
	tiles []T // nil, or room for copies of both operands, for each of slots
	slots Slots
}

// shareRows divides the row of n, over which j is a job, if there is one, and else the rows.
func shareRows[J any, P part[J]](c *Call, j *J, n *nest) {
	if n.rank == 1 {
		share[J, P](c, j, n.row(), parallelGrain)
		return
	}
	share[J, P](c, j, n.rows(), max(1, parallelGrain/n.row()))
}

// parts computes elements lo to hi of the one row, or rows lo to hi.
func (j *job2[T, U]) parts(lo, hi int) {
	n := j.n
	if n.rank == 1 {
		j.row(j.o[lo:hi], span(&n, 1, j.x, lo, hi), span(&n, 2, j.y, lo, hi), j.p)
		return
	}
	if j.tiles != nil {
		slot := j.slots.Enter(lo)
		for lo < hi {
			part := n.plane(lo, hi)
			j.walk(&part, j.tiles[slot*2*tileRoom:][:2*tileRoom])
			lo += part.sizes[0]
		}
		j.slots.Leave(slot)
		return
	}
	n.seek(lo)
	for range hi - lo {
		j.row(j.o[n.off[0]:n.off[0]+n.row()], span(&n, 1, j.x, 0, n.row()), span(&n, 2, j.y, 0, n.row()), j.p)
		n.next()
	}
}

// walk computes all that n walks over; tile has room for copies.
func (j *job2[T, U]) walk(n *nest, tile []T) {
	first, second := halves(tile)
	for w := n.walk(j.p.tier, j.short); w.next(); {
		j.row(outOf(&w, j.o), piece(&w, 1, j.x, first), piece(&w, 2, j.y, second), j.p)
	}
}

func halves[T any](tile []T) (first, second []T) {
	return tile[:len(tile)/2], tile[len(tile)/2:]
}

// map3 computes Out[0] from a, b and d, broadcast.
func map3[S, T, U any](c *Call, a, b, d *tensor.Tensor, row rowFunc3[S, T, U], p *par) error {
	p.tier = c.Tier
	out := c.Out[0]
	o, x, y, z := elems[U](out), elems[S](a), elems[T](b), elems[T](d)
	if !parallel(c, len(o)) && flat(&out.Meta, &a.Meta, len(x)) && flat(&out.Meta, &b.Meta, len(y)) && flat(&out.Meta, &d.Meta, len(z)) {
		if len(o) > 0 {
			row(o, x, y, z, *p)
		}
		return nil
	}
	var n nest
	if err := n.setup(&out.Meta, &a.Meta, &b.Meta, &d.Meta); err != nil {
		return err
	}
	if parallel(c, len(o)) && !n.gathers(1) && !n.gathers(2) && !n.gathers(3) && !n.short(false) {
		shareRows(c, &job3[S, T, U]{n, o, x, y, z, row, *p}, &n)
		return nil
	}
	return walk3(c, &n, o, x, y, z, row, p)
}

// job3 is a row function of three operands over the rows of a nest.
type job3[S, T, U any] struct {
	n    nest
	o    []U
	x    []S
	y, z []T
	row  rowFunc3[S, T, U]
	p    par
}

// parts computes elements lo to hi of the one row, or rows lo to hi.
func (j *job3[S, T, U]) parts(lo, hi int) {
	n := j.n
	if n.rank == 1 {
		j.row(j.o[lo:hi], span(&n, 1, j.x, lo, hi), span(&n, 2, j.y, lo, hi), span(&n, 3, j.z, lo, hi), j.p)
		return
	}
	n.seek(lo)
	for range hi - lo {
		w := n.row()
		j.row(j.o[n.off[0]:n.off[0]+w], span(&n, 1, j.x, 0, w), span(&n, 2, j.y, 0, w), span(&n, 3, j.z, 0, w), j.p)
		n.next()
	}
}

func walk3[S, T, U any](c *Call, n *nest, o []U, x []S, y, z []T, row rowFunc3[S, T, U], p *par) error {
	w := n.walk(p.tier, n.short(false))
	xt, err := tileOf[S](c, &w, 1)
	if err != nil {
		return err
	}
	tile, err := tileOf[T](c, &w, 2)
	if err != nil {
		return err
	}
	first, second := halves(tile)
	for w.next() {
		row(outOf(&w, o), piece(&w, 1, x, xt), piece(&w, 2, y, first), piece(&w, 3, z, second), *p)
	}
	return nil
}
