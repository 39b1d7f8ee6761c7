package passes

import (
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// foldLimit is the most bytes that a folded constant may have if it is larger than what it is made of.
const foldLimit = 64 << 10

// fold turns nodes whose tensors are all constants into constant expressions. Buffers that
// some method writes are no constants.
func fold(c *Context, m *exir.Method) error {
	state := stateOf(c.Program, m)
	return m.Graph.Walk(func(g *exir.Graph) error {
		kept, held := g.Nodes[:0], held(g)
		for _, n := range g.Nodes {
			if !held[n] && c.foldable(n, state) {
				toExpression(n)
				continue
			}
			kept = append(kept, n)
		}
		g.Nodes = kept
		return nil
	})
}

// toExpression makes constants of what n gives, whose tensors are constants.
func toExpression(n *exir.Node) {
	for i, v := range n.Outs {
		v.Const = &exir.Constant{Name: v.Name, Meta: v.Spec, Node: &exir.ConstExpr{Op: n.Op, Args: n.Args, Out: i}}
		v.Node = nil
	}
}

// stateOf are the inputs of m that some method of p writes.
func stateOf(p *exir.Program, m *exir.Method) map[*exir.Value]bool {
	mutated := p.MutatedBuffers()
	state := map[*exir.Value]bool{}
	for i, v := range m.Graph.Inputs {
		if v != nil && m.Inputs[i].Kind != exir.UserInput && mutated[m.Inputs[i].Target] {
			state[v] = true
		}
	}
	return state
}

// foldable leaves what a backend may want as it is.
func (c *Context) foldable(n *exir.Node, state map[*exir.Value]bool) bool {
	if c.Offered && !c.late && strings.HasPrefix(n.Op.Name, "quantized_decomposed::") {
		return false
	}
	return foldable(n, state)
}

// dequantizePrefix begins the names of operators that dequantize.
const dequantizePrefix = "quantized_decomposed::dequantize_per_"

// linears are the operators whose constant factors stay quantized: kernels take them so, and the program is smaller.
var linears = map[string]bool{linearName: true, "aten::mm": true, "aten::addmm": true}

// held are the nodes that dequantize weights of matrix products, or make another type of them, or that dequantize weights which meet an
// input that is dequantized, too: such products are computed in integers, by what is quantized. Weights of rank 1 are no factors.
func held(g *exir.Graph) map[*exir.Node]bool {
	list := map[*exir.Node]bool{}
	for _, n := range g.Nodes {
		var from []*exir.Node
		for i := range n.Args {
			n.Args[i].EachValue(func(v **exir.Value) {
				if d := dequantized(*v, linears[n.Op.Name]); d != nil {
					from = append(from, d)
				}
			})
		}
		for _, d := range from {
			if (len(from) > 1 || linears[n.Op.Name]) && d.Outs[0].Spec.Rank() > 1 {
				list[d] = true
			}
		}
	}
	return list
}

// dequantized is the node that dequantizes v, or, with casts, makes another type of int8, which may have been moved or seen in blocks; nil
// if v is something else.
func dequantized(v *exir.Value, casts bool) *exir.Node {
	for n := v.Node; n != nil && len(n.Args) > 0 && n.Args[0].Kind == exir.ArgValue; n = n.Args[0].Value.Node {
		if strings.HasPrefix(n.Op.Name, dequantizePrefix) || casts && n.Op.Name == copyName && n.Args[0].Value.Spec.DType == tensor.Char {
			return n
		}
		if !strings.HasPrefix(n.Op.Name, "aten::permute") && n.Op.Name != "aten::view_copy" {
			break
		}
	}
	return nil
}

func foldable(n *exir.Node, state map[*exir.Value]bool) bool {
	row := exir.LookupRow(n.Op.Name)
	if row == nil || row.Def.Tags&op.Random != 0 || n.Op.Kind == "inplace" {
		return false
	}
	in, constant, masks := 0, true, false
	for i := range n.Args {
		if n.Args[i].Kind == exir.ArgInt && isSymbolic(&n.Args[i]) {
			return false
		}
		for j := range n.Args[i].List {
			constant = constant && !isSymbolic(&n.Args[i].List[j])
		}
		n.Args[i].EachValue(func(v **exir.Value) {
			if (*v).Const == nil || state[*v] || (*v).Kind != exir.TensorValue {
				constant = false
				return
			}
			in = max(in, (*v).Spec.Nbytes())
			masks = masks || i > 0 && op.IsMask((*v).Spec.DType)
		})
	}
	if !constant || row.Def.DependsOnData(masks) {
		return false
	}
	out := 0
	for _, v := range n.Outs {
		if v == nil || !v.Spec.Static() {
			return false
		}
		out = max(out, v.Spec.Nbytes())
	}
	return out <= max(in, foldLimit)
}
