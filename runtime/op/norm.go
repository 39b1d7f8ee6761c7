package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// plainPair are the elements of argument 0 in row-major order, and as many for Out[0], which finish copies
// to where out wants them.
func plainPair[T number](c *Call) (x, o []T, err error) {
	if x, err = contiguousOf[T](c, c.Args[0].Tensor); err != nil {
		return nil, nil, err
	}
	if c.Out[0].Contiguous() {
		return x, elems[T](c.Out[0]), nil
	}
	o, err = tempOf[T](c, len(x))
	return x, o, err
}

// finish copies the elements o of plainPair to Out[0].
func finish[T number](c *Call, o []T) {
	if !c.Out[0].Contiguous() {
		copyOrdered(c.Out[0], o)
	}
}

// moments are the mean and the biased variance of x, in float64, in two passes.
func moments[T number](x []T) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		variance += float64(d * d)
	}
	return mean, variance / float64(len(x))
}

// weightAndBias are a normalization's optional weight and bias.
func weightAndBias[T number](c *Call, weight, bias int) (w, b []T) {
	if t := c.Args[weight].Tensor; t != nil {
		w = elems[T](t)
	}
	if t := c.Args[bias].Tensor; t != nil {
		b = elems[T](t)
	}
	return w, b
}

// plainAffine is weightAndBias in row-major order.
func plainAffine[T number](c *Call, weight, bias int) (w, b []T, err error) {
	if t := c.Args[weight].Tensor; t != nil {
		if w, err = contiguousOf[T](c, t); err != nil {
			return nil, nil, err
		}
	}
	if t := c.Args[bias].Tensor; t != nil {
		b, err = contiguousOf[T](c, t)
	}
	return w, b, err
}

// runLayerNorm: out = (x − mean) / √(var + eps) · weight + bias over the last dimensions.
func runLayerNorm[T number](c *Call, _ State) error {
	w, b, err := plainAffine[T](c, 2, 3)
	if err != nil {
		return err
	}
	size := 1
	for _, s := range c.Args[1].Ints {
		size *= int(s)
	}
	if (w != nil && len(w) != size) || (b != nil && len(b) != size) {
		return errSizes
	}
	x, o, err := plainPair[T](c)
	if err != nil {
		return err
	}
	n := layerNorm[T]{o: o, x: x, w: w, b: b, means: elems[T](c.Out[1]), rstds: elems[T](c.Out[2]), size: size,
		eps: c.Args[4].Scalar(), tier: c.Tier}
	if parallel(c, rowCost*len(x)) {
		share(c, &n, len(n.means), max(1, parallelGrain/rowCost/max(1, size)))
	} else {
		n.parts(0, len(n.means))
	}
	finish(c, o)
	return nil
}

// layerNorm normalizes rows of size elements.
type layerNorm[T number] struct {
	o, x, w, b   []T
	means, rstds []T
	size         int
	eps          float64
	tier         kernel.Tier
}

// parts normalizes rows lo to hi.
func (n *layerNorm[T]) parts(lo, hi int) {
	if isFloat32[T]() && kernel.NormRowsF32(n.tier, &kernel.Norms{X: floats(n.x)[lo*n.size : hi*n.size], Out: floats(n.o)[lo*n.size : hi*n.size], A: floats(n.w), B: floats(n.b),
		Means: floats(n.means)[lo:hi], Rstds: floats(n.rstds)[lo:hi], Width: n.size, Eps: float32(n.eps)}) {
		return
	}
	for i := lo; i < hi; i++ {
		row, to := n.x[i*n.size:(i+1)*n.size], n.o[i*n.size:(i+1)*n.size]
		mean, variance := momentsIn(n.tier, row)
		rstd := 1 / math.Sqrt(variance+n.eps)
		n.means[i], n.rstds[i] = T(mean), T(rstd)
		if !isFloat32[T]() || !kernel.AffineRowF32(n.tier, floats(to), floats(row), floats(n.w), floats(n.b), float32(mean), float32(rstd)) {
			normalizeRow(to, row, n.w, n.b, mean, rstd)
		}
	}
}

