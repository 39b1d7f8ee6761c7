package config

import (
	"cmp"

	"cuelang.org/go/cue"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// partition reads the entries of `partition`, each against the schema of its backend.
func (l *loader) partition(p cue.Value, s *Spec) (errs diag.List) {
	items, _ := field(p, "partition").List()
	seen := map[string]bool{}
	for items.Next() {
		v := items.Value()
		b := BackendSpec{ID: l.str(v, "id"), Pos: l.place(l.userPos(v))}
		if !b.ID.Pos.IsValid() {
			b.ID.Pos = b.Pos
		}
		at := l.linked(b.ID.V)
		switch {
		case at < 0:
			errs = append(errs, l.unknownBackend(s, b.ID))
			continue
		case seen[b.ID.V]:
			errs = append(errs, diag.New(diag.BadPartition, s.Where(b.ID.Pos), "backend %q stands in partition twice", b.ID.V))
			continue
		}
		seen[b.ID.V] = true
		b.Backend = l.backends[at]
		errs = append(errs, l.entry(v.Unify(l.entries[at]), l.entries[at], &b)...)
		s.Partition = append(s.Partition, b)
	}
	return errs
}

func (l *loader) linked(id string) int {
	for i, b := range l.backends {
		if b.ID() == id {
			return i
		}
	}
	return -1
}

func (l *loader) unknownBackend(s *Spec, id Value[string]) *diag.Error {
	var names []string
	for _, b := range l.backends {
		names = append(names, b.ID())
	}
	return diag.New(diag.UnknownBackend, s.Where(id.Pos), "no backend %q is linked into this tool; it has %s", id.V, list(names)).
		WithHint("build a pte with it: pte.Main takes the backends")
}

// entry reads one entry that is unified with its backend's schema.
func (l *loader) entry(v, schema cue.Value, b *BackendSpec) (errs diag.List) {
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return l.errors(err, diag.WrongValue)
	}
	b.Options.Partitioner = []byte("{}")
	if p := field(v, "partitioner"); p.Exists() {
		text, err := p.MarshalJSON()
		if err != nil {
			return l.errors(err, diag.WrongValue)
		}
		b.Options.Partitioner = text
	}
	b.Pin, b.Skip = l.nodes(field(v, "pin"), b.Pos), l.nodes(field(v, "skip"), b.Pos)
	specs, err := compileSpecs(v, schema)
	if err != nil {
		return diag.List{diag.New(diag.BadPartition, cmp.Or(string(b.Pos), l.path), "compile_specs of %s: %w", b.ID.V, err)}
	}
	b.Options.CompileSpecs = specs
	return nil
}

// nodes reads a #Nodes or a list of them; pos is the entry's, for where a value has no place of its own.
func (l *loader) nodes(v cue.Value, pos Pos) (all []Nodes) {
	if !v.Exists() {
		return nil
	}
	one := func(v cue.Value) {
		n := Nodes{Name: l.str(v, "name").V, Module: l.str(v, "module").V, Op: l.str(v, "op").V, Line: l.str(v, "line").V, Pos: pos}
		l.each(v, func(_ Value[string], f cue.Value) {
			if p := l.place(l.userPos(f)); p.IsValid() {
				n.Pos = p
			}
		})
		all = append(all, n)
	}
	if v.IncompleteKind() != cue.ListKind {
		one(v)
		return all
	}
	items, _ := v.List()
	for items.Next() {
		one(items.Value())
	}
	return all
}
