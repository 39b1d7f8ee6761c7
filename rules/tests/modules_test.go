package tests

import (
	"bytes"
	"strings"
	"testing"
)

// third is a file of a backend that imports a package of another module.
const third = `package rt

import "github.com/pkg/errors"

// ErrUser is made by another module.
var ErrUser = errors.New("npu")
`

const (
	thirdMod = "module example.com/npu\n\ngo 1.26\n\nrequire github.com/pkg/errors v0.9.1\n"
	thirdSum = "github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=\n" +
		"github.com/pkg/errors v0.9.1/go.mod h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=\n"
)

// TestUserModules compiles a backend that imports another module, by the go.mod of the user's workspace; one vendor tree
// serves both. Without the module's sum it is refused, by the default flags of Bazel.
func TestUserModules(t *testing.T) {
	w := backendsWorkspace(t)
	w.replace("WORKSPACE", "pte_dependencies()", `pte_dependencies(go_mod = "//:go.mod", go_sum = "//:go.sum", packages = "//:go_packages.txt")`)
	w.replace("BUILD.bazel", `exports_files([`, "exports_files([\n    \"go.mod\",\n    \"go.sum\",\n    \"go_packages.txt\",")
	w.write("npu/rt/third.go", third)
	w.write("go.mod", thirdMod)
	w.write("go.sum", "")
	if out, err := w.run("./pte", "gen", "packages"); err != nil {
		t.Fatalf("gen packages: %v\n%s", err, out)
	}
	if list := w.read("go_packages.txt"); !bytes.HasSuffix(list, []byte("\ngithub.com/pkg/errors\n")) {
		t.Fatalf("packages:\n%s", list)
	}
	want := "//:go.sum lacks sums of modules that the two go.mod need together"
	if out, err := w.bazel("build", "//npu/rt"); err == nil || !strings.Contains(out, want) {
		t.Errorf("without a sum: %v, want %s\n%s", err, want, out)
	}
	w.write("go.sum", thirdSum)
	if out, err := w.bazel("build", "//npu/rt"); err != nil {
		t.Errorf("with the sum: %v\n%s", err, out)
	}
}
