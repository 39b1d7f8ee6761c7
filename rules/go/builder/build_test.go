package main

import (
	"fmt"
	"io"
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

// fakeBuild is a build whose go is a shell script, whose temporary folders are made in temp, and which prints to stderr.
func fakeBuild(t *testing.T, script, temp string, stderr io.Writer) *build {
	if runtime.GOOS == "windows" {
		t.Skip("the go of this test is a shell script")
	}
	goroot, module := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(goroot, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(goroot, "bin", "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum", "modules.txt"} {
		if err := os.WriteFile(filepath.Join(module, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	return &build{
		goroot: goroot, gomod: filepath.Join(module, "go.mod"), gosum: filepath.Join(module, "go.sum"), vendor: module,
		goos: runtime.GOOS, goarch: runtime.GOARCH, stderr: stderr,
	}
}

// TestSaidLast checks that what go prints is written, and only when its temporary files are gone.
func TestSaidLast(t *testing.T) {
	stderr := &after{dir: t.TempDir()}
	err := fakeBuild(t, "echo 'no space left on device' >&2\nexit 1\n", stderr.dir, stderr).do([]string{"build", "example.com/x"})
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

// TestStaysBehind checks that a build does not wait for a process that go leaves behind and that holds its output.
func TestStaysBehind(t *testing.T) {
	reader, writer, err := os.Pipe() // which the process reads until the test ends
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	var stderr strings.Builder
	held := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), reader.Fd())
	if _, err := os.Stat(held); err != nil {
		t.Skip("no /proc on this machine")
	}
	if err := fakeBuild(t, "cat "+held+" &\necho built\n", t.TempDir(), &stderr).do([]string{"build", "example.com/x"}); err != nil {
		t.Error(err)
	}
	if got := stderr.String(); got != "built\n" {
		t.Errorf("printed %q", got)
	}
}
