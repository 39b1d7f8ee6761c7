package pte

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// specSource are the flags that name a spec.
type specSource struct {
	path, program *string
	*specFiles
}

func specFlags(f flags) *specSource {
	return &specSource{
		f.String("spec", "", "the spec, a `file` of CUE"), f.String("program", "", "the `name` of the program, where the spec has several"),
		specFileFlags(f),
	}
}

// specFiles are the flags for what a spec consists of beside its file.
type specFiles struct {
	srcs    names
	imports imports
}

func specFileFlags(f flags) *specFiles {
	s := &specFiles{}
	f.Var(&s.srcs, "src", "another `file` of the spec's package; repeatable")
	f.Var(&s.imports, "import", "a file of a package that the spec imports, as `importpath=file`; repeatable")
	return s
}

// paths are those of the files.
func (s *specFiles) paths() []string {
	list := slices.Clone(s.srcs)
	for _, i := range s.imports {
		list = append(list, i.File)
	}
	return list
}

// imports is a repeatable flag of the form importpath=file.
type imports []config.Import

// String is the flag's value for flag.Value.
func (i *imports) String() string {
	if len(*i) == 0 {
		return ""
	}
	return "set"
}

// Set adds one file.
func (i *imports) Set(s string) error {
	path, file, ok := strings.Cut(s, "=")
	if !ok || path == "" || file == "" {
		return usageError("want importpath=file")
	}
	*i = append(*i, config.Import{Path: path, File: file})
	return nil
}

// paths are those of the files that the spec consists of.
func (s *specSource) paths() []string { return append(s.specFiles.paths(), *s.path) }

func (s *specSource) load(e *env) (*config.Spec, error) {
	return loadSpecOf(e, *s.path, config.Options{Program: *s.program, Srcs: s.srcs, Imports: s.imports})
}

// resolved are the flags that name the two files into which vet splits a spec: its values, and their places.
type resolved struct{ values, places *string }

func resolvedFlags(f flags, what string) *resolved {
	return &resolved{
		f.String("values", "", "the `file` with the values of a spec, without expect, "+what),
		f.String("places", "", "the `file` with the places of the values"),
	}
}

// write writes both files, of the only one of specs or of the one that opts name in the file at path.
func (r *resolved) write(specs []*config.Spec, path string, opts config.Options) error {
	if *r.values == "" && *r.places == "" {
		return nil
	}
	if *r.values == "" || *r.places == "" {
		return usageError("want both of --values and --places")
	}
	spec := specs[0]
	if len(specs) > 1 {
		var err error
		if spec, err = config.Load(path, opts); err != nil {
			return err
		}
	}
	if err := writeFile(*r.values, spec.WriteValues); err != nil {
		return err
	}
	return writeFile(*r.places, spec.WritePlaces)
}

// read reads both files.
func (r *resolved) read(backends []backend.Backend) (*config.Spec, error) {
	var files [2]*os.File
	for i, name := range []string{*r.values, *r.places} {
		f, err := os.Open(name)
		if err != nil {
			return nil, diag.New(diag.FileRead, name, "%w", pathCause(err))
		}
		defer f.Close()
		files[i] = f
	}
	spec, err := config.ReadResolved(files[0], files[1], backends)
	if _, told := err.(diag.List); err != nil && !told {
		return nil, diag.New(diag.StaleStep, *r.values, "%w", err)
	}
	return spec, err
}

// writeUnused writes the list of inputs that a result does not depend on: the places are for errors alone.
func (r *resolved) writeUnused(path string) error {
	if path == "" {
		return nil
	}
	return writeFile(path, func(w io.Writer) error {
		if *r.places == "" {
			return nil
		}
		_, err := io.WriteString(w, *r.places+"\n")
		return err
	})
}

// programSpec is the spec of the step program, from its source or as vet resolved it.
func programSpec(e *env, src *specSource, r *resolved) (*config.Spec, error) {
	if *src.path != "" {
		return src.load(e)
	}
	spec, err := r.read(e.backends.AOT)
	if err != nil {
		return nil, err
	}
	return spec, lowerer.CheckSpec(spec)
}
