package pte

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// example is the example of a page: a spec, if any, a command, and what it prints.
var example = regexp.MustCompile("(?s)Example:\n\n(?:```cue\n(.*?)```\n\n)?```text\npte (.*?)\n```\n\n```\n(.*?)```\n\nWhat to do: ")

// TestExamples runs the example of every page of docs/errors and holds what it prints against the page, which must have
// the page's own code. With PTE_UPDATE the pages get what is printed.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	writeFixtures(t, dir)
	pages, err := filepath.Abs("../../docs/errors")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, code := range diag.Codes() {
		page, _ := diag.Explain(code)
		m := example.FindStringSubmatch(page)
		switch {
		case code == diag.Bug || code == "PTE1014" || code == "PTE1015" || strings.HasPrefix(string(code), "PTE31"):
			if !strings.Contains(page, " ["+string(code)+"]\n") {
				t.Errorf("%s: the page shows no error of that code", code)
			}
			continue // a fault of the tool, or of a backend's own code: tested in packages main and delegate
		case m == nil:
			t.Errorf("%s: the page has no example", code)
			continue
		}
		write(t, "spec.cue", []byte(m[1]))
		var out, errs bytes.Buffer
		lines := strings.Split(m[2], "\npte ") // the last one fails
		for _, line := range lines[:len(lines)-1] {
			if run(strings.Fields(line), &out, &errs) != 0 {
				t.Fatalf("%s: pte %s: %s", code, line, &errs)
			}
		}
		rc := run(strings.Fields(lines[len(lines)-1]), &out, &errs)
		if got := errs.String(); rc != exitUser || !strings.Contains(got, "["+string(code)+"]") {
			t.Errorf("%s: pte %s: exit code %d, printed\n%s", code, m[2], rc, got)
		} else if os.Getenv("PTE_UPDATE") != "" {
			again := strings.Replace(page, "\n```\n"+m[3]+"```\n\nWhat to do", "\n```\n"+got+"```\n\nWhat to do", 1)
			write(t, filepath.Join(pages, string(code)+".md"), []byte(again))
		} else if got != m[3] {
			t.Errorf("%s: pte %s printed\n%sthe page has\n%s", code, m[2], got, m[3])
		}
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// writeFixtures makes the files that the examples name.
func writeFixtures(t *testing.T, dir string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(elem ...string) []byte {
		b, err := os.ReadFile(filepath.Join(elem...))
		check(err)
		return b
	}
	add, program := read(modelDir, "add.pt2"), read(programDir, "add", "portable.pte")
	replace := func(old, text string) []byte {
		return editZip(check, add, func(_ string, b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(text)) })
	}
	array := func(sizes ...tensor.Dim) []byte {
		x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
		x.Data = make([]byte, x.Nbytes())
		return npy.Format(x)
	}
	files := map[string][]byte{
		"add.pt2": add, "tied.pt2": read(modelDir, "tied.pt2"), "dynamic.pt2": read(modelDir, "dynamic_two.pt2"), "unbounded.pt2": read(modelDir, "unbounded.pt2"),
		"notes.pt2": []byte("notes"), "notes.txt": []byte("notes"),
		"go.mod":        []byte("module example.com/npu\n"),
		"old.pt2":       replace(`"major": 8`, `"major": 9`),
		"cycle.pt2":     replace(`{"name": "args_1"}}, "kind"`, `{"name": "add"}}, "kind"`),
		"unknown.pt2":   chain(check, add, []string{"aten.reluu.default", "mylib.fuse.default"}),
		"and_float.pt2": replace(`aten.add.Tensor`, `aten.bitwise_and.Tensor`),
		"loop.pt2":      chain(check, add, []string{"higher_order.flex_attention"}),
		"add.pte":       program, "cut.pte": program[:500],
		"x.npy": array(2, 3), "y.npy": array(3),
		"case.json": []byte(`{"cases": [{"calls": [{"method": "forward", "inputs": [{"npy": "x.npy"}, {"npy": "x.npy"}], "outputs": [{"npy": "y.npy"}]}]}]}`),
	}
	for name, kind := range map[string]string{"delegated.pte": "backend", "huge.pte": "arena"} {
		b, err := pte.Marshal(badPrograms()[kind])
		check(err)
		files[name] = b
	}
	for name, b := range files {
		write(t, filepath.Join(dir, name), b)
	}
}
