package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFindModels(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one + "/a", one + "/c", two + "/b"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/case.json", nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := findModels(one + string(filepath.ListSeparator) + two)
	if want := []string{one + "/a", two + "/b", one + "/c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := findModels(one + string(filepath.ListSeparator) + t.TempDir()); err == nil {
		t.Error("a set without models: no error")
	}
}
