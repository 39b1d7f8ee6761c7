package aot

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// rule is how an operator is taken.
type rule struct {
	// check says why a node cannot be taken, or "". What holds for all operators is checked before.
	check func(g *graph, n *exir.Node) string
	// emit makes nodes of it.
	emit func(c *compiler, n *exir.Node)
	// quantized, if not nil, says whether the node computes on 8-bit activations: in are the quantizations of its inputs,
	// nil if one has none, and out that of its result.
	quantized func(n *exir.Node, out *quantized, in []*quantized) bool
	// activates says that an activation after it is a part of it, normalizes the same of a batch norm.
	activates, normalizes bool
	// weighted says that it has weights, which may be quantized.
	weighted bool
}

// rules has a row for every operator that XNNPACK takes.
var rules = map[string]*rule{
	"aten::abs":        {emit: unary(blob.Abs)},
	"aten::ceil":       {emit: unary(blob.Ceiling)},
	"aten::cos":        {emit: unary(blob.Cos)},
	"aten::exp":        {emit: unary(blob.Exp)},
	"aten::floor":      {emit: unary(blob.Floor)},
	"aten::hardswish":  {emit: unary(blob.Hardswish)},
	"aten::log":        {emit: unary(blob.Log)},
	"aten::neg":        {emit: unary(blob.Negate)},
	"aten::rsqrt":      {emit: unary(blob.ReciprocalSquareRoot)},
	"aten::sigmoid":    {emit: unary(blob.Sigmoid)},
	"aten::sin":        {emit: unary(blob.Sin)},
	"aten::sqrt":       {emit: unary(blob.SquareRoot)},
	"aten::tanh":       {emit: unary(blob.Tanh)},
	"aten::relu":       {emit: clamp, quantized: sameScale},
	"aten::hardtanh":   {emit: clamp, quantized: sameScale},
	"aten::clamp":      {check: checkClamp, emit: clamp, quantized: sameScale},
	"aten::elu":        {check: checkElu, emit: scaled(blob.ELU)},
	"aten::leaky_relu": {emit: scaled(blob.LeakyReLU)},
	"aten::prelu":      {check: checkPrelu, emit: prelu},
	"aten::gelu":       {check: checkGelu, emit: gelu},
	"aten::_softmax":   {check: checkSoftmax, emit: softmax},

	"aten::pow.Tensor_Scalar": {check: checkPow, emit: unary(blob.Square)},
	"aten::add.Tensor":        {check: checkAlpha, emit: binary(blob.Add), quantized: sumScale, activates: true},
	"aten::add.Scalar":        {check: checkAlpha, emit: binary(blob.Add), activates: true},
	"aten::sub.Tensor":        {check: checkAlpha, emit: binary(blob.Subtract), quantized: sumScale, activates: true},
	"aten::sub.Scalar":        {check: checkAlpha, emit: binary(blob.Subtract), activates: true},
	"aten::rsub.Scalar":       {check: checkAlpha, emit: reversed(blob.Subtract), activates: true},
	"aten::mul.Tensor":        {emit: binary(blob.Multiply), quantized: productScale, activates: true},
	"aten::mul.Scalar":        {emit: binary(blob.Multiply), activates: true},
	"aten::div.Tensor":        {emit: binary(blob.Div)},
	"aten::div.Scalar":        {emit: binary(blob.Div)},
	"aten::maximum":           {emit: binary(blob.Maximum)},
	"aten::minimum":           {emit: binary(blob.Minimum)},

	"aten::convolution": {check: checkConvolution, emit: convolution, quantized: anyScale, activates: true, normalizes: true, weighted: true},
	"aten::linear":      {check: checkLinear, emit: linear, quantized: anyScale, activates: true, normalizes: true, weighted: true},
	"aten::addmm":       {check: checkAddmm, emit: addmm, activates: true, weighted: true},
	"aten::mm":          {check: checkMM, emit: mm, activates: true, weighted: true},
	"aten::bmm":         {emit: bmm},
	batchNorm:           {check: checkNorm, emit: norm},

	"aten::avg_pool2d":              {check: checkAvgPool, emit: avgPool},
	"aten::max_pool2d_with_indices": {check: checkMaxPool, emit: maxPool, quantized: sameScale},
	"aten::mean.dim":                {check: checkMean, emit: mean, quantized: anyScale},
	"aten::max.dim":                 {check: checkMaxDim, emit: maxDim},
	"aten::upsample_bilinear2d.vec": {check: checkUpsample, emit: upsample},

	"aten::cat":                         {check: checkCat, emit: cat, quantized: sameScale},
	"aten::constant_pad_nd":             {check: checkPad, emit: pad, quantized: sameScale},
	"aten::slice_copy.Tensor":           {check: checkSlice, emit: slice, quantized: sameScale},
	"aten::permute_copy":                {check: checkMoved, emit: permute, quantized: sameScale},
	"aten::transpose_copy.int":          {check: checkMoved, emit: permute, quantized: sameScale},
	"aten::t_copy":                      {check: checkMoved, emit: permute, quantized: sameScale},
	"aten::view_copy":                   {check: checkView, emit: view, quantized: sameScale},
	"aten::unsqueeze_copy":              {check: checkView, emit: view, quantized: sameScale},
	"aten::squeeze_copy.dim":            {check: checkView, emit: view, quantized: sameScale},
	"aten::squeeze_copy.dims":           {check: checkView, emit: view, quantized: sameScale},
	"aten::alias_copy":                  {emit: same},
	"aten::detach_copy":                 {emit: same},
	"dim_order_ops::_clone_dim_order":   {emit: same},
	"dim_order_ops::_to_dim_order_copy": {emit: same},
}
