package runcmd

//bazel:data //runtime/executor:testdata

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testdata = "../../../runtime/executor/testdata/"

func TestRunCases(t *testing.T) {
	for _, name := range []string{"add", "counter", "cond", "two_methods"} {
		var out, errs bytes.Buffer
		dir := t.TempDir()
		code := Run([]string{testdata + name + "/portable.pte", "--case", testdata + name + "/case.json", "--check", "--output", dir}, &out, &errs)
		if code != 0 || !strings.Contains(out.String(), "case 0 call 0") {
			t.Errorf("%s: exit %d\n%s%s", name, code, &out, &errs)
		}
		if _, err := os.Stat(filepath.Join(dir, "case0", "call0", "out_0.npy")); err != nil {
			t.Error(err)
		}
	}
}

func TestRunInputs(t *testing.T) {
	var out, errs bytes.Buffer
	in := testdata + "add/case0/in_0.npy"
	code := Run([]string{"--json", testdata + "add/portable.pte", "--input", in, "--input", in, "--bench", "2"}, &out, &errs)
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != 0 || len(r.Outputs) != 1 || r.Bench == nil {
		t.Errorf("exit %d, %v\n%s%s", code, err, &out, &errs)
	}
}

func TestRunErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"no program given": {},
		"want 2":           {testdata + "add/portable.pte"},
		"no method other":  {testdata + "add/portable.pte", "--method", "other"},
		"no such file":     {"absent.pte"},
		"--check needs":    {testdata + "add/portable.pte", "--check"},
	} {
		var out, errs bytes.Buffer
		if code := Run(args, &out, &errs); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("run %q: exit %d, %s; want %q", args, code, &errs, want)
		}
	}
}

func TestInspect(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Inspect([]string{testdata + "counter/portable.pte"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	for _, want := range []string{"method forward", "aten::copy_", "tensor float32", "arenas"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	out.Reset()
	var d dump
	if code := Inspect([]string{testdata + "add/portable.pte", "--json"}, &out, &errs); code != 0 || json.Unmarshal(out.Bytes(), &d) != nil {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	var sum uint64
	for _, r := range d.Layout {
		sum += r.Size
	}
	if sum != uint64(d.Size) {
		t.Errorf("regions add up to %d, want %d", sum, d.Size)
	}
}
