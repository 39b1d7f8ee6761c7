package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// innerPool is a pooling of images of float32 whose channels are innermost: a vector kernel combines the elements of a window,
// all channels at once.
type innerPool[T number] struct {
	planes
	tier    kernel.Tier
	windows [3][]extent
	counts  [3][]extent // their lengths say what the sums are divided by; nil for the largest elements
	x, o    []T
	index   []int64 // the places of the largest elements in their planes, or nil: nobody reads them
	numbers [maxTaps]float32
}

// innerMax is maxOver by a vector kernel, if there is one for it.
func innerMax[T number](c *Call, p *planes, windows [3][]extent) bool {
	j := innerPool[T]{planes: *p, tier: c.Tier.Narrow(p.c), windows: windows}
	if !j.fits() {
		return false
	}
	if c.Unread&indices == 0 {
		j.index = elems[int64](c.Out[1])
		for i := range j.numbers {
			j.numbers[i] = float32(i)
		}
	}
	return j.compute(c)
}

// innerMean is average by a vector kernel, if there is one for it.
func innerMean[T number](c *Call, p *planes, windows, counts [3][]extent) bool {
	j := innerPool[T]{planes: *p, tier: c.Tier.Narrow(p.c), windows: windows, counts: counts}
	return j.fits() && j.compute(c)
}

// fits reports whether there is a kernel for all windows, none of which is empty.
func (j *innerPool[T]) fits() bool {
	if !isFloat32[T]() || j.in[1] != 1 || j.out[1] != 1 {
		return false
	}
	most := 1
	for _, all := range j.windows {
		n := 0
		for _, e := range all {
			if e.taps() < 1 {
				return false
			}
			n = max(n, e.taps())
		}
		most *= n
	}
	return most <= maxTaps && kernel.PoolMean.Has(j.tier, most, j.c)
}

// compute computes all images, and keeps the windows for calls with the same sizes.
func (j *innerPool[T]) compute(c *Call) bool {
	k := keep[innerPool[T]](c)
	for d := range j.windows {
		j.windows[d] = append(k.job.windows[d][:0], j.windows[d]...)
		j.counts[d] = append(k.job.counts[d][:0], j.counts[d]...)
	}
	k.job = *j
	return innerAgain[T](c, k)
}

// poolAgain computes a pooling by a vector kernel whose last call has left all but the places of its images, and reports whether it has.
func poolAgain[T number](c *Call) (bool, error) {
	if !c.same {
		return false, nil
	}
	switch k := c.kept.(type) {
	case *kept[innerPool[T]]:
		return innerAgain(c, k), nil
	case *kept[planeMeans]:
		return true, k.job.compute(c, k.run)
	}
	return false, nil
}

// innerAgain computes a pooling that lacks nothing but the places of its images.
func innerAgain[T number](c *Call, k *kept[innerPool[T]]) bool {
	j := &k.job
	j.x, j.o = elems[T](c.Args[0].Tensor), elems[T](c.Out[0])
	if j.index != nil {
		j.index = elems[int64](c.Out[1])
	}
	c.Parallel(j.n*j.to[0]*j.to[1], max(1, parallelGrain/max(1, j.to[2]*j.c)), k.run)
	return true
}

// elements are where those of a window lie, and their places in a plane.
type elements struct {
	at     [maxTaps]*float32
	places [maxTaps]int64
}

// parts computes rows lo to hi of results.
func (j *innerPool[T]) parts(lo, hi int) {
	var e elements
	for i := lo; i < hi; i++ {
		n, d, h := i/(j.to[0]*j.to[1]), i/j.to[1]%j.to[0], i%j.to[1]
		b := box{j.windows[0][d], j.windows[1][h]}
		x, to := j.x[n*j.in[0]:], n*j.out[0]+d*j.out[2]+h*j.out[3]
		for w := 0; w < j.to[2]; {
			b[2] = j.windows[2][w]
			if j.index != nil {
				j.largest(&e, x, to+w*j.out[4], &b)
				w++
				continue
			}
			count := 0
			if j.counts[0] != nil {
				count = j.counts[0][d].length() * j.counts[1][h].length() * j.counts[2][w].length()
			}
			w += j.alike(count, &e, x, to+w*j.out[4], &b, w)
		}
	}
}

// alike computes the windows from column w on, the first of which is b, that have the same length and count, and are as far from each
// other as the first two; it gives their number. Their sums are divided by count, if it is not 0.
func (j *innerPool[T]) alike(count int, e *elements, x []T, to int, b *box, w int) int {
	all, n, step := j.windows[2][w:], 1, 0
	if len(all) > 1 {
		step = all[1].low - all[0].low
	}
	for n < len(all) && all[n].length() == all[0].length() && all[n].low-all[n-1].low == step && (count == 0 || j.counts[2][w+n].length() == j.counts[2][w].length()) {
		n++
	}
	p := kernel.Pool{Inputs: &e.at[0], Count: uintptr(j.list(e, x, b)), Out: at32(j.o, to), Kind: kernel.PoolMean, Scale: 1 / float32(max(1, count))}
	if count == 0 {
		p.Kind = kernel.PoolLargest
	}
	p.Step, p.Next, p.Positions = uintptr(step*j.in[4]*f32Size), uintptr(j.out[4]*f32Size), uintptr(n)
	p.Run(j.tier, j.c)
	return n
}

// list lists where the elements of b lie in x, and in a plane, and gives their number.
func (j *innerPool[T]) list(e *elements, x []T, b *box) (n int) {
	for d := b[0].low; d < b[0].high; d += b[0].step {
		for h := b[1].low; h < b[1].high; h += b[1].step {
			for w := b[2].low; w < b[2].high; w += b[2].step {
				e.at[n] = at32(x, d*j.in[2]+h*j.in[3]+w*j.in[4])
				e.places[n] = int64((d*j.size[1]+h)*j.size[2] + w)
				n++
			}
		}
	}
	return n
}

// largest computes one window, whose result begins at to.
func (j *innerPool[T]) largest(e *elements, x []T, to int, b *box) {
	index := j.index[to : to+j.c]
	// Their numbers lie in the second half of the indices, which are written over them from the front.
	which := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(index))), 2*j.c)[j.c:]
	l := kernel.Largest{Inputs: &e.at[0], Places: &j.numbers[0], Count: uintptr(j.list(e, x, b)), Out: at32(j.o, to), Where: &which[0]}
	l.Run(j.tier, j.c)
	for i, k := range which {
		index[i] = e.places[int(k)%maxTaps]
	}
}
