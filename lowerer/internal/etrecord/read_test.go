package etrecord

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
)

// TestRead reads what Write wrote.
func TestRead(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/method.txtar")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.etrecord")
	if err := os.WriteFile(path, record(t, string(archive.Files[0].Data)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Read(path)
	if err != nil || !Is(path) {
		t.Fatalf("an archive: %v, error %v", Is(path), err)
	}
	want := debuginfo.New()
	fill(want)
	want.Nodes["forward"] = map[int]*debuginfo.Node{
		1: {Name: "maximum", Op: "aten.max.dim", Module: "encoder.0", Where: "model.py:25"},
		2: {Name: "ids", Op: "aten.arange.default"},
		3: {Name: "sin", Op: "aten.sin.default", Module: "encoder.1", Where: "model.py:31"},
	}
	if !reflect.DeepEqual(d, want) {
		got, _ := json.Marshal(d)
		wanted, _ := json.Marshal(want)
		t.Errorf("got\n%s\nwant\n%s", got, wanted)
	}
}

// TestReadOfficial reads what tools/oracle/etrecord.py made.
func TestReadOfficial(t *testing.T) {
	d, err := Read("testdata/official.etrecord")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[int][]int{0: {1, 2}, 1: {3}, 2: {4}}; !reflect.DeepEqual(d.Handles["forward"], want) {
		t.Errorf("handles %v, want %v", d.Handles["forward"], want)
	}
	if x := d.Delegates["forward"][0]; x == nil || x.Name != "XnnpackBackend" {
		t.Errorf("instruction 0 calls %v", x)
	}
	for handle, want := range map[int][3]string{
		1: {"aten.linear.default", "linear", "y = torch.relu(self.linear(x))"},
		2: {"aten.relu.default", "", "y = torch.relu(self.linear(x))"},
		3: {"aten.erf.default", "", "return torch.erf(y).cumsum(0)"},
		4: {"aten.cumsum.default", "", "return torch.erf(y).cumsum(0)"},
	} {
		n := d.Node("forward", handle)
		if n == nil || n.Op != want[0] || n.Module != want[1] || n.Text != want[2] || !strings.Contains(n.Where, "etrecord.py:") {
			t.Errorf("node %d is %+v, want %q", handle, n, want)
		}
	}
}

func TestReadFaults(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ member, text, want string }{
		{"", "", "it has no member ETRECORD_V0"},
		{"debug_handle_map", "[", "member debug_handle_map: unexpected EOF"},
		{"debug_handle_map", `{"forward": {"0": "a"}}`, "cannot unmarshal string"},
		{"delegate_map", `{"forward": {"a": {}}}`, "member delegate_map: "},
		{"instruction_id_to_num_outs_map", `{"forward": 1}`, "member instruction_id_to_num_outs_map: "},
		{"edge_dialect_exported_program/forward", `1`, "member edge_dialect_exported_program/forward: "},
		{"edge_dialect_exported_program", `[]`, "member edge_dialect_exported_program: "},
		{"delegate_map", `null`, ""},
		{"debug_handle_map", `{"forward": {"0": null, "1": 2}}`, ""},
		{"edge_dialect_exported_program/forward_constants", "not JSON", ""},
	} {
		path := filepath.Join(dir, "r.etrecord")
		archive(t, path, c.member, c.text)
		_, err := Read(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s = %s: got %v, want %q", c.member, c.text, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || Is(filepath.Join(dir, "none")) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read("read_test.go"); err == nil || Is("read_test.go") {
		t.Errorf("a text: %v", err)
	}
}

// archive writes an ETRecord of one member, or an archive that is none.
func archive(t *testing.T, path, member, text string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	files := [][2]string{{"ETRECORD_V0", ""}, {member, text}}
	if member == "" {
		files = [][2]string{{"data.pkl", ""}}
	}
	for _, file := range files {
		w, err := z.Create(file[0])
		if err == nil {
			_, err = w.Write([]byte(file[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
