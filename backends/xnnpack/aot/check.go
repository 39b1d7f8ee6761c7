package aot

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// checkCommon says why XNNPACK takes no node with the types and shapes of n, or "".
func (p *partitioner) checkCommon(n *exir.Node, r *rule) string {
	var first tensor.ScalarType
	for i, v := range append(tensorsOf(n), n.Outs[0]) {
		if i == 0 {
			first = v.Spec.DType
		}
		if reason := p.checkTensor(v, n, r); reason != "" {
			return reason
		}
		if v.Spec.DType != first {
			return "its tensors have different element types: " + first.String() + " and " + v.Spec.DType.String()
		}
	}
	for i := range n.Args {
		if a := &n.Args[i]; a.Kind == exir.ArgValue && a.Value.Kind != exir.TensorValue {
			return "argument " + n.Op.Args[i].Name + " is a number that is computed at run time"
		}
	}
	if !p.fits(n) {
		return "its sizes do not agree where all are as large as they can be"
	}
	return ""
}

// fits reports whether the shape rule of n takes the largest sizes, with which XNNPACK's graphs are made: those of sizes that
// are equal may differ.
func (p *partitioner) fits(n *exir.Node) bool {
	if exir.LookupRow(n.Op.Name) == nil || !slices.ContainsFunc(tensorsOf(n), func(v *exir.Value) bool { return symbols(v.Spec.Sizes) > 0 }) {
		return true
	}
	_, err := exir.Infer(&tensor.Shapes{}, n.Op, p.largestArgs(n.Args))
	return err == nil
}

// largestArgs are args with the largest sizes.
func (p *partitioner) largestArgs(args []exir.Arg) []exir.Arg {
	args = slices.Clone(args)
	for i := range args {
		switch a := &args[i]; a.Kind {
		case exir.ArgInt:
			a.Int = p.largest(a.Int)
		case exir.ArgList:
			a.List = p.largestArgs(a.List)
		case exir.ArgValue:
			v := *a.Value
			v.Sym, v.Spec = p.largest(v.Sym), v.Spec.Clone()
			for d := range v.Spec.Sizes {
				v.Spec.Sizes[d] = p.largest(v.Spec.Sizes[d])
			}
			a.Value = &v
		}
	}
	return args
}

// largest is the upper bound of d.
func (p *partitioner) largest(d tensor.Dim) int64 {
	if !tensor.IsSymbol(d) {
		return d
	}
	_, high := p.bounds(d)
	return high
}

func (p *partitioner) checkTensor(v *exir.Value, n *exir.Node, r *rule) string {
	switch t := v.Spec.DType; {
	case t == tensor.BFloat16 && p.BFloat16 && n.Op.Name == "aten::linear":
	case t == tensor.BFloat16:
		return "its element type is BFloat16, which only enable_bf16 allows, and for linear layers"
	case t != tensor.Float && t != tensor.Half:
		return "its element type is " + t.String()
	}
	for _, d := range v.Spec.Sizes {
		if d == 0 {
			return "a tensor is empty"
		}
	}
	switch {
	case p.unbounded(v):
		return noBound
	case v.Spec.Rank() > blob.MaxRank:
		return "a tensor has more than 6 dimensions"
	case !v.Spec.Contiguous() && !channelsLast(&v.Spec):
		return "a dim order is neither contiguous nor channels-last"
	}
	return ""
}

const noBound = "a size has no upper bound"

// unbounded reports whether v has a size for which XNNPACK's graphs, which have the largest ones, have no number.
func (p *partitioner) unbounded(v *exir.Value) bool {
	return slices.ContainsFunc(v.Spec.Sizes, func(d tensor.Dim) bool { return p.largest(d) > math.MaxInt32 })
}

func checkClamp(_ *graph, n *exir.Node) string {
	low, high := bounds(n)
	if !(low <= high) {
		return "its bounds exclude each other"
	}
	return ""
}

// bounds are those of relu, hardtanh or clamp.
func bounds(n *exir.Node) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if n.Op.Name == "aten::relu" {
		return 0, high
	}
	if n.Args[1].Kind != exir.ArgNone {
		low = numberOf(&n.Args[1])
	}
	if n.Args[2].Kind != exir.ArgNone {
		high = numberOf(&n.Args[2])
	}
	return low, high
}

func checkElu(_ *graph, n *exir.Node) string {
	if numberOf(&n.Args[2]) != 1 || numberOf(&n.Args[3]) != 1 {
		return "its scales are not 1"
	}
	return ""
}

func checkPrelu(g *graph, n *exir.Node) string {
	switch {
	case !g.isConstant(n.Args[1].Value):
		return "its weight is not constant"
	case n.Outs[0].Spec.Rank() < 2:
		return "its input has no channels"
	case n.Outs[0].Spec.Rank() > 4 && n.Args[1].Value.Spec.Numel() > 1:
		return "its input is no image, and its channels have slopes of their own"
	}
	return ""
}

func checkGelu(_ *graph, n *exir.Node) string {
	if n.Outs[0].Spec.DType == tensor.Half {
		return "XNNPACK has no gelu of float16"
	}
	return ""
}

