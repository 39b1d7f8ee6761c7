package tests

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// npuNames are what makes backends/demo a backend of another module, in this order.
var npuNames = strings.NewReplacer(
	"github.com/rules-pte/rules_pte/backends/demo", "example.com/npu",
	"BackendWithDelegateMappingDemo", "NpuBackend",
	"BackendWithPreprocessAllDemo", "NpuAllBackend",
	"package demo", "package npu",
	"demo.", "npu.",
)

// shared is the folder and the output base of all that backendsWorkspace gives, where what one test has built is there for the
// next, and the SDK that sharedSDK gives, with the output base where it lies.
var shared struct{ dir, user, sdk, sdkUser string }

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.user != "" {
		_, _ = (&workspace{dir: shared.dir, user: shared.user, env: []string{fetched}}).bazel("shutdown")
	}
	for _, dir := range []string{shared.dir, shared.user, shared.sdkUser} {
		code = max(code, removed(dir))
	}
	os.Exit(code)
}

// sharedFolder is *dir, which is made if it is "" and stays for the tests that follow.
func sharedFolder(t *testing.T, dir *string) string {
	t.Helper()
	if *dir == "" {
		var err error
		if *dir, err = os.MkdirTemp("", "pte-tests-"); err != nil {
			t.Fatal(err)
		}
	}
	return *dir
}

// removed is 1 if a folder, unless it is "", cannot be removed.
func removed(dir string) int {
	if dir == "" {
		return 0
	}
	_ = exec.Command("chmod", "-R", "u+w", dir).Run() // Bazel's outputs
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// backendsWorkspace is the workspace with backends of this project, and a copy of one with names of its own. Its Bazel, which
// the tests share, may have built targets before.
func backendsWorkspace(t *testing.T) *workspace {
	t.Helper()
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	w := &workspace{t: t, dir: sharedFolder(t, &shared.dir), user: sharedFolder(t, &shared.user), log: filepath.Join(t.TempDir(), "log.json")}
	w.clear()
	w.fill("backends")
	for _, f := range []string{"chain.pt2", "chain_in.npy", "chain_out.npy"} {
		w.copy(f, "../../backends/backendtest/testdata/"+f, nil)
	}
	for _, dir := range []string{".", "aot", "rt", "blob"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "backends", "demo", dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if ext := filepath.Ext(f); (ext == ".go" || ext == ".cue") && !strings.HasSuffix(f, "_test.go") {
				w.copy(filepath.Join("npu", dir, filepath.Base(f)), f, npuNames)
			}
		}
	}
	return w
}

// clear removes all files but Bazel's links.
func (w *workspace) clear() {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "bazel-") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
			w.t.Fatal(err)
		}
	}
}

// copy copies a file, with other names if names is not nil.
func (w *workspace) copy(to, from string, names *strings.Replacer) {
	w.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		w.t.Fatal(err)
	}
	if names != nil {
		text = []byte(names.Replace(string(text)))
	}
	w.write(to, string(text))
}

// bin is a file that Bazel has built for its own platform.
func (w *workspace) bin(name string) string { return filepath.Join(w.dir, "bazel-bin", name) }

// holds are those of packages whose functions are in the binary, by their names in its tables, which stripping leaves.
func holds(t *testing.T, binary string, packages ...string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if bytes.Contains(text, []byte(p+".Backend.ID")) || bytes.Contains(text, []byte(p+".(*Backend).ID")) {
			found = append(found, p)
		}
	}
	return found
}

