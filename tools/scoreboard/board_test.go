package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() board {
	ok, none := verdict{state: "ok"}, verdict{state: "none"}
	return board{
		{"add", [len(columns)]verdict{ok, ok, ok, none, ok, ok, ok, none, ok, none}},
		{"convolution", [len(columns)]verdict{{"fail", "no kernel and no rule: aten::mm"}, none, none, {"fail", "case 0: wrong"}, none, none, none, none, none, none}},
	}
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	got, err := parseBoard(sample().String())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), got, cmp.AllowUnexported(row{}, verdict{})); d != "" {
		t.Error(d)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"add ok ok", "add ok ok ok ok ok ok ok ok ok maybe", "    ours: reason", "add ok ok ok ok ok ok ok ok ok ok\n    theirs: reason"} {
		if b, err := parseBoard(text); err == nil {
			t.Errorf("%q: %v", text, b)
		}
	}
}

func TestCompare(t *testing.T) {
	better, worse, unasked := sample(), sample(), sample()
	better[1].verdicts[0] = verdict{state: "ok"}
	worse[0].verdicts[1] = verdict{"fail", "other values"}
	unasked[0].verdicts[2] = verdict{}
	for _, c := range []struct {
		name, prints string
		got          board
		good         bool
	}{
		{"same", "20 passed, 0 failed\n", sample(), true},
		{"unasked", "19 passed, 0 failed\n", unasked, true},
		{"better", "convolution: lowered: listed as fail, but ok now: remake the scoreboard\n19 passed, 1 failed\n", better, false},
		{"worse", "add: ours: fail, was ok: other values\n19 passed, 1 failed\n", worse, false},
		{"gone", "add: listed, but there is no such model\n10 passed, 10 failed\n", sample()[1:], false},
	} {
		var out strings.Builder
		if good := compareBoards(sample(), c.got, &out); good != c.good || out.String() != c.prints {
			t.Errorf("%s: %v\n%s", c.name, good, &out)
		}
	}
}

func TestReasons(t *testing.T) {
	err := errors.New("exit status 1")
	for _, c := range []struct{ got, want string }{
		{lowerReason("forward: b = aten.b.default: no kernel and no rule for this operator\nforward: a = aten.a.Tensor: no kernel and no rule for this operator", err), "no kernel and no rule: aten.a.Tensor, aten.b.default"},
		{lowerReason("", err), "exit status 1"},
		{runReason("case 0 call 0 forward: ok\ncase 1 call 0 forward: FAILED: wrong", "", err), "case 1 call 0 forward: FAILED: wrong"},
		{runReason("", "pte run: load program: no kernel", err), "no kernel"},
		{tidy("method f: /a/b/c.py:12: node x:\n got 0.25,  want 1e-05 at 0x7fffe0000000"), "method f: node x: got N, want N at ADDRESS"},
		{tidy("error: 0x:14, 0x12"), "error: 0x:14, 0x12"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestMissingFolder(t *testing.T) {
	for _, c := range []struct {
		ci   string
		good bool
	}{{"", true}, {"true", false}} {
		t.Setenv("CI", c.ci)
		if good, _ := run(options{sets: "no such folder"}, &strings.Builder{}); good != c.good {
			t.Errorf("CI=%q: %v", c.ci, good)
		}
	}
}
