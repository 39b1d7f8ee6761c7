package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of operators that resample, rearrange and mask.
var (
	Roll = Def{
		Schema:     "aten::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::roll", Infer: inferRoll,
	}
	PixelShuffle = Def{
		Schema:     "aten::pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::pixel_shuffle", Infer: inferPixelShuffle,
	}
	PixelUnshuffle = Def{
		Schema:     "aten::pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::pixel_unshuffle", Infer: inferPixelUnshuffle,
	}
	Tril = Def{
		Schema:     "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::tril", Infer: inferTriangle,
	}
	Triu = Def{
		Schema:     "aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::triu", Infer: inferTriangle, Tags: Extension,
	}
	UpsampleNearest2d = Def{
		Schema:     "aten::upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::upsample_nearest2d.vec", Infer: inferUpsampleNearest, Tags: Core | Ordered,
	}
	UpsampleBilinear2d = Def{
		Schema:     "aten::upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::upsample_bilinear2d.vec", Infer: inferUpsampleBilinear, Tags: Core | Ordered,
	}
	RepeatInterleave = Def{
		Schema:     "aten::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::repeat_interleave.Tensor", Infer: inferRepeatInterleave, Tags: ReadsData,
	}
)

var errScale = errors.New("check scale factor: the output size does not follow from it")

func inferRoll(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	shifts, dims := c.Args[1].Ints, c.Args[2].Ints
	if len(dims) != len(shifts) && (len(dims) != 0 || len(shifts) != 1) {
		return errDims
	}
	for _, d := range dims {
		if _, err := WrapDim(d, t.Rank()); err != nil {
			return err
		}
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	return nil
}

func runRoll[T word](c *Call, _ State) error {
	in, out, shifts, dims := c.Args[0].Tensor, c.Out[0], c.Args[1].Ints, c.Args[2].Ints
	if len(dims) == 0 || out.Numel() == 0 || out.Rank() == 0 {
		return rollFlat[T](c, shifts[0])
	}
	var g grid
	if err := g.setup(c, &in.Meta, &out.Meta); err != nil {
		return err
	}
	for d, n := range out.Sizes {
		shift := int64(0)
		for k, dim := range dims {
			if at, err := WrapDim(dim, out.Rank()); err == nil && at == d {
				shift += shifts[k] % n
			}
		}
		for i := range g.from[d] {
			g.from[d][i] = int((*tensor.Shapes)(nil).Mod(int64(i)-shift, n)) * g.step[d]
		}
	}
	gatherGrid(c, &g, elems[T](out), elems[T](in))
	return nil
}

// rollFlat rolls the elements in row-major order.
func rollFlat[T word](c *Call, shift int64) error {
	src, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil || len(src) == 0 {
		return err
	}
	at := int((*tensor.Shapes)(nil).Mod(shift, int64(len(src))))
	o := elems[T](c.Out[0])
	tensor.Copy(o[at:], src)
	tensor.Copy(o[:at], src[len(src)-at:])
	return nil
}

// startPixels checks the rank and the factor of a pixel operator and appends the leading sizes.
func startPixels(c *Infer) (t *tensor.Tensor, out *tensor.Meta, lead int, err error) {
	if t, out, err = startOut(c); err != nil {
		return nil, nil, 0, err
	}
	lead = t.Rank() - 3
	if lead < 0 {
		return nil, nil, 0, errDims
	}
	if c.Args[1].Int <= 0 {
		return nil, nil, 0, errStep
	}
	out.Sizes = append(out.Sizes, t.Sizes[:lead]...)
	return t, out, lead, nil
}

func inferPixelShuffle(c *Infer) error {
	t, out, lead, err := startPixels(c)
	if err != nil {
		return err
	}
	s, r := c.Shapes, c.Args[1].Int
	if s.Equal(s.Mod(t.Sizes[lead], r*r), 0) == tensor.No {
		return errSizes
	}
	out.Sizes = append(out.Sizes, s.FloorDiv(t.Sizes[lead], r*r), s.Mul(t.Sizes[lead+1], r), s.Mul(t.Sizes[lead+2], r))
	return nil
}

func inferPixelUnshuffle(c *Infer) error {
	t, out, lead, err := startPixels(c)
	if err != nil {
		return err
	}
	s, r := c.Shapes, c.Args[1].Int
	for _, d := range t.Sizes[lead+1:] {
		if s.Equal(s.Mod(d, r), 0) == tensor.No {
			return errSizes
		}
	}
	out.Sizes = append(out.Sizes, s.Mul(t.Sizes[lead], r*r), s.FloorDiv(t.Sizes[lead+1], r), s.FloorDiv(t.Sizes[lead+2], r))
	return nil
}

func runPixelShuffle[T word](c *Call, _ State) error   { return runMove[T](c, shuffleMove) }
func runPixelUnshuffle[T word](c *Call, _ State) error { return runMove[T](c, unshuffleMove) }

// shuffleMove spreads the channels of in over the blocks of out's planes.
func shuffleMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	r, k := int(args[1].Int), in.Rank()-3
	for i, n := range in.Sizes[:k] {
		v.add(int(n), si[i], so[i])
	}
	v.add(int(out.Sizes[k]), si[k]*r*r, so[k])
	v.add(int(in.Sizes[k+1]), si[k+1], so[k+1]*r)
	v.add(r, si[k]*r, so[k+1])
	v.add(int(in.Sizes[k+2]), si[k+2], so[k+2]*r)
	v.add(r, si[k], so[k+2])
	return v, nil
}

func unshuffleMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	v, err = shuffleMove(out, in, args)
	v.src, v.dst = v.dst, v.src
	return v, err
}

func inferTriangle(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if t.Rank() < 2 {
		return errDims
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	return nil
}

func runTril[T word](c *Call, _ State) error { return triangle[T](c, false) }
func runTriu[T word](c *Call, _ State) error { return triangle[T](c, true) }

// triangle keeps what lies above or below the diagonal of each matrix.
func triangle[T word](c *Call, upper bool) error {
	out := c.Out[0]
	src, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	o := elems[T](out)
	clear(o)
	if len(o) == 0 {
		return nil
	}
	rows, cols := int(out.Sizes[out.Rank()-2]), int(out.Sizes[out.Rank()-1])
	diagonal := int(min(max(c.Args[1].Int, -int64(rows)), int64(cols)))
	for i := range len(o) / cols {
		first, last := 0, cols
		if at := i%rows + diagonal; upper {
			first = min(max(at, 0), cols)
		} else {
			last = min(max(at+1, 0), cols)
		}
		copy(o[i*cols+first:i*cols+last], src[i*cols+first:])
	}
	return nil
}

func inferUpsampleNearest(c *Infer) error  { return inferUpsample(c, &c.Args[1], &c.Args[2]) }
func inferUpsampleBilinear(c *Infer) error { return inferUpsample(c, &c.Args[1], &c.Args[3]) }

// inferUpsample gives argument 0 the last sizes in size or those that scale by the factors.
func inferUpsample(c *Infer, size, factors *Value) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if t.Rank() != 4 {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	for i := range 2 {
		n, err := upsampleSize(c.Shapes, t.Sizes[2+i], size, factors, i)
		if err != nil {
			return err
		}
		c.Out[0].Sizes[2+i] = n
	}
	return nil
}

func upsampleSize(s *tensor.Shapes, n tensor.Dim, size, factors *Value, i int) (tensor.Dim, error) {
	switch {
	case len(size.Ints) == 2:
		return size.Ints[i], nil
	case len(factors.Floats) != 2:
		return 0, errScale
	}
	return s.Scale(n, factors.Floats[i]), nil
}

// sourceStep is how far in the input one step in the output goes.
func sourceStep(in, out int, factors *Value, i int) float64 {
	if len(factors.Floats) == 2 && factors.Floats[i] > 0 {
		return 1 / factors.Floats[i]
	}
	return float64(in) / float64(out)
}

func runUpsampleNearest[T word](c *Call, _ State) error { return nearest[T](c, 0, factorScale) }

// factorScale is the step in dimension d, whose factors are argument 2; 1 where the size stays.
func factorScale(c *Call, d, n, m int) float64 {
	if n == m {
		return 1
	}
	return sourceStep(n, m, &c.Args[2], d-2)
}

// tap is what an output index takes from the input: two offsets and their weights.
type tap[T float] struct {
	at     [2]int
	weight [2]T
}

// bilinearTaps are the taps of each index of spatial dimension i, whose elements are stride apart.
func bilinearTaps[T float](c *Call, i int, stride int) ([]tap[T], error) {
	a := axisOf(c, i)
	taps, err := tempOf[tap[T]](c, a.m)
	for k := range taps {
		at, weight := linearTap[T](&a, k)
		taps[k] = tap[T]{[2]int{at[0] * stride, at[1] * stride}, weight}
	}
	return taps, err
}

func runUpsampleBilinear[T float](c *Call, _ State) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	if in.Numel() == 0 || out.Numel() == 0 {
		return nil
	}
	if done, err := resampleLines[T](c, linearFilter[T]); done || err != nil {
		return err
	}
	var si, so [tensor.MaxRank]int
	stridesOf(&in.Meta, &si)
	stridesOf(&out.Meta, &so)
	ys, err := bilinearTaps[T](c, 0, si[2])
	if err != nil {
		return err
	}
	xs, err := bilinearTaps[T](c, 1, si[3])
	if err != nil {
		return err
	}
	channels := int(in.Sizes[1])
	for p := range int(in.Sizes[0]) * channels {
		n, ch := p/channels, p%channels
		o, x := elems[T](out)[n*so[0]+ch*so[1]:], elems[T](in)[n*si[0]+ch*si[1]:]
		for i := range ys {
			bilinearRow(o[i*so[2]:], x, &ys[i], xs, so[3])
		}
	}
	return nil
}

