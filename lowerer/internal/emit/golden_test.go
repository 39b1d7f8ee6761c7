package emit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var update = flag.Bool("update", false, "write the plans into testdata")

// TestGoldens emits the method in the part "method" of testdata/*.txtar: its plan, with places in memory, is in "plan".
// The comment of each file says what the plan must keep to. With -update it writes the plans.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := planOf(t, string(archive.Files[0].Data))
	if *update {
		archive.Files = []txtar.File{archive.Files[0], {Name: "plan", Data: []byte(got)}}
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(archive.Files) != 2 || got != string(archive.Files[1].Data) {
		t.Errorf("got\n%s(go test -update writes it)", got)
	}
}

// planOf is the text of the planned method.
func planOf(t *testing.T, text string) (plan string) {
	table := symint.NewTable()
	m, err := exir.ParseMethod(text, table)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{AllocInput: true, AllocOutput: true, Alignment: 16, Stage: func(p *exir.Plan) error {
		plan = p.Text()
		return nil
	}}
	p := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}
	if _, _, err := Program(p, table, opts); err != nil {
		t.Fatal(err)
	}
	return plan
}
