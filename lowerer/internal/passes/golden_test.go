package passes

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var update = flag.Bool("update", false, "write what the passes give into testdata")

var allFacts = []Fact{Functional, CoreOps, TensorArgs, DimOrderOps, NumbersBound, NoDeadCode, Folded}

// seen notes which facts the goldens of a pass show to be made, and which to be broken.
type seen struct{ made, broken map[Fact]bool }

// TestGoldens runs each pass over the programs in testdata/PASS.txtar and testdata/PASS_CASE.txtar: what it makes of the
// part "before" is in "after", or its error in "error". With -update it writes them.
//
// The table's facts are held against the goldens: what a pass needs holds before it, what it gives holds after it, and what
// held before holds after it unless it says that it breaks that. For each fact that it gives or breaks, there is a golden
// that shows it.
func TestGoldens(t *testing.T) {
	for i := range Table {
		p := &Table[i]
		t.Run(p.Name, func(t *testing.T) {
			s := seen{map[Fact]bool{}, map[Fact]bool{}}
			for _, file := range goldensOf(t, p.Name) {
				t.Run(filepath.Base(file), func(t *testing.T) { s.golden(t, p, file) })
			}
			for _, f := range p.Gives {
				if !s.made[f] {
					t.Errorf("no golden shows that it gives %s", f)
				}
			}
			for _, f := range p.Breaks {
				if !s.broken[f] {
					t.Errorf("no golden shows that it breaks %s", f)
				}
			}
		})
	}
}

func goldensOf(t *testing.T, pass string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".txtar"), "_")
		return name != pass
	})
	if len(files) == 0 {
		t.Errorf("no golden of pass %s", pass)
	}
	return files
}

// part is the part of that name, and whether it is there.
func part(a *txtar.Archive, name string) (string, bool) {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

func (s *seen) golden(t *testing.T, p *Pass, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := part(archive, "before")
	table := symint.NewTable()
	m, err := exir.ParseMethod(before, table)
	if err != nil {
		t.Fatal(err)
	}
	if text := m.Text(table); text != before {
		t.Errorf("the text before is not as it is printed, got\n%s", text)
	}
	c := &Context{Table: table, Offered: p.Rest, late: p.Late,
		Program: &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}}
	if err := Verify(c, m, p.Needs); err != nil {
		t.Fatalf("what it needs does not hold: %v", err)
	}
	held := holding(c, m)
	name, got := "after", ""
	if err := p.Run(c, m); err != nil {
		name, got = "error", err.Error()+"\n"
	} else {
		got = m.Text(table)
		s.facts(t, p, held, holding(c, m))
	}
	if *update {
		archive.Files = []txtar.File{archive.Files[0], {Name: name, Data: []byte(got)}}
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, ok := part(archive, name); !ok || got != want {
		t.Errorf("got %s\n%swant\n%s(go test -update writes it)", name, got, want)
	}
}

// holding are the facts that hold.
func holding(c *Context, m *exir.Method) map[Fact]bool {
	hold := map[Fact]bool{}
	for _, f := range allFacts {
		hold[f] = Verify(c, m, []Fact{f}) == nil
	}
	return hold
}

// facts holds what a pass made true and false against its row.
func (s *seen) facts(t *testing.T, p *Pass, before, after map[Fact]bool) {
	t.Helper()
	for _, f := range allFacts {
		gives, breaks := slices.Contains(p.Gives, f), slices.Contains(p.Breaks, f)
		switch {
		case gives && !after[f]:
			t.Errorf("it gives %s, which does not hold after it", f)
		case before[f] && !after[f] && !breaks:
			t.Errorf("it breaks %s and does not say so", f)
		}
		s.made[f] = s.made[f] || !before[f] && after[f]
		s.broken[f] = s.broken[f] || before[f] && !after[f]
	}
}
