package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errConvGroups = errors.New("check convolution: channels do not agree with groups")
	errConvSize   = errors.New("check convolution: the kernel is larger than the padded input")
	errConvParam  = errors.New("check convolution: bad stride, padding, dilation or output padding")
	errConvEmpty  = errors.New("check convolution: channels or a spatial dimension of the input are empty")
	errConvPacked = errors.New("check convolution: groups, strides or dilation are not those for which the weights were packed")
	errConvBias   = errors.New("check convolution: the bias must have one element an output channel")
)

// Convolution is the row of convolutions over 1, 2 or 3 dimensions.
var Convolution = Def{
	Schema:     "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::convolution", Infer: inferConvolution, Tags: Core | Clamps, Inner: innerConvolution, Turns: turnsConvolution,
}

// The arguments of a convolution.
const (
	convInput = iota
	convWeight
	convBias
	convStride
	convPadding
	convDilation
	convTransposed
	convOutputPadding
	convGroups
)

// perAxis is member i of v; a list of one member counts for every axis.
func perAxis(v *Value, i int, def int64) int64 {
	switch n := len(v.Ints); {
	case n == 0:
		return def
	case n == 1:
		return v.Ints[0]
	case i < n:
		return v.Ints[i]
	}
	return def
}

// inferConvolution gives a channels-last output for a channels-last input, else a contiguous one.
func inferConvolution(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	w, err := argTensor(c.Args, convWeight)
	if err != nil {
		return err
	}
	rank := w.Rank()
	if rank < 3 || rank > 5 || (t.Rank() != rank && t.Rank() != rank-1) {
		return errDims
	}
	channels, err := convChannels(c, t, w)
	if err != nil {
		return err
	}
	lead := t.Rank() - rank + 1 // 1 with a batch, 0 without
	out.Sizes = append(append(out.Sizes, t.Sizes[:lead]...), channels)
	noBatch := lead == 1 && c.Shapes.Equal(t.Sizes[0], 0) == tensor.Yes
	for i := range rank - 2 {
		if !noBatch && c.Shapes.Equal(t.Sizes[lead+1+i], 0) == tensor.Yes {
			return errConvEmpty
		}
		n, err := convSize(c, t.Sizes[lead+1+i], w.Sizes[2+i], i)
		if err != nil {
			return err
		}
		out.Sizes = append(out.Sizes, n)
	}
	if channelsInner(&t.Meta, rank-2) {
		setOrder(out, t.DimOrder)
	}
	return nil
}

// convChannels checks the channels and gives the number of the output's.
func convChannels(c *Infer, t, w *tensor.Tensor) (tensor.Dim, error) {
	s, groups := c.Shapes, c.Args[convGroups].Int
	in := t.Sizes[t.Rank()-w.Rank()+1]
	if groups <= 0 || s.Less(w.Sizes[0], groups) == tensor.Yes {
		return 0, errConvGroups
	}
	wantIn, out := s.Mul(w.Sizes[1], groups), w.Sizes[0]
	if c.Args[convTransposed].Int != 0 {
		wantIn, out = w.Sizes[0], s.Mul(w.Sizes[1], groups)
	}
	if s.Equal(in, wantIn) == tensor.No || s.Equal(s.Mod(w.Sizes[0], groups), 0) == tensor.No {
		return 0, errConvGroups
	}
	if s.Equal(in, 0) == tensor.Yes || s.Equal(out, 0) == tensor.Yes {
		return 0, errConvEmpty
	}
	if b := c.Args[convBias].Tensor; b != nil && (b.Rank() != 1 || s.Equal(b.Sizes[0], out) == tensor.No) {
		return 0, errConvBias
	}
	return out, nil
}

// convSize is the size of the output in spatial dimension i.
func convSize(c *Infer, in, kernel tensor.Dim, i int) (tensor.Dim, error) {
	s := c.Shapes
	stride, pad := perAxis(&c.Args[convStride], i, 1), perAxis(&c.Args[convPadding], i, 0)
	dilation := perAxis(&c.Args[convDilation], i, 1)
	if stride <= 0 || pad < 0 || dilation <= 0 || max(stride, pad, dilation) > math.MaxInt32 {
		return 0, errConvParam
	}
	reach := s.Mul(dilation, s.Sub(kernel, 1))
	var n tensor.Dim
	if c.Args[convTransposed].Int != 0 {
		extra := perAxis(&c.Args[convOutputPadding], i, 0)
		if extra < 0 || (extra >= stride && extra >= dilation) {
			return 0, errConvParam
		}
		n = s.Add(s.Add(s.Sub(s.Mul(s.Sub(in, 1), stride), 2*pad), reach), extra+1)
	} else {
		span := s.Sub(s.Add(in, 2*pad), reach)
		if s.Less(span, 1) == tensor.Yes {
			return 0, errConvSize
		}
		n = s.Add(s.FloorDiv(s.Sub(span, 1), stride), 1)
	}
	if s.Less(n, 0) == tensor.Yes {
		return 0, errConvSize
	}
	return n, nil
}
