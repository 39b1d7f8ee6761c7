package tests

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block is the first example in a language of a page of this repository.
func block(t *testing.T, page, language, head string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range strings.Split(string(text), "```"+language+"\n")[1:] {
		if b, _, _ = strings.Cut(b, "```"); strings.HasPrefix(b, head) {
			return b
		}
	}
	t.Fatalf("%s has no example in %s that begins with %s", page, language, head)
	return ""
}

// TestGoPage builds the program of docs/go.md with its go.mod, and runs it.
func TestGoPage(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", string(sums))
	write("go.mod", strings.Replace(block(t, "docs/go.md", "", "module "), "../rules_pte", root, 1))
	write("main.go", block(t, "docs/go.md", "go", "package main"))
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	goRun(t, "run", "./lowerer/cmd/pte", "lower", "-o", filepath.Join(dir, "net.pte"), "backends/backendtest/testdata/chain.pt2")
	run("go", "build", "-o", "detector", ".")
	if out := run("./detector"); !strings.HasPrefix(out, "float32[2, 5, 6, 6]") || strings.Count(out, "\n") != 1 {
		t.Errorf("the program prints %s", out)
	}
}

// TestNewUser does what the README says, in an empty workspace with the lines of docs/rules.md: it lowers a model, builds a runtime
// for another machine, and tests the program, with the tool that Bazel compiles. The SDK that Bazel has fetched stays as it is.
func TestNewUser(t *testing.T) {
	w := newWorkspace(t, "")
	w.env = []string{fetched}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	w.write("WORKSPACE", strings.Replace(block(t, "docs/rules.md", "starlark", "local_repository("), "../rules_pte", root, 1))
	w.write("BUILD.bazel", block(t, "README.md", "starlark", "load("))
	w.write("net.pte.cue", block(t, "README.md", "cue", "package net"))
	for to, from := range map[string]string{
		"net.pt2": "../../backends/backendtest/testdata/chain.pt2", "chain_in.npy": "../../backends/backendtest/testdata/chain_in.npy",
		"chain_out.npy": "../../backends/backendtest/testdata/chain_out.npy", "case.json": "testdata/backends/case.json",
	} {
		w.copy(to, from, nil)
	}
	if out, err := w.bazel("test", "//..."); err != nil {
		t.Fatalf("bazel test: %v\n%s", err, out)
	}
	if out, err := exec.Command("qemu-aarch64-static", w.bin("net")).CombinedOutput(); err != nil || !strings.Contains(string(out), "forward: 1 inputs") {
		t.Errorf("the runtime: %v\n%s", err, out)
	}
	err = filepath.WalkDir(filepath.Join(w.outputBase(), "external", "pte_go_sdk", "goroot"), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "bazel-out") {
			t.Errorf("the build has written to the SDK: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