// bilinearRow computes a row of a plane, whose elements are step apart.
func bilinearRow[T float](o, x []T, y *tap[T], xs []tap[T], step int) {
	top, bottom := x[y.at[0]:], x[y.at[1]:]
	for j := range xs {
		t := &xs[j]
		a := T(t.weight[0]*top[t.at[0]]) + T(t.weight[1]*top[t.at[1]])
		b := T(t.weight[0]*bottom[t.at[0]]) + T(t.weight[1]*bottom[t.at[1]])
		o[j*step] = T(y.weight[0]*a) + T(y.weight[1]*b)
	}
}

// inferRepeatInterleave takes the size from argument 1 or else from the values of argument 0.
func inferRepeatInterleave(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	if t.Rank() != 1 {
		return errDims
	}
	if c.Args[1].Kind == Int {
		out.Sizes = append(out.Sizes, c.Args[1].Int)
		return nil
	}
	if !t.Static() || t.Numel() > 0 && t.Data == nil {
		if c.Shapes == nil {
			return errCount
		}
		out.Sizes = append(out.Sizes, 0) // at least: the sum is known at run time
		return nil
	}
	sum := int64(0)
	for i := range t.Numel() {
		n := countAt(t, i)
		if n < 0 {
			return errSizes
		}
		sum += n
	}
	out.Sizes = append(out.Sizes, sum)
	return nil
}

// countAt is element i of t, of type Int or Long.
func countAt(t *tensor.Tensor, i int) int64 {
	if t.DType == tensor.Int {
		return int64(elems[int32](t)[i])
	}
	return elems[int64](t)[i]
}

func runRepeatInterleave[T integer](c *Call, _ State) error {
	o := elems[T](c.Out[0])
	for i, n := range elems[T](c.Args[0].Tensor) {
		if n < 0 || int(n) > len(o) {
			return errSizes
		}
		fillRun(o[:n], T(i))
		o = o[n:]
	}
	if len(o) != 0 {
		return errSizes
	}
	return nil
}
