package aot

import (
	"fmt"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// compiler makes an XNNPACK graph of one partition.
//
// A value of the partition can have several forms in the graph: its dimensions as they are, or as an image, whose
// channels come last. A node asks for the form that it computes in, and what is missing is made of what there is.
type compiler struct {
	*graph
	bounds func(d tensor.Dim) (low, high int64)
	out    blob.Graph
	store  backend.NamedDataStore
	build  *exir.Builder
	// half says that float32 values are computed in float16.
	half bool
	ids  map[form]uint32
	// alias are values that are others, under another name.
	alias map[*exir.Value]*exir.Value
	// results are the results of the partition that no value of the graph is yet.
	results   map[*exir.Value]uint32
	constants map[string]uint32
	// fused are nodes that an earlier one computes, too.
	fused map[*exir.Node]bool
	// within are the debug handles of fused nodes, by that of the node which computes them.
	within map[int][]int
	node   *exir.Node
	// required is what packing has to check.
	required []exir.Requirement
	err      error
}

// form is one form of a value.
type form struct {
	value *exir.Value
	// image says that it is of rank 4 with the channels last. An image of rank 3, a line, has height 1.
	image bool
	// tokens is how many of the last dimensions share parameters in a form that is quantized at run time, else 0.
	tokens int32
	// border says that it is an argument of the delegate where other forms have another element type.
	border bool
}

// noHandle is the debug handle of nodes that came from none.
const noHandle = math.MaxUint16

func compile(x *backend.Context, p *exir.EdgeProgram) (*backend.PreprocessResult, error) {
	m := p.Methods[0]
	isConstant := func(v *exir.Value) bool { return v.Const != nil }
	quantizePads(newGraph(m.Graph, isConstant))
	c := &compiler{
		graph:  newGraph(m.Graph, isConstant),
		bounds: x.Bounds, build: exir.NewBuilder(&p.Program, m.Graph), ids: map[form]uint32{}, alias: map[*exir.Value]*exir.Value{},
		results: map[*exir.Value]uint32{}, constants: map[string]uint32{}, fused: map[*exir.Node]bool{}, within: map[int][]int{},
		out: blob.Graph{Identifier: blob.XN01, Version: "0", Constants: make([]blob.Constant, 1)},
	}
	if o, ok := x.Partitioner.(*partitioner); ok {
		c.half = o.Half
	}
	c.arguments(m)
	for _, n := range m.Graph.Nodes {
		c.lower(n)
	}
	c.finish(m)
	if c.err == nil {
		c.err = c.build.Err
	}
	if c.err != nil {
		return nil, c.err
	}
	payload, err := blob.Write(&c.out)
	if err != nil {
		return nil, fmt.Errorf("write graph: %w", err)
	}
	return &backend.PreprocessResult{ProcessedBytes: payload, NamedData: &c.store, Requirements: c.required,
		ArenaPadding: arenaPadding, DebugHandleMap: c.debugHandles()}, nil
}

// debugHandles maps the debug handles in the graph, by which the run-time half calls its steps, to those of all nodes that
// a step computes.
func (c *compiler) debugHandles() backend.DebugHandleMap {
	handles := backend.DebugHandleMap{}
	for i := range c.out.Nodes {
		h := int(c.out.Nodes[i].DebugHandle)
		if h == noHandle {
			continue
		}
		all := append([]int{h}, c.within[h]...)
		slices.Sort(all)
		handles[backend.IntID(h)] = slices.Compact(all)
	}
	return handles
}

// fail keeps the first error, with the node.
func (c *compiler) fail(format string, args ...any) {
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf(format, args...)
	if c.node != nil {
		c.err = fmt.Errorf("node %s (%s): %w", c.node.Name, exir.PythonName(c.node.Op.Name), c.err)
	}
}

// arguments defines the inputs, and numbers the results after them.
func (c *compiler) arguments(m *exir.Method) {
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != exir.UserInput {
			continue
		}
		f := form{value: v, image: channelsLast(&v.Spec), border: c.narrowed(v)}
		c.ids[f] = c.define(f, blob.Quant{}, blob.ExternalInput)
	}
	next := c.out.NumExterns
	for i := range m.Graph.Outputs {
		c.results[m.Graph.Outputs[i].Value] = next
		next++
	}
}

// finish makes the results that no node gave in their form, and lists all of them.
func (c *compiler) finish(m *exir.Method) {
	for i := range m.Graph.Outputs {
		v := m.Graph.Outputs[i].Value
		c.node = v.Node
		c.out.Outputs = append(c.out.Outputs, c.ending(v))
	}
	c.out.NumExterns += uint32(len(m.Graph.Outputs))
}

// ending is the id of v as a result of the partition.
func (c *compiler) ending(v *exir.Value) uint32 {
	f := form{value: v, image: channelsLast(&v.Spec)}
	at := c.get(f)
	if c.isResult(at) {
		return at
	}
	t := blob.Copy
	if f.border = c.narrowed(v); f.border {
		t = blob.Convert
	}
	id := c.define(f, c.quantOf(v), blob.ExternalOutput)
	c.emit(blob.Node{Type: t, Inputs: []uint32{at}, Outputs: []uint32{id}})
	return id
}

