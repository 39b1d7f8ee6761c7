package passes

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mergeConvolutions makes one convolution of convolutions of one tensor whose results are added, together with norms, the
// tensor itself, and constants that are added or multiplied channel by channel: the branches of a block as it was trained.
//
//	conv(x, w, b) + conv(x, v, c) = conv(x, w + v, b + c)
//	conv(x, w, b) + x             = conv(x, w + 1, b)
//	conv(x, w, b)·s               = conv(x, w·s, b·s)
//
// A smaller kernel is added to those weights of a larger one that see the same, and x to those in the middle. The new weights
// are nodes over constants, which fold-constants evaluates.
func mergeConvolutions(c *Context, m *exir.Method) error {
	f := &merger{usage: usageOf(c.Program, m)}
	return m.Graph.Walk(f.merge)
}

// merger looks for linear functions in a graph.
type merger struct {
	usage
	made map[*exir.Value]*linear
}

// linear is a linear function of a tensor: a convolution, or, if conv is nil, a multiple of each channel and a number.
type linear struct {
	of     *exir.Value
	conv   *exir.Node   // its kernel is that of the function
	nodes  []*exir.Node // what computes it
	merges bool         // there is more in it than a convolution and a norm
	// build gives the weights, or the multiples, and what is added: both numbers, or one for each channel, or nil for 1 and 0.
	build func(b *exir.Builder) (weight, shift *exir.Value)
}

// channel is the dimension of the channels of images.
const channel = 1

// identity is the function that gives v.
func identity(v *exir.Value) *linear {
	return &linear{of: v, build: func(*exir.Builder) (_, _ *exir.Value) { return nil, nil }}
}

// then is l and a node that makes more of it.
func (l *linear) then(n *exir.Node, merges bool, build func(b *exir.Builder) (weight, shift *exir.Value)) *linear {
	return &linear{of: l.of, conv: l.conv, nodes: append(slices.Clip(l.nodes), n), merges: l.merges || merges, build: build}
}

// scaled multiplies weights, which are multiples unless l has a convolution, by a number, or by one for each channel.
func (l *linear) scaled(b *exir.Builder, weight, by *exir.Value) *exir.Value {
	switch {
	case weight == nil:
		return by
	case l.conv == nil || by.Spec.Rank() == 0:
		return b.Op("aten::mul.Tensor", weight, by)
	}
	return b.Op("aten::mul.Tensor", weight, alongChannels(b, by, weight.Spec.Rank(), 0))
}

