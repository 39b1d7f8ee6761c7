package side

//bazel:data //runtime/executor:testdata

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/bench/side/serve"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// TestServe loads a committed program in the worker of our own runtime, times it and compares its results.
func TestServe(t *testing.T) {
	dir, err := filepath.Abs("../../runtime/executor/testdata")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(Subject{Name: "add"}, []string{t.TempDir(), dir})
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := m.words(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	load := append([]string{"load", filepath.Join(m.dir, "portable.pte"), m.method, "1"}, inputs...)
	in := strings.Join(load, "\t") + "\nrun\t3\t2\noutputs\t" + out + "\nnonsense\n"
	var answers bytes.Buffer
	if err := serve.Serve(strings.NewReader(in), &answers, executor.LoadOptions{Kernels: op.Kernels}); err != nil {
		t.Fatal(err)
	}
	var words []string
	for lines := bufio.NewScanner(&answers); lines.Scan(); {
		words = append(words, strings.Split(lines.Text(), "\t")[0])
	}
	if d := cmp.Diff([]string{"ok", "ok", "ok", "error"}, words); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
	if err := m.checkOutput(0, filepath.Join(out, "0")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(out, "0"), []byte("6:1:0\nabcd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.checkOutput(0, filepath.Join(out, "0")); err == nil {
		t.Error("other results: no error")
	}
}

// TestLinked measures a program in a worker that was linked for it, and has no kernel of another.
func TestLinked(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	t.Chdir(filepath.Join("..", ".."))
	set, tmp := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(set, "add"), os.DirFS("runtime/executor/testdata/add")); err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("lowerer/internal/pt2/testdata/add.pt2")
	if err := errors.Join(err, os.WriteFile(filepath.Join(set, "add", "model.pt2"), model, 0o600)); err != nil {
		t.Fatal(err)
	}
	m, err := Read(Subject{Name: "add"}, []string{set})
	if err != nil {
		t.Fatal(err)
	}
	for _, partition := range []string{"", "xnnpack"} {
		linked := &Side{Name: "linked_" + partition, Partition: partition}
		k, err := NewKit(Tools{Cache: tmp}, []*Side{linked}, tmp)
		if err != nil {
			t.Fatal(err)
		}
		program, err := k.program(m, linked)
		if err != nil {
			t.Fatal(err)
		}
		f := k.Measure(m, []*Side{linked}, 1, Turns{Rounds: 1, Each: time.Millisecond}).Sides[linked.Name]
		if f.Error != "" || f.Median == 0 || f.Load == 0 {
			t.Errorf("with %q: %+v", partition, f)
		}
		all, linkedSize := size(t, k.ours), size(t, workerOf(program))
		if linkedSize*3 > all*2 {
			t.Errorf("with %q: the worker has %d bytes, that with all kernels %d", partition, linkedSize, all)
		}
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestFromUser: under bazel, relative paths count from the user's folder, but for what is not given and for commands in PATH.
func TestFromUser(t *testing.T) {
	t.Setenv("BUILD_WORKING_DIRECTORY", "/home/user")
	for _, c := range []struct{ given, file, command string }{
		{"", "", ""}, {"a", "/home/user/a", "a"}, {"b/c", "/home/user/b/c", "/home/user/b/c"}, {"/d", "/d", "/d"},
	} {
		file, command := c.given, c.given
		FilesFromUser(&file)
		CommandsFromUser(&command)
		if file != c.file || command != c.command {
			t.Errorf("%q: file %q and command %q, want %q and %q", c.given, file, command, c.file, c.command)
		}
	}
}

// TestReadPlainCase reads a case file that names neither methods nor that of a call.
func TestReadPlainCase(t *testing.T) {
	set := t.TempDir()
	text := `{"cases": [{"calls": [{"inputs": [{"int": 1}], "outputs": []}]}]}`
	if err := errors.Join(os.Mkdir(filepath.Join(set, "net"), 0o700), os.WriteFile(filepath.Join(set, "net", "case.json"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	m, err := Read(Subject{Name: "net"}, []string{set})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(set, "net", "model.pt2"); m.methods["forward"] != want || m.method != "forward" {
		t.Errorf("got %v and %s, want forward of %s", m.methods, m.method, want)
	}
	if _, err := Read(Subject{Name: "none"}, []string{set}); err == nil || err.Error() != "find model none: not in "+set+"; --models names others" {
		t.Errorf("got %v", err)
	}
}
