package config

import (
	"bytes"
	"os"
	"path/filepath"
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
	if m.Name.V != "forward" || m.Model.V != "detector.pt2" || m.Model.Pos.Line() != 12 || m.DynamicShapes[0].Max.V != 8 {
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
