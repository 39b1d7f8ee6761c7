package main

// family is operators that share a driver, with the calls that are measured.
type family struct {
	name  string
	calls []string
}

// functions are operators of one float tensor and no other argument.
var functions = []string{
	"abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "log", "log10", "log1p",
	"log2", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
}

// perFunction are the operands that each of functions is measured with.
var perFunction = []string{"(f32[65536])", "(f32[64])"}

// functionCalls are the calls of functions.
func functionCalls() []string {
	var calls []string
	for _, name := range functions {
		for _, operands := range perFunction {
			calls = append(calls, name+".out"+operands)
		}
	}
	return calls
}

// families are everything that is measured: a large contiguous call of most operators, a small one, and those that step
// through memory or broadcast.
var families = []family{
	{"functions", functionCalls()},
	{"unary", []string{
		"exp.out(f16[65536])", "sin.out(f16[65536])", "neg.out(f16[65536])", "relu.out(i8[65536])", "neg.out(i64[65536])", "abs.out(i64[65536])",
		"sqrt.out(i64[65536])", "bitwise_not.out(i64[65536])", "bitwise_not.out(bool[65536])", "logical_not.out(bool[65536])",
		"logical_not.out(f32[65536])", "isnan.out(f32[65536])", "isinf.out(f32[65536])", "gelu.out(f32[65536], 'none')",
		"gelu.out(f32[65536], 'tanh')", "gelu.out(f16[65536], 'none')", "elu.out(f32[65536], 1.0, 1.0, 1.0)", "leaky_relu.out(f32[65536], 0.01)",
		"hardtanh.out(f32[65536], -1.0, 1.0)", "clamp.out(f32[65536], -1.0, 1.0)", "clamp.out(f32[65536], 0.5, none)", "clamp.out(i64[65536], 10, 90)",
		"logit.out(f32[65536]<1, none)", "glu.out(f32[256,512], -1)", "glu.out(f32[512,256], 0)", "elu.out(f16[65536], 1.0, 1.0, 1.0)",
	}},
	{"binary", []string{
		"add.out(f32[65536], f32[65536], 1)", "add.out(f32[64], f32[64], 1)", "add.out(f32[256,256], f32[256], 1)",
		"add.out(f32[256,256], f32[256,1], 1)", "add.out(f32[65536], f32[1], 1)", "add.out(f32[16,1,64], f32[1,64,64], 1)",
		"add.out(f32[8192,8], f32[8192,1], 1)", "add.out(f32[8192,8], f32[8], 1)",
		"add.out(f32[65536], f32[65536], 2)", "add.out(f16[65536], f16[65536], 1)", "add.out(i64[65536], i64[65536], 1)",
		"add.out(i8[65536], i8[65536], 1)", "add.out(f32[65536], i64[65536], 1)", "add.Scalar_out(f32[65536], 1.5, 1)",
		"sub.out(f32[65536], f32[65536], 1)", "sub.out(i64[256,256], i64[256,1], 1)", "sub.Scalar_out(f32[65536], 1.5, 1)",
		"rsub.Scalar_out(f32[65536], 1.5, 1)",
		"mul.out(f32[65536], f32[65536])", "mul.out(f32[64], f32[64])", "mul.out(f32[256,256], f32[256,1])", "mul.out(f16[65536], f16[65536])",
		"mul.out(i64[65536], i64[65536])", "mul.out(bool[65536], bool[65536])", "mul.Scalar_out(f32[65536], 1.5)", "mul.Scalar_out(i64[65536], 3)",
		"div.out(f32[65536], f32[65536])", "div.out(f32[256,256], f32[256,1])", "div.out(i64[65536], i64[65536])", "div.Scalar_out(f32[65536], 3.0)",
		"div.out_mode(f32[65536], f32[65536], 'floor')", "div.out_mode(f32[65536], f32[65536], 'trunc')",
		"div.out_mode(i64[65536], i64[65536], 'floor')", "div.Scalar_mode_out(i64[65536], 7, 'floor')", "floor_divide.out(f32[65536], f32[65536])",
		"floor_divide.out(i64[65536], i64[65536])", "remainder.Tensor_out(f32[65536], f32[65536])", "remainder.Tensor_out(i64[65536], i64[65536])",
		"remainder.Scalar_out(i64[65536], 7)", "remainder.Scalar_out(f32[65536], 0.7)", "fmod.Tensor_out(f32[65536], f32[65536])", "fmod.Tensor_out(i64[65536], i64[65536])",
		"fmod.Scalar_out(f32[65536], 0.7)", "maximum.out(f32[65536], f32[65536])", "minimum.out(f32[65536], f32[65536])",
		"maximum.out(i64[65536], i64[65536])", "minimum.out(f16[65536], f16[65536])", "maximum.out(f32[256,256], f32[256,1])", "atan2.out(f32[65536], f32[65536])",
		"pow.Tensor_Tensor_out(f32[65536]<2, f32[65536])", "pow.Tensor_Scalar_out(f32[65536], 2)", "pow.Tensor_Scalar_out(f32[65536]<2, 1.7)",
		"pow.Tensor_Scalar_out(i64[65536], 3)", "pow.Scalar_out(2.0, f32[65536])", "pow.Tensor_Tensor_out(i64[65536]<10, i64[65536]<5)",
		"bitwise_and.Tensor_out(i64[65536], i64[65536])", "bitwise_or.Tensor_out(bool[65536], bool[65536])", "bitwise_xor.Scalar_out(i64[65536], 5)",
		"bitwise_left_shift.Tensor_Scalar_out(i64[65536], 3)", "bitwise_right_shift.Tensor_out(i64[65536], i64[65536]<9)",
	}},
	{"ternary", []string{
		"where.self_out(bool[65536], f32[65536], f32[65536])", "where.self_out(bool[64], f32[64], f32[64])",
		"where.self_out(bool[256,256], f32[1], f32[256,256])", "where.self_out(bool[256,1], f32[256,256], f32[256])",
		"where.self_out(bool[65536], i64[65536], i64[65536])", "where.self_out(bool[65536], f16[65536], f16[65536])",
		"clamp.Tensor_out(f32[65536], f32[65536], f32[65536])",
		"clamp.Tensor_out(f32[256,256], f32[256], f32[256,1])", "masked_fill.Scalar_out(f32[65536], bool[65536], -1.0)",
		"masked_fill.Scalar_out(f32[8,64,128], bool[1,64,128], -1.0)",
	}},
	{"comparison", []string{
		"eq.Tensor_out(f32[65536], f32[65536])", "eq.Tensor_out(f32[64], f32[64])", "ne.Tensor_out(i64[65536], i64[65536])", "lt.Tensor_out(f32[65536], f32[65536])",
		"le.Tensor_out(f32[65536], f32[65536])", "gt.Tensor_out(f32[256,256], f32[256,1])", "ge.Tensor_out(i8[65536], i8[65536])",
		"eq.Scalar_out(i64[65536], 7)", "lt.Scalar_out(f32[65536], 0.5)", "le.Scalar_out(f32[65536], 0.5)", "gt.Scalar_out(f16[65536], 0.5)", "ne.Scalar_out(bool[65536], true)",
		"logical_and.out(bool[65536], bool[65536])", "logical_or.out(f32[65536], f32[65536])", "logical_xor.out(i64[65536], i64[65536])",
	}},
	{"reduction", []string{
		"sum.IntList_out(f32[256,256], [1], false, none)", "sum.IntList_out(f32[256,256], [0], false, none)", "sum.IntList_out(f32[65536], none, false, none)",
		"sum.IntList_out(f32[64], [0], false, none)", "sum.IntList_out(f32[16,64,64], [0,2], false, none)", "sum.IntList_out(f32[16,64,64], [1], false, none)",
		"sum.IntList_out(f16[256,256], [1], false, none)", "sum.IntList_out(i64[256,256], [1], false, none)", "sum.IntList_out(bool[256,256], [1], false, none) -> i64",
		"sum.IntList_out(i64[256,256], [0], false, none)", "sum.IntList_out(f32[8192,8], [1], false, none)",
		"mean.out(f32[256,256], [1], true, none)", "mean.out(f32[256,256], [0], true, none)", "mean.out(f32[16,32,128], [1,2], false, none)",
		"mean.out(f16[256,256], [1], true, none)", "mean.dtype_out(f32[65536], none)", "prod.out(f32[65536], none)",
		"prod.int_out(f32[256,256], 1, false, none)", "prod.int_out(i64[256,256], 0, false, none)", "amax.out(f32[256,256], [1], false)",
		"amax.out(f32[256,256], [0], false)", "amin.out(i64[256,256], [1], false)", "amax.out(f16[256,256], [1], false)", "any.out(bool[256,256], 1, false)",
		"any.out(f32[256,256], 1, false)",
		"any.dims_out(bool[256,256], [0], false)", "any.all_out(bool[65536])", "argmax.out(f32[256,256], 1, false)", "argmax.out(f32[256,256], 0, false)",
		"argmax.out(f32[65536], none, false)", "argmin.out(i64[256,256], 1, false)", "max.dim_max(f32[256,256], 1, false)", "max.dim_max(f32[256,256], 0, false)", "min.dim_min(i64[256,256], 0, false)",
		"max.unary_out(f32[65536])", "min.unary_out(i64[65536])", "var.correction_out(f32[256,256], [1], 1, false)", "var.correction_out(f32[256,256], [0], 1, false)",
		"var.out(f32[16,32,128], [1,2], true, false)", "var_mean.correction_out(f32[256,256], [1], 1, false)",
	}},
	{"scan", []string{
		"cumsum.out(f32[256,256], 1, none)", "cumsum.out(f32[256,256], 0, none)", "cumsum.out(i64[256,256], 1, none)", "cumsum.out(f32[64], 0, none)",
		"cumsum.out(f16[256,256], 1, none)", "cumsum.out(bool[256,256], 1, none) -> i64",
	}},
	{"index", []string{
		"index_select.out(f32[256,256], 0, i64[256]<256)", "index_select.out(f32[256,256], 1, i64[256]<256)",
		"gather.out(f32[256,256], 1, i64[256,256]<256, false)", "gather.out(f32[256,256], 0, i64[256,256]<256, false)", "gather.out(i64[16,64], 1, i64[16,8]<64, false)",
		"index.Tensor_out(f32[256,256], [i64[256]<256])", "index.Tensor_out(f32[256,256], [i64[65536]<256, i64[65536]<256])",
		"index.Tensor_out(i64[64,8], [i64[16]<64])", "index.Tensor_out(f32[256,256], [bool[256,256]])",
		"index_put.out(f32[256,256], [i64[256]<256], f32[256,256], false)",
		"index_put.out(f32[256,256], [i64[65536]<256, i64[65536]<256], f32[65536], false)",
		"index_put.out(f32[256,256], [i64[256]<256], f32[256,256], true)",
		"scatter.src_out(f32[256,256], 1, i64[256,256]<256, f32[256,256])", "scatter.value_out(f32[256,256], 0, i64[256,256]<256, 1.0)",
		"scatter_add.out(f32[256,256], 1, i64[256,256]<256, f32[256,256])", "embedding.out(f32[1000,64], i64[1024]<1000, -1, false, false)",
		"embedding.out(f16[1000,64], i64[1024]<1000, -1, false, false)", "embedding.out(f32[1000,8], i64[16]<1000, -1, false, false)",
		"select_scatter.out(f32[256,256], f32[256], 0, 3)", "select_scatter.out(f32[256,256], f32[256], 1, 3)",
		"slice_scatter.out(f32[256,256], f32[128,256], 0, 0, 256, 2)", "slice_scatter.out(f32[256,256], f32[256,128], 1, 0, 128, 1)",
		"masked_scatter.out(f32[65536], bool[65536], f32[65536])", "masked_select.out(f32[65536], bool[65536])", "nonzero.out(bool[65536])",
		"nonzero.out(f32[256,256])", "repeat_interleave.Tensor_out(=i64[1000], none)",
	}},
	{"copy", []string{
		"clone.out(f32[65536], none)", "clone.out(f32[64], none)", "clone.out(f16[65536], none)", "view_copy.out(f32[256,256], [65536])", "view_copy.out(f32[64], [8,8])",
		"expand_copy.out(f32[256,1], [256,256], false)", "expand_copy.out(f32[1,256], [256,256], false)", "repeat.out(f32[64,64], [4,4])",
		"permute_copy.out(f32[256,256], [1,0])", "permute_copy.out(f32[16,64,64], [1,0,2])", "permute_copy.out(f32[1,64,32,32], [0,2,3,1])",
		"permute_copy.out(f32[1,8,64,128], [0,2,1,3])", "permute_copy.out(f16[256,256], [1,0])", "permute_copy.out(i64[256,256], [1,0])",
		"permute_copy.out(f32[8,8], [1,0])", "permute_copy.out(i8[256,256], [1,0])",
		"transpose_copy.int_out(f32[16,64,64], 1, 2)", "t_copy.out(f32[256,256])", "slice_copy.Tensor_out(f32[256,256], 0, 64, 192, 1)",
		"slice_copy.Tensor_out(f32[256,256], 1, 64, 192, 1)", "slice_copy.Tensor_out(f32[256,256], 1, 0, 256, 2)", "slice_copy.Tensor_out(f32[8,8], 1, 0, 4, 1)",
		"select_copy.int_out(f32[256,256], 0, 3)", "select_copy.int_out(f32[16,16,256], 1, 3)", "select_copy.int_out(f32[256,256], 1, 3)",
		"narrow_copy.out(f32[256,256], 1, 64, 128)",
		"cat.out([f32[128,256], f32[128,256]], 0)", "cat.out([f32[256,128], f32[256,128]], 1)", "cat.out([f32[4096,8], f32[4096,8]], 1)", "cat.out([f32[8], f32[8]], 0)",
		"cat.out([f16[256,128], f16[256,128]], 1)", "cat.out([f32[16384,1], f32[16384,1], f32[16384,1]], 1)",
		"stack.out([f32[256,128], f32[256,128]], 0)", "stack.out([f32[256,128], f32[256,128]], 2)", "split_copy.Tensor_out(f32[256,256], 64, 1)",
		"split_with_sizes_copy.out(f32[256,256], [64,192], 0)", "unbind_copy.int_out(f32[4,16384], 0)", "unbind_copy.int_out(f32[16384,4], 1)",
		"flip.out(f32[256,256], [1])", "flip.out(f32[256,256], [0])", "roll.out(f32[256,256], [3], [1])", "roll.out(f32[256,256], [3,5], [0,1])", "tril.out(f32[256,256], 0)", "diagonal_copy.out(f32[256,256], 0, 0, 1)",
		"as_strided_copy.out(f32[65536], [128,128], [1,256], 0)", "as_strided_copy.out(f32[65536], [128,256], [256,1], 0)", "unfold_copy.out(f32[65536], 0, 16, 8)",
		"unsqueeze_copy.out(f32[256,256], 0)", "squeeze_copy.dims_out(f32[1,256,256], [0])", "pixel_shuffle.out(f32[1,64,32,32], 2)",
		"pixel_unshuffle.out(f32[1,16,64,64], 2)", "copy.out(f32[256,256], f32[256], false)", "copy.out(f32[65536], i64[65536], false)",
	}},
	{"conversion", []string{
		"_to_copy.out(f32[65536], false, none) -> f16", "_to_copy.out(f16[65536], false, none) -> f32", "_to_copy.out(f32[65536], false, none) -> bf16",
		"_to_copy.out(bf16[65536], false, none) -> f32", "_to_copy.out(f32[65536], false, none) -> i64", "_to_copy.out(i64[65536], false, none) -> f32",
		"_to_copy.out(i64[65536], false, none) -> i32", "_to_copy.out(i32[65536], false, none) -> i64", "_to_copy.out(f32[65536], false, none) -> f64", "_to_copy.out(bool[65536], false, none) -> f32",
		"_to_copy.out(u8[65536], false, none) -> f32", "_to_copy.out(f32[65536], false, none) -> bool", "_to_copy.out(i64[65536], false, none) -> bool", "_to_copy.out(f32[65536], false, none) -> i8",
		"_to_copy.out(f16[65536], false, none) -> i64", "_to_copy.out(f32[64], false, none) -> f16",
		"dim_order_ops::_to_dim_order_copy.out(f32[65536], false, none) -> f16", "dim_order_ops::_clone_dim_order.out(f32[1,64,32,32], false, [0,1,2,3])",
	}},
	{"fill", []string{
		"full.out([256,256], 1.5) -> f32", "full.out([256,256], 3) -> i64", "full.out([64], 1.5) -> f32", "full_like.out(f32[65536], 1.5, none) -> f32", "fill.Scalar_out(f32[65536], 1.5)", "fill.Tensor_out(f32[65536], f32[])",
		"zeros.out([256,256]) -> f32", "ones.out([256,256]) -> f32", "arange.out(65536) -> i64", "arange.start_out(0, 65536, 1) -> i64", "arange.start_out(0, 65536, 1) -> f32",
		"scalar_tensor.out(1.5) -> f32", "rand.out([65536]) -> f32", "randn.out([65536]) -> f32",
	}},
	{"padding", []string{
		"constant_pad_nd.out(f32[16,64,64], [1,1,1,1], 0.0)", "constant_pad_nd.out(f32[256,256], [0,0,8,8], 0.0)", "constant_pad_nd.out(f16[16,64,64], [1,1,1,1], 0.0)",
		"constant_pad_nd.out(f32[1,64], [2,0], 0.0)", "reflection_pad1d.out(f32[16,4096], [8,8])", "reflection_pad2d.out(f32[16,64,64], [2,2,2,2])", "reflection_pad3d.out(f32[4,16,32,32], [1,1,1,1,1,1])",
		"replication_pad1d.out(f32[16,4096], [8,8])", "replication_pad2d.out(f32[16,64,64], [2,2,2,2])", "replication_pad3d.out(f32[4,16,32,32], [1,1,1,1,1,1])",
	}},
	{"sorting", []string{"topk.values(f32[256,256], 8, 1, true, true)", "topk.values(f32[65536], 64, 0, true, true)", "topk.values(f32[256,256], 256, 1, true, true)", "topk.values(i64[256,256], 8, 1, false, true)", "sort.values(f32[256,256], 1, false)", "sort.values(f32[65536], 0, false)"}},
	{"resizing", []string{
		"upsample_nearest2d.vec_out(f32[1,16,32,32], [64,64], none)", "upsample_bilinear2d.vec_out(f32[1,16,32,32], [64,64], false, none)",
		"upsample_bilinear2d.vec_out(f32[1,16,32,32], [64,64], true, none)", "upsample_bilinear2d.vec_out(f32[1,16,64,64], [40,40], false, none)",
		"_upsample_bilinear2d_aa.out(f32[1,16,64,64], [32,32], false, none, none)",
		"grid_sampler_2d.out(f32[1,16,32,32], f32[1,64,64,2]<1, 0, 0, false)", "grid_sampler_2d.out(f32[1,16,32,32], f32[1,64,64,2]<1, 1, 0, false)", "grid_sampler_2d.out(f32[1,4,32,32], f32[1,64,64,2]<1, 2, 0, false)",
	}},
	{"distance", []string{"_cdist_forward.out(f32[64,32], f32[64,32], 2.0, none)", "_cdist_forward.out(f32[64,32], f32[64,32], 1.0, none)"}},
	{"quantization", []string{
		"quantized_decomposed::quantize_per_tensor.out(f32[65536], 0.05, 3, -128, 127, 1) -> i8", "quantized_decomposed::dequantize_per_tensor.out(i8[65536], 0.05, 3, -128, 127, 1, none)",
		"quantized_decomposed::quantize_per_channel.out(f32[64,1024], f64[64]<2, i64[64]<9, 0, -128, 127, 1) -> i8",
		"quantized_decomposed::dequantize_per_channel.out(i8[64,1024], f64[64]<2, i64[64]<9, 0, -128, 127, 1, none)",
		"quantized_decomposed::dequantize_per_channel.out(i8[1024,64], f64[64]<2, i64[64]<9, 1, -128, 127, 1, none)",
		"quantized_decomposed::choose_qparams.Tensor_out(f32[65536], -128, 127, 0.0000001, 1)",
		"quantized_decomposed::embedding_byte.out(i8[1000,64], f32[1000], none, -128, 127, i64[1024]<1000)", "quantized_decomposed::embedding_4bit.out(u8[1000,32], f32[1000], none, -8, 7, i64[1024]<1000)",
	}},
	{"normalization", []string{
		"native_layer_norm.out(f32[256,256], [256], f32[256], f32[256], 0.00001)", "native_layer_norm.out(f16[256,256], [256], f16[256], f16[256], 0.00001)",
		"native_group_norm.out(f32[4,16,32,32], f32[16], f32[16], 4, 16, 1024, 4, 0.00001)",
		"_native_batch_norm_legit_no_training.out(f32[4,16,32,32], f32[16], f32[16], f32[16], f32[16]<2, 0.1, 0.00001)",
		"_softmax.out(f32[256,256], 1, false)", "_softmax.out(f32[256,256], 0, false)", "_softmax.out(f16[256,256], 1, false)", "_log_softmax.out(f32[256,256], 1, false)", "_log_softmax.out(f32[256,256], 0, false)",
	}},
	{"pooling", []string{
		"avg_pool2d.out(f32[1,16,64,64], [2,2], [2,2], [0,0], false, true, none)", "avg_pool2d.out(f32[1,16,32,32], [3,3], [1,1], [1,1], false, true, none)",
		"max_pool2d_with_indices.out(f32[1,16,64,64], [2,2], [2,2], [0,0], [1,1], false)", "max_pool2d_with_indices.out(f32[1,16,32,32], [3,3], [1,1], [1,1], [1,1], false)",
		"_adaptive_avg_pool2d.out(f32[1,64,32,32], [1,1])", "_adaptive_avg_pool2d.out(f32[1,64,32,32], [7,7])",
	}},
	{"product", []string{
		"mm.out(f32[128,128], f32[128,128])", "mm.out(f16[128,128], f16[128,128])", "mm.out(i64[64,64], i64[64,64])", "bmm.out(f32[8,64,64], f32[8,64,64])", "addmm.out(f32[128], f32[128,128], f32[128,128], 1, 1)",
		"linear.out(f32[64,256], =f32[256,256], =f32[256])", "linear.out(f32[1,256], =f32[256,256], =f32[256])",
		"convolution.out(f32[1,16,32,32], =f32[32,16,3,3], =f32[32], [1,1], [1,1], [1,1], false, [0,0], 1)",
		"convolution.out(f32[1,32,32,32], =f32[32,1,3,3], none, [1,1], [1,1], [1,1], false, [0,0], 32)",
		"convolution.out(f32[1,32,64], =f32[32,32,3], none, [1], [1], [1], false, [0], 1)",
		"convolution.out(f32[1,16,16,16], =f32[16,16,2,2], none, [2,2], [0,0], [1,1], true, [0,0], 1)",
	}},
}
