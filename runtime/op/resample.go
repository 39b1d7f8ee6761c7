package op

import "math"

// scaleOf is the step in the input, of n elements, for one in the output, of m, unless the Scalar? v gives its inverse.
func scaleOf(n, m int, v *Value) float64 {
	if v.Kind != None && v.Scalar() > 0 {
		return 1 / v.Scalar()
	}
	return float64(n) / float64(m)
}

func runNearest[T word](c *Call, _ State) error      { return nearest[T](c, 0, argScale) }
func runNearestExact[T word](c *Call, _ State) error { return nearest[T](c, 0.5, argScale) }

// argScale is scaleOf dimension d, whose Scalar? is argument d.
func argScale(c *Call, d, n, m int) float64 { return scaleOf(n, m, &c.Args[d]) }

// nearest takes for output i the element ⌊(i+shift)·scale⌋, in float32 as PyTorch does. scale is that of spatial
// dimension d, from n elements to m.
func nearest[T word](c *Call, shift float32, scale func(c *Call, d, n, m int) float64) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	var g grid
	if err := g.setup(c, &in.Meta, &out.Meta); err != nil || in.Numel() == 0 {
		return err
	}
	for d := range out.Sizes {
		n, m, step := int(in.Sizes[d]), int(out.Sizes[d]), float32(1)
		if d >= 2 {
			step = float32(scale(c, d, n, m))
		}
		for i := range g.from[d] {
			at := i
			if d >= 2 {
				at = int((float32(i) + shift) * step)
			}
			g.from[d][i] = min(at, n-1) * g.step[d]
		}
	}
	gatherGrid(c, &g, elems[T](out), elems[T](in))
	return nil
}

// filter are the weights by which output elements take from input elements: width for each output.
type filter struct {
	width  int
	at     []int
	weight []float64
	places int // binary ones of the weights, if those are integers
}

func newFilter(c *Call, outs, width int) (f filter, err error) {
	f.width = width
	if f.at, err = tempOf[int](c, outs*width); err != nil {
		return f, err
	}
	f.weight, err = tempOf[float64](c, outs*width)
	return f, err
}

// taps are the places and weights of output i.
func (f *filter) taps(i int) ([]int, []float64) {
	return f.at[i*f.width : (i+1)*f.width], f.weight[i*f.width : (i+1)*f.width]
}

// axis is one dimension of a resampling: n elements become m.
type axis struct {
	n, m  int
	scale float64
	align bool
}

// axisOf is spatial dimension d of a call whose argument 2 is align_corners and whose scales follow, one by one or in a list.
func axisOf(c *Call, d int) axis {
	a := axis{n: int(c.Args[0].Tensor.Sizes[2+d]), m: int(c.Out[0].Sizes[2+d]), align: c.Args[2].Int != 0}
	if len(c.Args) == 4 { // the overload vec
		a.scale = sourceStep(a.n, a.m, &c.Args[3], d)
	} else {
		a.scale = scaleOf(a.n, a.m, &c.Args[3+d])
	}
	if a.align {
		a.scale = float64(a.n-1) / float64(max(a.m-1, 1))
	}
	return a
}

// sourceOf is where output i lies between the elements of the input.
func sourceOf[T float](a *axis, i int) T {
	if a.align {
		return T(T(a.scale) * T(i))
	}
	return T(T(a.scale)*(T(i)+0.5)) - 0.5
}

// linearTap is what output i takes from the input: two places, and the weight of each. One that keeps its size is copied,
// whatever the scale factor (compute_source_index_and_lambda in ATen's UpSample.h).
func linearTap[T float](a *axis, i int) (at [2]int, weight [2]T) {
	x := max(sourceOf[T](a, i), 0)
	if a.n == a.m {
		x = T(i)
	}
	low := min(int(x), a.n-1)
	f := min(x-T(low), 1)
	return [2]int{low, min(low+1, a.n-1)}, [2]T{1 - f, f}
}

// linearFilter computes places and weights in T.
func linearFilter[T float](c *Call, a axis) (filter, error) {
	f, err := newFilter(c, a.m, 2)
	if err != nil {
		return f, err
	}
	for i := range a.m {
		at, w := f.taps(i)
		places, weights := linearTap[T](&a, i)
		copy(at, places[:])
		w[0], w[1] = float64(weights[0]), float64(weights[1])
	}
	return f, nil
}

// cubic is Keys' kernel with slope a at 1.
func cubic(x, a float64) float64 {
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return float64((float64((float64((x-5)*x)+8)*x) - 4) * a)
	}
	return 0
}

func cubicFilter(c *Call, a axis) (filter, error) {
	f, err := newFilter(c, a.m, 4)
	if err != nil {
		return f, err
	}
	for i := range a.m {
		x := sourceOf[float64](&a, i)
		low := math.Floor(x)
		at, w := f.taps(i)
		for k := range at {
			at[k] = min(max(int(low)-1+k, 0), a.n-1)
			w[k] = cubic(x-low+1-float64(k), -0.75)
		}
	}
	return f, nil
}

