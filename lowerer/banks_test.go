package lowerer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// lowerBanks lowers a program with these methods, models of testdata by name, for a machine with these banks.
func lowerBanks(t *testing.T, banks string, methods map[string]string) (*pte.Program, *report.Report, error) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "package p\nimport (\n\"github.com/rules-pte/rules_pte/cue/lower\"\n\"github.com/rules-pte/rules_pte/cue/targets\"\n)\n"+
		"p: lower.#Program & {target: targets.#Target & {name: \"board\", os: \"none\", arch: \"arm\", dtypes: [\"float32\", \"int64\"]\n"+
		"max_rank: 4, page_size: 1024, cpu_features: []\nbanks: {%s}}}\n", banks)
	for name, model := range methods {
		path, err := filepath.Abs(filepath.Join("internal", "pt2", "testdata", model))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "p: methods: %s: model: %q\n", name, path)
	}
	file := filepath.Join(t.TempDir(), "spec.cue")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := config.Load(file, config.Options{Backends: []backend.Backend{fake{"Fake", 64}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	rep, err := LowerFile(context.Background(), spec, nil, &b, Options{})
	if err != nil {
		return nil, nil, err
	}
	p, err := pte.Read(b.Bytes())
	return p, rep, err
}

// TestBanks checks the arenas of programs whose methods share banks. add.pt2 needs 96 bytes, tensors of 32; counter.pt2 has
// a mutable buffer, which methods share in an arena of its own.
func TestBanks(t *testing.T) {
	two := map[string]string{"a": "add.pt2", "b": "add.pt2"}
	for _, c := range []struct {
		name, banks string
		methods     map[string]string
		want        string
	}{
		{"one bank", "ram: memory_id: 1", two, "a [0 96] b [0 96]"},
		{"the number is free", "ram: memory_id: 3", two, "a [0 0 0 96] b [0 0 0 96]"},
		{"the first method takes what it can", "fast: {memory_id: 2, size: 112}, ram: memory_id: 1", two, "a [0 0 96] b [0 96 0]"},
		{"the smaller bank comes first", "ram: {memory_id: 1, size: 128}, fast: {memory_id: 2, size: 64}", two, "a [0 32 64] b [0 96 0]"},
		{"state lies where no bank is", "fast: {memory_id: 2, size: 16}, ram: memory_id: 1",
			map[string]string{"a": "counter.pt2", "b": "counter.pt2"}, "a [0 32 16 28] b [0 48 0 28]"},
		{"not enough", "ram: {memory_id: 1, size: 150}", two,
			"spec.cue:8:35: bank ram: needs 192 bytes, has 150; no plan of method b can use less than 168"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, err := lowerBanks(t, c.banks, c.methods)
			got := fmt.Sprint(err)
			if err == nil {
				got = arenasOf(p)
			}
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestBanksPadding checks that what a backend reads past the end of an arena lies in the bank, too. All of tied.pt2 is one
// delegate call, with tensors of 32 and 240 bytes.
func TestBanksPadding(t *testing.T) {
	for _, c := range []struct{ banks, want string }{
		{"ram: memory_id: 1", "forward [0 336]"},
		{"fast: {memory_id: 2, size: 336}, ram: memory_id: 1", "forward [0 0 336]"},
		{"fast: {memory_id: 2, size: 335}, ram: memory_id: 1", "forward [0 96 304]"},
		{"fast: {memory_id: 2, size: 63}, ram: memory_id: 1", "forward [0 336 0]"},
		{"ram: {memory_id: 1, size: 335}", "bank ram: needs 336 bytes, has 335; no plan of method forward can use less than 328"},
	} {
		p, _, err := lowerBanks(t, c.banks+"}}, partition: [{id: \"Fake\"}], memory_planning: {banks: {", map[string]string{"forward": "tied.pt2"})
		got := fmt.Sprint(err)
		if err == nil {
			got = arenasOf(p)
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.banks, got, c.want)
		}
	}
}

// TestLowerBound checks that the state that methods share counts: no plan does without it.
func TestLowerBound(t *testing.T) {
	_, rep, err := lowerBanks(t, "ram: memory_id: 1", map[string]string{"a": "counter.pt2", "b": "counter.pt2"})
	if err != nil {
		t.Fatal(err)
	}
	if m := rep.Methods["a"]; m.LowerBound != 60 || sum(m.Arenas) != 76 {
		t.Errorf("got a bound of %d for arenas of %v", m.LowerBound, m.Arenas)
	}
}

func arenasOf(p *pte.Program) string {
	var all []string
	for _, plan := range p.Plans {
		all = append(all, fmt.Sprintf("%s %d", plan.Name, plan.NonConstBufferSizes))
	}
	return strings.Join(all, " ")
}
