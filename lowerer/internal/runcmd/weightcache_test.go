package runcmd

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

const images = "../../../runtime/executor/testdata/images/"

// TestWeightCache runs programs where the file cannot be written, where it is written, with it, where it is of another program, and
// where there is nothing to keep, and holds what is said of it.
func TestWeightCache(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "weights")
	for _, test := range []struct{ model, file, want string }{
		{"images", filepath.Join(file, "none"), "warning: write weight cache " + file},
		{"images", file, "weight cache " + file + ": written\n"},
		{"images", file, "weight cache " + file + ": used\n"},
		{"quantized_addmm", file, "warning: read weight cache " + file + ": it is of another program"},
		{"add", filepath.Join(dir, "add"), "weight cache " + filepath.Join(dir, "add") + ": the program has nothing to keep\n"},
	} {
		var said strings.Builder
		o := &Options{Program: testdata + test.model + "/portable.pte", Cases: testdata + test.model + "/case.json", Check: true, Threads: 1,
			MaxMemory: executor.DefaultMaxMemory, WeightCache: test.file, Stderr: &said}
		if err := Run(o, executor.LoadOptions{Kernels: op.Kernels}, io.Discard); err != nil {
			t.Error(err)
		}
		if got := said.String(); !strings.HasPrefix(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %q, want %q", test.model, got, test.want)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestWeightCacheJSON has what became of the file, in bench of the load before those that are timed, and each warning once.
func TestWeightCacheJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weights")
	var said strings.Builder
	o := Options{Program: images + "portable.pte", Cases: images + "case.json", Threads: 1, MaxMemory: executor.DefaultMaxMemory, JSON: true, Stderr: &said}
	for _, test := range []struct{ file, want string }{
		{filepath.Join(file, "none"), "write weight cache " + file}, {file, "written"}, {file, "used"},
	} {
		o.WeightCache = test.file
		var out bytes.Buffer
		var rep bench.Report
		if err := Bench(&BenchOptions{Options: o, Runs: 1}, executor.LoadOptions{Kernels: op.Kernels}, &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &rep); err != nil || !strings.HasPrefix(rep.WeightCache, test.want) {
			t.Errorf("bench: got %q (%v), want %q", rep.WeightCache, err, test.want)
		}
	}
	if got := said.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "warning: ") {
		t.Errorf("got %q, want one warning", got)
	}
	var out bytes.Buffer
	var rep report
	if err := Run(&o, executor.LoadOptions{Kernels: op.Kernels}, &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil || rep.WeightCache != "used" {
		t.Errorf("run: got %q (%v), want used", rep.WeightCache, err)
	}
}
