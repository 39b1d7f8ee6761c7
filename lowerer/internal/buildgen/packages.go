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
			return err
		case d.IsDir() && name != opts.Root && (skipped(d.Name()) || d.Name() == "vendor"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return addImports(found, name, module)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find imports: %w", err)
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
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read Go module: %w; it lists the imports of Go backends, and a workspace without any needs no list", err)
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", errors.New("read Go module: go.mod names no module")
}

// addImports adds what a file imports of other modules.
func addImports(found map[string]bool, name, module string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
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
		return fmt.Errorf("read %s: %w", name, err)
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
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = fmt.Fprintf(o.Out, "wrote %s\n", name)
	return err
}
