package op

// The rows of operators that join, part, repeat and place tensors.
var (
	Cat = Def{
		Schema:     "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::cat", Infer: inferCat, Key: KeyPromote, KeyArgs: 1, Tags: Core | Ordered,
	}
	Stack = Def{
		Schema:     "aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::stack", Infer: inferStack, Key: KeyPromote, KeyArgs: 1,
	}
	SplitCopy = Def{
		Schema:     "aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
		Functional: "aten::split_copy.Tensor", Infer: inferSplit,
	}
	SplitWithSizesCopy = Def{
		Schema:     "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()",
		Functional: "aten::split_with_sizes_copy", Infer: inferSplitSizes,
	}
	UnbindCopy = Def{
		Schema: "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()",
		Infer:  inferUnbind,
	}
	Repeat = Def{
		Schema:     "aten::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::repeat", Infer: inferRepeat, Tags: Core,
	}
	SliceScatter = Def{
		Schema:     "aten::slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::slice_scatter", Infer: inferSliceScatter, Tags: Core,
	}
	SelectScatter = Def{
		Schema:     "aten::select_scatter.out(Tensor self, Tensor src, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::select_scatter", Infer: inferSelectScatter, Tags: Core,
	}
)

// The rows of operators that pad.
var (
	ConstantPadNd = Def{
		Schema:     "aten::constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::constant_pad_nd", Infer: inferConstantPad, Tags: Core | Ordered,
	}
	ReflectionPad1d = Def{
		Schema:     "aten::reflection_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::reflection_pad1d", Infer: inferReflectionPad1d, Tags: Core,
	}
	ReflectionPad2d = Def{
		Schema:     "aten::reflection_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::reflection_pad2d", Infer: inferReflectionPad2d, Tags: Core,
	}
	ReflectionPad3d = Def{
		Schema:     "aten::reflection_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::reflection_pad3d", Infer: inferReflectionPad3d, Tags: Core,
	}
	ReplicationPad1d = Def{
		Schema:     "aten::replication_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::replication_pad1d", Infer: inferReplicationPad1d,
	}
	ReplicationPad2d = Def{
		Schema:     "aten::replication_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::replication_pad2d", Infer: inferReplicationPad2d, Tags: Core,
	}
	ReplicationPad3d = Def{
		Schema:     "aten::replication_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::replication_pad3d", Infer: inferReplicationPad3d, Tags: Core,
	}
)
