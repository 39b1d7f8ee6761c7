package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// module is a .bzl file with the names at its top level.
type module struct {
	file   string // relative to the root
	values map[string]build.Expr
	order  []string
	// loads are the names that come from other files, as file and name there.
	loads map[string][2]string
}

// reader reads the .bzl files of a module, each once.
type reader struct {
	root    string
	modules map[string]*module
}

func (r *reader) read(file string) (*module, error) {
	if m := r.modules[file]; m != nil {
		return m, nil
	}
	text, err := os.ReadFile(path.Join(r.root, file))
	if err != nil {
		return nil, err
	}
	f, err := build.ParseBzl(file, text)
	if err != nil {
		return nil, err
	}
	m := &module{file: file, values: map[string]build.Expr{}, loads: map[string][2]string{}}
	r.modules[file] = m
	for _, s := range f.Stmt {
		m.add(s)
	}
	return m, nil
}

// add notes what a statement defines.
func (m *module) add(s build.Expr) {
	switch s := s.(type) {
	case *build.LoadStmt:
		for i := range s.To {
			m.loads[s.To[i].Name] = [2]string{fileOf(m.file, s.Module.Value), s.From[i].Name}
		}
	case *build.DefStmt:
		m.define(s.Name, s)
	case *build.AssignExpr:
		if id, ok := s.LHS.(*build.Ident); ok {
			m.define(id.Name, s.RHS)
		}
	}
}

func (m *module) define(name string, value build.Expr) {
	m.values[name] = value
	m.order = append(m.order, name)
}

// fileOf is a label of a .bzl file of this module as a path; from is the file with the label.
func fileOf(from, label string) string {
	if name, ok := strings.CutPrefix(label, ":"); ok {
		return path.Join(path.Dir(from), name)
	}
	return strings.ReplaceAll(strings.TrimPrefix(label, "//"), ":", "/")
}

// value follows names to what they stand for, and gives the module that has it.
func (r *reader) value(m *module, x build.Expr) (build.Expr, *module, error) {
	id, ok := x.(*build.Ident)
	if !ok {
		return x, m, nil
	}
	if v := m.values[id.Name]; v != nil {
		return r.value(m, v)
	}
	from, ok := m.loads[id.Name]
	if !ok {
		return nil, nil, fmt.Errorf("%s: %s is not defined", m.file, id.Name)
	}
	next, err := r.read(from[0])
	if err != nil {
		return nil, nil, err
	}
	return r.value(next, &build.Ident{Name: from[1]})
}

// text is a string, which may be a sum of literals.
func (r *reader) text(m *module, x build.Expr) (string, error) {
	x, m, err := r.value(m, x)
	if err != nil {
		return "", err
	}
	switch x := x.(type) {
	case *build.StringExpr:
		return x.Value, nil
	case *build.ParenExpr:
		return r.text(m, x.X)
	case *build.BinaryExpr:
		if x.Op == "+" {
			a, err := r.text(m, x.X)
			if err != nil {
				return "", err
			}
			b, err := r.text(m, x.Y)
			return a + b, err
		}
	}
	return "", fmt.Errorf("%s: %s is no string", m.file, build.FormatString(x))
}

// argument is the named argument of a call, or nil.
func argument(call *build.CallExpr, name string) build.Expr {
	for _, a := range call.List {
		if as, ok := a.(*build.AssignExpr); ok {
			if id, ok := as.LHS.(*build.Ident); ok && id.Name == name {
				return as.RHS
			}
		}
	}
	return nil
}

// entry is a key of a dict with its value, and the module that has it.
type entry struct {
	key   string
	value build.Expr
	in    *module
}

// entries are those of a dict: a literal, or dict(OTHER, key = value, **MORE).
func (r *reader) entries(m *module, x build.Expr) (out []entry, err error) {
	x, m, err = r.value(m, x)
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *build.DictExpr:
		for _, kv := range x.List {
			key, err := r.text(m, kv.Key)
			if err != nil {
				return nil, err
			}
			out = append(out, entry{key, kv.Value, m})
		}
		return out, nil
	case *build.UnaryExpr: // **x in the arguments of dict
		return r.entries(m, x.X)
	case *build.CallExpr:
		if name(x) != "dict" {
			break
		}
		for _, a := range x.List {
			if as, ok := a.(*build.AssignExpr); ok {
				out = append(out, entry{as.LHS.(*build.Ident).Name, as.RHS, m})
				continue
			}
			more, err := r.entries(m, a)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s: %s is no dict", m.file, build.FormatString(x))
}

// name is what a call calls, such as "attr.label".
func name(call *build.CallExpr) string { return build.FormatString(call.X) }
