package op

// Acos is aten::acos.out.
var Acos = Def{
	Schema:     "aten::acos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::acos",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Acosh is aten::acosh.out.
var Acosh = Def{
	Schema:     "aten::acosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::acosh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Asin is aten::asin.out.
var Asin = Def{
	Schema:     "aten::asin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::asin",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Asinh is aten::asinh.out.
var Asinh = Def{
	Schema:     "aten::asinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::asinh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Atan is aten::atan.out.
var Atan = Def{
	Schema:     "aten::atan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::atan",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Atanh is aten::atanh.out.
var Atanh = Def{
	Schema:     "aten::atanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::atanh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Cos is aten::cos.out.
var Cos = Def{
	Schema:     "aten::cos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::cos",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Cosh is aten::cosh.out.
var Cosh = Def{
	Schema:     "aten::cosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::cosh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Erf is aten::erf.out.
var Erf = Def{
	Schema:     "aten::erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::erf",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Exp is aten::exp.out.
var Exp = Def{
	Schema:     "aten::exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::exp",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Expm1 is aten::expm1.out.
var Expm1 = Def{
	Schema:     "aten::expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::expm1",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Log is aten::log.out.
var Log = Def{
	Schema:     "aten::log.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::log",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Log10 is aten::log10.out.
var Log10 = Def{
	Schema:     "aten::log10.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::log10",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Log1p is aten::log1p.out.
var Log1p = Def{
	Schema:     "aten::log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::log1p",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Log2 is aten::log2.out.
var Log2 = Def{
	Schema:     "aten::log2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::log2",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Reciprocal is aten::reciprocal.out.
var Reciprocal = Def{
	Schema:     "aten::reciprocal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::reciprocal",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Rsqrt is aten::rsqrt.out.
var Rsqrt = Def{
	Schema:     "aten::rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::rsqrt",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Sigmoid is aten::sigmoid.out.
var Sigmoid = Def{
	Schema:     "aten::sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sigmoid",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Sin is aten::sin.out.
var Sin = Def{
	Schema:     "aten::sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sin",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Sinh is aten::sinh.out.
var Sinh = Def{
	Schema:     "aten::sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sinh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Sqrt is aten::sqrt.out.
var Sqrt = Def{
	Schema:     "aten::sqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sqrt",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Tan is aten::tan.out.
var Tan = Def{
	Schema:     "aten::tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::tan",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Tanh is aten::tanh.out.
var Tanh = Def{
	Schema:     "aten::tanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::tanh",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Core | Pointwise,
}

// Exp2 is aten::exp2.out.
var Exp2 = Def{
	Schema:     "aten::exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::exp2",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Pointwise | Extension,
}

// Erfc is aten::erfc.out.
var Erfc = Def{
	Schema:     "aten::erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::erfc",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Pointwise | Extension,
}

// Abs is aten::abs.out.
var Abs = Def{
	Schema:     "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::abs",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Neg is aten::neg.out.
var Neg = Def{
	Schema:     "aten::neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::neg",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Relu is aten::relu.out.
var Relu = Def{
	Schema:     "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::relu",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Ceil is aten::ceil.out.
var Ceil = Def{
	Schema:     "aten::ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ceil",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Floor is aten::floor.out.
var Floor = Def{
	Schema:     "aten::floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::floor",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Round is aten::round.out.
var Round = Def{
	Schema:     "aten::round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::round",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Trunc is aten::trunc.out.
var Trunc = Def{
	Schema:     "aten::trunc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::trunc",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Sign is aten::sign.out.
var Sign = Def{
	Schema:     "aten::sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sign",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// BitwiseNot is aten::bitwise_not.out.
var BitwiseNot = Def{
	Schema:     "aten::bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_not",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// LogicalNot is aten::logical_not.out.
var LogicalNot = Def{
	Schema:     "aten::logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::logical_not",
	Infer:      inferLikeBool,
	Tags:       Core | Pointwise,
}

// Isnan is aten::isnan.out.
var Isnan = Def{
	Schema:     "aten::isnan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::isnan",
	Infer:      inferLikeBool,
	Tags:       Core | Pointwise,
}

// Isinf is aten::isinf.out.
var Isinf = Def{
	Schema:     "aten::isinf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::isinf",
	Infer:      inferLikeBool,
	Tags:       Core | Pointwise,
}

// Gelu is aten::gelu.out.
var Gelu = Def{
	Schema:     `aten::gelu.out(Tensor self, *, str approximate="none", Tensor(a!) out) -> Tensor(a!)`,
	Functional: "aten::gelu",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Hardtanh is aten::hardtanh.out.
var Hardtanh = Def{
	Schema:     "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::hardtanh",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Elu is aten::elu.out.
var Elu = Def{
	Schema:     "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::elu",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// LeakyRelu is aten::leaky_relu.out.
var LeakyRelu = Def{
	Schema:     "aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::leaky_relu",
	Infer:      inferLike,
	Tags:       Core | Pointwise,
}

// Logit is aten::logit.out.
var Logit = Def{
	Schema:     "aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::logit",
	Infer:      inferLikeFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b1,
	Tags:       Pointwise,
}

// Glu is aten::glu.out.
var Glu = Def{
	Schema:     "aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::glu",
	Infer:      inferGlu,
}

// Clamp is aten::clamp.out.
var Clamp = Def{
	Schema:     "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::clamp",
	Infer:      inferClamp,
	Key:        KeyPromote,
	KeyArgs:    0b111,
	Tags:       Core | Pointwise,
}

// ClampTensor is aten::clamp.Tensor_out.
var ClampTensor = Def{
	Schema:     "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::clamp.Tensor",
	Infer:      inferClamp,
	Key:        KeyPromote,
	KeyArgs:    0b111,
	Tags:       Core | Pointwise,
}

// WhereSelf is aten::where.self_out.
var WhereSelf = Def{
	Schema:     "aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::where.self",
	Infer:      inferWhere,
	Key:        KeyPromote,
	KeyArgs:    0b110,
	Tags:       Core | Pointwise,
}
