package blob

import "math"

// maxNumel bounds the elements of a value.
const maxNumel = 1 << 40

// check holds the graph against the rules of Read.
func (r *reader) check() {
	g := r.out
	if g.NumExterns > MaxExterns {
		r.fail("graph", itoa(g.NumExterns), " external values, want at most ", itoa(MaxExterns))
		return
	}
	r.ids = make(map[uint32]int, len(g.Values))
	externs := make(map[uint32]bool, g.NumExterns)
	for i := range g.Values {
		r.checkValue(i, &g.Values[i])
		if e := g.Values[i].External; e != InvalidID {
			if externs[e] {
				r.fail("value "+itoa(i), "external id ", itoa(e), " is taken")
			}
			externs[e] = true
		}
	}
	if r.err == nil {
		r.checkFlow()
	}
}

func (r *reader) checkValue(i int, v *Value) {
	where := "value " + itoa(i)
	_, taken := r.ids[v.ID]
	external := v.External != InvalidID
	switch {
	case v.Type <= InvalidType || v.Type >= numTypes || v.DynamicType < 0 || v.DynamicType >= numTypes:
		r.fail(where, "unknown data type ", itoa(int(v.Type)))
	case taken || v.ID == InvalidID:
		r.fail(where, "id ", itoa(v.ID), " is taken or not valid")
	case int(v.Constant) >= max(1, len(r.out.Constants)):
		r.fail(where, "constant ", itoa(v.Constant), " of ", itoa(len(r.out.Constants)))
	case v.Flags&^(ExternalInput|ExternalOutput) != 0:
		r.fail(where, "unknown flags ", itoa(v.Flags))
	case external != (v.Flags != 0) || external && (v.External >= r.out.NumExterns || v.Constant != 0):
		r.fail(where, "external id ", itoa(v.External), " does not agree with flags, constant or number of external values")
	case v.Flags == ExternalInput|ExternalOutput:
		r.fail(where, "it is an input and an output")
	case !fits(v.Dims):
		r.fail(where, "too many elements")
	default:
		r.checkQuant(where, v)
		r.checkBytes(where, v)
	}
	r.ids[v.ID] = i
}

func fits(dims []uint32) bool {
	n := uint64(1)
	for _, d := range dims {
		if d != 0 && n > maxNumel/uint64(d) {
			return false
		}
		n *= uint64(max(d, 1))
	}
	return true
}

// checkBytes holds the size of a constant against its value's.
func (r *reader) checkBytes(where string, v *Value) {
	if v.Constant == 0 {
		return
	}
	if c := &r.out.Constants[v.Constant]; c.Key == "" && uint64(v.Bytes()) > c.Size {
		r.fail(where, "constant has ", itoa(c.Size), " bytes, want ", itoa(v.Bytes()))
	}
}

func (r *reader) checkQuant(where string, v *Value) {
	q := &v.Quant
	if q.Kind != typeInfos[v.Type].quant {
		r.fail(where, "quantization does not fit type ", v.Type.String())
		return
	}
	switch q.Kind {
	case PerTensor:
		r.checkPerTensor(where, v)
	case PerToken:
		if q.NonbatchDims < 1 || int(q.NonbatchDims) > len(v.Dims) {
			r.fail(where, itoa(q.NonbatchDims), " dimensions share parameters, of ", itoa(len(v.Dims)))
		}
	case PerChannel, PerGroup:
		r.checkScales(where, v)
	}
}

// zeroPoints are the least and the greatest zero point of each type with PerTensor.
func zeroPoints(t DataType) (low, high int32) {
	switch t {
	case QInt8:
		return math.MinInt8, math.MaxInt8
	case QUint8:
		return 0, math.MaxUint8
	}
	return 0, 0
}

func (r *reader) checkPerTensor(where string, v *Value) {
	low, high := zeroPoints(v.Type)
	if z := v.Quant.ZeroPoint; z < low || z > high {
		r.fail(where, "zero point ", itoa(z), " of type ", v.Type.String())
	}
	if !validScale(v.Quant.Scale) {
		r.fail(where, "scale is not positive and finite")
	}
}

func validScale(s float32) bool { return s > 0 && s <= math.MaxFloat32 }

