package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/bench/side"
)

// two are results of two models: the second's official program failed.
func two() *report {
	of := func(median float64) *side.Figures {
		return &side.Figures{Median: median, Best: median / 2, Load: median * 3, Reload: median * 2, First: median, Base: 1024, Peak: 4096}
	}
	setup := side.Setup{Machine: "a machine", Date: "2026-01-02", Versions: map[string]string{"go": "1.26"}, Rounds: 3, Load: "0.5"}
	return &report{Setup: setup, Results: []result{
		{&side.Result{Model: "net", Threads: 1, Sides: map[string]*side.Figures{"ours": of(2e6), "ours_xnnpack": of(1e6), "ours_all": of(5e6), "official": of(3e6), "onnx": of(4e6), "litert": of(2e6), "portable": of(1e9)}}},
		{&side.Result{Model: "other", Threads: 1, Sides: map[string]*side.Figures{"ours": of(2e3), "ours_xnnpack": {Error: "lower: no"}, "official": {Error: "execute: code 18"}, "onnx": of(1.2e3)}}},
	}}
}

const tables = `model  threads  ours ms  ours xnnpack ms  official ms  onnx ms  litert ms  portable ms  x official  x onnx  x litert  x portable  best: x official  x onnx
net          1     2.00             1.00         3.00     4.00       2.00         1000        3.00    4.00      2.00         500              3.00    4.00
other        1  0.00200                -            -  0.00120          -            -           -   0.600         -           -                 -   0.600

threads    figure  geomean  least  model
1        official     3.00   3.00    net
1            onnx     1.55  0.600  other
1          litert     2.00   2.00    net
1        portable      500    500    net
1            load     1.50   1.50    net
1          reload     1.50   1.50    net
1          memory     1.00   1.00    net

model  threads  ours load ms  official load ms  onnx load ms  x official  ours reload ms  official reload ms  x official  ours MiB  official MiB  onnx MiB over its base  x official  with xnnpack: load ms  reload ms   MiB  with all kernels: load ms   MiB
net          1          6.00              9.00          12.0        1.50            4.00                6.00        1.50      4.00          4.00                    3.00        1.00                   3.00       2.00  4.00                       15.0  4.00
other        1       0.00600                 -       0.00360           -         0.00400                   -           -      4.00             -                    3.00           -                      -          -     -                          -     -
`

func TestTables(t *testing.T) {
	if d := cmp.Diff(tables, two().text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	page := two().page()
	for _, want := range []string{"Medians of 3 turns", "on a machine.", "go 1.26", "| other | 1 | ours_xnnpack | lower: no |", "| net | 1 | 2.00 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestGate(t *testing.T) {
	rep := two()
	want := floors{"net, 1, official": 2.55, "net, 1, onnx": 3.4, "net, 1, litert": 1.7, "net, 1, portable": 425, "net, 1, load": 1.27, "net, 1, reload": 1.27, "net, 1, memory": 0.85, "other, 1, onnx": 0.51}
	if d := cmp.Diff(want, rep.floors()); d != "" {
		t.Errorf("floors (-want +got):\n%s", d)
	}
	path := filepath.Join(t.TempDir(), "floors.json")
	if err := rep.writeFloors(path); err != nil {
		t.Fatal(err)
	}
	if err := rep.hold(path); err != nil {
		t.Errorf("the report that the floors were made of: %v", err)
	}
	other := two()
	other.Machine = "another machine"
	if err := other.hold(path); err == nil || err.Error() != path+" has no floors of another machine; --floors writes them" {
		t.Errorf("the report of another machine: %v", err)
	}
	if err := other.writeFloors(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rep.hold(path), other.hold(path)); err != nil {
		t.Errorf("floors of two machines: %v", err)
	}
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rep.writeFloors(path); err == nil || !strings.HasPrefix(err.Error(), "parse floors: "+path) {
		t.Errorf("floors beside what is none: %v", err)
	}
	for name, c := range map[string]struct {
		floors floors
		want   string
	}{
		"low":     {floors{"net, 1, official": 3.1, "net, 1, onnx": 4}, "net, 1, official: 3.00, want at least 3.10"},
		"missing": {floors{"other, 1, official": 1}, "other, 1, official: not measured, want at least 1.00"},
		"absent":  {floors{"other, 1, litert": 1}, ""},
		"others":  {floors{"third, 1, official": 9}, ""},
	} {
		got := ""
		if err := c.floors.hold(rep); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--sets", "a:b", "--models", "add|net", "--threads", "1,2", "--turn", "5ms"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.models.MatchString("net") || o.models.MatchString("nets") || len(o.threads) != 2 || len(o.sets) != 2 || o.Each != 5*time.Millisecond {
		t.Errorf("parsed %+v", o)
	}
	for _, wrong := range [][]string{{"--sets", ""}, {"--sets", "a", "--threads", "0"}, {"--sets", "a", "--sides", "none"}, {"--sets", "a", "b"}, {"--sets", "a", "--models", "("}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

// TestSubjects: --models picks folders of the sets that have a case, of the usual models and others.
func TestSubjects(t *testing.T) {
	set := t.TempDir()
	for _, name := range []string{"add", "mine", "mine_too", "other"} {
		if err := os.Mkdir(filepath.Join(set, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "mine_too" {
			continue
		}
		if err := os.WriteFile(filepath.Join(set, name, "case.json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for names, want := range map[string][]string{"add|mine.*": {"add", "mine"}, "resnet18|other": {"other"}, "none": nil} {
		o, err := parse([]string{"--sets", set, "--models", names})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range o.subjects() {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", names, got, want)
		}
	}
	o, err := parse([]string{"--sets", set})
	if err != nil || len(o.subjects()) != len(subjects) {
		t.Errorf("without --models: %v", err)
	}
	err = command([]string{"--sets", set, "--models", "none"})
	if want := "find models: none in " + set + " is named none"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
