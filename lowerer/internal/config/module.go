package config

import (
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// InitModule writes cue.mod/module.cue, unless it is there, and the embedded packages below cue.mod/pkg, so
// that CUE's own tools resolve the same files as Load.
func InitModule(dir string, backends []backend.Backend) error {
	mod := filepath.Join(dir, "cue.mod", "module.cue")
	if _, err := os.Stat(mod); err != nil {
		if err := writeUnder(mod, []byte(moduleText("spec.local@v0"))); err != nil {
			return err
		}
	}
	root := filepath.Join(dir, "cue.mod", "pkg")
	for name, data := range embeddedFiles(backends) {
		if err := writeUnder(filepath.Join(root, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return nil
}

func writeUnder(name string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, data, 0o644)
	}
	if err != nil {
		return diag.New(diag.FileWrite, name, "%w", cause(err))
	}
	return nil
}

// LoadAll loads every program of the spec, or only the one that opts name.
func LoadAll(path string, opts Options) ([]*Spec, error) {
	name := opts.Program
	l, root, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	names := l.programs(root)
	if name != "" || len(names) < 2 {
		names = []string{name}
	}
	return l.all(root, names)
}

// LoadLibrary checks a package that others import, its definitions included, and loads the programs that it has, if any.
func LoadLibrary(path string, opts Options) ([]*Spec, error) {
	l, root, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	err = root.Validate(cue.Definitions(true))
	if errs := undefined(root); err == nil && errs != nil {
		err = errs
	}
	if err != nil {
		return nil, l.errors(err, diag.WrongValue)
	}
	return l.all(root, l.programs(root))
}

// undefined are the references below v to what no package has. Validate leaves them out, since CUE calls them incomplete, as
// it calls what an importer is still to give.
func undefined(v cue.Value) errors.Error {
	if err := v.Err(); err != nil && strings.Contains(err.Error(), "undefined field: ") {
		return errors.Promote(err, "")
	}
	fields, err := v.Fields(cue.Definitions(true), cue.Hidden(true))
	if err != nil {
		return nil
	}
	var all errors.Error
	for fields.Next() {
		all = errors.Append(all, undefined(fields.Value()))
	}
	return all
}

// all are the programs of these names.
func (l *loader) all(root cue.Value, names []string) (specs []*Spec, err error) {
	var errs diag.List
	for _, n := range names {
		spec, err := l.one(root, n)
		errs.Add(diag.WrongValue, err)
		specs = append(specs, spec)
	}
	return specs, errs.Err()
}

func (l *loader) one(root cue.Value, name string) (*Spec, error) {
	p, err := l.program(root, name)
	if err != nil {
		return nil, err
	}
	return l.decode(p)
}

// programs are the names of the programs at the file's top level.
func (l *loader) programs(root cue.Value) (names []string) {
	for _, name := range l.names {
		if isProgram(field(root, name)) {
			names = append(names, name)
		}
	}
	return names
}
