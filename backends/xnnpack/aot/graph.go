package aot

import (
	"math"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// graph is a graph of the program with the users of its values.
type graph struct {
	*exir.Graph
	rules map[string]*rule
	users map[*exir.Value][]*exir.Node
	// isConstant reports a value that never changes.
	isConstant func(v *exir.Value) bool
}

func newGraph(g *exir.Graph, isConstant func(v *exir.Value) bool) *graph {
	x := &graph{Graph: g, rules: rules, users: map[*exir.Value][]*exir.Node{}, isConstant: isConstant}
	for _, n := range g.Nodes {
		seen := map[*exir.Value]bool{}
		backend.EachInput(n, func(v *exir.Value) {
			if !seen[v] {
				seen[v] = true
				x.users[v] = append(x.users[v], n)
			}
		})
	}
	for i := range g.Outputs {
		g.Outputs[i].EachValue(func(v **exir.Value) { x.users[*v] = append(x.users[*v], nil) })
	}
	return x
}

// only is the only user of v, nil if there are several or if v is a result.
func (g *graph) only(v *exir.Value) *exir.Node {
	if u := g.users[v]; len(u) == 1 {
		return u[0]
	}
	return nil
}

// activation is the relu or hardtanh that is the only user of v, with its bounds, or nil.
func (g *graph) activation(v *exir.Value) (n *exir.Node, low, high float64) {
	if n = g.only(v); n == nil {
		return nil, 0, 0
	}
	switch n.Op.Name {
	case "aten::relu":
		return n, 0, math.Inf(1)
	case "aten::hardtanh":
		return n, numberOf(&n.Args[1]), numberOf(&n.Args[2])
	}
	return nil, 0, 0
}

// normalization is the batch norm that can be folded into n, a convolution or linear layer, or nil: the outputs of n's
// weights are its channels, and n computes in floats.
func (g *graph) normalization(n *exir.Node) *exir.Node {
	norm := g.only(n.Outs[0])
	if norm == nil || norm.Op.Name != batchNorm || g.normalizes(norm) != "" || !g.steady(n.Args[1].Value) || !outputsFirst(n) {
		return nil
	}
	if q := dequantized(n.Args[0].Value); q != nil && q.kind == blob.PerToken {
		return nil
	}
	return norm
}

// outputsFirst reports a layer whose filter has all of its outputs along one dimension, which are dimension 1 of its result.
func outputsFirst(n *exir.Node) bool {
	if n.Op.Name == "aten::linear" {
		return n.Outs[0].Spec.Rank() == 2
	}
	a := attributesOf(n)
	return !a.transposed || a.groups == 1
}

// normalizes says why n, a batch norm, is no multiplication by constants, or "".
func (g *graph) normalizes(n *exir.Node) string {
	for i := 1; i < 5; i++ {
		if a := &n.Args[i]; a.Kind == exir.ArgValue && !g.isConstant(a.Value) {
			return "its parameters are not constant"
		}
	}
	for _, v := range n.Outs[1:] {
		if v != nil && len(g.users[v]) > 0 {
			return "its statistics are used"
		}
	}
	return ""
}

const batchNorm = "aten::_native_batch_norm_legit_no_training"

// numberOf is a number among arguments; 0 for none.
func numberOf(a *exir.Arg) float64 {
	if a.Kind == exir.ArgFloat {
		return a.Float
	}
	return float64(a.Int)
}

// pair are the two numbers of a list that may have one; those of a line are 1 and one, or what first says.
func pair(a *exir.Arg, rank int, first int64) [2]int64 {
	if len(a.List) == 0 {
		return [2]int64{first, first}
	}
	last := a.List[len(a.List)-1].Int
	if rank == 3 {
		return [2]int64{first, last}
	}
	return [2]int64{a.List[0].Int, last}
}

// axis is a dimension counted from the front.
func axis(d int64, rank int) int {
	if d < 0 {
		return int(d) + rank
	}
	return int(d)
}

// tensorsOf are the tensors among the arguments of n, lists included.
func tensorsOf(n *exir.Node) (list []*exir.Value) {
	for i := range n.Args {
		n.Args[i].EachValue(func(v **exir.Value) {
			if (*v).Kind == exir.TensorValue {
				list = append(list, *v)
			}
		})
	}
	return list
}

// valueOf is an argument's tensor, or nil.
func valueOf(a *exir.Arg) *exir.Value {
	if a.Kind != exir.ArgValue {
		return nil
	}
	return a.Value
}

// symbols counts sizes that are not known.
func symbols(sizes []tensor.Dim) int {
	n := 0
	for _, d := range sizes {
		if tensor.IsSymbol(d) {
			n++
		}
	}
	return n
}

// channelsLast reports the dim order of images whose channels lie together.
func channelsLast(m *tensor.Meta) bool {
	o := m.DimOrder
	return len(o) == 4 && o[0] == 0 && o[1] == 2 && o[2] == 3 && o[3] == 1
}
