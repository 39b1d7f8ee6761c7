package lowerer

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/delegate"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/passes"
)

// backends are the spec's backends with their partitioners.
func (l *Loaded) backends(spec *config.Spec) ([]delegate.Entry, error) {
	var list []delegate.Entry
	var errs diag.List
	for i := range spec.Partition {
		b := &spec.Partition[i]
		o := b.Options
		o.Bounds = l.table.Bounds
		p, err := b.Backend.Partitioner(o)
		if err != nil {
			errs = append(errs, diag.New(diag.BadPartition, spec.Where(b.Pos), "partitioner of %s: %w", b.ID.V, err))
			continue
		}
		list = append(list, delegate.Entry{Backend: b.Backend, Partitioner: p, Where: spec.Where(b.Pos),
			Pin: matches(spec, b.Pin), Skip: matches(spec, b.Skip)})
	}
	return list, errs.Err()
}

func matches(spec *config.Spec, nodes []config.Nodes) []delegate.Match {
	var list []delegate.Match
	for _, n := range nodes {
		list = append(list, delegate.Match{Name: n.Name, Module: n.Module, Op: n.Op, Line: n.Line, Where: spec.Where(n.Pos)})
	}
	return list
}

// keeps says which nodes of m backends want to see as they are: those of the operators that a partitioner names, and those
// that it picks; not those that the spec keeps from the backend.
func keeps(list []delegate.Entry, m *exir.Method) func(n *exir.Node) bool {
	if len(list) == 0 {
		return nil
	}
	picked := map[*exir.Node]bool{}
	_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
		for i := range list {
			e := &list[i]
			if p, ok := e.Partitioner.(backend.Preserver); ok {
				for _, n := range p.Preserve(g, func(n *exir.Node) bool { return !e.Skips(n) }) {
					picked[n] = true
				}
			}
		}
		return nil
	})
	return func(n *exir.Node) bool {
		return picked[n] || slices.ContainsFunc(list, func(e delegate.Entry) bool {
			ops, filter := e.Partitioner.OpsToNotDecompose()
			return slices.Contains(ops, n.Op.Name) && !e.Skips(n) && (filter == nil || filter(n))
		})
	}
}

// ToBackend offers the nodes of p to the spec's backends, in their order, and runs the passes that come after. models
// maps model keys to files, for backends that read weights.
func (l *Loaded) ToBackend(spec *config.Spec, p *exir.EdgeProgram, models map[string]string, dump *Dumper) error {
	if len(l.entries) > 0 {
		if err := l.delegate(spec, p, models, dump); err != nil {
			return err
		}
	}
	return passes.RunLate(l.passes, spec.Disabled, func(pass string, m *exir.Method) error {
		return dump.Stage(pass, &p.Program, m, l.table)
	})
}

func (l *Loaded) delegate(spec *config.Spec, p *exir.EdgeProgram, models map[string]string, dump *Dumper) error {
	files := openWeights(modelPaths(spec, models))
	defer files.close()
	c := &backend.Context{Constant: pack.Evaluator(files.read, &files.room), Bounds: l.table.Bounds}
	result, err := delegate.Run(p, l.entries, c)
	if err != nil {
		return err
	}
	l.delegation = result
	var errs diag.List
	for _, m := range p.Methods {
		errs = append(errs, l.preserved(m)...)
		if err := dump.Stage("delegated", &p.Program, m, l.table); err != nil {
			return err
		}
	}
	return errs.Err()
}

// preserved are errors for the nodes that a backend wanted kept and none took.
func (l *Loaded) preserved(m *exir.Method) (errs diag.List) {
	_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
		for _, n := range g.Nodes {
			if n.Op.Kind == "hop" || exir.IsPrim(n.Op) || exir.LookupRow(n.Op.Name) != nil {
				continue
			}
			e := n.Fault(diag.PreservedLeft, "it was kept from decomposition, and no backend took it")
			for _, r := range l.delegation.Refused[n] {
				for _, reason := range r.Reasons {
					e.WithMore(r.Backend + ": " + reason)
				}
			}
			errs = append(errs, e)
		}
		return nil
	})
	return errs
}
