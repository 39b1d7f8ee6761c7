// Package blob reads and writes the payloads of the XNNPACK delegate, versions XN00 and XN01.
package blob

//go:generate go run ../../../tools/fbs -schema schema/xnnpack.fbs -verify zverify.go -package blob

import "math"

// InvalidID is XNN_INVALID_VALUE_ID: no value, or no external id.
const InvalidID = math.MaxUint32

// The limits of the official runtime.
const (
	MaxRank    = 6
	MaxExterns = 4096
)

// The identifiers of a graph.
const (
	XN00 = "XN00"
	XN01 = "XN01"
)

// Graph is a delegated graph. Names and meaning are schema/xnnpack.fbs's.
type Graph struct {
	// Identifier is XN00 or XN01.
	Identifier string
	Version    string
	Values     []Value
	// Nodes are in the order of execution.
	Nodes      []Node
	NumExterns uint32
	// Inputs and Outputs are ids of values; argument k of the delegate is the one with External k.
	Inputs, Outputs []uint32
	// Constants by index; entry 0 is a placeholder.
	Constants []Constant
}

// Constant is the bytes of a constant: those of named data Key if that is not "", else Data.
type Constant struct {
	Key  string
	Size uint64
	Data []byte
}

// DataType is an XNNDatatype.
type DataType int16

// The data types.
const (
	InvalidType DataType = iota
	FP32
	FP16
	QInt8
	QUint8
	QInt32
	QCInt8
	QCInt32
	QCInt4
	QDInt8
	QBInt4
	QPInt8
	Int32
	PFP32
	BF16
	numTypes
)

// typeInfo is the bits of an element and the quantization that a type has.
type typeInfo struct {
	name  string
	bits  uint8
	quant QuantKind
}

var typeInfos = [numTypes]typeInfo{
	InvalidType: {"invalid", 0, NoQuant},
	FP32:        {"fp32", 32, NoQuant}, FP16: {"fp16", 16, NoQuant}, BF16: {"bf16", 16, NoQuant}, PFP32: {"pfp32", 32, NoQuant},
	Int32: {"int32", 32, NoQuant}, QInt8: {"qint8", 8, PerTensor}, QUint8: {"quint8", 8, PerTensor},
	QInt32: {"qint32", 32, PerTensor}, QCInt8: {"qcint8", 8, PerChannel}, QCInt32: {"qcint32", 32, PerChannel},
	QCInt4: {"qcint4", 4, PerChannel}, QBInt4: {"qbint4", 4, PerGroup}, QDInt8: {"qdint8", 8, PerToken}, QPInt8: {"qpint8", 8, NoQuant},
}

// String is XNNPACK's name without its prefix, such as "qcint8".
func (t DataType) String() string {
	if t < 0 || t >= numTypes {
		return "unknown"
	}
	return typeInfos[t].name
}

// Bits is the bits of an element.
func (t DataType) Bits() int { return int(typeInfos[t].bits) }

// QuantKind is the member of the XNNQuantParams union.
type QuantKind uint8

// The quantizations.
const (
	NoQuant QuantKind = iota
	PerChannel
	PerTensor
	PerToken
	PerGroup
)

// Quant is how a value is quantized.
type Quant struct {
	Kind QuantKind
	// Scale and ZeroPoint are those of PerTensor.
	Scale     float32
	ZeroPoint int32
	// ChannelDim is the dimension that Scales go along, for PerChannel and PerGroup.
	ChannelDim int32
	// GroupSize is the columns of a group of PerGroup.
	GroupSize int32
	// Scales are inline scales. If there are none, they are NumScales numbers in constant ScaleConstant: float32 of
	// PerChannel, bfloat16 of PerGroup.
	Scales                   []float32
	ScaleConstant, NumScales uint32
	// NonbatchDims is how many of the last dimensions share parameters, for PerToken.
	NonbatchDims int32
}

// Flags of a value.
const (
	ExternalInput  = 1
	ExternalOutput = 2
)

// Value is a tensor of the graph.
type Value struct {
	ID   uint32
	Type DataType
	Dims []uint32
	// Constant is an index into Constants; 0 if the value is not constant.
	Constant uint32
	// External is the argument of the delegate that the value is, or InvalidID.
	External uint32
	// Flags are ExternalInput, ExternalOutput or 0.
	Flags uint32
	// DynamicType is the type that an XN00 input is quantized to when it arrives, or InvalidType.
	DynamicType DataType
	Quant       Quant
}

// Numel is the number of elements.
func (v *Value) Numel() int {
	n := 1
	for _, d := range v.Dims {
		n *= int(d)
	}
	return n
}

// Bytes is the bytes of a constant of this value: rows of 4-bit elements begin at whole bytes.
func (v *Value) Bytes() int {
	n := v.Numel()
	if v.Type.Bits() == 4 && len(v.Dims) > 0 && n > 0 {
		cols := int(v.Dims[len(v.Dims)-1])
		return n / cols * ((cols + 1) / 2)
	}
	return n * v.Type.Bits() / 8
}

// Node is an operator of the graph.
type Node struct {
	Type        NodeType
	DebugHandle uint32
	// Inputs and Outputs are ids of values; an absent bias is InvalidID.
	Inputs, Outputs []uint32
	Flags           uint32
	// Bounded says that the outputs are held between Min and Max.
	Bounded  bool
	Min, Max float32
	// Params are the numbers of the node in the order of its table, ids, lists and flags left out; see Conv and Pool.
	Params []uint32
	// Lists are its lists in the order of its table.
	Lists [][]uint32
	// Factor is alpha, negative_slope or padding_value.
	Factor float32
}

// Flags of nodes.
const (
	TransposeWeights = 1
	Reshape2D        = 4 // of FullyConnected: all dimensions but the last are one
	LegacyResize     = 4
	AlignCorners     = 8
	KeepDims         = 64 // of GlobalAvgPooling2d
)

// Conv is the Params of a convolution.
type Conv struct {
	Top, Right, Bottom, Left, KernelHeight, KernelWidth, StrideHeight, StrideWidth, DilationHeight, DilationWidth int
	GroupInputs, GroupOutputs, Groups, AdjustHeight, AdjustWidth                                                  int
}

// Conv is the numbers of a convolution node.
func (n *Node) Conv() Conv {
	at := func(i int) int { return int(n.Params[i]) }
	return Conv{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13), at(14)}
}

// Pool is the Params of a pooling; strides of an arg-max pooling are its window's sizes, dilations 1.
type Pool struct {
	Top, Right, Bottom, Left, Height, Width, StrideHeight, StrideWidth, DilationHeight, DilationWidth int
}

// Pool is the numbers of a pooling node.
func (n *Node) Pool() Pool {
	at := func(i int) int { return int(n.Params[i]) }
	p := Pool{at(0), at(1), at(2), at(3), at(4), at(5), at(4), at(5), 1, 1}
	if n.Type != ArgMaxPooling2d {
		p.StrideHeight, p.StrideWidth, p.DilationHeight, p.DilationWidth = at(6), at(7), at(8), at(9)
	}
	return p
}