// merge rebuilds g where there is something to merge.
func (f *merger) merge(g *exir.Graph) error {
	f.made = map[*exir.Value]*linear{}
	for _, n := range g.Nodes {
		if l := f.find(n); l != nil {
			f.made[n.Outs[0]] = l
		}
	}
	last, gone := map[*exir.Node]*linear{}, map[*exir.Node]bool{}
	for _, n := range slices.Backward(g.Nodes) {
		if l := f.made[firstOut(n)]; l != nil && !gone[n] && l.merges && l.conv != nil {
			last[n] = l
			for _, n := range l.nodes {
				gone[n] = true
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	return f.rebuild(g, func(b *exir.Builder, n *exir.Node, same replacements) {
		if l := last[n]; l != nil {
			b.Origin = n.Origin
			weight, shift := l.build(b)
			l.conv.Args[convWeight], l.conv.Args[convBias] = exir.ToArg(weight), exir.ToArg(shift)
			same[n.Outs[0]] = l.conv.Outs[0]
			b.Append(l.conv)
		}
		if !gone[n] {
			b.Append(n)
		}
	})
}

func firstOut(n *exir.Node) *exir.Value {
	if len(n.Outs) == 0 {
		return nil
	}
	return n.Outs[0]
}

// find is the linear function that n computes, or nil.
func (f *merger) find(n *exir.Node) *linear {
	if out := firstOut(n); out == nil || out.Kind != exir.TensorValue || !floating(out.Spec.DType) {
		return nil
	}
	switch n.Op.Name {
	case convolution:
		return f.convolution(n)
	case batchNorm:
		return f.norm(n)
	case "aten::mul.Tensor":
		return f.multiple(n)
	case "aten::add.Tensor":
		return f.sum(n, 1)
	case "aten::sub.Tensor":
		return f.sum(n, -1)
	}
	return nil
}

// convolution is a convolution of a batch, with constant weights that no other node of the method reads.
func (f *merger) convolution(n *exir.Node) *linear {
	w := n.Args[convWeight].Value
	if !plainNumbers(n.Args[convStride:convDilation+1]) || n.Args[convTransposed].Int != 0 || n.Outs[0].Spec.Rank() != w.Spec.Rank() ||
		f.users[w] != 1 || !f.constants(n.Outs[0].Spec.DType, n.Args[convWeight:convBias+1]) {
		return nil
	}
	return &linear{of: n.Args[0].Value, conv: n, nodes: []*exir.Node{n}, build: func(*exir.Builder) (weight, shift *exir.Value) {
		return w, n.Args[convBias].Value
	}}
}

// plainNumbers reports whether all lists have numbers, which nobody has to compute.
func plainNumbers(lists []exir.Arg) bool {
	for i := range lists {
		list := lists[i].List
		if len(list) == 0 || slices.ContainsFunc(list, func(a exir.Arg) bool { return a.Kind != exir.ArgInt || isSymbolic(&a) }) {
			return false
		}
	}
	return true
}

// alone is the function that gives v if nobody else reads that; else nil.
func (f *merger) alone(v *exir.Value) *linear {
	if f.users[v] != 1 {
		return nil
	}
	return f.made[v]
}

// before is the function that gives v, or v itself if that is an image.
func (f *merger) before(v *exir.Value) *linear {
	if l := f.alone(v); l != nil {
		return l
	}
	if v.Spec.Rank() <= channel || tensor.IsSymbol(v.Spec.Sizes[channel]) {
		return nil
	}
	return identity(v)
}

// norm is a batch norm of a function.
func (f *merger) norm(n *exir.Node) *linear {
	l := f.before(n.Args[normInput].Value)
	if l == nil || f.users[n.Outs[1]]+f.users[n.Outs[2]] > 0 || !f.constants(n.Outs[0].Spec.DType, n.Args[normWeight:normVar+1]) {
		return nil
	}
	return l.then(n, false, func(b *exir.Builder) (_, _ *exir.Value) {
		weight, shift := l.build(b)
		scale := normScale(b, n)
		return l.scaled(b, weight, scale), normShift(b, n, scale, shift)
	})
}

// byChannel reports whether a tensor is a constant that has one number for each channel of v, or one for all.
func (f *merger) byChannel(a *exir.Arg, v *exir.Value) bool {
	if a.Kind != exir.ArgValue || !f.constants(v.Spec.DType, []exir.Arg{*a}) {
		return false
	}
	c, at := &a.Value.Spec, a.Value.Spec.Rank()-v.Spec.Rank()+channel
	for i, d := range c.Sizes {
		if d != 1 && (i != at || d != v.Spec.Sizes[channel]) {
			return false
		}
	}
	return c.Rank() <= v.Spec.Rank()
}

// operands are the one among the first two arguments of n that is a constant by channels, and the other one, if its sizes are
// those of the result.
func (f *merger) operands(n *exir.Node) (v, constant *exir.Value) {
	for i := range 2 {
		if a := &n.Args[i]; a.Kind == exir.ArgValue && a.Value.Kind == exir.TensorValue && sameSizes(a.Value, n.Outs[0]) && f.byChannel(&n.Args[1-i], a.Value) {
			return a.Value, n.Args[1-i].Value
		}
	}
	return nil, nil
}

// sameSizes reports whether two tensors have the same type and sizes.
func sameSizes(v, w *exir.Value) bool {
	return v.Spec.DType == w.Spec.DType && slices.Equal(v.Spec.Sizes, w.Spec.Sizes)
}

// numbers are the numbers of a constant: a vector, or one without dimensions.
func numbers(b *exir.Builder, c *exir.Value) *exir.Value {
	n := c.Spec.Numel()
	switch {
	case n > 1 && c.Spec.Rank() > 1:
		return b.Op("aten::view_copy", c, []int64{int64(n)})
	case n == 1 && c.Spec.Rank() > 0:
		return b.Op("aten::view_copy", c, []int64{})
	}
	return c
}

// number is x as a constant of the type of like.
func number(b *exir.Builder, like *exir.Value, x float64) *exir.Value {
	dtype := like.Spec.DType
	return b.Literal("number", tensor.Meta{DType: dtype}, exir.EncodeFloat(dtype, x))
}

// multiple is a function times a constant.
func (f *merger) multiple(n *exir.Node) *linear {
	v, by := f.operands(n)
	if v == nil {
		return nil
	}
	l := f.before(v)
	if l == nil {
		return nil
	}
	return l.then(n, true, func(b *exir.Builder) (_, _ *exir.Value) {
		weight, shift := l.build(b)
		by := numbers(b, by)
		weight = l.scaled(b, weight, by)
		if shift != nil {
			shift = b.Op("aten::mul.Tensor", shift, by)
		}
		return weight, shift
	})
}

// sum is the sum of two functions of one tensor, or of one and a constant; sign is that of the second argument.
func (f *merger) sum(n *exir.Node, sign float64) *linear {
	alpha := &n.Args[2]
	if alpha.Kind == exir.ArgValue || isSymbolic(alpha) {
		return nil
	}
	sign *= numberOf(alpha)
	if v, c := f.operands(n); v != nil {
		if l := f.before(v); l != nil && !spreads(c, v) && (sign == 1 || c == n.Args[1].Value) {
			return l.plus(n, c, sign)
		}
		return nil
	}
	a, c := n.Args[0].Value, n.Args[1].Value
	if a == nil || c == nil || a == c || !sameSizes(a, n.Outs[0]) || !sameSizes(c, n.Outs[0]) {
		return nil
	}
	first, second := f.alone(a), f.alone(c)
	switch {
	case first != nil && second != nil && first.of == second.of:
	case first != nil && first.of == c:
		second = identity(c)
	case second != nil && second.of == a:
		first = identity(a)
	default:
		return nil
	}
	return add(n, first, second, sign)
}

// spreads reports whether c is one number for more channels than fold-constants would write out.
func spreads(c, v *exir.Value) bool {
	return c.Spec.Numel() == 1 && int(v.Spec.Sizes[channel])*v.Spec.DType.Size() > foldLimit
}

// numberOf is an argument that is a number.
func numberOf(a *exir.Arg) float64 {
	if a.Kind == exir.ArgFloat {
		return a.Float
	}
	return float64(a.Int)
}

// plus is l and a constant times sign.
func (l *linear) plus(n *exir.Node, c *exir.Value, sign float64) *linear {
	return l.then(n, true, func(b *exir.Builder) (_, _ *exir.Value) {
		weight, shift := l.build(b)
		c := times(b, numbers(b, c), sign)
		if shift != nil {
			return weight, b.Op("aten::add.Tensor", shift, c)
		}
		if c.Spec.Rank() == 0 { // a bias has one number for each channel
			c = b.Op("aten::expand_copy", c, []int64{n.Outs[0].Spec.Sizes[channel]})
		}
		return weight, c
	})
}

// times is v times a number.
func times(b *exir.Builder, v *exir.Value, by float64) *exir.Value {
	if v == nil || by == 1 {
		return v
	}
	return b.Op("aten::mul.Tensor", v, by)
}

// add is node n, which adds to first sign times second; nil if no convolution is their sum.
func add(n *exir.Node, first, second *linear, sign float64) *linear {
	wide, narrow := first, second
	at, ok := within(wide, narrow)
	if !ok {
		wide, narrow = second, first
		if at, ok = within(wide, narrow); !ok {
			return nil
		}
	}
	sum := wide.then(n, true, func(b *exir.Builder) (_, _ *exir.Value) {
		weight, shift := first.signed(b, 1)
		more, moreShift := second.signed(b, sign)
		if wide == second {
			weight, more = more, weight
		}
		return wide.addWeights(b, weight, more, at), addNumbers(b, shift, moreShift)
	})
	sum.nodes = append(sum.nodes, narrow.nodes...)
	return sum
}

// signed is build, times sign.
func (l *linear) signed(b *exir.Builder, sign float64) (weight, shift *exir.Value) {
	weight, shift = l.build(b)
	if weight == nil && sign != 1 {
		return number(b, l.of, sign), times(b, shift, sign)
	}
	return times(b, weight, sign), times(b, shift, sign)
}

// addNumbers is a sum of which nil is 0.
func addNumbers(b *exir.Builder, v, w *exir.Value) *exir.Value {
	if v == nil {
		return w
	}
	if w == nil {
		return v
	}
	return b.Op("aten::add.Tensor", v, w)
}

// within finds where in the kernel of wide that of narrow lies, which sees the same from there; false if there is no such place,
// or wide has no kernel.
func within(wide, narrow *linear) (at []int64, ok bool) {
	if wide.conv == nil {
		return nil, false
	}
	w := kernelOf(wide.conv)
	v := kernel{size: ones(len(w.size)), stride: ones(len(w.size)), dilation: ones(len(w.size)), pad: make([]int64, len(w.size)), groups: w.groups,
		channels: w.in}
	if narrow.conv != nil {
		v = kernelOf(narrow.conv)
	}
	if len(v.size) != len(w.size) || !slices.Equal(v.stride, w.stride) || v.groups != w.groups || v.channels != w.channels {
		return nil, false
	}
	at = make([]int64, len(w.size))
	for i := range at {
		if v.size[i] > 1 && v.dilation[i] != w.dilation[i] || (w.pad[i]-v.pad[i])%w.dilation[i] != 0 {
			return nil, false
		}
		at[i] = (w.pad[i] - v.pad[i]) / w.dilation[i]
		if at[i] < 0 || at[i]+v.size[i] > w.size[i] {
			return nil, false
		}
	}
	return at, true
}

// kernel is what a convolution looks at: its sizes along the spatial dimensions, the channels that it reads and those that it gives.
type kernel struct {
	size, stride, dilation, pad []int64
	groups, in, channels        int64
}

func kernelOf(n *exir.Node) kernel {
	w := n.Args[convWeight].Value.Spec.Sizes
	k := kernel{groups: n.Args[convGroups].Int, channels: w[0]}
	k.in = w[1] * k.groups
	k.size = w[2:]
	for i := range k.size {
		k.stride = append(k.stride, spatial(n.Args[convStride].List, i))
		k.pad = append(k.pad, spatial(n.Args[convPad].List, i))
		k.dilation = append(k.dilation, spatial(n.Args[convDilation].List, i))
	}
	return k
}

// spatial is number i of a list that may have one for all dimensions.
func spatial(list []exir.Arg, i int) int64 { return list[min(i, len(list)-1)].Int }

func ones(n int) []int64 { return slices.Repeat([]int64{1}, n) }

// addWeights adds v to w, the weights of l, from place at on: the weights of a smaller kernel, or a multiple of each channel, nil
// for 1.
func (l *linear) addWeights(b *exir.Builder, w, v *exir.Value, at []int64) *exir.Value {
	if v == nil || v.Spec.Rank() < w.Spec.Rank() {
		return l.addMultiples(b, w, v, at)
	}
	return addFrom(b, w, v, 2, at)
}

// addFrom adds v to the part of w that begins at these places along the dimensions from dim on.
func addFrom(b *exir.Builder, w, v *exir.Value, dim int, at []int64) *exir.Value {
	if len(at) == 0 {
		return b.Op("aten::add.Tensor", w, v)
	}
	if w.Spec.Sizes[dim] == v.Spec.Sizes[dim] {
		return addFrom(b, w, v, dim+1, at[1:])
	}
	to := at[0] + v.Spec.Sizes[dim]
	part := b.Op("aten::slice_copy.Tensor", w, dim, at[0], to)
	return b.Op("aten::slice_scatter", w, addFrom(b, part, v, dim+1, at[1:]), dim, at[0], to)
}

// addMultiples adds to the weights w, at a place of the kernel, those with which each channel looks at itself.
func (l *linear) addMultiples(b *exir.Builder, w, by *exir.Value, at []int64) *exir.Value {
	k := kernelOf(l.conv)
	taps, tap := int64(1), int64(0)
	for i, n := range k.size {
		taps, tap = taps*n, tap*n+at[i]
	}
	group := k.in / k.groups
	places := make([]int64, k.channels)
	for c := range places {
		places[c] = (int64(c)*group+int64(c)%group)*taps + tap
	}
	if by == nil {
		by = number(b, w, 1)
	}
	diagonal := tensor.Of(places, k.channels)
	list := b.Literal("diagonal", diagonal.Meta, diagonal.Data)
	flat := b.Op("aten::view_copy", w, []int64{int64(w.Spec.Numel())})
	flat = b.Op("aten::index_put", flat, []*exir.Value{list}, by, true)
	return b.Op("aten::view_copy", flat, w.Spec.Sizes)
}
