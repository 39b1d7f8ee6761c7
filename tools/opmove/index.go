package main

// indexing lists the kernels of operators that read or write where indices or masks say.
var indexing = file{"zkernels_index.go", []kernel{
	moves("IndexTensor", "runIndex"),
	numbers("IndexPut", all, "runIndexPut"),
	numbers("IndexPutInPlace", all, "runIndexPut"),
	moves("IndexSelect", "runIndexSelect"),
	moves("Gather", "runGather"),
	moves("ScatterSrc", "runScatter"),
	numbers("ScatterValue", all, "runScatterValue"),
	numbers("ScatterAdd", all, "runScatterAdd"),
	moves("Embedding", "runEmbedding"),
	numbers("MaskedFillScalar", all, "runMaskedFill"),
	moves("MaskedSelect", "runMaskedSelect"),
	moves("MaskedScatter", "runMaskedScatter"),
	numbers("Nonzero", all, "runNonzero"),
	numbers("Topk", all, "runTopk"),
	numbers("Sort", all, "runSort"),
	numbers("SortStable", all, "runSortStable"),
	numbers("ScatterReduce", all, "runScatterReduce"),
	numbers("Cummax", all, "runCummax"),
	numbers("Cummin", all, "runCummin"),
	numbers("Logcumsumexp", floats, "runLogcumsumexp"),
	numbers("Unique2", all+" u16 u32 u64", "runUnique2"),
	numbers("UniqueDim", all, "runUniqueDim"),
	numbers("UniqueConsecutive", all, "runUniqueConsecutive"),
	numbers("Bincount", ints, "runBincount"),
	numbers("FrexpTensor", floats, "runFrexp"),
	numbers("Kthvalue", real, "runKthvalue"),
	numbers("Mode", all, "runMode"),
	numbers("MedianDim", real, "runMedian"),
	numbers("NanmedianDim", real, "runNanmedian"),
	numbers("SearchSorted", all, "runSearchSorted"),
}}

func init() { files = append(files, indexing) }
