package xnnpack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/aot"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/pte"
)

// optionSpec is a spec with XNNPACK and an option of its partitioner.
const optionSpec = `package p

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack"
	"github.com/rules-pte/rules_pte/cue/lower"
)

lower.#Program & {
	methods: forward: model: %q
	partition: [xnnpack.#Backend & {partitioner: %s: true}]
	expect: delegation: XnnpackBackend: {partitions: >=1, tolerance: %v}
}
`

// TestOptionsOnOfficialRuntime runs programs of narrower types on the official runtime, and holds their results against
// those of the same models without XNNPACK there: two steps of 8 bits is 1/128 of an output's range. There is no tan, which
// makes a small error large near its poles. PTE_ORACLE is a Python that has executorch, PTE_MODELS the zoo.
func TestOptionsOnOfficialRuntime(t *testing.T) {
	python, zoo := os.Getenv("PTE_ORACLE"), os.Getenv("PTE_MODELS")
	if python == "" || zoo == "" {
		t.Skip("PTE_ORACLE or PTE_MODELS is not set")
	}
	zoo, err := filepath.Abs(zoo)
	if err != nil {
		t.Fatal(err)
	}
	var jobs bytes.Buffer
	var names []string
	for _, c := range []struct {
		option, models string
		tolerance      float64
	}{
		{"force_fp16", "linear convs ds_cnn pnet norms", 0x1p-10},
		{"enable_bf16", "bfloat16", 0},
	} {
		for model := range strings.FieldsSeq(c.models) {
			names = append(names, c.option+" "+model)
			job := optionJob(t, filepath.Join(zoo, model), fmt.Sprintf(optionSpec, filepath.Join(zoo, model, "model.pt2"), c.option, c.tolerance))
			if err := json.NewEncoder(&jobs).Encode(job); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, a := range ask(t, python, &jobs, len(names)) {
		t.Log(names[i], a.Steps)
		if a.Reason != "" || len(a.Steps) != 1 || a.Steps[0] > 2 {
			t.Errorf("%s: %q, %v steps apart, want at most 2", names[i], a.Reason, a.Steps)
		}
	}
}

// TestBranchOnOfficialRuntime runs there what the official partitioner fails on: linear layers inside branches.
func TestBranchOnOfficialRuntime(t *testing.T) {
	python := os.Getenv("PTE_ORACLE")
	if python == "" {
		t.Skip("PTE_ORACLE is not set")
	}
	models, err := filepath.Abs("../backendtest/testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, spec := filepath.Join(dir, "branch.pte"), filepath.Join(dir, "branch.cue")
	write(t, spec, fmt.Sprintf(branchSpec, filepath.Join(models, "linear_branch.pt2")))
	lower(t, "-o", program, spec)
	write(t, filepath.Join(dir, "case.json"), fmt.Sprintf(branchCase, filepath.Join(models, "linear_branch_in.npy"), filepath.Join(models, "linear_branch_out.npy")))
	var job bytes.Buffer
	if err := json.NewEncoder(&job).Encode(map[string]any{"pte": program, "folder": dir}); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, python, &job, 1); a[0].Reason != "" {
		t.Error(a[0].Reason)
	}
}

// branchSpec wants a partition in each branch.
const branchSpec = `package p

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack"
	"github.com/rules-pte/rules_pte/cue/lower"
)

lower.#Program & {
	methods: forward: model: %q
	partition: [xnnpack.#Backend]
	expect: delegation: XnnpackBackend: {partitions: 2, macs: 1}
}
`

const branchCase = `{"methods": {"forward": {}}, "rtol": 1e-5, "cases": [{"calls": [{"method": "forward", "inputs": [{"npy": %q}], "outputs": [{"npy": %q, "atol": 1e-6}]}]}]}`

// answer is one of tools/oracle/official.py.
type answer struct {
	Reason string
	Steps  []float64
}

// ask gives the answers to n jobs.
func ask(t *testing.T, python string, jobs *bytes.Buffer, n int) []answer {
	t.Helper()
	cmd := exec.Command(python, "../../tools/oracle/official.py")
	cmd.Stdin, cmd.Stderr = jobs, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]answer, n)
	d := json.NewDecoder(bytes.NewReader(out))
	for i := range answers {
		if err := d.Decode(&answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// optionJob lowers the model in folder without XNNPACK and by spec, and gives the job that compares them.
func optionJob(t *testing.T, folder, spec string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	plain, narrow, file := filepath.Join(dir, "plain.pte"), filepath.Join(dir, "narrow.pte"), filepath.Join(dir, "p.cue")
	write(t, file, spec)
	lower(t, "-o", plain, filepath.Join(folder, "model.pt2"))
	lower(t, "-o", narrow, file)
	return map[string]any{"pte": plain, "folder": folder, "programs": []string{narrow}, "results": []string{}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lower(t *testing.T, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if code := pte.Run(pte.Backends{AOT: []backend.Backend{aot.Backend{}}}, append([]string{"lower"}, args...), &out, &out); code != 0 {
		t.Fatalf("pte lower %v: %s", args, &out)
	}
}
