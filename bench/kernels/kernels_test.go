package main

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/bench/side"
)

// sample is a report of three rows: bound by products, by memory, and one that the official runtime refused.
func sample() *report {
	best := func(ns float64) *side.Figures { return &side.Figures{Median: 2 * ns, Best: ns} }
	p := &peaks{Tier: "avx2", FLOPS: 100e9, Ops: 400e9}
	p.Reads = append(p.Reads, struct {
		Bytes float64 `json:"bytes"`
		Speed float64 `json:"bytes_per_second"`
	}{1 << 20, 10e9})
	rep := &report{Setup: side.Setup{Machine: "a machine", Rounds: 3}, Threads: 1, Peaks: p, Rows: []*row{
		{Name: "gemm", Area: "product", Ops: 1e6, Bytes: 1e4, Result: &side.Result{Sides: map[string]*side.Figures{"ours": best(20e3), "same": best(25e3), "official": best(40e3)}}},
		{Name: "int8 gemm", Area: "int8", Ops: 1e6, Bytes: 1e5, Integers: true, Result: &side.Result{Sides: map[string]*side.Figures{"ours": best(50e3), "same": best(20e3), "official": best(10e3)}}},
		{Name: "exp", Area: "function", Bytes: 1e6, Result: &side.Result{Sides: map[string]*side.Figures{"ours": best(200e3), "same": {Error: "no"}, "official": {Error: "no | none"}}}},
	}}
	for _, r := range rep.Rows {
		r.limit(p)
	}
	return rep
}

const tables = `operator   ours µs  same program µs  official µs  x official  best speed     unit  limit  best %  official %
gemm          20.0             25.0         40.0        2.00        50.0  GFLOP/s    fma      50          25
int8 gemm     50.0             20.0         10.0       0.500        50.0    GOP/s   read      50         100
exp            200                -            -           -        5.00     GB/s   read      50           -

area      operators  x official  wanted  least         of
product           1        2.00    1.03   2.00       gemm
int8              1       0.500    1.05  0.500  int8 gemm
function          1           -     1.0      -          -
all               3        1.00       -      -          -
`

func TestTables(t *testing.T) {
	rep := sample()
	if d := cmp.Diff(tables, rep.text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	for _, want := range []string{"Shortest calls of 3 turns", "on a machine.", "Threads: 1, of the tier avx2: float32 100 GFLOP/s", "| exp | official | no / none |"} {
		if !strings.Contains(rep.page(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if x := rep.Rows[2].times(); !math.IsNaN(x) {
		t.Errorf("a row without official figures is %v times faster", x)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--python", "python3", "--match", "gemm|exp", "--threads", "2", "--rounds", "1"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.match.MatchString("gemm 1x2x3") || o.match.MatchString("sigmoid") || o.threads != 2 || o.Rounds != 1 {
		t.Errorf("parsed %+v", o)
	}
	for _, wrong := range [][]string{{"--python", ""}, {"--python", "p", "--threads", "0"}, {"--python", "p", "--match", "("}, {"--python", "p", "more"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

// TestModules compiles the program that makes the models, where there is a Python.
func TestModules(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	cmd := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(string(modules))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
