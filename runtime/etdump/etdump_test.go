package etdump

//bazel:data //runtime/executor:testdata

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/etdump/internal/fb"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var _ executor.EventTracer = (*Gen)(nil)

const testdata = "../executor/testdata/"

// traced runs the program add and gives its trace.
func traced(t *testing.T, level DebugLevel) *Gen {
	t.Helper()
	g := New(level)
	p, err := executor.LoadFile(testdata+"add/portable.pte", executor.LoadOptions{Kernels: op.Kernels, Tracer: g})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	b, err := os.ReadFile(testdata + "add/case0/in_0.npy")
	if err != nil {
		t.Fatal(err)
	}
	x, err := npy.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inst.Method("forward").Run(context.Background(), []executor.Value{executor.TensorOf(x), executor.TensorOf(x)}); err != nil {
		t.Fatal(err)
	}
	return g
}

// names are the kinds of a run's events with their names and instructions.
func names(r *Run) (list []string) {
	for _, e := range r.Events {
		s := e.Name
		switch {
		case e.Kind == Logged && e.Output:
			s = "output"
		case e.Kind == Logged:
			s = "value"
		}
		list = append(list, s)
	}
	return list
}

func TestLevels(t *testing.T) {
	for level, want := range map[DebugLevel][]string{
		NoLogging:           {"Method::execute", "native_call_add.out"},
		ProgramOutputs:      {"Method::execute", "native_call_add.out", "output"},
		IntermediateOutputs: {"Method::execute", "native_call_add.out", "value", "output"},
	} {
		g := traced(t, level)
		if len(g.Runs) != 2 || g.Runs[0].Name != "Default" || g.Runs[1].Name != "Execute" {
			t.Fatalf("level %d: runs %+v", level, g.Runs)
		}
		if diff := cmp.Diff(want, names(&g.Runs[1])); diff != "" {
			t.Errorf("level %d: %s", level, diff)
		}
	}
}

// everything is a trace with every kind of value and of step.
func everything() *Gen {
	g := New(IntermediateOutputs)
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Short, Sizes: []tensor.Dim{2, 3}, DimOrder: []uint8{1, 0}},
		Data: []byte{1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}}
	g.CreateEventBlock("Execute")
	g.SetChainDebugHandle(0, 3)
	outer := g.StartProfiling("DELEGATE_CALL")
	g.EndProfilingDelegate(g.StartProfilingDelegate("", 0), []byte("Conv"))
	g.EndProfilingDelegate(g.StartProfilingDelegate("relu", 5), nil)
	g.LogIntermediateOutputDelegate("", 7, &backend.Value{Kind: op.Tensor, Tensor: x})
	g.EndProfiling(outer)
	for _, v := range []backend.Value{
		{Kind: op.Int, Int: -4}, {Kind: op.Bool, Int: 1}, {Kind: op.Float, Float: 0.5}, {Kind: op.String, Str: "s"},
		{Kind: op.Tensors, Tensors: []*tensor.Tensor{x, nil}}, {},
	} {
		g.LogEvalue(&v, v.Kind == op.Float)
	}
	return g
}

func TestMarshal(t *testing.T) {
	dump, buffer := everything().Marshal()
	if want := []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}; !bytes.Equal(buffer, append(append(want, 0, 0, 0, 0), want...)) {
		t.Errorf("debug buffer % x: want row-major order and an alignment of 16", buffer)
	}
	d := fb.GetSizePrefixedRootAsETDump(dump, 0)
	var run fb.RunData
	if !d.RunData(&run, 0) || string(run.Name()) != "Execute" || run.EventsLength() != 10 || string(dump[8:12]) != identifier {
		t.Fatalf("%d events in %d runs", run.EventsLength(), d.RunDataLength())
	}
	var e fb.Event
	run.Events(&e, 1)
	if p := e.ProfileEvent(nil); p.DelegateDebugIdInt() != 0 || string(p.DelegateDebugMetadataBytes()) != "Conv" || p.InstructionId() != 3 {
		t.Errorf("first step has id %d, metadata %q", p.DelegateDebugIdInt(), p.DelegateDebugMetadataBytes())
	}
	run.Events(&e, 2)
	if p := e.ProfileEvent(nil); p.DelegateDebugIdInt() != -1 || string(p.DelegateDebugIdStr()) != "relu" || p.EndTime() < p.StartTime() {
		t.Errorf("second step has id %d, name %q", p.DelegateDebugIdInt(), p.DelegateDebugIdStr())
	}
	run.Events(&e, 3)
	if v := e.DebugEvent(nil).DebugEntry(nil); v.Val() != fb.ValueTypeTensor || v.Tensor(nil).Strides(0) != 3 || v.Output(nil) != nil {
		t.Errorf("step's value is %v", v.Val())
	}
	run.Events(&e, 6)
	if v := e.DebugEvent(nil).DebugEntry(nil); v.Val() != fb.ValueTypeDouble || !v.Output(nil).BoolVal() {
		t.Errorf("output is %v", v.Val())
	}
}

// TestInspector lets ExecuTorch's Inspector read traces. PTE_ORACLE is a Python that has executorch.
func TestInspector(t *testing.T) {
	python := os.Getenv("PTE_ORACLE")
	if python == "" {
		t.Skip("PTE_ORACLE is not set")
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	type event struct {
		Name      string
		Step      any
		Delegated bool
		Values    []any
	}
	inspect := func(g *Gen) (events []event) {
		dump, buffer := g.Marshal()
		cmd := exec.Command(python, filepath.FromSlash("../../tools/oracle/inspect_etdump.py"), write("t.etdp", dump), write("t.bin", buffer))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &events)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return events
	}
	if got := inspect(traced(t, IntermediateOutputs)); len(got) != 3 || got[2].Name != "native_call_add.out" || len(got[2].Values) != 1 {
		t.Errorf("program: %+v", got)
	}
	rows := []any{[]any{1.0, 2.0, 3.0}, []any{4.0, 5.0, 6.0}}
	want := []event{
		{Name: "DELEGATE_CALL", Values: []any{-4.0, true, []any{rows}}},
		{Name: "0", Step: 0.0, Delegated: true, Values: []any{}},
		{Name: "relu", Step: "relu", Delegated: true, Values: []any{}},
		{Name: "7", Step: 7.0, Delegated: true, Values: []any{rows}},
	}
	g := everything()
	g.Runs[0].Events = append(g.Runs[0].Events[:7:7], g.Runs[0].Events[8]) // Inspector has no case for a string and for nothing
	if diff := cmp.Diff(want, inspect(g)); diff != "" {
		t.Error(diff)
	}
}
