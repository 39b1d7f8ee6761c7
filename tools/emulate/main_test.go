package main

//bazel:data //runtime/kernel:avx512

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestOverlay wants files that parse, no function without a body, and the text of all assembly, so that go's cache depends on it.
func TestOverlay(t *testing.T) {
	files, err := overlay("../../runtime/kernel")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	texts := make(map[string]bool)
	for path, text := range files {
		if strings.HasSuffix(path, ".s") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				s, _ := strconv.Unquote(l.Value)
				texts[s] = true
			}
			return true
		})
		if strings.Contains(text, "//go:noescape") {
			t.Errorf("%s declares a function in assembly", path)
		}
		calls += strings.Count(text, "emulated.Run(")
	}
	for path := range files {
		if !strings.HasSuffix(path, ".s") {
			continue
		}
		if b, err := os.ReadFile(path); err != nil || !texts[string(b)] {
			t.Errorf("the text of %s is not in the overlay (%v)", path, err)
		}
	}
	if calls < 100 {
		t.Errorf("%d functions are emulated, want some hundred", calls)
	}
}

func TestErrors(t *testing.T) {
	if err := run(nil); err == nil || !strings.Contains(err.Error(), "no arguments; want those of go") {
		t.Errorf("run = %v", err)
	}
	if _, err := overlay(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no assembly for AVX-512 in ") {
		t.Errorf("overlay = %v", err)
	}
}
