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

// linkedSource stands for what pte_web generates: all kernels, and the program that adds two tensors.
const linkedSource = `package pteprogram

import (
	_ "embed"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

//go:embed add.pte
var add []byte

func Options() executor.LoadOptions { return executor.LoadOptions{Kernels: op.Kernels} }

func Names() []string { return []string{"add"} }

func Bytes(name string) []byte {
	if name != "add" {
		return nil
	}
	return add
}
`

// TestScript runs testdata/api.mjs under node.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the runtime for WebAssembly")
	}
	hosttool.Need(t, "go", "node")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	programs, err := filepath.Abs("../executor/testdata")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(programs, "..", "..", "..", "pteprogram")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "pteprogram.go"): file("linked.go"),
		filepath.Join(root, "add.pte"):       filepath.Join(programs, "add", "portable.pte"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("pte.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"overlay.json": overlay, "linked.go": []byte(linkedSource), "pte.mjs": script} {
		if err := os.WriteFile(file(name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay="+file("overlay.json"), "-tags=wasmsimd", "-buildmode=c-shared", "-o", file("pte.wasm"), ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("node", "testdata/api.mjs", file("pte.mjs"), file("pte.wasm"), "../kernel/wasm/kernels.wasm", programs).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v\n%s", err, out)
	}
}
