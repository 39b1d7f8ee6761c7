package pte

import (
	"bytes"
	"os"
	"testing"
)

// TestOpsPage holds docs/ops.md to what pte ops --markdown prints. With PTE_UPDATE the page is written.
//
//bazel:data //docs:ops.md
func TestOpsPage(t *testing.T) {
	const page = "../../docs/ops.md"
	var out, errs bytes.Buffer
	if rc := run([]string{"ops", "--markdown"}, &out, &errs); rc != 0 {
		t.Fatalf("pte ops --markdown: exit code %d: %s", rc, errs.String())
	}
	if os.Getenv("PTE_UPDATE") != "" {
		if err := os.WriteFile(page, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("docs/ops.md is not what pte ops --markdown prints; make it again with PTE_UPDATE=1 go test ./lowerer/pte -run TestOpsPage")
	}
}
