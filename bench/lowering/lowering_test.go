package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindModels(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a/model.pt2", "b/get.pt2", "b/set.pt2", "c/model.pt2", "d/case.json"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := findModels(dir, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	want := []model{
		{"a", map[string]string{"forward": filepath.Join(dir, "a/model.pt2")}},
		{"b", map[string]string{"get": filepath.Join(dir, "b/get.pt2"), "set": filepath.Join(dir, "b/set.pt2")}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(model{})); d != "" {
		t.Errorf("models (-want +got):\n%s", d)
	}
	if _, err := findModels(dir, []string{"d"}); err == nil {
		t.Error("a folder without models: no error")
	}
}

func TestMedian(t *testing.T) {
	part := func(s float64) map[string]float64 { return map[string]float64{"load": s} }
	got := median([]sample{
		{Seconds: 3, CPU: 1, PeakMiB: 7, Parts: part(5)}, {Seconds: 1, CPU: 9, PeakMiB: 7, Parts: part(1)},
		{Seconds: 2, CPU: 2, PeakMiB: 8, Parts: part(3)}, {Seconds: 4, CPU: 3, PeakMiB: 9, Parts: part(7)},
	})
	want := sample{Seconds: 2.5, CPU: 2.5, PeakMiB: 7.5, Parts: part(4)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("median (-want +got):\n%s", d)
	}
}

func TestTable(t *testing.T) {
	r := &result{
		Models: []comparison{
			{Name: "net", Ours: sample{Seconds: 0.05, PeakMiB: 50, Parts: map[string]float64{"cue": 0.01}}, Official: &sample{Seconds: 5, PeakMiB: 500}},
			{Name: "other", Ours: sample{Seconds: 0.1}, Refusal: "no such operator"},
		},
	}
	const want = `lowering

model  ours s  official s  times faster  ours cpu s  official cpu s  ours MiB  official MiB  share of memory
net     0.050       5.000           100       0.000           0.000        50           500             10 %
other   0.100           -             -       0.000               -         0             -                -

`
	if d := cmp.Diff(want, r.comparison().Text()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
}
