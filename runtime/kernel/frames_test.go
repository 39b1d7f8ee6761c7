package kernel

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFrames holds every call of assembly in this package's sources, of all platforms: a function that may not be inlined
// calls it outside of loops, or a loop that also calls such a function. So the garbage collector finds a frame where it can
// stop between two calls. A function that may be inlined counts as what it calls.
func TestFrames(t *testing.T) {
	list := functionsOf(sources(t))
	c := &caller{assembly: map[string]bool{}, frames: map[string]bool{}}
	for _, f := range list {
		c.assembly[f.Name.Name] = c.assembly[f.Name.Name] || f.Body == nil
		c.frames[f.Name.Name] = c.frames[f.Name.Name] || framed(f)
	}
	for changed := true; changed; {
		changed = false
		for _, f := range list {
			if name := f.Name.Name; f.Body != nil && !framed(f) && !c.assembly[name] && len(c.reaches(f.Body)) > 0 {
				c.assembly[name], changed = true, true
			}
		}
	}
	for _, f := range list {
		name := f.Name.Name
		if ast.IsExported(name) && c.assembly[name] {
			t.Errorf("%s calls assembly, and may be inlined", name)
		}
		if f.Body != nil {
			for _, called := range c.loops(f.Body) {
				t.Errorf("%s calls %s in a loop", name, called)
			}
		}
	}
}

// sources are the package's files that are not of tests. WebAssembly's are left out: it has one thread.
func sources(t *testing.T) []*ast.File {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_wasm.go") {
			continue
		}
		files = append(files, source(t, name))
	}
	if len(files) == 0 {
		t.Skip("the sources are not there")
	}
	return files
}

// source is a file of the package.
func source(t *testing.T, name string) *ast.File {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the sources are not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func functionsOf(files []*ast.File) (list []*ast.FuncDecl) {
	for _, f := range files {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				list = append(list, f)
			}
		}
	}
	return list
}

// framed reports that f is never inlined.
func framed(f *ast.FuncDecl) bool {
	return f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return c.Text == "//go:noinline" })
}

// caller knows functions by their names.
type caller struct {
	assembly map[string]bool // or those that may become a call of it
	frames   map[string]bool // those that are never inlined
}

// reaches are the names of assembly in n outside of loops that have a frame of their own.
func (c *caller) reaches(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && c.assembly[id.Name] {
			names = append(names, id.Name)
		}
		return !c.stops(n)
	})
	return names
}

// loops are the names of assembly in loops that cannot be stopped.
func (c *caller) loops(body ast.Node) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			names = append(names, c.reaches(n)...)
			return false
		}
		return true
	})
	return names
}

// stops reports that n is a loop that calls a function with a frame.
func (c *caller) stops(n ast.Node) (found bool) {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && c.frames[id.Name]
			return !found
		})
	}
	return found
}
