package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// resampleDims is how many dimensions are resampled at most.
const resampleDims = 3

// resampleLeast is how many results make it worth to plan calls of kernels, resampleParallelMin how many products to share them.
const (
	resampleLeast       = 1 << 10
	resampleParallelMin = 1 << 16
)

// resampler is a resampling of float32 by vector kernels: one dimension after the other, the last one first. A plane is
// what the dimensions that are resampled span, with its channels if those lie inside.
type resampler struct {
	x, y    []float32
	picks   kernel.Picks
	picked  bool // the last dimension is resampled by picks, for it has nothing inside
	steps   [resampleDims]resampling
	count   int // steps
	planes  int
	in, out int // elements of a plane
	short   int // elements of a copy of a plane whose rows are shorter than a vector; 0 for none
	scratch []float32
	space   int // elements of scratch for each worker
	workers int
}

// resampling is one dimension of a resampler.
type resampling struct {
	filter
	weights []float32
	blend   kernel.Blend
	n, m    int
	outer   int // how often a plane has the dimension
	inner   int // elements of a line, which has one weight
	step    int // elements from a line of the operand to the next, at least inner
	space   int // elements of a plane of results
}

// resampleLines resamples the dimensions behind the second of argument 0, at least two, by vector kernels; false where there
// are none for it.
func resampleLines[T number](c *Call, filterOf filtering) (bool, error) {
	r := resampler{workers: 1}
	in, out := c.Args[0].Tensor, c.Out[0]
	inner := innerOf(&in.Meta, &out.Meta)
	if !isFloat32[T]() || c.Tier == kernel.Scalar || inner == 0 || in.Rank() < 4 || in.Numel() == 0 || out.Numel() < resampleLeast {
		return false, nil
	}
	r.x, r.y = elems[float32](in), elems[float32](out)
	if ok, err := r.plan(c, filterOf, inner); !ok || err != nil {
		return false, err
	}
	return true, r.run(c)
}

// innerOf is how many elements lie inside of the last dimension that is resampled: 1, or the channels; 0 in other orders.
func innerOf(in, out *tensor.Meta) int {
	if in.Contiguous() && out.Contiguous() {
		return 1
	}
	for _, order := range [][]uint8{orderChannelsLast, orderChannelsLast3d} {
		if slices.Equal(in.DimOrder, order) && slices.Equal(out.DimOrder, order) {
			return int(in.Sizes[1])
		}
	}
	return 0
}

// plan finds the steps; false if one of them has no kernel.
func (r *resampler) plan(c *Call, filterOf filtering, inner int) (bool, error) {
	in, out := c.Args[0].Tensor, c.Out[0]
	r.in = inner
	for _, n := range in.Sizes[2:] {
		r.in *= int(n)
	}
	r.planes = in.Numel() / r.in
	r.out = out.Numel() / r.planes
	outer, step := r.in/inner, inner
	for d := in.Rank() - 3; d >= 0; d-- {
		a := axisOf(c, d)
		outer /= a.n
		s := &r.steps[r.count]
		s.n, s.m, s.outer, s.inner, s.step, s.space = a.n, a.m, outer, inner, step, outer*a.m*inner
		if err := s.weigh(c, filterOf, a); err != nil {
			return false, err
		}
		if ok, err := r.kernels(c, s); !ok || err != nil {
			return false, err
		}
		inner *= a.m
		step = inner
		if r.picked && r.count == 0 {
			step = r.picks.Stride()
		}
		r.count++
	}
	return true, nil
}

// weigh makes the filter of a step.
func (s *resampling) weigh(c *Call, filterOf filtering, a axis) (err error) {
	if s.filter, err = filterOf(c, a); err != nil {
		return err
	}
	s.weights, err = tempOf[float32](c, len(s.weight))
	for i := range s.weights {
		s.weights[i] = float32(s.weight[i])
	}
	return err
}

// kernels finds those of a step; false if there are none.
func (r *resampler) kernels(c *Call, s *resampling) (ok bool, err error) {
	if s.inner > 1 {
		return s.lines(c)
	}
	if r.picks, ok = kernel.PicksOf(c.Tier, s.at, s.width, s.n); !ok {
		return false, nil
	}
	words, err := tempOf[uint32](c, r.picks.Words())
	if err != nil {
		return false, err
	}
	r.picks.Plan(words, s.at, s.weights)
	r.picked, s.space = true, s.outer*r.picks.Stride()
	if s.n < r.picks.Lanes() {
		r.short = r.in + r.picks.Lanes()
	}
	return true, nil
}

// lines finds the kernel of a step whose lines have one weight each.
func (s *resampling) lines(c *Call) (ok bool, err error) {
	if s.blend, ok = kernel.BlendOf(c.Tier, s.width, s.inner); !ok {
		return false, nil
	}
	words, err := tempOf[uint32](c, s.blend.Words(s.m))
	if err != nil {
		return false, err
	}
	s.blend.Plan(words, s.at, s.weights, s.step)
	return true, nil
}

func (r *resampler) run(c *Call) (err error) {
	work := 0
	r.space = r.short
	for i := range r.steps[:r.count] {
		work += r.steps[i].space * r.steps[i].width
		if i < r.count-1 {
			r.space += r.steps[i].space
		}
	}
	if c.Parallel != nil && r.planes > 1 && work*r.planes >= resampleParallelMin {
		r.workers = min(convWorkers, r.planes)
	}
	if r.scratch, err = tempOf[float32](c, r.space*r.workers); err != nil {
		return err
	}
	if r.workers == 1 {
		r.parts(0, 1)
		return nil
	}
	share(c, r, r.workers, 1)
	return nil
}

// parts does the shares of workers lo to hi.
func (r *resampler) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		for p := r.planes * i / r.workers; p < r.planes*(i+1)/r.workers; p++ {
			r.plane(p, r.scratch[i*r.space:(i+1)*r.space])
		}
	}
}

// plane resamples plane p.
func (r *resampler) plane(p int, scratch []float32) {
	x := r.x[p*r.in:]
	for i := range r.steps[:r.count] {
		s, o := &r.steps[i], r.y[p*r.out:(p+1)*r.out]
		if i < r.count-1 {
			o, scratch = scratch[:s.space], scratch[s.space:]
		}
		if i == 0 && r.picked {
			r.pickRows(o, x, s.outer, scratch)
		} else {
			s.blendLines(o, x)
		}
		x = o
	}
}

// pickRows resamples the rows of a plane that x begins with.
func (r *resampler) pickRows(o, x []float32, rows int, scratch []float32) {
	if r.short > 0 && len(x) < r.short {
		tail := scratch[len(scratch)-r.short:]
		clear(tail[copy(tail, x[:r.in]):])
		x = tail
	}
	picks := r.picks // which several workers share
	picks.Run(o, picks.Stride(), x, rows)
}

// blendLines makes each line of o a sum of lines of x.
func (s *resampling) blendLines(o, x []float32) {
	blend := s.blend // which several workers share
	for k := range s.outer {
		blend.Run(o[k*s.m*s.inner:], x[k*s.n*s.step:])
	}
}
