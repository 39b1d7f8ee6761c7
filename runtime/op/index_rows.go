package op

// The rows of operators that read or write where indices or masks say.
var (
	IndexTensor = Def{
		Schema:     "aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::index.Tensor", Infer: inferIndex, Tags: Core | DataDependent | Masks,
	}
	IndexPut = Def{
		Schema:     "aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::index_put", Infer: inferIndexPut, Tags: Core,
	}
	// IndexPutInPlace is aten::index_put_, whose out is its first argument.
	IndexPutInPlace = Def{
		Schema: "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
		Infer:  inferIndexPut,
	}
	IndexSelect = Def{
		Schema:     "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::index_select", Infer: inferIndexSelect, Tags: Core,
	}
	Gather = Def{
		Schema:     "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::gather", Infer: inferGather, Tags: Core,
	}
	ScatterSrc = Def{
		Schema:     "aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::scatter.src", Infer: inferScatter, Tags: Core,
	}
	ScatterValue = Def{
		Schema:     "aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::scatter.value", Infer: inferScatterValue, Tags: Core,
	}
	ScatterAdd = Def{
		Schema:     "aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::scatter_add", Infer: inferScatter, Tags: Core,
	}
	Embedding = Def{
		Schema:     "aten::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::embedding", Infer: inferEmbedding, Tags: Core,
	}
	MaskedFillScalar = Def{
		Schema:     "aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::masked_fill.Scalar", Infer: inferMaskedFill,
	}
	MaskedSelect = Def{
		Schema:     "aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::masked_select", Infer: inferMaskedSelect, Tags: DataDependent,
	}
	MaskedScatter = Def{
		Schema:     "aten::masked_scatter.out(Tensor self, Tensor mask, Tensor source, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::masked_scatter", Infer: inferMaskedScatter, Tags: Core,
	}
	Nonzero = Def{
		Schema:     "aten::nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::nonzero", Infer: inferNonzero, Tags: Core | DataDependent,
	}
	Topk = Def{
		Schema:     "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::topk", Infer: inferTopk, Tags: Core,
	}
	Sort = Def{
		Schema:     "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::sort", Infer: inferSort, Tags: Core | Extension,
	}
	SortStable = Def{
		Schema:     "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::sort.stable", Infer: inferSortStable, Tags: Extension,
	}
)
