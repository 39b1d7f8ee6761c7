package executor

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const externalDir = "testdata/external"

// externalData is the data file that belongs to the program of externalDir.
func externalData(t *testing.T) []pte.NamedData {
	t.Helper()
	file, unmap, err := MapFile(filepath.Join(externalDir, "weights.ptd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmap)
	data, err := ptd.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadExternal(data []pte.NamedData) (*Program, error) {
	return LoadFile(filepath.Join(externalDir, "program.pte"), LoadOptions{Kernels: op.Kernels, NamedData: data})
}

// TestExternalConstants runs a program of the official exporter whose constants are in a data file.
func TestExternalConstants(t *testing.T) {
	p, err := loadExternal(externalData(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst := instanceOf(t, p)
	defer inst.Close()
	x, want := zooValue{NPY: "input.npy"}, zooValue{NPY: "output.npy"}
	outs, err := inst.Method("forward").Run(context.Background(), []Value{x.load(t, externalDir)})
	if err != nil {
		t.Fatal(err)
	}
	compareValue(t, "output", outs[0], want.load(t, externalDir), 1e-6, 1e-6)
}

func TestExternalFaults(t *testing.T) {
	edit := func(f func(d *pte.NamedData)) func([]pte.NamedData) []pte.NamedData {
		return func(list []pte.NamedData) []pte.NamedData {
			f(&list[0])
			return list
		}
	}
	for _, test := range []struct {
		name string
		edit func([]pte.NamedData) []pte.NamedData
		code pte.Code
		want string
	}{
		{"none", func([]pte.NamedData) []pte.NamedData { return nil }, pte.NotFound,
			`external constant "a.weight" is neither in the program nor in the data files given with it`},
		{"twice", func(l []pte.NamedData) []pte.NamedData { return append(l, l[0]) }, pte.InvalidArgument, `is in more than one of the program and its data files`},
		{"shape", edit(func(d *pte.NamedData) { d.Layout.Sizes = []int32{3, 4} }), pte.InvalidExternalData, "has another type, shape or order of dimensions"},
		{"type", edit(func(d *pte.NamedData) { d.Layout.ScalarType = tensor.Int }), pte.InvalidExternalData, "has another type, shape or order of dimensions"},
		{"bytes", edit(func(d *pte.NamedData) { d.Layout, d.Data = nil, d.Data[:47] }), pte.InvalidExternalData, `"a.weight" has 47 bytes, want 48`},
	} {
		data := externalData(t)
		if data[0].Key != "a.weight" {
			t.Fatalf("the first entry is %q", data[0].Key)
		}
		_, err := loadExternal(test.edit(data))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		} else if code := CodeOf(err); code != test.code {
			t.Errorf("%s: code %s, want %s", test.name, code, test.code)
		}
	}
	if _, _, err := MapFile("testdata/none.ptd"); err == nil || !strings.Contains(err.Error(), "map testdata/none.ptd") {
		t.Errorf("got %v", err)
	}
}
