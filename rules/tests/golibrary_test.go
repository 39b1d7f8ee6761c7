package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// userMain is a command of a module that knows nothing of Bazel.
const userMain = `package main

import (
	"fmt"

	"example.com/app/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

func main() {
	for _, name := range pteprogram.Names() {
		p, err := executor.Load(pteprogram.Bytes(name), pteprogram.Options())
		if err != nil {
			panic(err)
		}
		fmt.Println(name, p.Methods())
	}
}
`

// TestGoLibrary builds a module with the go command that imports the executor and the package that pte_go_library writes.
func TestGoLibrary(t *testing.T) {
	w := backendsWorkspace(t)
	w.build("//:demo_go")
	if got, want := runPackage(t, w.bin("demo_go")), "demo [forward]\nplain [forward]\n"; got != want {
		t.Errorf("go run printed\n%s\nwant\n%s", got, want)
	}
}

// runPackage puts the package of a folder into a module of its own, with userMain, and gives what that prints.
func runPackage(t *testing.T, folder string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	app := t.TempDir()
	if err := os.CopyFS(filepath.Join(app, "pteprogram"), os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go": userMain, "go.sum": string(sums),
		"go.mod": "module example.com/app\n\ngo 1.26\n\nrequire github.com/rules-pte/rules_pte v0.0.0\n\n" +
			"replace github.com/rules-pte/rules_pte => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(app, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = app
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v", err)
	}
	return string(out)
}
