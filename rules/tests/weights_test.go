// Package tests builds workspaces that use rules_pte, as a user's do, with the Bazel of the machine.
//
// The tests run if PTE_HOST is set, from the source tree: .ci/run does. PTE_BAZEL names the Bazel. PTE_DISK_CACHE is a
// folder for Bazel's disk cache, which the workspaces share.
package tests

//bazel:tags manual host

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/bench/bigmodel"
)

// workspace is a copy of a folder of testdata, a user's workspace.
type workspace struct {
	t              *testing.T
	dir, user, log string
	// remote is whether Bazel's caches are the test's own matter; prefix begins the command that runs Bazel there.
	remote bool
	prefix []string
	// env are further variables of the environment.
	env []string
}

// newWorkspace is a copy of testdata/name, or empty if that is "", with what it takes to load the rules.
func newWorkspace(t *testing.T, name string) *workspace {
	t.Helper()
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	w := &workspace{t: t, dir: t.TempDir(), user: t.TempDir(), log: filepath.Join(t.TempDir(), "log.json")}
	w.fill(name)
	t.Cleanup(w.close)
	return w
}

// fill copies testdata/name, unless it is "", and what it takes to load the rules.
func (w *workspace) fill(name string) {
	w.t.Helper()
	if name != "" {
		if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
			w.t.Fatal(err)
		}
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("WORKSPACE", strings.ReplaceAll(`local_repository(name = "rules_pte", path = "ROOT")
load("@rules_pte//rules:repositories.bzl", "pte_dependencies", "pte_offline_stubs")
pte_offline_stubs()
pte_dependencies()
`, "ROOT", root))
	w.copy("tool.bzl", filepath.Join("testdata", "tool.bzl"), nil)
	goRun(w.t, "build", "-o", w.dir, "./lowerer/cmd/pte", "./rules/tester")
}

// close ends Bazel's server, and lets the output base be removed.
func (w *workspace) close() {
	_, _ = w.bazel("shutdown")
	_ = exec.Command("chmod", "-R", "u+w", w.user).Run()
}

