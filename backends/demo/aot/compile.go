package aot

import (
	"fmt"

	"github.com/rules-pte/rules_pte/backends/demo/blob"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// compiler makes instructions of the nodes of one partition.
type compiler struct {
	graph   *exir.Graph
	program blob.Program
	handles *backend.DelegateMappingBuilder
	store   *backend.NamedDataStore
	values  map[*exir.Value]int
	fuse    bool
}

func compile(p *exir.EdgeProgram, specs []backend.CompileSpec, store *backend.NamedDataStore) (*backend.PreprocessResult, error) {
	m := p.Methods[0]
	c := &compiler{graph: m.Graph, handles: backend.NewDelegateMappingBuilder(true), store: store, values: map[*exir.Value]int{}, fuse: true}
	for _, s := range specs {
		if s.Key == "fuse" {
			c.fuse = s.Value[0] != 0
		}
	}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind == exir.UserInput {
			c.values[v] = c.program.Inputs
			c.program.Inputs++
		}
	}
	for _, n := range m.Graph.Nodes {
		if err := c.node(n); err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, exir.PythonName(n.Op.Name), err)
		}
	}
	for i := range m.Graph.Outputs {
		c.program.Outputs = append(c.program.Outputs, c.values[m.Graph.Outputs[i].Value])
	}
	return &backend.PreprocessResult{ProcessedBytes: c.program.Encode(), DebugHandleMap: c.handles.Map(), NamedData: store}, nil
}

func (c *compiler) node(n *exir.Node) error {
	if _, done := c.values[n.Outs[0]]; done { // a relu that its convolution took along
		return nil
	}
	var err error
	switch n.Op.Name {
	case "aten::convolution":
		err = c.convolution(n)
	case "aten::relu":
		err = c.emit(n.Outs[0], blob.Instruction{Op: blob.Relu, Args: []int{c.values[n.Args[0].Value]}}, n)
	case "aten::tan":
		err = c.tan(n)
	default:
		err = fmt.Errorf("this backend has no instruction for it")
	}
	return err
}

// emit appends an instruction that makes v and came from nodes.
func (c *compiler) emit(v *exir.Value, in blob.Instruction, nodes ...*exir.Node) error {
	id, err := c.handles.Insert(backend.Entry{Nodes: nodes})
	if err != nil {
		return err
	}
	in.ID, _ = id.Int()
	c.values[v] = c.program.Inputs + len(c.program.Instructions)
	c.program.Instructions = append(c.program.Instructions, in)
	return nil
}

// tan becomes sin, cos and their quotient.
func (c *compiler) tan(n *exir.Node) error {
	x := c.values[n.Args[0].Value]
	sin, cos := new(exir.Value), new(exir.Value)
	if err := c.emit(sin, blob.Instruction{Op: blob.Sin, Args: []int{x}}, n); err != nil {
		return err
	}
	if err := c.emit(cos, blob.Instruction{Op: blob.Cos, Args: []int{x}}, n); err != nil {
		return err
	}
	return c.emit(n.Outs[0], blob.Instruction{Op: blob.Div, Args: []int{c.values[sin], c.values[cos]}}, n)
}

func (c *compiler) convolution(n *exir.Node) error {
	conv, err := c.attributes(n)
	if err != nil {
		return err
	}
	in := blob.Instruction{Op: blob.Conv, Args: []int{c.values[n.Args[0].Value]}, Conv: conv}
	relu := c.reluAfter(n)
	if relu == nil || !c.fuse {
		return c.emit(n.Outs[0], in, n)
	}
	in.Op = blob.ConvRelu
	return c.emit(relu.Outs[0], in, n, relu)
}

func (c *compiler) attributes(n *exir.Node) (*blob.Convolution, error) {
	conv := &blob.Convolution{Groups: n.Args[8].Int}
	for i, dst := range []*[2]int64{&conv.Stride, &conv.Padding, &conv.Dilation} {
		list := n.Args[3+i].List
		for j := range dst {
			dst[j] = list[min(j, len(list)-1)].Int
		}
	}
	copy(conv.Sizes[:], n.Args[1].Value.Spec.Sizes)
	var err error
	if conv.Weight, err = c.store.AddConstant(n.Args[1].Value.Const, 16, ""); err == nil && n.Args[2].Kind == exir.ArgValue {
		conv.Bias, err = c.store.AddConstant(n.Args[2].Value.Const, 16, "")
	}
	return conv, err
}

// reluAfter is the relu that is the only user of n's result, or nil.
func (c *compiler) reluAfter(n *exir.Node) (relu *exir.Node) {
	users := 0
	for _, u := range c.graph.Nodes {
		backend.EachInput(u, func(v *exir.Value) {
			if v == n.Outs[0] {
				users++
				relu = u
			}
		})
	}
	for i := range c.graph.Outputs {
		if c.graph.Outputs[i].Value == n.Outs[0] {
			users++
		}
	}
	if users != 1 || relu == nil || relu.Op.Name != "aten::relu" {
		return nil
	}
	return relu
}
