package config

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rules-pte/rules_pte/lowerer/backend"
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
