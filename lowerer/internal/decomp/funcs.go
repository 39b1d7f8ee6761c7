package decomp

import "github.com/rules-pte/rules_pte/lowerer/exir"

// funcs are the composites that a line of rules cannot express.
var funcs map[string]func(c *call) []*exir.Value

func init() {
	funcs = map[string]func(c *call) []*exir.Value{"aten::matmul": matmulOp, "aten::mv": mv, "aten::addmv": addmv,
		"aten::dot": dot, "aten::vdot": dot, "aten::inner": inner, "aten::outer": outer, "aten::ger": outer,
		"aten::baddbmm": baddbmm, "aten::einsum": einsum, "aten::addr": addr, "aten::linalg_multi_dot": multiDot, "aten::chain_matmul": multiDot,
		"aten::scaled_dot_product_attention": attention,
		"aten::linalg_matrix_norm":           matrixNorm, "aten::linalg_matrix_norm.str_ord": matrixNorm,
		"aten::matrix_power": matrixPower, "aten::linalg_matrix_power": matrixPower,

		"aten::conv1d": conv, "aten::conv2d": conv, "aten::conv3d": conv,
		"aten::conv1d.padding": convPadded, "aten::conv2d.padding": convPadded, "aten::conv3d.padding": convPadded,
		"aten::conv_transpose1d": convTransposed, "aten::conv_transpose2d.input": convTransposed,
		"aten::conv_transpose3d.input": convTransposed,

		"aten::batch_norm": batchNorm, "aten::instance_norm": instanceNorm, "aten::layer_norm": layerNorm,
		"aten::group_norm": groupNorm, "aten::rms_norm": rmsNorm, "aten::_fused_rms_norm": rmsNorm,

		"aten::max_pool1d": maxPool, "aten::max_pool2d": maxPool, "aten::max_pool3d": maxPool,
		"aten::max_pool1d_with_indices": maxPool, "aten::avg_pool1d": avgPool1d,
		"aten::adaptive_avg_pool1d": adaptiveAvgPool, "aten::adaptive_avg_pool2d": adaptiveAvgPool,
		"aten::adaptive_avg_pool3d": adaptiveAvgPool, "aten::adaptive_max_pool1d": adaptiveMaxPool1d,

		"aten::pad": pad, "aten::rot90": rot90, "aten::meshgrid": meshgrid, "aten::meshgrid.indexing": meshgrid,
		"aten::take_along_dim": takeAlongDim, "aten::diag": diagonal, "aten::diag_embed": diagEmbed,
		"aten::diagonal_scatter": diagonalScatter, "aten::nonzero_numpy": nonzeroNumpy, "aten::where": nonzeroNumpy,
		"aten::broadcast_tensors": broadcastTensors, "aten::im2col": im2col,
		"aten::grid_sampler": gridSampler, "aten::affine_grid_generator": affineGrid,
		"aten::upsample_nearest1d.vec": resampleLine, "aten::upsample_nearest1d": resampleLine,
		"aten::upsample_linear1d.vec": resampleLine, "aten::upsample_linear1d": resampleLine,
		"aten::upsample_nearest2d": resampleImage, "aten::upsample_bilinear2d": resampleImage,
		"aten::upsample_nearest3d.vec": resample, "aten::upsample_trilinear3d.vec": resample, "aten::upsample_bicubic2d.vec": resample,
		"aten::_upsample_nearest_exact1d.vec": resample, "aten::_upsample_nearest_exact2d.vec": resample,
		"aten::_upsample_nearest_exact3d.vec": resample, "aten::_upsample_bilinear2d_aa.vec": resample,
		"aten::_upsample_bicubic2d_aa.vec": resample, "aten::unbind_copy.int": unbindCopy,

		"torchao::dequantize_affine": dequantizeAffine, "torchao::quantize_affine": quantizeAffine,
		"torchao::choose_qparams_affine": chooseAffine,

		"aten::column_stack": columnStack, "aten::pad_sequence": padSequence, "aten::tensordot": tensordot, "aten::kron": kron, "aten::block_diag": blockDiag, "aten::combinations": combinations,
		"aten::cross": cross, "aten::sum_to_size": sumToSize, "aten::resize": resized, "aten::resize_as": resized,
		"aten::_chunk_cat": chunkCat, "aten::fft_fftshift": fftShift, "aten::fft_ifftshift": fftShift, "aten::addbmm": addbmm,
		"aten::max_unpool2d": unpool, "aten::max_unpool3d": unpool, "aten::max_pool2d_with_indices_backward": maxPoolBackward,
		"aten::_unsafe_masked_index": maskedIndex, "aten::_unsafe_masked_index_put_accumulate": maskedIndexPut,
		"aten::linalg_vander": vander, "aten::nonzero_static": nonzeroStatic,
		"aten::pdist": pairDistances, "aten::_pdist_forward": pairDistances,
		"aten::repeat_interleave.self_Tensor": repeatRows,

		"aten::quantile": quantile, "aten::quantile.scalar": quantile, "aten::nanquantile": quantile, "aten::nanquantile.scalar": quantile,
		"aten::gradient.array": gradient, "aten::gradient.scalararray": gradient, "aten::gradient.scalarint": gradient,
		"aten::gradient.scalarrayarray": gradient, "aten::gradient.scalarrayint": gradient,
		"aten::gradient.tensorarray": gradient, "aten::gradient.tensorarrayint": gradient,
		"aten::linspace.Scalar_Tensor": linspaceOf, "aten::linspace.Tensor_Scalar": linspaceOf, "aten::linspace.Tensor_Tensor": linspaceOf,
		"aten::logspace.Scalar_Tensor": linspaceOf, "aten::logspace.Tensor_Scalar": linspaceOf, "aten::logspace.Tensor_Tensor": linspaceOf,

		"aten::histc": histc, "aten::histogram.bin_ct": histogram, "aten::histogram.bins_tensor": histogram,
		"aten::histogramdd": histogram, "aten::histogramdd.TensorList_bins": histogram, "aten::histogramdd.int_bins": histogram,
		"aten::segment_reduce": segmentReduce, "aten::embedding_bag": embeddingBag, "aten::embedding_bag.padding_idx": embeddingBag,
		"aten::_embedding_bag": embeddingBag, "aten::_embedding_bag_forward_only": embeddingBag,

		"aten::range": inclusiveRange, "aten::range.step": inclusiveRange, "aten::linspace": linspace, "aten::logspace": linspace, "aten::eye": eye, "aten::eye.m": eye,
		"aten::tril_indices": triangleIndices, "aten::triu_indices": triangleIndices,
		"aten::hann_window": window, "aten::hann_window.periodic": window,
		"aten::hamming_window": window, "aten::hamming_window.periodic": window,
		"aten::hamming_window.periodic_alpha": window, "aten::hamming_window.periodic_alpha_beta": window,
		"aten::bartlett_window": window, "aten::bartlett_window.periodic": window,
		"aten::blackman_window": window, "aten::blackman_window.periodic": window,
		"aten::kaiser_window": kaiserWindow, "aten::kaiser_window.periodic": kaiserWindow, "aten::kaiser_window.beta": kaiserWindow,

		"aten::lstm.input": lstm, "aten::lstm_cell": lstmCell, "aten::gru.input": gru, "aten::gru_cell": gruCell,
		"aten::rnn_tanh.input": rnn, "aten::rnn_relu.input": rnn, "aten::rnn_tanh_cell": rnnCell, "aten::rnn_relu_cell": rnnCell,
	}
}

// refined are operators that have a row and that, with some arguments, others express as well which more runtimes have.
// The function gives nil to keep the row.
var refined = map[string]func(c *call) []*exir.Value{
	"aten::scatter_reduce.two": refineScatter, "aten::adaptive_max_pool2d": refineAdaptiveMaxPool,
}
