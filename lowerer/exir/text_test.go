package exir_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

var update = flag.Bool("update", false, "write what the verifiers say into testdata/verify")

// reprint parses the text of a method or plan and prints it.
func reprint(text string) (string, error) {
	if strings.HasPrefix(text, "plan ") {
		p, err := exir.ParsePlan(text)
		if err != nil {
			return "", err
		}
		return p.Text(), nil
	}
	table := symint.NewTable()
	m, err := exir.ParseMethod(text, table)
	if err != nil {
		return "", err
	}
	return m.Text(table), nil
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d files %s, error %v", len(list), pattern, err)
	}
	return list
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTextRoundTrip parses texts that have every kind of line and argument, and wants the same text printed again.
func TestTextRoundTrip(t *testing.T) {
	for _, file := range files(t, "testdata/text/*.txt") {
		want := read(t, file)
		got, err := reprint(want)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Errorf("%s:%d: got\n%s\nwant\n%s", file, i+1, gotLines[i], wantLines[i])
				break
			}
		}
		if len(gotLines) != len(wantLines) {
			t.Errorf("%s: got %d lines, want %d", file, len(gotLines), len(wantLines))
		}
	}
}

// TestSameNames checks that constants of one name are told apart, and that the text that does it is stable.
func TestSameNames(t *testing.T) {
	constant := func(data string) exir.Arg {
		c := &exir.Constant{Name: "one", Literal: true, Data: []byte(data)}
		c.Meta.DType = 11
		return exir.ToArg(&exir.Value{Name: "one", Spec: c.Meta, Const: c})
	}
	m := &exir.Method{Name: "forward", Graph: &exir.Graph{Outputs: []exir.Arg{constant("\x00"), constant("\x01")}},
		Outputs: make([]exir.OutputSpec, 2)}
	const want = "method forward\nconst @one: bool[] = literal(00)\nconst @one_1: bool[] = literal(01)\noutput @one\noutput @one_1\n"
	if got := m.Text(nil); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if again, err := reprint(want); err != nil || again != want {
		t.Errorf("printed again: %v\n%s", err, again)
	}
}

// TestParseErrors checks that a text that is none is refused at its line.
func TestParseErrors(t *testing.T) {
	deep := strings.Repeat("(", 100)
	for _, c := range []struct{ text, want string }{
		{"method forward\nfoo", `line 2: unexpected "foo"`},
		{"method forward\n  output None", "line 2: unexpected indent"},
		{"output %x", `line 1: value "x" is not defined before`},
		{"output @x", `line 1: constant "x" is not defined`},
		{"input %x: f32[2]\ninput %x: f32[2]", `line 2: value "x" is defined twice`},
		{"input %x: f33[2]", `unknown element type "f33"`},
		{"input %x: f32[s0]", `want a number or a declared symbol, got "s0]"`},
		{"input %x: f32[2", `want "," at ""`},
		{"input %x: f32[" + deep, "nested too deeply"},
		{"output " + strings.Repeat("[", 100), "nested too deeply"},
		{"input %x: f32[1//0]", "too large, or divides by zero"},
		{"input %x: f32[-9223372036854775807]", "unusable integer"},
		{"symbol s0 in [3, 2] hint 1", "unusable range"},
		{"symbol 2 in [1, 2] hint 1", `unusable symbol name "2"`},
		{"symbol s in [1, 2] hint 1\nsymbol s in [1, 2] hint 1", "line 2: unusable symbol name"},
		{"const @a: f32[2] = literal(00)", "1 bytes, want 8"},
		{"const @a: f32[2147483647, 2147483647, 4] = literal()", "very large size"},
		{"const @a: f32[1] = literal(0)", "odd length"},
		{"const @a: u8[0] = literal()\nconst @a: u8[0] = literal()", `constant "a" is defined twice`},
		{"const @a: u8[0] = weight(colour=3)", `unknown part "colour"`},
		{"const @a: u8[0] = aten::relu(%x)", `value "x" is not defined`},
		{"input %x: f32[2]\n%y: f32[2] = aten::rel(%x)", `line 2: no operator "aten::rel"`},
		{"input %x: f32[2]\n%y: f32[2] = aten::relu(%x, 3)", "2 arguments of aten::relu, want at most 1"},
		{"%y: f32[2] = aten::relu()", "argument self of aten::relu is missing"},
		{"input %x: f32[2]\n%y: f32[2] = aten::relu(%x, self=%x)", "given twice"},
		{"input %x: f32[2]\n%y: f32[2] = aten::relu(%x, cat=%x)", `has no argument "cat"`},
		{"input %x: f32[2]\n%y: f32[2] = aten::relu(%x) please", `unexpected "please"`},
		{"input %x: f32[2]\n%y: f32[2] = aten::add.Tensor(graph, %x)", `got "graph`},
		{"%y: f32[2] = higher_order::map_impl(graph)", "want graph: and the graph, indented"},
		{"%y: f32[2] = higher_order::map_impl(graph)\n  graph:\n    input None", "does not return"},
		{"%y: f32[2] = higher_order::executorch_call_delegate(lowered)", "want lowered and the module"},
		{"mutate output x = None", "want buffer or input"},
		{"value x = torch.float33", `unknown "torch.float33"`},
		{"plan p\nv1: None", `line 2: got "v1", want v0`},
		{"plan p\nv0: f32[-1]", "out of range"},
		{"plan p\nv0: f32[2] at 1-3", `want "+"`},
		{"plan p\nv0: ints [x]", `want a value, got "x"`},
		{"plan p\n1: free v0", "want instruction 0"},
		{"plan p\n0: dance v0", `unexpected "dance"`},
		{"plan p\narena 2: 4", "want arena 1"},
	} {
		if _, err := reprint(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzParse checks that no text makes the parsers and verifiers panic, and that what is printed of a text that parses
// stays the same.
func FuzzParse(f *testing.F) {
	for _, file := range append(files(f, "testdata/text/*.txt"), files(f, "testdata/verify/*.txtar")...) {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		verifyAny(text)
		first, err := reprint(text)
		if err != nil {
			return
		}
		second, err := reprint(first)
		if err != nil || second != first {
			t.Errorf("printed again: %v\n%s\nwas\n%s", err, second, first)
		}
	})
}
