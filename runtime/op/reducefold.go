package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fold is a reduction of elements of type T by an accumulator.
type fold[T any, A int64 | float64] struct {
	start A
	// row reduces all elements that go into an out; line joins x[i] into acc[i].
	row  func(t kernel.Tier, x []T) A
	line func(t kernel.Tier, acc []A, x []T)
	// mean divides by the number of elements.
	mean bool
	// add, unless nil, adds what lines of some rows gave to that of others: rows that lie side by side may be one line. Only folds that
	// are sums, in float64, have it.
	add func(acc, more []A)
}

// runFold reduces the dimensions of mask by the fold that of makes, which is kept.
func runFold[T any, A int64 | float64](c *Call, of func() fold[T, A], mask uint32) error {
	k := keep[foldJob[T, A]](c)
	j := &k.job
	if j.fold.row == nil {
		j.fold = of()
	}
	if err := j.setup(c, mask, j.fold.line != nil); err != nil {
		return err
	}
	j.out, j.floats, j.groups, j.gathered = c.Out[0], nil, 0, false
	if j.out.DType == tensor.Float {
		j.floats = elems[float32](j.out)
	}
	if j.lines > 0 {
		if err := j.layOutLines(c); err != nil {
			return err
		}
	}
	if j.groups > 0 {
		c.Parallel(j.groups, 1, k.run)
		j.gathered = true
	}
	j.divide(c, k.run)
	j.acc, j.part, j.floats = nil, nil, nil
	return nil
}

// layOutLines decides what is a line, and makes room for what the workers reduce side by side.
func (j *foldJob[T, A]) layOutLines(c *Call) (err error) {
	sums := j.fold.add != nil
	pooled := sums && c.Args[0].Tensor.DType == tensor.Float && j.out.DType == tensor.Float && j.sums(sumsLine)
	j.rows, j.part = 1, nil
	switch {
	case pooled:
		j.rows = j.sideBySide(sumsLine)
		j.gather(c.Threads)
	case sums:
		j.rows = j.sideBySide(longLine)
	}
	if j.acc, err = tempOf[A](c, j.workers*j.block*j.rows); err != nil || !pooled {
		return err
	}
	if j.part, err = tempOf[float32](c, max(1, j.groups)*len(j.acc)); err != nil && j.groups > 0 {
		j.groups = 0 // one thread alone has room
		j.part, err = tempOf[float32](c, len(j.acc))
	}
	return err
}

// foldJob is a fold with its data.
type foldJob[T any, A int64 | float64] struct {
	reduction[T]
	fold   fold[T, A]
	out    *tensor.Tensor
	floats []float32 // the elements of out if it is Float, else nil
	acc    []A       // of every worker: what it reduces side by side
	part   []float32 // of every worker, or of every group: the sums of some lines of float32; nil if lines are added one by one
	rows   int       // how many rows of those are one line
	// groups is how many groups of lines the threads divide, whose sums gathered says are there; 0 if they divide the outs.
	groups   int
	gathered bool
}

// groupsLeast is how many groups of lines each thread has at least.
const groupsLeast = 2

// gather lets threads divide the lines, if all outs are one line: so each reads what it wrote itself.
func (j *foldJob[T, A]) gather(threads int) {
	most := sumsMost * j.rows
	if n := (j.width + most - 2*j.rows) / most; j.shared && j.outs == j.lines && j.lines <= lineMost && n >= groupsLeast*threads {
		j.groups, j.workers, j.pieces, j.block = n, 1, 1, j.lines
	}
}

// longLine is about how many elements a line should have.
const longLine = 512

const (
	// sumsLine is longLine of lines that are added some at a time.
	sumsLine = 64
	// sumsMost is how many lines of float32 are added in float32; the sums of so many are added in float64. As torch's sums, which are of
	// pairs of pairs, they are off by a few units in the last place of the sum of all magnitudes, and not by one for each element; and
	// as there they are infinite where so many are beyond float32.
	sumsMost = 32
)

// sideBySide is how many rows of what is reduced side by side may be one line, since they lie so: some of all rows, or a part of
// each run of them. It is 1 if they do not, or if threads may cut lines into blocks: how many there are does not change a sum.
func (j *foldJob[T, A]) sideBySide(long int) int {
	if j.lines > lineShare {
		return 1
	}
	run := j.run(j.lines)
	rows := max(1, min(run, long/j.lines))
	for run != j.width && run%rows != 0 {
		rows--
	}
	return rows
}

