// Package config reads the CUE that a user writes into typed values that keep their positions.
package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	schema "github.com/rules-pte/rules_pte/cue"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// Options choose among what a spec holds.
type Options struct {
	// Program is the name of one of several programs; "" takes the only one.
	Program string
	// Srcs are further files of the spec's package.
	Srcs []string
	// Imports are files of other packages that the spec imports, wherever they lie.
	Imports []Import
	// Backends are those that are linked into the tool. Their CUE packages can be imported.
	Backends []backend.Backend
}

// Import is a file of a CUE package.
type Import struct {
	// Path is the package's import path, such as "example.com/models/common", without version and package name.
	Path string
	File string
}

// Load reads the spec at path. The file may lie anywhere and needs no CUE module; imports of this
// project's packages come from the tool itself. The error is a diag.List, the user's positions first.
func Load(path string, opts Options) (*Spec, error) {
	l, root, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	program, err := l.program(root, opts.Program)
	if err != nil {
		return nil, err
	}
	return l.decode(program)
}

// open makes the loader of a spec and builds its package.
func open(path string, opts Options) (*loader, cue.Value, error) {
	l, err := newLoader(path, opts)
	if err != nil {
		return nil, cue.Value{}, err
	}
	root, err := l.build()
	return l, root, err
}

// loader holds what the steps of one Load share.
type loader struct {
	backends []backend.Backend
	entries  []cue.Value // #Backend of each of backends
	ctx      *cue.Context
	path     string // as the user gave it
	dir      string // absolute
	files    []string
	schema   cue.Value // #Program
	report   cue.Value // #Report
	root     cue.Value // the user's file
	names    []string  // its fields
	prog     string    // the one that is the program, "" for the file itself
	// anyTarget is the target of a program that names none.
	anyTarget cue.Value
	targets   cue.Value
	imports   []Import
	// virtual are the names of imported files by where the overlay has them.
	virtual map[string]string
}

func newLoader(path string, opts Options) (*loader, error) {
	l := &loader{ctx: cuecontext.New(), path: path, backends: opts.Backends, imports: opts.Imports, virtual: map[string]string{}}
	for _, p := range append([]string{path}, opts.Srcs...) {
		info, err := os.Stat(p)
		if err == nil && info.IsDir() {
			err = errors.New("is a directory, want a .cue file")
		}
		if err == nil && filepath.Ext(p) != ".cue" {
			err = fmt.Errorf("want a spec, a file that ends in .cue, not one in %q", filepath.Ext(p))
		}
		if err != nil {
			return nil, diag.List{diag.New(diag.SpecRead, p, "%w", cause(err)).WithHint("%s", noSpecHint(p, err))}
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", p, err)
		}
		l.files = append(l.files, abs)
	}
	l.dir = filepath.Dir(l.files[0])
	return l, l.loadSchema()
}

// noSpecHint says what to do with a path that is no spec.
func noSpecHint(path string, err error) string {
	switch ext := filepath.Ext(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "check the path; it counts from the folder that you stand in"
	case ext == ".pt2":
		return fmt.Sprintf("`pte lower %s` lowers a model without a spec; docs/spec.md says what a spec of it is", path)
	case ext == ".pte":
		return fmt.Sprintf("`pte inspect %s` shows a program", path)
	}
	return "docs/spec.md says what a spec is"
}

// cause is err without the path that *fs.PathError repeats.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// schemaDir is where the embedded module is laid when only the schema is loaded; nothing is on disk.
const schemaDir = "/rules_pte.cue.mod"

// ownPackages are those of this module that specs import.
var ownPackages = []string{"./cue/lower", "./cue/report", "./cue/targets"}

func (l *loader) loadSchema() error {
	overlay := map[string]load.Source{}
	l.layOut(overlay, schemaDir, schemaDir)
	overlay[filepath.Join(schemaDir, "cue.mod", "module.cue")] = load.FromString(moduleText(schema.Module + "@v0"))
	packages := slices.Clone(ownPackages)
	own := len(packages)
	for _, b := range l.backends {
		pkg := b.Schema().ImportPath
		if below, ok := strings.CutPrefix(pkg, schema.Module+"/"); ok {
			pkg = "./" + below
		}
		packages = append(packages, pkg)
	}
	// Together, so that what several import is read once.
	insts := load.Instances(packages, &load.Config{Dir: schemaDir, Overlay: overlay, Registry: registry{}})
	for i, def := range []struct {
		path string
		dst  *cue.Value
	}{{"#Program", &l.schema}, {"#Report", &l.report}, {"", &l.targets}} {
		var err error
		if *def.dst, err = l.buildPackage(insts[i], def.path); err != nil {
			return err
		}
	}
	l.anyTarget = l.targets.LookupPath(cue.ParsePath("any"))
	return l.loadBackends(insts[own:])
}

