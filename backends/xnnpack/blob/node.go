package blob

// NodeType is the member of the XNodeUnion.
type NodeType uint8

// The node types.
const (
	NoNode NodeType = iota
	Add
	FullyConnected
	Softmax
	Sigmoid
	StaticTranspose
	Clamp
	Conv2d
	Div
	StaticResizeBilinear2D
	StaticConstantPad
	AvgPooling2d
	Minimum
	DepthwiseConv2d
	MaxPooling2d
	Multiply
	Subtract
	Floor
	Convert
	GlobalAvgPooling2d
	StaticReshape
	ArgMaxPooling2d
	SquareRoot
	Ceiling
	Hardswish
	LeakyReLU
	Maximum
	Negate
	Square
	ELU
	Abs
	PReLU
	Concatenate2
	Concatenate3
	Concatenate4
	StaticSlice
	ScaledDotProductAttention
	BatchMatrixMultiply
	Concatenate5
	ConvTranspose2d
	ReciprocalSquareRoot
	Log
	Gelu
	Tanh
	Exp
	Sin
	Copy
	Cos
	numNodeTypes
)

// form says where the fields of a node's table are. All numbers are slots; numbers without another meaning are params.
type form struct {
	inputs, outputs, params, lists []uint16
	flags                          uint16
	// factor is the slot of the number in float, if hasFactor.
	factor    uint16
	hasFactor bool
	// optional is the input that may be absent, from 1; 0 for none.
	optional int
}

var (
	form1x1       = form{inputs: []uint16{0}, outputs: []uint16{1}, flags: 2}
	form2x1       = form{inputs: []uint16{0, 1}, outputs: []uint16{2}, flags: 3}
	formScaled    = form{factor: 0, hasFactor: true, inputs: []uint16{1}, outputs: []uint16{2}, flags: 3}
	formLinear    = form{inputs: []uint16{0, 1, 2}, outputs: []uint16{3}, flags: 4, optional: 3}
	formConv      = form{params: []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, inputs: []uint16{15, 16, 17}, outputs: []uint16{18}, flags: 19, optional: 3}
	formPool      = form{params: []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, inputs: []uint16{10}, outputs: []uint16{11}, flags: 12}
	formArgMax    = form{params: []uint16{0, 1, 2, 3, 4, 5}, inputs: []uint16{6}, outputs: []uint16{7, 8}, flags: 9}
	formCat2      = form{params: []uint16{0}, inputs: []uint16{1, 2}, outputs: []uint16{5}, flags: 6}
	formCat3      = form{params: []uint16{0}, inputs: []uint16{1, 2, 3}, outputs: []uint16{5}, flags: 6}
	formCat4      = form{params: []uint16{0}, inputs: []uint16{1, 2, 3, 4}, outputs: []uint16{5}, flags: 6}
	formCat5      = form{params: []uint16{0}, inputs: []uint16{1, 2, 3, 4, 7}, outputs: []uint16{5}, flags: 6}
	formList      = form{params: []uint16{0}, lists: []uint16{1}, inputs: []uint16{2}, outputs: []uint16{3}, flags: 4}
	formSlice     = form{params: []uint16{0}, lists: []uint16{1, 2}, inputs: []uint16{3}, outputs: []uint16{4}, flags: 5}
	formResize    = form{params: []uint16{0, 1}, inputs: []uint16{2}, outputs: []uint16{3}, flags: 4}
	formPad       = form{lists: []uint16{0, 1}, factor: 2, hasFactor: true, inputs: []uint16{3}, outputs: []uint16{4}, flags: 5}
	formAttention = form{inputs: []uint16{0, 1, 2, 3, 4}, outputs: []uint16{5}, flags: 6}
)

// nodeInfo is the name and the form of a node type.
type nodeInfo struct {
	name string
	form *form
}

