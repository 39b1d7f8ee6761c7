package functionalize

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// predispatch is in front of the names of what torch.vmap, and associative_scan by it, leaves in a graph
// (torch/_functorch/predispatch.py): between _vmap_increment_nesting and _vmap_decrement_nesting, nodes are for one
// element of the batch; _add_batch_dim(x, dim, level) makes the element, _remove_batch_dim(y, level, size, dim) the batch.
const predispatch = "torch._functorch.predispatch."

// vmaps rewrites the regions of torch.vmap in g and its sub-graphs.
func vmaps(g *exir.Graph) error {
	return g.Walk(func(g *exir.Graph) error {
		if !slices.ContainsFunc(g.Nodes, func(n *exir.Node) bool { return strings.HasPrefix(n.Op.Name, predispatch) }) {
			return nil
		}
		u := &unmapper{regions: []*mapped{{}}}
		for _, n := range g.Nodes {
			if err := u.node(n); err != nil {
				return wrap(n, err)
			}
		}
		if len(u.regions) != 1 {
			return errors.New("rewrite vmap: a region is not closed")
		}
		g.Nodes = u.regions[0].nodes
		return nil
	})
}

// unmapper rewrites one graph; the innermost region is the last one, the first is the graph itself.
type unmapper struct{ regions []*mapped }

// mapped is a region: nodes are those that do not depend on the element, body those that do.
type mapped struct {
	nodes, body []*exir.Node
	batched     map[*exir.Value]bool
	// batches and elements are the arguments and the results of _add_batch_dim; the batch dimension is 0.
	batches, elements []*exir.Value
	// results are the nodes _remove_batch_dim.
	results []*exir.Node
	size    tensor.Dim
}

func (u *unmapper) top() *mapped { return u.regions[len(u.regions)-1] }

// arguments is how many arguments the operators in front of which predispatch stands have; the last two also have a result.
var arguments = map[string]int{"_vmap_increment_nesting": 2, "_add_batch_dim": 3, "_remove_batch_dim": 4}

func (u *unmapper) node(n *exir.Node) error {
	r := u.top()
	name := strings.TrimPrefix(n.Op.Name, predispatch)
	if want := arguments[name]; len(n.Args) < want || want > 2 && (len(n.Outs) != 1 || n.Outs[0] == nil || n.Args[0].Value == nil || len(u.regions) == 1) {
		return errors.New("rewrite vmap: " + name + " of other arguments, or outside of a region")
	}
	switch name {
	case "lazy_load_decompositions":
	case "_vmap_increment_nesting":
		size, ok := n.Args[0].Dim()
		if !ok {
			return errors.New("rewrite vmap: no size of the batch")
		}
		u.regions = append(u.regions, &mapped{batched: map[*exir.Value]bool{}, size: size})
	case "_vmap_decrement_nesting":
		if len(u.regions) == 1 {
			return errors.New("rewrite vmap: the end of no region")
		}
		u.regions = u.regions[:len(u.regions)-1]
		return u.close(r)
	case "_add_batch_dim":
		return r.enter(n)
	case "_remove_batch_dim":
		r.results = append(r.results, n)
		r.batched[n.Outs[0]] = false
	default:
		if len(u.regions) > 1 && r.overwrites(n) {
			return errors.New("rewrite vmap: it writes to a tensor outside of the region")
		}
		r.append(n)
	}
	return nil
}

// overwrites reports that n, which runs once, writes to what an element's nodes before it read.
func (r *mapped) overwrites(n *exir.Node) bool {
	if n.Op.Kind == "functional" || r.depends(n) {
		return false
	}
	target := n.Args[0].Value
	return slices.ContainsFunc(r.body, func(m *exir.Node) bool {
		return n.Op.Kind == "inplace" && reads(m, func(v *exir.Value) bool { return v == target })
	})
}

// append puts n where it belongs: a node of which no argument depends on the element runs once.
func (r *mapped) append(n *exir.Node) {
	if !r.depends(n) {
		r.nodes = append(r.nodes, n)
		return
	}
	r.body = append(r.body, n)
	for _, v := range n.Outs {
		r.batched[v] = v != nil
	}
}

func (r *mapped) depends(n *exir.Node) bool {
	return reads(n, func(v *exir.Value) bool { return r.batched[v] })
}

// reads reports that is holds for an argument of n.
func reads(n *exir.Node, is func(v *exir.Value) bool) bool {
	found := false
	for i := range n.Args {
		_ = n.Args[i].EachArg(func(a *exir.Arg) error {
			found = found || a.Kind == exir.ArgValue && is(a.Value)
			return nil
		})
	}
	return found
}

// enter notes an element, with its batch's dimension moved to the front.
func (r *mapped) enter(n *exir.Node) error {
	x, dim := n.Args[0].Value, int(n.Args[1].Int)
	if x.Kind != exir.TensorValue || dim < -x.Spec.Rank() || dim >= x.Spec.Rank() {
		return errors.New("rewrite vmap: no batch of that dimension")
	}
	if dim < 0 {
		dim += x.Spec.Rank()
	}
	element := n.Outs[0]
	element.Spec.DimOrder, element.Order, element.Node = nil, nil, nil
	if dim != 0 {
		x = r.call(n, "aten::movedim.int", inFront(x.Spec.Sizes[dim], element), exir.ToArg(x), exir.ToArg(dim), exir.ToArg(0))
	}
	r.batches, r.elements = append(r.batches, x), append(r.elements, element)
	r.batched[element] = true
	return nil
}

