package passes

import "github.com/rules-pte/rules_pte/lowerer/exir"

// bodyConstants lets the bodies of control flow use constants themselves instead of taking them as operands, so that
// they can be folded and delegated there as well.
func bodyConstants(c *Context, m *exir.Method) error {
	moveConstants(m.Graph, stateOf(c.Program, m))
	return nil
}

// moveConstants works from the outermost graphs in, since a body may hand a constant on.
func moveConstants(g *exir.Graph, state map[*exir.Value]bool) {
	for _, n := range g.Nodes {
		if lists := exir.OperandLists(n.Op.Name); lists != nil {
			moveOperands(n, lists, state)
		}
		for i := range n.Args {
			if body := n.Args[i].Graph; body != nil {
				moveConstants(body, state)
			}
		}
	}
}

// moveOperands takes the constants out of n's last list of operands, and out of its bodies' inputs.
func moveOperands(n *exir.Node, lists []int, state map[*exir.Value]bool) {
	first := 0
	for _, at := range lists[:len(lists)-1] {
		first += len(n.Args[at].List)
	}
	last := &n.Args[lists[len(lists)-1]]
	constant := make([]*exir.Value, first+len(last.List))
	var kept []exir.Arg
	for i, a := range last.List {
		if a.Kind == exir.ArgValue && a.Value.Const != nil && !state[a.Value] {
			constant[first+i] = a.Value
		} else {
			kept = append(kept, a)
		}
	}
	last.List = kept
	for i := range n.Args {
		if body := n.Args[i].Graph; body != nil {
			useConstants(body, constant)
		}
	}
}

// useConstants replaces input i of body by constant[i] where that is set.
func useConstants(body *exir.Graph, constant []*exir.Value) {
	with := replacements{}
	var inputs []*exir.Value
	for i, v := range body.Inputs {
		if constant[i] != nil {
			with[v] = constant[i]
		} else {
			inputs = append(inputs, v)
		}
	}
	body.Inputs = inputs
	for _, n := range body.Nodes {
		with.in(n.Args)
	}
	with.in(body.Outputs)
}