func (w *workspace) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) read(name string) []byte {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// replace changes a file's text.
func (w *workspace) replace(name, old, new string) {
	w.t.Helper()
	w.write(name, strings.ReplaceAll(string(w.read(name)), old, new))
}

func (w *workspace) model(seed uint32) { w.modelNamed("net.pt2", seed) }

func (w *workspace) modelNamed(name string, seed uint32) {
	w.t.Helper()
	if _, err := bigmodel.WriteSeed(filepath.Join(w.dir, name), 1<<20, seed); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) bazel(args ...string) (string, error) {
	if cache := os.Getenv("PTE_DISK_CACHE"); cache != "" && args[0] != "shutdown" && args[0] != "help" && !w.remote {
		args = slices.Insert(slices.Clone(args), 1, "--disk_cache="+cache)
	}
	args = slices.Concat(w.prefix, []string{cmp.Or(os.Getenv("PTE_BAZEL"), "bazel"), "--output_user_root=" + w.user}, args)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = w.dir
	cmd.Env = os.Environ()
	if w.remote { // without a network
		cmd.Env = append(cmd.Env, "PTE_GOMODCACHE="+strings.TrimSpace(goRun(w.t, "env", "GOMODCACHE")))
	}
	if !slices.ContainsFunc(w.env, func(v string) bool { return strings.HasPrefix(v, fetched) }) {
		cmd.Env = append(cmd.Env, "PTE_GOROOT="+sharedSDK(w.t))
	}
	cmd.Env = append(cmd.Env, w.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fetched is the variable of an environment in which Bazel fetches the SDK, as a user's does.
const fetched = "PTE_GOROOT="

// sharedSDK is that of PTE_GOROOT, or else the folder of an SDK that Bazel has fetched, which saves the other workspaces the download. The machine's own would
// do, too, but has other files: what is compiled with it is none of what is compiled with one that is fetched.
func sharedSDK(t *testing.T) string {
	t.Helper()
	if goroot := cmp.Or(shared.sdk, os.Getenv("PTE_GOROOT")); goroot != "" {
		return goroot
	}
	w := &workspace{t: t, dir: t.TempDir(), user: sharedFolder(t, &shared.sdkUser), env: []string{fetched}}
	w.fill("")
	defer func() { _, _ = w.bazel("shutdown") }()
	if out, err := w.bazel("build", "@pte_go_sdk//:goroot"); err != nil {
		t.Fatalf("fetch the SDK: %v\n%s", err, out)
	}
	shared.sdk = filepath.Join(w.outputBase(), "external", "pte_go_sdk", "goroot")
	return shared.sdk
}

// outputBase is where Bazel keeps what it fetches and builds for the workspace.
func (w *workspace) outputBase() string {
	w.t.Helper()
	base, err := w.bazel("info", "--noshow_progress", "--ui_event_filters=-info,-stderr", "output_base")
	if err != nil {
		w.t.Fatalf("output base: %v\n%s", err, base)
	}
	return strings.TrimSpace(base)
}

// run runs a command in the workspace.
func (w *workspace) run(command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// build builds and gives the kinds of actions that were executed, in order.
func (w *workspace) build(args ...string) (kinds []string) {
	w.t.Helper()
	for _, s := range w.spawns(args...) {
		kinds = append(kinds, s.Mnemonic)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// spawn is an action of this project's in Bazel's execution log.
type spawn struct {
	Mnemonic, Runner string
	RemoteCacheHit   bool
}

// spawns builds and gives the actions that were executed or fetched.
func (w *workspace) spawns(args ...string) []spawn {
	w.t.Helper()
	os.Remove(w.log)
	out, err := w.bazel(append([]string{"build", "--execution_log_json_file=" + w.log}, args...)...)
	if err != nil {
		w.t.Fatalf("bazel build: %v\n%s", err, out)
	}
	return w.logged()
}

// logged reads the execution log, JSON objects one after another.
func (w *workspace) logged() (all []spawn) {
	w.t.Helper()
	text, err := os.ReadFile(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	for {
		var s spawn
		if err := dec.Decode(&s); err == io.EOF {
			return all
		} else if err != nil {
			w.t.Fatal(err)
		}
		if strings.HasPrefix(s.Mnemonic, "Pte") || strings.HasPrefix(s.Mnemonic, "Go") {
			all = append(all, s)
		}
	}
}

// TestWhatRunsAgain checks by Bazel's execution log which steps an edit runs again.
func TestWhatRunsAgain(t *testing.T) {
	w := newWorkspace(t, "weights")
	w.copy("quantized.pt2", "../../backends/xnnpack/testdata/linear_int4_groups.pt2", nil)
	retrain := func() { w.retrain("quantized.pt2", "weight_0", "weight_1", "weight_3", "weight_4") } // 2 and 5 are zero points
	const plain, delegated, quantized = "//:net_pte", "//:xnnpack_pte", "//:quantized_pte"
	for _, step := range []struct {
		name, target string
		edit         func()
		want         []string
	}{
		{"first", plain, func() { w.model(1) }, []string{"PteCheck", "PtePack", "PteProgram", "PteSplit", "PteVet"}},
		{"first of a backend", delegated, func() {}, []string{"PteCheck", "PtePack", "PteProgram", "PteSplit", "PteVet"}},
		{"nothing", plain, func() {}, nil},
		{"weights", plain, func() { w.model(2) }, []string{"PtePack", "PteSplit"}},
		{"weights of a backend", delegated, func() {}, []string{"PtePack", "PteSplit"}},
		{"first quantized", quantized, func() {}, []string{"PteCheck", "PtePack", "PteProgram", "PteSplit", "PteVet"}},
		{"quantized weights", quantized, retrain, []string{"PtePack", "PteSplit"}},
		{"comment", plain, func() { w.replace("net.pte.cue", "package net", "// A net.\n\npackage net") }, []string{"PteCheck", "PteVet"}},
		{"value", plain, func() { w.replace("net.pte.cue", "expect:", "emit_stacktrace: true\n\texpect:") }, []string{"PteCheck", "PtePack", "PteProgram", "PteVet"}},
		{"expect", plain, func() { w.replace("net.pte.cue", "<=1048576", "<=1048577") }, []string{"PteCheck", "PteVet"}},
	} {
		step.edit()
		if got := w.build(step.target); !slices.Equal(got, step.want) {
			t.Errorf("%s: ran %v, want %v", step.name, got, step.want)
		}
	}
}

// retrain changes the first number of weights of a model, by its last bit.
func (w *workspace) retrain(name string, weights ...string) {
	w.t.Helper()
	w.edited(name, name, func(record string, data []byte) []byte {
		if slices.Contains(weights, record) {
			data[0] ^= 1
		}
		return data
	})
}

// edited writes a model with the records that edit makes of another's, by their names without folders.
func (w *workspace) edited(to, from string, edit func(record string, data []byte) []byte) {
	w.t.Helper()
	text := w.read(from)
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range r.File {
		record, err := fs.ReadFile(r, f.Name)
		if err != nil {
			w.t.Fatal(err)
		}
		entry, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err == nil {
			_, err = entry.Write(edit(path.Base(f.Name), record))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.write(to, out.String())
}

// TestDataFiles checks that programs which share weights have them once, in the binary or beside it, and that weights of one
// name which differ fail the build.
func TestDataFiles(t *testing.T) {
	w := newWorkspace(t, "data")
	w.model(1)
	w.build("//:both", "//:beside", "//:all", "//:two_pte")
	weights := w.read("bazel-bin/one.weights.ptd")
	middle := weights[len(weights)/2:][:4096] // the file is weights but for its first and last few bytes
	for name, want := range map[string]int{"one.pte": 0, "two.pte": 0, "all.ptd": 1, "both": 1, "beside": 0, "beside.ptd": 1} {
		if got := bytes.Count(w.read("bazel-bin/"+name), middle); got != want {
			t.Errorf("%s has the weights %d times, want %d", name, got, want)
		}
	}
	for _, args := range [][]string{
		{"both", "-program=one", "-calls=1"}, {"both", "-program=two", "-calls=1", "-threads=2"}, {"both", "-calls=1"},
		{"beside", "-calls=1", "-threads=1", "-data=" + w.bin("beside.ptd"), w.bin("two.pte")},
	} {
		if out, err := exec.Command(w.bin(args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	want := "runner: no program \"three\"; there are [\"one\" \"two\"]\n"
	if out, err := exec.Command(w.bin("both"), "-program=three").CombinedOutput(); err == nil || string(out) != want {
		t.Errorf("a program that is not there: %v, %q, want %q", err, out, want)
	}
	w.modelNamed("other.pt2", 2)
	t.Run("elsewhere", func(t *testing.T) { w.dataElsewhere(t) })
	for target, want := range map[string]string{
		"//:differ": "is not what it is in", "//:undeclared": `has constants in a data file "weights", and no file is declared for it`,
		"//:without": "program //:none_pte has no data files: name them in its data_files",
	} {
		if out, err := w.bazel("build", target); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q\n%s", target, err, want, out)
		}
	}
}

// dataElsewhere loads a program with its data file by a C library, on a page and in a Go package, and runs users' tests for them.
func (w *workspace) dataElsewhere(t *testing.T) {
	w.build("//:library", "//:web", "//:go")
	says(t, "1\n", "python3", "testdata/data.py", w.bin("liblibrary.so"), w.bin("one.pte"), w.bin("library.ptd"))
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(w.bin("web"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "pte.js"), filepath.Join(folder, "pte.mjs")); err != nil {
		t.Fatal(err)
	}
	says(t, "1 147\n", "node", "testdata/data.mjs", folder)
	if got, want := runPackage(t, w.bin("go")), "one [forward]\n"; got != want {
		t.Errorf("go run: %q, want %q", got, want)
	}
	tests := []string{"library_closure_test", "library_size_test", "reproducible_test", "web_closure_test", "web_size_test"}
	if out, err := w.bazel(append([]string{"test", "--test_output=errors"}, tests...)...); err != nil {
		t.Errorf("tests: %v\n%s", err, out)
	}
}

// TestValidation checks that a build which asks for the report alone still fails if the program misses expect, unless
// validations are off.
func TestValidation(t *testing.T) {
	w := newWorkspace(t, "weights")
	w.model(1)
	w.replace("net.pte.cue", "<=1048576", "<=1")
	args := []string{"build", "--output_groups=report", "//:net_pte"}
	if out, err := w.bazel(append(args, "--experimental_run_validations")...); err == nil || !strings.Contains(out, "net.pte.cue:7") {
		t.Errorf("with validations: %v, want an error at net.pte.cue:7\n%s", err, out)
	}
	if out, err := w.bazel(append(args, "--noexperimental_run_validations")...); err != nil {
		t.Errorf("without validations: %v\n%s", err, out)
	}
	if out, err := w.bazel("build", "--output_groups=debug", "//:net_pte", "--noexperimental_run_validations"); err != nil ||
		!strings.Contains(out, "net.etrecord") || !strings.Contains(out, "net.debug.json") {
		t.Errorf("what instructions came from: %v\n%s", err, out)
	}
	if out, err := w.bazel("build", "//:net_pte", "--noexperimental_run_validations"); err == nil {
		t.Errorf("the program was packed though it misses expect\n%s", out)
	}
}

// TestGen writes the workspace's BUILD file with bazel run, and checks it in the mode for CI before and after.
func TestGen(t *testing.T) {
	w := newWorkspace(t, "weights")
	want := "  + pte_runtime(\n  +     name = \"net\",\n  +     programs = [\":net_pte\"],\n"
	if out, err := w.bazel("run", "//:gen", "--", "--mode=diff"); err == nil || !strings.Contains(out, want) {
		t.Errorf("stale: %v, want\n%s\n%s", err, want, out)
	}
	for _, mode := range []string{"fix", "diff"} {
		if out, err := w.bazel("run", "//:gen", "--", "--mode="+mode); err != nil {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
}
