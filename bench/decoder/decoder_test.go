package main

import (
	"strings"
	"testing"
)

// TestErrors gives what cannot be measured.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		python string
		rounds int
		want   string
	}{{"", 3, "want --python"}, {"python", 0, "--rounds of 1 or more"}, {"no-such-python", 1, "export: exec:"}} {
		if err := run(c.python, "1", c.rounds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %d rounds: got %v, want %q", c.python, c.rounds, err, c.want)
		}
	}
	if _, err := measure("python", t.TempDir(), "x", 100, 1); err == nil || err.Error() != `--threads: "x" is no number of threads` {
		t.Errorf("got %v", err)
	}
	if _, err := measure("python", t.TempDir(), "1", 100, 1); err == nil || !strings.HasPrefix(err.Error(), "run ours.pte: ") {
		t.Errorf("got %v", err)
	}
}
