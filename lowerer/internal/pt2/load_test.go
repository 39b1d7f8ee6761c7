package pt2

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var update = flag.Bool("update", false, "write the expected texts anew")

// TestGolden compares the text of each model in testdata, as torch 2.13 wrote
// it (pickled.pt2: tied.pt2 with its weights in the form of torch 2.8).
func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.pt2")
	if len(files) < 7 {
		t.Fatalf("found only %q", files)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			got := describeFile(t, f)
			golden := strings.TrimSuffix(f, ".pt2") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func describeFile(t *testing.T, file string) string {
	t.Helper()
	a, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	shapes := symint.NewTable()
	m, torch, err := a.Load("forward", shapes)
	if err != nil {
		t.Fatal(err)
	}
	return "torch " + torch + "\n" + Describe(m, shapes)
}

// TestZoo loads every model below $PTE_ZOO, a folder of */*.pt2.
func TestZoo(t *testing.T) {
	if os.Getenv("PTE_ZOO") == "" {
		t.Skip("PTE_ZOO is not set")
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("PTE_ZOO"), "*", "*.pt2"))
	for _, f := range files {
		describeFile(t, f)
	}
	t.Logf("%d models", len(files))
}

// TestPickledWeights holds the bytes of pickled weights against the raw ones.
func TestPickledWeights(t *testing.T) {
	weights := func(file string) map[string][]byte {
		a, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := a.Load("forward", symint.NewTable())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]byte{}
		for _, v := range m.Graph.Inputs {
			if v.Const != nil && v.Const.Weight != nil {
				if out[v.Const.Name], err = a.ReadWeight(v.Const.Weight, v.Const.Meta); err != nil {
					t.Fatal(err)
				}
			} else if v.Const != nil {
				out[v.Const.Name] = v.Const.Data
			}
		}
		return out
	}
	raw, pickled := weights("testdata/tied.pt2"), weights("testdata/pickled.pt2")
	if len(raw) == 0 {
		t.Fatal("no weights")
	}
	if diff := cmp.Diff(raw, pickled); diff != "" {
		t.Error(diff)
	}
}

