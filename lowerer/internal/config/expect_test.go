package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
)

// sample is a report of a program with two convolutions, one of which XNNPACK took.
func sample() *report.Report {
	return &report.Report{
		FileBytes: 9000, ArenaBytes: 8192, ConstantBytes: 4000, Instructions: 3, OfficialRuntime: true,
		Target: report.Target{Name: "any", OS: "any", Arch: "any", PageSize: 4096},
		Methods: map[string]*report.MethodReport{"forward": {
			Instructions: 3,
			Operators:    map[string]int{"aten.add.Tensor": 1, "aten.convolution.default": 1},
			Nodes: []report.Node{
				{Name: "conv", Op: "aten.convolution.default", Module: "head.decode", Where: "net.py:4"},
				{Name: "add", Op: "aten.add.Tensor", Where: "net.py:5"},
			},
			Arenas: []int64{8192}, Banks: map[string]int64{"ram": 8192}, LowerBound: 8000,
		}},
		Delegation: map[string]*report.Delegation{"XnnpackBackend": {Partitions: 1, Nodes: 0.5, Macs: 1, Bytes: 2000}},
		Fallback: []report.Fallback{
			{Method: "forward", Node: "conv", Op: "aten.convolution.default", Reasons: []report.Reason{{Backend: "XnnpackBackend", Reason: "groups"}}, Where: "net.py:4"},
			{Method: "forward", Node: "add", Op: "aten.add.Tensor", Reasons: []report.Reason{{Backend: "XnnpackBackend", Reason: "dtype int64"}}, Where: "net.py:5"},
		},
	}
}

const (
	convNode = "\n    forward: conv = aten.convolution.default in head.decode at net.py:4"
	addNode  = "\n    forward: add = aten.add.Tensor at net.py:5"
	convLeft = "\n    forward: conv = aten.convolution.default: XnnpackBackend: groups net.py:4"
	addLeft  = "\n    forward: add = aten.add.Tensor: XnnpackBackend: dtype int64 net.py:5"
)

func TestExpect(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		// Budgets.
		{"arena_bytes: <=8192", ""},
		{"arena_bytes: <=4096", "spec.cue:11:10: expect.arena_bytes: got 8192, want <=4096 [PTE1010]"},
		{"{instructions: 3, official_runtime: true}", ""},
		{"methods: forward: arenas: [<=9000]", ""},
		{"methods: forward: banks: ram: <=8Ki", ""},
		{"methods: forward: banks: sram: <=8Ki", "spec.cue:11:35: expect.methods.forward.banks.sram: is not in the report; `absent: true` allows that [PTE1010]"},
		{"methods: [string]: lower_bound: <=8000", ""},
		{"methods: [string]: lower_bound: 0", "spec.cue:11:10: expect.methods: methods.forward.lower_bound: conflicting values 0 and 8000 [PTE1010]"},
		{"target: page_size: 16384", "spec.cue:11:18: expect.target.page_size: got 4096, want 16384 [PTE1010]"},
		// Fields that refer to one another.
		{"{arena_bytes: <=(2*instructions*2000), instructions: int}", ""},
		{"{arena_bytes: <=(2*instructions), instructions: int}", "spec.cue:11:11: expect.arena_bytes: got 8192, want <=(2 * instructions) [PTE1010]"},
		// Shares.
		{"delegation: XnnpackBackend: macs: 1", ""},
		{"delegation: XnnpackBackend: {macs: >=0.999, partitions: 1}", ""},
		{"delegation: XnnpackBackend: nodes: 1", "spec.cue:11:38: expect.delegation.XnnpackBackend.nodes: got 0.5, want 1 [PTE1010]" + addLeft + convLeft},
		{"delegation: XnnpackBackend: nodes: >0.9", "spec.cue:11:38: expect.delegation.XnnpackBackend.nodes: got 0.5, want >0.9 [PTE1010]" + addLeft + convLeft},
		// Absence.
		{"delegation: DemoBackend: absent: true", ""},
		{"delegation: DemoBackend: macs: 1", "spec.cue:11:22: expect.delegation.DemoBackend: is not in the report; `absent: true` allows that [PTE1010]" + addLeft + convLeft},
		{"delegation: XnnpackBackend: absent: true", "spec.cue:11:22: expect.delegation.XnnpackBackend: got { partitions: 1 nodes: 0.5 macs: 1 operators: {} bytes: 2..., want absent [PTE1010]" + addLeft + convLeft},
		{"methods: decode: absent: true", ""},
		{"methods: decode: instructions: 1", "spec.cue:11:19: expect.methods.decode: is not in the report; `absent: true` allows that [PTE1010]"},
		{"file_bytes: absent: true", "spec.cue:11:10: expect.file_bytes: got uint, want absent [PTE1010]"},
		// Operators, with their nodes.
		{`methods: forward: operators: "aten.relu.default": absent: true`, ""},
		{`methods: forward: operators: "aten.relu.default": 1`, "spec.cue:11:39: expect.methods.forward.operators.aten.relu.default: is not in the report; `absent: true` allows that [PTE1010]"},
		{`methods: forward: operators: "aten.convolution.default": absent: true`, "spec.cue:11:39: expect.methods.forward.operators.aten.convolution.default: got 1, want absent [PTE1010]" + convNode},
		{`methods: forward: operators: "aten.convolution.default": 2`, "spec.cue:11:39: expect.methods.forward.operators.aten.convolution.default: got 1, want 2 [PTE1010]" + convNode},
		{`methods: forward: operators: close({"aten.add.Tensor": int})`, "spec.cue:11:28: expect.methods.forward.operators: methods.forward.operators.aten.convolution.default: field not allowed [PTE1010]" + convNode},
		{`methods: forward: nodes: [...{module: !~"^head"}]`, "spec.cue:11:28: expect.methods.forward.nodes: methods.forward.nodes.0.module: invalid value \"head.decode\" (out of bound !~\"^head\") [PTE1010]" + convNode},
		{`fallback: [...{op: !="aten.convolution.default"}]`, "spec.cue:11:10: expect.fallback: fallback.0.op: invalid value \"aten.convolution.default\" (out of bound !=\"aten.convolution.default\") [PTE1010]" + convLeft},
		{`fallback: []`, "spec.cue:11:10: expect.fallback: fallback: incompatible list lengths (0 and 2) [PTE1010]" + addLeft + convLeft},
		// Two contradictions, in the order of the file.
		{"arena_bytes: <1\n\texpect: instructions: <3", "spec.cue:11:10: expect.arena_bytes: got 8192, want <1 [PTE1010]\nspec.cue:12:10: expect.instructions: got 3, want <3 [PTE1010]"},
	} {
		s, msg := loadText(t, "p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\texpect: "+c.expect+"\n}")
		if s == nil {
			t.Errorf("%s: %s", c.expect, msg)
			continue
		}
		var out bytes.Buffer
		_, err := CheckExpect(s, sample())
		diag.Print(&out, err)
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.expect, got, c.want)
		}
	}
}

