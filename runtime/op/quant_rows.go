package op

// QuantizePerTensor is quantized_decomposed::quantize_per_tensor.out.
var QuantizePerTensor = Def{
	Schema:     "quantized_decomposed::quantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::quantize_per_tensor",
	Infer:      inferQuantize,
}

// QuantizePerTensorTensor is quantized_decomposed::quantize_per_tensor.Tensor_out.
var QuantizePerTensorTensor = Def{
	Schema:     "quantized_decomposed::quantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::quantize_per_tensor.tensor",
	Infer:      inferQuantize,
}

// QuantizePerChannel is quantized_decomposed::quantize_per_channel.out.
var QuantizePerChannel = Def{
	Schema:     "quantized_decomposed::quantize_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::quantize_per_channel",
	Infer:      inferQuantizeChannel,
}

// DequantizePerTensor is quantized_decomposed::dequantize_per_tensor.out.
var DequantizePerTensor = Def{
	Schema:     "quantized_decomposed::dequantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::dequantize_per_tensor",
	Infer:      inferDequantize,
}

// DequantizePerTensorTensor is quantized_decomposed::dequantize_per_tensor.Tensor_out.
var DequantizePerTensorTensor = Def{
	Schema:     "quantized_decomposed::dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::dequantize_per_tensor.tensor",
	Infer:      inferDequantize,
}

// DequantizePerChannel is quantized_decomposed::dequantize_per_channel.out.
var DequantizePerChannel = Def{
	Schema:     "quantized_decomposed::dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::dequantize_per_channel",
	Infer:      inferDequantizeChannel,
}

// ChooseQparams is quantized_decomposed::choose_qparams.Tensor_out.
var ChooseQparams = Def{
	Schema:     "quantized_decomposed::choose_qparams.Tensor_out(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))",
	Functional: "quantized_decomposed::choose_qparams.tensor",
	Infer:      inferChooseQparams,
}

// QuantizePerToken is quantized_decomposed::quantize_per_token.out.
var QuantizePerToken = Def{
	Schema:     "quantized_decomposed::quantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::quantize_per_token",
	Infer:      inferQuantizeToken,
}

// DequantizePerToken is quantized_decomposed::dequantize_per_token.out.
var DequantizePerToken = Def{
	Schema:     "quantized_decomposed::dequantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "quantized_decomposed::dequantize_per_token",
	Infer:      inferDequantizeToken,
}

// ChooseQparamsPerToken is quantized_decomposed::choose_qparams_per_token_asymmetric.out.
var ChooseQparamsPerToken = Def{
	Schema:     "quantized_decomposed::choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))",
	Functional: "quantized_decomposed::choose_qparams_per_token_asymmetric",
	Infer:      inferChooseQparamsToken,
}
