package main

import "testing"

// operators is a pack with one program of every operator, that of "scoreboard thin".
const operators = "testdata/operators.zip"

// TestOperators holds our runtime to PyTorch's results.
func TestOperators(t *testing.T) { testPack(t, operators, 800, unguarded) }

// testPack wants at least so many programs in a pack, all right.
func testPack(t *testing.T, pack string, programs int, guard guardSide) {
	t.Helper()
	j, err := newOpJudge(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	j.guard = guard
	list, err := j.pack(pack)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < programs {
		t.Errorf("%d programs, want %d or more", len(list), programs)
	}
	for _, v := range list {
		if v.verdict.state != "ok" {
			t.Errorf("guard %q: %s: %s: %s", guard, v.id, v.verdict.state, v.verdict.reason)
		}
	}
}
