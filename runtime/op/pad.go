package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// padAt is what pads dimension i of rank: pad begins with the last dimension.
func padAt(pad []int64, rank, i int) (low, high int64) {
	k := 2 * (rank - 1 - i)
	if k >= len(pad) {
		return 0, 0
	}
	return pad[k], pad[k+1]
}

func inferConstantPad(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	pad := c.Args[1].Ints
	if len(pad)%2 != 0 || len(pad) > 2*t.Rank() {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	return addPads(c, t, pad)
}

// addPads makes the sizes of Out[0] those of t with the pads.
func addPads(c *Infer, t *tensor.Tensor, pad []int64) error {
	for i, d := range t.Sizes {
		low, high := padAt(pad, t.Rank(), i)
		d = c.Shapes.Add(c.Shapes.Add(d, low), high)
		if c.Shapes.Less(d, 0) == tensor.Yes {
			return errSizes
		}
		c.Out[0].Sizes[i] = d
	}
	return nil
}

func runConstantPad[T word](c *Call, _ State) error {
	in, out, pad := c.Args[0].Tensor, c.Out[0], c.Args[1].Ints
	if out.Numel() == 0 {
		return nil
	}
	var si, so [tensor.MaxRank]int
	stridesOf(&in.Meta, &si)
	stridesOf(&out.Meta, &so)
	k := keep[padJob[T]](c)
	j := &k.job
	j.o, j.x = elems[T](out), elems[T](in)
	j.v.n, j.v.srcOff, j.v.dstOff = 0, 0, 0
	for i, n := range in.Sizes {
		low, high := padAt(pad, in.Rank(), i)
		j.v.add(int(n+min(low, 0)+min(high, 0)), si[i], so[i])
		j.v.srcOff += int(max(-low, 0)) * si[i]
		j.v.dstOff += int(max(low, 0)) * so[i]
	}
	value, dtype := scalarBytes(&c.Args[2])
	CastBytes(out.Data, out.DType, value, dtype, 1)
	j.value = j.o[0]
	j.run(c, k.run)
	j.o, j.x = nil, nil
	return nil
}

// padJob moves elements into an out, and gives all others one value. It writes in the order of memory, each element once.
type padJob[T word] struct {
	o, x  []T
	v     strided
	value T
}

func (j *padJob[T]) run(c *Call, run func(lo, hi int)) {
	v := &j.v
	if v.empty() {
		fillRun(j.o, j.value)
		return
	}
	v.normalize()
	if v.n == 0 || v.dst[v.n-1] != 1 { // elements are runs
		v.add(1, 1, 1)
	}
	fillRun(j.o[:v.dstOff], j.value)
	if v.n == 1 {
		moveRun(j.o, j.x, v.dstOff, v.srcOff, v.size[0], 1, v.src[0])
		fillRun(j.o[v.dstOff+v.size[0]:], j.value)
		return
	}
	fillRun(j.o[j.place(v.size[0]):], j.value)
	if sharers(c, len(j.o)) > 1 {
		c.Parallel(v.size[0], max(1, parallelGrain/v.dst[0]), run)
	} else {
		run(0, v.size[0])
	}
}

// place is where index i of the outermost dimension begins, or where the out ends.
func (j *padJob[T]) place(i int) int { return min(j.v.dstOff+i*j.v.dst[0], len(j.o)) }

// parts computes from indices lo to hi of the outermost dimension of the move on to the next ones.
func (j *padJob[T]) parts(lo, hi int) {
	v := &j.v
	last := v.n - 1
	var at [2 * tensor.MaxRank]int
	for i := lo; i < hi; i++ {
		s, d := v.srcOff+i*v.src[0], j.place(i)
		done := d
		for more := true; more; more = v.next(&at, 1, last, &s, &d) {
			fillRun(j.o[done:d], j.value)
			moveRun(j.o, j.x, d, s, v.size[last], 1, v.src[last])
			done = d + v.size[last]
		}
		fillRun(j.o[done:j.place(i+1)], j.value)
	}
}

// inferEdgePad pads the last n dimensions of argument 0, before which there are one or two more.
func inferEdgePad(c *Infer, n int, reflect bool) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	pad := c.Args[1].Ints
	if len(pad) != 2*n || (t.Rank() != n+1 && t.Rank() != n+2) {
		return errDims
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	for i, d := range t.Sizes[t.Rank()-n:] {
		low, high := padAt(pad, n, i)
		if d == 0 || reflect && (c.Shapes.Less(low, d) == tensor.No || c.Shapes.Less(high, d) == tensor.No) {
			return errSizes
		}
	}
	return addPads(c, t, pad)
}

func inferReflectionPad1d(c *Infer) error  { return inferEdgePad(c, 1, true) }
func inferReflectionPad2d(c *Infer) error  { return inferEdgePad(c, 2, true) }
func inferReflectionPad3d(c *Infer) error  { return inferEdgePad(c, 3, true) }
func inferReplicationPad1d(c *Infer) error { return inferEdgePad(c, 1, false) }
func inferReplicationPad2d(c *Infer) error { return inferEdgePad(c, 2, false) }
func inferReplicationPad3d(c *Infer) error { return inferEdgePad(c, 3, false) }

// reflectIndex mirrors i at the ends of [0, n), which stay single.
func reflectIndex(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

func replicateIndex(i, n int) int { return min(max(i, 0), n-1) }

func runReflectionPad[T word](c *Call, _ State) error  { return edgePad[T](c, reflectIndex) }
func runReplicationPad[T word](c *Call, _ State) error { return edgePad[T](c, replicateIndex) }

// edgePad fills the out with the elements of argument 0 at the indices that at gives.
func edgePad[T word](c *Call, at func(i, n int) int) error {
	in, out, pad := c.Args[0].Tensor, c.Out[0], c.Args[1].Ints
	o, row, middle := elems[T](out), 0, edges{} // row is the length of rows with edges
	if len(o) == 0 {
		return nil
	}
	var g grid
	if err := g.setup(c, &in.Meta, &out.Meta); err != nil {
		return err
	}
	for d := range out.Sizes {
		low, high := padAt(pad, in.Rank(), d)
		n, from := int(in.Sizes[d]), g.from[d]
		if g.to[d] == 1 && g.step[d] == 1 && len(from) > 1 && low >= 0 && high >= 0 && low+high > 0 { // such a row ends with its own elements
			row, middle = len(from), edges{int(low), int(high)}
			from[0] = 0
			g.from[d], g.run = from[:1], n
			continue
		}
		for i := range from {
			from[i] = at(i-int(low), n) * g.step[d]
		}
	}
	gatherGrid(c, &g, o[middle.low:], elems[T](in))
	if row > 0 {
		fillEdges(o, row, middle, at)
	}
	return nil
}

// edges is how many elements are added in front of a row, and behind it.
type edges struct{ low, high int }

// fillEdges fills the edges of each row of n elements of o with elements from between them, at the indices that at gives.
func fillEdges[T word](o []T, n int, e edges, at func(i, n int) int) {
	inside := n - e.low - e.high
	for ; len(o) >= n; o = o[n:] {
		row := o[:n]
		middle := row[e.low:][:inside]
		for i := range e.low {
			row[i] = middle[at(i-e.low, inside)]
		}
		for i := range e.high {
			row[e.low+inside+i] = middle[at(inside+i, inside)]
		}
	}
}

// grid says for each dimension of an out where in the input its indices lie.
type grid struct {
	from [tensor.MaxRank][]int // offset in the input, for each index
	step [tensor.MaxRank]int   // strides of the input
	to   [tensor.MaxRank]int   // strides of the out
	rank int
	run  int // elements that lie side by side in both, for each index
}

// setup makes room for the offsets of each dimension; in and out are of one rank.
func (g *grid) setup(c *Call, in, out *tensor.Meta) (err error) {
	stridesOf(in, &g.step)
	stridesOf(out, &g.to)
	g.rank, g.run = out.Rank(), 1
	for d, n := range out.Sizes {
		if g.from[d], err = tempOf[int](c, int(n)); err != nil {
			return err
		}
	}
	return nil
}

// gathering copies every element of o from x, dimension by dimension as they lie in o: runs of elements where the last ones take those
// of x one after another.
type gathering[T word] struct {
	grid
	o, x  []T
	list  [tensor.MaxRank]int // dimensions, the outermost in o first
	n     int                 // how many
	first int                 // where in x the first element is
	// times is how many elements of a line of o after one another are the same one of a line of x, which has no others; 0 if it is not so.
	// lines is the same of the lines of a plane, if those of x lie one behind the other.
	times, lines int
}

// gatherGrid fills o from x, on several threads if there is much.
func gatherGrid[T word](c *Call, g *grid, o, x []T) {
	j := gathering[T]{grid: *g, o: o, x: x}
	dims := j.list[:0]
	for d := range g.rank {
		switch len(g.from[d]) {
		case 0:
			return
		case 1:
			j.first += g.from[d][0]
		default:
			at := len(dims)
			for at > 0 && g.to[dims[at-1]] < g.to[d] {
				at--
			}
			dims = slices.Insert(dims, at, d)
		}
	}
	j.n = len(dims)
	for ; j.n > 0; j.n-- {
		last := dims[j.n-1]
		if g.to[last] != j.run || timesOf(g.from[last], j.run) != 1 {
			break
		}
		j.first += g.from[last][0]
		j.run *= len(g.from[last])
	}
	j.findTimes()
	switch {
	case j.n == 0:
		copy(o[:j.run], x[j.first:])
	case parallel(c, len(o)):
		n := len(g.from[dims[0]])
		share(c, &j, n, max(1, parallelGrain*n/len(o)))
	default:
		j.parts(0, len(g.from[dims[0]]))
	}
}

// parts copies the indices lo to hi of the outermost dimension.
func (j *gathering[T]) parts(lo, hi int) {
	d := j.list[0]
	j.copy(j.list[:j.n], lo, hi, lo*j.to[d], j.first)
}

// findTimes sets times and lines.
func (j *gathering[T]) findTimes() {
	if j.n == 0 || j.run > 1 || j.to[j.list[j.n-1]] > 1 {
		return
	}
	line := j.grid.from[j.list[j.n-1]]
	if j.times = timesOf(line, 1); j.times > 0 && j.n > 1 && j.to[j.list[j.n-2]] == len(line) {
		j.lines = timesOf(j.grid.from[j.list[j.n-2]], len(line)/j.times)
	}
}

// timesOf is how many times each of the places, which are step apart, is there; 0 if they are not so.
func timesOf(places []int, step int) int {
	n := 1
	for n < len(places) && places[n] == places[0] {
		n++
	}
	for i, v := range places {
		if v-places[0] != i/n*step {
			return 0
		}
	}
	if len(places)%n != 0 {
		return 0
	}
	return n
}

// enlarge makes a plane of lines that have these places behind from, and reports whether there is a kernel for that. First each line is
// there once, at the end of the plane; they are taken from there in order, so that none is overwritten that is still needed.
func (j *gathering[T]) enlarge(places []int, to, from int) bool {
	size := j.to[j.list[j.n-2]]
	count := len(places) / j.lines
	plane := j.o[to:][:len(places)*size]
	once := plane[len(plane)-count*size:]
	if !kernel.Repeat(once, j.x[from+places[0]:][:count*size/j.times], j.times) {
		return false
	}
	for i := 0; j.lines > 1 && len(plane) > 0; i++ {
		line := once[i*size:][:size]
		for range j.lines {
			copy(plane, line)
			plane = plane[size:]
		}
	}
	return true
}

// copy copies the indices lo to hi of the first of dims, to at to of o, from what lies at from in x on.
func (j *gathering[T]) copy(dims []int, lo, hi, to, from int) {
	places, step := j.grid.from[dims[0]][lo:hi], j.to[dims[0]]
	switch {
	case j.lines > 0 && len(dims) == 2 && lo%j.lines == 0 && len(places)%j.lines == 0 && j.enlarge(places, to, from):
	case len(dims) > 1:
		size := j.run
		for _, d := range dims[1:] {
			size *= len(j.grid.from[d])
		}
		for i, off := range places {
			if i > 0 && off == places[i-1] && size == step {
				copy(j.o[to:to+size], j.o[to-size:])
			} else {
				j.copy(dims[1:], 0, len(j.grid.from[dims[1]]), to, from+off)
			}
			to += step
		}
	case j.run > 1:
		for _, off := range places {
			copy(j.o[to:to+j.run], j.x[from+off:])
			to += step
		}
	case j.times > 0 && lo%j.times == 0 && len(places)%j.times == 0 && kernel.Repeat(j.o[to:], j.x[from+places[0]:][:len(places)/j.times], j.times):
	default:
		for _, off := range places {
			j.o[to] = j.x[from+off]
			to += step
		}
	}
}