// momentsIn is moments, in float32 where t has kernels.
func momentsIn[T number](t kernel.Tier, x []T) (mean, variance float64) {
	if !isFloat32[T]() {
		return moments(x)
	}
	sum, ok := kernel.SumRowF32(t, floats(x))
	if !ok {
		return moments(x)
	}
	n := float64(len(x))
	mean = float64(sum) / n
	squares, _ := kernel.SquaresRowF32(t, floats(x), float32(mean))
	return mean, float64(squares) / n
}

func normalizeRow[T number](o, x, w, b []T, mean, rstd float64) {
	for j, v := range x {
		y := float64((float64(v) - mean) * rstd)
		if w != nil {
			y = float64(y * float64(w[j]))
		}
		if b != nil {
			y += float64(b[j])
		}
		o[j] = T(y)
	}
}

func runGroupNorm[T number](c *Call, _ State) error {
	w, b := weightAndBias[T](c, 1, 2)
	groups, channels := int(c.Args[6].Int), int(c.Args[4].Int)
	if groups <= 0 || channels%groups != 0 || (w != nil && len(w) != channels) || (b != nil && len(b) != channels) {
		return errSizes
	}
	x, o, err := plainPair[T](c)
	if err != nil {
		return err
	}
	means, rstds := elems[T](c.Out[1]), elems[T](c.Out[2])
	if len(means) == 0 || len(x)%len(means) != 0 {
		return nil
	}
	n := groupNorm[T]{o: o, x: x, w: w, b: b, means: means, rstds: rstds, groups: groups, per: channels / groups, eps: c.Args[7].Scalar(), tier: c.Tier}
	if size := len(x) / len(means); parallel(c, rowCost*len(x)) {
		share(c, &n, len(means), max(1, parallelGrain/rowCost/max(1, size)))
	} else {
		n.parts(0, len(means))
	}
	finish(c, o)
	return nil
}

// groupNorm normalizes groups of channels.
type groupNorm[T number] struct {
	o, x, w, b   []T
	means, rstds []T // of each group of each image
	groups, per  int // groups of an image, channels of a group
	eps          float64
	tier         kernel.Tier
}

// parts normalizes groups lo to hi.
func (n *groupNorm[T]) parts(lo, hi int) {
	size := len(n.x) / len(n.means)
	for i := lo; i < hi; i++ {
		row, to := n.x[i*size:(i+1)*size], n.o[i*size:(i+1)*size]
		mean := sumRow(n.tier, row) / float64(size)
		rstd := 1 / math.Sqrt(squaresRow(n.tier, row, mean)/float64(size)+n.eps)
		n.means[i], n.rstds[i] = T(mean), T(rstd)
		for k := range n.per {
			scale, shift := channelAffine(n.w, n.b, i%n.groups*n.per+k, mean, rstd)
			scaleRow(n.tier, to[k*size/n.per:(k+1)*size/n.per], row[k*size/n.per:(k+1)*size/n.per], scale, shift)
		}
	}
}

// channelAffine folds a normalization of channel ch into y = x·scale + shift.
func channelAffine[T number](w, b []T, ch int, mean, rstd float64) (scale, shift float64) {
	scale = rstd
	if w != nil {
		scale = float64(rstd * float64(w[ch]))
	}
	shift = -float64(mean * scale)
	if b != nil {
		shift += float64(b[ch])
	}
	return scale, shift
}

// scaleRow computes o = x·scale + shift.
func scaleRow[T number](t kernel.Tier, o, x []T, scale, shift float64) {
	from := [1]float32{float32(shift)}
	if isFloat32[T]() && kernel.AddScaledF32(t, floats(o), from[:], floats(x), [2]float32{float32(scale)}) {
		return
	}
	for i, v := range x {
		o[i] = T(float64(float64(v)*scale) + shift)
	}
}

