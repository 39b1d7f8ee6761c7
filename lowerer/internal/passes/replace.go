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

// replaceEach lets build make what stands for each node that match finds something for; the results of that one have one value.
func replaceEach[T any](u *usage, g *exir.Graph, match func(n *exir.Node) *T, build func(t *T, b *exir.Builder, n *exir.Node) *exir.Value) error {
	found := map[*exir.Node]*T{}
	for _, n := range g.Nodes {
		if t := match(n); t != nil {
			found[n] = t
		}
	}
	if len(found) == 0 {
		return nil
	}
	return u.rebuild(g, func(b *exir.Builder, n *exir.Node, same replacements) {
		if t := found[n]; t != nil {
			b.Origin = n.Origin
			same[n.Outs[0]] = build(t, b, n)
		} else {
			b.Append(n)
		}
	})
}

// toExpressions makes constants of what the nodes of b from number at on give, whose tensors are constants.
func toExpressions(b *exir.Builder, at int) {
	for _, made := range b.Graph.Nodes[at:] {
		toExpression(made)
	}
	b.Graph.Nodes = b.Graph.Nodes[:at]
}
