package config

//bazel:data //docs:pages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// kinds is a backend with a compile spec of every kind and encoding.
type kinds struct{}

const kindsSchema = `package kinds

import "github.com/rules-pte/rules_pte/cue/backend"

#Backend: backend.#Backend & {
	id:             "Kinds"
	compile_specs?: #CompileSpecs
}

#CompileSpecs: {
	text?:   string
	blob?:   bytes
	on?:     bool
	off?:    bool
	plain?:  int
	wide?:   int @encode(le64)
	middle?: int @encode(le32)
	small?:  int @encode(u8)
	number?: int @encode(text)
	mode?:   *"fast" | "small"
	either?: int | string
}
`

func (kinds) ID() string { return "Kinds" }
func (kinds) Schema() backend.Schema {
	return backend.Schema{ImportPath: "example.com/kinds", Files: fstest.MapFS{"backend.cue": {Data: []byte(kindsSchema)}}}
}
func (kinds) Partitioner(backend.Options) (backend.Partitioner, error) { return nil, nil }
func (kinds) Preprocess(*backend.Context, *exir.EdgeProgram, []backend.CompileSpec) (*backend.PreprocessResult, error) {
	return nil, nil
}

// TestCompileSpecs checks the bytes that a value becomes, and its text.
func TestCompileSpecs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.cue")
	text := `package p

import (
	"example.com/kinds"
	"github.com/rules-pte/rules_pte/cue/lower"
)

lower.#Program & {
	methods: forward: model: "m.pt2"
	partition: [kinds.#Backend & {compile_specs: {
		text: "two words", blob: '\x00\xff', on: true, off: false, plain: -2, wide: 258, middle: -1, small: 255, number: 12, mode: "small", either: 1
	}}]
}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	backends := []backend.Backend{kinds{}}
	s, err := Load(path, Options{Backends: backends})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ key, value, text string }{
		{"text", "two words", "two words"},
		{"blob", "\x00\xff", "0x00ff"},
		{"on", "\x01", "true"},
		{"off", "\x00", "false"},
		{"plain", "\xfe\xff\xff\xff\xff\xff\xff\xff", "-2"},
		{"wide", "\x02\x01\x00\x00\x00\x00\x00\x00", "258"},
		{"middle", "\xff\xff\xff\xff", "-1"},
		{"small", "\xff", "255"},
		{"number", "12", "12"},
		{"mode", "small", "small"},
		{"either", "\x01\x00\x00\x00\x00\x00\x00\x00", "0x0100000000000000"},
	}
	specs, textOf := s.Partition[0].Options.CompileSpecs, SpecTexts(backends)
	if len(specs) != len(want) {
		t.Fatalf("%d compile specs, want %d", len(specs), len(want))
	}
	for i, c := range want {
		text, err := textOf("Kinds", specs[i].Key, specs[i].Value)
		if specs[i].Key != c.key || string(specs[i].Value) != c.value || text != c.text || err != nil {
			t.Errorf("got %s = %q, text %q, error %v, want %s = %q, text %q", specs[i].Key, specs[i].Value, text, err, c.key, c.value, c.text)
		}
	}
	for _, c := range []struct{ id, key, value, want string }{
		{"Other", "on", "\x01", "0x01"}, {"Kinds", "unknown", "a", "a"}, {"Kinds", "on", "\x02", "0x02"}, {"Kinds", "small", "ab", "ab"}, {"Kinds", "wide", "", ""},
	} {
		if got, err := textOf(c.id, c.key, []byte(c.value)); got != c.want || err != nil {
			t.Errorf("%s %s = %q has the text %q, error %v, want %q", c.id, c.key, c.value, got, err, c.want)
		}
	}
}

// bare is a backend whose #Backend lacks what every entry has.
type bare struct{ kinds }

func (bare) Schema() backend.Schema {
	files := fstest.MapFS{"backend.cue": {Data: []byte("package kinds\n\n#Backend: {id: \"Kinds\", compile_specs: on: *true | bool}\n")}}
	return backend.Schema{ImportPath: "example.com/kinds", Files: files}
}

// TestBareBackend checks that such a schema is said to be the fault, and not the user's `skip`.
func TestBareBackend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.cue")
	text := "package p\n\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\n\nlower.#Program & {methods: forward: model: \"m.pt2\"}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "backend Kinds: #Backend of example.com/kinds does not embed backend.#Backend of github.com/rules-pte/rules_pte/cue/backend"
	if _, err := Load(path, Options{Backends: []backend.Backend{bare{}}}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// page is a backend with the schema that docs/add-a-backend.md shows.
type page struct {
	kinds
	schema string
}

func (page) ID() string { return "NpuBackend" }
func (p page) Schema() backend.Schema {
	return backend.Schema{ImportPath: "example.com/npu", Files: fstest.MapFS{"backend.cue": {Data: []byte(p.schema)}}}
}

// TestBackendPage lowers with the schema of docs/add-a-backend.md and the entry that the page has of it.
func TestBackendPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/add-a-backend.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```cue\npackage npu\n")
	schema, after, _ := strings.Cut(after, "```")
	_, after, _ = strings.Cut(after, "```cue\nimport \"example.com/npu\"\n")
	entry, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("the page has no such blocks")
	}
	path := filepath.Join(t.TempDir(), "p.cue")
	spec := "package p\n\nimport \"example.com/npu\"\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\n\nlower.#Program & {methods: forward: model: \"m.pt2\"" + entry +
		"}\nlower.#Program & {partition: [{compile_specs: tile: 258}]}\n"
	if err := os.WriteFile(path, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path, Options{Backends: []backend.Backend{page{schema: "package npu\n" + schema}}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Partition[0]
	if specs := got.Options.CompileSpecs; len(specs) != 1 || specs[0].Key != "tile" || string(specs[0].Value) != "\x02\x01\x00\x00" {
		t.Errorf("compile specs %q", specs)
	}
	if len(got.Skip) != 1 || got.Skip[0].Module != "decoder" {
		t.Errorf("skip %+v", got.Skip)
	}
}

// TestUnknownSpec checks that the hint has the fields of the backend's schema.
func TestUnknownSpec(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.cue")
	text := "package p\n\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\n\n" +
		"p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\tpartition: [{id: \"Kinds\", compile_specs: numbr: 1}]\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path, Options{Backends: []backend.Backend{kinds{}}})
	var list diag.List
	if !errors.As(err, &list) || len(list) != 1 || list[0].Msg != `unknown field "numbr" in partition.0.compile_specs` ||
		!strings.HasPrefix(list[0].Hint, `did you mean "number"? allowed: blob, `) {
		t.Errorf("%+v", err)
	}
}
