package decomp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/decomp"
	"github.com/rules-pte/rules_pte/lowerer/internal/functionalize"
	"github.com/rules-pte/rules_pte/lowerer/internal/pt2"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestZoo lowers every model below $PTE_ZOO, a folder of */*.pt2, to operators with rows.
func TestZoo(t *testing.T) {
	if os.Getenv("PTE_ZOO") == "" {
		t.Skip("PTE_ZOO is not set")
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("PTE_ZOO"), "*", "*.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) { lowerFile(t, f) })
	}
}

func lowerFile(t *testing.T, file string) {
	a, err := pt2.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	table := symint.NewTable()
	m, _, err := a.Load("forward", table)
	if err != nil {
		t.Fatal(err)
	}
	p := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}
	if err := functionalize.Run(p, m); err != nil {
		t.Fatal(err)
	}
	if err := decomp.Run(p, m, nil); err != nil {
		t.Fatal(err)
	}
	if len(m.Graph.Outputs) != len(m.Outputs) {
		t.Errorf("%d outputs, %d specs", len(m.Graph.Outputs), len(m.Outputs))
	}
	checkOrder(t, m.Graph)
	if testing.Verbose() {
		t.Log("\n" + pt2.Describe(m, table))
	}
}

// checkOrder checks that every value is made before it is used.
func checkOrder(t *testing.T, g *exir.Graph) {
	t.Helper()
	made := map[*exir.Value]bool{}
	names := map[string]bool{}
	for _, v := range g.Inputs {
		made[v] = true
	}
	var check func(where string, a exir.Arg)
	check = func(where string, a exir.Arg) {
		if a.Kind == exir.ArgValue && !made[a.Value] && a.Value.Const == nil {
			t.Errorf("%s uses %s before it is made", where, a.Value.Name)
		}
		for _, b := range a.List {
			check(where, b)
		}
		if a.Kind == exir.ArgGraph {
			checkOrder(t, a.Graph)
		}
	}
	for _, n := range g.Nodes {
		if names[n.Name] {
			t.Errorf("two nodes are called %s", n.Name)
		}
		names[n.Name] = true
		for _, a := range n.Args {
			check(n.Name, a)
		}
		for _, v := range n.Outs {
			made[v] = true
		}
	}
	for _, a := range g.Outputs {
		check("the output", a)
	}
}