// TestPacked checks that sizes are held against what is expected of them once they are known, with the same words
// whether that is at once or after the steps between.
func TestPacked(t *testing.T) {
	for _, c := range []struct {
		expect string
		size   int64
		want   string
	}{
		{"file_bytes: <=8Ki", 8192, ""},
		{"file_bytes: <=8Ki", 8193, "spec.cue:11:10: expect.file_bytes: got 8193, want <=8192 [PTE1010]\n"},
		{"file_bytes: >100 & <8000", 8193, "spec.cue:11:10: expect.file_bytes: got 8193, want >100 & <8000 [PTE1010]\n"},
		{"file_bytes: _max, _max: 8000", 8193, "spec.cue:11:10: expect.file_bytes: got 8193, want 8000 [PTE1010]\n"},
		{"file_bytes: <=arena_bytes, arena_bytes: int", 8193, "spec.cue:11:10: expect.file_bytes: got 8193, want <=8192 [PTE1010]\n"},
		{"constant_bytes: <10", 8193, "spec.cue:11:10: expect.constant_bytes: got 3000, want <10 [PTE1010]\n"},
	} {
		s, msg := loadText(t, "p: lower.#Program & {\n\tmethods: forward: model: \"m.pt2\"\n\texpect: {"+c.expect+"}\n}")
		if s == nil {
			t.Errorf("%s: %s", c.expect, msg)
			continue
		}
		pending, err := CheckExpect(s, sample())
		if err != nil || len(pending) != 1 {
			t.Errorf("%s: before packing: %v, %v", c.expect, pending, err)
		}
		var marker, out bytes.Buffer
		if err := WriteMarker(&marker, pending); err != nil {
			t.Fatal(err)
		}
		if pending, err = ReadMarker(marker.Bytes()); err != nil {
			t.Errorf("%s: %v", c.expect, err)
		}
		diag.Print(&out, CheckPacked(pending, map[string]int64{"file_bytes": c.size, "constant_bytes": 3000}))
		if want := strings.Replace(c.want, "11:10", "11:11", 1); out.String() != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.expect, &out, want)
		}
	}
}

func TestReadMarker(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `read marker: want "ok" first`},
		{"ok\n{", "read marker: unexpected EOF"},
		{"ok\n{\"field\": \"instructions\"}", `read marker: no size is called "instructions"`},
		{"ok\n{\"fields\": 1}", `read marker: json: unknown field "fields"`},
	} {
		if _, err := ReadMarker([]byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}
