package tests

import (
	"encoding/json"
	"errors"
	"fmt"
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

// noDWARF is a flag that makes linking take half the time, and leaves the symbols.
const noDWARF = "-ldflags=-w"

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

// TestOnlyWhatIsUsedIsLinked builds the runner of each program, unstripped, with the package that pte_runtime generates for
// it. The kernels in the binary must be those that the instructions of the .pte call, and so must those in the manifest;
// the rows must be those of the kernels. PTE_MODELS names folders with a model.pt2 each, in one folder.
func TestOnlyWhatIsUsedIsLinked(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	kernels, rows := variables(t, "var Kernels = []*Kernel{"), variables(t, "var Rows = []*Def{")
	if len(kernels) < len(rows) || len(rows) < 100 {
		t.Fatalf("%d kernels of %d rows: zrows.go has another form", len(kernels), len(rows))
	}
	tools := buildTools(t)
	for name, model := range models(t) {
		t.Run(name, func(t *testing.T) {
			r := tools.runner(t, model, noDWARF)
			want, _ := called(t, tools.pte(t, "inspect", "--json", r.program))
			if got := manifestKernels(t, r.manifest); !slices.Equal(got, want) {
				t.Errorf("kernels of the manifest %v\nwant %v", got, want)
			}
			if got := linked(t, r.binary, kernels); !slices.Equal(got, want) {
				t.Errorf("linked kernels %v\nwant %v", got, want)
			}
			for _, row := range linked(t, r.binary, rows) {
				if !slices.ContainsFunc(want, func(kernel string) bool { return strings.HasPrefix(kernel, row) }) {
					t.Errorf("row %s is linked, and no kernel of it is called", row)
				}
			}
		})
	}
}

// models are those of the examples and of PTE_MODELS, by name.
func models(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"digits": "examples/digits/digits.pt2", "vad": "examples/vad/silero_vad.pt2"}
	if dir := os.Getenv("PTE_MODELS"); dir != "" {
		found, err := filepath.Glob(filepath.Join(dir, "*", "model.pt2"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no model in PTE_MODELS=%s (%v)", dir, err)
		}
		for _, f := range found {
			all["ready/"+filepath.Base(filepath.Dir(f))] = f
		}
	}
	return all
}

// tools are the commands of the module, built once.
type tools struct{ dir string }

func buildTools(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	goRun(t, "build", "-o", dir, "./lowerer/cmd/pte", "./rules/go/builder")
	return tools{dir}
}

// run runs one of the tools in the root of the module and gives what it prints.
func (x tools) run(t *testing.T, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(x.dir, tool), args...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out)
}

func (x tools) pte(t *testing.T, args ...string) string { return x.run(t, "pte", args...) }

// built are the files of a runner.
type built struct{ program, manifest, binary string }

// runner lowers a model and builds a runner of it. The program is in the binary; the flags go to go build.
func (x tools) runner(t *testing.T, model string, flags ...string) built {
	t.Helper()
	b := x.lower(t, model, "")
	x.link(t, b, nil, flags...)
	return b
}

// lower lowers a model in steps, for the backend of the CUE package partition, or for none.
func (x tools) lower(t *testing.T, model, partition string) built {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	spec, entry := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\n", ""
	if partition != "" {
		spec += "import backend \"" + partition + "\"\n"
		entry = "partition: [backend.#Backend]"
	}
	spec += "p: lower.#Program & {\nmethods: forward: model: \"m\"\n" + entry + "\n}\n"
	if err := os.WriteFile(file("spec.cue"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	b := built{file("p.pte"), file("manifest"), file("runner")}
	x.pte(t, "lower", "split", "--model", "m="+model, "-o", file("graph"))
	x.pte(t, "lower", "program", "--spec", file("spec.cue"), "--graph", "m="+file("graph"), "-o", file("program"), "--report", file("report"))
	x.pte(t, "lower", "pack", "--program", file("program"), "--model", "m="+model, "-o", b.program, "--manifest", b.manifest)
	return b
}

// link builds the runner with the package of the program's manifest, which these backends may be in; the flag -tags=ptefile
// leaves the program out.
func (x tools) link(t *testing.T, b built, backends []string, flags ...string) {
	t.Helper()
	generated := b.binary + ".go"
	args := append([]string{"runtime", "-out=" + generated, "-manifest=p|" + b.manifest}, offers(backends)...)
	files := map[string]string{"pteprogram/pteprogram.go": generated}
	if !slices.Contains(flags, "-tags=ptefile") {
		args = append(args, "-program=p=p.pte")
		files["pteprogram/p.pte"] = b.program
	}
	x.run(t, "builder", args...)
	overlay(t, b.binary+".json", files)
	goRun(t, append(append([]string{"build", "-overlay=" + b.binary + ".json", "-o", b.binary}, flags...), "./rules/runner")...)
}

// offers are the builder's flags that offer backends of this project.
func offers(names []string) (flags []string) {
	for _, name := range names {
		pkg := "github.com/rules-pte/rules_pte/backends/" + name
		flags = append(flags, fmt.Sprintf("-backend=%s|backends/%s/backend.json|%s/aot|%s/rt", name, name, pkg, pkg))
	}
	return flags
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
