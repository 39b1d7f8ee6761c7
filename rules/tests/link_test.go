package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// opPackage is the package whose variables are the kernels.
const opPackage = "github.com/rules-pte/rules_pte/runtime/op"

// goRun runs the go command in the root of the module and gives what it prints.
func goRun(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// variables are the names in the list of package op that begins with head in zrows.go.
func variables(t *testing.T, head string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "runtime", "op", "zrows.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), head)
	list, _, _ = strings.Cut(list, "\n}")
	var names []string
	for _, m := range regexp.MustCompile(`&(\w+)`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// linked are those of names that the binary holds, by its symbols.
func linked(t *testing.T, binary string, names []string) []string {
	t.Helper()
	symbols := map[string]bool{}
	for line := range strings.Lines(goRun(t, "tool", "nm", binary)) {
		f := strings.Fields(line)
		symbols[f[len(f)-1]] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !symbols[opPackage+"."+n] })
}

// TestOnlyWhatIsUsedIsLinked builds the runner of an example, unstripped, with the package that pte_runtime generates for
// it, and compares the kernels in the binary with those that the program calls, and the rows with those of the kernels.
func TestOnlyWhatIsUsedIsLinked(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	kernels, rows := variables(t, "var Kernels = []*Kernel{"), variables(t, "var Rows = []*Def{")
	if len(kernels) < len(rows) || len(rows) < 100 {
		t.Fatalf("%d kernels of %d rows: zrows.go has another form", len(kernels), len(rows))
	}
	for name, model := range map[string]string{"digits": "examples/digits/digits.pt2", "vad": "examples/vad/silero_vad.pt2"} {
		t.Run(name, func(t *testing.T) {
			want, binary := runner(t, name, model)
			if len(want) == 0 {
				t.Fatal("the program calls no kernel")
			}
			if got := linked(t, binary, kernels); !slices.Equal(got, want) {
				t.Errorf("linked kernels %v\nwant %v", got, want)
			}
			for _, row := range linked(t, binary, rows) {
				if !slices.ContainsFunc(want, func(kernel string) bool { return strings.HasPrefix(kernel, row) }) {
					t.Errorf("row %s is linked, and no kernel of it is called", row)
				}
			}
		})
	}
}

// runner builds a runner of a model, and gives the kernels that its program calls, in order, and the binary.
func runner(t *testing.T, name, model string) (kernels []string, binary string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	spec := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program & {methods: forward: model: \"m\"}\n"
	if err := os.WriteFile(file("spec.cue"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	pte := []string{"run", "./lowerer/cmd/pte", "lower"}
	for _, args := range [][]string{
		{"split", "--model", "m=" + model, "-o", file("graph")},
		{"program", "--spec", file("spec.cue"), "--graph", "m=" + file("graph"), "-o", file("program"), "--report", file("report")},
		{"pack", "--program", file("program"), "--model", "m=" + model, "-o", file(name + ".pte"), "--manifest", file("manifest")},
	} {
		goRun(t, append(slices.Clone(pte), args...)...)
	}
	generated := file("pteprogram.go")
	goRun(t, "run", "./rules/go/builder", "runtime", "-out="+generated, "-manifest="+file("manifest"), "-program="+name+"="+name+".pte")
	overlay(t, file("overlay.json"), map[string]string{
		"pteprogram/pteprogram.go":    generated,
		"pteprogram/" + name + ".pte": file(name + ".pte"),
	})
	goRun(t, "build", "-overlay="+file("overlay.json"), "-o", file("runner"), "./rules/runner")
	return manifestKernels(t, file("manifest")), file("runner")
}

// overlay writes the argument of go build -overlay for paths below the module's root.
func overlay(t *testing.T, file string, replace map[string]string) {
	t.Helper()
	abs := map[string]string{}
	for path, by := range replace {
		p, err := filepath.Abs(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		abs[p] = by
	}
	text, err := json.Marshal(map[string]any{"Replace": abs})
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func manifestKernels(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Kernels []string }
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	slices.Sort(m.Kernels)
	return slices.Compact(m.Kernels)
}
