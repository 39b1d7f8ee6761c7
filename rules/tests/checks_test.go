package tests

import (
	"strings"
	"testing"
)

// TestChecks runs the tests that users have for their own programs: first without a committed text, which they then write
// themselves, then against it, then against another one.
func TestChecks(t *testing.T) {
	w := backendsWorkspace(t)
	out, err := w.bazel("test", "--test_output=all", "//checks:all")
	for _, want := range []string{
		"//checks:contract_test: differs from checks/contract.txt", "  + method forward",
		"//checks:closure_test: differs from checks/closure.txt", "  + backend BackendWithDelegateMappingDemo",
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("empty texts: %v, want %s\n%s", err, want, out)
		}
	}
	for _, name := range []string{"size", "closure", "contract"} {
		if out, err := w.bazel("run", "//checks:"+name+"_test", "--", "--update"); err != nil {
			t.Fatalf("update %s: %v\n%s", name, err, out)
		}
	}
	if out, err := w.bazel("test", "--test_output=all", "//checks:all"); err != nil {
		t.Errorf("after --update: %v\n%s", err, out)
	}
	w.shrink("checks/sizes.txt", "runtime_bytes", "code runtime ")
	w.replace("checks/contract.txt", "float32", "float16")
	out, err = w.bazel("test", "--test_output=all", "--keep_going", "//checks:all", "//checks:budget_test")
	for _, want := range []string{
		"over checks/sizes.txt by more than 10 %:", "  runtime_bytes was 1000 bytes and is ", "what grew:", "  code runtime\n",
		"to accept: bazel run //checks:size_test -- --update",
		"  - " + "  input 0: float16", "  + " + "  input 0: float32",
		`//checks:budget_test: budgets: nothing is called "arena_byte"; there is file_bytes, arena_bytes, constant_bytes, backend `,
		"over its budget of 1Ki", `budgets: "runtime_bytes": "8 MB" is no number of bytes, such as 4096, 64Ki or 2Mi`,
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("other texts: %v, want %s\n%s", err, want, out)
		}
	}
	want := "//checks:nothing_test: a size test needs budgets, expected or both"
	if out, err := w.bazel("build", "//checks:nothing_test"); err == nil || !strings.Contains(out, want) {
		t.Errorf("no budget: %v, want %s\n%s", err, want, out)
	}
}

// shrink makes the sizes of the rows that begin so 1000 bytes.
func (w *workspace) shrink(name string, rows ...string) {
	w.t.Helper()
	lines := strings.Split(string(w.read(name)), "\n")
	for i, l := range lines {
		for _, r := range rows {
			if strings.HasPrefix(l, r) {
				lines[i] = l[:strings.LastIndexByte(l, ' ')] + " 1000"
			}
		}
	}
	w.write(name, strings.Join(lines, "\n"))
}
