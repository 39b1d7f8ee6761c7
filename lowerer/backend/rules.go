package backend

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Check holds what a partitioner did against the rules of tagging. That partitions are convex is checked where they are
// taken out of the graph. The error is a diag.List.
func (t *TaggedProgram) Check(r *PartitionResult) error {
	errs := append(diag.List(nil), t.errs...)
	where := "method " + t.Method.Name
	if fingerprint(t.Method) != t.before {
		errs = append(errs, diag.New(diag.PartitionerChangedGraph, where, "the partitioner of %s changed the graph", t.scope.Backend))
	}
	if r == nil || r.TaggedProgram != t {
		errs = append(errs, diag.New(diag.IllegalTag, where, "the partitioner of %s gave back another program", t.scope.Backend))
		return errs
	}
	errs = append(errs, t.checkTags(r)...)
	errs = append(errs, t.checkShared()...)
	return append(errs, t.checkOwned()...).Err()
}

func (t *TaggedProgram) checkTags(r *PartitionResult) (errs diag.List) {
	where := "method " + t.Method.Name
	for _, tag := range t.Tags() {
		spec, ok := r.PartitionTags[tag]
		switch {
		case !ok:
			errs = append(errs, diag.New(diag.IllegalTag, where, "%s: tag %q has no delegation spec", t.scope.Backend, tag))
		case spec.BackendID != t.scope.Backend:
			errs = append(errs, diag.New(diag.IllegalTag, where, "%s: tag %q is for backend %q", t.scope.Backend, tag, spec.BackendID))
		}
	}
	home := map[string]*exir.Graph{}
	for _, g := range t.graphs {
		for _, n := range g.Nodes {
			tag := t.tags[n]
			if tag == "" || home[tag] == g {
				continue
			}
			if home[tag] != nil {
				errs = append(errs, diag.New(diag.NotConvex, where, "%s: partition %q has nodes in two graphs, node %s in the second",
					t.scope.Backend, tag, n.Name))
			}
			home[tag] = g
		}
	}
	return errs
}

// checkShared refuses constants that would have to be duplicated and may not be.
func (t *TaggedProgram) checkShared() (errs diag.List) {
	users := map[*exir.Value]map[string]bool{}
	t.eachUse(func(n *exir.Node, v *exir.Value) {
		if t.noCopy[v] {
			if users[v] == nil {
				users[v] = map[string]bool{}
			}
			users[v][t.tags[n]] = true
		}
	})
	for _, g := range t.graphs {
		for _, v := range constantsOf(g) {
			if len(users[v]) > 1 && len(t.values[v]) > 0 {
				errs = append(errs, diag.New(diag.SharedConstant, "method "+t.Method.Name,
					"%s: constant %s is used by several partitions or outside of one, and may not be duplicated", t.scope.Backend, v.Name))
				delete(users, v)
			}
		}
	}
	return errs
}

// constantsOf are the constants that g's nodes use, in their order, perhaps several times.
func constantsOf(g *exir.Graph) (list []*exir.Value) {
	for _, n := range g.Nodes {
		for i := range n.Args {
			n.Args[i].EachValue(func(v **exir.Value) {
				if (*v).Const != nil {
					list = append(list, *v)
				}
			})
		}
	}
	return list
}

// checkOwned refuses a mutated buffer whose reads or new state lie outside of the partition that keeps it.
func (t *TaggedProgram) checkOwned() (errs diag.List) {
	fail := func(v *exir.Value, why string) {
		errs = append(errs, diag.New(diag.MutatedBufferTagged, "method "+t.Method.Name, "%s: buffer %s is owned by partition %q, and %s",
			t.scope.Backend, t.inputs[v].Target, t.owned[v], why))
	}
	t.eachUse(func(n *exir.Node, v *exir.Value) {
		if tag, ok := t.owned[v]; ok && t.tags[n] != tag {
			fail(v, "node "+n.Name+" outside of it reads it")
		}
	})
	for v, tag := range t.owned {
		for i, o := range t.Method.Outputs {
			a := &t.Method.Graph.Outputs[i]
			if o.Kind == exir.BufferMutation && o.Target == t.inputs[v].Target &&
				(a.Kind != exir.ArgValue || a.Value.Node == nil || t.tags[a.Value.Node] != tag) {
				fail(v, "its new content is made outside of it")
			}
		}
	}
	errs.Sort()
	return errs
}

// eachUse calls f for every use of a value by a node, nested graphs aside.
func (t *TaggedProgram) eachUse(f func(n *exir.Node, v *exir.Value)) {
	for _, g := range t.graphs {
		for _, n := range g.Nodes {
			for i := range n.Args {
				n.Args[i].EachValue(func(v **exir.Value) { f(n, *v) })
			}
		}
	}
}

// fingerprint is a hash of everything in m that a partitioner could change.
func fingerprint(m *exir.Method) (sum [32]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%p %v %v", m.Graph, m.Inputs, m.Outputs)
	_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
		for _, v := range g.Inputs {
			hashValue(h, v)
		}
		for _, n := range g.Nodes {
			fmt.Fprintf(h, "\n%p %s %s %d", n, n.Name, n.Op.Name, n.DebugHandle)
			hashArgs(h, n.Args)
			for _, v := range n.Outs {
				hashValue(h, v)
			}
		}
		hashArgs(h, g.Outputs)
		return nil
	})
	h.Sum(sum[:0])
	return sum
}

func hashValue(h hash.Hash, v *exir.Value) {
	if v == nil {
		io.WriteString(h, "_")
		return
	}
	fmt.Fprintf(h, "|%p %s %d %v %d %p %p", v, v.Name, v.Kind, v.Spec, v.Sym, v.Node, v.Const)
}

func hashArgs(h hash.Hash, args []exir.Arg) {
	for i := range args {
		a := &args[i]
		fmt.Fprintf(h, "(%d %p %d %v %s %p %p", a.Kind, a.Value, a.Int, a.Float, a.Str, a.Graph, a.Lowered)
		hashArgs(h, a.List)
		io.WriteString(h, ")")
	}
}
