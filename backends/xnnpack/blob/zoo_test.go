package blob

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

//bazel:data //backends/xnnpack/rt:testdata

// payloads are the XNNPACK payloads of the programs that match pattern.
func payloads(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	files, _ := filepath.Glob(pattern)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pte.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range p.DelegateData {
			found[filepath.Base(filepath.Dir(name))+"/"+itoa(i)] = d
		}
	}
	return found
}

// TestOfficialPayloads reads and rewrites the payloads of the official programs under PTE_ZOO.
func TestOfficialPayloads(t *testing.T) {
	zoo := os.Getenv("PTE_ZOO")
	if zoo == "" {
		t.Skip("PTE_ZOO is not set")
	}
	for name, payload := range payloads(t, filepath.Join(zoo, "*", "xnnpack*.pte")) {
		g, err := Read(payload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Write(g)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g2, err := Read(again)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(g, g2); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
