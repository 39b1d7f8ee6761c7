package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are the worker in C++ and the scripts in Python.
//
//go:embed official/runner.cc python/*.py
var sources embed.FS

// kit makes programs and starts workers.
type kit struct {
	python string // "" leaves the other runtimes out
	pte    string // the tool that lowers
	cache  string // folder for what takes long to make
	tmp    string
	runner string   // of the official runtime; "" if there is none
	kinds  []string // of programs to export
}

// bazelPte is where Bazel puts the tool.
const bazelPte = "lowerer/cmd/pte/pte"

// newKit builds the tools.
func newKit(o *options, tmp string) (*kit, error) {
	k := &kit{python: o.python, pte: o.pte, cache: o.cache, tmp: tmp}
	if k.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find cache: %w", err)
		}
		k.cache = filepath.Join(dir, "rules_pte_bench")
	}
	if err := os.MkdirAll(k.cache, 0o777); err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	if k.pte == "" && exists(bazelPte) {
		k.pte = bazelPte
	}
	if k.pte == "" {
		k.pte = filepath.Join(tmp, "pte")
		if err := call("go", "build", "-o", k.pte, "./lowerer/cmd/pte"); err != nil {
			return nil, fmt.Errorf("build pte: %w", err)
		}
	}
	if k.python == "" {
		return k, nil
	}
	for _, s := range o.sides {
		if s.export != "" {
			k.kinds = append(k.kinds, s.export)
		}
	}
	for _, name := range []string{"official/runner.cc", "python/export.py", "python/onnx_worker.py"} {
		text, err := sources.ReadFile(name)
		if err == nil {
			err = os.WriteFile(k.script(name), text, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	return k, k.buildRunner()
}

// script is where an embedded source lies.
func (k *kit) script(name string) string { return filepath.Join(k.tmp, filepath.Base(name)) }

// libraries of the wheel, linked whole, since kernels and backends register themselves.
var libraries = []string{"", "_threadpool", "_kernels_optimized", "_kernels_quantized", "_backend_xnnpack"}

// buildRunner compiles the worker against the headers and libraries of the executorch wheel.
func (k *kit) buildRunner() error {
	find := "import importlib.util as u; print(list(u.find_spec('executorch').submodule_search_locations)[0])"
	out, err := exec.Command(k.python, "-c", find).Output()
	if err != nil {
		return fmt.Errorf("find executorch: %w", err)
	}
	wheel := strings.TrimSpace(string(out))
	include, lib := filepath.Join(wheel, "include"), filepath.Join(wheel, "lib")
	k.runner = filepath.Join(k.tmp, "official")
	args := []string{"-O2", "-std=c++17", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED", "-DET_USE_THREADPOOL",
		"-I" + include, "-I" + filepath.Join(include, "executorch/runtime/core/portable_type/c10"),
		k.script("official/runner.cc"), "-o", k.runner, "-L" + lib, "-Wl,-rpath," + lib, "-Wl,--no-as-needed"}
	for _, l := range libraries {
		args = append(args, "-lexecutorch"+l)
	}
	if err := call("g++", args...); err != nil {
		return fmt.Errorf("build runner of the official runtime: %w", err)
	}
	return nil
}

// call runs a command; its error ends with what the command said last.
func call(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return nil
}

// program is the file that a side runs. One that was made before is taken from the cache, and so is a failure.
func (k *kit) program(m *model, s *side) (string, error) {
	if s.export == "" {
		return k.lower(m, s)
	}
	if ready := filepath.Join(m.dir, s.export+".pte"); exists(ready) {
		return ready, nil
	}
	key, err := m.content()
	if err != nil {
		return "", err
	}
	stem := filepath.Join(k.cache, filepath.Base(m.dir)+"-"+key+".")
	if err := k.export(m, stem); err != nil {
		return "", err
	}
	if why, err := os.ReadFile(stem + s.export + ".failed"); err == nil {
		return "", fmt.Errorf("export: %s", why)
	}
	return stem + s.export, nil
}

// export makes the missing ones of the model's programs for the other runtimes, all in one process, since imports take
// longest.
func (k *kit) export(m *model, stem string) error {
	args := []string{k.script("python/export.py"), m.dir}
	for _, kind := range k.kinds {
		if file := stem + kind; !exists(file) && !exists(file+".failed") {
			args = append(args, kind, file)
		}
	}
	if len(args) == 2 {
		return nil
	}
	if err := call(k.python, args...); err != nil {
		return fmt.Errorf("export %s: %w", m.name, err)
	}
	return nil
}

// lower makes our program.
func (k *kit) lower(m *model, s *side) (string, error) {
	spec := filepath.Join(k.tmp, m.name+".pte.cue")
	text := "package bench\n\nimport (\n\t\"github.com/rules-pte/rules_pte/cue/lower\"\n"
	if s.partition != "" {
		text += "\t\"github.com/rules-pte/rules_pte/backends/" + s.partition + "\"\n"
	}
	text += ")\n\nlower.#Program & {\n"
	for _, name := range sortedKeys(m.methods) {
		file, err := filepath.Abs(m.methods[name])
		if err != nil {
			return "", fmt.Errorf("find model: %w", err)
		}
		text += fmt.Sprintf("\tmethods: %s: model: %q\n", name, file)
	}
	if s.partition != "" {
		text += "\tpartition: [" + s.partition + ".#Backend]\n"
	}
	if err := os.WriteFile(spec, []byte(text+"}\n"), 0o600); err != nil {
		return "", fmt.Errorf("write spec: %w", err)
	}
	out := filepath.Join(k.tmp, m.name+"_"+s.name+".pte")
	if err := call(k.pte, "lower", "-o", out, spec); err != nil {
		return "", fmt.Errorf("lower: %w", err)
	}
	return out, nil
}
