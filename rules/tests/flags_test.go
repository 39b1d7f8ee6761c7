package tests

import (
	"regexp"
	"testing"
)

var incompatibleFlag = regexp.MustCompile(`(?m)^  --\[no\](incompatible_\w+)`)

// TestFutureFlags analyses a workspace with every flag of the machine's Bazel that later versions have on.
func TestFutureFlags(t *testing.T) {
	w := backendsWorkspace(t)
	help, err := w.bazel("help", "--long", "build")
	if err != nil {
		t.Fatalf("help: %v\n%s", err, help)
	}
	args := []string{"build", "--nobuild"}
	for _, m := range incompatibleFlag.FindAllStringSubmatch(help, -1) {
		args = append(args, "--"+m[1])
	}
	if len(args) < 30 {
		t.Fatalf("only %q", args)
	}
	if out, err := w.bazel(append(args, "//:npu", "//:demo", "//:demo_go", "//checks:all", "//inline:all")...); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}
