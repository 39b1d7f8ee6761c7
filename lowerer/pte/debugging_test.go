package pte

//bazel:data //docs:pages

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	console = regexp.MustCompile("(?s)```console\n\\$ pte (.*?)```")
	figure  = regexp.MustCompile(`\b\d+(\.\d+)?(e-\d+)?\b`)
	blanks  = regexp.MustCompile(` +`)
)

// shape is text without its figures, whose last digits differ between machines, and without the widths of columns.
func shape(text string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(figure.ReplaceAllString(text, "N"), " "))
}

// debuggingFiles makes the files that docs/debugging.md starts from in the current folder.
func debuggingFiles(t *testing.T, models, page string) {
	t.Helper()
	for name, from := range map[string]string{"net.pt2": "chain.pt2", "x.npy": "chain_in.npy"} {
		b, err := os.ReadFile(filepath.Join(models, from))
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, b)
	}
	_, spec, _ := strings.Cut(page, "```cue\n")
	spec, _, _ = strings.Cut(spec, "```")
	write(t, "net.cue", []byte(spec))
}

// TestDebuggingPage runs the commands of docs/debugging.md and holds what they print against it.
func TestDebuggingPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/debugging.md")
	if err != nil {
		t.Fatal(err)
	}
	models, err := filepath.Abs("../../backends/backendtest/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	debuggingFiles(t, models, string(text))
	for _, block := range console.FindAllStringSubmatch(string(text), -1) {
		for _, example := range strings.Split(block[1], "$ pte ") {
			command, want, _ := strings.Cut(example, "\n")
			var out bytes.Buffer
			run(strings.Fields(command), &out, &out)
			if shape(out.String()) != shape(want) {
				t.Errorf("pte %s printed\n%swant\n%s", command, &out, want)
			}
			if strings.Contains(command, "-o plain.pte") {
				changeWeight(t, "plain.pte", "changed.pte")
			}
		}
	}
}

func changeWeight(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = reweigh(b, 3); err != nil {
		t.Fatal(err)
	}
	write(t, to, b)
}

// event is what tools/oracle/inspect_etdump.py prints of an event.
type event struct {
	Name, Backend string
	Handles       []int
	Values        []any
	Ops           []string
	Stacks        map[string]string
	Modules       [][]string
}

// inspect lets ExecuTorch's Inspector read a trace of the program fused.pte of docs/debugging.md with the files that args
// name. PTE_ORACLE is a Python that has executorch.
func inspect(t *testing.T, args ...string) []event {
	t.Helper()
	python := os.Getenv("PTE_ORACLE")
	if python == "" {
		t.Skip("PTE_ORACLE is not set")
	}
	script, err := filepath.Abs("../../tools/oracle/inspect_etdump.py")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/debugging.md")
	if err != nil {
		t.Fatal(err)
	}
	models, err := filepath.Abs("../../backends/backendtest/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	debuggingFiles(t, models, string(page))
	for _, command := range []string{"lower -o fused.pte --debug fused.debug.json --etrecord fused.etrecord net.cue", "run fused.pte --input x.npy --trace t.etdp --debug-buffer t.bin"} {
		var out bytes.Buffer
		if rc := run(strings.Fields(command), &out, &out); rc != 0 {
			t.Fatalf("pte %s: exit code %d: %s", command, rc, &out)
		}
	}
	cmd := exec.Command(python, append([]string{script, "t.etdp", "t.bin"}, args...)...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	var events []event
	if err == nil {
		err = json.Unmarshal(b, &events)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return events
}

// TestInspectorHandles gives Inspector the maps of the debug file.
func TestInspectorHandles(t *testing.T) {
	events := inspect(t, "fused.debug.json", "forward")
	want := map[string][]int{"DELEGATE_CALL": {1, 2, 3, 4, 5}, "0": {1, 2}, "1": {3, 4}, "2": {5}, "3": {5}, "4": {5}}
	for _, e := range events {
		handles, ok := want[e.Name]
		if !ok {
			continue
		}
		if !slices.Equal(e.Handles, handles) || e.Backend != "BackendWithDelegateMappingDemo" || len(e.Values) == 0 {
			t.Errorf("event %s of %q has handles %v and %d values, want %v", e.Name, e.Backend, e.Handles, len(e.Values), handles)
		}
		delete(want, e.Name)
	}
	if len(want) > 0 {
		t.Errorf("no event for %v", want)
	}
}

// TestInspectorRecord gives Inspector the ETRecord: an event has the operators and the Python lines of its nodes.
func TestInspectorRecord(t *testing.T) {
	want := map[string]string{"0": "aten.convolution.default aten.relu.default", "1": "aten.convolution.default aten.relu.default",
		"2": "aten.tan.default"}
	for _, e := range inspect(t, "fused.etrecord") {
		ops, ok := want[e.Name]
		if !ok {
			continue
		}
		slices.Sort(e.Ops)
		if got := strings.Join(e.Ops, " "); !strings.Contains(got, ops) || len(e.Stacks) == 0 {
			t.Errorf("event %s has operators %q and %d stacks, want %q", e.Name, got, len(e.Stacks), ops)
		}
		delete(want, e.Name)
	}
	if len(want) > 0 {
		t.Errorf("no event for %v", want)
	}
}
