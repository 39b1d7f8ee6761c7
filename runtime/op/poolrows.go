package op

import "github.com/rules-pte/rules_pte/runtime/kernel"

// rowMeans is the mean of windows of planes whose rows lie one after another: the rows that windows see are added to a row of sums, of
// which each window adds some.
type rowMeans[T number] struct {
	planes
	windows, counts [3][]extent
	x, o            []T
	sums            []float64 // of every worker
	workers         int
	tier            kernel.Tier
	inner           evenRow
}

// evenRow are windows lo to hi of a row that have the same length and count, each step elements behind the one before.
type evenRow struct{ lo, hi, step int }

// evenWindows finds the windows of a row that are like the one in its middle; there are none if that sees nothing.
func evenWindows(windows, counts []extent) (e evenRow) {
	mid := len(windows) / 2
	if len(windows) == 0 || windows[mid].length() <= 0 {
		return e
	}
	e.lo, e.hi = mid, mid+1
	like := func(w int) bool {
		return windows[w].length() == windows[mid].length() && counts[w].length() == counts[mid].length()
	}
	if e.hi < len(windows) {
		e.step = windows[e.hi].low - windows[mid].low
	}
	for e.hi < len(windows) && like(e.hi) && windows[e.hi].low-windows[e.hi-1].low == e.step {
		e.hi++
	}
	for e.lo > 0 && like(e.lo-1) && windows[e.lo].low-windows[e.lo-1].low == e.step {
		e.lo--
	}
	return e
}

// meanRows computes means over windows, divided by the product of the lengths of counts.
func meanRows[T number](c *Call, p *planes, windows, counts [3][]extent) error {
	j := rowMeans[T]{planes: *p, windows: windows, counts: counts, x: elems[T](c.Args[0].Tensor), o: elems[T](c.Out[0]), workers: 1, tier: c.Tier}
	j.inner = evenWindows(windows[2], counts[2])
	if c.Parallel != nil && c.Threads > 1 && len(j.x) >= parallelGrain {
		j.workers = min(convWorkers, p.n*p.c)
	}
	var err error
	if j.sums, err = tempOf[float64](c, j.workers*j.apart()); err != nil {
		return err
	}
	if j.workers == 1 {
		j.parts(0, 1)
	} else {
		share(c, &j, j.workers, 1)
	}
	return nil
}

// apart is from the sums of a worker to the next's.
func (j *rowMeans[T]) apart() int { return j.size[2] + SlotGap/wordBytes }

// parts does the shares of workers lo to hi.
func (j *rowMeans[T]) parts(lo, hi int) {
	all := j.n * j.c
	for w := lo; w < hi; w++ {
		sums := j.sums[w*j.apart():][:j.size[2]]
		for i := all * w / j.workers; i < all*(w+1)/j.workers; i++ {
			n, c := i/j.c, i%j.c
			j.plane(sums, n*j.in[0]+c*j.in[1], n*j.out[0]+c*j.out[1])
		}
	}
}

// plane computes a plane, which begins there in x and in o.
func (j *rowMeans[T]) plane(sums []float64, base, to int) {
	for d, deep := range j.windows[0] {
		for h, high := range j.windows[1] {
			clear(sums)
			for a := deep.low; a < deep.high; a++ {
				for b := high.low; b < high.high; b++ {
					at := base + a*j.in[2] + b*j.in[3]
					sumLine(j.tier, sums, j.x[at:at+len(sums)])
				}
			}
			count, row := j.counts[0][d].length()*j.counts[1][h].length(), to+d*j.out[2]+h*j.out[3]
			j.ends(sums, row, count, 0, j.inner.lo)
			j.even(sums, row, count)
			j.ends(sums, row, count, j.inner.hi, len(j.windows[2]))
		}
	}
}

// ends computes windows lo to hi of a row, each by itself.
func (j *rowMeans[T]) ends(sums []float64, row, count, lo, hi int) {
	for w := lo; w < hi; w++ {
		wide := j.windows[2][w]
		j.o[row+w*j.out[4]] = T(total(sums[min(wide.low, wide.high):wide.high]) / float64(count*j.counts[2][w].length()))
	}
}

// even computes the even windows of a row.
func (j *rowMeans[T]) even(sums []float64, row, count int) {
	lo, hi, step, next := j.inner.lo, j.inner.hi, j.inner.step, j.out[4]
	if lo == hi {
		return
	}
	first := j.windows[2][lo]
	length, by := first.length(), float64(count*j.counts[2][lo].length())
	at, to := first.low, row+lo*next
	if length == 3 {
		for range hi - lo {
			s := sums[at:][:3]
			j.o[to] = T((s[0] + s[1] + s[2]) / by)
			at, to = at+step, to+next
		}
		return
	}
	for range hi - lo {
		j.o[to] = T(total(sums[at:][:length]) / by)
		at, to = at+step, to+next
	}
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}
