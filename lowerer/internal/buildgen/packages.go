package buildgen

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/internal/textdiff"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
)

// packagesFile is what Packages writes, beside go.mod.
const packagesFile = "go_packages.txt"

const packagesHead = "# Go packages of other modules, for pte_dependencies. Written by pte gen packages.\n"

// ownModule is the path of the module whose packages Bazel has anyway.
const ownModule = "github.com/rules-pte/rules_pte"

// Packages writes the list of the packages of other modules that the Go files below the root import, for all platforms.
func Packages(opts Options) error {
	module, err := goModule(opts.Root)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	err = filepath.WalkDir(opts.Root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unread(name, err, folderHint)
		case d.IsDir() && name != opts.Root && (skipped(d.Name()) || d.Name() == "vendor"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return addImports(found, name, module)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var lines []string
	for path := range found {
		lines = append(lines, path+"\n")
	}
	slices.Sort(lines)
	return opts.writeFile(packagesFile, packagesHead+strings.Join(lines, ""))
}

// goModule is the path in go.mod.
func goModule(root string) (string, error) {
	name := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", unread(name, err, "the list is of imports of Go backends, which lie in a Go module: a workspace without any needs none")
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", diag.New(diag.FileRead, name, "names no module").WithHint("it begins with `module PATH`; `go mod init PATH` writes one")
}

// addImports adds what a file imports of other modules.
func addImports(found map[string]bool, name, module string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return diag.New(diag.FileRead, "", "%w", err).WithHint("correct the file; `go vet` says more")
	}
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && !within(path, module) && !within(path, ownModule) {
			found[path] = true
		}
	}
	return nil
}

// within reports a package of a module.
func within(path, module string) bool { return strings.HasPrefix(path+"/", module+"/") }

// writeFile writes a whole file, or shows what would change.
func (o *Options) writeFile(name, text string) error {
	path := filepath.Join(o.Root, filepath.FromSlash(name))
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unread(path, err, readableHint)
	}
	if string(old) == text {
		return nil
	}
	if o.Diff {
		if _, err := fmt.Fprintf(o.Out, "%s:\n%s", name, textdiff.Lines(string(old), text)); err != nil {
			return err
		}
		return ErrStale
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return diag.New(diag.FileWrite, path, "%w", output.Cause(err)).WithHint("let it be written, or give another folder")
	}
	_, err = fmt.Fprintf(o.Out, "wrote %s\n", name)
	return err
}