func checkSoftmax(_ *graph, n *exir.Node) string {
	if rank := n.Outs[0].Spec.Rank(); rank == 0 || axis(n.Args[1].Int, rank) != rank-1 {
		return "its dimension is not the last"
	}
	return ""
}

func checkPow(_ *graph, n *exir.Node) string {
	if numberOf(&n.Args[1]) != 2 {
		return "its exponent is not 2"
	}
	return ""
}

func checkAlpha(_ *graph, n *exir.Node) string {
	if at := n.Op.Arg("alpha"); at >= 0 && numberOf(&n.Args[at]) != 1 {
		return "its alpha is not 1"
	}
	return ""
}

func checkNorm(g *graph, n *exir.Node) string {
	if rank := n.Outs[0].Spec.Rank(); rank < 2 || rank > 4 {
		return "its input has not 2 to 4 dimensions"
	}
	if tensor.IsSymbol(n.Outs[0].Spec.Sizes[1]) {
		return "its channels are not known"
	}
	if reason := checkLines(n.Args[0].Value, n.Outs[0]); reason != "" {
		return reason
	}
	return g.normalizes(n)
}

// checkWeights says why XNNPACK does not have these weights and bias, or "".
func (g *graph) checkWeights(in, weight, bias *exir.Value) string {
	if bias != nil && !g.isConstant(bias) {
		return "its bias is not constant"
	}
	q := dequantized(weight)
	x := dequantized(in)
	switch {
	case q != nil:
		if reason := g.weightReason(q); reason != "" {
			return reason
		}
	case !g.isConstant(weight) && (weight.Spec.DType != tensor.Float || weight.Spec.Rank() != 2):
		return "its weights are not constant"
	case !g.isConstant(weight) && bias != nil:
		return "its weights are not constant, and it has a bias: the official runtime ends the process on such a layer"
	}
	if x != nil && x.kind == blob.PerToken {
		return g.checkDynamic(in, x, q)
	}
	return ""
}

// checkDynamic says why an input that is quantized at run time does not fit the weights, or "".
func (g *graph) checkDynamic(in *exir.Value, x, weight *quantized) string {
	switch {
	case weight == nil:
		return "its input is quantized at run time, and its weights are not quantized"
	case weight.kind == blob.PerTensor:
		return "its input is quantized at run time, and its weights have one scale for the whole tensor"
	}
	for _, n := range x.nodes[:2] { // the results of choosing parameters are used by these
		for _, u := range g.users[n.Outs[0]] {
			if u == nil || dequantizers[u.Op.Name] == nil && (g.rules[u.Op.Name] == nil || !g.rules[u.Op.Name].weighted || valueOf(&u.Args[0]) != in) {
				return "its input is quantized at run time, and has other users than linear layers and convolutions"
			}
		}
	}
	return ""
}

func checkLinear(g *graph, n *exir.Node) string {
	if n.Args[0].Value.Spec.Rank() < 2 || n.Args[1].Value.Spec.Rank() != 2 {
		return "its input is a vector"
	}
	return g.checkWeights(n.Args[0].Value, n.Args[1].Value, valueOf(&n.Args[2]))
}

func checkAddmm(g *graph, n *exir.Node) string {
	if numberOf(&n.Args[3]) != 1 || numberOf(&n.Args[4]) != 1 {
		return "its beta or alpha is not 1"
	}
	if bias := n.Args[0].Value; bias.Spec.Rank() != 1 || bias.Spec.Sizes[0] != n.Outs[0].Spec.Sizes[1] {
		return "its bias is no vector of as many elements as it has columns"
	}
	return g.checkPlain(n.Args[1].Value, n.Args[2].Value, n.Args[0].Value)
}

func checkMM(g *graph, n *exir.Node) string {
	return g.checkPlain(n.Args[0].Value, n.Args[1].Value, nil)
}

// checkPlain is checkWeights for products whose weights must be transposed.
func (g *graph) checkPlain(in, weight, bias *exir.Value) string {
	if q := dequantized(in); q != nil && q.kind == blob.PerToken {
		return "its input is quantized at run time, and it is no linear layer"
	}
	return g.checkWeights(in, weight, bias)
}

func checkConvolution(g *graph, n *exir.Node) string {
	x, weight := n.Args[0].Value, n.Args[1].Value
	rank := weight.Spec.Rank()
	if rank < 3 || rank > 4 || x.Spec.Rank() != rank {
		return "it is neither a 1-d nor a 2-d convolution of a batch"
	}
	if reason := g.checkWeights(x, weight, valueOf(&n.Args[2])); reason != "" {
		return reason
	}
	a := attributesOf(n)
	q, in := dequantized(weight), dequantized(x)
	switch {
	case q != nil && q.kind == blob.PerChannel && a.transposed && (a.groups > 1 || q.axis != 1):
		return "it is transposed, and its weights are not quantized along the outputs of one group"
	case q != nil && q.kind == blob.PerChannel && !a.transposed && q.axis != 0:
		return "its weights are not quantized along its outputs"
	case q != nil && q.kind == blob.PerGroup:
		return "its weights are quantized in groups"
	case in != nil && in.kind == blob.PerToken && (rank != 4 || a.depthwise()):
		return "its input is quantized at run time, and it is not a plain 2-d convolution"
	}
	return checkLines(x, n.Outs[0])
}