// parts does the shares of workers lo to hi.
func (j *foldJob[T, A]) parts(lo, hi int) {
	if j.groups > 0 && !j.gathered {
		j.gatherSums(lo, hi)
		return
	}
	if j.workers == 1 {
		j.work(&j.reducer, 0)
		return
	}
	for i := lo; i < hi; i++ {
		r := j.of(i)
		j.work(&r, i)
	}
}

// work does the share of a worker, which has r.
func (j *foldJob[T, A]) work(r *reducer[T], worker int) {
	for p, until := j.share(worker); p < until; p++ {
		if j.lines > 0 {
			j.foldLines(r, worker, p)
			continue
		}
		v := j.fold.row(j.tier, r.row(p))
		j.put(r.at, v)
	}
}

// foldLines reduces outs that lie side by side.
func (j *foldJob[T, A]) foldLines(r *reducer[T], worker, piece int) {
	f := &j.fold
	lo, n := j.seekBlock(r, piece)
	room := j.block * j.rows
	acc := j.acc[worker*room:][:n*j.rows]
	for i := range acc {
		acc[i] = f.start
	}
	l, left := r.lines(), r.width
	if j.part != nil && left > 0 {
		left = j.sumLines(floats(r.x[lo:]), &l, elementsAs[float64](acc), j.part[worker*room:][:n*j.rows], left)
		if j.gathered {
			l = r.linesFrom(r.width - left)
		}
	}
	for left > 0 {
		rows := min(j.rows, left)
		at := l.skip(rows) + lo
		f.line(j.tier, acc[:n*rows], r.x[at:at+n*rows])
		left -= rows
	}
	for more := acc[n:]; len(more) > 0; more = more[n:] {
		f.add(acc[:n], more[:n])
	}
	j.putLine(r.at+lo, acc[:n])
}

// sums reports whether a kernel adds lines of n elements.
func (j *foldJob[T, A]) sums(n int) bool { return kernel.PoolMean.Has(j.tier.Narrow(n), sumsMost, n) }

// sumLines adds lines of x to acc, some at a time, whose sums go to part, and gives how many of the rows are left. How many elements a
// line has, which depends on threads, changes no sum.
func (j *foldJob[T, A]) sumLines(x []float32, l *lineWalk, acc []float64, part []float32, rows int) (left int) {
	for g := 0; rows >= 2*j.rows; g++ {
		n := min(rows/j.rows, sumsMost)
		if j.gathered {
			part = j.part[g*len(acc):][:len(acc)]
		} else {
			j.sumGroup(part, x, l, n)
		}
		sumLine(j.tier, acc, part)
		rows -= n * j.rows
	}
	return rows
}

// sumGroup sets part to the sum of n lines of x.
func (j *foldJob[T, A]) sumGroup(part, x []float32, l *lineWalk, n int) {
	var at [sumsMost]*float32
	wide := j.sums(len(part))
	for i := range n {
		line := x[l.skip(j.rows):][:len(part)]
		if at[i] = &line[0]; !wide {
			addLine(part, line, i == 0)
		}
	}
	if wide {
		p := kernel.Pool{Inputs: &at[0], Count: uintptr(n), Out: &part[0], Positions: 1, Scale: 1, Kind: kernel.PoolMean}
		p.Run(j.tier.Narrow(len(part)), len(part))
	}
}

// gatherSums sets the sums of groups lo to hi.
func (j *foldJob[T, A]) gatherSums(lo, hi int) {
	r, n := j.reducer, len(j.acc)
	for g := lo; g < hi; g++ {
		from := g * sumsMost * j.rows
		l := r.linesFrom(from)
		j.sumGroup(j.part[g*n:][:n], floats(r.x), &l, min((j.width-from)/j.rows, sumsMost))
	}
}

// addLine adds x to sum, or begins with it.
func addLine(sum, x []float32, first bool) {
	if first {
		copy(sum, x)
		return
	}
	for i, v := range x {
		sum[i] += v
	}
}

// putLine stores the results of lines as elements of the out from i on.
func (j *foldJob[T, A]) putLine(i int, acc []A) {
	if j.floats == nil {
		for k, v := range acc {
			j.put(i+k, v)
		}
		return
	}
	by := 1.0
	if j.fold.mean {
		by = float64(j.width)
	}
	o := j.floats[i:][:len(acc)]
	for k, v := range acc {
		o[k] = float32(float64(v) / by)
	}
}

// put stores a result as element i of the out.
func (j *foldJob[T, A]) put(i int, v A) {
	if j.fold.mean {
		v /= A(j.width)
	}
	if j.floats != nil {
		j.floats[i] = float32(float64(v))
		return
	}
	switch v := any(v).(type) {
	case float64:
		putFloat(j.out, i, v)
	case int64:
		putInt(j.out, i, v)
	}
}
