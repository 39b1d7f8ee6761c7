package main

//bazel:data //runtime/kernel:avx512

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestOverlay wants files that parse, and no function without a body.
func TestOverlay(t *testing.T) {
	files, err := overlay("../../runtime/kernel")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for path, text := range files {
		if strings.HasSuffix(path, ".s") {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, 0); err != nil {
			t.Error(err)
		}
		if strings.Contains(text, "//go:noescape") {
			t.Errorf("%s declares a function in assembly", path)
		}
		calls += strings.Count(text, "emulated.Run(")
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
