package pt2

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// TestZoo loads every model below $PTE_ZOO, a folder of */*.pt2.
func TestZoo(t *testing.T) {
	if os.Getenv("PTE_ZOO") == "" {
		t.Skip("PTE_ZOO is not set")
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("PTE_ZOO"), "*", "*.pt2"))
	for _, f := range files {
		a, err := Open(f)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, _, err := a.Load("forward", symint.NewTable()); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d models", len(files))
}
