package etrecord

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/internal/textdiff"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var update = flag.Bool("update", false, "write the records into testdata")

// TestGoldens records the method in the part "method" of testdata/*.txtar: the members of the file are in "record".
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, record(t, string(archive.Files[0].Data)))
		if *update {
			archive.Files = []txtar.File{archive.Files[0], {Name: "record", Data: []byte(got)}}
			if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(archive.Files) != 2 || got != string(archive.Files[1].Data) {
			t.Errorf("%s (go test -update writes it):\n%s", file, textdiff.Lines(string(archive.Files[len(archive.Files)-1].Data), got))
		}
	}
}

// record is the file of a method whose one instruction is a delegate's.
func record(t *testing.T, method string) []byte {
	t.Helper()
	table := symint.NewTable()
	m, err := exir.ParseMethod(method, table)
	if err != nil {
		t.Fatal(err)
	}
	var r Record
	r.Add(&exir.Program{Methods: []*exir.Method{m}}, func(d tensor.Dim) int64 { return table.Eval(d, nil) })
	d := debuginfo.New()
	fill(d)
	var b bytes.Buffer
	if err := r.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fill notes the instructions of the method.
func fill(d *debuginfo.File) {
	d.Handles["forward"] = map[int][]int{0: {1, 2}, 3: {4}}
	d.Outs["forward"] = map[int]int{0: 1, 3: 2}
	d.Delegates["forward"] = map[int]*debuginfo.Delegate{0: {Name: "B", Map: map[string][]int{"0": {1, 2}}, Outputs: []int{2}}}
}

// text is the members of a record, graphs with a line for each node and tensor.
func text(t *testing.T, record []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(record), int64(len(record)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, member := range z.File {
		r, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("== " + member.Name + "\n" + lines(t, data))
	}
	return b.String()
}

// lines is JSON with a line for each node and tensor of a graph, and what else is as deep.
func lines(t *testing.T, data []byte) string {
	t.Helper()
	if len(data) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", " "); err != nil {
		t.Fatal(err)
	}
	closing := [...]string{"", "", "", "", "]}"} // what ends a line does not begin one
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		content := strings.TrimLeft(line, " ")
		if depth := len(line) - len(content); depth <= 4 && !strings.ContainsAny(content[:1], closing[depth]) {
			out.WriteString("\n" + strings.Repeat(" ", depth))
		}
		out.WriteString(strings.TrimSuffix(content, "\n"))
	}
	return strings.TrimPrefix(out.String(), "\n") + "\n"
}

// TestNothing: what is not there takes nothing, and a file that cannot be written is an error.
func TestNothing(t *testing.T) {
	var none *Record
	none.Add(&exir.Program{}, nil)
	err := new(Record).Write(failing{}, debuginfo.New())
	if !errors.Is(err, errFull) || !strings.HasPrefix(fmt.Sprint(err), "write ETRecord: ") {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
