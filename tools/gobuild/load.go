package main

import (
	"errors"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// modulePath is the path of the module that gobuild is for.
const modulePath = "github.com/rules-pte/rules_pte"

// set is a set of strings.
type set map[string]bool

func (s set) add(values ...string) {
	for _, v := range values {
		s[v] = true
	}
}

func (s set) sorted() []string {
	out := make([]string, 0, len(s))
	for v := range s {
		out = append(out, v)
	}
	sort.Strings(out)
	return out
}

// unit is what a library or a test is made of.
type unit struct {
	srcs    []string
	embeds  set // patterns of go:embed
	imports set
}

// pkg is a folder with Go files.
type pkg struct {
	dir       string // slash-separated, relative to the root
	name      string
	lib, test unit
	data      set // labels from //bazel:data
	tags      set
	size      string
	testdata  bool
}

// load reads every package below root, for all platforms at once: a file counts
// unless it is for `go run` only.
func load(root string) ([]*pkg, error) {
	var out []*pkg
	ignored, err := ignoredFolders(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if skipped(d.Name()) && p != root {
			return filepath.SkipDir
		}
		pk, err := loadDir(p)
		if pk != nil {
			pk.testdata = pk.testdata && !ignored[pk.dir+"/testdata"]
			out = append(out, pk)
		}
		return err
	})
	return out, err
}

// ignoredFolders are those of .bazelignore, in which a glob finds nothing.
func ignoredFolders(root string) (set, error) {
	text, err := os.ReadFile(filepath.Join(root, ".bazelignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ignored := set{}
	for _, name := range strings.Fields(string(text)) {
		ignored[name] = true
	}
	return ignored, nil
}

func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "bazel-") ||
		name == "testdata" || name == "vendor" || name == "out"
}

func newUnit() unit { return unit{embeds: set{}, imports: set{}} }

// loadDir is nil for a folder without Go files.
func loadDir(dir string) (*pkg, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{dir: path.Clean(filepath.ToSlash(dir)), lib: newUnit(), test: newUnit(), data: set{}, tags: set{}}
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
			p.testdata = p.testdata || name == "testdata"
		case strings.HasSuffix(name, ".go"):
			if err := p.addGo(name); err != nil {
				return nil, err
			}
		case strings.HasSuffix(name, ".s") || strings.HasSuffix(name, ".h"):
			p.lib.srcs = append(p.lib.srcs, name)
		}
	}
	if len(p.lib.srcs)+len(p.test.srcs) == 0 {
		return nil, nil
	}
	return p, nil
}

func (p *pkg) addGo(name string) error {
	file := filepath.Join(p.dir, name)
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if forGoRun(string(text)) {
		return nil
	}
	u, test := &p.lib, strings.HasSuffix(name, "_test.go")
	if test {
		u = &p.test
	}
	if p.name == "" || !test {
		p.name = f.Name.Name
	}
	u.srcs = append(u.srcs, name)
	for _, imp := range f.Imports {
		v, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		u.imports.add(v)
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			p.directive(u, c.Text, test)
		}
	}
	return nil
}

// forGoRun reports a file with the build constraint "ignore".
func forGoRun(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if x, err := constraint.Parse(strings.TrimSpace(line)); err == nil && x.String() == "ignore" {
			return true
		}
	}
	return false
}

// directive reads a comment //go:embed or, in tests, //bazel:.
func (p *pkg) directive(u *unit, text string, test bool) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return
	}
	switch {
	case fields[0] == "//go:embed":
		u.embeds.add(fields[1:]...)
	case !test:
	case fields[0] == "//bazel:data":
		p.data.add(fields[1:]...)
	case fields[0] == "//bazel:tags":
		p.tags.add(fields[1:]...)
	case fields[0] == "//bazel:size":
		p.size = fields[1]
	}
}
