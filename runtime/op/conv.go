package op

import (
	"strconv"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// triple is one number for each of the three spatial dimensions; those that a
// tensor lacks come first and have size 1.
type triple [3]int

func (a *triple) product() int { return a[0] * a[1] * a[2] }

// volume is where the elements of a batch of images lie.
type volume struct {
	batch, channels int
	size            triple
	sn, sc          int // strides of batch and channel
	step            triple
}

// volumeOf sees m, of this spatial rank and with or without a batch, as a volume.
func volumeOf(m *tensor.Meta, spatial int) volume {
	var s [tensor.MaxRank]int
	stridesOf(m, &s)
	v := volume{batch: 1, size: triple{1, 1, 1}}
	channel := m.Rank() - spatial - 1
	if channel > 0 {
		v.batch, v.sn = int(m.Sizes[0]), s[0]
	}
	v.channels, v.sc = int(m.Sizes[channel]), s[channel]
	for i := range spatial {
		v.size[3-spatial+i] = int(m.Sizes[channel+1+i])
		v.step[3-spatial+i] = s[channel+1+i]
	}
	return v
}

// conv is a convolution with all its numbers at hand.
type conv struct {
	spatial               int  // how many of the three axes there are
	deep                  bool // there are three, before turn
	in, out               volume
	kernel                triple
	stride, pad, dilation triple
	transposed            bool
	groups                int
	inPer, outPer         int // channels a group
	// channelsInner says that the taps are the outer part of a row of the unfolded input.
	channelsInner bool
	transformed   bool // the weights are packed by packWinograd
	// groupTier is the tier for whose windows of groups the weights are packed; Scalar if they are not.
	groupTier kernel.Tier
	planes    bool // the input has its channels outermost, and is turned into a frame
	tiling
}

// axesOf reads a list with one number for each spatial dimension.
func axesOf(v *Value, spatial, def int) triple {
	a := triple{def, def, def}
	for i := range spatial {
		a[3-spatial+i] = int(perAxis(v, i, int64(def)))
	}
	return a
}

// kernelOf is the size of the kernel of weights [outputs, inputs, ...].
func kernelOf(w *tensor.Meta) triple {
	k := triple{1, 1, 1}
	for i, n := range w.Sizes[2:] {
		k[len(k)+2-w.Rank()+i] = int(n)
	}
	return k
}

// newConv gathers the numbers of a call with this input and output.
func newConv(args []Value, in, out *tensor.Meta) conv {
	w := &args[convWeight].Tensor.Meta
	spatial := w.Rank() - 2
	c := conv{
		spatial: spatial,
		in:      volumeOf(in, spatial), out: volumeOf(out, spatial), kernel: kernelOf(w),
		stride: axesOf(&args[convStride], spatial, 1), pad: axesOf(&args[convPadding], spatial, 0),
		dilation:   axesOf(&args[convDilation], spatial, 1),
		transposed: args[convTransposed].Int != 0, groups: int(args[convGroups].Int),
		channelsInner: channelsInner(in, spatial), deep: spatial > 2,
	}
	c.inPer, c.outPer = c.in.channels/c.groups, c.out.channels/c.groups
	if c.channelsInner && c.out.channels == 1 {
		c.out.sc = 1 // a single channel is innermost, too, where its order does not say so
	}
	c.turn()
	return c
}

// turn leaves out last axes of one element, so that rows are long.
func (c *conv) turn() {
	for c.spatial > 1 && c.in.size[2] == 1 && c.out.size[2] == 1 && c.kernel[2] == 1 && c.pad[2] == 0 {
		c.spatial--
		for _, a := range []*triple{&c.in.size, &c.out.size, &c.kernel, &c.stride, &c.dilation} {
			*a = triple{1, a[0], a[1]}
		}
		for _, a := range []*triple{&c.in.step, &c.out.step, &c.pad} {
			*a = triple{0, a[0], a[1]}
		}
	}
}

// channelsInner reports the order that is contiguous but for the channels, which are innermost.
func channelsInner(m *tensor.Meta, spatial int) bool {
	n := m.Rank()
	if len(m.DimOrder) != n {
		return false
	}
	channel := n - spatial - 1
	for i, d := range m.DimOrder[channel : n-1] {
		if int(d) != channel+1+i {
			return false
		}
	}
	return int(m.DimOrder[n-1]) == channel
}

// plainOrder is m, or its contiguous like if its order is neither contiguous nor channelsInner.
func plainOrder(m *tensor.Meta, spatial int) tensor.Meta {
	if channelsInner(m, spatial) {
		return *m
	}
	return tensor.Meta{DType: m.DType, Sizes: m.Sizes}
}

// leastInner is how many results a position has at least that channels are kept innermost for: fewer leave most of a
// panel of the weights empty.
const leastInner = 8

// innerConvolution is Def.Inner of convolutions: vectors run along the channels of those without groups, and of depthwise ones, of groups
// that fill half of their vectors or of which some fill one, and of transposed ones that have phases. It looks at no size but those of the
// weights, and of groups at strides and dilation.
func innerConvolution(args []Value, out *tensor.Meta, t kernel.Tier) bool {
	w := args[convWeight].Tensor
	if !hasVectors(w, out, t) {
		return false
	}
	if args[convTransposed].Int != 0 {
		return w.Sizes[1] >= leastInner && hasPhases(args)
	}
	groups := args[convGroups].Int
	switch {
	case groups == 1:
		return w.Sizes[0] >= leastInner
	case w.Sizes[1] == 1:
		return w.Sizes[0] == groups && w.Sizes[0] >= leastInner
	}
	return groups > 0 && (fillsPanels(kernel.GemmF32(t), w.Sizes[0]/groups) || fewConvolution(args, t))
}

// fewConvolution reports whether kernels of windows compute groups of few channels, as fewChannels does.
func fewConvolution(args []Value, t kernel.Tier) bool {
	w := &args[convWeight].Tensor.Meta
	return w.Rank() == 4 && groupsTier(t, int(args[convGroups].Int), int(w.Sizes[1]), int(w.Sizes[0]), kernelOf(w),
		axesOf(&args[convStride], 2, 1), axesOf(&args[convDilation], 2, 1)) != kernel.Scalar
}

// groupsTier is the tier of t's machines whose windows compute groups of per channels, as many of the result, of which there are outputs
// in all; Scalar if none does, be it that groups fill no vectors, or that the columns of positions do not overlap as kernels expect it.
func groupsTier(t kernel.Tier, groups, per, outputs int, k, stride, dilation triple) kernel.Tier {
	const most = (maxRing - 1) / (kernel.GroupWindowSize - 1)
	if t = t.Narrow(outputs); groups > 1 && per*groups == outputs && k == (triple{1, kernel.GroupWindowSize, kernel.GroupWindowSize}) &&
		dilation[1] <= most && dilation[2] <= most && (stride[2] == dilation[2] || stride[2] == 2*dilation[2]) && kernel.HasGroupWindow(t, per, outputs) {
		return t
	}
	return kernel.Scalar
}

// turnsConvolution is Def.Turns of convolutions. Groups whose windows are wider than a position want the channels outermost if they
// have few of them side by side; others want them innermost where the multiplications are so many that turning pays. Weights that are not
// constant may have fewer channels at a call, which want another order.
func turnsConvolution(args []Value, out *tensor.Meta, t kernel.Tier) bool {
	if w := args[convWeight].Tensor; w == nil || w.Data == nil {
		return false
	}
	if channelsInner(out, out.Rank()-2) {
		return outerConvolution(args, out, t)
	}
	return innerConvolution(args, out, t) && (args[convTransposed].Int != 0 || turningPays(args, out, t))
}

// When contiguous images are turned, as measured with AVX-512: those of few positions, since there are too few for vectors along them; those
// of groups of few channels, which would take up to four times as long; those of depthwise convolutions that have few for each tap, since
// rows are short; and others that have so many multiplications for each element of the input and the result: with several taps and steps,
// which are spread, with several taps, where Winograd's algorithm saves multiplications, and with one.
const (
	fewPositions  = 8
	depthwiseTurn = 64
	stepsTurn     = 40
	tapsTurn      = 70
	pointTurn     = 200
)

// mostTurned is how many elements, of the input and of the result, are turned at most: more take much memory, and would not lie in a cache.
const mostTurned = 1 << 22

// turningPays reports whether a convolution takes less time by way of images with their channels innermost than with contiguous ones.
func turningPays(args []Value, out *tensor.Meta, t kernel.Tier) bool {
	in, w := &args[convInput].Tensor.Meta, &args[convWeight].Tensor.Meta
	k, stride, positions := kernelOf(w), axesOf(&args[convStride], w.Rank()-2, 1), 1
	for _, n := range out.Sizes[2:] {
		positions *= int(n)
	}
	least, elements := pointTurn, in.Numel()+out.Numel()
	switch {
	case positions <= fewPositions:
		return true
	case elements > mostTurned:
		return false
	case args[convGroups].Int > 1 && w.Sizes[1] == 1:
		return w.Rank() == 4 && positions <= depthwiseTurn*k.product()
	case fewConvolution(args, t):
		return true
	case args[convGroups].Int > 1 && (stride.product() > 1 || k.product() == 1):
		return false
	case stride.product() > 1 && k.product() > 1:
		least = stepsTurn
	case k.product() > 1:
		least = tapsTurn
	}
	return out.Numel()*int(w.Sizes[1])*k.product() >= least*elements
}

// outerConvolution reports a convolution by vector kernels that wants the channels outermost: of groups with windows along positions, or
// transposed and without phases.
func outerConvolution(args []Value, out *tensor.Meta, t kernel.Tier) bool {
	w := args[convWeight].Tensor
	if !hasVectors(w, out, t) {
		return false
	}
	if args[convTransposed].Int != 0 {
		return !innerConvolution(args, out, t)
	}
	return args[convGroups].Int > 1 && w.Sizes[w.Rank()-1] > 1 && !innerConvolution(args, out, t)
}

// hasVectors reports whether vector kernels compute a convolution with weights w, of two dimensions at most and of a batch: of Float, or
// of types that are computed in it.
func hasVectors(w *tensor.Tensor, out *tensor.Meta, t kernel.Tier) bool {
	return asFloat(out.DType) && w != nil && asFloat(w.DType) && w.Rank() <= 4 && w.Rank() == out.Rank() && kernel.GemmF32(t) != nil
}

// asFloat reports whether kernels of d compute in Float.
func asFloat(d tensor.ScalarType) bool { return d == tensor.Float || isHalf(d) }

// convOrder is the input as a convolution sees it that gives out: with the channels innermost as in out where it runs best
// so, else in its plain order.
func convOrder(args []Value, out *tensor.Meta, t kernel.Tier) tensor.Meta {
	in, spatial := &args[convInput].Tensor.Meta, args[convWeight].Tensor.Rank()-2
	if !channelsInner(out, spatial) && outerConvolution(args, out, t) {
		return tensor.Meta{DType: in.DType, Sizes: in.Sizes}
	}
	if channelsInner(out, spatial) && innerConvolution(args, out, t) {
		return tensor.Meta{DType: in.DType, Sizes: in.Sizes, DimOrder: out.DimOrder}
	}
	return plainOrder(in, spatial)
}

// taps is the number of the kernel's elements for one pair of channels.
func (c *conv) taps() int { return c.kernel.product() }

// depth is the length of a row of the unfolded input.
func (c *conv) depth() int { return c.inPer * c.taps() }

// byRows says that the left factor of the products is the weights, a row for each channel, and the right one the
// unfolded input: so the tiles write positions side by side, as they lie in a contiguous output.
func (c *conv) byRows() bool { return c.micro != nil && !c.channelsInner && !c.depthwise() }

// depthwise reports that each output channel looks at one input channel.
func (c *conv) depthwise() bool { return c.inPer == 1 && c.groups > 1 && !c.transposed }

// source is the input's index for output index o and kernel index k on axis i, or -1 outside.
func (c *conv) source(i, o, k int) int {
	at := o*c.stride[i] - c.pad[i] + k*c.dilation[i]
	if c.transposed {
		at = o + c.pad[i] - k*c.dilation[i]
		if at < 0 || at%c.stride[i] != 0 {
			return -1
		}
		at /= c.stride[i]
	}
	if at >= c.in.size[i] {
		return -1
	}
	return max(at, -1)
}

// fewChannels is the tier whose kernels compute groups of so few channels that one or more fill a vector, or Scalar.
func (c *conv) fewChannels(t kernel.Tier) kernel.Tier {
	if c.groups == 1 || !c.innermost() {
		return kernel.Scalar
	}
	return groupsTier(t, c.groups, c.inPer, c.out.channels, c.kernel, c.stride, c.dilation)
}

// grouped reports that the weights are packed for groups of few channels.
func (c *conv) grouped() bool { return c.groupTier != kernel.Scalar }

// convLayout names the arrangement of packed weights.
func (c *conv) convLayout() string {
	switch {
	case c.grouped():
		return "few channels"
	case c.depthwise():
		return "depthwise"
	case c.byRows() && c.transposed:
		return "columns"
	case c.byRows():
		return "rows"
	case c.phased():
		return "phases of stride " + strconv.Itoa(c.stride[1]) + "x" + strconv.Itoa(c.stride[2])
	case c.transposed && c.channelsInner:
		return "transposed channels inner"
	case c.transposed:
		return "transposed"
	case c.channelsInner:
		return "channels inner"
	}
	return "channels outer"
}

// packConv arranges the weights w for c: the panels of each group, one group after another;
// for depthwise ones the channels of each tap.
func packConv[T number](dst []T, c *conv, w *tensor.Tensor) {
	var s [tensor.MaxRank]int
	stridesOf(&w.Meta, &s)
	x := elems[T](w)
	if c.grouped() {
		packFew(floats(dst), c, floats(x), &s)
		return
	}
	if c.depthwise() && c.columns(&s, c.channelsInner) {
		kernel.Transpose(dst, x, c.taps(), c.out.channels, c.out.channels, s[0])
		return
	}
	if c.depthwise() {
		for t := range c.taps() {
			at, line := c.tapOffset(t, &s), dst[t*c.out.channels:][:c.out.channels]
			for o := range line {
				line[o] = x[at+o*s[0]]
			}
		}
		return
	}
	if c.phased() {
		packPhases(dst, c, x, &s)
		return
	}
	if c.byRows() && c.transposed {
		packColumns(dst, c, x, &s)
		return
	}
	if c.byRows() {
		packRows(dst, c, x, &s)
		return
	}
	size := c.len(c.depth(), c.outPer)
	for g := range c.groups {
		packGroup(dst[g*size:(g+1)*size], c, x, &s, g)
	}
}

// packFew packs the weights of groups of few channels.
func packFew(dst []float32, c *conv, x []float32, s *[tensor.MaxRank]int) {
	stride := s[0]
	if !c.columns(s, false) {
		rows := takeRoom[float32](&swapRoom, c.out.channels*c.depth())
		defer swapRoom.Put(&rows)
		packRows(rows, c, x, s)
		x, stride = rows, c.depth()
	}
	kernel.PackGroupWindow(c.groupTier, dst, x, c.inPer, c.out.channels, stride)
}

// tapOffset is where tap t lies in the weights of a pair of channels, which have strides s.
func (c *conv) tapOffset(t int, s *[tensor.MaxRank]int) int {
	at := 0
	for i := 2; i >= 3-c.spatial; i-- {
		at += t % c.kernel[i] * s[i+c.spatial-1]
		t /= c.kernel[i]
	}
	return at
}

// packRows writes the row of each output channel: for every input channel its taps.
func packRows[T number](dst []T, c *conv, x []T, s *[tensor.MaxRank]int) {
	if c.columns(s, false) {
		for o := range c.out.channels {
			copy(dst[o*c.depth():][:c.depth()], x[o*s[0]:])
		}
		return
	}
	for o := range c.out.channels {
		for r := range c.depth() {
			ci, at := r/c.taps(), c.tapOffset(r%c.taps(), s)
			dst[r] = x[at+o*s[0]+ci*s[1]]
		}
		dst = dst[c.depth():]
	}
}

// packColumns writes for each output channel and tap of a transposed convolution its row of the input channels.
func packColumns[T number](dst []T, c *conv, x []T, s *[tensor.MaxRank]int) {
	for o := range c.out.channels {
		for t := range c.taps() {
			at := c.tapOffset(t, s) + o/c.outPer*c.inPer*s[0] + o%c.outPer*s[1]
			for ci := range c.inPer {
				dst[ci] = x[at+ci*s[0]]
			}
			dst = dst[c.inPer:]
		}
	}
}

// packGroup packs the depth × outPer matrix of group g.
func packGroup[T number](dst []T, c *conv, x []T, s *[tensor.MaxRank]int, g int) {
	switch {
	case c.columns(s, c.channelsInner):
		packWeights(dst, matrix[T]{x[g*c.outPer*s[0]:], c.depth(), c.outPer, 1, s[0]}, c.tiling)
		return
	case c.columns(s, !c.channelsInner):
		packSwapped(dst, c, x[g*c.outPer*s[0]:], s[0])
		return
	}
	for j := 0; j < c.outPer; j += c.cols {
		n := min(c.cols, c.outPer-j)
		width := c.width(n)
		for r := range c.depth() {
			ci, t := r/c.taps(), r%c.taps()
			if c.channelsInner {
				ci, t = r%c.inPer, r/c.inPer
			}
			at := c.tapOffset(t, s)
			for l := range width {
				var v T
				if l < n && c.transposed {
					v = x[at+(g*c.inPer+ci)*s[0]+(j+l)*s[1]]
				} else if l < n {
					v = x[at+(g*c.outPer+j+l)*s[0]+ci*s[1]]
				}
				dst[l] = v
			}
			dst = dst[width:]
		}
	}
}

// swappedRows is about how many rows packSwapped takes at a time.
const swappedRows = 128

// swapRoom has what packSwapped needed, for the next panel.
var swapRoom sync.Pool

// takeRoom is memory for n elements, of any content, from a pool, or new memory.
func takeRoom[T number](pool *sync.Pool, n int) []T {
	if x, ok := pool.Get().(*[]T); ok && cap(*x) >= n {
		return (*x)[:n]
	}
	return make([]T, n)
}

// packSwapped packs a group whose weights of an output channel, which begin stride behind those of the one before, lie with the
// input channels and the taps the other way round than they are packed: rows of panels, which then go to their places.
func packSwapped[T number](dst []T, c *conv, x []T, stride int) {
	outer, inner := c.taps(), c.inPer // of the weights as they lie
	if c.channelsInner {
		outer, inner = inner, outer
	}
	rows := takeRoom[T](&swapRoom, swappedRows*c.cols)
	defer swapRoom.Put(&rows)
	for j := 0; j < c.outPer; j += c.cols {
		n := min(c.cols, c.outPer-j)
		width := c.width(n)
		kernel.ReadAhead(x[j*stride:], outer*inner, n, stride)
		for from := 0; from < outer*inner; from += swappedRows {
			until := min(from+swappedRows, outer*inner)
			kernel.Transpose(rows, x[j*stride+from:], until-from, n, width, stride)
			for r := from; r < until; r++ {
				row := dst[(r%inner*outer+r/inner)*width:][:width]
				copy(row[:n], rows[(r-from)*width:])
				clear(row[n:])
			}
		}
		dst = dst[outer*inner*width:]
	}
}

// columns reports whether the weights of an output channel, of strides s, lie one after another: for each tap the input
// channels if channelsInner, else the taps of each input channel.
func (c *conv) columns(s *[tensor.MaxRank]int, channelsInner bool) bool {
	if c.transposed {
		return false
	}
	taps, inner := 1, 1 // what one step of the taps and of the input channels has to be
	if channelsInner {
		taps = c.inPer
	} else {
		inner = c.taps()
	}
	if c.inPer > 1 && s[1] != inner {
		return false
	}
	for i := 2; i >= 3-c.spatial; i-- {
		if c.kernel[i] > 1 && s[i+c.spatial-1] != taps {
			return false
		}
		taps *= c.kernel[i]
	}
	return true
}

// convPacked is the length of the packed weights.
func (c *conv) convPacked() int {
	if c.grouped() {
		return kernel.GroupWindowPacked(c.groupTier, c.inPer, c.out.channels)
	}
	if c.depthwise() {
		return c.taps() * c.out.channels
	}
	if c.byRows() {
		return c.out.channels * c.depth()
	}
	if c.phased() {
		return c.phasesPacked()
	}
	return c.groups * c.len(c.depth(), c.outPer)
}

// packed reports whether w is packed for c as it lies.
func (c *conv) packed(w *tensor.Tensor) bool {
	return c.byRows() && !c.transposed && w.Contiguous()
}

// prepareConvolution packs constant weights.
func prepareConvolution[T number](p *Prep) (State, error) {
	w := p.Args[convWeight].Tensor
	if w.Data == nil {
		return nil, nil
	}
	sizes := Infer{Args: p.Args, Out: make([]tensor.Meta, 1)}
	if err := inferConvolution(&sizes); err != nil {
		return nil, err
	}
	if len(p.Out) != 1 || len(p.Out[0].Sizes) != len(sizes.Out[0].Sizes) {
		return nil, errDims
	}
	out := p.Out[0]
	out.Sizes = sizes.Out[0].Sizes // a file may have others, which the first Run refuses
	if !p.Turned && !(channelsInner(&out, out.Rank()-2) && innerConvolution(p.Args, &out, p.Tier)) {
		out.DimOrder = sizes.Out[0].DimOrder // the result is reordered if it lies otherwise
	}
	in := convOrder(p.Args, &out, p.Tier)
	c := newConv(p.Args, &in, &out)
	c.tiling = tilingOf[T](p.Tier)
	if c.packed(w) {
		return nil, nil
	}
	groups := " of " + strconv.Itoa(c.groups) + " groups of " + strconv.Itoa(c.outPer)
	if c.winograd() {
		s := packOf(p, w, c.winogradLayout()+groups, c.winogradPacked(), func(dst []T) { packWinograd(floats(dst), &c, p.Tier, w, p.Release) })
		s.winograd, s.order = true, in.DimOrder
		return s, nil
	}
	p.Packed = 1 << convWeight
	c.groupTier = c.fewChannels(p.Tier)
	s := packOf(p, w, c.convLayout()+groups, c.convPacked(), func(dst []T) { packConv(dst, &c, w) })
	s.depthwise, s.groupTier, s.order = c.depthwise(), c.groupTier, in.DimOrder
	return s, nil
}

// runConvolution computes a convolution: depthwise ones directly, the rest as
// products of the unfolded input, a block of output positions at a time.
func runConvolution[T number](call *Call, s State) error {
	if call.Out[0].Numel() == 0 {
		return nil
	}
	if done, err := convAgain(call, s); done {
		return err
	}
	t, w := call.Args[convInput].Tensor, call.Args[convWeight].Tensor
	p, constant := s.(*packed[T])
	meta := convSees(call, p)
	c := newConv(call.Args, &meta, &call.Out[0].Meta)
	c.tiling = tilingOf[T](call.Tier)
	c.groupTier = c.fewChannels(call.Tier)
	if constant {
		if p.groupTier != kernel.Scalar && p.groupTier != c.groupTier {
			return errConvPacked
		}
		c.transformed, c.groupTier = p.winograd, p.groupTier
		c.planes = t.Contiguous() && !sameOrder(t, meta.DimOrder) && c.framesPlanes(w)
	}
	x, err := convSource[T](call, c.planes, &meta)
	if err != nil {
		return err
	}
	if constant {
		return convolve(call, &c, x, p.data)
	}
	if c.packed(w) {
		return convolve(call, &c, x, elems[T](w))
	}
	tmp, err := tempOf[T](call, c.convPacked())
	if err != nil {
		return err
	}
	packConv(tmp, &c, w)
	return convolve(call, &c, x, tmp)
}

// framedRow is how many positions a row has at least that is turned by itself.
const framedRow = 16

// framesPlanes reports whether a convolution of weights w, which turns its input, does so into a frame: that takes no more time than to
// turn it as a whole, but where positions see so few taps that it costs an eighth less without.
func (c *conv) framesPlanes(w *tensor.Tensor) bool {
	return !c.transformed && !c.grouped() && !c.depthwise() && c.segmented() && c.spatial == w.Rank()-2 && c.in.size[2] >= framedRow &&
		(c.pad == triple{} || c.framedCost() < (c.borderCost()+c.copyCost(c.in.size[1], c.in.size[2]))*8/7)
}

// convSource are the elements of a convolution's input: in the order of want, or in planes, as they lie.
func convSource[T number](call *Call, planes bool, want *tensor.Meta) ([]T, error) {
	t := call.Args[convInput].Tensor
	if planes {
		return elems[T](t), nil
	}
	return orderedOf[T](call, t, want)
}

// convSees is the input as a convolution sees it: as its weights p are packed for, or without such as it runs best. Results of one
// position have any order, so that the order of those of a call may be another one than what the weights are packed for.
func convSees[T number](call *Call, p *packed[T]) tensor.Meta {
	if p == nil {
		return convOrder(call.Args, &call.Out[0].Meta, call.Tier)
	}
	in := &call.Args[convInput].Tensor.Meta
	return tensor.Meta{DType: in.DType, Sizes: in.Sizes, DimOrder: p.order}
}

// convAgain computes a convolution by vector kernels whose last call has left all but the places of its images, and reports whether it has.
func convAgain(call *Call, s State) (bool, error) {
	p, constant := s.(*packed[float32])
	if !constant || !call.same {
		return false, nil
	}
	switch k := call.kept.(type) {
	case *kept[segments]:
		return true, computeAgain(call, p, &k.job.convJob, &k.job, k.run)
	case *kept[winograd]:
		return true, computeAgain(call, p, &k.job.convJob, &k.job, k.run)
	case *kept[transposedJob]:
		return true, computeAgain(call, p, &k.job.convJob, &k.job, k.run)
	case *kept[lines]:
		if k.job.channelsInner {
			return true, computeAgain(call, p, &k.job.convJob, &k.job, k.run)
		}
	}
	return false, nil
}

// laidOut is a convolution that lacks nothing but the places of its images.
type laidOut interface {
	compute(call *Call, run func(lo, hi int)) error
}

// computeAgain computes l, whose numbers are j, with the images and the bias of a call, which lie as those of the last one.
func computeAgain(call *Call, p *packed[float32], j *convJob[float32], l laidOut, run func(lo, hi int)) (err error) {
	meta := convSees(call, p)
	j.y, j.bias = elems[float32](call.Out[0]), vectorOf[float32](call.Args[convBias].Tensor)
	if j.x, err = convSource[float32](call, j.planes, &meta); err != nil {
		return err
	}
	return l.compute(call, run)
}

// jobOf is a convolution with the images and the bias of a call.
func jobOf[T number](call *Call, c *conv, x, w []T) convJob[T] {
	return convJob[T]{conv: *c, x: x, y: elems[T](call.Out[0]), w: w, bias: vectorOf[T](call.Args[convBias].Tensor),
		bounds: call.bounds()}
}

func convolve[T number](call *Call, c *conv, x, w []T) error {
	j := jobOf(call, c, x, w)
	if len(j.y) == 0 {
		return nil
	}
	if f, ok := any(&j).(*convJob[float32]); ok {
		if done, err := convVectors(call, f); done {
			return err
		}
	}
	if c.depthwise() {
		return convDepthwise(call, &j)
	}
	return convGemm(call, j)
}

// convVectors computes a convolution by vector kernels, and reports whether there are any for it.
func convVectors(call *Call, j *convJob[float32]) (bool, error) {
	switch {
	case j.transformed:
		return true, convWinograd(call, j)
	case j.depthwise() || j.grouped():
		return vectorLines(call, j)
	case j.byRows() && j.transposed:
		return true, convColumns(call, j)
	case j.byRows():
		return true, convRows(call, j)
	case j.segmented():
		return true, convSegments(call, j)
	case j.phased():
		return true, convPhased(call, j)
	}
	return false, nil
}