// buildPackage is the value at path of an embedded package.
func (l *loader) buildPackage(inst *build.Instance, path string) (cue.Value, error) {
	v := l.ctx.BuildInstance(inst).LookupPath(cue.ParsePath(path))
	if err := v.Err(); err != nil {
		return v, fmt.Errorf("build schema %s: %w", inst.ImportPath, err)
	}
	return v, nil
}

// loadBackends builds the schemas of the linked backends.
func (l *loader) loadBackends(insts []*build.Instance) error {
	l.entries = make([]cue.Value, len(l.backends))
	for i, b := range l.backends {
		var err error
		if l.entries[i], err = l.buildPackage(insts[i], "#Backend"); err != nil {
			return fmt.Errorf("backend %s: %w", b.ID(), err)
		}
		if !l.entries[i].LookupPath(cue.MakePath(cue.Str("skip").Optional())).Exists() {
			return fmt.Errorf("backend %s: #Backend of %s does not embed backend.#Backend of %s/cue/backend", b.ID(), b.Schema().ImportPath, schema.Module)
		}
	}
	return nil
}

// languageVersion is the CUE that the schema is written in.
const languageVersion = "v0.17.0"

// moduleText is a module file.
func moduleText(module string) string {
	return fmt.Sprintf("module: %q\nlanguage: version: %q\n", module, languageVersion)
}

// embeddedFiles are the embedded packages and those of backends, by <import path>/<file>.cue.
func embeddedFiles(backends []backend.Backend) map[string][]byte {
	files := map[string][]byte{}
	addFiles(files, schema.Module+"/cue", schema.Files)
	for _, b := range backends {
		s := b.Schema()
		addFiles(files, s.ImportPath, s.Files)
	}
	return files
}

func addFiles(files map[string][]byte, importPath string, from fs.FS) {
	// The embedded file systems have no errors to give: they were built into the binary.
	_ = fs.WalkDir(from, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".cue") {
			files[importPath+"/"+p], err = fs.ReadFile(from, p)
		}
		return err
	})
}

// layOut puts the packages of this module below virtual, and others where the module at root has packages of its own.
func (l *loader) layOut(overlay map[string]load.Source, root, virtual string) {
	for name, data := range embeddedFiles(l.backends) {
		if own, ok := strings.CutPrefix(name, schema.Module+"/"); ok {
			overlay[filepath.Join(virtual, filepath.FromSlash(own))] = load.FromBytes(data)
		} else {
			overlay[filepath.Join(root, "cue.mod", "pkg", filepath.FromSlash(name))] = load.FromBytes(data)
		}
	}
}

// build loads the user's file as one CUE value.
func (l *loader) build() (cue.Value, error) {
	cfg, err := l.config()
	if err != nil {
		return cue.Value{}, err
	}
	insts := load.Instances(l.files, cfg)
	if len(insts) != 1 {
		return cue.Value{}, diag.List{diag.New(diag.SpecRead, l.path, "want one package, got %d", len(insts))}
	}
	if err := firstErr(insts[0]); err != nil {
		return cue.Value{}, l.errors(err, diag.SpecRead)
	}
	v := l.ctx.BuildInstance(insts[0])
	l.root = v
	for _, f := range insts[0].Files {
		for _, d := range f.Decls {
			if field, ok := d.(*ast.Field); ok {
				l.addName(field)
			}
		}
	}
	return v, nil
}

// addName notes a regular field at the top of the file. Iterating the value would fail for all of them if one
// has an error.
func (l *loader) addName(f *ast.Field) {
	name, _, err := ast.LabelName(f.Label)
	if err == nil && !slices.Contains(l.names, name) && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#") {
		l.names = append(l.names, name)
	}
}

func firstErr(inst *build.Instance) error {
	if inst.Err != nil {
		return inst.Err
	}
	for _, imp := range inst.Imports {
		if err := firstErr(imp); err != nil {
			return err
		}
	}
	return nil
}

