package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// vendorPrefix begins the paths of sources of other modules, whose import paths follow it.
const vendorPrefix = "vendor/"

// foreign are the import paths of the packages of other modules among the sources, sorted, each once.
func (b *build) foreign() (packages []string) {
	for _, src := range b.srcs {
		to, _, _ := strings.Cut(src, "=")
		if name, ok := strings.CutPrefix(to, vendorPrefix); ok && strings.HasSuffix(name, ".go") {
			packages = append(packages, path.Dir(name))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// stageModules writes go.mod and the vendor folder. A package of another module stands there as a module of its own:
// go wants no more than that go.mod and vendor/modules.txt agree.
func (b *build) stageModules() error {
	mod, err := os.ReadFile(b.gomod)
	if err != nil {
		return err
	}
	if err := copyFile(b.path("m", "go.sum"), b.gosum); err != nil {
		return err
	}
	vendor, err := filepath.Abs(b.vendor)
	if err != nil {
		return err
	}
	packages := b.foreign()
	if len(packages) == 0 {
		return errors.Join(os.WriteFile(b.path("m", "go.mod"), mod, 0o666), os.Symlink(vendor, b.path("m", "vendor")))
	}
	modules, err := os.ReadFile(filepath.Join(vendor, "modules.txt"))
	if err != nil {
		return err
	}
	for _, p := range packages {
		mod = fmt.Appendf(mod, "\nrequire %s v0.0.0\n", p)
		modules = fmt.Appendf(modules, "# %s v0.0.0\n## explicit; go %s\n%s\n", p, goVersion(mod), p)
	}
	if err := linkTree(b.path("m", "vendor"), vendor, "", packages); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(b.path("m", "go.mod"), mod, 0o666),
		os.WriteFile(b.path("m", "vendor", "modules.txt"), modules, 0o666),
	)
}

// goVersion is the version of the language in a go.mod.
func goVersion(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if v, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "1.26"
}

// linkTree makes links to the entries of from in to, but folders where packages, given relative to the top, will be
// added; below is what from is, relative to the top.
func linkTree(to, from, below string, packages []string) error {
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(below, e.Name())
		target := filepath.Join(to, e.Name())
		holds := slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(p+"/", name+"/") })
		switch {
		case name == "modules.txt":
		case holds:
			err = linkTree(target, filepath.Join(from, e.Name()), name, packages)
		default:
			err = os.Symlink(filepath.Join(from, e.Name()), target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose adds the optional sources of the selected owners to the sources, and writes the list of the others.
func (b *build) choose() error {
	if b.selected == "" {
		return nil
	}
	text, err := os.ReadFile(b.selected)
	if err != nil {
		return err
	}
	owners := strings.Fields(string(text))
	used := map[string]bool{}
	var rest []string
	for _, src := range b.srcs {
		_, file, _ := strings.Cut(src, "=")
		used[file] = true
	}
	for _, o := range b.optional {
		owner, src, _ := strings.Cut(o, "|")
		_, file, ok := strings.Cut(src, "=")
		if !ok {
			return fmt.Errorf("optional source %q: want owner|path=file", o)
		}
		if !slices.Contains(owners, owner) {
			rest = append(rest, file)
			continue
		}
		used[file] = true
		b.srcs = append(b.srcs, src)
	}
	var unused strings.Builder
	slices.Sort(rest)
	for _, file := range slices.Compact(rest) {
		if !used[file] {
			unused.WriteString(file + "\n")
		}
	}
	return os.WriteFile(b.unused, []byte(unused.String()), 0o666)
}
