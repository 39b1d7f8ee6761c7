package runcmd

//bazel:data //runtime/executor:testdata
//bazel:data //runtime/pte:testdata

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const testdata = "../../../runtime/executor/testdata/"

func runWith(o Options) (string, error) {
	var out bytes.Buffer
	if o.MaxMemory == 0 {
		o.MaxMemory = executor.DefaultMaxMemory
	}
	err := Run(&o, executor.LoadOptions{Kernels: op.Kernels}, &out)
	return out.String(), err
}

// TestRunCases checks that outputs get the names of the golden ones.
func TestRunCases(t *testing.T) {
	for model, golden := range map[string]string{"add": "case0/out_0.npy", "counter": "case0/call2_out_1.npy",
		"cond": "case1/out_0.npy", "two_methods": "case0/call1_out_0.npy"} {
		dir := t.TempDir()
		out, err := runWith(Options{Program: testdata + model + "/portable.pte", Cases: testdata + model + "/case.json", Check: true, Output: dir})
		if err != nil || !strings.Contains(out, "case 0 call 0") {
			t.Errorf("%s: %v\n%s", model, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, golden))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(testdata + model + "/" + golden)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %s has %d bytes, want %d", model, golden, len(got), len(want))
		}
	}
}

// TestRunUnlisted has all outputs of calls that list none, with the bytes that the listed ones have.
func TestRunUnlisted(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"counter")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "case.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil { // which may be a link
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(b, []byte(`"outputs"`), []byte(`"unlisted"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cases := range map[string]string{"listed": testdata + "counter/case.json", "unlisted": file} {
		if _, err := runWith(Options{Program: testdata + "counter/portable.pte", Cases: cases, Output: filepath.Join(dir, name)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"call0_out_0.npy", "call0_out_1.npy", "call2_out_1.npy"} {
		want, _ := os.ReadFile(filepath.Join(dir, "listed", "case0", file))
		got, err := os.ReadFile(filepath.Join(dir, "unlisted", "case0", file))
		if err != nil || len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes (%v), want %d", file, len(got), err, len(want))
		}
	}
}

// TestDiffers writes what a call gives also where that is not what the file lists, in value, in sizes or in number.
func TestDiffers(t *testing.T) {
	dir := t.TempDir()
	in, err := os.ReadFile(testdata + "add/case0/in_0.npy")
	if err != nil {
		t.Fatal(err)
	}
	other := npy.Format(tensor.Of([]float32{1}, 1))
	for name, test := range map[string]struct{ want, outputs string }{
		"value": {"output 0 in.npy: element ", `{"npy": "in.npy"}`},
		"sizes": {"output 0 other.npy: got float32[2 3], want float32[1]", `{"npy": "other.npy"}`},
		"count": {"got 1 outputs, and the call lists 2", `{"npy": "in.npy"}, {"int": 3}`},
	} {
		cases, out := filepath.Join(dir, name+".json"), filepath.Join(dir, name)
		text := `{"cases": [{"calls": [{"method": "forward", "inputs": [{"npy": "in.npy"}, {"npy": "in.npy"}], "outputs": [` + test.outputs + `]}]}]}`
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "in.npy"), in, 0o600), os.WriteFile(filepath.Join(dir, "other.npy"), other, 0o600),
			os.WriteFile(cases, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := runWith(Options{Program: testdata + "add/portable.pte", Cases: cases, Check: true, Output: out})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
		if files, err := os.ReadDir(out); err != nil || len(files) != 1 {
			t.Errorf("%s: wrote %v, %v, want one file", name, files, err)
		}
	}
}

// TestChecked tells calls whose outputs were compared from those that only ran.
func TestChecked(t *testing.T) {
	for _, check := range []bool{true, false} {
		out, err := runWith(Options{Program: testdata + "add/portable.pte", Cases: testdata + "add/case.json", Check: check, JSON: true})
		var r report
		if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Calls) == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, c := range r.Calls {
			if c.Checked != check || !c.OK {
				t.Errorf("with a check %v: got %+v", check, c)
			}
		}
	}
}

// TestNoCases says where a case file is wrong.
func TestNoCases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "case.json")
	for text, want := range map[string]string{
		"{\"cases\": [\n  {\"calls\": [}\n]}": "read cases: line 2, column 14: invalid character '}' looking for beginning of value",
		"{\"cases\": [\n":                     "read cases: line 1, column 12: unexpected end of JSON input",
		"":                                    "read cases: line 1, column 1: unexpected end of JSON input",
		"{\n \"name\": 3}":                    "read cases: line 2, column 10: json: cannot unmarshal number into Go struct field File.name of type string",
		"{\"rtol\": -1e-5}":                   "read cases: rtol is -1e-05, want 0 or more",
		"{\"cases\": [{\"calls\": [{}, {\"mutated\": {\"0\": {\"atol\": -1}}}]}]}": "read cases: case 0 call 1: atol is -1, want 0 or more",
		"{\"cases\": []}": "the file has no call; want {\"cases\": [{\"calls\": [...]}]}",
		"{\"cases\": [{\"calls\": [{\"x\": 1}]}]}x": "read cases: line 1, column 35: invalid character 'x' after top-level value",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := runWith(Options{Program: testdata + "add/portable.pte", Cases: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// TestNoProgram says of files that are no programs what they are.
func TestNoProgram(t *testing.T) {
	dir := t.TempDir()
	for want, text := range map[string]string{
		"this is a zip archive, such as a .pt2, and no program": "PK\x03\x04" + strings.Repeat("\x00", 90),
		"this is text, and no program":                          "{\"größe\": 3}\n" + strings.Repeat("ä", 300),
		"this is a data file, and no program":                   "\x18\x00\x00\x00FT01" + strings.Repeat("\x00", 90),
		"this is a weight cache, and no program":                "PTEWGHT1" + strings.Repeat("\x00", 90),
		"the file is empty":                                     "",
		"header: ":                                              "\x01\x02 no text",
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := runWith(Options{Program: path})
		var e *diag.Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), want) || e.Hint == "" {
			t.Errorf("got %v, want %q and a hint", err, want)
		}
	}
	_, err := runWith(Options{Program: dir})
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(e.Error(), "is a directory") || e.Hint != "name a file in it" {
		t.Errorf("a folder: got %v", err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = runWith(Options{Program: testdata + "add/portable.pte", Data: []string{text}})
	if err == nil || strings.Contains(err.Error(), "no program") {
		t.Errorf("a data file: got %v", err)
	}
}

// TestResults has the type of each output, and a tensor's sizes, also if it has none.
func TestResults(t *testing.T) {
	for want, v := range map[string]executor.Value{
		`{"type":"float32","sizes":[2,0],"value":"float32[2, 0]"}`: executor.TensorOf(&tensor.Tensor{
			Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 0}}}),
		`{"type":"bool","sizes":[],"value":"bool[]: true"}`: executor.TensorOf(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Bool}, Data: []byte{1}}),
		`{"type":"int","value":"3"}`:                        executor.IntOf(3),
		`{"type":"float","value":"0.5"}`:                    executor.FloatOf(0.5),
		`{"type":"bool","value":"true"}`:                    executor.BoolOf(true),
		`{"type":"str","value":"\"a\""}`:                    executor.StringOf("a"),
		`{"type":"none","value":"none"}`:                    {},
	} {
		if got, err := json.Marshal(resultOf(&v)); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}

func TestRunInputs(t *testing.T) {
	in := testdata + "add/case0/in_0.npy"
	out, err := runWith(Options{Program: testdata + "add/portable.pte", Inputs: []string{in, in}, Bench: 3, JSON: true})
	var r report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Outputs) != 1 || r.Bench == nil || r.LoadNS <= 0 ||
		r.Bench.MinNS > r.Bench.MedianNS || r.Bench.MedianNS > r.Bench.P95NS {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnwritable runs nothing where a file of its own cannot be made.
func TestUnwritable(t *testing.T) {
	dir, in := t.TempDir(), testdata+"add/case0/in_0.npy"
	none := filepath.Join(dir, "none", "trace")
	for _, o := range []Options{{Trace: none + ".json"}, {Trace: filepath.Join(dir, "t.etdp"), DebugBuffer: none}} {
		o.Program, o.Inputs, o.Output = testdata+"add/portable.pte", []string{in, in}, filepath.Join(dir, "out")
		out, err := runWith(o)
		if err == nil || !strings.HasPrefix(err.Error(), none) || out != "" {
			t.Errorf("got %v and %q, want an error about %s and nothing", err, out, none)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
	among := filepath.Join(dir, "out", "trace.json")
	if _, err := runWith(Options{Program: testdata + "add/portable.pte", Inputs: []string{in, in}, Output: filepath.Dir(among), Trace: among}); err != nil {
		t.Errorf("a trace among outputs: %v", err)
	}
}

// TestFirstInstance: the first instance counts as loading, and no other one.
func TestFirstInstance(t *testing.T) {
	r := &run{Options: &Options{Program: testdata + "add/portable.pte"}}
	if err := r.load(executor.LoadOptions{Kernels: op.Kernels}); err != nil {
		t.Fatal(err)
	}
	defer r.program.Close()
	took := []int64{r.report.LoadNS}
	for range 2 {
		inst, err := r.instance()
		if err != nil {
			t.Fatal(err)
		}
		defer inst.Close()
		took = append(took, r.report.LoadNS)
	}
	if took[1] <= took[0] || took[2] != took[1] {
		t.Errorf("loading took %d ns, want more with the first instance and no more with the second", took)
	}
}

// programs are the committed .pte files and, with PTE_ZOO, those of the zoo.
func programs(t *testing.T) []string {
	t.Helper()
	patterns := []string{testdata + "*/*.pte", "../../../runtime/pte/testdata/*.pte"}
	if zoo := os.Getenv("PTE_ZOO"); zoo != "" {
		patterns = append(patterns, filepath.Join(zoo, "*", "*.pte"))
	}
	var files []string
	for _, p := range patterns {
		more, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if len(files) < 9 {
		t.Fatalf("found %d programs, want at least 9", len(files))
	}
	return files
}

// TestInspect checks that the sizes add up to the file's, and that JSON has everything that the file's tables have.
func TestInspect(t *testing.T) {
	for _, file := range programs(t) {
		var text, out bytes.Buffer
		if err := Inspect(file, false, &text); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var d programJSON
		if err := Inspect(file, true, &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		at := uint64(0)
		for _, r := range d.Layout {
			if r.Offset != at {
				t.Errorf("%s: %s at byte %d, want %d", file, r.Name, r.Offset, at)
			}
			at += r.Size
		}
		if at != uint64(info.Size()) || d.Size != int(info.Size()) {
			t.Errorf("%s: the sizes add up to %d of %d", file, at, info.Size())
		}
		for _, m := range d.Methods {
			if !strings.Contains(text.String(), "method "+m.Name) || len(m.Values) == 0 {
				t.Errorf("%s: method %s has no text or no values", file, m.Name)
			}
		}
	}
}

func TestInspectText(t *testing.T) {
	for name, list := range map[string][]string{
		"counter": {"methods: forward; operators: 5; delegates: 0\nconstants: 8 B; payloads: 0 B; named data: 0 B; planned memory: 112 B\nfile ",
			"method forward", "aten::copy_", "tensor float32", "arenas"},
		"two_methods": {"methods: get, set; "},
		"images":      {"inputs (%0 float32[≤3, 3, 17, 19], %1 float32[s17, 8, 21])"},
	} {
		var out bytes.Buffer
		if err := Inspect(testdata+name+"/portable.pte", false, &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range list {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, &out)
			}
		}
	}
}

// TestInputsOf says of a file's inputs what a program that is loaded does.
func TestInputsOf(t *testing.T) {
	loaded := 0
	for _, file := range programs(t) {
		p, err := executor.LoadFile(file, executor.LoadOptions{Kernels: op.Kernels})
		if err != nil {
			continue // such as those with backends
		}
		loaded++
		for _, plan := range p.File().Plans {
			info, _ := p.Method(plan.Name)
			if got, want := signature(executor.InputsOf(plan)), signature(info.Inputs); got != want {
				t.Errorf("%s: %s takes %s, want %s", file, plan.Name, got, want)
			}
		}
		p.Close()
	}
	if loaded < 9 {
		t.Errorf("loaded %d programs, want at least 9", loaded)
	}
}

// TestParseBytes reads sizes with units and refuses others.
func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "4096": 4096, "1B": 1, "3KiB": 3 << 10, "64MiB": 64 << 20, "2GB": 2e9, "-1kB": -1000, "7TiB": 7 << 40} {
		if got, err := parseBytes(s); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "1mib", "1.5GiB", "1 GiB", "9000000TiB", "-9000000TiB", "99999999999999999999"} {
		if got, err := parseBytes(s); !errors.Is(err, errBytes) {
			t.Errorf("%q: got %d, %v, want %v", s, got, err, errBytes)
		}
	}
}

// TestSizeText is of what a dimension may be.
func TestSizeText(t *testing.T) {
	for want, s := range map[string]executor.SizeInfo{
		"8": {Least: 8, Most: 8}, "≤100": {Least: 1, Most: 100}, "2..100": {Least: 2, Most: 100}, "≥2": {Least: 2, Most: math.MaxInt64},
		"?": {Most: math.MaxInt64}, "2*s0 + 1": {Most: 9, Derived: "2*s0 + 1"},
	} {
		if got := sizeText(&s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	in := executor.ValueInfo{Kind: executor.Tensor, Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{100, 8}}, Dynamism: pte.DynamicBound,
		Sizes: []executor.SizeInfo{{Most: 100}, {Least: 8, Most: 8}}}
	if got := inputText(&in); got != "float32[≤100, 8]" {
		t.Errorf("got %q", got)
	}
}

// TestExternalHint says where the constants of a program are that lie apart.
func TestExternalHint(t *testing.T) {
	o := &BenchOptions{Options: Options{Program: testdata + "external/program.pte", MaxMemory: 1 << 30, Threads: 1}}
	err := Bench(o, executor.LoadOptions{Kernels: op.Kernels}, io.Discard)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "--data FILE.ptd") {
		t.Errorf("got %v", err)
	}
}

// TestMadeInputs says of inputs that a program refuses that nobody gave them.
func TestMadeInputs(t *testing.T) {
	o := &BenchOptions{Options: Options{Program: testdata + "asserts/portable.pte", MaxMemory: 1 << 30, Threads: 1}, Runs: 1}
	err := Bench(o, executor.LoadOptions{Kernels: op.Kernels}, io.Discard)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "; these were made, ") || !strings.HasSuffix(e.Hint, ": give others by --input or --case") {
		t.Errorf("got %v", err)
	}
}
