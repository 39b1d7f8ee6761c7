package runcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// TestBench times a program with inputs of its own making, and with those of a case, and holds the parts together.
func TestBench(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	o := &BenchOptions{Options: Options{Program: testdata + "two_methods/portable.pte", Method: "get", Threads: 1, MaxMemory: 1 << 30, JSON: true}, Runs: 3, HTML: page, Version: "v1.2.3"}
	var out bytes.Buffer
	load := executor.LoadOptions{Kernels: op.Kernels}
	if err := Bench(o, load, &out); err != nil {
		t.Fatal(err)
	}
	var rep bench.Report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	share := 0.0
	for _, k := range rep.Kernels {
		share += k.Share
	}
	if rep.Runs != 3 || rep.Loads < 2 || rep.Loads > mostLoads || rep.LoadNS <= 0 || len(rep.Kernels) == 0 || share < 0.99 || share > 1.01 || rep.MinNS > rep.MedianNS || rep.Version != "v1.2.3" || time.Since(rep.Date) > time.Hour {
		t.Errorf("got %s", out.String())
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), rep.Kernels[0].Name) {
		t.Errorf("page: %v", err)
	}
	o.Inputs = []string{"int:3"}
	if err := Bench(o, load, &out); err == nil {
		t.Error("wrong inputs: no error")
	}
}

// TestBenchFails says what a method takes, and measures nothing whose page cannot be written.
func TestBenchFails(t *testing.T) {
	load := executor.LoadOptions{Kernels: op.Kernels}
	for want, o := range map[string]*BenchOptions{
		"got 1 inputs, want 2":      {Options: Options{Inputs: []string{"int:1"}}},
		"no such file or directory": {HTML: filepath.Join(t.TempDir(), "none", "page.html")},
	} {
		o.Program, o.Threads, o.MaxMemory, o.Runs = testdata+"add/portable.pte", 1, 1<<30, 1
		var out bytes.Buffer
		err := Bench(o, load, &out)
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("got %v and %d bytes, want %q and nothing", err, out.Len(), want)
		}
		var e *diag.Error
		if o.HTML == "" && (!errors.As(err, &e) || !strings.HasPrefix(e.Hint, "forward takes (float32[")) {
			t.Errorf("%v lacks the hint what forward takes", err)
		}
	}
}