// checkLines says why a line cannot be made an image, or "".
func checkLines(in, out *exir.Value) string {
	if in.Spec.Rank() == 3 && (symbols(in.Spec.Sizes) > 1 || symbols(out.Spec.Sizes) > 1) {
		return "more than one size of a line is not known"
	}
	return ""
}

func checkAvgPool(_ *graph, n *exir.Node) string {
	p := windowOf(n)
	switch {
	case n.Outs[0].Spec.Rank() != 4:
		return "its input is no batch of images"
	case n.Args[4].Int != 0:
		return "ceil_mode is not supported"
	case n.Args[5].Int != 0 && p.padding != [2]int64{}:
		return "padding counts in its average"
	case n.Args[6].Kind != exir.ArgNone && (n.Args[6].Int != p.kernel[0]*p.kernel[1] || p.padding != [2]int64{}):
		return "its divisor is not the size of its window, or counts padding"
	}
	return ""
}

func checkMaxPool(g *graph, n *exir.Node) string {
	p := windowOf(n)
	switch {
	case len(n.Outs) > 1 && n.Outs[1] != nil && len(g.users[n.Outs[1]]) > 0:
		return "its indices are used"
	case n.Outs[0].Spec.Rank() != 4:
		return "its input is no batch of images"
	case n.Args[5].Int != 0 && symbols(n.Args[0].Value.Spec.Sizes[2:]) > 0:
		return "ceil_mode is not supported for images of unknown size"
	case p.stride[0] > p.kernel[0] || p.stride[1] > p.kernel[1]:
		return "its stride is larger than its window"
	}
	return ""
}

func checkMean(_ *graph, n *exir.Node) string {
	rank := n.Args[0].Value.Spec.Rank()
	seen := 0
	for _, d := range n.Args[1].List {
		seen |= 1 << axis(d.Int, rank)
	}
	switch {
	case rank != 4 || seen != 1<<2|1<<3:
		return "it is not over the height and width of images"
	case n.Args[2].Int == 0:
		return "it does not keep its dimensions"
	case n.Args[3].Kind != exir.ArgNone && n.Args[3].Int != int64(n.Args[0].Value.Spec.DType):
		return "it changes the element type"
	}
	return ""
}

func checkMaxDim(g *graph, n *exir.Node) string {
	x := n.Args[0].Value
	rank := x.Spec.Rank()
	switch d := axis(n.Args[1].Int, rank); {
	case n.Outs[1] != nil && len(g.users[n.Outs[1]]) > 0:
		return "its indices are used"
	case rank != 4 || d < 2 || n.Args[2].Int == 0:
		return "it is not over the height or width of images, kept as a dimension"
	case tensor.IsSymbol(x.Spec.Sizes[d]):
		return "the size of its dimension is not known"
	}
	return ""
}

func checkUpsample(_ *graph, n *exir.Node) string {
	in, out := n.Args[0].Value.Spec.Sizes, n.Outs[0].Spec.Sizes
	if symbols(out[2:]) > 0 || symbols(in[2:]) > 0 {
		return "a size of its images is not known"
	}
	for i, f := range n.Args[3].List {
		if n.Args[2].Int == 0 && float64(in[2+i])*f.Float != float64(out[2+i]) {
			return "its scale is not that of its sizes"
		}
	}
	return ""
}

func checkCat(_ *graph, n *exir.Node) string {
	if len(n.Args[0].List) < 2 {
		return "it joins fewer than 2 tensors"
	}
	return ""
}

func checkPad(_ *graph, n *exir.Node) string {
	for _, p := range n.Args[1].List {
		if p.Kind != exir.ArgInt || p.Int < 0 {
			return "its padding is negative or not known"
		}
	}
	return ""
}

func checkSlice(_ *graph, n *exir.Node) string {
	switch {
	case n.Args[4].Int != 1:
		return "its step is not 1"
	case symbols(n.Args[0].Value.Spec.Sizes) > 0 || symbols(n.Outs[0].Spec.Sizes) > 0:
		return "a size is not known"
	}
	return ""
}

func checkView(x *graph, n *exir.Node) string {
	if q := dequantized(n.Args[0].Value); q != nil && q.kind != blob.PerTensor && x.isConstant(q.source) {
		return "its input is a weight that no linear layer or convolution needs"
	}
	if symbols(n.Outs[0].Spec.Sizes) > 1 {
		return "more than one of its sizes is not known"
	}
	return checkMoved(nil, n)
}

// checkMoved says why XNNPACK, which has no reshape and no transpose to a scalar, does not move elements as n does, or "".
func checkMoved(_ *graph, n *exir.Node) string {
	if n.Outs[0].Spec.Rank() == 0 {
		return "its result has no dimensions"
	}
	return ""
}
