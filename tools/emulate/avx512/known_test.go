package avx512

//bazel:data //runtime/kernel:avx512

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKnown decodes every kernel for AVX-512, so that the emulator keeps up with the generator also where no test runs it.
func TestKnown(t *testing.T) {
	files, err := filepath.Glob("../../../runtime/kernel/z*avx512*.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the assembly: %d files, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for name, f := range Parse(string(text)).functions {
			func() {
				defer func() {
					if p := recover(); p != nil {
						if op := strings.Fields(strings.TrimPrefix(fmt.Sprint(p), "avx512: instruction "))[0]; !seen[op] {
							seen[op] = true
							t.Errorf("%s: %v", name, p)
						}
					}
				}()
				f.once.Do(f.decode)
			}()
		}
	}
}
