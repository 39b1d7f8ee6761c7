package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

const head = `package models

import (
	"github.com/rules-pte/rules_pte/cue/lower"
	"github.com/rules-pte/rules_pte/cue/targets"
)

_t: targets.any
`

// load loads the text as spec.cue in an empty directory and prints the error as a user sees it.
func loadText(t *testing.T, text string) (*Spec, string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("spec.cue", []byte(head+text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Load("spec.cue", Options{})
	var out bytes.Buffer
	diag.Print(&out, err)
	return s, out.String()
}

func TestLoad(t *testing.T) {
	s, msg := loadText(t, `
detector: lower.#Program & {
	methods: forward: {
		model: "detector.pt2"
		dynamic_shapes: x: "0": max: 8
	}
	constant_methods: {get_n: 12, ids: [1, 2], f: 2.5}
	target: targets.linux_arm64
	segment_alignment: 4096
	passes: fold_constants: false
	expect: arena_bytes: <=6Mi
}
`)
	if s == nil {
		t.Fatal(msg)
	}
	m := s.Methods[0]
	if m.Name.V != "forward" || m.Model.V != "detector.pt2" || m.Model.Pos != "spec.cue:12:10" || m.DynamicShapes[0].Max.V != 8 {
		t.Errorf("method: %+v", m)
	}
	if s.Target.Name.V != "linux_arm64" || s.Target.MaxRank != 16 || len(s.Target.Banks) != 1 {
		t.Errorf("target: %+v", s.Target)
	}
	if !s.SegmentAlignment.Set || s.SegmentAlignment.V != 4096 || s.DelegateAlignment.V != 4096 || s.ConstantTensorAlignment.V != 16 || s.ConstantTensorAlignment.Set {
		t.Errorf("alignments: %+v %+v", s.SegmentAlignment, s.ConstantTensorAlignment)
	}
	if !s.Disabled("fold_constants") || s.Operators.V != "all" || !s.HasExpect() || !s.MemoryPlanning.AllocGraphInput.V {
		t.Errorf("spec: %+v", s)
	}
	if got := s.ConstantMethods; len(got) != 3 || got[0].Value.V != int64(12) || got[2].Value.V != 2.5 {
		t.Errorf("constant methods: %+v", got)
	}
	if got := filepath.ToSlash(s.ModelPath("a.pt2")); got != "a.pt2" {
		t.Errorf("model path: %s", got)
	}
}

func TestPageAlignment(t *testing.T) {
	s, msg := loadText(t, "p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\ttarget: targets.android_arm64\n\tsegment_alignment: \"page\"\n}")
	if s == nil {
		t.Fatal(msg)
	}
	if s.SegmentAlignment.V != 16384 || s.DelegateAlignment.V != 16384 {
		t.Errorf("got %+v and %+v, want 16384", s.SegmentAlignment, s.DelegateAlignment)
	}
}

// TestRefused checks the text and the place of what the schema and the target refuse, in line 11.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`segment_alignment: 100`, `11:21: segment_alignment: a segment alignment is "page" or a power of two within 1..65536 [PTE1003]`},
		{`segment_alignment: "pages"`, `11:21: segment_alignment: a segment alignment is "page" or a power of two within 1..65536 [PTE1003]`},
		{`constant_tensor_alignment: 3`, `11:29: constant_tensor_alignment: an alignment is a power of two within 1..65536 [PTE1003]`},
		{`memory_planning: alignment: 0`, `11:30: memory_planning.alignment: an alignment is a power of two within 1..65536 [PTE1003]`},
		{`target: targets.#Target & {page_size: 100}`, `11:29: target.page_size: a page size is a power of two within 1..65536 [PTE1003]`},
		{`methods: forward: dynamic_shapes: x: "0": {min: 9, max: 8}`, `11:58: methods.forward: input x, dimension 0: max 8 is below min 9 [PTE3005]`},
		{`methods: forward: dynamic_shapes: x: "0": {min: -1}`, `11:50: methods.forward.dynamic_shapes.x."0".min: invalid value -1 (out of bound >=0) [PTE1003]`},
		{`memory_planning: banks: ram: size: -1`, `11:37: memory_planning.banks.ram.size: invalid value -1 (out of bound >=0) [PTE1003]`},
		{`memory_planning: banks: rom: size: 1`, `11:26: target any has no memory bank "rom"; it has ram [PTE1009]`},
		{`expect: arena_bytes: <0`, `11:23: arena_bytes: incompatible integer bounds <0 and >=0 [PTE1003]`},
		{`expect: arena_byte: 1`, `11:10: unknown field "arena_byte" [PTE1002]`},
	} {
		_, msg := loadText(t, "p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\t"+c.field+"\n}")
		if first, _, _ := strings.Cut(msg, "\n"); first != "spec.cue:"+c.want {
			t.Errorf("%s:\ngot  %s\nwant spec.cue:%s", c.field, msg, c.want)
		}
	}
}

// TestWrongKind checks what is said of a value where a definition is wanted.
func TestWrongKind(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`partition: ["xnnpack"]`, "11:14: partition.0: got \"xnnpack\", want a backend [PTE1003]\n    hint: " + hintBackend + "\n"},
		{`partition: "xnnpack"`, "11:13: partition: got \"xnnpack\", want a list [PTE1003]\n    hint: " + hintBackend + "\n"},
		{`target: "linux_arm64"`, "11:10: target: got \"linux_arm64\", want a target [PTE1003]\n    hint: " + hintTarget + "\n"},
		{`methods: step: "m.pt2"`, "11:17: methods.step: got \"m.pt2\", want fields in braces [PTE1003]\n    hint: write methods: step: model: \"m.pt2\"\n"},
	} {
		_, msg := loadText(t, "p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\t"+c.field+"\n}")
		if msg != "spec.cue:"+c.want {
			t.Errorf("%s:\ngot  %s\nwant spec.cue:%s", c.field, msg, c.want)
		}
	}
}
