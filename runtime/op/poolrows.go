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
}

// meanRows computes means over windows, divided by the product of the lengths of counts.
func meanRows[T number](c *Call, p *planes, windows, counts [3][]extent) error {
	j := rowMeans[T]{planes: *p, windows: windows, counts: counts, x: elems[T](c.Args[0].Tensor), o: elems[T](c.Out[0]), workers: 1, tier: c.Tier}
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
			for w, wide := range j.windows[2] {
				j.o[row+w*j.out[4]] = T(total(sums[min(wide.low, wide.high):wide.high]) / float64(count*j.counts[2][w].length()))
			}
		}
	}
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}