// config lays the embedded packages where the user's module would look for them: in its own tree if it is
// this module, where the registry says if it declares a dependency, below cue.mod/pkg otherwise.
func (l *loader) config() (*load.Config, error) {
	root, mod, err := findModule(l.dir)
	if err != nil {
		return nil, err
	}
	virtual := filepath.Join(root, "cue.mod", "pkg", filepath.FromSlash(schema.Module))
	overlay := map[string]load.Source{}
	switch {
	case mod == nil:
		overlay[filepath.Join(root, "cue.mod", "module.cue")] = load.FromString(moduleText("spec.local@v0"))
	case mod.QualifiedModule() == schema.Module+"@v0":
		virtual = root
	case mod.Deps[schema.Module+"@v0"] != nil:
		if v := mod.Deps[schema.Module+"@v0"].Version; v != schema.Version {
			return nil, diag.List{diag.New(diag.UnknownImport, filepath.Join(root, "cue.mod", "module.cue"),
				"%s@v0 is required at %s, this tool has %s", schema.Module, v, schema.Version)}
		}
		virtual = filepath.Join(root, "cue.mod", "embedded")
	}
	l.layOut(overlay, root, virtual)
	if err := l.layImports(overlay, root, mod); err != nil {
		return nil, err
	}
	reg := registry{virtual, l.backends}
	return &load.Config{Dir: l.dir, ModuleRoot: root, Overlay: overlay, Registry: reg, Env: []string{}}, nil
}

// layImports puts the imported files where the module at root looks for their packages: in its own tree if they are its
// own, below cue.mod/pkg otherwise.
func (l *loader) layImports(overlay map[string]load.Source, root string, mod *modfile.File) error {
	for _, imp := range l.imports {
		data, err := os.ReadFile(imp.File)
		if err != nil {
			return diag.List{diag.New(diag.SpecRead, imp.File, "%w", cause(err))}
		}
		dir := filepath.Join(root, "cue.mod", "pkg", filepath.FromSlash(imp.Path))
		if mod != nil {
			if own, ok := strings.CutPrefix(imp.Path+"/", mod.ModuleRootPath()+"/"); ok {
				dir = filepath.Join(root, filepath.FromSlash(own))
			}
		}
		place := filepath.Join(dir, filepath.Base(imp.File))
		overlay[place] = load.FromBytes(data)
		l.virtual[place] = imp.File
	}
	return nil
}

// findModule is the directory around dir that has a CUE module, and its file; without one, dir and nil.
func findModule(dir string) (string, *modfile.File, error) {
	for d := dir; ; d = filepath.Dir(d) {
		name := filepath.Join(d, "cue.mod", "module.cue")
		data, err := os.ReadFile(name)
		if err == nil {
			mod, err := modfile.ParseNonStrict(data, name)
			if err != nil {
				return "", nil, diag.List{diag.New(diag.SpecRead, name, "read module file: %w", err)}
			}
			return d, mod, nil
		}
		if d == filepath.Dir(d) {
			return dir, nil, nil
		}
	}
}

// registry serves the embedded module and nothing else; in particular it asks no network.
type registry struct {
	root     string
	backends []backend.Backend
}

func (r registry) ModFile(_ context.Context, v module.Version) (*modfile.File, error) {
	if err := r.check(v); err != nil {
		return nil, err
	}
	return modfile.Parse([]byte(moduleText(schema.Module+"@v0")), "module.cue")
}

func (r registry) Fetch(_ context.Context, v module.Version) (module.SourceLoc, error) {
	files := fstest.MapFS{"cue.mod/module.cue": {Data: []byte(moduleText(schema.Module + "@v0"))}}
	for name, data := range embeddedFiles(r.backends) {
		if own, ok := strings.CutPrefix(name, schema.Module+"/"); ok {
			files[own] = &fstest.MapFile{Data: data}
		}
	}
	return module.SourceLoc{FS: rootFS{files, r.root}, Dir: "."}, r.check(v)
}

func (r registry) ModuleVersions(_ context.Context, path string) ([]string, error) {
	if path == schema.Module || path == schema.Module+"@v0" {
		return []string{schema.Version}, nil
	}
	return nil, nil
}

func (r registry) check(v module.Version) error {
	if v.Path() == schema.Module+"@v0" && v.Version() == schema.Version {
		return nil
	}
	return fmt.Errorf("module %v is not built into this tool, and it does not use the network", v)
}

// rootFS is the embedded module at a place that exists in the loader's overlay only.
type rootFS struct {
	fs.FS
	root string
}

// OSRoot tells the loader where the overlay has the module.
func (f rootFS) OSRoot() string { return f.root }
