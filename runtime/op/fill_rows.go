package op

// Full is aten::full.out.
var Full = Def{
	Schema:     "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::full",
	Infer:      inferFull,
	Key:        KeyOut,
	Tags:       Core,
}

// FullLike is aten::full_like.out.
var FullLike = Def{
	Schema:     "aten::full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::full_like",
	Infer:      inferFullLike,
	Key:        KeyOut,
	Tags:       Core,
}

// FillScalar is aten::fill.Scalar_out.
var FillScalar = Def{
	Schema:     "aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::fill.Scalar",
	Infer:      inferLike,
	Tags:       Core,
}

// FillTensor is aten::fill.Tensor_out.
var FillTensor = Def{
	Schema:     "aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::fill.Tensor",
	Infer:      inferLike,
}

// Zeros is aten::zeros.out.
var Zeros = Def{
	Schema:     "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::zeros",
	Infer:      inferZeros,
	Key:        KeyOut,
}

// Ones is aten::ones.out.
var Ones = Def{
	Schema:     "aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::ones",
	Infer:      inferZeros,
	Key:        KeyOut,
}

// Empty is aten::empty.out.
var Empty = Def{
	Schema:     "aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::empty.memory_format",
	Infer:      inferEmpty,
	Key:        KeyOut,
	Tags:       Core,
}

// EmptyDimOrder is dim_order_ops::_empty_dim_order.out.
var EmptyDimOrder = Def{
	Schema:     "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "dim_order_ops::_empty_dim_order",
	Infer:      inferEmptyDimOrder,
	Key:        KeyOut,
}

// ScalarTensor is aten::scalar_tensor.out.
var ScalarTensor = Def{
	Schema:     "aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::scalar_tensor",
	Infer:      inferScalarTensor,
	Key:        KeyOut,
	Tags:       Core,
}

// Arange is aten::arange.out.
var Arange = Def{
	Schema:     "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::arange",
	Infer:      inferArange,
	Key:        KeyOut,
}

// ArangeStart is aten::arange.start_out.
var ArangeStart = Def{
	Schema:     "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::arange.start_step",
	Infer:      inferArangeStart,
	Key:        KeyOut,
	Tags:       Core,
}
