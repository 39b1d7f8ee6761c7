package lowerer

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

//bazel:data //examples/digits:digits.pt2
//bazel:data //examples/vad:silero_vad.pt2
//bazel:data //lowerer/internal/pt2:testdata

var models = []string{
	"../examples/digits/digits.pt2", "../examples/vad/silero_vad.pt2",
	"internal/pt2/testdata/add.pt2", "internal/pt2/testdata/cond.pt2", "internal/pt2/testdata/counter.pt2",
	"internal/pt2/testdata/dynamic_two.pt2", "internal/pt2/testdata/guards.pt2", "internal/pt2/testdata/lifted.pt2",
	"internal/pt2/testdata/pickled.pt2",
}

func defaultSpec(t *testing.T, model string) *config.Spec {
	t.Helper()
	spec, err := config.DefaultSpec([]config.Named{{Method: "forward", Model: model}})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func lowerFile(t *testing.T, model string) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := LowerFile(context.Background(), defaultSpec(t, model), nil, &b, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// steps lowers model as a build system does.
func steps(t *testing.T, model string) []byte {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b *bytes.Buffer) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var graph, program, out bytes.Buffer
	if err := SplitFile(model, &graph); err != nil {
		t.Fatal(err)
	}
	file := write("graph", &graph)
	if _, err := ProgramStep(defaultSpec(t, model), map[string]string{model: file}, &program, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := PackStep(write("program", &program), map[string]string{model: model}, nil, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSteps checks that the four steps and the one command write the same valid file, every time.
func TestSteps(t *testing.T) {
	for _, model := range models {
		t.Run(filepath.Base(model), func(t *testing.T) {
			whole := lowerFile(t, model)
			if err := pte.Verify(whole); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(whole, lowerFile(t, model)) {
				t.Error("lowering twice gives two files")
			}
			if !bytes.Equal(whole, steps(t, model)) {
				t.Error("the steps give another file than the one command")
			}
		})
	}
}

// TestSplitIgnoresWeights checks that new weights leave the graph file as it is.
func TestSplitIgnoresWeights(t *testing.T) {
	data, err := os.ReadFile("../examples/digits/digits.pt2")
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := SplitFile("../examples/digits/digits.pt2", &before); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("data/weights/weight_0"))
	at = (at/64 + 2) * 64 // within the payload, which begins at a multiple of 64
	data[at] ^= 1
	file := filepath.Join(t.TempDir(), "digits.pt2")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SplitFile(file, &after); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("a changed weight changes the graph")
	}
}
