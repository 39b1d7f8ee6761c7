package backend

import (
	"fmt"
	"sort"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TaggedProgram is what a Partitioner sees of a method, and where it leaves its tags. The graph is only to be read:
// a change of it is an error.
type TaggedProgram struct {
	// Program is the whole program, Method the one to partition.
	Program *exir.Program
	Method  *exir.Method
	scope   Scope
	graphs  []*exir.Graph
	home    map[*exir.Node]*exir.Graph
	inputs  map[*exir.Value]exir.InputSpec
	mutated map[string]bool
	tags    map[*exir.Node]string
	values  map[*exir.Value]map[string]bool
	owned   map[*exir.Value]string
	noCopy  map[*exir.Value]bool
	outside map[*exir.Value]bool
	refused map[*exir.Node][]string
	before  [32]byte
	errs    diag.List
}

// Scope is what a partitioner may take.
type Scope struct {
	// Backend is the id of the partitioner's backend.
	Backend string
	// OwnsState says that mutated buffers may be tagged.
	OwnsState bool
	// Offer says whether a node may be taken, and if not, why; nil offers every node.
	Offer func(n *exir.Node) (reason string, ok bool)
	// Bounds are those of a size that varies; nil counts each as 1.
	Bounds func(d tensor.Dim) (lo, hi int64)
}

// NewTaggedProgram shows a method to a partitioner.
func NewTaggedProgram(p *exir.Program, m *exir.Method, s Scope) *TaggedProgram {
	t := &TaggedProgram{
		Program: p, Method: m, scope: s, home: map[*exir.Node]*exir.Graph{}, inputs: map[*exir.Value]exir.InputSpec{},
		mutated: p.MutatedBuffers(), tags: map[*exir.Node]string{}, values: map[*exir.Value]map[string]bool{},
		owned: map[*exir.Value]string{}, noCopy: map[*exir.Value]bool{}, outside: map[*exir.Value]bool{}, refused: map[*exir.Node][]string{},
	}
	_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
		t.graphs = append(t.graphs, g)
		for _, n := range g.Nodes {
			t.home[n] = g
		}
		return nil
	})
	for i, v := range m.Graph.Inputs {
		if v != nil {
			t.inputs[v] = m.Inputs[i]
		}
	}
	t.before = fingerprint(m)
	return t
}

// Graphs are the method's graph and those nested in it, innermost first.
func (t *TaggedProgram) Graphs() []*exir.Graph { return t.graphs }

// Offered reports whether n may be tagged: whether it is not delegated already, nor kept away by the program's spec.
func (t *TaggedProgram) Offered(n *exir.Node) bool {
	_, ok := t.offer(n)
	return ok
}

func (t *TaggedProgram) offer(n *exir.Node) (reason string, ok bool) {
	if n.Op == exir.CallDelegate {
		return "it is delegated already", false
	}
	if t.scope.Offer != nil {
		return t.scope.Offer(n)
	}
	return "", true
}

// IsConstant reports whether v is a parameter, a buffer that nothing writes, or another constant, such as a folded one, which is
// no input of the method and stands only where it is used.
func (t *TaggedProgram) IsConstant(v *exir.Value) bool { return v.Const != nil && !t.IsMutated(v) }

// IsMutated reports whether v is a buffer that some method writes.
func (t *TaggedProgram) IsMutated(v *exir.Value) bool {
	in, ok := t.inputs[v]
	return ok && in.Kind != exir.UserInput && t.mutated[in.Target]
}

// Input is what v is as an input of the method, and whether it is one.
func (t *TaggedProgram) Input(v *exir.Value) (exir.InputSpec, bool) {
	spec, ok := t.inputs[v]
	return spec, ok
}

// Tag puts n into the partition called tag.
func (t *TaggedProgram) Tag(n *exir.Node, tag string) {
	reason, ok := t.offer(n)
	switch {
	case tag == "":
		t.fail(diag.IllegalTag, "node "+n.Name, "tag is empty")
	case t.home[n] == nil:
		t.fail(diag.IllegalTag, "node "+n.Name, "is not of this program")
	case !ok:
		t.fail(diag.IllegalTag, "node "+n.Name, reason)
	default:
		t.tags[n] = tag
	}
}

