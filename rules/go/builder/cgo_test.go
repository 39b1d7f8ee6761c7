package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCompiler checks which C compiler is taken, of those on a PATH with a few.
func TestCompiler(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cc", "aarch64-linux-gnu-gcc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for _, c := range []struct{ cc, goos, goarch, want, err string }{
		{"host", runtime.GOOS, runtime.GOARCH, filepath.Join(dir, "cc"), ""},
		{"host", "linux", "riscv64", "", "no C compiler for linux/riscv64 is on PATH, want riscv64-linux-gnu-gcc: install it, or set cc"},
		{"host", "darwin", other, "", "no C compiler for darwin/" + other + " is known here: set cc"},
		{filepath.Join(dir, "mine"), "darwin", other, filepath.Join(dir, "mine"), ""},
	} {
		got, err := (&build{cc: c.cc, goos: c.goos, goarch: c.goarch}).compiler()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s for %s/%s: %q, %v, want %q, %q", c.cc, c.goos, c.goarch, got, err, c.want, c.err)
		}
	}
}

// TestCgo checks that there is cgo only with a compiler.
func TestCgo(t *testing.T) {
	without, err := (&build{goos: "linux"}).addCgo(nil)
	if err != nil || !slices.Equal(without, []string{"CGO_ENABLED=0"}) {
		t.Errorf("without a compiler: %q, %v", without, err)
	}
	for _, goos := range []string{"linux", "darwin"} {
		env, err := (&build{goos: goos, cc: "/cc"}).addCgo(nil)
		if err != nil || !slices.Contains(env, "CGO_ENABLED=1") || !slices.Contains(env, "CC=/cc") {
			t.Errorf("%s: %q, %v", goos, env, err)
		}
		if got := strings.Contains(strings.Join(env, " "), "--build-id=none"); got != (goos == "linux") {
			t.Errorf("%s: a flag of GNU's linker: %v", goos, got)
		}
	}
}

// TestQuoted checks that the go command gets its cache and its compiler from folders with spaces in their names.
func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"/a/b": "/a/b", "/a b/c": "'/a b/c'", "/it's/c": `"/it's/c"`} {
		if got := quoted(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	b := &build{dir: "/a b", goos: "linux", cc: "/c c/cc"}
	env, err := b.environ("/go")
	for _, want := range []string{" cacheprog -dir '/a b/c' -layers '/a b/layers'", "CC='/c c/cc'"} {
		if err != nil || !strings.Contains(strings.Join(env, "\n"), want) {
			t.Errorf("got %q, %v, want %s", env, err, want)
		}
	}
}
