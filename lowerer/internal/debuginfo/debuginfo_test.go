package debuginfo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// delegated is a plan of a kernel, a move, and a delegate that has conv and relu inside and gives relu's result twice.
func delegated() *exir.Plan {
	origin := func(handle int, name string) exir.Origin {
		return exir.Origin{DebugHandle: handle, Source: "aten::" + name, SourceName: name + "_1", Module: "body",
			Frames: []exir.Frame{{File: "net.py", Line: 10 + handle, Text: "x = " + name}, {File: "lib/site-packages/torch/nn.py", Line: 5}}}
	}
	conv, relu := &exir.Value{Name: "conv"}, &exir.Value{Name: "relu"}
	op := func(name string) *exir.Schema { return &exir.Schema{Name: name} }
	inner := &exir.Graph{Nodes: []*exir.Node{
		{Op: op("aten::convolution"), Outs: []*exir.Value{conv}, Origin: origin(2, "conv2d")},
		{Op: op("aten::relu"), Outs: []*exir.Value{relu}, Origin: origin(3, "relu")},
	}, Outputs: []exir.Arg{exir.ToArg(relu), exir.ToArg(relu)}}
	module := &exir.LoweredModule{BackendID: "B", DebugHandles: map[string][]int{"0": {2, 3}},
		Program: &exir.EdgeProgram{Program: exir.Program{Methods: []*exir.Method{{Graph: inner}}}}}
	call := &exir.Node{Op: exir.CallDelegate, Args: []exir.Arg{{Kind: exir.ArgLowered, Lowered: module}}, Outs: []*exir.Value{{}, {}}}
	return &exir.Plan{
		ExecutionPlan: &pte.ExecutionPlan{Name: "forward", Operators: []pte.Operator{{Name: "aten::add", Overload: "out"}},
			Chains: []pte.Chain{{Instructions: []pte.Instruction{{Type: pte.KernelCall, Args: []int32{1}}, {Type: pte.MoveCall}, {Type: pte.DelegateCall}}}}},
		Nodes: []*exir.Node{{Op: op("aten::add"), Outs: []*exir.Value{{}}, Origin: origin(1, "add")}, nil, call},
	}
}

func TestAdd(t *testing.T) {
	f := New()
	f.Add(delegated())
	for _, c := range []struct {
		instruction int
		step        string
		want        []int
	}{{0, "", []int{1}}, {1, "", nil}, {2, "", []int{2, 3}}, {2, "0", []int{2, 3}}, {2, "9", nil}} {
		if got := f.Of("forward", c.instruction, c.step); !slices.Equal(got, c.want) {
			t.Errorf("instruction %d step %q has handles %v, want %v", c.instruction, c.step, got, c.want)
		}
	}
	if d := f.Delegates["forward"][2]; !slices.Equal(d.Outputs, []int{3, 3}) || f.Outs["forward"][2] != 2 {
		t.Errorf("%d outputs of nodes %v, want 2 of node 3", f.Outs["forward"][2], d.Outputs)
	}
	if n := f.Node("forward", 3); *n != (Node{"relu_1", "aten.relu.default", "body", "net.py:13", "x = relu"}) {
		t.Errorf("node 3 is %+v", n)
	}
	var none *File
	none.Add(delegated())
	if none.Node("forward", 1) != nil || none.Of("forward", 0, "") != nil {
		t.Error("no file knows a node")
	}
}

func TestReadAndCheck(t *testing.T) {
	dir := t.TempDir()
	f := New()
	p := delegated()
	f.Add(p)
	path := filepath.Join(dir, "p.debug.json")
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	program := &pte.Program{Plans: []*pte.ExecutionPlan{p.ExecutionPlan, {Name: "constant_method"}}}
	if err := f.Check(program); err != nil {
		t.Errorf("check the program itself: %v", err)
	}
	p.Chains[0].Instructions[0].Args[0] = 2
	if err := f.Check(program); err == nil || !strings.Contains(err.Error(), "the instructions of method forward differ") {
		t.Errorf("check another program: %v", err)
	}
	program.Plans[0].Name = "other"
	if err := f.Check(program); err == nil || !strings.Contains(err.Error(), "it has no method forward") {
		t.Errorf("check a program without the method: %v", err)
	}
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("read notes: no error")
	}
}
