package main

import "testing"

func TestActions(t *testing.T) {
	for out, want := range map[string]int{
		"INFO: 47 processes: 22 internal, 14 linux-sandbox, 11 remote cache hit.\n": 25,
		"INFO: 1 process: 1 internal.\nINFO: Build completed\n":                     0,
		"INFO: 3 processes: 3 linux-sandbox.\n":                                     3,
		"nothing":                                                                   0,
	} {
		if got := actions(out); got != want {
			t.Errorf("%q: %d actions, want %d", out, got, want)
		}
	}
}

func TestCPUTime(t *testing.T) {
	if got := cpuTime("7 (bazel (clone)) S 1 7 7 0 -1 4194304 1 2 3 4 150 25 1000 200 20 0 80 0 5"); got != 13.75 {
		t.Errorf("got %v s, want 13.75", got)
	}
}