// antialias is a filter of radius elements, widened where the output is smaller than the input.
func antialias(c *Call, a axis, radius float64, kernel func(x float64) float64) (filter, error) {
	wide := max(a.scale, 1)
	support := float64(radius * wide)
	f, err := newFilter(c, a.m, 2*int(math.Ceil(support))+1)
	if err != nil {
		return f, err
	}
	for i := range a.m {
		centre := float64(a.scale * (float64(i) + 0.5))
		low := max(int(centre-support+0.5), 0)
		size := min(min(int(centre+support+0.5), a.n)-low, f.width)
		at, w := f.taps(i)
		total := 0.0
		for k := range at {
			at[k], w[k] = min(low+k, a.n-1), 0
			if k < size {
				w[k] = kernel((float64(low+k) - centre + 0.5) / wide)
				total += w[k]
			}
		}
		for k := range w {
			w[k] /= total
		}
	}
	return f, nil
}

func linearAntialias(c *Call, a axis) (filter, error) {
	return antialias(c, a, 1, func(x float64) float64 { return max(1-math.Abs(x), 0) })
}

func cubicAntialias(c *Call, a axis) (filter, error) {
	return antialias(c, a, 2, func(x float64) float64 { return cubic(x, -0.5) })
}

// filtering makes the filter of one dimension.
type filtering func(c *Call, a axis) (filter, error)

func runResampleLinear[T float](c *Call, _ State) error {
	return resampleFloats[T](c, linearFilter[float64])
}

func runResampleCubic[T float](c *Call, _ State) error {
	return resampleFloats[T](c, cubicFilter)
}

func runResampleLinearAntialias[T float](c *Call, _ State) error {
	return resampleFloats[T](c, linearAntialias)
}

func runResampleCubicAntialias[T float](c *Call, _ State) error {
	return resampleFloats[T](c, cubicAntialias)
}

func runResampleLinearBytes(c *Call, _ State) error {
	return resample(c, fixed(linearFilter[float64]), filterBytes)
}

func runResampleCubicBytes(c *Call, _ State) error {
	return resample(c, fixed(cubicFilter), filterBytes)
}

func runResampleLinearAntialiasBytes(c *Call, _ State) error {
	return resample(c, fixed(linearAntialias), filterBytes)
}

func runResampleCubicAntialiasBytes(c *Call, _ State) error {
	return resample(c, fixed(cubicAntialias), filterBytes)
}

// fixed rounds a filter's weights to 16-bit integers, with as many binary places as the largest of them allows.
func fixed(filterOf filtering) filtering {
	return func(c *Call, a axis) (filter, error) {
		f, err := filterOf(c, a)
		if err != nil {
			return f, err
		}
		for i := range a.m {
			f.merge(i)
		}
		most := 0.0
		for _, w := range f.weight {
			most = max(most, w)
		}
		for f.places = 0; f.places < 22 && int(0.5+math.Ldexp(most, f.places+1)) < 1<<15; f.places++ {
		}
		for i, w := range f.weight {
			f.weight[i] = math.Trunc(math.Ldexp(w, f.places) + math.Copysign(0.5, w))
		}
		return f, nil
	}
}

// merge gives all of the weight of an element that output i takes twice to its first place.
func (f *filter) merge(i int) {
	at, w := f.taps(i)
	for k := len(at) - 1; k > 0; k-- {
		if at[k] == at[k-1] {
			w[k-1] += w[k]
			w[k] = 0
		}
	}
}

// filterBytes is filterPlane for a fixed filter: the sums are rounded to bytes.
func filterBytes(o, x []uint8, f *filter, inner int) {
	half := int64(1) << f.places >> 1
	for i := range len(o) / inner {
		at, w := f.taps(i)
		row := o[i*inner : (i+1)*inner]
		for j := range row {
			sum := half
			for k, a := range at {
				sum += int64(w[k]) * int64(x[a*inner+j])
			}
			row[j] = uint8(min(max(sum>>f.places, 0), 255))
		}
	}
}

// resampleFloats filters by vector kernels, or else plane by plane.
func resampleFloats[T float](c *Call, filterOf filtering) error {
	if done, err := resampleLines[T](c, filterOf); done || err != nil {
		return err
	}
	return resample(c, filterOf, filterPlane[T])
}

// resample filters one dimension after the other, the last one first; plane does it for one plane.
func resample[T number](c *Call, filterOf filtering, plane func(o, x []T, f *filter, inner int)) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	if out.Numel() == 0 {
		return nil
	}
	x, err := contiguousOf[T](c, in)
	if err != nil {
		return err
	}
	inner := 1
	for d := in.Rank() - 3; d >= 0; d-- {
		a := axisOf(c, d)
		f, err := filterOf(c, a)
		if err != nil {
			return err
		}
		y, err := tempOf[T](c, len(x)/a.n*a.m)
		if err != nil {
			return err
		}
		for k := range len(x) / (a.n * inner) {
			plane(y[k*a.m*inner:(k+1)*a.m*inner], x[k*a.n*inner:(k+1)*a.n*inner], &f, inner)
		}
		x = y
		inner *= a.m
	}
	copyOrdered(out, x)
	return nil
}

// filterPlane computes the rows of o, inner elements long, from those of x.
func filterPlane[T float](o, x []T, f *filter, inner int) {
	for i := range len(o) / inner {
		at, w := f.taps(i)
		row := o[i*inner : (i+1)*inner]
		for j := range row {
			sum := 0.0
			for k, a := range at {
				sum += float64(w[k] * float64(x[a*inner+j]))
			}
			row[j] = T(sum)
		}
	}
}
