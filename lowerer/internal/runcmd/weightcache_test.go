package runcmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// TestWeightCache runs a program three times: where the file cannot be written, where it is written, and with it.
func TestWeightCache(t *testing.T) {
	const dir = "../../../runtime/executor/testdata/images/"
	file := filepath.Join(t.TempDir(), "weights")
	for _, test := range []struct{ file, warning string }{
		{filepath.Join(file, "none"), "warning: write weight cache " + file},
		{file, ""},
		{file, ""},
	} {
		var said strings.Builder
		o := &Options{Program: dir + "portable.pte", Cases: dir + "case.json", Check: true, Threads: 1, MaxMemory: executor.DefaultMaxMemory,
			WeightCache: test.file, Stderr: &said}
		if err := Run(o, executor.LoadOptions{Kernels: op.Kernels}, io.Discard); err != nil {
			t.Error(err)
		}
		if got := said.String(); !strings.HasPrefix(got, test.warning) || test.warning == "" && got != "" {
			t.Errorf("%s: got %q, want %q", test.file, got, test.warning)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
