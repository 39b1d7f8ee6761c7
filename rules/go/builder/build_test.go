package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// after is a writer that notes what is left of a folder when something is written.
type after struct {
	dir  string
	left []string
	text strings.Builder
}

func (a *after) Write(p []byte) (int, error) {
	names, err := filepath.Glob(filepath.Join(a.dir, "*"))
	a.left = append(a.left, names...)
	a.text.Write(p)
	return len(p), err
}

// TestSaidLast checks that what go prints is written, and only when its temporary files are gone.
func TestSaidLast(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the go of this test is a shell script")
	}
	goroot, temp := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(goroot, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(goroot, "bin", "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	module := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "modules.txt"} {
		if err := os.WriteFile(filepath.Join(module, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	stderr := &after{dir: temp}
	b := &build{
		goroot: goroot, gomod: filepath.Join(module, "go.mod"), gosum: filepath.Join(module, "go.sum"), vendor: module,
		goos: runtime.GOOS, goarch: runtime.GOARCH, stderr: stderr,
	}
	err := b.do([]string{"build", "example.com/x"})
	if err == nil || err.Error() != "go build example.com/x: exit status 1" {
		t.Errorf("error %v", err)
	}
	if got := stderr.text.String(); got != "no space left on device\n" {
		t.Errorf("printed %q", got)
	}
	if len(stderr.left) > 0 {
		t.Errorf("printed while %q were there", stderr.left)
	}
}
