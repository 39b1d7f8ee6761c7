package imports

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRuntimeIsSmall holds for every package that ends up in a user's binary.
func TestRuntimeIsSmall(t *testing.T) {
	for pkg, deps := range dependencies(t, runtimePackages(t)) {
		for _, d := range deps {
			if why := forbidden(d); why != "" {
				t.Errorf("%s imports %s: %s", pkg, d, why)
			}
		}
	}
}

// TestLowererDirection holds between the parts of the lowerer's side.
func TestLowererDirection(t *testing.T) {
	for pkg, deps := range dependencies(t, list(t, "./lowerer/...")) {
		for _, d := range deps {
			if strings.HasPrefix(d, module+"tools/") || strings.HasPrefix(d, module+"bench/") {
				t.Errorf("%s imports %s: no part of the product imports the repository's own tools", pkg, d)
			}
		}
	}
	for _, pkg := range []string{"lowerer/exir", "lowerer/diag"} {
		for _, d := range dependencies(t, []string{module + pkg})[module+pkg] {
			if strings.HasPrefix(d, module+"lowerer/internal/") {
				t.Errorf("%s imports %s: the public packages lie below the internal ones", pkg, d)
			}
		}
	}
}

// TestForbidden shows that the rules refuse what they are there for.
func TestForbidden(t *testing.T) {
	for _, d := range []string{"fmt", "reflect", "encoding/json", "archive/zip", "math/big", "runtime/debug",
		module + "lowerer/exir", "golang.org/x/net/html", "cuelang.org/go/cue"} {
		if forbidden(d) == "" {
			t.Errorf("forbidden(%q) = \"\", want a reason", d)
		}
	}
	for _, d := range []string{"errors", "math", "golang.org/x/sys/cpu", "github.com/google/flatbuffers/go",
		"internal/reflectlite", "vendor/golang.org/x/text/unicode/norm", module + "runtime/tensor"} {
		if why := forbidden(d); why != "" {
			t.Errorf("forbidden(%q) = %q, want \"\"", d, why)
		}
	}
}

// runtimePackages are those that forbidden applies to.
func runtimePackages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pkg := range list(t, "./runtime/...", "./backends/...") {
		if linked(strings.TrimPrefix(pkg, module)) {
			out = append(out, pkg)
		}
	}
	if len(out) == 0 {
		t.Fatal("no package of the runtime found")
	}
	return out
}

// dependencies are the packages that each of pkgs imports, at any depth, tests aside.
func dependencies(t *testing.T, pkgs []string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, line := range lines(t, append([]string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}, pkgs...)...) {
		f := strings.Fields(line)
		out[f[0]] = f[1:]
	}
	return out
}

// list is what go list gives for the patterns; one whose folder does not exist matches nothing.
func list(t *testing.T, patterns ...string) []string {
	t.Helper()
	args := []string{"list"}
	for _, p := range patterns {
		if _, err := os.Stat("../../" + strings.TrimSuffix(p, "/...")); err == nil {
			args = append(args, p)
		}
	}
	return lines(t, args...)
}

// lines runs the go command in the module's root.
func lines(t *testing.T, args ...string) []string {
	t.Helper()
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Skip("the module's root is not here: go test runs this, Bazel does not")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
