package main

// elementTypes has for each short name the ScalarType, the Go type of its numbers and that of its bits.
var elementTypes = map[string]struct{ scalar, number, word string }{
	"f32": {"Float", "float32", "uint32"}, "f64": {"Double", "float64", "uint64"},
	"f16": {"Half", "float32", "uint16"}, "bf16": {"BFloat16", "float32", "uint16"},
	"i64": {"Long", "int64", "uint64"}, "i32": {"Int", "int32", "uint32"}, "i16": {"Short", "int16", "uint16"},
	"i8": {"Char", "int8", "uint8"}, "u8": {"Byte", "uint8", "uint8"}, "bool": {"Bool", "uint8", "uint8"},
	"u16": {"UInt16", "uint16", "uint16"}, "u32": {"UInt32", "uint32", "uint32"}, "u64": {"UInt64", "uint64", "uint64"},
}

// Sets of element types.
const (
	floats = "f32 f64 f16 bf16"
	ints   = "i64 i32 i16 i8 u8"
	real   = floats + " " + ints
	all    = real + " bool"
	every  = all + " u16 u32 u64"
)

// file is a generated file.
type file struct {
	name    string
	kernels []kernel
}

// kernel is a family of kernels of one operator; $T in run and prepare stands for the Go type.
type kernel struct {
	def, types   string
	words        bool // run on bits, one instance for each element size
	run, prepare string
	attention    string // what Kernel.Attention is in f32
	// weights is the argument that stays in f16 and bf16, where run and prepare have functions with these names and Half; or 0
	weights int
	// keep has bits for the arguments that stay in f16 and bf16, where run takes them so, too.
	keep uint8
}

func moves(def, run string) kernel {
	return kernel{def: def, types: every, words: true, run: run + "[$T]"}
}

func numbers(def, types, run string) kernel {
	return kernel{def: def, types: types, run: run + "[$T]"}
}

func prepared(def, types, run, prepare string) kernel {
	return kernel{def: def, types: types, run: run + "[$T]", prepare: prepare + "[$T]"}
}

func weighted(def, run, prepare string, weights int) kernel {
	k := prepared(def, real, run, prepare)
	k.weights = weights
	return k
}

var files = []file{
	{"zkernels_pool.go", []kernel{
		numbers("MaxPool2dWithIndices", real, "runMaxPool2d"),
		numbers("MaxPool3dWithIndices", real, "runMaxPool3d"),
		numbers("AvgPool2d", floats+" i64", "runAvgPool2d"),
		numbers("AvgPool3d", floats+" i64", "runAvgPool3d"),
		numbers("AdaptiveAvgPool2d", floats, "runAdaptiveAvgPool2d"),
		numbers("AdaptiveAvgPool3d", floats, "runAdaptiveAvgPool3d"),
		numbers("AdaptiveMaxPool2d", real, "runAdaptiveMaxPool2d"),
		numbers("AdaptiveMaxPool3d", real, "runAdaptiveMaxPool3d"),
		numbers("FractionalMaxPool2d", floats, "runFractionalMaxPool2d"),
		numbers("FractionalMaxPool3d", floats, "runFractionalMaxPool3d"),
		numbers("NativeLayerNorm", floats, "runLayerNorm"),
		numbers("NativeGroupNorm", floats, "runGroupNorm"),
		numbers("NativeBatchNormLegitNoTraining", floats, "runBatchNorm"),
		numbers("NativeBatchNormLegitNoStats", floats, "runBatchNormNoStats"),
	}},
	{"zkernels_views.go", []kernel{
		moves("ViewCopy", "runView"),
		moves("PermuteCopy", "runPermute"),
		moves("TransposeCopy", "runTranspose"),
		moves("TCopy", "runT"),
		moves("ExpandCopy", "runExpand"),
		moves("UnsqueezeCopy", "runView"),
		moves("SqueezeCopyDim", "runView"),
		moves("SqueezeCopyDims", "runView"),
		moves("SliceCopy", "runSlice"),
		moves("SelectCopy", "runSelect"),
		moves("NarrowCopy", "runNarrow"),
		moves("DiagonalCopy", "runDiagonal"),
		moves("UnfoldCopy", "runUnfold"),
		moves("AsStridedCopy", "runAsStrided"),
		moves("ViewCopyDtype", "runViewDtype"),
		moves("Flip", "runFlip"),
	}},
	{"zkernels_matmul.go", []kernel{
		weighted("Mm", "runMm", "prepareMm", 1),
		{def: "Bmm", types: real, run: "runBmm[$T]", attention: "runAttention"},
		weighted("Addmm", "runAddmm", "prepareAddmm", 2),
		weighted("Linear", "runLinear", "prepareLinear", 1),
		prepared("Convolution", real, "runConvolution", "prepareConvolution"),
		{def: "CustomSdpa", types: "f32 f16 bf16", run: "runCustomSdpa", keep: 1<<1 | 1<<2},
		{def: "CustomQuantizedSdpa", types: "i8", run: "runCustomQuantizedSdpa"},
		numbers("FastHadamardTransform", "f32 f64 f16", "runHadamard"),
		{def: "GatedDeltaRule", types: "f32", run: "runGatedDeltaRule"},
		{def: "ChannelwiseGatedDeltaRule", types: "f32", run: "runGatedDeltaRule"},
		{def: "SdpaWithKvCache", types: "f32 f16 bf16", run: "runSdpaWithKvCache"},
		moves("UpdateCache", "runUpdateCache"),
		moves("UpdateCacheWithIndices", "runUpdateCache"),
	}},
}
