package lowerer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// TestArenas checks that committed models take no larger arenas than the official exporter plans for them.
func TestArenas(t *testing.T) {
	for _, c := range []struct {
		model    string
		official int64 // bytes
	}{
		{"../examples/vad/silero_vad.pt2", 267264},
		{"internal/pt2/testdata/add.pt2", 96},
		{"internal/pt2/testdata/cond.pt2", 96},
		{"internal/pt2/testdata/counter.pt2", 112},
		{"internal/pt2/testdata/lifted.pt2", 144},
		{"internal/pt2/testdata/tied.pt2", 976},
	} {
		var b bytes.Buffer
		rep, err := LowerFile(context.Background(), defaultSpec(t, c.model), nil, &b, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.model, err)
			continue
		}
		if rep.ArenaBytes > c.official {
			t.Errorf("%s: arenas of %d bytes, the official program has %d", c.model, rep.ArenaBytes, c.official)
		}
	}
}

// TestZooArenas does so for every model under PTE_ZOO with a portable.pte beside it. Where the official program was
// narrowed to smaller inputs than the model was exported with, ours is narrowed likewise first.
func TestZooArenas(t *testing.T) {
	zoo := os.Getenv("PTE_ZOO")
	if zoo == "" {
		t.Skip("PTE_ZOO is not set")
	}
	programs, err := filepath.Glob(filepath.Join(zoo, "*", "portable.pte"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs under %s: %v", zoo, err)
	}
	for _, program := range programs {
		t.Run(filepath.Base(filepath.Dir(program)), func(t *testing.T) { compareArenas(t, program) })
	}
}

func compareArenas(t *testing.T, program string) {
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	official, err := pte.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	spec := zooSpec(t, filepath.Dir(program), official)
	var b bytes.Buffer
	rep, err := LowerFile(context.Background(), spec, nil, &b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range official.Plans {
		m := rep.Methods[plan.Name]
		if m == nil {
			continue
		}
		if got, want := sum(m.Arenas), sum(plan.NonConstBufferSizes); got > want {
			t.Errorf("method %s: arenas of %d bytes, the official program has %d; no plan is below %d", plan.Name, got, want, m.LowerBound)
		}
	}
}

// zooSpec is a spec of the models in dir, with dynamic dimensions as large as those of the official program.
func zooSpec(t *testing.T, dir string, official *pte.Program) *config.Spec {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pt2"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in %s: %v", dir, err)
	}
	var models []config.Named
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".pt2")
		if name == "model" {
			name = "forward"
		}
		models = append(models, config.Named{Method: name, Model: f})
	}
	spec, err := config.DefaultSpec(models)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program\n")
	for _, m := range l.Inputs() {
		fmt.Fprintf(&text, "p: methods: %q: model: %q\n", m.Method, m.Model)
		writeShapes(&text, &m, official)
	}
	file := filepath.Join(t.TempDir(), "spec.cue")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err = config.Load(file, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func writeShapes(text *strings.Builder, m *MethodInputs, official *pte.Program) {
	at := sort.Search(len(official.Plans), func(i int) bool { return official.Plans[i].Name >= m.Method })
	if at == len(official.Plans) || official.Plans[at].Name != m.Method {
		return
	}
	plan := official.Plans[at]
	for i, in := range m.Inputs {
		for _, d := range in.Dynamic {
			if d.Symbol() && i < len(plan.Inputs) {
				size := plan.Values[plan.Inputs[i]].Tensor.Sizes[d.Dim]
				fmt.Fprintf(text, "p: methods: %q: dynamic_shapes: %q: \"%d\": max: %d\n", m.Method, in.Name, d.Dim, size)
			}
		}
	}
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}
