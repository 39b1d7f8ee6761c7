package passes

import "github.com/rules-pte/rules_pte/lowerer/exir"

// replacements are values to use in place of others.
type replacements map[*exir.Value]*exir.Value

// in replaces the values of args.
func (r replacements) in(args []exir.Arg) {
	for i := range args {
		args[i].EachValue(func(v **exir.Value) {
			if w := r[*v]; w != nil {
				*v = w
			}
		})
	}
}

// rebuild builds the nodes of g anew: put appends what stands for each, whose arguments are replaced already, and what others are to use
// in place of its results.
func (u *usage) rebuild(g *exir.Graph, put func(b *exir.Builder, n *exir.Node, same replacements)) error {
	b := exir.NewBuilder(u.program, g)
	b.Reserve(g)
	same := replacements{}
	for _, n := range g.Nodes {
		same.in(n.Args)
		put(b, n, same)
	}
	same.in(g.Outputs)
	g.Nodes = b.Graph.Nodes
	return b.Err
}

// toExpressions makes constants of what the nodes of b from number at on give, whose tensors are constants.
func toExpressions(b *exir.Builder, at int) {
	for _, made := range b.Graph.Nodes[at:] {
		toExpression(made)
	}
	b.Graph.Nodes = b.Graph.Nodes[:at]
}
