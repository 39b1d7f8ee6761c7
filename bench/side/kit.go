package side

import (
	"bytes"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sources are the worker in C++ and the scripts in Python.
//
//go:embed official/runner.cc python/*.py
var sources embed.FS

// Tools are what a command line says about where programs come from.
type Tools struct {
	// Python is the interpreter that has the other runtimes; "" leaves them out.
	Python string
	// LiteRT is the interpreter that has LiteRT and its converter, or "".
	LiteRT string
	// Pte is the tool that lowers; "" is the one that Bazel built, or else one that is built from the source.
	Pte string
	// Cache is a folder for what takes long to make; "" is one in the user's cache.
	Cache string
}

// Define adds the flags to f.
func (t *Tools) Define(f *flag.FlagSet) {
	f.StringVar(&t.Python, "python", os.Getenv("PTE_PYTHON"), "interpreter that has the other runtimes")
	f.StringVar(&t.LiteRT, "litert", os.Getenv("PTE_LITERT"), "interpreter that has LiteRT")
	f.StringVar(&t.Pte, "pte", "", "tool that lowers, instead of one built from the source")
	f.StringVar(&t.Cache, "cache", "", "folder for exported programs; the user's cache if empty")
}

// FromUser makes the paths of the tools, and of other files, count from where the user stands.
func (t *Tools) FromUser(files ...*string) {
	FilesFromUser(append(files, &t.Pte, &t.Cache)...)
	CommandsFromUser(&t.Python, &t.LiteRT)
}

// FilesFromUser makes paths count from where the user stands: under `bazel run` that is another folder. An empty path stays.
func FilesFromUser(files ...*string) {
	from := os.Getenv("BUILD_WORKING_DIRECTORY")
	for _, p := range files {
		if from != "" && *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(from, *p)
		}
	}
}

// CommandsFromUser is FilesFromUser for commands: a name without a folder is looked for in PATH.
func CommandsFromUser(commands ...*string) {
	for _, p := range commands {
		if filepath.Base(*p) != *p {
			FilesFromUser(p)
		}
	}
}

// Has tells whether a side has what it needs.
func (t *Tools) Has(s *Side) bool { return s.Export == "" || *t.interpreter(s.Export) != "" }

// interpreter is what exports programs of a kind.
func (t *Tools) interpreter(kind string) *string {
	if kind == litert {
		return &t.LiteRT
	}
	return &t.Python
}

// Kit makes programs and starts workers.
type Kit struct {
	Tools
	tmp     string
	ours    string   // the worker of our runtime
	builder string   // what generates the package of a linked one; "" until it is needed
	runner  string   // that of the official one; "" if there is none
	kinds   []string // of programs to export
}

// The scripts among sources.
const (
	exportScript = "python/export.py"
	onnxScript   = "python/onnx_worker.py"
	litertScript = "python/litert_worker.py"
)

// The commands in Go that a kit needs.
const (
	pteCommand    = "lowerer/cmd/pte"
	workerCommand = "bench/side/worker"
)

// NewKit makes a kit for sides, with files in the folder tmp. It builds what t lacks.
func NewKit(t Tools, sides []*Side, tmp string) (*Kit, error) {
	k := &Kit{Tools: t, tmp: tmp}
	if err := errors.Join(k.makeCache(), k.findPte(), k.findWorker()); err != nil {
		return nil, err
	}
	for _, s := range sides {
		if s.Export != "" && !slices.Contains(k.kinds, s.Export) {
			k.kinds = append(k.kinds, s.Export)
		}
	}
	if err := k.writeSources(); err != nil || k.Python == "" {
		return k, err
	}
	return k, k.buildRunner()
}