// TagConstant puts a constant into the partition called tag. Its other users keep a copy of their own.
func (t *TaggedProgram) TagConstant(v *exir.Value, tag string) {
	in, isInput := t.inputs[v]
	switch {
	case isInput && in.Kind == exir.UserInput:
		t.fail(diag.IllegalTag, "input "+v.Name, "is an input of the user; only nodes and constants may be tagged")
	case v.Const == nil:
		t.fail(diag.IllegalTag, "value "+v.Name, "is no constant")
	case t.IsMutated(v):
		t.fail(diag.MutatedBufferTagged, "buffer "+in.Target, "is written by the program, so it stays outside of delegates")
	default:
		t.tagValue(v, tag)
	}
}

func (t *TaggedProgram) tagValue(v *exir.Value, tag string) {
	if t.values[v] == nil {
		t.values[v] = map[string]bool{}
	}
	t.values[v][tag] = true
}

// TagMutatedBuffer hands a buffer that is written to the partition called tag, which then keeps its state: the program
// neither passes it in nor writes it back. Only a StateOwner may do so.
func (t *TaggedProgram) TagMutatedBuffer(v *exir.Value, tag string) {
	switch {
	case !t.IsMutated(v):
		t.fail(diag.IllegalTag, "value "+v.Name, "is no mutated buffer")
	case !t.scope.OwnsState:
		t.fail(diag.MutatedBufferTagged, "buffer "+t.inputs[v].Target, "is written by the program, and the backend does not own state")
	case len(t.Program.Methods) > 1:
		t.fail(diag.MutatedBufferTagged, "buffer "+t.inputs[v].Target, "may be shared by the program's methods, so no delegate can own it")
	default:
		t.owned[v] = tag
		t.tagValue(v, tag)
	}
}

// NoCopy forbids that v is duplicated: to share it between partitions, or with nodes outside, is an error then.
func (t *TaggedProgram) NoCopy(v *exir.Value) { t.noCopy[v] = true }

// LeaveOutside makes TagConstants, and with it PartitionByCapability, leave v out: it is an input of the delegates that use it.
func (t *TaggedProgram) LeaveOutside(v *exir.Value) { t.outside[v] = true }

// TagConstants puts every constant that a tagged node uses into that node's partition.
func (t *TaggedProgram) TagConstants() {
	for _, g := range t.graphs {
		for _, n := range g.Nodes {
			tag := t.tags[n]
			for i := range n.Args {
				n.Args[i].EachValue(func(v **exir.Value) {
					if tag != "" && t.IsConstant(*v) && !t.outside[*v] {
						t.tagValue(*v, tag)
					}
				})
			}
		}
	}
}

// Refuse notes why n was not taken, for the report.
func (t *TaggedProgram) Refuse(n *exir.Node, format string, args ...any) {
	t.refused[n] = append(t.refused[n], fmt.Sprintf(format, args...))
}

// Reasons are why n was not taken: what Refuse noted, or why it was not offered.
func (t *TaggedProgram) Reasons(n *exir.Node) []string {
	if r := t.refused[n]; len(r) > 0 {
		return r
	}
	if reason, ok := t.offer(n); !ok {
		return []string{reason}
	}
	return []string{"the partitioner did not say why"}
}

// TagOf is the node's tag, "" without one.
func (t *TaggedProgram) TagOf(n *exir.Node) string { return t.tags[n] }

// HasConstant reports whether v belongs to the partition called tag.
func (t *TaggedProgram) HasConstant(v *exir.Value, tag string) bool { return t.values[v][tag] }

// OwnedBuffers are the mutated buffers that the partition called tag keeps, in the order of the method's inputs.
func (t *TaggedProgram) OwnedBuffers(tag string) (owned []*exir.Value) {
	for _, v := range t.Method.Graph.Inputs {
		if v != nil && t.owned[v] == tag {
			owned = append(owned, v)
		}
	}
	return owned
}

// Tags are those of nodes, sorted.
func (t *TaggedProgram) Tags() []string {
	seen := map[string]bool{}
	var tags []string
	for _, tag := range t.tags {
		if !seen[tag] {
			seen[tag] = true
			tags = append(tags, tag)
		}
	}
	sort.Strings(tags)
	return tags
}

func (t *TaggedProgram) fail(code diag.Code, what, why string) {
	t.errs = append(t.errs, diag.New(code, "method "+t.Method.Name, "%s: %s %s", t.scope.Backend, what, why))
}
