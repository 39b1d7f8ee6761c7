// Package backendtest is the suite that every backend passes: its ahead-of-time half and its run-time half, held
// against each other and against the program without them.
package backendtest

import (
	"bytes"
	"context"
	"embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// Suite is a backend to test.
type Suite struct {
	AOT     backend.Backend
	Runtime rtbackend.Backend
	// Entry is the backend's entry in a program's `partition`, in CUE; "" is {id: ID}.
	Entry string
	// Models are further .pt2 files to the suite's own, each with a method forward.
	Models []string
	// Tolerance is how far results may lie from those of the program without the backend, relative to the larger of 1 and
	// the result; 0 means 1e-5.
	Tolerance float64
	// Skips are tests of the suite that do not apply to the backend, each with the reason.
	Skips map[string]string
}

// tests are the suite's, by the names that Skips uses.
var tests = []struct {
	name string
	run  func(t *testing.T, s *Suite)
}{
	{"ids", ids},
	{"takes", takes},
	{"deterministic", deterministic},
	{"numerics", numerics},
	{"methods", methods},
	{"specs", specs},
	{"inputs", inputs},
	{"lifetime", lifetime},
	{"concurrent", concurrent},
	{"malformed", malformed},
	{"profiling", profiling},
}

// Run runs the suite. A skip of a test that is not there is an error.
func (s *Suite) Run(t *testing.T) {
	t.Helper()
	if s.Tolerance == 0 {
		s.Tolerance = 1e-5
	}
	known := map[string]bool{}
	for _, test := range tests {
		known[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			if reason := s.Skips[test.name]; reason != "" {
				t.Skip(reason)
			}
			test.run(t, s)
		})
	}
	for name := range s.Skips {
		if !known[name] {
			t.Errorf("a skip of %q, which is no test of the suite", name)
		}
	}
}

//go:embed testdata/*.pt2
var data embed.FS

// model writes a model of the suite into a folder of the test.
func model(t *testing.T, name string) string {
	t.Helper()
	content, err := data.ReadFile("testdata/" + name + ".pt2")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".pt2")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// modelNames are those of the suite with a method forward.
var modelNames = []string{"chain", "gap", "branch", "rows", "state", "dynamic"}

// each calls f with every model as a subtest.
func (s *Suite) each(t *testing.T, f func(t *testing.T, forward map[string]string)) {
	t.Helper()
	for _, name := range modelNames {
		t.Run(name, func(t *testing.T) { f(t, map[string]string{"forward": model(t, name)}) })
	}
	for _, file := range s.Models {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f(t, map[string]string{"forward": absolute(t, file)})
		})
	}
}

// lowered is a program with the backend's modules.
type lowered struct {
	file    []byte
	modules []*exir.LoweredModule
}

// lower lowers methods, by name, with the backend or without it.
func (s *Suite) lower(t *testing.T, methods map[string]string, delegate bool) lowered {
	t.Helper()
	entry := ""
	if delegate {
		if entry = s.Entry; entry == "" {
			entry = `{id: "` + s.AOT.ID() + `"}`
		}
	}
	text := "package test\n\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\n\nlower.#Program & {\n"
	for name, file := range methods {
		text += "\tmethods: \"" + name + "\": model: \"" + filepath.ToSlash(file) + "\"\n"
	}
	text += "\tpartition: [" + entry + "]\n}\n"
	path := filepath.Join(t.TempDir(), "spec.cue")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := lowerer.ReadSpec(path, []backend.Backend{s.AOT})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := lowerer.LowerFile(context.Background(), spec, nil, &out, lowerer.Options{}); err != nil {
		t.Fatal(err)
	}
	l, err := lowerer.Load(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	edge, err := l.ToEdge(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.ToBackend(spec, edge, nil, nil); err != nil {
		t.Fatal(err)
	}
	return lowered{out.Bytes(), l.Modules()}
}

// load loads a program with the backend, or with rt in its place.
func (s *Suite) load(t *testing.T, file []byte, opts executor.LoadOptions) *executor.Program {
	t.Helper()
	opts.Kernels = op.Kernels
	if opts.Backends == nil {
		opts.Backends = []rtbackend.Backend{s.Runtime}
	}
	p, err := executor.Load(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
