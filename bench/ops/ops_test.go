package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestFamilies runs every call on our runtime.
func TestFamilies(t *testing.T) {
	table := op.NewTable(op.Kernels)
	for _, f := range families {
		for _, text := range f.calls {
			c, err := parseCall(text)
			if err != nil {
				t.Error(err)
				continue
			}
			p, err := build(table, c, 1)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := runOnce(p); err != nil {
				t.Error(err)
			}
		}
	}
}

func runOnce(p *program) error {
	o, err := loadOurs(p)
	if err != nil {
		return err
	}
	defer o.close()
	_, err = o.method.Run(context.Background(), o.inputs)
	return err
}

func TestParseCall(t *testing.T) {
	got, err := parseCall("dim_order_ops::f.out(=f32[2,3]<4, [i64[], bool[1]], [1, -2], 'floor', none, true, 0.5) -> f16")
	if err != nil {
		t.Fatal(err)
	}
	operandOf := func(dtype tensor.ScalarType, sizes ...tensor.Dim) operand {
		return operand{meta: tensor.Meta{DType: dtype, Sizes: sizes}}
	}
	weight := operandOf(tensor.Float, 2, 3)
	weight.constant, weight.below = true, 4
	want := &call{
		text: got.text, op: "dim_order_ops::f.out", out: tensor.Half,
		args: []op.Value{
			{Kind: op.Tensor}, {Kind: op.Tensors}, {Kind: op.Ints, Ints: []int64{1, -2}}, {Kind: op.String, Str: "floor"}, {},
			{Kind: op.Bool, Int: 1}, {Kind: op.Float, Float: 0.5},
		},
		tensors: [][]operand{{weight}, {operandOf(tensor.Long), operandOf(tensor.Bool, 1)}, nil, nil, nil, nil, nil},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(call{}, operand{})); d != "" {
		t.Errorf("call (-want +got):\n%s", d)
	}
	for _, text := range []string{"add.out", "add.out(f32)", "add.out(f32[2)", "add.out(x)", "add.out(1) 2"} {
		if _, err := parseCall(text); err == nil {
			t.Errorf("parse %q: no error", text)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	table := op.NewTable(op.Kernels)
	for _, text := range []string{"nothing.out(f32[2])", "exp.out(f32[2], 1)", "add.out(f32[2], f32[3], 1)", "copy_(f32[2], f32[2], false)"} {
		c, err := parseCall(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build(table, c, 1); err == nil {
			t.Errorf("build %s: no error", text)
		}
	}
}

// TestOfficial talks with a script in place of Python: it says 7 ns, then an error, and ends.
func TestOfficial(t *testing.T) {
	dir := t.TempDir()
	python := filepath.Join(dir, "python")
	text := "#!/bin/sh\nread a; echo '{\"ns\": 7}'\nread a; echo '{\"error\": \"no kernel\"}'\nread a\n"
	if err := os.WriteFile(python, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	o, err := newOfficial(python, dir)
	if err != nil {
		t.Skip(err)
	}
	defer o.close()
	if got, err := o.time(time.Second); got != 7 || err != nil {
		t.Errorf("time gives %v, %v", got, err)
	}
	for _, want := range []string{"no kernel", "it ends the process"} {
		var r row
		if _, err := o.time(time.Second); r.refused(err) != nil || r.Refusal != want {
			t.Errorf("refusal %q (%v), want %q", r.Refusal, err, want)
		}
	}
	if got, err := o.time(time.Second); got != 7 || err != nil {
		t.Errorf("time of the next process gives %v, %v", got, err)
	}
}

// TestBeside measures a call in the scalar tier on both sides, and refuses a tier that is none.
func TestBeside(t *testing.T) {
	t.Setenv(kernel.TierVar, "")
	other, err := newTier("scalar")
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	res, err := measure(options{rounds: 1, match: regexp.MustCompile(`^neg\.out\(f32\[64\]\)$`)}, other)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 1 || res.Rows[0].Other <= 0 || res.Beside != "scalar" {
		t.Errorf("got %d rows beside %q", len(res.Rows), res.Beside)
	}
	if os.Getenv(kernel.TierVar) != "" {
		t.Errorf("%s stays set", kernel.TierVar)
	}
	if _, err := newTier("mmx"); err == nil {
		t.Error("tier mmx: no error")
	}
}

func TestReport(t *testing.T) {
	r := &result{Rounds: 1, Rows: []*row{
		{Family: "binary", Call: "add", Elements: 10, Ours: 10, Other: 20},
		{Family: "binary", Call: "mul", Elements: 10, Ours: 40, Other: 20},
		{Family: "copy", Call: "clone", Elements: 10, Ours: 10},
	}}
	const byCall = `operators by call

call   ours ns/element  official ns/element  times faster
add              1.000                2.000          2.00
mul              4.000                2.000          0.50
clone            1.000                    -             -

`
	const byFamily = `operators by family

family  calls  ours ns/element  official ns/element  times faster  least  slower calls
binary      2            2.000                2.000          1.00   0.50             1
copy        1            1.000                    -             -      -             -

`
	if d := cmp.Diff(byCall, r.byCall().Text()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if d := cmp.Diff(byFamily, r.byFamily().Text()); d != "" {
		t.Errorf("families (-want +got):\n%s", d)
	}
	if !strings.Contains(r.page(), "# Benchmarks of operators\n") {
		t.Error("the page has no title")
	}
}
