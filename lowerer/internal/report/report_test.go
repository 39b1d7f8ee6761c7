package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestWriteRead checks that a report comes back, with empty lists and maps for nil ones, since the schema has no null.
func TestWriteRead(t *testing.T) {
	for _, r := range []*Report{
		{},
		{Methods: map[string]*MethodReport{"forward": {}}},
		{Packed: true, FileBytes: 3, Methods: map[string]*MethodReport{"forward": {
			Operators: map[string]int{"aten.add.Tensor": 1},
			Nodes:     []Node{{Name: "add", Op: "aten.add.Tensor", Module: "head", Where: "net.py:1"}},
			Arenas:    []int64{96}, Banks: map[string]int64{"ram": 96},
		}}},
	} {
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "null") {
			t.Errorf("null in\n%s", &b)
		}
		got, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil || !reflect.DeepEqual(got, r.withoutNil()) {
			t.Errorf("got %+v, %v, want %+v", got, err, r)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "read report: EOF"},
		{"[]", "read report: json: cannot unmarshal array into Go value of type report.Report"},
		{`{"bytes": 1}`, `read report: json: unknown field "bytes"`},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestManifestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := new(Manifest).Write(&b); err != nil || strings.Contains(b.String(), "null") {
		t.Errorf("got %v,\n%s", err, &b)
	}
}
