package config

import (
	"path"
	"sort"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	schema "github.com/rules-pte/rules_pte/cue"
	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// named is a program within the user's file.
type named struct {
	name string
	pos  token.Pos
	v    cue.Value
}

func schemaLoader() (*loader, error) {
	l := &loader{ctx: cuecontext.New()}
	return l, l.loadSchema()
}

// isProgram looks for the field that #Program marks itself with; a package has its major version in its name
// where the user's module declares the dependency.
func isProgram(v cue.Value) bool {
	for _, pkg := range []string{schema.Module + "/cue/lower", schema.Module + "/cue/lower@v0"} {
		if v.LookupPath(cue.MakePath(cue.Hid("_program", pkg))).Exists() {
			return true
		}
	}
	return false
}

// program picks the program with this name, or the only one.
func (l *loader) program(root cue.Value, name string) (named, error) {
	if isProgram(root) {
		return named{"", root.Pos(), root}, nil
	}
	var all []named
	for _, name := range l.names {
		if v := field(root, name); isProgram(v) {
			all = append(all, named{name, l.labelPos(v), v})
		}
	}
	return l.pick(root, all, name)
}

func (l *loader) pick(root cue.Value, all []named, name string) (named, error) {
	var names []string
	for _, p := range all {
		if p.name == name || name == "" && len(all) == 1 {
			return p, nil
		}
		names = append(names, p.name)
	}
	switch {
	case len(all) == 0:
		if err := root.Validate(); err != nil {
			return named{}, l.errors(err, diag.WrongValue)
		}
		return named{}, diag.List{diag.New(diag.NoProgram, l.path, "no program in this file").
			WithHint("write `name: lower.#Program & {...}` with import %q", schema.Module+"/cue/lower")}
	case name == "":
		return named{}, diag.List{diag.New(diag.WhichProgram, l.path, "several programs: %s", list(names)).
			WithHint("choose one with --program NAME")}
	}
	return named{}, diag.List{diag.New(diag.WhichProgram, l.path, "no program %q; there is %s", name, list(names)).
		WithHint("%s", nearest(name, names))}
}

// decode checks the program and reads every field of it.
func (l *loader) decode(p named) (*Spec, error) {
	l.prog = p.name
	if err := l.validate(p.v); err != nil {
		return nil, err
	}
	s := &Spec{
		Path: l.path, Name: Value[string]{p.name, l.place(p.pos), p.name != ""}, loader: l,
		Operators:               l.str(p.v, "operators"),
		SegmentAlignment:        l.int(p.v, "segment_alignment"),
		ConstantTensorAlignment: l.int(p.v, "constant_tensor_alignment"),
		DelegateAlignment:       l.int(p.v, "delegate_alignment"),
		EmitStacktrace:          l.bool(p.v, "emit_stacktrace"),
		expect:                  field(p.v, "expect"),
	}
	l.methods(p.v, s)
	l.memory(p.v, s)
	l.each(field(p.v, "passes"), func(name Value[string], v cue.Value) {
		on, _ := v.Bool()
		s.Passes = append(s.Passes, PassSwitch{name, on})
	})
	errs := l.partition(p.v, s)
	errs = append(errs, l.external(p.v, s)...)
	errs = append(errs, l.target(p.v, s)...)
	if page, _ := field(p.v, "segment_alignment").String(); page == "page" {
		s.SegmentAlignment.V = s.Target.PageSize
	}
	if !s.DelegateAlignment.Set {
		s.DelegateAlignment.V = s.SegmentAlignment.V
	}
	return s, errs.Err()
}

// validate checks all but `expect`, which stays a constraint: that it could hold is all that is asked of it.
//
// The schema is unified once more, since a struct that embeds it may have fields of its own.
func (l *loader) validate(v cue.Value) error {
	var errs diag.List
	err := v.Validate()
	if err == nil {
		err = v.Unify(l.schema).Validate()
	}
	if err != nil {
		errs = l.errors(err, diag.WrongValue)
	}
	if len(errs) == 0 {
		iter, err := v.Fields()
		if err != nil {
			return l.errors(err, diag.WrongValue)
		}
		for iter.Next() {
			if iter.Selector().Unquoted() == "expect" {
				continue
			}
			if err := iter.Value().Validate(cue.Concrete(true), cue.Final()); err != nil {
				errs = append(errs, l.errors(err, diag.MissingField)...)
			}
		}
		if len(errs) == 0 {
			errs = append(errs, l.required(v)...)
		}
		errs = append(errs, l.vetExpect(v)...)
	}
	errs.Sort()
	return errs.Err()
}

// required reports the program's own required fields, which Validate leaves alone while not concrete.
func (l *loader) required(v cue.Value) diag.List {
	m := field(v, "methods")
	if n, _ := m.Fields(); m.Exists() && n != nil && n.Next() {
		return nil
	}
	return diag.List{diag.New(diag.MissingField, l.where(l.labelPos(v)), "methods: no method; at least one is required").
		WithHint(`write methods: forward: model: "model.pt2"`)}
}

func (l *loader) vetExpect(v cue.Value) diag.List {
	e := field(v, "expect")
	if !e.Exists() {
		return nil
	}
	var errs diag.List
	err := l.report.Unify(e).Validate()
	for _, err := range errors.Errors(err) {
		if !saysAbsent(e, l.relative(err.Path())) {
			errs = append(errs, l.errorsAt(err, diag.WrongValue, l.report)...)
		}
	}
	return errs
}

// saysAbsent reports that the constraint at path, or the one that path belongs to, is `absent: true`, which
// is no field of a report.
func saysAbsent(e cue.Value, path []string) bool {
	if n := len(path); n > 0 && path[n-1] == "absent" {
		return true
	}
	return field(e.LookupPath(cuePath(path)), "absent").Exists()
}

func (l *loader) methods(p cue.Value, s *Spec) {
	l.each(field(p, "methods"), func(name Value[string], v cue.Value) {
		m := MethodSpec{Name: name, Model: l.str(v, "model")}
		l.each(field(v, "dynamic_shapes"), func(input Value[string], dims cue.Value) {
			l.each(dims, func(dim Value[string], r cue.Value) {
				n, _ := strconv.Atoi(dim.V)
				m.DynamicShapes = append(m.DynamicShapes, DimRange{
					Input: input, Dim: Value[int]{n, dim.Pos, true}, Min: l.int64(r, "min"), Max: l.int64(r, "max"),
				})
			})
		})
		s.Methods = append(s.Methods, m)
	})
	l.each(field(p, "constant_methods"), func(name Value[string], v cue.Value) {
		c := Value[any]{constant(v), l.place(l.userPos(v)), true}
		s.ConstantMethods = append(s.ConstantMethods, ConstantMethod{name, c})
	})
}

func (l *loader) external(p cue.Value, s *Spec) (errs diag.List) {
	items, _ := field(p, "external_constants").List()
	for items.Next() {
		v := items.Value()
		e := ExternalConstants{File: l.str(v, "file"), Name: l.str(v, "name")}
		if !e.Name.Pos.IsValid() {
			e.Name.Pos = e.File.Pos
		}
		if _, err := path.Match(e.Name.V, ""); err != nil {
			errs = append(errs, diag.New(diag.WrongValue, s.Where(e.Name.Pos), "external_constants: %q is no pattern: %w", e.Name.V, err))
		}
		s.ExternalConstants = append(s.ExternalConstants, e)
	}
	return errs
}

func (l *loader) memory(p cue.Value, s *Spec) {
	m := field(p, "memory_planning")
	s.MemoryPlanning = MemoryPlanning{
		AllocGraphInput:     l.bool(m, "alloc_graph_input"),
		AllocGraphOutput:    l.bool(m, "alloc_graph_output"),
		AllocMutableBuffers: l.bool(m, "alloc_mutable_buffers"),
		Alignment:           l.int(m, "alignment"),
	}
}

// target reads the target and checks what only makes sense together with it.
func (l *loader) target(p cue.Value, s *Spec) diag.List {
	t := field(p, "target")
	if !t.Exists() {
		t = l.anyTarget
	} else {
		s.Target.Pos = l.place(l.userPos(t))
	}
	s.Target.Name, s.Target.OS, s.Target.Arch = l.str(t, "name"), l.str(t, "os"), l.str(t, "arch")
	s.Target.CPUFeatures, s.Target.DTypes = strs(t, "cpu_features"), strs(t, "dtypes")
	s.Target.MaxRank, s.Target.PageSize = l.int(t, "max_rank").V, l.int(t, "page_size").V
	l.each(field(t, "banks"), func(name Value[string], v cue.Value) {
		s.Target.Banks = append(s.Target.Banks, Bank{name.V, l.int(v, "memory_id").V, l.int64(v, "size")})
	})
	sort.Slice(s.Target.Banks, func(i, j int) bool { return s.Target.Banks[i].MemoryID < s.Target.Banks[j].MemoryID })
	return append(l.checkRanges(s), l.narrowBanks(p, s)...)
}

func (l *loader) narrowBanks(p cue.Value, s *Spec) (errs diag.List) {
	l.each(field(field(p, "memory_planning"), "banks"), func(name Value[string], v cue.Value) {
		var names []string
		for i := range s.Target.Banks {
			b := &s.Target.Banks[i]
			names = append(names, b.Name)
			if b.Name != name.V {
				continue
			}
			size := l.int64(v, "size")
			if size.Set && b.Size.V > 0 && size.V > b.Size.V {
				errs = append(errs, diag.New(diag.IllegalTarget, s.Where(size.Pos),
					"bank %s: size %d is above the target's %d", b.Name, size.V, b.Size.V))
			}
			if size.Set {
				b.Size = size
			}
			return
		}
		errs = append(errs, diag.New(diag.IllegalTarget, s.Where(name.Pos), "target %s has no memory bank %q; it has %s",
			s.Target.Name.V, name.V, list(names)).WithHint("%s", nearest(name.V, names)))
	})
	return errs
}

func (l *loader) checkRanges(s *Spec) (errs diag.List) {
	for _, m := range s.Methods {
		for _, d := range m.DynamicShapes {
			if d.Min.Set && d.Max.Set && d.Min.V > d.Max.V {
				errs = append(errs, diag.New(diag.BadRange, s.Where(d.Max.Pos),
					"methods.%s: input %s, dimension %d: max %d is below min %d", m.Name.V, d.Input.V, d.Dim.V, d.Max.V, d.Min.V))
			}
		}
	}
	return errs
}