// inFront is the type of a batch of v's, its dimension first.
func inFront(size tensor.Dim, v *exir.Value) tensor.Meta {
	return tensor.Meta{DType: v.Spec.DType, Sizes: slices.Concat([]tensor.Dim{size}, v.Spec.Sizes)}
}

// call appends a call, beside n, to what runs once.
func (r *mapped) call(n *exir.Node, op string, spec tensor.Meta, args ...exir.Arg) *exir.Value {
	c := &exir.Node{Name: fmt.Sprintf("%s_%d", n.Name, len(r.nodes)), Op: exir.MustSchema(op), Args: args, Origin: n.Origin}
	v := &exir.Value{Name: c.Name, Spec: spec, Node: c}
	c.Outs = []*exir.Value{v}
	r.nodes = append(r.nodes, c)
	return v
}

// close puts the region r, which has ended, into the one around it: what runs once, a map over the elements, and the
// results with their batch dimensions in place.
func (u *unmapper) close(r *mapped) error {
	var outputs []exir.Arg
	loop := &exir.Node{Op: &exir.Schema{Name: "higher_order::map_impl", Kind: "hop"}}
	after := &mapped{}
	for _, n := range r.results {
		y, out, dim := n.Args[0].Value, n.Outs[0], int(n.Args[3].Int)
		if dim < -out.Spec.Rank() || dim >= out.Spec.Rank() {
			return errors.New("rewrite vmap: no result of that dimension")
		}
		if dim < 0 {
			dim += out.Spec.Rank()
		}
		if !r.batched[y] {
			r.repeat(n, y, dim)
			continue
		}
		outputs = append(outputs, exir.ToArg(y))
		if dim == 0 {
			loop.Outs = append(loop.Outs, out)
			continue
		}
		batch := &exir.Value{Name: n.Name + "_batch", Spec: inFront(r.size, y), Node: loop}
		loop.Outs = append(loop.Outs, batch)
		after.redefine(n, "aten::movedim.int", exir.ToArg(batch), exir.ToArg(0), exir.ToArg(dim))
	}
	if len(outputs) > 0 {
		loop.Name, loop.Origin = r.results[0].Name+"_map", r.results[0].Origin
		r.loop(loop, outputs)
		r.nodes = append(r.nodes, loop)
	}
	for _, n := range slices.Concat(r.nodes, after.nodes) {
		for _, v := range n.Outs {
			if v != nil {
				v.Node = n
			}
		}
		u.top().append(n)
	}
	return nil
}

// redefine appends a call that gives the result of n.
func (r *mapped) redefine(n *exir.Node, op string, args ...exir.Arg) {
	n.Op, n.Args = exir.MustSchema(op), args
	r.nodes = append(r.nodes, n)
}

// repeat makes the result of n of y, which is the same for every element.
func (r *mapped) repeat(n *exir.Node, y *exir.Value, dim int) {
	spec := tensor.Meta{DType: y.Spec.DType, Sizes: slices.Insert(slices.Clone(y.Spec.Sizes), dim, 1)}
	line := r.call(n, "aten::unsqueeze", spec, exir.ToArg(y), exir.ToArg(dim))
	r.redefine(n, "aten::expand", exir.ToArg(line), exir.ToArg(n.Outs[0].Spec.Sizes), exir.ToArg(false))
}

// loop gives n, a map, its graph and operands: a turn computes the outputs for one element, and takes what else the body
// reads as the same in every turn.
func (r *mapped) loop(n *exir.Node, outputs []exir.Arg) {
	g := &exir.Graph{Inputs: slices.Clone(r.elements), Nodes: r.body, Outputs: outputs}
	var extra []*exir.Value
	inner := map[*exir.Value]*exir.Value{}
	local := func(a *exir.Arg) error {
		v := a.Value
		switch {
		case a.Kind != exir.ArgValue || v == nil || r.batched[v]:
		case v.Kind == exir.SymInt:
			*a = exir.ToArg(v.Sym)
		default:
			if inner[v] == nil {
				inner[v] = &exir.Value{Name: v.Name, Kind: v.Kind, Spec: tensor.Meta{DType: v.Spec.DType, Sizes: v.Spec.Sizes}, Order: v.Order}
				extra, g.Inputs = append(extra, v), append(g.Inputs, inner[v])
			}
			a.Value = inner[v]
		}
		return nil
	}
	for _, m := range r.body {
		for i := range m.Args {
			_ = m.Args[i].EachArg(local)
		}
	}
	n.Args = []exir.Arg{{Kind: exir.ArgGraph, Graph: g}, exir.ToArg(r.batches), exir.ToArg(extra)}
}
