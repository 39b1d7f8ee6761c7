package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/internal/hosttool"
)

// linkedSource stands for what pte_library generates: all kernels, and the program that adds two tensors and digits.
const linkedSource = `package pteprogram

import (
	_ "embed"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

//go:embed digits.pte
var digits []byte

func Ops() []*op.Kernel { return op.Kernels }

func Backends() []backend.Backend { return nil }

func Options() executor.LoadOptions { return executor.LoadOptions{Kernels: op.Kernels} }

func Names() []string { return []string{"digits"} }

func Bytes(name string) []byte {
	if name != "digits" {
		return nil
	}
	return digits
}

func Load() (*executor.Program, error) { return executor.Load(digits, Options()) }

func LoadNamed(string) (*executor.Program, error) { return Load() }
`

// targets are the machines that the library is built for here: the compilers, and what runs their programs.
var targets = []struct {
	goarch, cc, cxx string
	run             []string
}{
	{"amd64", "gcc", "g++", nil},
	{"arm64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", []string{"qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"}},
}

const (
	examples = "../../examples/digits"
	want     = "99 of 100 right: accuracy 99.0 %\n"
)

// command runs a program and gives what it prints.
func command(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// overlay lowers digits and writes the argument of go build -overlay that puts it into the library.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	program, source, file := filepath.Join(dir, "digits.pte"), filepath.Join(dir, "linked.go"), filepath.Join(dir, "overlay.json")
	command(t, nil, "go", "run", "../../lowerer/cmd/pte", "lower", examples+"/digits.pt2", "-o", program)
	root, err := filepath.Abs("../../pteprogram")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "pteprogram.go"): source, filepath.Join(root, "digits.pte"): program,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{source: []byte(linkedSource), file: text} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestLibrary builds the library as an archive and as a shared one, with every compiler of targets, and runs the examples
// and the checks of testdata with it.
func TestLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles C and the runtime once more")
	}
	hosttool.Need(t, "go")
	dir := t.TempDir()
	replaced := overlay(t, dir)
	for _, x := range targets {
		t.Run(x.goarch, func(t *testing.T) {
			hosttool.Need(t, append([]string{x.cc, x.cxx, "python3"}, x.run[:min(1, len(x.run))]...)...)
			dir := t.TempDir()
			env := []string{"CGO_ENABLED=1", "GOOS=linux", "GOARCH=" + x.goarch, "CC=" + x.cc}
			build := func(mode, out string) string {
				out = filepath.Join(dir, out)
				command(t, env, "go", "build", "-overlay="+replaced, "-trimpath", "-buildmode="+mode, "-o", out, ".")
				return out
			}
			archive, shared := build("c-archive", "libdigits.a"), build("c-shared", "libdigits.so")
			compile := func(name, compiler, source string, flags ...string) []string {
				out := filepath.Join(dir, name)
				args := append([]string{compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-I.", "-o", out, source}, flags...)
				command(t, nil, args...)
				return append(append([]string{}, x.run...), out)
			}
			run := func(program []string, want string, args ...string) {
				t.Helper()
				if got := command(t, []string{"LD_LIBRARY_PATH=" + dir}, append(program, args...)...); got != want {
					t.Errorf("%s: %q, want %q", filepath.Base(program[len(program)-1]), got, want)
				}
			}
			data := []string{examples + "/test_images.npy", examples + "/test_labels.npy"}
			run(compile("c_archive", x.cc, examples+"/c/digits.c", "-std=c11", "-pedantic", archive, "-lpthread"), want, data...)
			run(compile("c_shared", x.cc, examples+"/c/digits.c", "-L"+dir, "-ldigits", "-Wl,-rpath,"+dir), want, data...)
			run(compile("checks", x.cc, "testdata/checks.c", archive, "-lpthread"), "ok\n",
				filepath.Join(filepath.Dir(replaced), "digits.pte"), "../executor/testdata/external", t.TempDir())
			run(compile("cxx", x.cxx, examples+"/c/digits.cc", "-std=c++17", "-pedantic", archive, "-lpthread"), want, data...)
			if len(x.run) == 0 {
				run([]string{"python3", examples + "/c/digits.py", shared}, want, data...)
			}
		})
	}
}