// TestBackendsAreChosen checks which backends are in binaries.
func TestBackendsAreChosen(t *testing.T) {
	w := backendsWorkspace(t)
	demo, null, xnnpack := "rules_pte/backends/demo/rt", "rules_pte/backends/null/rt", "rules_pte/backends/xnnpack/rt"
	w.build("//:plain", "//:demo", "//:declared", "//:own")
	for _, c := range []struct {
		name string
		want string
	}{{"plain", ""}, {"demo", demo}, {"declared", demo + " " + null}, {"own", "example.com/npu/rt"}} {
		if got := strings.Join(holds(t, w.bin(c.name), demo, null, xnnpack, "example.com/npu/rt"), " "); got != c.want {
			t.Errorf("%s: holds %q, want %q", c.name, got, c.want)
		}
		if out, err := exec.Command(w.bin(c.name)).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("forward: 1 inputs")) {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
	for _, c := range []struct{ target, want string }{
		{"//:wrong_backends", `//:wrong_backends: program //:demo_pte needs backend "BackendWithDelegateMappingDemo", which backends = [...] does not list; it lists "NullBackend"`},
		{"//:twice", `//:twice: backend "NullBackend" is in both `},
	} {
		if out, err := w.bazel("build", c.target); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.target, err, c.want, out)
		}
	}
}

// TestRefused checks the texts of what analysis refuses.
func TestRefused(t *testing.T) {
	w := backendsWorkspace(t)
	for _, c := range []struct{ target, want string }{
		{"two_pte", "//bad:two_pte: models: //bad:two is 2 files, want one"},
		{"same_name", `//bad:same_name: programs //bad:plain_pte and //:plain_pte are both called "plain": set ` + "`out` of one"},
		{"below", "//bad:below: bad/below/below.go does not lie in the folder of the BUILD file: each Go package has one of its own"},
		{"no_half", "//bad:no_half: a backend needs aot, rt or both"},
		{"no_backend", "in backends attribute of pte_runtime rule //bad:no_backend: '//bad:two' does not have mandatory providers: 'PteBackendInfo'"},
		{"no_program", "in programs attribute of pte_runtime rule //bad:no_program: '//bad:two' does not have mandatory providers: 'PteProgramInfo'"},
		{"no_platform", "pte builds for the platforms in @rules_pte//rules/platforms"},
	} {
		if out, err := w.bazel("build", "--nobuild", "//bad:"+c.target); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.target, err, c.want, out)
		}
	}
}

// TestOwnBackend builds a tool and a runtime with a backend of the user's workspace, whose Go module path is its own, and
// checks that pte_test runs with it and that a manifest with a wrong id is refused.
func TestOwnBackend(t *testing.T) {
	w := backendsWorkspace(t)
	w.build("//:npu")
	demo := "rules_pte/backends/demo/rt"
	if got := holds(t, w.bin("npu"), demo, "example.com/npu/rt"); len(got) != 1 || got[0] != "example.com/npu/rt" {
		t.Errorf("the runtime holds %q", got)
	}
	if out, err := exec.Command(w.bin("npu")).CombinedOutput(); err != nil {
		t.Errorf("run: %v\n%s", err, out)
	}
	if out, err := w.bazel("test", "--test_output=errors", "//:npu_test"); err != nil {
		t.Errorf("pte_test: %v\n%s", err, out)
	}
	w.replace("npu.json", `"NpuBackend"`, `"TpuBackend"`)
	want := `//:npu_pte_tool: backend //:npu_backend: its manifest has id "TpuBackend" for aot = "Backend{}", whose ID() is "NpuBackend"`
	if out, err := w.bazel("build", "//:npu"); err == nil || !strings.Contains(out, want) {
		t.Errorf("wrong id: %v, want %s\n%s", err, want, out)
	}
}

// TestContract checks that a build fails at the line of the spec that the delegation misses, with the nodes and why they
// were left, and that it builds once the contract holds.
func TestContract(t *testing.T) {
	w := backendsWorkspace(t)
	contract := "[demo.#Backend & {skip: op: \"aten.tan.default\"}]\n\texpect: delegation: BackendWithDelegateMappingDemo: nodes: 1"
	w.replace("demo.pte.cue", "[demo.#Backend]", contract)
	out, err := w.bazel("build", "//:demo_pte")
	for _, want := range []string{
		"demo.pte.cue:11:54: expect.delegation.BackendWithDelegateMappingDemo.nodes: got 0.8, want 1 [PTE1010]",
		"forward: tan = aten.tan.default: BackendWithDelegateMappingDemo: the spec skips it",
		"models.py:18",
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("got %v, want %s\n%s", err, want, out)
		}
	}
	w.replace("demo.pte.cue", "{skip: op: \"aten.tan.default\"}", "{}")
	w.build("//:demo_pte")
}