func (c *compiler) isResult(id uint32) bool {
	return int(id) < len(c.out.Values) && c.out.Values[id].Flags == blob.ExternalOutput
}

// narrowed reports an argument of float32 that is computed in float16.
func (c *compiler) narrowed(v *exir.Value) bool { return c.half && v.Spec.DType == tensor.Float }

func (c *compiler) lower(n *exir.Node) {
	if c.err != nil || c.fused[n] {
		return
	}
	c.node = n
	if r, ok := c.rules[n.Op.Name]; ok {
		r.emit(c, n)
		return
	}
	if q := quantizes(n); q != nil {
		c.convert(form{value: q.source, image: c.hasOnlyImage(q.source)}, n.Outs[0])
	}
}

// emit appends a node with the debug handle of the one that is lowered.
func (c *compiler) emit(n blob.Node) {
	n.DebugHandle = noHandle
	if c.node != nil && c.node.DebugHandle > 0 {
		n.DebugHandle = uint32(c.node.DebugHandle)
	}
	c.out.Nodes = append(c.out.Nodes, n)
}

// define appends a value that is no constant; flags are blob's.
func (c *compiler) define(f form, q blob.Quant, flags uint32) uint32 {
	v := blob.Value{ID: uint32(len(c.out.Values)), Type: c.typeOf(f), Dims: c.dims(f), External: blob.InvalidID, Flags: flags, Quant: q}
	switch flags {
	case blob.ExternalInput:
		v.External = c.out.NumExterns
		v.Quant = c.quantOf(f.value)
		c.out.NumExterns++
		c.out.Inputs = append(c.out.Inputs, v.ID)
	case blob.ExternalOutput:
		v.External = c.results[f.value]
	}
	c.out.Values = append(c.out.Values, v)
	return v.ID
}

// result defines the form f, which the node to come gives: a result of the partition if it has that form.
func (c *compiler) result(f form) uint32 {
	flags := uint32(0)
	if _, ok := c.results[f.value]; ok && f.image == channelsLast(&f.value.Spec) && !c.narrowed(f.value) && f.tokens == 0 {
		flags = blob.ExternalOutput
	}
	id := c.define(f, c.quantOf(f.value), flags)
	c.ids[f] = id
	return id
}

// types are the types of values that are not quantized at run time.
var types = map[tensor.ScalarType]blob.DataType{
	tensor.Float: blob.FP32, tensor.Half: blob.FP16, tensor.BFloat16: blob.BF16, tensor.Char: blob.QInt8,
}

func (c *compiler) typeOf(f form) blob.DataType {
	switch {
	case f.tokens > 0:
		return blob.QDInt8
	case c.narrowed(f.value) && !f.border:
		return blob.FP16
	}
	return types[f.value.Spec.DType]
}

// quantOf are the parameters of an 8-bit value, which the node that made it or one that uses it has.
func (c *compiler) quantOf(v *exir.Value) blob.Quant {
	if v.Spec.DType != tensor.Char {
		return blob.Quant{}
	}
	q := quantizes(v.Node)
	for _, u := range c.users[v] {
		if q == nil && u != nil && len(u.Outs) == 1 {
			q = dequantized(u.Outs[0])
		}
	}
	if q == nil || q.kind != blob.PerTensor {
		c.fail("the parameters of %s are not known", v.Name)
		return blob.Quant{}
	}
	return blob.Quant{Kind: blob.PerTensor, Scale: float32(q.scale), ZeroPoint: int32(q.zero)}
}

// dims are the largest sizes of a form.
func (c *compiler) dims(f form) []uint32 {
	s := f.value.Spec.Sizes
	if f.image {
		s = imageSizes(s)
	}
	if len(s) == 0 {
		return []uint32{1}
	}
	d := make([]uint32, len(s))
	for i := range s {
		d[i] = c.largest(s[i])
	}
	return d
}

func (c *compiler) largest(d tensor.Dim) uint32 {
	if !tensor.IsSymbol(d) {
		return uint32(d)
	}
	_, high := c.bounds(d)
	if high > math.MaxInt32 {
		c.fail("a size has no bound")
		return 0
	}
	return uint32(high)
}

// imageSizes are the sizes of an image, or of a line as one.
func imageSizes(s []tensor.Dim) []tensor.Dim {
	if len(s) == 3 {
		return []tensor.Dim{s[0], 1, s[2], s[1]}
	}
	return []tensor.Dim{s[0], s[2], s[3], s[1]}
}

// imageAxis is where dimension d of a value of some rank is in its image.
func imageAxis(d, rank int) int {
	if rank == 3 {
		return [...]int{0, 3, 2}[d]
	}
	return [...]int{0, 3, 1, 2}[d]
}

func (c *compiler) place(d int, rank int, image bool) int {
	if image {
		return imageAxis(d, rank)
	}
	return d
}
