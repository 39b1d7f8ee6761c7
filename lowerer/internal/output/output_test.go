package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestApart refuses to replace inputs, under whatever name, and to write a file twice.
func TestApart(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := dir + "/./in"
	for _, c := range []struct {
		outputs []string
		want    string
	}{
		{[]string{"", filepath.Join(dir, "out"), ""}, ""},
		{[]string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}, ""},
		{[]string{os.DevNull, os.DevNull}, ""},
		{[]string{"", other}, other + ": would replace the input " + in + ""},
		{[]string{filepath.Join(dir, "a"), dir + "/./a"}, dir + "/./a: is the file of two outputs"},
	} {
		got := ""
		if err := Apart([]string{"none", in}, c.outputs); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.outputs, got, c.want)
		}
	}
}

// TestWriteLeavesNothing checks that a write that fails or panics changes nothing.
func TestWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "old"); return err }); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for name, write := range map[string]func(io.Writer) error{
		"error": func(w io.Writer) error { _, _ = io.WriteString(w, "new"); return broken },
		"panic": func(io.Writer) error { panic("boom") },
	} {
		func() {
			defer func() { _ = recover() }()
			if err := Write(path, write); !errors.Is(err, broken) {
				t.Errorf("%s: got %v", name, err)
			}
		}()
		if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
			t.Errorf("%s: the file holds %q, %v", name, b, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: left behind %v, %v", name, entries, err)
		}
	}
	if err := Write(dir, nil); err == nil {
		t.Error("a directory was written over")
	}
}