func (r *reader) checkScales(where string, v *Value) {
	q := &v.Quant
	if q.ChannelDim < 0 || int(q.ChannelDim) >= len(v.Dims) {
		r.fail(where, "channel dimension ", itoa(q.ChannelDim), " of rank ", itoa(len(v.Dims)))
		return
	}
	want := uint64(v.Dims[q.ChannelDim])
	if q.Kind == PerGroup {
		cols := uint64(v.Dims[len(v.Dims)-1])
		if len(v.Dims) != 2 || q.ChannelDim != 0 || q.GroupSize <= 0 || cols%uint64(q.GroupSize) != 0 {
			r.fail(where, "groups of ", itoa(q.GroupSize), " do not divide the columns of a matrix")
			return
		}
		want *= cols / uint64(q.GroupSize)
	}
	for _, s := range q.Scales {
		if !validScale(s) {
			r.fail(where, "scale is not positive and finite")
		}
	}
	if len(q.Scales) > 0 {
		q.NumScales = uint32(len(q.Scales))
	} else if q.ScaleConstant == 0 || int(q.ScaleConstant) >= len(r.out.Constants) {
		r.fail(where, "scales in constant ", itoa(q.ScaleConstant), " of ", itoa(len(r.out.Constants)))
		return
	}
	if uint64(q.NumScales) != want {
		r.fail(where, itoa(q.NumScales), " scales, want ", itoa(want))
	}
}

// checkFlow checks that inputs, constants and results of earlier nodes are all that nodes read.
func (r *reader) checkFlow() {
	g := r.out
	ready := make([]bool, len(g.Values))
	for i := range g.Values {
		ready[i] = g.Values[i].Constant != 0 || g.Values[i].Flags == ExternalInput
	}
	for i := range g.Nodes {
		r.checkNode(i, &g.Nodes[i], ready)
	}
	r.checkExternals("input", g.Inputs, ExternalInput, ready)
	r.checkExternals("output", g.Outputs, ExternalOutput, ready)
	count := 0
	for i := range g.Values {
		if g.Values[i].External != InvalidID {
			count++
		}
	}
	if count != len(g.Inputs)+len(g.Outputs) {
		r.fail("graph", itoa(count), " external values, ", itoa(len(g.Inputs)), " inputs and ", itoa(len(g.Outputs)), " outputs")
	}
}

func (r *reader) checkExternals(what string, list []uint32, flag uint32, ready []bool) {
	seen := make(map[uint32]bool, len(list))
	for i, id := range list {
		at, ok := r.ids[id]
		if !ok || seen[id] || r.out.Values[at].Flags != flag || !ready[at] {
			r.fail(what+" "+itoa(i), "value ", itoa(id), " is not an ", what, " that is written once")
			return
		}
		seen[id] = true
	}
}

func (r *reader) checkNode(i int, n *Node, ready []bool) {
	where := "node " + itoa(i) + " (" + n.Type.String() + ")"
	form := nodeInfos[n.Type].form
	for k, id := range n.Inputs {
		if id == InvalidID && k+1 == form.optional {
			continue
		}
		if at, ok := r.ids[id]; !ok || !ready[at] {
			r.fail(where, "input ", itoa(id), " does not exist yet")
			return
		}
	}
	for _, id := range n.Outputs {
		if at, ok := r.ids[id]; !ok || ready[at] {
			r.fail(where, "output ", itoa(id), " does not exist or is written before")
			return
		}
		ready[r.ids[id]] = true
	}
	if n.Bounded && !(n.Min <= n.Max) {
		r.fail(where, "its least result is greater than its greatest")
	}
	if msg := checkParams(n); msg != "" {
		r.fail(where, msg)
	}
}

// maxParam bounds windows, strides, paddings and sizes, so that sums of them do not overflow.
const maxParam = 1 << 24

// checkParams says what is wrong with the numbers and lists of n, or "".
func checkParams(n *Node) string {
	for _, p := range n.Params {
		if p > maxParam {
			return "a parameter is larger than 2^24"
		}
	}
	for _, l := range n.Lists {
		for _, p := range l {
			if uint64(p) > maxNumel {
				return "a parameter is too large"
			}
		}
	}
	switch n.Type {
	case StaticTranspose:
		return checkPermutation(n.Lists[0], n.Params[0])
	case StaticReshape, StaticSlice:
		for _, l := range n.Lists {
			if len(l) != int(n.Params[0]) {
				return "its lists do not have num_dims members"
			}
		}
	case StaticConstantPad:
		if len(n.Lists[0]) != len(n.Lists[1]) {
			return "its lists have different lengths"
		}
	case Conv2d, DepthwiseConv2d, ConvTranspose2d:
		return checkPositive(n.Params[4:13])
	case AvgPooling2d: // has no dilation
		return checkPositive(n.Params[4:8])
	case MaxPooling2d:
		return checkPositive(n.Params[4:10])
	case ArgMaxPooling2d:
		return checkPositive(n.Params[4:6])
	}
	return ""
}

func checkPositive(list []uint32) string {
	for _, p := range list {
		if p == 0 {
			return "a window, stride, dilation or number of channels is 0"
		}
	}
	return ""
}

func checkPermutation(perm []uint32, rank uint32) string {
	seen := 0
	for _, p := range perm {
		if p < MaxRank {
			seen |= 1 << p
		}
	}
	if len(perm) != int(rank) || seen != 1<<rank-1 {
		return "its list is no permutation"
	}
	return ""
}
