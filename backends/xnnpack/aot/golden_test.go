package aot

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var update = flag.Bool("update", false, "write the goldens")

// TestGolden holds against testdata/*.txtar which nodes of a graph are taken, why the others are not, and the XNNPACK
// graph of those that are, where all are.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(a)
			golden(t, a)
			got := txtar.Format(a)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !*update && !bytes.Equal(got, want) {
				t.Error(cmp.Diff(string(want), string(got)))
			}
		})
	}
}

// golden fills in the sections partition and xnnpack from options and graph.
func golden(t *testing.T, a *txtar.Archive) {
	t.Helper()
	section := func(name string) *txtar.File {
		for i := range a.Files {
			if a.Files[i].Name == name {
				return &a.Files[i]
			}
		}
		a.Files = append(a.Files, txtar.File{Name: name})
		return &a.Files[len(a.Files)-1]
	}
	table := &symbolTable{}
	m, err := exir.ParseMethod(string(section("graph").Data), table)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Backend{}.Partitioner(backend.Options{Partitioner: section("options").Data, Bounds: table.Bounds})
	if err != nil {
		t.Fatal(err)
	}
	program := &exir.EdgeProgram{Program: exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{}}}
	tags := backend.NewTaggedProgram(&program.Program, m, backend.Scope{Backend: ID})
	r, err := p.Partition(tags)
	if err == nil {
		err = tags.Check(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, all := partitionText(tags, m)
	section("partition").Data = []byte(text)
	if all {
		section("xnnpack").Data = []byte(payloadText(t, &backend.Context{Bounds: table.Bounds, Partitioner: p}, program))
	}
}

// partitionText says of each node in which partition it is, or why it is in none, and whether all are in the first.
func partitionText(tags *backend.TaggedProgram, m *exir.Method) (text string, all bool) {
	all = true
	for _, n := range m.Graph.Nodes {
		tag := tags.TagOf(n)
		all = all && tag == "tag0"
		if tag == "" {
			tag = "left: " + strings.Join(tags.Reasons(n), "; ")
		}
		text += n.Name + ": " + tag + "\n"
	}
	return text, all
}

func payloadText(t *testing.T, c *backend.Context, p *exir.EdgeProgram) string {
	t.Helper()
	out, err := Backend{}.Preprocess(c, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := blob.Read(out.ProcessedBytes)
	if err != nil {
		t.Fatal(err)
	}
	text := Text(g)
	for i, e := range out.NamedData.Entries() {
		text += fmt.Sprintf("constant %d: %s\n", i+1, constantText(e.Content))
	}
	for _, r := range out.Requirements {
		text += fmt.Sprintf("required: %s = 0, else %v\n", constantText(r.Zero), r.Otherwise)
	}
	return text
}

// constantText is a constant as an expression over weights.
func constantText(c *exir.Constant) string {
	if c.Node == nil {
		return "@" + c.Name
	}
	var parts []string
	for i := range c.Node.Args {
		parts = append(parts, argText(&c.Node.Args[i]))
	}
	return c.Node.Op.Base() + "(" + strings.Join(parts, ", ") + ")"
}

func argText(a *exir.Arg) string {
	switch {
	case a.Kind == exir.ArgValue && a.Value.Const.Literal && a.Value.Const.Meta.Rank() == 0 && len(a.Value.Const.Data) == 4:
		b := a.Value.Const.Data
		return fmt.Sprint(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
	case a.Kind == exir.ArgValue:
		return constantText(a.Value.Const)
	case a.Kind == exir.ArgFloat:
		return fmt.Sprint(a.Float)
	case a.Kind == exir.ArgDType:
		return tensor.ScalarType(a.Int).String()
	case a.Kind == exir.ArgNone:
		return "None"
	case a.Kind == exir.ArgList:
		var parts []string
		for i := range a.List {
			parts = append(parts, argText(&a.List[i]))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(a.Int)
}

// symbolTable has sizes without arithmetic.
type symbolTable struct {
	tensor.Expressions
	names  []string
	ranges [][2]int64
}

func (s *symbolTable) Symbol(name string, low, high, _ int64) tensor.Dim {
	i := slices.Index(s.names, name)
	if i < 0 {
		i = len(s.names)
		s.names, s.ranges = append(s.names, name), append(s.ranges, [2]int64{})
	}
	s.ranges[i] = [2]int64{low, high}
	return tensor.SymbolDim(i)
}

func (s *symbolTable) Node(tensor.Dim) (string, []tensor.Dim, string) { return "symbol", nil, "" }
func (s *symbolTable) Hint(tensor.Dim) int64                          { return 1 }
func (s *symbolTable) String(d tensor.Dim) string                     { return fmt.Sprint(d) }

func (s *symbolTable) Bounds(d tensor.Dim) (low, high int64) {
	for i, r := range s.ranges {
		if d == tensor.SymbolDim(i) {
			return r[0], r[1]
		}
	}
	return d, d
}

// TestKeepsBounded checks that no operator is kept from decomposition which is left then because a size has no bound.
func TestKeepsBounded(t *testing.T) {
	table := &symbolTable{}
	m, err := exir.ParseMethod(`method forward
symbol s0 in [1, 8] hint 2
symbol s1 in [1, inf] hint 2
input %x: f32[s0, 3]
input %y: f32[s1, 3]
%bounded: f32[s0, 3] = aten::hardswish(%x)
%open: f32[s1, 3] = aten::hardswish(%y)
output %bounded
output %open
`, table)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Backend{}.Partitioner(backend.Options{Partitioner: []byte("{}"), Bounds: table.Bounds})
	if err != nil {
		t.Fatal(err)
	}
	_, keeps := p.OpsToNotDecompose()
	for i, want := range []bool{true, false} {
		if n := m.Graph.Nodes[i]; keeps(n) != want {
			t.Errorf("keeps %s: %v, want %v", n.Name, !want, want)
		}
	}
}

// TestOptionsAreKnown checks that every option is read.
func TestOptionsAreKnown(t *testing.T) {
	var o options
	text := `{"config_precisions":["fp32"],"per_op_mode":true,"enable_bf16":true,"force_non_static_weights_for_f32_linear":true,"force_fp16":true}`
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(o); err != nil || string(back) != text {
		t.Errorf("got %s, %v", back, err)
	}
}
