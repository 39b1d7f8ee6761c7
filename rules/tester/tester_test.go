package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestClosure(t *testing.T) {
	dir := t.TempDir()
	binary := write(t, dir, "run", "\x7fELF...pte closure 1\nbackend Npu\nkernel AddF32\nend of pte closure\n...")
	manifest := "//:p|" + write(t, dir, "m", `{"kernels": ["AddF32"], "backends": ["Npu"], "methods": []}`)
	more := "//:q|" + write(t, dir, "more", `{"kernels": ["MulF32"], "backends": []}`)
	few := "//:r|" + write(t, dir, "few", `{"kernels": ["AddF32"]}`)
	list := write(t, dir, "list", closureHead+"backend Npu\nkernel AddF32\n")
	old := write(t, dir, "old", closureHead+"kernel AddF32\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-manifest=" + manifest, "-expected=" + list}, ""},
		{[]string{"-manifest=" + manifest, "-manifest=" + more}, "//:t: " + binary + ": kernel MulF32 is called and not linked"},
		{[]string{"-manifest=" + few}, "//:t: " + binary + ": backend Npu is linked and not called"},
		{[]string{"-manifest=" + few, "-declared"}, ""},
		{[]string{"-manifest=" + manifest, "-expected=" + old, "-source=c.txt"},
			"//:t: differs from c.txt (- committed, + now):\n  + backend Npu\nto accept: bazel run //:t -- --update"},
		{[]string{"-manifest=" + manifest, "-binary=" + list}, "//:t: read runtime " + list + ": no table of what is linked: it does not use package pteprogram"},
		{[]string{"-manifest=" + manifest, "-update"}, "//:t: --update: the test has no expected file"},
		{[]string{"-manifest=" + manifest, "-update", "-source=c.txt"}, "//:t: --update works with `bazel run //:t -- --update`"},
	} {
		err := runClosure(&strings.Builder{}, append([]string{"-target=//:t", "-binary=" + binary}, c.args...))
		check(t, err, c.want)
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// program is a file with one method.
func program(t *testing.T, dir, name string, constant byte) string {
	t.Helper()
	x := &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{1, 4}, DimOrder: []uint8{0, 1}, Dynamism: pte.DynamicBound,
		Allocation: &pte.Allocation{MemoryID: 1}}
	w := &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{4}, DimOrder: []uint8{0}, DataBufferIdx: 1}
	p := &pte.Program{
		Plans: []*pte.ExecutionPlan{{
			Name:   "forward",
			Values: []pte.EValue{{Type: pte.TensorValue, Tensor: x}, {Type: pte.TensorValue, Tensor: w}, {Type: pte.Int, Int: 3}},
			Inputs: []int32{0, 2}, Outputs: []int32{1}, NonConstBufferSizes: []int64{0, 16},
			Chains: []pte.Chain{{}},
		}},
		ConstantBuffers: [][]byte{nil, {constant, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	}
	data, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, name, string(data))
}

func TestContract(t *testing.T) {
	dir := t.TempDir()
	p, err := readProgram(program(t, dir, "p.pte", 0))
	if err != nil {
		t.Fatal(err)
	}
	want := contractHead + "method forward\n  input 0: float32 at most [1, 4]\n  input 1: int\n  output 0: float32 [4]\n"
	if got := contract(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	a, b := program(t, dir, "a.pte", 0), program(t, dir, "b.pte", 1)
	check(t, runSame(nil, []string{"-target=//:t", a, a}), "")
	err := runSame(nil, []string{"-target=//:t", a, a, a, b})
	if want := "//:t: lowered again, a.pte has other bytes: "; err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), ", in segment 0 at 0") {
		t.Errorf("got %v, want %s", err, want)
	}
	check(t, runSame(nil, []string{"-target=//:t", a, a, b}), "same: want pairs of files, got 3 files")
}

func TestSize(t *testing.T) {
	dir := t.TempDir()
	p := program(t, dir, "p.pte", 0)
	report := write(t, dir, "report", `{"arena_bytes": 16}`)
	same := write(t, dir, "same", sizesHead+"file_bytes 9999\narena_bytes 16\nconstant_bytes 16\n")
	old := write(t, dir, "old", "# sizes\nfile_bytes 9999\narena_bytes 10\n")
	bad := write(t, dir, "bad", "file_bytes\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-budget=arena_bytes=16", "-expected=" + same}, ""},
		{[]string{"-expected=" + old, "-growth=100", "-source=s.txt"},
			"//:t: over s.txt by more than 100 %:\n  constant_bytes is new, with 16 bytes\nto accept: bazel run //:t -- --update\n" +
				"what grew:\n        +16  constant_bytes\n         +6  arena_bytes"},
		{[]string{"-budget=arena_bytes=15", "-budget=arena=1", "-budget=file_bytes=1k"},
			"//:t: arena_bytes is 16 bytes, 1 over its budget of 15\n" +
				"budgets: nothing is called \"arena\"; there is file_bytes, arena_bytes, constant_bytes\n" +
				"budgets: \"file_bytes\": \"1k\" is no number of bytes, such as 4096, 64Ki or 2Mi"},
		{[]string{"-expected=" + bad, "-source=s.txt"}, `//:t: read s.txt: line "file_bytes": want a name and bytes`},
	} {
		err := runSize(&strings.Builder{}, append([]string{"-target=//:t", "-program=" + p, "-report=" + report}, c.args...))
		check(t, err, c.want)
	}
}

// TestBinaryRows reads the test's own binary, which has code of this package.
func TestBinaryRows(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no ELF")
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := binaryRows(name)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, r := range rows {
		found[r.name] = r.bytes
	}
	for _, name := range []string{"runtime_bytes", "code runtime", "code github.com/rules-pte/rules_pte/runtime/pte"} {
		if found[name] < 1000 {
			t.Errorf("%s: %d bytes", name, found[name])
		}
	}
}

func TestPackageOf(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.main": "runtime", "a.org/b/c.(*T).m": "a.org/b/c", "a.org/b.F[go.shape.int]": "a.org/b", "a.org/b.F[a.org/c.T].func1": "a.org/b",
		"type:.eq.T": "runtime", "memeqbody": "runtime", "vendor/golang.org/x/f.G": "vendor/golang.org/x/f",
	} {
		if got := packageOf(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
