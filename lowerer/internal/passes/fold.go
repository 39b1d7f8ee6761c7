package passes

import (
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// foldLimit is the most bytes that a folded constant may have if it is larger than what it is made of.
const foldLimit = 64 << 10

// fold turns nodes whose tensors are all constants into constant expressions. Buffers that
// some method writes are no constants.
func fold(c *Context, m *exir.Method) error {
	state := stateOf(c.Program, m)
	return m.Graph.Walk(func(g *exir.Graph) error {
		kept := g.Nodes[:0]
		for _, n := range g.Nodes {
			if c.foldable(n, state) {
				for i, v := range n.Outs {
					v.Const = &exir.Constant{Name: v.Name, Meta: v.Spec, Node: &exir.ConstExpr{Op: n.Op, Args: n.Args, Out: i}}
					v.Node = nil
				}
				continue
			}
			kept = append(kept, n)
		}
		g.Nodes = kept
		return nil
	})
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

func foldable(n *exir.Node, state map[*exir.Value]bool) bool {
	row := exir.LookupRow(n.Op.Name)
	if row == nil || row.Def.Tags&(op.Random|op.DataDependent) != 0 || n.Op.Kind == "inplace" {
		return false
	}
	in, constant := 0, true
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
		})
	}
	if !constant {
		return false
	}
	out := 0
	for _, v := range n.Outs {
		if v == nil || !v.Spec.Static() {
			return false
		}
		out += v.Spec.Nbytes()
	}
	return out <= max(in, foldLimit)
}