func TestReadWeight(t *testing.T) {
	var data []byte
	for i := range uint16(12) {
		data = binary.LittleEndian.AppendUint16(data, i)
	}
	a := &Archive{data: data}
	for _, c := range []struct {
		name            string
		sizes           []tensor.Dim
		order           []uint8
		strides         []int
		offset          int
		want            []uint16
		copied, refused bool
	}{
		{name: "contiguous", sizes: []tensor.Dim{2, 3}, strides: []int{3, 1}, offset: 6, want: []uint16{6, 7, 8, 9, 10, 11}},
		{name: "transposed", sizes: []tensor.Dim{2, 3}, strides: []int{1, 2}, want: []uint16{0, 2, 4, 1, 3, 5}, copied: true},
		{name: "expanded", sizes: []tensor.Dim{2, 2}, strides: []int{0, 1}, offset: 3, want: []uint16{3, 4, 3, 4}, copied: true},
		{name: "channels last", sizes: []tensor.Dim{1, 2, 2, 2}, order: []uint8{0, 2, 3, 1}, strides: []int{8, 1, 4, 2}, want: []uint16{0, 1, 2, 3, 4, 5, 6, 7}},
		{name: "scalar", strides: []int{}, offset: 11, want: []uint16{11}},
		{name: "too far", sizes: []tensor.Dim{2, 6}, strides: []int{6, 1}, offset: 1, refused: true},
		{name: "huge", sizes: []tensor.Dim{math.MaxInt32, math.MaxInt32}, strides: []int{0, 0}, refused: true},
		{name: "negative", sizes: []tensor.Dim{2}, strides: []int{-1}, offset: 1, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &exir.Weight{Size: len(data), Strides: c.strides, StorageOffset: c.offset}
			got, err := a.ReadWeight(w, tensor.Meta{DType: tensor.Short, Sizes: c.sizes, DimOrder: c.order})
			if c.refused {
				if err == nil {
					t.Errorf("got %v, want an error", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []byte
			for _, v := range c.want {
				want = binary.LittleEndian.AppendUint16(want, v)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if copied := &got[0] != &data[2*c.offset]; copied != c.copied {
				t.Errorf("copied: %t, want %t", copied, c.copied)
			}
		})
	}
}

// edit is a zip file like testdata/name.pt2 with records changed; a nil text drops one.
func edit(t testing.TB, name string, change func(record string, text []byte) []byte) []byte {
	t.Helper()
	zr, err := zip.OpenReader("testdata/" + name + ".pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range zr.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if b := change(strings.TrimPrefix(f.Name, "model/"), text.Bytes()); b != nil {
			w, err := zw.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestErrors changes one thing in an archive: in record (a suffix), old becomes new.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, model, record, old, new, want string }{
		{"format", "add", "archive_format", "pt2", "pt3", "archive_format"},
		{"version", "add", "archive_version", "0", "1", "archive_version"},
		{"byte order", "add", "byteorder", "little", "big", "byteorder"},
		{"schema", "add", "model.json", `"major": 8`, `"major": 9`, "schema version 9.20"},
		{"no JSON", "add", "model.json", `{"graph_module"`, `{"graph_module`, "parse models/model.json"},
		{"no operator", "add", "model.json", "torch.ops.aten.add.Tensor", "", `target "" is no name of an operator`},
		{"unknown argument", "add", "model.json", `"name": "other"`, `"name": "another"`, `argument "another"`},
		{"undefined value", "add", "model.json", `{"name": "args_1"}}, "kind"`, `{"name": "args_9"}}, "kind"`, `value "args_9" is not defined`},
		{"cycle", "add", "model.json", `{"name": "args_1"}}, "kind"`, `{"name": "add"}}, "kind"`, `the graph has a cycle`},
		{"defined twice", "add", "model.json", `"outputs": [{"as_tensor": {"name": "add"}}], "metadata"`, `"outputs": [{"as_tensor": {"name": "args_0"}}], "metadata"`, "defined twice"},
		{"element type", "add", "model.json", `"dtype": 7`, `"dtype": 10`, "complex64"},
		{"layout", "add", "model.json", `"layout": 7`, `"layout": 2`, "layout 2"},
		{"expression", "dynamic_two", "model.json", "Symbol('s", "Simbol('s", "parse expression"},
		{"missing weight", "tied", "_weights_config.json", `"config"`, `"other"`, "is not in the archive"},
		{"pickled weight", "tied", "_weights_config.json", `"use_pickle": false`, `"use_pickle": true`, "pickled tensor subclass"},
		{"missing payload", "tied", "_weights_config.json", `"weight_0"`, `"weight_7"`, "which the archive lacks"},
		{"weight size", "tied", "_weights_config.json", `"storage_offset": {"as_int": 0}`, `"storage_offset": {"as_int": 9999}`, "reaches beyond"},
		{"weight type", "tied", "_weights_config.json", `"dtype": 7`, `"dtype": 6`, "in the archive and"},
		{"forbidden global", "pickled", "weights/model.pt", "_rebuild_parameter", "_rebuild_arbitrary", "checksum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := false
			data := edit(t, c.model, func(record string, text []byte) []byte {
				if strings.HasSuffix(record, c.record) && bytes.Contains(text, []byte(c.old)) {
					changed = true
					return bytes.ReplaceAll(text, []byte(c.old), []byte(c.new))
				}
				return text
			})
			if !changed {
				t.Fatalf("%q does not occur", c.old)
			}
			err := load(data)
			if c.want == "checksum" && err != nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestElementTypeHint: a type that programs cannot have is no fault of the file.
func TestElementTypeHint(t *testing.T) {
	for name, want := range map[string]string{"complex64": "real numbers", "float8_e5m2": "convert to a type"} {
		s := &scope{node: &exir.Node{}}
		cause := fmt.Errorf("result 0: %w", elementTypeError(name))
		for where, err := range map[string]error{
			"node":   s.fault(&nodeJSON{Target: "torch.ops.aten.fft_rfft.default"}, cause),
			"input":  malformed("forward", cause),
			"weight": tablesError("forward", cause),
		} {
			var got *diag.Error
			if !errors.As(err, &got) || got.Code != diag.UnsupportedDType || !strings.Contains(got.Hint, want) {
				t.Errorf("%s, %s: got %+v, want a hint with %q", name, where, got, want)
			}
		}
	}
}

func load(data []byte) error {
	a, err := OpenBytes(data)
	if err != nil {
		return err
	}
	shapes := symint.NewTable()
	m, _, err := a.Load("forward", shapes)
	if err == nil {
		_ = Describe(m, shapes)
	}
	return err
}

// TestOtherFiles opens what is no archive of torch 2.8 or newer.
func TestMemoryOrder(t *testing.T) {
	table := symint.NewTable()
	n, m := table.Symbol("n", 2, 9, 0), table.Symbol("m", 0, 9, 0)
	shapes := &tensor.Shapes{Table: table}
	mul, atLeast1 := shapes.Mul, shapes.Max(m, 1)
	for _, c := range []struct {
		sizes, strides []tensor.Dim
		want           []uint8
	}{
		{},
		{sizes: []tensor.Dim{2, 3, 4}, strides: []tensor.Dim{12, 4, 1}},
		{sizes: []tensor.Dim{2, 4, 3}, strides: []tensor.Dim{12, 1, 4}, want: []uint8{0, 2, 1}},
		{sizes: []tensor.Dim{4, 1, 3}, strides: []tensor.Dim{1, 9, 4}, want: []uint8{2, 0, 1}},
		{sizes: []tensor.Dim{0, 4, 3}, strides: []tensor.Dim{12, 1, 4}, want: []uint8{0, 2, 1}},
		{sizes: []tensor.Dim{2, n, 3}, strides: []tensor.Dim{mul(3, n), 1, n}, want: []uint8{0, 2, 1}},
		{sizes: []tensor.Dim{2, m, 3}, strides: []tensor.Dim{mul(3, m), 1, m}, want: []uint8{0, 2, 1}},
		{sizes: []tensor.Dim{2, m, 3}, strides: []tensor.Dim{mul(3, atLeast1), 1, atLeast1}, want: []uint8{0, 2, 1}},
		{sizes: []tensor.Dim{2, m, n}, strides: []tensor.Dim{mul(n, m), n, 1}},
		{sizes: []tensor.Dim{4, 3}, strides: []tensor.Dim{1, 8}}, // a gap
		{sizes: []tensor.Dim{4, 3}, strides: []tensor.Dim{1, 0}}, // an overlap
	} {
		if got := memoryOrder(shapes, c.sizes, c.strides); !slices.Equal(got, c.want) {
			t.Errorf("sizes %v, strides %v: got %v, want %v", c.sizes, c.strides, got, c.want)
		}
	}
}

func TestOtherFiles(t *testing.T) {
	whole, err := os.ReadFile("testdata/add.pt2")
	if err != nil {
		t.Fatal(err)
	}
	files := func(names ...string) []byte {
		var out bytes.Buffer
		zw := zip.NewWriter(&out)
		for i := 0; i+1 < len(names); i += 2 {
			w, _ := zw.CreateHeader(&zip.FileHeader{Name: names[i], Method: zip.Store})
			_, _ = w.Write([]byte(names[i+1]))
		}
		_ = zw.Close()
		return out.Bytes()
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"text", []byte("hello"), "no .pt2 archive"},
		{"pte", []byte("\x1c\x00\x00\x00ET12\x00\x00"), "this is a .pte program"},
		{"cut off", whole[:len(whole)/2], "cut off"},
		{"legacy", files("serialized_exported_program.json", "{}", "version", "8.7"), "torch 2.7 or older (schema 8.7)"},
		{"legacy named", files("serialized_exported_program.json", `{"torch_version": "2.6.0"}`), "torch 2.6.0 wrote"},
		{"TorchScript", files("m/data.pkl", "", "m/constants.pkl", ""), "TorchScript"},
		{"torch.save", files("archive/data.pkl", ""), "torch.save file"},
		{"AOTInductor", files("a/archive_format", "pt2", "a/archive_version", "0", "a/data/aotinductor/model/x.cpp", ""), "AOTInductor"},
		{"no model", files("a/archive_format", "pt2", "a/archive_version", "0"), "no models"},
	} {
		if err := load(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestUnpickleErrors(t *testing.T) {
	for _, in := range []string{
		"", "\x80\x02", "\x80\x02.", "t.", "u.", "R.", "Q.", "q\x00", "h\x00.", "]}s.", "cos\nsystem\n(X\x02\x00\x00\x00lst\x52.",
		"X\xff\xff\xff\xff.", "\x8a\xff", "\x85.", "b.", "ctorch.Size\n", "ctorch\nSize\n)R.", "(e.", "\x95.",
		"ctorch._utils\n_rebuild_tensor_v2\n(NNNNt\x52.",
	} {
		p := &unpickler{in: []byte(in), memo: map[uint32]any{}, storage: func(string) (record, bool) { return record{}, false }}
		if v, err := p.run(); err == nil {
			t.Errorf("%q gives %v, want an error", in, v)
		}
	}
}

func TestTwoMethodsShareTable(t *testing.T) {
	a, err := Open("testdata/dynamic_two.pt2")
	if err != nil {
		t.Fatal(err)
	}
	shapes := symint.NewTable()
	for _, method := range []string{"first", "second"} {
		m, _, err := a.Load(method, shapes)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Ranges {
			if r.Max != 16 || method == "second" && !strings.HasPrefix(r.Name, "second.") {
				t.Errorf("method %s has range %+v", method, r)
			}
		}
	}
}

func TestQuoteNumbers(t *testing.T) {
	var got []number
	if err := decodeJSON([]byte(`[NaN, -Infinity, "Infinity", 1, 2.5e3]`), &got); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(float64(got[0])) || !math.IsInf(float64(got[1]), -1) || !math.IsInf(float64(got[2]), 1) || got[4] != 2500 {
		t.Errorf("got %v", got)
	}
}
