package op

// LogicalAnd is aten::logical_and.out.
var LogicalAnd = Def{
	Schema:     "aten::logical_and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::logical_and",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// LogicalOr is aten::logical_or.out.
var LogicalOr = Def{
	Schema:     "aten::logical_or.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::logical_or",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// LogicalXor is aten::logical_xor.out.
var LogicalXor = Def{
	Schema:     "aten::logical_xor.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::logical_xor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Eq is aten::eq.Tensor_out.
var Eq = Def{
	Schema:     "aten::eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::eq.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// EqScalar is aten::eq.Scalar_out.
var EqScalar = Def{
	Schema:     "aten::eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::eq.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Ne is aten::ne.Tensor_out.
var Ne = Def{
	Schema:     "aten::ne.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ne.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// NeScalar is aten::ne.Scalar_out.
var NeScalar = Def{
	Schema:     "aten::ne.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ne.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Lt is aten::lt.Tensor_out.
var Lt = Def{
	Schema:     "aten::lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::lt.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// LtScalar is aten::lt.Scalar_out.
var LtScalar = Def{
	Schema:     "aten::lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::lt.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Le is aten::le.Tensor_out.
var Le = Def{
	Schema:     "aten::le.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::le.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// LeScalar is aten::le.Scalar_out.
var LeScalar = Def{
	Schema:     "aten::le.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::le.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Gt is aten::gt.Tensor_out.
var Gt = Def{
	Schema:     "aten::gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::gt.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// GtScalar is aten::gt.Scalar_out.
var GtScalar = Def{
	Schema:     "aten::gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::gt.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Ge is aten::ge.Tensor_out.
var Ge = Def{
	Schema:     "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ge.Tensor",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// GeScalar is aten::ge.Scalar_out.
var GeScalar = Def{
	Schema:     "aten::ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ge.Scalar",
	Infer:      inferCompare,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}
