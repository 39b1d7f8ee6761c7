package op

// ToCopy is aten::_to_copy.out.
var ToCopy = Def{
	Schema:     "aten::_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::_to_copy",
	Infer:      inferToCopy,
	Tags:       Core | Copies,
}

// Clone is aten::clone.out.
var Clone = Def{
	Schema:     "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::clone",
	Infer:      inferClone,
	Tags:       Core | Copies,
}

// Copy is aten::copy.out.
var Copy = Def{
	Schema:     "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::copy",
	Infer:      inferLike,
	Tags:       Core,
}

// Lift is aten::lift.out.
var Lift = Def{
	Schema:     "aten::lift.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::lift",
	Infer:      inferLike,
	Tags:       Extension,
}

// LiftFreshCopy is aten::lift_fresh_copy.out.
var LiftFreshCopy = Def{
	Schema:     "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::lift_fresh_copy",
	Infer:      inferLike,
}

// AliasCopy is aten::alias_copy.out.
var AliasCopy = Def{
	Schema:     "aten::alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::alias_copy",
	Infer:      inferLike,
}

// DetachCopy is aten::detach_copy.out.
var DetachCopy = Def{
	Schema:     "aten::detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::detach_copy",
	Infer:      inferLike,
}

// ToDimOrderCopy is dim_order_ops::_to_dim_order_copy.out.
var ToDimOrderCopy = Def{
	Schema:     "dim_order_ops::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "dim_order_ops::_to_dim_order_copy",
	Infer:      inferToDimOrder,
	Tags:       Copies,
}

// CloneDimOrder is dim_order_ops::_clone_dim_order.out.
var CloneDimOrder = Def{
	Schema:     "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
	Functional: "dim_order_ops::_clone_dim_order",
	Infer:      inferCloneDimOrder,
	Tags:       Copies,
}

// CopyInPlace is aten::copy_, whose out is its first argument.
var CopyInPlace = Def{
	Schema: "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
	Infer:  inferCopyInPlace,
}