func (k *Kit) writeSources() error {
	for _, name := range []string{"official/runner.cc", exportScript, onnxScript, litertScript, "python/worker.py"} {
		text, err := sources.ReadFile(name)
		if err == nil {
			err = os.WriteFile(k.script(name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func (k *Kit) makeCache() error {
	if k.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find cache: %w", err)
		}
		k.Cache = filepath.Join(dir, "rules_pte_bench")
	}
	if err := os.MkdirAll(k.Cache, 0o777); err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	return nil
}

func (k *Kit) findPte() (err error) {
	if k.Pte == "" {
		k.Pte, err = k.build(pteCommand)
	}
	return err
}

func (k *Kit) findWorker() error {
	built, err := k.build(workerCommand)
	if err != nil {
		return err
	}
	k.ours = filepath.Join(k.tmp, "ours")
	return copyWorker(built, k.ours)
}

// copyWorker copies a worker of our runtime, in small pieces: with each page of a program that is used the system counts those which
// were written with it, and peaks of memory are compared.
func copyWorker(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read worker: %w", err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return fmt.Errorf("copy worker: %w", err)
	}
	for piece := range slices.Chunk(program, os.Getpagesize()) {
		if _, err := f.Write(piece); err != nil {
			return errors.Join(fmt.Errorf("copy worker: %w", err), f.Close())
		}
	}
	return f.Close()
}

// build gives the program of a command of this module: the one that Bazel built, or else one that is built from the source.
func (k *Kit) build(command string) (string, error) {
	name := filepath.Base(command)
	if built := filepath.Join(command, name); exists(built) {
		return built, nil
	}
	out := filepath.Join(k.tmp, name)
	if err := call("go", "build", "-o", out, "./"+command); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return out, nil
}

// script is where an embedded source lies.
func (k *Kit) script(name string) string { return filepath.Join(k.tmp, filepath.Base(name)) }

// libraries of the wheel, linked whole, since kernels and backends register themselves.
var libraries = []string{"", "_threadpool", "_kernels_optimized", "_kernels_quantized", "_backend_xnnpack"}

// buildRunner compiles the worker against the headers and libraries of the executorch wheel.
func (k *Kit) buildRunner() error {
	find := "import importlib.util as u; print(list(u.find_spec('executorch').submodule_search_locations)[0])"
	out, err := exec.Command(k.Python, "-c", find).Output()
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
func call(name string, args ...string) error { return callIn("", name, args...) }

// callIn is call in a folder, or in this one.
func callIn(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return nil
}

// program is the file that a side runs. One that was made before is taken from the cache, and so is a failure.
func (k *Kit) program(m *Model, s *Side) (string, error) {
	if s.Export == "" {
		return k.lower(m, s)
	}
	if ready := m.ready(s.Export); exists(ready) {
		return ready, nil
	}
	stem, err := k.stem(m)
	if err != nil {
		return "", err
	}
	if err := k.Export(m); err != nil {
		return "", err
	}
	if why, err := os.ReadFile(stem + s.Export + ".failed"); err == nil {
		return "", fmt.Errorf("export: %s", why)
	}
	return stem + s.Export, nil
}

// Export makes the missing ones of the models' programs for the other runtimes. It is one process for each interpreter,
// since imports take longest.
func (k *Kit) Export(models ...*Model) error {
	jobs := map[*string][]string{}
	for _, m := range models {
		stem, err := k.stem(m)
		if err != nil {
			return err
		}
		for _, kind := range k.kinds {
			if file := stem + kind; !exists(file) && !exists(file+".failed") && !exists(m.ready(kind)) {
				python := k.interpreter(kind)
				jobs[python] = append(jobs[python], m.dir, kind, file)
			}
		}
	}
	for python, args := range jobs {
		if err := call(*python, append([]string{k.script(exportScript)}, args...)...); err != nil {
			return fmt.Errorf("export programs: %w", err)
		}
	}
	return nil
}

// RunPython runs a program of Python with the interpreter that has the other runtimes.
func (k *Kit) RunPython(program []byte, args ...string) error {
	file := filepath.Join(k.tmp, "program.py")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		return fmt.Errorf("write program: %w", err)
	}
	return call(k.Python, append([]string{file}, args...)...)
}

// ready is where a set may have the model's program of a kind.
func (m *Model) ready(kind string) string { return filepath.Join(m.dir, kind+".pte") }

// stem is how the names of the model's programs in the cache begin.
func (k *Kit) stem(m *Model) (string, error) {
	key, err := m.content()
	return filepath.Join(k.Cache, filepath.Base(m.dir)+"-"+key+"."), err
}
