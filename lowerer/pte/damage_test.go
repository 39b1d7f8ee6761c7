package pte

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamage cuts a model and a program at many places and changes many of their bytes. The command takes the file, or
// refuses it with a code; it never calls itself wrong, and leaves nothing behind.
func TestDamage(t *testing.T) {
	x, err := filepath.Abs(filepath.Join(programDir, "add", "case0", "in_0.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		args []string
		step int // a prime, so that every part of a structure is met
	}{
		{filepath.Join(modelDir, "tied.pt2"), []string{"lower", "-o", "out.pte"}, 211},
		{filepath.Join(modelDir, "pickled.pt2"), []string{"lower", "-o", "out.pte"}, 211},
		{filepath.Join(programDir, "add", "portable.pte"), []string{"run", "--max-memory", "1000000", "--input", x, "--input", x}, 13},
		{filepath.Join(programDir, "cond", "portable.pte"), []string{"inspect"}, 11},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			whole, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			for i := 0; i < len(whole); i += c.step {
				flipped := bytes.Clone(whole)
				flipped[i] ^= byte(1 << (i % 8))
				for _, b := range [][]byte{whole[:i], flipped} {
					try(t, i, b, c.args)
				}
			}
		})
	}
}

// try gives the file b to the command, and checks the exit code and the folder afterwards.
func try(t *testing.T, at int, b []byte, args []string) {
	t.Helper()
	write(t, "in", b)
	var out, errs bytes.Buffer
	rc := run(append(args, "in"), &out, &errs)
	if rc != 0 && rc != exitUser || rc == exitUser && !strings.Contains(errs.String(), "[PTE") {
		t.Fatalf("byte %d: exit code %d: %s", at, rc, &errs)
	}
	if rc == 0 {
		os.Remove("out.pte")
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Fatalf("byte %d: exit code %d leaves %v, %v", at, rc, left, err)
	}
}
