package null_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// names are what a copy of this folder changes, in this order: five names, one of them in two forms.
var names = []struct{ old, new string }{
	{"github.com/rules-pte/rules_pte/backends/null", "example.com/npu"}, // import path
	{"package nullbackend", "package npu"},
	{"package null", "package npu"}, // package, in Go and in CUE
	{"null.", "npu."},               // package, where it is used
	{"NullBackend", "NpuBackend"},   // id
	{"the null backend", "the NPU"}, // name
}

// TestCopy copies the folder into a module of its own, changes the names, and runs the copy's tests.
func TestCopy(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go on PATH")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Skip("the module's go.mod is not here")
	}
	dir := t.TempDir()
	copyFolder(t, dir)
	_, requires, _ := strings.Cut(string(mod), "\n")
	write(t, filepath.Join(dir, "go.mod"), "module example.com/npu\n"+requires+
		"\nrequire github.com/rules-pte/rules_pte v0.0.0\nreplace github.com/rules-pte/rules_pte => "+root+"\n")
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	cmd := exec.Command(tool, "test", "-run", "TestSuite", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// copyFolder copies all but this test, with other names.
func copyFolder(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || d.Name() == "copy_test.go" || ext != ".go" && ext != ".cue" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		for _, n := range names {
			text = strings.ReplaceAll(text, n.old, n.new)
		}
		write(t, filepath.Join(dir, path), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