// platforms are what a runtime is built for, by its attribute or by --platforms, and how it is run here; nil for one that is
// only built.
var platforms = []struct {
	name, file string
	run        []string
	flag       bool
}{
	{"linux_amd64", "", []string{}, false},
	{"linux_arm64", "", []string{"qemu-aarch64-static"}, false},
	{"linux_arm", "", []string{"qemu-arm-static"}, false},
	{"linux_riscv64", "", []string{"qemu-riscv64-static"}, true},
	{"wasip1_wasm", ".wasm", []string{"node", "--no-warnings", "-e", wasiLoader}, false},
	{"js_wasm", ".wasm", []string{"node", "GOROOT/lib/wasm/wasm_exec_node.js"}, false},
	{"android_arm64", "", nil, false},
	{"darwin_arm64", "", nil, false},
	{"windows_amd64", ".exe", nil, false},
}

// wasiLoader runs the WASI program that is its argument.
const wasiLoader = `const {WASI} = require("node:wasi");
const wasi = new WASI({version: "preview1", args: ["main"]});
const code = require("fs").readFileSync(process.argv[1]);
WebAssembly.instantiate(code, wasi.getImportObject()).then(x => wasi.start(x.instance));`

// demoTable is the table of what is linked that pte_closure_test looks for; the backend takes the whole program.
const demoTable = "pte closure 1\nbackend BackendWithDelegateMappingDemo\nend of pte closure\n"

// TestPlatforms builds a runtime for every platform, and compares what it computes with amd64's. Every binary has the table of
// what it links.
func TestPlatforms(t *testing.T) {
	w := backendsWorkspace(t)
	goroot := strings.TrimSpace(goRun(t, "env", "GOROOT"))
	var want []float64
	for _, p := range platforms {
		target, flags := "on_"+p.name, []string{}
		if p.flag {
			target, flags = "anywhere", []string{"--platforms=@rules_pte//rules/platforms:" + p.name}
		}
		w.build(append(flags, "//:"+target)...)
		binary := w.bin(target + p.file)
		if text, err := os.ReadFile(binary); err != nil || !bytes.Contains(text, []byte(demoTable)) {
			t.Errorf("%s: no table of what is linked (%v)", p.name, err)
		}
		if p.run == nil {
			continue
		}
		run := strings.NewReplacer("GOROOT", goroot)
		for i := range p.run {
			p.run[i] = run.Replace(p.run[i])
		}
		out, err := exec.Command("env", append(p.run, binary)...).Output()
		if err != nil {
			t.Errorf("run on %s: %v", p.name, err)
			continue
		}
		head, got := numbers(t, string(out))
		if wanted := strings.Replace(p.name, "_", " ", 1) + " 1"; head != wanted {
			t.Errorf("%s: says it is %q", p.name, head)
		}
		if want == nil {
			want = got
		}
		compare(t, p.name, got, want)
	}
}

// TestLoweredOnce checks that a program which runtimes for two platforms link, and one that names no platform, is lowered by one
// action.
func TestLoweredOnce(t *testing.T) {
	w := backendsWorkspace(t)
	for kind, want := range map[string]int{"PteSplit": 1, "PteProgram": 1, "PtePack": 1, "PteRuntime": 3} {
		query := fmt.Sprintf("mnemonic(%q, deps(set(//:on_linux_arm64 //:on_wasip1_wasm //:demo)))", kind)
		out, err := w.bazel("aquery", "--ui_event_filters=-info,-stderr", "--noshow_progress", query)
		if got := strings.Count(out, "Mnemonic: "+kind+"\n"); err != nil || got != want {
			t.Errorf("%s: %v, %d actions, want %d\n%s", kind, err, got, want, out)
		}
	}
}

// numbers are the first line and the numbers after it.
func numbers(t *testing.T, text string) (head string, list []float64) {
	t.Helper()
	head, rest, _ := strings.Cut(text, "\n")
	for _, f := range strings.Fields(rest) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return head, list
}

// compare wants the same numbers but for the rounding of fused products.
func compare(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Errorf("%s: %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}
