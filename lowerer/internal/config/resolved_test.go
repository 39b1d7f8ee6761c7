package config

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

const resolvable = `
detector: lower.#Program & {
	methods: forward: {
		model: "detector.pt2"
		dynamic_shapes: x: "0": max: 8
	}
	constant_methods: {n: 12, ids: [1, 2], f: 2.0, fs: [1.0, 2.5], s: "a", b: true, bs: [true]}
	target: targets.linux_arm64
	memory_planning: banks: ram: size: 100
	passes: fold_constants: false
	expect: arena_bytes: <=6Mi
}
`

// written is the values and the places of a spec, as the vet step writes them.
func written(t *testing.T, text string) (s *Spec, values, places string) {
	t.Helper()
	s, msg := loadText(t, text)
	if s == nil {
		t.Fatal(msg)
	}
	var v, p bytes.Buffer
	if err := s.WriteValues(&v); err != nil {
		t.Fatal(err)
	}
	if err := s.WritePlaces(&p); err != nil {
		t.Fatal(err)
	}
	return s, v.String(), p.String()
}

// TestResolved checks that everything but expect comes back.
func TestResolved(t *testing.T) {
	want, values, places := written(t, resolvable)
	got, err := ReadResolved(strings.NewReader(values), strings.NewReader(places), nil)
	if err != nil {
		t.Fatal(err)
	}
	want.loader, want.expect = nil, got.expect
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if max := got.Methods[0].DynamicShapes[0].Max; max.Pos != "spec.cue:13:32" {
		t.Errorf("max is at %s", max.Pos)
	}
}

// TestResolvedStays checks which edits leave the bytes of the values alone.
func TestResolvedStays(t *testing.T) {
	_, before, _ := written(t, resolvable)
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"<=6Mi", "<=7Mi", true},
		{"expect: arena_bytes: <=6Mi", "// nothing\n", true},
		{"\tmethods:", "\t// a comment\n\n\tmethods:", true},
		{"max: 8", "max: 9", false},
		{"f: 2.0", "f: 2", false},
	} {
		if _, after, _ := written(t, strings.Replace(resolvable, c.old, c.new, 1)); (after == before) != c.same {
			t.Errorf("%q for %q: the same values: %v, want %v", c.new, c.old, !c.same, c.same)
		}
	}
}

func TestResolvedDamaged(t *testing.T) {
	_, values, places := written(t, resolvable)
	for _, c := range []struct{ values, places, want string }{
		{"{", places, "read spec: unexpected EOF"},
		{`{"Expect": 1}`, places, `read spec: json: unknown field "Expect"`},
		{values, "[]", "read places: got 0, want the 36 of this spec"},
		{values, "", "read places: EOF"},
		{strings.ReplaceAll(values, `"[]int64"`, `"complex128"`), places, "read spec: no constant has type complex128"},
	} {
		if _, err := ReadResolved(strings.NewReader(c.values), strings.NewReader(c.places), nil); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
