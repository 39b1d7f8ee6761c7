// Package delegate hands parts of a program to backends: it asks the partitioners, checks their tags, takes the
// partitions out of the graphs, and puts calls of the lowered modules in their places.
package delegate

import (
	"fmt"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Entry is one backend that a program is offered to.
type Entry struct {
	Backend     backend.Backend
	Partitioner backend.Partitioner
	// Where is the user's position of the entry.
	Where string
	// Pin are nodes that this backend must take, Skip those that it may not.
	Pin, Skip []Match
}

// Refusal is a node that one backend did not take, and why.
type Refusal struct {
	Backend string
	Reasons []string
}

// Result is what came of the delegation.
type Result struct {
	// Modules are the lowered modules, in the order in which they were made.
	Modules []*exir.LoweredModule
	// Refused are the reasons of all backends that did not take a node, in their order.
	Refused map[*exir.Node][]Refusal
	// Before has every node of every method as it was offered.
	Before map[string][]*exir.Node
	// Taken has the number of the module in Modules for each node that a backend took.
	Taken map[*exir.Node]int
}

// Run offers p to the entries in their order; the first that takes a node has it.
func Run(p *exir.EdgeProgram, entries []Entry, c *backend.Context) (*Result, error) {
	r := &runner{p: p, entries: entries, context: c, result: &Result{Refused: map[*exir.Node][]Refusal{},
		Before: map[string][]*exir.Node{}, Taken: map[*exir.Node]int{}}}
	for _, m := range p.Methods {
		r.result.Before[m.Name] = allNodes(m)
	}
	if err := r.resolvePins(); err != nil {
		return nil, err
	}
	for i := range entries {
		if err := r.entry(i); err != nil {
			return nil, err
		}
	}
	for _, m := range p.Methods {
		if err := exir.Verify(m, p.Shapes, exir.Functional|exir.DimOrders); err != nil {
			return nil, fmt.Errorf("verify method %s after delegation: %w", m.Name, err)
		}
	}
	p.NamedData = r.named.Entries()
	return r.result, nil
}

// allNodes are the nodes of m's graphs, innermost graphs first.
func allNodes(m *exir.Method) (nodes []*exir.Node) {
	_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
		nodes = append(nodes, g.Nodes...)
		return nil
	})
	return nodes
}

type runner struct {
	p       *exir.EdgeProgram
	entries []Entry
	context *backend.Context
	result  *Result
	named   backend.NamedDataStore
	pins    map[*exir.Node]int // entry that must take the node
	skips   []map[*exir.Node]bool
}

// piece is one partition that was taken out of its graph.
type piece struct {
	method  *exir.Method
	graph   *exir.Graph
	tag     string
	spec    backend.DelegationSpec
	members []*exir.Node
	program *exir.EdgeProgram
	call    *exir.Node
	module  *exir.LoweredModule
}

func (r *runner) entry(i int) error {
	var pieces []*piece
	var errs diag.List
	for _, m := range r.p.Methods {
		found, err := r.partition(i, m)
		errs.Add(diag.PreprocessFailed, err)
		pieces = append(pieces, found...)
	}
	if len(errs) > 0 {
		return errs
	}
	for _, pc := range pieces {
		pc.module.Name = "lowered_module_" + strconv.Itoa(len(r.result.Modules))
		for _, n := range pc.members {
			r.result.Taken[n] = len(r.result.Modules)
		}
		r.result.Modules = append(r.result.Modules, pc.module)
	}
	return r.preprocess(&r.entries[i], pieces)
}

// partition lets entry i's partitioner tag m, and takes the partitions out.
func (r *runner) partition(i int, m *exir.Method) ([]*piece, error) {
	e := &r.entries[i]
	t := backend.NewTaggedProgram(&r.p.Program, m, backend.Scope{Backend: e.Backend.ID(), OwnsState: backend.OwnsState(e.Backend),
		Bounds: r.context.Bounds, Offer: func(n *exir.Node) (string, bool) { return r.offer(i, n) }})
	result, err := e.Partitioner.Partition(t)
	if err != nil {
		return nil, diag.New(diag.PreprocessFailed, "method "+m.Name, "partition for %s: %w", e.Backend.ID(), err)
	}
	if err := t.Check(result); err != nil {
		return nil, err
	}
	if err := r.checkPins(i, t); err != nil {
		return nil, err
	}
	r.noteRefused(e.Backend.ID(), t)
	return r.takeOut(t, result)
}

func (r *runner) offer(i int, n *exir.Node) (string, bool) {
	if at, ok := r.pins[n]; ok && at != i {
		return "the spec pins it to " + r.entries[at].Backend.ID(), false
	}
	if r.skips[i][n] {
		return "the spec skips it", false
	}
	return "", true
}

func (r *runner) noteRefused(id string, t *backend.TaggedProgram) {
	for _, g := range t.Graphs() {
		for _, n := range g.Nodes {
			if n.Op != exir.CallDelegate && t.TagOf(n) == "" {
				r.result.Refused[n] = append(r.result.Refused[n], Refusal{id, t.Reasons(n)})
			}
		}
	}
}

// takeOut replaces the partitions of every graph by calls.
func (r *runner) takeOut(t *backend.TaggedProgram, result *backend.PartitionResult) (all []*piece, err error) {
	for _, g := range t.Graphs() {
		pieces := piecesOf(t, g, result)
		if len(pieces) == 0 {
			continue
		}
		order, err := schedule(g, pieces, t.Method.Name)
		if err != nil {
			return nil, err
		}
		users := usersOutside(g, pieces)
		for _, pc := range pieces {
			extract(r.p, t, pc, users)
		}
		g.Nodes = order
		all = append(all, pieces...)
	}
	dropOwned(t)
	return all, nil
}

// piecesOf groups the tagged nodes of g, in the order of their first nodes.
func piecesOf(t *backend.TaggedProgram, g *exir.Graph, result *backend.PartitionResult) (pieces []*piece) {
	byTag := map[string]*piece{}
	for _, n := range g.Nodes {
		tag := t.TagOf(n)
		if tag == "" {
			continue
		}
		pc := byTag[tag]
		if pc == nil {
			spec := result.PartitionTags[tag]
			pc = &piece{method: t.Method, graph: g, tag: tag, spec: spec, call: &exir.Node{Op: exir.CallDelegate}}
			pc.module = &exir.LoweredModule{BackendID: spec.BackendID, CompileSpecs: spec.CompileSpecs}
			byTag[tag] = pc
			pieces = append(pieces, pc)
		}
		pc.members = append(pc.members, n)
	}
	return pieces
}
