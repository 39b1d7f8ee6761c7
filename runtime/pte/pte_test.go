package pte_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// official are files of the official exporter; PTE_ZOO names a folder with more, as MODEL/NAME.pte.
func official(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.pte")
	if len(files) != 4 {
		t.Fatalf("found %d files in testdata, want 4", len(files))
	}
	if zoo := os.Getenv("PTE_ZOO"); zoo != "" {
		more, _ := filepath.Glob(filepath.Join(zoo, "*", "*.pte"))
		files = append(files, more...)
	}
	return files
}

func TestRoundTrip(t *testing.T) {
	for _, name := range official(t) {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, err := pte.Read(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := pte.Marshal(first)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		second, err := pte.Read(again)
		if err != nil {
			t.Errorf("%s: read back: %v", name, err)
			continue
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: read back (-first +second):\n%.2000s", name, diff)
		}
		third, _ := pte.Marshal(second)
		if !bytes.Equal(again, third) {
			t.Errorf("%s: the second Marshal gives other bytes", name)
		}
		if dir := os.Getenv("PTE_OUT"); dir != "" {
			out := filepath.Base(filepath.Dir(name)) + "." + filepath.Base(name)
			if err := os.WriteFile(filepath.Join(dir, out), again, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
