package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// runBatchNorm scales and shifts each channel by what is known of it.
func runBatchNorm[T number](c *Call, _ State) error {
	in := c.Args[0].Tensor
	w, b := weightAndBias[T](c, 1, 2)
	j := batchNorm[T]{tier: c.Tier, x: elems[T](in), o: elems[T](c.Out[0]), w: w, b: b, mean: elems[T](c.Args[3].Tensor),
		variance: elems[T](c.Args[4].Tensor), eps: c.Args[6].Scalar(), bounds: c.bounds()}
	n := int(in.Sizes[1])
	if len(j.mean) != n || len(j.variance) != n || (w != nil && len(w) != n) || (b != nil && len(b) != n) {
		return errSizes
	}
	switch {
	case len(j.x) == 0:
	case isFloat32[T]() && (channelsInner(&in.Meta, in.Rank()-2) || in.Contiguous() && len(j.x) == int(in.Sizes[0])*n) && kernel.GemmF32(c.Tier) != nil:
		if err := j.repeat(c); err != nil {
			return err
		}
		j.share(c)
	case in.Contiguous():
		j.run = len(j.x) / int(in.Sizes[0]) / n
		j.share(c)
	default:
		eachChannel(&in.Meta, func(ch, start, step, n int) {
			scale, shift := j.affine(ch)
			if step == 1 {
				scaleRow(c.Tier, j.o[start:start+n], j.x[start:start+n], scale, shift)
				return
			}
			for i := range n {
				k := start + i*step
				j.o[k] = T(float64(float64(j.x[k])*scale) + shift)
			}
		})
		clampTo(j.o, j.bounds)
	}
	return nil
}

// batchNorm is a normalization by known means and variances, cut into runs of elements: of one channel, or of all channels at some
// positions.
type batchNorm[T number] struct {
	tier                 kernel.Tier
	x, o                 []T
	w, b, mean, variance []T // w and b may be nil
	eps                  float64
	bounds               [2]float32
	run                  int       // elements
	scales, shifts       []float32 // of the elements of a run, where channels are innermost; else nil
}

// affine is what channel ch is multiplied with, and what is added then.
func (j *batchNorm[T]) affine(ch int) (scale, shift float64) {
	return channelAffine(j.w, j.b, ch, float64(j.mean[ch]), 1/math.Sqrt(float64(j.variance[ch])+j.eps))
}

// repeatedRun is how many elements a run has at least where channels are innermost, if the tensor does.
const repeatedRun = 1 << 10

// repeat makes the scales and the shifts of a run of positions.
func (j *batchNorm[T]) repeat(c *Call) error {
	n := len(j.mean)
	j.run = min(len(j.x), (repeatedRun+n-1)/n*n)
	both, err := tempOf[float32](c, 2*j.run)
	if err != nil {
		return err
	}
	j.scales, j.shifts = both[:j.run], both[j.run:]
	for ch := range n {
		scale, shift := j.affine(ch)
		j.scales[ch], j.shifts[ch] = float32(scale), float32(shift)
	}
	for at := n; at < j.run; at += n {
		copy(j.scales[at:], j.scales[:n])
		copy(j.shifts[at:], j.shifts[:n])
	}
	return nil
}

// share computes all runs, on several threads if there are many elements.
func (j *batchNorm[T]) share(c *Call) {
	runs := (len(j.x) + j.run - 1) / j.run
	if parallel(c, len(j.x)) {
		share(c, j, runs, max(1, parallelGrain/j.run))
	} else {
		j.parts(0, runs)
	}
}

// parts computes runs lo to hi.
func (j *batchNorm[T]) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		at := i * j.run
		end := min(at+j.run, len(j.x))
		x, o := j.x[at:end], j.o[at:end]
		if j.scales == nil {
			scale, shift := j.affine(i % len(j.mean))
			scaleRow(j.tier, o, x, scale, shift)
		} else if !kernel.AffineRowF32(j.tier, floats(o), floats(x), j.scales[:len(x)], j.shifts[:len(x)], 0, 1) {
			for k := range x {
				scaleRow(j.tier, o[k:k+1], x[k:k+1], float64(j.scales[k]), float64(j.shifts[k]))
			}
		}
		if j.bounds != kernel.Unclamped && !(isFloat32[T]() && kernel.ClampF32(j.tier, floats(o), floats(o), j.bounds)) {
			clampTo(o, j.bounds)
		}
	}
}
