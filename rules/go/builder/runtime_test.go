package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// files writes files of these contents and gives their paths by name.
func files(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{"dir": dir}
	for name, text := range texts {
		paths[name] = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(paths[name]), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[name], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

const npu = `{"backends": [{"id": "Npu", "aot": "Backend{}", "rt": "New()"}, {"id": "NpuAll", "aot": "All{}", "rt": "All{}"}]}`

// TestRuntime checks what is linked, by the package's text and the list of packages.
func TestRuntime(t *testing.T) {
	f := files(t, map[string]string{
		"plain": `{"kernels": ["B", "A"], "backends": []}`, "npu": `{"kernels": ["A"], "backends": ["Npu"]}`, "m": npu,
		"avx2": `{"target": {"name": "server", "os": "linux", "arch": "amd64", "cpu_features": ["sse2", "avx2"]}}`,
		"wasm": `{"target": {"name": "wasm", "os": "js", "arch": "wasm", "cpu_features": []}}`,
	})
	npuFlag := "-backend=//npu|" + f["m"] + "|x/npu/aot|x/npu/rt"
	for _, c := range []struct {
		name     string
		args     []string
		want     []string
		selected string
	}{
		{"no backend", []string{"-manifest=//:p|" + f["plain"], npuFlag}, []string{"[]*op.Kernel{&op.A, &op.B}", "[]backend.Backend{}"}, ""},
		{"the one called", []string{"-manifest=//:p|" + f["npu"], npuFlag}, []string{`backend0 "x/npu/rt"`, "{backend0.New()}"}, "x/npu/rt\n"},
		{"all declared", []string{"-declared", "-manifest=//:p|" + f["plain"], npuFlag}, []string{"{backend0.New(), backend0.All{}}"}, "x/npu/rt\nx/npu/rt\n"},
		{"another CPU feature", []string{"-goos=linux", "-goarch=amd64", "-cpu_feature=avx2", "-manifest=//:p|" + f["avx2"]}, nil, ""},
		{"one target for both kinds of WebAssembly", []string{"-goos=wasip1", "-goarch=wasm", "-manifest=//:p|" + f["wasm"]}, nil, ""},
		{"embedded", []string{"-manifest=//:p|" + f["plain"], "-program=p=p.pte"}, []string{`//go:embed "p.pte"`, "func LoadNamed"}, ""},
		{"with data", []string{"-manifest=//:p|" + f["plain"], "-program=p=p.pte", "-data=data.ptd"}, []string{`//go:embed "data.ptd"`, "ptd.Read(data)", "runtime/pte/ptd\""}, ""},
	} {
		out, selected := filepath.Join(f["dir"], "out.go"), filepath.Join(f["dir"], "selected")
		if err := runRuntime(append([]string{"-target=//:run", "-out=" + out, "-selected=" + selected}, c.args...)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		text, _ := os.ReadFile(out)
		list, _ := os.ReadFile(selected)
		for _, w := range c.want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s: want %s in\n%s", c.name, w, text)
			}
		}
		if string(list) != c.selected {
			t.Errorf("%s: selected %q, want %q", c.name, list, c.selected)
		}
	}
}

func TestRuntimeErrors(t *testing.T) {
	f := files(t, map[string]string{
		"npu": `{"kernels": ["A"], "backends": ["Npu"]}`, "other": `{"backends": ["Other"]}`, "m": npu, "bad": `{"backend": []}`,
		"half": `{"backends": [{"id": "Npu", "aot": "Backend{}"}]}`, "nothing": `{"backends": [{"id": "Npu"}]}`, "text": "x",
		"amd64": `{"target": {"name": "linux_amd64", "os": "linux", "arch": "amd64"}}`,
		"avx2":  `{"target": {"name": "server", "os": "linux", "arch": "amd64", "cpu_features": ["sse2", "avx2"]}}`,
	})
	backend := func(label, file, aot, rt string) string {
		return "-backend=" + strings.Join([]string{label, f[file], aot, rt}, "|")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-declared", "-manifest=//a:p|" + f["other"], backend("//npu", "m", "a", "r")},
			`//:run: program //a:p needs backend "Other", which backends = [...] does not list; it lists "Npu", "NpuAll"`},
		{[]string{"-manifest=//a:p|" + f["other"], backend("//npu", "m", "a", "r")},
			`//:run: program //a:p needs backend "Other", which its lowerer has no run-time half of; it has "Npu", "NpuAll": name a pte_backend with it in backends = [...]`},
		{[]string{"-manifest=//a:p|" + f["npu"], backend("//npu", "half", "a", "")},
			`//:run: program //a:p needs backend "Npu", which its lowerer has no run-time half of; it has "Npu": name a pte_backend with it in backends = [...]`},
		{[]string{"-manifest=//a:p|" + f["npu"]},
			`//:run: program //a:p needs backend "Npu", which its lowerer has no run-time half of; it has none: name a pte_backend with it in backends = [...]`},
		{[]string{backend("//a", "m", "a", "r"), backend("//b", "m", "a", "r")}, `//:run: backend "Npu" is in both //a and //b`},
		{[]string{backend("//a", "m", "a", "")}, `//:run: backend //a: its manifest has rt = "New()" for "Npu", and the target has no rt`},
		{[]string{backend("//a", "m", "", "r")}, `//:run: backend //a: its manifest has aot = "Backend{}" for "Npu", and the target has no aot`},
		{[]string{backend("//a", "nothing", "a", "r")}, `//:run: backend //a: its manifest has an entry without an id, or without aot and rt`},
		{[]string{backend("//a", "bad", "a", "r")}, `//:run: backend //a: read manifest ` + f["bad"] + `: json: unknown field "backend"`},
		{[]string{"-manifest=//a:p|" + f["text"]}, `read manifest ` + f["text"] + `: invalid character 'x' looking for beginning of value`},
		{[]string{"-goos=linux", "-goarch=arm64", "-manifest=//a:p|" + f["amd64"]},
			`//:run: program //a:p was lowered for target linux_amd64, which is linux on amd64, and this runtime is for linux on arm64: ` +
				`give the spec that target, or the runtime that platform`},
		{[]string{"-goos=linux", "-goarch=amd64", "-manifest=//a:p|" + f["avx2"]},
			`//:run: program //a:p was lowered for target server, whose CPU has "avx2", and not every machine with linux on amd64 has it (sse2): ` +
				`list it in cpu_features if yours do`},
		{[]string{"-backend=x"}, `backend "x": want label|manifest|aot|rt`},
		{[]string{"-manifest=x"}, `manifest "x": want label|file`},
	} {
		err := runRuntime(append([]string{"-target=//:run", "-out=" + filepath.Join(f["dir"], "out.go")}, c.args...))
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestAgree checks that a manifest with another id than the Go type's is refused.
func TestAgree(t *testing.T) {
	offers := []offer{{id: "Npu", label: "//npu", aot: "Backend{}", rt: "New()"}, {id: "Half", label: "//half", rt: "Half{}"}}
	for _, c := range []struct {
		got  halves
		want string
	}{
		{halves{[]string{"Npu"}, []string{"Npu", "Half"}}, ""},
		{halves{[]string{"Tpu"}, []string{"Npu", "Half"}}, `//:pte: backend //npu: its manifest has id "Npu" for aot = "Backend{}", whose ID() is "Tpu"`},
		{halves{[]string{"Npu"}, []string{"Npu", "Full"}}, `//:pte: backend //half: its manifest has id "Half" for rt = "Half{}", whose ID() is "Full"`},
		{halves{nil, []string{"Npu", "Half"}}, `//:pte: the tool has 0 backends of aot, the manifests have 1`},
	} {
		text := ""
		if err := agree("//:pte", offers, c.got); err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("got  %s\nwant %s", text, c.want)
		}
	}
}

// TestAgreeAsks checks that a tool is asked for its backends if it runs on this machine, and else is taken as it is.
func TestAgreeAsks(t *testing.T) {
	f := files(t, map[string]string{"m": npu, "tool": "for another machine"})
	out := filepath.Join(f["dir"], "out")
	run := func(goos, goarch string) error {
		return runAgree([]string{"-target=//:pte", "-tool", f["tool"], "-goos=" + goos, "-goarch=" + goarch, "-out", out, "-backend=//npu|" + f["m"] + "|a|r"})
	}
	if err := run(runtime.GOOS, runtime.GOARCH); err == nil || !strings.HasPrefix(err.Error(), "//:pte: run version: ") {
		t.Errorf("this machine: got %v", err)
	}
	if err := run("plan9", runtime.GOARCH); err != nil {
		t.Errorf("another machine: %v", err)
	}
	if text, err := os.ReadFile(out); string(text) != "for another machine" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestChoose checks which optional sources are staged, and which are listed as unused.
func TestChoose(t *testing.T) {
	f := files(t, map[string]string{"selected": "x/npu/rt\n", "unused": ""})
	b := &build{
		srcs:     list{"runtime/op/a.go=ext/a.go"},
		selected: f["selected"], unused: f["unused"],
		optional: list{"x/npu/rt|vendor/x/npu/rt/rt.go=npu/rt.go", "x/tpu/rt|vendor/x/tpu/rt/rt.go=tpu/rt.go", "x/tpu/rt|runtime/op/a.go=ext/a.go"},
	}
	if err := b.choose(); err != nil {
		t.Fatal(err)
	}
	unused, _ := os.ReadFile(f["unused"])
	if got := b.srcs.String(); got != "runtime/op/a.go=ext/a.go,vendor/x/npu/rt/rt.go=npu/rt.go" || string(unused) != "tpu/rt.go\n" {
		t.Errorf("got %s and unused %q", got, unused)
	}
	if packages := b.foreign(); len(packages) != 1 || packages[0] != "x/npu/rt" {
		t.Errorf("packages of other modules: %q", packages)
	}
}

// TestStageModules checks that a vendor folder with more packages holds those that were there, too.
func TestStageModules(t *testing.T) {
	f := files(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26.0\n", "go.sum": "", "vendor/modules.txt": "# x.org/old v1.0.0\n",
		"vendor/x.org/old/old.go": "package old", "vendor/y.org/y.go": "package y",
	})
	b := &build{dir: t.TempDir(), gomod: f["go.mod"], gosum: f["go.sum"], vendor: filepath.Join(f["dir"], "vendor"),
		srcs: list{"vendor/x.org/npu/npu.go=none"}}
	if err := os.Mkdir(b.path("m"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := b.stageModules(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.mod":                  "module m\n\ngo 1.26.0\n\nrequire x.org/npu v0.0.0\n",
		"vendor/modules.txt":      "# x.org/old v1.0.0\n# x.org/npu v0.0.0\n## explicit; go 1.26.0\nx.org/npu\n",
		"vendor/x.org/old/old.go": "package old",
		"vendor/y.org/y.go":       "package y",
	} {
		if got, err := os.ReadFile(b.path("m", filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}
