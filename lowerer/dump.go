package lowerer

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// Dumper writes the text of every stage, and one page with the stages side by side. A nil Dumper writes nothing.
type Dumper struct {
	dir    string
	stages []stage
}

type stage struct{ name, method, text string }

// NewDumper makes dir; "" gives a nil Dumper.
func NewDumper(dir string) (*Dumper, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, diag.New(diag.FileWrite, dir, "%w", err)
	}
	return &Dumper{dir: dir}, nil
}

// Stage writes the text of m as it is now.
func (d *Dumper) Stage(name string, _ *exir.Program, m *exir.Method, table *symint.Table) error {
	if d == nil {
		return nil
	}
	return d.write(stage{name, m.Name, m.Text(table)})
}

// Plan writes the text of p as it is now: stage out-variant, or planned.
func (d *Dumper) Plan(p *exir.Plan) error {
	if d == nil {
		return nil
	}
	name := "out-variant"
	if p.Planned {
		name = "planned"
	}
	return d.write(stage{name, p.Name, p.Text()})
}

func (d *Dumper) write(s stage) error {
	d.stages = append(d.stages, s)
	file := filepath.Join(d.dir, fmt.Sprintf("%02d-%s-%s.txt", len(d.stages), s.name, s.method))
	if err := os.WriteFile(file, []byte(s.text), 0o666); err != nil {
		return diag.New(diag.FileWrite, file, "%w", err)
	}
	return nil
}

// stage verifies m in dialect d and dumps it.
func (l *Loaded) stage(dump *Dumper, name string, m *exir.Method, d exir.Dialect) error {
	if err := exir.Verify(m, l.Program.Shapes, d); err != nil {
		return err
	}
	return dump.Stage(name, &l.Program.Program, m, l.table)
}
