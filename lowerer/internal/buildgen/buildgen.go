// Package buildgen writes the BUILD files of folders with compile specs.
package buildgen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
)

// Options say what to write.
type Options struct {
	// Root is the folder of the workspace.
	Root string
	// Backends are those whose CUE packages specs can import.
	Backends []backend.Backend
	// Diff prints what would change to Out, instead of writing it.
	Diff bool
	Out  io.Writer
	// Warnings takes what is no error, a line each.
	Warnings io.Writer
}

// ErrStale is what a generator gives with Diff if something would change.
var ErrStale = errors.New("generated files are not fresh")

// Run writes targets for every *.pte.cue below the root: a pte_program for each program in it, a pte_runtime, and a pte_test
// if there are case files; and a pte_spec for each package that they import. Whatever else stands in the files stays, and so does a
// target, or an element of a list, with the comment `# keep`, and what a list comprehension makes. Files that are already right
// are not written.
func Run(opts Options) error {
	w := &workspace{opts: opts, folders: map[string]*folder{}}
	if err := w.read(); err != nil {
		return err
	}
	w.warnEmpty()
	if err := w.describe(); err != nil {
		return err
	}
	stale := false
	for _, dir := range w.dirs() {
		err := w.folders[dir].update(w)
		if err != nil && err != ErrStale {
			return err
		}
		stale = stale || err == ErrStale
	}
	if stale {
		return ErrStale
	}
	return nil
}

// warnEmpty says that there is no spec, and of a CUE file that its name is none of a spec.
func (w *workspace) warnEmpty() {
	other := ""
	for _, dir := range w.dirs() {
		f := w.folders[dir]
		if len(f.specs) > 0 {
			return
		}
		if other == "" && len(f.cue) > 0 {
			other = "; a spec has a name such as " + strings.TrimSuffix(f.cue[0], ".cue") + ".pte.cue, and there is " + path.Join(dir, f.cue[0])
		}
	}
	fmt.Fprintf(w.opts.Warnings, "warning: %s: no *.pte.cue here or below, which targets are written for%s\n", w.opts.Root, other)
}

// workspace is what a run knows.
type workspace struct {
	opts    Options
	module  string // the CUE module's path, "" without one
	folders map[string]*folder
}

// folder is a folder with CUE files or a BUILD file.
type folder struct {
	dir   string // slash-separated, relative to the root; "" for the root
	specs []string
	cue   []string // the other CUE files
	cases []string // JSON below cases/, relative to the folder
	// build is the name of the BUILD file, "" if there is none.
	build    string
	file     *build.File
	text     []byte
	programs []program
	// library is the import path, if specs import the folder.
	library string
	// libraryDeps are the labels that the library imports.
	libraryDeps []string
	// made are the rules that list comprehensions make.
	made []*build.Rule
	// removed are the kinds of rules that were taken out.
	removed map[string]bool
}

// dirs are the folders in order.
func (w *workspace) dirs() (dirs []string) {
	for dir := range w.folders {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

// skipped are folders that hold no packages of the workspace.
func skipped(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "bazel-")) ||
		name == "node_modules" || name == "cue.mod" || name == "testdata"
}

// read finds the folders and reads their BUILD files.
func (w *workspace) read() error {
	var err error
	if w.module, err = readModule(w.opts.Root); err != nil {
		return err
	}
	ignored, err := readIgnored(w.opts.Root)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(w.opts.Root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return unread(name, err, folderHint)
		}
		rel, err := filepath.Rel(w.opts.Root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !d.IsDir():
			w.add(rel)
			return nil
		case skipped(d.Name()) || slices.Contains(ignored, rel):
			if rel != "." {
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.parse()
}

// Hints of unread.
const (
	folderHint   = "give the folder of a workspace, in which everything can be read"
	readableHint = "let it be read, or remove it"
)

// unread is the error for a file or folder that cannot be read.
func unread(path string, err error, hint string) error {
	return diag.New(diag.FileRead, path, "%w", output.Cause(err)).WithHint("%s", hint)
}

// readIgnored are the folders that .bazelignore names.
func readIgnored(root string) ([]string, error) {
	name := filepath.Join(root, ".bazelignore")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unread(name, err, readableHint)
	}
	return strings.Fields(string(text)), nil
}

// at is the folder of that name.
func (w *workspace) at(dir string) *folder {
	if dir == "." {
		dir = ""
	}
	if w.folders[dir] == nil {
		w.folders[dir] = &folder{dir: dir}
	}
	return w.folders[dir]
}

// add notes a file.
func (w *workspace) add(name string) {
	dir, base := split(name)
	switch {
	case strings.HasSuffix(base, ".pte.cue"):
		f := w.at(dir)
		f.specs = append(f.specs, base)
	case strings.HasSuffix(base, ".cue"):
		f := w.at(dir)
		f.cue = append(f.cue, base)
	case base == "BUILD.bazel", base == "BUILD":
		if f := w.at(dir); f.build == "" || base == "BUILD.bazel" {
			f.build = base
		}
	case strings.HasSuffix(base, ".json"):
		if above, below, ok := strings.Cut("/"+name, "/cases/"); ok {
			f := w.at(strings.TrimPrefix(above, "/"))
			f.cases = append(f.cases, "cases/"+below)
		}
	}
}

// split is path.Split without the slash.
func split(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], name[i+1:]
}

// parse reads the BUILD files.
func (w *workspace) parse() error {
	for _, dir := range w.dirs() {
		f := w.folders[dir]
		if f.build == "" {
			continue
		}
		name := filepath.Join(w.opts.Root, filepath.FromSlash(dir), f.build)
		text, err := os.ReadFile(name)
		if err != nil {
			return unread(name, err, readableHint)
		}
		if f.file, err = build.ParseBuild(name, text); err != nil {
			return diag.New(diag.FileRead, "", "%w", err).WithHint("correct the file, or leave its folder out by .bazelignore")
		}
		f.text = text
		if err := f.expand(w.opts.Root); err != nil {
			return err
		}
	}
	return nil
}

// update brings the folder's BUILD file up to date. With Options.Diff the error is ErrStale if it is not.
func (f *folder) update(w *workspace) error {
	if len(f.specs) == 0 && f.library == "" && !f.mentionsPrograms() {
		return nil
	}
	name := f.build
	if f.file == nil {
		name, f.file = "BUILD.bazel", &build.File{Type: build.TypeBuild}
	}
	f.write(w)
	text := build.Format(f.file)
	// A file that only its format would change is left alone.
	if old, err := build.ParseBuild(name, f.text); err == nil && bytes.Equal(build.Format(old), text) {
		return nil
	}
	return w.opts.writeFile(path.Join(f.dir, name), string(text))
}

// mentionsPrograms reports a BUILD file with a pte_program, whose spec may be gone.
func (f *folder) mentionsPrograms() bool {
	return f.file != nil && len(f.file.Rules("pte_program")) > 0
}
