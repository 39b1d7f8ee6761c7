package exir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var dialects = map[string]exir.Dialect{
	"ATen": exir.ATen, "functional": exir.FunctionalATen, "core": exir.CoreATen, "Edge": exir.Edge,
}

// verify parses text and verifies it in a dialect, or as a plan.
func verify(text, dialect string) error {
	if strings.HasPrefix(text, "plan ") {
		p, err := exir.ParsePlan(text)
		if err != nil {
			return err
		}
		return exir.VerifyPlan(p)
	}
	table := symint.NewTable()
	m, err := exir.ParseMethod(text, table)
	if err != nil {
		return err
	}
	return exir.Verify(m, &tensor.Shapes{Table: table}, dialects[dialect])
}

// verifyAny verifies text in every dialect.
func verifyAny(text string) {
	for d := range dialects {
		_ = verify(text, d)
	}
}

// TestVerify verifies the texts in testdata/verify, each of which breaks one rule: the comment's first word is the
// dialect, and "error" is what the verifier says. With -update it writes that. A text is fine in the dialect "but in".
func TestVerify(t *testing.T) {
	for _, file := range files(t, "testdata/verify/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comment := strings.Fields(string(a.Comment))
			text := string(a.Files[0].Data)
			err = verify(text, strings.TrimSuffix(comment[0], ":"))
			var list diag.List
			if !errors.As(err, &list) {
				t.Fatalf("got %v, want faults", err)
			}
			var b strings.Builder
			diag.Print(&b, err)
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "error", Data: []byte(b.String())}}
				if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 || b.String() != string(a.Files[1].Data) {
				t.Errorf("got\n%s(go test -update writes it)", b.String())
			}
		})
	}
}

// TestVerifyAccepts verifies texts without a fault.
func TestVerifyAccepts(t *testing.T) {
	for _, c := range []struct{ file, dialect string }{{"delegated", "Edge"}, {"plan", ""}} {
		if err := verify(read(t, "testdata/text/"+c.file+".txt"), c.dialect); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

// TestVerifyGraphs checks what no text can say: graphs whose parts do not belong together.
func TestVerifyGraphs(t *testing.T) {
	relu := exir.MustSchema("aten::relu")
	for _, c := range []struct {
		name, want string
		make       func(m *exir.Method, x *exir.Value, n *exir.Node)
	}{
		{"order", "uses %late, which nothing before it makes", func(m *exir.Method, _ *exir.Value, n *exir.Node) {
			late := &exir.Node{Name: "late", Op: relu, Args: n.Args, Outs: []*exir.Value{{Name: "%late", Spec: n.Outs[0].Spec}}}
			late.Outs[0].Node = late
			n.Args = []exir.Arg{exir.ToArg(late.Outs[0])}
			m.Graph.Nodes = append(m.Graph.Nodes, late)
		}},
		{"missing", "argument 0 is a value that is missing", func(_ *exir.Method, _ *exir.Value, n *exir.Node) {
			n.Args = []exir.Arg{{Kind: exir.ArgValue}}
		}},
		{"owner", "result y belongs to another node", func(_ *exir.Method, _ *exir.Value, n *exir.Node) { n.Outs[0].Node = nil }},
		{"input", "input x is the result of node relu", func(_ *exir.Method, x *exir.Value, n *exir.Node) { x.Node = n }},
		{"operator", "it calls no operator", func(_ *exir.Method, _ *exir.Value, n *exir.Node) { n.Op = nil }},
		{"arguments", "0 arguments, want 1", func(_ *exir.Method, _ *exir.Value, n *exir.Node) { n.Args = nil }},
		{"value name", `another value is called "x"`, func(_ *exir.Method, _ *exir.Value, n *exir.Node) { n.Outs[0].Name = "x" }},
		{"signature", "1 inputs and 1 outputs in the graph, 0 and 1 in the signature", func(m *exir.Method, _ *exir.Value, _ *exir.Node) {
			m.Inputs = nil
		}},
		{"both", "both a constant and the result of node", func(m *exir.Method, _ *exir.Value, n *exir.Node) {
			other := &exir.Value{Name: "c", Spec: n.Outs[0].Spec, Node: n, Const: &exir.Constant{Name: "c"}}
			m.Graph.Outputs[0] = exir.ToArg(other)
		}},
		{"constant of values", "constant c is made of x, which is none", func(m *exir.Method, x *exir.Value, n *exir.Node) {
			c := &exir.Constant{Name: "c", Meta: n.Outs[0].Spec, Node: &exir.ConstExpr{Op: relu, Args: []exir.Arg{exir.ToArg(x)}}}
			m.Graph.Outputs[0] = exir.ToArg(&exir.Value{Name: "c", Spec: c.Meta, Const: c})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &exir.Value{Name: "x", Spec: tensor.Meta{DType: tensor.Float, Sizes: []int64{2}}}
			n := &exir.Node{Name: "relu", Op: relu, Args: []exir.Arg{exir.ToArg(x)}}
			n.Outs = []*exir.Value{{Name: "y", Spec: x.Spec, Node: n}}
			m := &exir.Method{Name: "forward", Inputs: make([]exir.InputSpec, 1), Outputs: make([]exir.OutputSpec, 1),
				Graph: &exir.Graph{Inputs: []*exir.Value{x}, Nodes: []*exir.Node{n}, Outputs: []exir.Arg{exir.ToArg(n.Outs[0])}}}
			if err := exir.Verify(m, nil, exir.CoreATen); err != nil {
				t.Fatalf("before it is changed: %v", err)
			}
			c.make(m, x, n)
			if err := exir.Verify(m, nil, exir.ATen); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