var nodeInfos = [numNodeTypes]nodeInfo{
	Add:                       {"Add", &form2x1},
	FullyConnected:            {"FullyConnected", &formLinear},
	Softmax:                   {"Softmax", &form1x1},
	Sigmoid:                   {"Sigmoid", &form1x1},
	StaticTranspose:           {"StaticTranspose", &formList},
	Clamp:                     {"Clamp", &form1x1},
	Conv2d:                    {"Conv2d", &formConv},
	Div:                       {"Div", &form2x1},
	StaticResizeBilinear2D:    {"StaticResizeBilinear2D", &formResize},
	StaticConstantPad:         {"StaticConstantPad", &formPad},
	AvgPooling2d:              {"AvgPooling2d", &formPool},
	Minimum:                   {"Minimum", &form2x1},
	DepthwiseConv2d:           {"DepthwiseConv2d", &formConv},
	MaxPooling2d:              {"MaxPooling2d", &formPool},
	Multiply:                  {"Multiply", &form2x1},
	Subtract:                  {"Subtract", &form2x1},
	Floor:                     {"Floor", &form1x1},
	Convert:                   {"Convert", &form1x1},
	GlobalAvgPooling2d:        {"GlobalAvgPooling2d", &form1x1},
	StaticReshape:             {"StaticReshape", &formList},
	ArgMaxPooling2d:           {"ArgMaxPooling2d", &formArgMax},
	SquareRoot:                {"SquareRoot", &form1x1},
	Ceiling:                   {"Ceiling", &form1x1},
	Hardswish:                 {"Hardswish", &form1x1},
	LeakyReLU:                 {"LeakyReLU", &formScaled},
	Maximum:                   {"Maximum", &form2x1},
	Negate:                    {"Negate", &form1x1},
	Square:                    {"Square", &form1x1},
	ELU:                       {"ELU", &formScaled},
	Abs:                       {"Abs", &form1x1},
	PReLU:                     {"PReLU", &form2x1},
	Concatenate2:              {"Concatenate2", &formCat2},
	Concatenate3:              {"Concatenate3", &formCat3},
	Concatenate4:              {"Concatenate4", &formCat4},
	StaticSlice:               {"StaticSlice", &formSlice},
	ScaledDotProductAttention: {"ScaledDotProductAttention", &formAttention},
	BatchMatrixMultiply:       {"BatchMatrixMultiply", &form2x1},
	Concatenate5:              {"Concatenate5", &formCat5},
	ConvTranspose2d:           {"ConvTranspose2d", &formConv},
	ReciprocalSquareRoot:      {"ReciprocalSquareRoot", &form1x1},
	Log:                       {"Log", &form1x1},
	Gelu:                      {"Gelu", &form1x1},
	Tanh:                      {"Tanh", &form1x1},
	Exp:                       {"Exp", &form1x1},
	Sin:                       {"Sin", &form1x1},
	Copy:                      {"Copy", &form1x1},
	Cos:                       {"Cos", &form1x1},
}

// String is ExecuTorch's name without its prefix, such as "Conv2d".
func (t NodeType) String() string {
	if t == NoNode || t >= numNodeTypes {
		return "unknown"
	}
	return nodeInfos[t].name
}

// MACs are the multiply-accumulates of a convolution or a product of matrices for each element of a value: its result, or
// the input of a transposed convolution. Of other nodes they are 0. value is the graph's value of an id.
func (n *Node) MACs(value func(id uint32) *Value) (perElement int64, of *Value) {
	switch n.Type {
	case Conv2d, DepthwiseConv2d:
		c := n.Conv()
		return int64(c.KernelHeight * c.KernelWidth * c.GroupInputs), value(n.Outputs[0])
	case ConvTranspose2d:
		c := n.Conv()
		return int64(c.KernelHeight * c.KernelWidth * c.GroupOutputs), value(n.Inputs[0])
	case FullyConnected, BatchMatrixMultiply:
		if dims := value(n.Inputs[0]).Dims; len(dims) > 0 {
			return int64(dims[len(dims)-1]), value(n.Outputs[0])
		}
	}
	return 0, nil
}
