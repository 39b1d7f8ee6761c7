package pack

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestRequirements checks that packing refuses a weight that is not 0 where a delegate took it to be, after a program
// was written and read back, too.
func TestRequirements(t *testing.T) {
	weight := &exir.Constant{Name: "zeros", Meta: tensor.Meta{DType: tensor.Long, Sizes: []tensor.Dim{2}, DimOrder: []uint8{0}},
		Weight: &exir.Weight{Record: "zeros", Size: 16}}
	otherwise := diag.New(diag.RequirementFailed, "forward: linear = aten.linear", "its weights have zero points other than 0")
	var file bytes.Buffer
	if err := Encode(&file, &exir.ExecutorchProgram{Program: &pte.Program{}, Requirements: []exir.Requirement{{Zero: weight, Otherwise: otherwise}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		data []byte
		code diag.Code
	}{
		{"zeros", make([]byte, 16), ""},
		{"another", append(make([]byte, 15), 1), diag.RequirementFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Decode(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			room := new(scratch.Scratch)
			defer room.Close()
			_, err = Fill(p, func(*exir.Weight, tensor.Meta) ([]byte, error) { return test.data, nil }, room)
			var list diag.List
			code := diag.Code("")
			if errors.As(err, &list) {
				code = list[0].Code
			} else if err != nil {
				t.Fatal(err)
			}
			if code != test.code {
				t.Errorf("got %v [%s], want [%s]", err, code, test.code)
			}
		})
	}
}

// TestExternalAlignment checks that content which two entries of a data file share has the larger alignment of the two.
func TestExternalAlignment(t *testing.T) {
	entry := func(name string, alignment int) *exir.NamedData {
		c := &exir.Constant{Name: name, Literal: true, Data: []byte("same"), Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{4}}}
		return &exir.NamedData{Key: exir.ContentKey(c.Data), Content: c, Alignment: alignment, ExternalTag: "weights"}
	}
	p := &exir.ExecutorchProgram{Program: &pte.Program{}, NamedData: []*exir.NamedData{entry("a", 16), entry("b", 64)}}
	room := new(scratch.Scratch)
	defer room.Close()
	files, err := Fill(p, nil, room)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || len(files[0].Entries) != 1 || files[0].Entries[0].Alignment != 64 {
		t.Errorf("got %+v, want one entry at multiples of 64", files)
	}
}
