package op

// SumIntList is aten::sum.IntList_out.
var SumIntList = Def{
	Schema:     "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sum.dim_IntList",
	Infer:      inferSum,
	Tags:       Core,
}

// Mean is aten::mean.out.
var Mean = Def{
	Schema:     "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::mean.dim",
	Infer:      inferMean,
	Tags:       Core,
}

// MeanDtype is aten::mean.dtype_out.
var MeanDtype = Def{
	Schema:     "aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::mean",
	Infer:      inferMeanAll,
	Tags:       Core,
}

// ProdInt is aten::prod.int_out.
var ProdInt = Def{
	Schema:     "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::prod.dim_int",
	Infer:      inferSum,
	Tags:       Core,
}

// Prod is aten::prod.out.
var Prod = Def{
	Schema:     "aten::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::prod",
	Infer:      inferSumAll,
	Tags:       Core,
}

// Amax is aten::amax.out.
var Amax = Def{
	Schema:     "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::amax",
	Infer:      inferAmax,
	Tags:       Core,
}

// Amin is aten::amin.out.
var Amin = Def{
	Schema:     "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::amin",
	Infer:      inferAmax,
	Tags:       Core,
}

// Any is aten::any.out.
var Any = Def{
	Schema:     "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::any.dim",
	Infer:      inferAny,
	Tags:       Core,
}

// AnyDims is aten::any.dims_out.
var AnyDims = Def{
	Schema:     "aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::any.dims",
	Infer:      inferAny,
	Tags:       Core,
}

// AnyAll is aten::any.all_out.
var AnyAll = Def{
	Schema:     "aten::any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::any",
	Infer:      inferAnyAll,
	Tags:       Core,
}

// All is aten::all.out.
var All = Def{
	Schema: "aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Infer:  inferAny,
	Tags:   Extension,
}

// AllDims is aten::all.dims_out.
var AllDims = Def{
	Schema: "aten::all.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Infer:  inferAny,
	Tags:   Extension,
}

// AllAll is aten::all.all_out.
var AllAll = Def{
	Schema: "aten::all.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Infer:  inferAnyAll,
	Tags:   Extension,
}

// Argmax is aten::argmax.out.
var Argmax = Def{
	Schema:     "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::argmax",
	Infer:      inferArgmax,
	Tags:       Core,
}

// Argmin is aten::argmin.out.
var Argmin = Def{
	Schema:     "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::argmin",
	Infer:      inferArgmax,
	Tags:       Core,
}

// MaxDim is aten::max.dim_max.
var MaxDim = Def{
	Schema:     "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
	Functional: "aten::max.dim",
	Infer:      inferMaxDim,
	Tags:       Core,
}

// MinDim is aten::min.dim_min.
var MinDim = Def{
	Schema:     "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)",
	Functional: "aten::min.dim",
	Infer:      inferMaxDim,
	Tags:       Core,
}

// MaxUnary is aten::max.unary_out.
var MaxUnary = Def{
	Schema:     "aten::max.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::max",
	Infer:      inferMaxAll,
}

// MinUnary is aten::min.unary_out.
var MinUnary = Def{
	Schema:     "aten::min.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::min",
	Infer:      inferMaxAll,
}

// VarCorrection is aten::var.correction_out.
var VarCorrection = Def{
	Schema:     "aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::var.correction",
	Infer:      inferVar,
	Tags:       Core,
}

// Var is aten::var.out.
var Var = Def{
	Schema:     "aten::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::var.dim",
	Infer:      inferVar,
	Tags:       Core,
}

// VarMeanCorrection is aten::var_mean.correction_out.
var VarMeanCorrection = Def{
	Schema:     "aten::var_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
	Functional: "aten::var_mean.correction",
	Infer:      inferVar,
}

// Cumsum is aten::cumsum.out.
var Cumsum = Def{
	Schema:     "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::cumsum",
	Infer:      inferCumsum,
	Tags:       Core,
}

// Cumprod is aten::cumprod.out.
var Cumprod = Def{
	Schema:     "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::cumprod",
	Infer:      inferCumsum,
	Tags:       Extension,
}

// Softmax is aten::_softmax.out.
var Softmax = Def{
	Schema:     "aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::_softmax",
	Infer:      inferSoftmax,
	Tags:       Core,
}

// LogSoftmax is aten::_log_softmax.out.
var LogSoftmax = Def{
	Schema:     "aten::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::_log_softmax",
	Infer:      inferSoftmax,
	Tags:       Core,
}
