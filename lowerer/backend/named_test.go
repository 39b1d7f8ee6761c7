package backend

import (
	"errors"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func weight(record string) *exir.Constant {
	return &exir.Constant{Name: record, Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2}}, Weight: &exir.Weight{Record: record, Size: 8}}
}

func TestNamedDataStore(t *testing.T) {
	var s, other NamedDataStore
	for _, c := range []struct {
		s         *NamedDataStore
		key, data string
		align     int
		tag       string
		want      string
	}{
		{&s, "a", "one", 16, "", ""},
		{&s, "a", "one", 64, "", ""},
		{&s, "a", "two", 0, "", "other data"},
		{&s, "a", "one", 0, "big", `in "" and in "big"`},
		{&s, "b", "one", 3, "", "no power of two"},
		{&s, "b", "one", 0, "big", ""},
		{&other, "b", "two", 0, "big", ""},
		{&other, "c", "three", 0, "", ""},
	} {
		err := c.s.Add(c.key, []byte(c.data), c.align, c.tag)
		if got := errText(err); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("add %s=%s: got %q, want %q", c.key, c.data, got, c.want)
		}
	}
	if err := s.Merge(&other); !errors.Is(err, ErrNamedDataDiffers) {
		t.Errorf("merge: got %v", err)
	}
	if e := s.Entries(); len(e) != 2 || e[0].Alignment != 64 || e[1].ExternalTag != "big" {
		t.Errorf("entries are %v", e)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAddConstant checks that equal expressions are one entry, and that the content of a literal is its key at once.
func TestAddConstant(t *testing.T) {
	var s NamedDataStore
	literal := &exir.Constant{Literal: true, Data: []byte("x"), Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{1}}}
	var keys []string
	for _, c := range []*exir.Constant{weight("w"), weight("w"), weight("v"), literal} {
		key, err := s.AddConstant(c, 16, "")
		if err != nil || len(key) != exir.KeyLength {
			t.Fatalf("add %s: %q, %v", c.Name, key, err)
		}
		keys = append(keys, key)
	}
	if keys[0] != keys[1] || keys[0] == keys[2] || !strings.HasPrefix(keys[0], exir.KeyPrefix) {
		t.Errorf("keys are %q", keys)
	}
	if keys[3] != exir.ContentKey([]byte("x")) {
		t.Errorf("the literal's key is %q", keys[3])
	}
	if len(s.Entries()) != 3 {
		t.Errorf("%d entries, want 3", len(s.Entries()))
	}
}
