package main

import "testing"

// TestOperators holds our runtime to PyTorch's results on one program of every operator. The pack is that of
// "scoreboard thin".
func TestOperators(t *testing.T) { testOperators(t, unguarded) }

func testOperators(t *testing.T, guard guardSide) {
	t.Helper()
	j, err := newOpJudge(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	j.guard = guard
	list, err := j.pack("testdata/operators.zip")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 800 {
		t.Errorf("%d operators, want 800 or more", len(list))
	}
	for _, v := range list {
		if v.verdict.state != "ok" {
			t.Errorf("guard %q: %s: %s: %s", guard, v.id, v.verdict.state, v.verdict.reason)
		}
	}
}
