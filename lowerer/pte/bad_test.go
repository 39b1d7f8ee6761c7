package pte

//bazel:data //lowerer/internal/pt2:testdata
//bazel:data //runtime/executor:testdata

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const (
	modelDir   = "../internal/pt2/testdata"
	programDir = "../../runtime/executor/testdata"
)

// TestBadInput runs the scripts of testdata/bad, which damage inputs in every way that a user may meet.
func TestBadInput(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/bad", UpdateScripts: os.Getenv("PTE_UPDATE") != "",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"model": func(ts *testscript.TestScript, _ bool, args []string) {
				copyFile(ts, modelDir, args[0]+".pt2", args[1])
			},
			"program": func(ts *testscript.TestScript, _ bool, args []string) {
				copyFile(ts, programDir, args[0]+"/portable.pte", args[1])
			},
			"cut": cut, "flip": flip, "edit": editModel, "nodes": setNodes, "make": makeProgram, "npy": makeArray, "fails": fails,
		},
		Setup: func(e *testscript.Env) error {
			wd, err := os.Getwd()
			e.Setenv("PACKAGE", wd)
			return err
		},
	})
}

func copyFile(ts *testscript.TestScript, dir, from, to string) {
	b, err := os.ReadFile(filepath.Join(ts.Getenv("PACKAGE"), dir, from))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(to), b, 0o666))
}

func change(ts *testscript.TestScript, name string, edit func(b []byte) []byte) {
	b, err := os.ReadFile(ts.MkAbs(name))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name), edit(b), 0o666))
}

// cut FILE N keeps the first N bytes.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	change(ts, args[0], func(b []byte) []byte { return b[:n] })
}

// flip FILE N inverts byte N.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	change(ts, args[0], func(b []byte) []byte { b[n] ^= 0xff; return b })
}

// editModel is: edit FILE RECORD OLD NEW. It replaces text in the records whose names end in RECORD; a NEW of "-" drops
// them. Checksums are right afterwards.
func editModel(ts *testscript.TestScript, _ bool, args []string) {
	done := false
	change(ts, args[0], func(b []byte) []byte {
		return editZip(ts.Check, b, func(name string, text []byte) []byte {
			if !strings.HasSuffix(name, args[1]) || args[3] != "-" && !bytes.Contains(text, []byte(args[2])) {
				return text
			}
			done = true
			if args[3] == "-" {
				return nil
			}
			return bytes.ReplaceAll(text, []byte(args[2]), []byte(args[3]))
		})
	})
	if !done {
		ts.Fatalf("no record %s with %q", args[1], args[2])
	}
}

// setNodes is: nodes FILE OP ...
func setNodes(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(b []byte) []byte { return chain(ts.Check, b, args[1:]) })
}

// makeProgram is: make KIND FILE, for a kind of badPrograms.
func makeProgram(ts *testscript.TestScript, _ bool, args []string) {
	b, err := pte.Marshal(badPrograms()[args[0]])
	ts.Check(err)
	if len(b) > 1024 {
		ts.Fatalf("the program has %d bytes, want at most 1024", len(b))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o666))
}

// makeArray is: npy FILE float32|int64 SIZE ...
func makeArray(ts *testscript.TestScript, _ bool, args []string) {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: map[string]tensor.ScalarType{"float32": tensor.Float, "int64": tensor.Long}[args[1]]}}
	for _, a := range args[2:] {
		n, err := strconv.ParseInt(a, 10, 64)
		ts.Check(err)
		t.Sizes = append(t.Sizes, n)
	}
	t.Data = make([]byte, t.Nbytes())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), npy.Format(t), 0o666))
}

// fails is: fails CODE ARGS... It wants that exit code of pte, a message without a trace of Go, no output, and every file
// as it was, with none left behind in the folder for temporary files.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	before := snapshot(ts)
	err := ts.Exec("pte", args[1:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if text := ts.ReadFile("stderr"); strings.Contains(text, "goroutine") || strings.Contains(text, "panic") || args[0] == "1" && !strings.Contains(text, "[PTE") {
		ts.Fatalf("a trace of Go, or no code, in %s", text)
	}
	if out := ts.ReadFile("stdout"); out != "" && !strings.Contains(strings.Join(args, " "), "--case") {
		ts.Fatalf("output %q", out)
	}
	if after := snapshot(ts); after != before {
		ts.Fatalf("files before:\n%safter:\n%s", before, after)
	}
}

// snapshot lists every file below the script's folder with its content.
func snapshot(ts *testscript.TestScript) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %x\n", path, len(data), crc(data))
		return err
	}))
	return b.String()
}

func crc(b []byte) (sum uint32) {
	for _, x := range b {
		sum = sum*16777619 ^ uint32(x)
	}
	return sum
}