// eachChannel calls f with the first index of every run of elements of one channel, their stride and number, for tensors
// of the same sizes and order.
func eachChannel(m *tensor.Meta, f func(ch, start, step, n int)) {
	var s [tensor.MaxRank]int
	stridesOf(m, &s)
	inner, step := evenlySpaced(m, &s)
	outer := m.Numel()
	for _, d := range m.Sizes[:2] {
		outer /= int(max(d, 1))
	}
	for n := range int(m.Sizes[0]) {
		for ch := range int(m.Sizes[1]) {
			for i := 0; i < outer; i += inner {
				f(ch, n*s[0]+ch*s[1]+offsetOf(m, &s, i), step, inner)
			}
		}
	}
}

// evenlySpaced is how many of the last elements of a channel, counted in logical order, lie at the same distance from
// one to the next, and that distance.
func evenlySpaced(m *tensor.Meta, s *[tensor.MaxRank]int) (n, step int) {
	n, step = 1, 1
	for d := m.Rank() - 1; d >= 2; d-- {
		size := int(m.Sizes[d])
		switch {
		case size == 1:
			continue
		case n == 1:
			step = s[d]
		case s[d] != n*step:
			return n, step
		}
		n *= size
	}
	return n, step
}

// offsetOf is where element i of a channel lies, counted in logical order.
func offsetOf(m *tensor.Meta, s *[tensor.MaxRank]int, i int) (at int) {
	for d := m.Rank() - 1; d >= 2 && i > 0; d-- {
		size := int(m.Sizes[d])
		at += i % size * s[d]
		i /= size
	}
	return at
}

// runBatchNormNoStats normalizes by the batch's own mean and variance.
func runBatchNormNoStats[T number](c *Call, _ State) error {
	w, b := weightAndBias[T](c, 1, 2)
	x, o, err := plainPair[T](c)
	if err != nil || len(x) == 0 {
		return err
	}
	n := momentNorm[T]{o: o, x: x, w: w, b: b, means: elems[T](c.Out[1]), rstds: elems[T](c.Out[2]), eps: c.Args[5].Scalar(), tier: c.Tier}
	n.images = int(c.Args[0].Tensor.Sizes[0])
	if (w != nil && len(w) != len(n.means)) || (b != nil && len(b) != len(n.means)) {
		return errSizes
	}
	if size := len(x) / len(n.means); parallel(c, rowCost*len(x)) {
		share(c, &n, len(n.means), max(1, parallelGrain/rowCost/max(1, size)))
	} else {
		n.parts(0, len(n.means))
	}
	finish(c, o)
	return nil
}

// momentNorm normalizes channels by what they are in all images.
type momentNorm[T number] struct {
	o, x, w, b   []T
	means, rstds []T // of each channel
	images       int
	eps          float64
	tier         kernel.Tier
}

// parts normalizes channels lo to hi.
func (n *momentNorm[T]) parts(lo, hi int) {
	channels, size := len(n.means), len(n.x)/len(n.means)
	run := size / n.images
	for ch := lo; ch < hi; ch++ {
		var sum, squares float64
		for at := ch * run; at < len(n.x); at += channels * run {
			sum += sumRow(n.tier, n.x[at:at+run])
		}
		mean := sum / float64(size)
		for at := ch * run; at < len(n.x); at += channels * run {
			squares += squaresRow(n.tier, n.x[at:at+run], mean)
		}
		rstd := 1 / math.Sqrt(squares/float64(size)+n.eps)
		n.means[ch], n.rstds[ch] = T(mean), T(rstd)
		scale, shift := channelAffine(n.w, n.b, ch, mean, rstd)
		for at := ch * run; at < len(n.x); at += channels * run {
			scaleRow(n.tier, n.o[at:at+run], n.x[at:at+run], scale, shift)
		}
	}
}
