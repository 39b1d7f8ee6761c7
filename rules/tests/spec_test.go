package tests

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSpecs checks that a library of specs is validated by building it alone, and that programs take its programs or import
// it, without a CUE module.
func TestSpecs(t *testing.T) {
	w := newWorkspace(t, "spec")
	w.model(1)
	if got := w.build("//common"); !slices.Equal(got, []string{"PteVet"}) {
		t.Errorf("the library ran %q", got)
	}
	w.build("//nets:imported_pte", "//nets:chosen_pte")
	w.replace("common/budget.cue", "<=1Mi", "<=1")
	out, err := w.bazel("build", "//nets:imported_pte")
	if want := "common/budget.cue:3:10: expect.arena_bytes: got 1184, want <=1 [PTE1010]"; err == nil || !strings.Contains(out, want) {
		t.Errorf("an imported budget: %v, want %s\n%s", err, want, out)
	}
}

// TestSpecErrors checks that errors name the target, the file and the line, what is allowed and the nearest name.
func TestSpecErrors(t *testing.T) {
	w := newWorkspace(t, "spec")
	w.model(1)
	for _, c := range []struct {
		target string
		want   []string
	}{
		{"field", []string{"PteVet //bad:field failed", `bad/field.cue:5:27: unknown field "method"`, `did you mean "methods"? allowed: `}},
		{"target", []string{"PteVet //bad:target failed", "bad/target.cue:8:43: undefined field: linux_arm65", `did you mean "linux_arm64"? targets: `}},
		{"value", []string{"PteVet //bad:value failed", `bad/value.cue:5:38: operators: got "oficial", want `}},
		{"imported_pte", []string{"PteVet //bad:target failed", "bad/target.cue:8:43: undefined field: linux_arm65"}},
		{"no_dep", []string{"PteVet //bad:no_dep failed", `bad/imported.pte.cue:3:8: cannot find package "example.com/models/bad/target"`}},
		{"no_importpath", []string{"//bad:no_importpath: deps: //bad:field has no importpath, so that nothing can import it: give it one"}},
		{"empty", []string{"//bad:empty: srcs is empty, want the .cue files of one package"}},
		{"two_pte", []string{"//bad:two_pte: spec is the pte_spec //nets:nets, which has srcs and deps itself: want none here"}},
		{"no_cue_pte", []string{"//bad:no_cue_pte: spec: //bad:BUILD.bazel is no .cue file and no pte_spec"}},
	} {
		out, err := w.bazel("build", "//bad:"+c.target)
		for _, want := range c.want {
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v, want %s\n%s", c.target, err, want, out)
			}
		}
	}
}

// TestBadInputs checks the texts of builds with files that are not there, that do not fit each other, or that cannot be lowered.
// Each names the target, what is wrong, and what is allowed.
func TestBadInputs(t *testing.T) {
	w := newWorkspace(t, "spec")
	w.model(1)
	w.edited("bad/operator.pt2", "net.pt2", func(_ string, data []byte) []byte {
		return bytes.ReplaceAll(data, []byte("aten.linear.default"), []byte("aten.linearr.default"))
	})
	for _, c := range []struct {
		target string // with flags
		want   []string
	}{
		{"no_model_pte", []string{"//bad:no_model_pte", "missing input file '//bad:gone.pt2'"}},
		{"no_spec_pte", []string{"//bad:no_spec_pte", "missing input file '//bad:gone.pte.cue'"}},
		{"other_model_pte", []string{"PteProgram //bad:other_model_pte failed",
			`common/names/names.cue:3:6: no graph for model "net.pt2"`, "in Bazel, list the model in models, which has other.pt2"}},
		{"other_program_pte", []string{"PteVet //bad:other_program_pte failed", `no program "smal"`, `did you mean "small"?`, "stacktrace"}},
		{"operator_pte", []string{"PteProgram //bad:operator_pte failed", "aten.linearr.default: no kernel and no rule for this operator [PTE3001]",
			"hint: the nearest that works is aten.linear.default"}},
		{"no_archive_pte", []string{"PteSplit //bad:no_archive_pte failed", "bad/BUILD.bazel: "}},
		{"platform --output_groups=source", []string{"//bad:platform: program //bad:arm_pte was lowered for target linux_arm64, which is linux on arm64, " +
			"and this runtime is for linux on riscv64: give the spec that target, or the runtime that platform"}},
		{"features --output_groups=source", []string{`//bad:features: program //bad:features_pte was lowered for target server, whose CPU has "avx2", ` +
			"and not every machine with linux on amd64 has it (sse2): list it in cpu_features if yours do"}},
	} {
		out, err := w.bazel(strings.Fields("build //bad:" + c.target)...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v, want %s\n%s", c.target, err, want, out)
			}
		}
	}
}

// TestCueVet runs CUE's own command on the same files: with the workspace's module and what `pte mod init` writes it resolves
// every import, and refuses a wrong field where it stands.
func TestCueVet(t *testing.T) {
	w := newWorkspace(t, "spec")
	if err := os.Mkdir(filepath.Join(w.dir, "cue.mod"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("cue.mod/module.cue", "module: \"example.com/models@v0\"\nlanguage: version: \"v0.17.0\"\n")
	if out, err := w.run("./pte", "mod", "init"); err != nil {
		t.Fatalf("pte mod init: %v\n%s", err, out)
	}
	vet := []string{cueCommand(t), "vet", "-c=false"}
	if out, err := w.run(append(vet, "./common/...", "./nets")...); err != nil {
		t.Errorf("cue vet: %v\n%s", err, out)
	}
	out, err := w.run(append(vet, "./bad/field.cue")...)
	if want := "#Small.method: field not allowed:\n    ./bad/field.cue:5:27\n"; err == nil || !strings.Contains(out, want) {
		t.Errorf("cue vet of a wrong field: %v, want %s\n%s", err, want, out)
	}
}
