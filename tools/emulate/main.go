// Command emulate runs go with the kernels for AVX-512 interpreted, so that their tests run on any amd64 with AVX2:
//
//	go run ./tools/emulate test ./runtime/kernel -skip 'Pauses|AllocateNothing'
//
// It runs in the root of the repository. Package kernel is built as it is but for the assembly, which is text there that package avx512
// interprets.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		log.Fatalf("emulate: %v", err)
	}
}

// run runs go, whose first argument is a command that builds.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New("no arguments; want those of go, such as test ./runtime/kernel")
	}
	dir, err := os.MkdirTemp("", "emulate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := overlay("runtime/kernel")
	if err != nil {
		return err
	}
	list := struct{ Replace map[string]string }{make(map[string]string)}
	for path, text := range files {
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return err
		}
		list.Replace[path] = to
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{args[0], "-overlay", name}, args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// declaration is that of a function in assembly.
var declaration = regexp.MustCompile(`//go:noescape\nfunc (\w+)\(a (\*\w+)\)\n`)

// overlay are the files of package kernel in a folder that differ, by their absolute paths.
func overlay(folder string) (map[string]string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join(folder, "z*avx512*_amd64.s"))
	if err != nil || len(sources) == 0 {
		return nil, fmt.Errorf("no assembly for AVX-512 in %s", folder)
	}
	files := make(map[string]string)
	// The text is in the source of the package, not read when that starts: so go's cache knows that it changed.
	var texts strings.Builder
	for _, s := range sources {
		b, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&texts, "\t%q,\n", b)
		files[s] = "//go:build ignore\n"
		path := strings.TrimSuffix(s, ".s") + ".go"
		if b, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		text := declaration.ReplaceAllString(string(b), "func $1(a $2) { emulated.Run(\"$1\", unsafe.Pointer(a)) }\n")
		files[path] = strings.Replace(text, "package kernel\n", "package kernel\n\nimport \"unsafe\"\n", 1)
	}
	files[filepath.Join(folder, "zemulated_amd64.go")] = fmt.Sprintf("package kernel\n\nimport emulator \"github.com/rules-pte/rules_pte/tools/emulate/avx512\"\n\n"+
		"var emulated = emulator.Parse(\n%s)\n", texts.String())
	tiers := filepath.Join(folder, "tiers_amd64.go")
	b, err := os.ReadFile(tiers)
	if err != nil {
		return nil, err
	}
	const have = "x := &cpu.X86\n"
	if !strings.Contains(string(b), have) {
		return nil, fmt.Errorf("%s does not ask for the features of the machine as expected", tiers)
	}
	files[tiers] = strings.Replace(string(b), have,
		"x := cpu.X86\n\tx.HasAVX512F, x.HasAVX512BW, x.HasAVX512DQ, x.HasAVX512VL, x.HasAVX512VNNI = true, true, true, true, true\n", 1)
	return files, nil
}
