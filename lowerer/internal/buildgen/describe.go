package buildgen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/parser"
	"cuelang.org/go/mod/modfile"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// program is what a target is written for.
type program struct {
	spec   string // the file
	field  string // the program's name in it, where it has several
	name   string // of the program, without _pte
	models []string
	deps   []string
}

// readModule is the path of the CUE module of the workspace.
func readModule(root string) (string, error) {
	name := filepath.Join(root, "cue.mod", "module.cue")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", unread(name, err, folderHint)
	}
	mod, err := modfile.ParseNonStrict(data, name)
	if err != nil {
		return "", diag.New(diag.FileRead, name, "%w", err).WithHint("correct it; `pte mod init` writes one into a folder that has none")
	}
	return mod.ModuleRootPath(), nil
}

// describe reads the specs, and marks the folders that they import.
func (w *workspace) describe() error {
	for _, dir := range w.dirs() {
		f := w.folders[dir]
		for _, spec := range f.specs {
			deps, err := w.importsOf(f, append([]string{spec}, f.srcs(spec)...), nil)
			if err != nil {
				return err
			}
			programs, err := w.programs(f, spec)
			if err != nil {
				return err
			}
			for _, p := range programs {
				p.deps = deps
				f.programs = append(f.programs, p)
			}
		}
	}
	return nil
}

// srcs are the further files of the spec's package, which a target names.
func (f *folder) srcs(spec string) []string {
	if f.file == nil {
		return nil
	}
	for _, r := range f.rules("pte_program") {
		if localFile(r.AttrString("spec")) == spec {
			return slices.DeleteFunc(slices.Clone(r.AttrStrings("srcs")), func(s string) bool {
				return !strings.HasSuffix(s, ".cue") || strings.HasPrefix(s, "//") || strings.HasPrefix(s, "@")
			})
		}
	}
	return nil
}

// localFile is a label of a file of this package as its name.
func localFile(label string) string { return strings.TrimPrefix(label, ":") }

// importsOf are the labels of the packages that files import; their folders become libraries. within are the folders on the
// way here.
func (w *workspace) importsOf(f *folder, files, within []string) (labels []string, err error) {
	for _, name := range files {
		path := filepath.Join(w.opts.Root, filepath.FromSlash(f.dir), filepath.FromSlash(localFile(name)))
		file, err := parser.ParseFile(path, nil, parser.ImportsOnly)
		if err != nil {
			return nil, diag.New(diag.SpecRead, path, "%w", err).WithHint("`pte vet` says of a spec where it is wrong")
		}
		for imp := range file.ImportSpecs() {
			text, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("read imports of %s: %w", path, err)
			}
			label, err := w.importLabel(text, within)
			if err != nil {
				return nil, err
			}
			if label != "" {
				labels = append(labels, label)
			}
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}

// importLabel is the target of an import path, "" for one that the workspace does not have.
func (w *workspace) importLabel(imported string, within []string) (string, error) {
	imported, _, _ = strings.Cut(imported, ":")
	for _, dir := range w.dirs() {
		if f := w.folders[dir]; f.file != nil {
			for _, r := range f.rules("pte_spec") {
				if r.AttrString("importpath") == imported {
					return labelOf(dir, r.Name()), w.library(f, imported, within)
				}
			}
		}
	}
	dir, ok := strings.CutPrefix(imported+"/", w.module+"/")
	f := w.folders[strings.TrimSuffix(dir, "/")]
	if w.module == "" || !ok || f == nil || len(f.cue) == 0 {
		return "", nil
	}
	return labelOf(f.dir, f.libraryName()), w.library(f, imported, within)
}

// library marks a folder that is imported.
func (w *workspace) library(f *folder, imported string, within []string) error {
	if slices.Contains(within, f.dir) || f.library != "" {
		return nil
	}
	f.library = imported
	var err error
	f.libraryDeps, err = w.importsOf(f, f.cue, append(slices.Clone(within), f.dir))
	return err
}

// libraryName is the name of the folder's pte_spec.
func (f *folder) libraryName() string {
	if _, base := split(f.dir); base != "" {
		return base
	}
	return "specs"
}

func labelOf(dir, name string) string {
	if _, base := split(dir); base == name {
		return "//" + dir
	}
	return "//" + dir + ":" + name
}

// programs loads the programs of a spec.
func (w *workspace) programs(f *folder, spec string) (out []program, err error) {
	path := func(name string) string {
		return filepath.Join(w.opts.Root, filepath.FromSlash(f.dir), filepath.FromSlash(name))
	}
	opts := config.Options{Backends: w.opts.Backends, Imports: w.imports()}
	for _, s := range f.srcs(spec) {
		opts.Srcs = append(opts.Srcs, path(localFile(s)))
	}
	specs, err := config.LoadAll(path(spec), opts)
	if err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(spec, ".pte.cue")
	for _, s := range specs {
		p := program{spec: spec, name: stem, models: s.Models()}
		if len(specs) > 1 {
			p.field, p.name = s.Name.V, s.Name.V
		}
		out = append(out, p)
	}
	return out, nil
}

// imports are the files of the libraries, as the rules hand them to the tool.
func (w *workspace) imports() (files []config.Import) {
	for _, dir := range w.dirs() {
		f := w.folders[dir]
		if f.library == "" {
			continue
		}
		for _, name := range f.cue {
			files = append(files, config.Import{Path: f.library, File: filepath.Join(w.opts.Root, filepath.FromSlash(dir), name)})
		}
	}
	return files
}
