package pte

//bazel:data //lowerer/diag:codes.go
//bazel:data //backends/backendtest:testdata
//bazel:data //lowerer/internal/pt2:testdata
//bazel:data //runtime/executor:testdata

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pte": func() { Main(linked) }})
}

func TestScripts(t *testing.T) {
	pt2, err := filepath.Abs(filepath.Join("..", "internal", "pt2", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	models, err := filepath.Abs(filepath.Join("..", "..", "backends", "backendtest", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Abs(programDir)
	if err != nil {
		t.Fatal(err)
	}
	branches, err := filepath.Abs("testdata/branches")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: os.Getenv("PTE_UPDATE") != "",
		Setup: func(e *testscript.Env) error { // models, by name
			e.Setenv("PT2", pt2)
			e.Setenv("MODELS", models)
			e.Setenv("BRANCHES", branches)
			e.Setenv("PROGRAMS", programs)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"reweigh": func(ts *testscript.TestScript, _ bool, args []string) { // reweigh IN OUT CONSTANT
				b, err := os.ReadFile(ts.MkAbs(args[0]))
				ts.Check(err)
				at, err := strconv.Atoi(args[2])
				ts.Check(err)
				b, err = reweigh(b, at)
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o666))
			},
		},
	})
}

// reweigh is the program or data file src with the first element, a float32, of a constant negated.
func reweigh(src []byte, constant int) ([]byte, error) {
	if ptd.Is(src) {
		entries, err := ptd.Read(src)
		if err != nil {
			return nil, err
		}
		entries[constant].Data[3] ^= 0x80
		var b bytes.Buffer
		err = ptd.Write(&b, entries, 0)
		return b.Bytes(), err
	}
	p, err := pte.Read(src)
	if err != nil {
		return nil, err
	}
	data := bytes.Clone(p.ConstantBuffers[constant])
	data[3] ^= 0x80
	p.ConstantBuffers[constant] = data
	return pte.Marshal(p)
}

// TestEveryCodeHasItsPage compares the constants of package diag with docs/errors, both ways.
func TestEveryCodeHasItsPage(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "diag", "codes.go"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[diag.Code]bool{}
	for _, m := range regexp.MustCompile(`"(PTE\d{4})"`).FindAllStringSubmatch(string(src), -1) {
		used[diag.Code(m[1])] = true
		if page, ok := diag.Explain(diag.Code(m[1])); !ok || !strings.HasPrefix(page, "# "+m[1]+": ") {
			t.Errorf("%s: no page, or one without title", m[1])
		}
	}
	for _, c := range diag.Codes() {
		if !used[c] {
			t.Errorf("%s: page without code", c)
		}
	}
}

func TestPanicIsABug(t *testing.T) {
	saved := commands
	defer func() { commands = saved }()
	commands = []command{{"vet", "", "", func(*env, []string) error { panic("boom") }}}
	var out bytes.Buffer
	if rc := run([]string{"vet"}, &out, &out); rc != exitBug || !strings.Contains(out.String(), "bug: boom") {
		t.Errorf("exit code %d: %s", rc, &out)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space left on device")}
}

// TestFullDisk fails where what is printed is lost, as text, as JSON and as help.
func TestFullDisk(t *testing.T) {
	const program = "../../runtime/executor/testdata/add/"
	for _, args := range []string{"ops", "passes --json", "version", "help", "run -h", "explain PTE1002", "inspect " + program + "portable.pte",
		"run " + program + "portable.pte --case " + program + "case.json", "run " + program + "portable.pte --case " + program + "case.json --json"} {
		var stderr bytes.Buffer
		rc := run(strings.Fields(args), full{}, &stderr)
		if want := "standard output: no space left on device [PTE8001]\n    hint: "; rc != exitUser || strings.Count(stderr.String(), want) != 1 {
			t.Errorf("%s: exit code %d and %q, want %d and %q", args, rc, &stderr, exitUser, want)
		}
	}
}

func TestOutputName(t *testing.T) {
	for in, want := range map[string]string{
		"a/detector.pte.cue": "detector.pte", "x.cue": "x.pte", "m.pt2": "m.pte", "decode=b/m.pt2": "m.pte",
	} {
		if got := outputName([]string{in}); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestDefaultSpec(t *testing.T) {
	spec, err := config.DefaultSpec([]config.Named{{Method: "forward", Model: "m.pt2"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Methods) != 1 || spec.Methods[0].Model.V != "m.pt2" || spec.SegmentAlignment.V != 128 || spec.Target.Name.V != "any" {
		t.Errorf("got %+v", spec)
	}
}
