package rt

import (
	"math"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Inline is a graph in float32 as calls of operators, unless it has convolutions or poolings: their images lie with the channels
// innermost, and run in bands. What else a graph has gains by what a program fuses: the functions of cells with what splits their gates, and
// attention with a mask of Bool, both of which other delegates and kernels have parts of.
func (*Backend) Inline(ctx *backend.InitContext, processed []byte, _ []backend.CompileSpec) *backend.Inlined {
	if _, err := readOptions(ctx.Options); err != nil {
		return nil
	}
	c := &compiler{ctx: ctx, inlined: newInliner()}
	if c.read(processed) != nil {
		return nil
	}
	return c.inlined.finish(c.out, ctx.Args)
}

// inlinable are the nodes that Inline knows, of values in float32.
var inlinable = []blob.NodeType{blob.Abs, blob.Add, blob.Ceiling, blob.Cos, blob.Div, blob.Exp, blob.Floor, blob.Gelu, blob.Log, blob.Maximum, blob.Minimum,
	blob.Multiply, blob.Negate, blob.ReciprocalSquareRoot, blob.Sigmoid, blob.Sin, blob.Softmax, blob.SquareRoot, blob.Subtract, blob.Tanh,
	blob.Clamp, blob.ELU, blob.LeakyReLU, blob.Square, blob.Copy, blob.Concatenate2, blob.Concatenate3, blob.Concatenate4, blob.Concatenate5,
	blob.StaticTranspose, blob.StaticReshape, blob.StaticSlice, blob.StaticConstantPad, blob.FullyConnected, blob.BatchMatrixMultiply}

// Orders of dimensions, which nobody writes.
var (
	rowMajor    = [blob.MaxRank]uint8{0, 1, 2, 3, 4, 5}
	columnMajor = []uint8{1, 0}
)

// moreTensors is room for how many tensors is made at once, beyond those that a graph has, and moreInts for how many numbers.
const (
	moreTensors = 8
	moreInts    = 128
)

// piece is a node of a graph that becomes calls, or several that stay a graph.
type piece struct {
	node int
	part *part
}

// part is a graph of nodes that stay, and which one it is.
type part struct {
	graph  *blob.Graph
	number int
}

// cutter divides a graph into pieces.
type cutter struct {
	*blob.Graph
	values map[uint32]*blob.Value
	left   []bool // nodes that are in no piece yet
	stays  []bool // nodes that become no calls
	pieces []piece
}

// inlineOrder is how to run the nodes of a graph: those that Inline knows one by one, and linear operators of quantized rows, with what
// quantizes these, as many together as can be. It is nil if there are others, or none of the former.
func inlineOrder(g *blob.Graph) []piece {
	stays := func(n blob.Node) bool { return !slices.Contains(inlinable, n.Type) }
	if !slices.ContainsFunc(g.Nodes, stays) && !slices.ContainsFunc(g.Values, func(v blob.Value) bool { return v.Type != blob.FP32 }) {
		order := make([]piece, len(g.Nodes))
		for i := range order {
			order[i].node = i
		}
		return order
	}
	if slices.ContainsFunc(g.Nodes, func(n blob.Node) bool { return stays(n) && n.Type != blob.Convert }) {
		return nil
	}
	c := cutter{Graph: g, values: make(map[uint32]*blob.Value, len(g.Values)), left: make([]bool, len(g.Nodes)), stays: make([]bool, len(g.Nodes))}
	for i := range g.Values {
		c.values[g.Values[i].ID] = &g.Values[i]
	}
	calls := 0
	for i := range g.Nodes {
		c.left[i] = true
		switch n := &g.Nodes[i]; {
		case !stays(*n) && c.inFloat(n):
			calls++
		case c.quantizesRows(n):
			c.stays[i] = true
		default:
			return nil
		}
	}
	if calls == 0 {
		return nil
	}
	for i := range g.Nodes {
		switch {
		case !c.left[i]:
		case !c.stays[i]:
			c.pieces, c.left[i] = append(c.pieces, piece{node: i}), false
		case !c.cut(i):
			return nil
		}
	}
	return c.pieces
}

// inFloat reports whether all values of a node are of float32.
func (c *cutter) inFloat(n *blob.Node) bool {
	other := func(id uint32) bool { return id != blob.InvalidID && c.values[id].Type != blob.FP32 }
	return !slices.ContainsFunc(n.Inputs, other) && !slices.ContainsFunc(n.Outputs, other)
}

// quantizesRows reports whether a node quantizes rows, or multiplies such, from float32 or to it.
func (c *cutter) quantizesRows(n *blob.Node) bool {
	in, out := c.values[n.Inputs[0]].Type, c.values[n.Outputs[0]].Type
	return n.Type == blob.Convert && in == blob.FP32 && out == blob.QDInt8 || n.Type == blob.FullyConnected && in == blob.QDInt8 && out == blob.FP32
}

// cut makes a piece of node i, and of all behind it that stay and read nothing that another node is still to give. It reports whether it has
// outputs, and all that goes in and out of it is in float32.
func (c *cutter) cut(i int) bool {
	p := &blob.Graph{Identifier: c.Identifier, Version: c.Version, Constants: c.Constants}
	awaited, made := map[uint32]bool{}, map[uint32]bool{} // what nodes that are left give, and those of the piece
	for k := i; k < len(c.Nodes); k++ {
		n := &c.Nodes[k]
		switch {
		case !c.left[k]:
			continue
		case !c.stays[k] || slices.ContainsFunc(n.Inputs, func(id uint32) bool { return awaited[id] }):
			for _, id := range n.Outputs {
				awaited[id] = true
			}
			continue
		}
		c.left[k] = false
		p.Nodes = append(p.Nodes, *n)
		for _, id := range n.Outputs {
			made[id] = true
		}
	}
	read := map[uint32]bool{} // what others read of the piece
	for k := range c.Nodes {
		if c.left[k] {
			for _, id := range c.Nodes[k].Inputs {
				read[id] = true
			}
		}
	}
	var outs []blob.Value
	seen := map[uint32]bool{blob.InvalidID: true}
	for k := range p.Nodes {
		for _, id := range slices.Concat(p.Nodes[k].Inputs, p.Nodes[k].Outputs) {
			if seen[id] {
				continue
			}
			seen[id] = true
			v := *c.values[id]
			isOut := made[id] && (read[id] || v.External != blob.InvalidID)
			v.External, v.Flags = blob.InvalidID, 0
			switch {
			case isOut:
				outs = append(outs, v)
				continue
			case v.Constant == 0 && !made[id]:
				v.External, v.Flags = p.NumExterns, blob.ExternalInput
				p.Inputs, p.NumExterns = append(p.Inputs, id), p.NumExterns+1
			}
			p.Values = append(p.Values, v)
		}
	}
	for _, v := range outs {
		v.External, v.Flags = p.NumExterns, blob.ExternalOutput
		p.Values, p.Outputs, p.NumExterns = append(p.Values, v), append(p.Outputs, v.ID), p.NumExterns+1
	}
	c.pieces = append(c.pieces, piece{node: i, part: &part{p, len(c.pieces)}})
	other := func(id uint32) bool { return c.values[id].Type != blob.FP32 }
	return len(outs) > 0 && !slices.ContainsFunc(p.Inputs, other) && !slices.ContainsFunc(p.Outputs, other)
}

// inliner makes a plan of the calls that a compiler would make steps of.
type inliner struct {
	backend.Inlined
	tensors  []pte.Tensor  // room for those of values
	sizes    []int32       // and for their sizes and the calls' arguments
	values   []int32       // by slot, from 1 on; 0 of one without a value
	turned   map[int]int32 // slots that are seen as transposed matrices
	literals []literal
	names    []string // of Operators
	refused  bool
}

// literal is a value that is no tensor and no list.
type literal struct {
	kind  pte.ValueType
	int   int64
	float uint64 // the bits, so that -0 is another one than 0
	text  string
	value int32
}

// recentLiterals is among how many of the last literals one is looked for, before another value is made for it.
const recentLiterals = 16

func newInliner() *inliner {
	return &inliner{Inlined: backend.Inlined{Constants: make([][]byte, 1)}, turned: make(map[int]int32)}
}

// ints are n numbers, for somebody to set.
func (l *inliner) ints(n int) []int32 {
	if n > len(l.sizes) {
		l.sizes = make([]int32, max(n, moreInts))
	}
	list := l.sizes[:n:n]
	l.sizes = l.sizes[n:]
	return list
}

// expect makes room for what a graph has.
func (l *inliner) expect(g *blob.Graph) {
	n := len(g.Values)
	l.tensors = make([]pte.Tensor, n)
	l.Values = make([]pte.EValue, 0, n+2*len(g.Nodes))
	l.Calls, l.Handles = make([]pte.Instruction, 0, len(g.Nodes)), make([]int64, 0, len(g.Nodes))
}

// etViewName is the operator of a view, which copies nothing.
const etViewName = "executorch_prim::et_view.default"

// call adds a call of a portable operator, for a node of this handle.
func (l *inliner) call(p *program, handle int64, name string, out operand, args []operand) {
	if name == viewName && p.slots[out.slot].external < 0 {
		name = etViewName
	}
	list := l.ints(len(args) + 2)[:0]
	for i := range args {
		list = append(list, l.argument(p, &args[i]))
	}
	to := l.tensor(p, &out)
	at := slices.Index(l.names, name)
	if at < 0 {
		at = len(l.names)
		base, overload, _ := strings.Cut(name, ".")
		l.names, l.Operators = append(l.names, name), append(l.Operators, pte.Operator{Name: base, Overload: overload})
	}
	l.Calls = append(l.Calls, pte.Instruction{Type: pte.KernelCall, A: int32(at), Args: append(list, to, to)})
	if handle == noHandle {
		handle = backend.NoHandle
	}
	l.Handles = append(l.Handles, handle)
}

// part adds a call of nodes that stay a graph.
func (l *inliner) part(p *program, values map[uint32]*value, what *part) {
	var list []int32
	for _, id := range slices.Concat(what.graph.Inputs, what.graph.Outputs) {
		list = append(list, l.tensor(p, &operand{slot: values[id].slot}))
	}
	l.Calls = append(l.Calls, pte.Instruction{Type: pte.DelegateCall, A: int32(len(l.Parts)), B: int32(len(what.graph.Inputs)), Args: list})
	l.Handles, l.Parts = append(l.Handles, backend.NoHandle), append(l.Parts, what)
}

// argument is the value of an argument.
func (l *inliner) argument(p *program, o *operand) int32 {
	switch {
	case o.slot >= 0:
		return l.tensor(p, o)
	case o.list != nil:
		items := make([]int64, len(o.list))
		for i := range o.list {
			items[i] = int64(l.argument(p, &o.list[i]))
		}
		return l.add(pte.EValue{Type: pte.TensorList, Items: items})
	case o.value.Kind == op.Ints:
		items := make([]int64, len(o.value.Ints))
		for i, n := range o.value.Ints {
			items[i] = int64(l.literal(literal{kind: pte.Int, int: n}))
		}
		return l.add(pte.EValue{Type: pte.IntList, Items: items})
	}
	return l.literal(literalOf(&o.value))
}

func literalOf(v *op.Value) literal {
	switch v.Kind {
	case op.Int:
		return literal{kind: pte.Int, int: v.Int}
	case op.Bool:
		return literal{kind: pte.Bool, int: v.Int}
	case op.Float:
		return literal{kind: pte.Double, float: math.Float64bits(v.Float)}
	case op.String:
		return literal{kind: pte.String, text: v.Str}
	}
	return literal{kind: pte.Null}
}

// literal is the value of x.
func (l *inliner) literal(x literal) int32 {
	for i := len(l.literals) - 1; i >= max(len(l.literals)-recentLiterals, 0); i-- {
		y := l.literals[i]
		if x.value = y.value; x == y {
			return y.value
		}
	}
	x.value = l.add(pte.EValue{Type: x.kind, Int: x.int, Double: math.Float64frombits(x.float), String: x.text})
	l.literals = append(l.literals, x)
	return x.value
}

func (l *inliner) add(e pte.EValue) int32 {
	l.Values = append(l.Values, e)
	return int32(len(l.Values) - 1)
}

// tensor is the value of a slot, as an operand sees it: as it is, or a constant matrix transposed.
func (l *inliner) tensor(p *program, o *operand) int32 {
	s, turns := &p.slots[o.slot], false
	switch {
	case o.view == nil || o.view == flat && len(s.dims) == 2 || o.view == batches && len(s.dims) == 3:
	case o.view == transposed && s.data != nil && len(s.dims) == 2:
		turns = true
	default:
		l.refused = true
	}
	if n := len(p.slots); len(l.values) < n {
		l.values = slices.Grow(l.values, n-len(l.values))[:n]
	}
	v, known := l.values[o.slot]-1, l.values[o.slot] > 0
	if turns {
		v, known = l.turned[o.slot]
	}
	if known {
		return v
	}
	if len(l.tensors) == 0 {
		l.tensors = make([]pte.Tensor, moreTensors)
	}
	rank := len(s.dims)
	t := &l.tensors[0]
	t.ScalarType, t.Sizes, t.DimOrder = s.dtype, l.ints(rank), rowMajor[:rank:rank]
	l.tensors = l.tensors[1:]
	for i, n := range s.dims {
		t.Sizes[i] = int32(n)
	}
	if turns {
		slices.Reverse(t.Sizes)
		t.DimOrder = columnMajor
	}
	if s.data != nil {
		t.DataBufferIdx = uint32(len(l.Constants))
		l.Constants = append(l.Constants, s.data)
	}
	v = l.add(pte.EValue{Type: pte.TensorValue, Tensor: t})
	if turns {
		l.turned[o.slot] = v
	} else {
		l.values[o.slot] = v + 1
	}
	return v
}

// finish is what came of the graph, if its arguments are args: inputs, and then outputs, each of which blob.Read has seen written once.
func (l *inliner) finish(p *program, args []*backend.Value) *backend.Inlined {
	if l.refused || len(args) != len(p.inputs) {
		return nil
	}
	var single []int32 // values that are arguments of rank 0
	for i, arg := range args {
		in, at := p.inputs[i] >= 0, max(p.inputs[i], p.outputs[i])
		if at < 0 || in && i > l.Inputs {
			return nil
		}
		v := l.tensor(p, &operand{slot: at})
		switch s := &p.slots[at]; {
		case holds(s, arg, s.dims):
		case in && len(s.dims) == 1 && s.dims[0] == 1 && holds(s, arg, nil):
			single = append(single, v)
		default:
			return nil
		}
		if in {
			l.Inputs++
		}
		l.Args = append(l.Args, v)
	}
	if len(single) > 0 && !l.broadcasts(single) {
		return nil
	}
	return &l.Inlined
}

// holds reports whether an argument is a tensor like slot s, of these sizes.
func holds(s *slot, arg *backend.Value, sizes []tensor.Dim) bool {
	t := arg.Tensor
	return t != nil && t.DType == tensor.Float && t.DType == s.dtype && t.DimOrder == nil && slices.Equal(t.Sizes, sizes)
}

// broadcasting are operators whose results have the sizes of one operand where the other one has a single element, of rank 1 or 0.
var broadcasting = []string{"aten::add.out", "aten::sub.out", "aten::mul.out", "aten::div.out", "aten::maximum.out", "aten::minimum.out"}

// broadcasts reports whether calls read the values of list, which have rank 1 in the graph and 0 as arguments, beside others alone, which give
// the results their sizes. The official exporter makes numbers such tensors, as the epsilon of a norm.
func (l *inliner) broadcasts(list []int32) bool {
	is := func(v int32) bool { return slices.Contains(list, v) }
	for i := range l.Calls {
		in := &l.Calls[i]
		switch {
		case in.Type == pte.KernelCall && slices.Contains(broadcasting, l.names[in.A]):
			x, y := in.Args[0], in.Args[1]
			if is(x) && (is(y) || l.rank(y) == 0) || is(y) && l.rank(x) == 0 {
				return false
			}
		case slices.ContainsFunc(in.Args, func(v int32) bool {
			return is(v) || slices.ContainsFunc(l.Values[v].Items, func(item int64) bool { return is(int32(item)) })
		}):
			return false
		}
	}
	return true
}

// rank is how many dimensions tensor v has.
func (l *inliner) rank(v int32) int { return len(l.Values[v].Tensor.Sizes) }
