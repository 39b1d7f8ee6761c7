package runcmd

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestErrorOf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x, y []float64
		want float64
		note string
	}{
		{[]float64{1, -4}, []float64{1, -4}, 0, ""},
		{[]float64{1, -4}, []float64{2, -4}, 0.25, ""},
		{[]float64{0, 0}, []float64{0, 3}, 3, ""},
		{[]float64{nan, inf, 2}, []float64{nan, inf, 1}, 0.5, ""},
		{[]float64{1, nan}, []float64{1, 2}, inf, "element 1 is NaN and 2"},
		{[]float64{inf}, []float64{-inf}, inf, "element 0 is +Inf and -Inf"},
		{nil, nil, 0, ""},
	} {
		if got, note := errorOf(c.x, c.y); got != c.want || note != c.note {
			t.Errorf("%v and %v: error %v, %q, want %v, %q", c.x, c.y, got, note, c.want, c.note)
		}
	}
}

// bytesOf is a tensor of int8.
func bytesOf(sizes []tensor.Dim, data ...byte) op.Value {
	return op.Value{Kind: op.Tensor, Tensor: &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: sizes}, Data: data}}
}

// recorded is a trace of one call of a method of one instruction, whose debug handle is 1: a kernel or, with steps, a
// delegate with an input and an output.
func recorded(delegate bool, values ...op.Value) *trace {
	in := pte.Instruction{Type: pte.KernelCall}
	d := debuginfo.New()
	d.Handles["forward"] = map[int][]int{0: {1}}
	d.Nodes["forward"] = map[int]*debuginfo.Node{1: {Name: "conv", Op: "aten.conv2d.default"}}
	g := etdump.New(etdump.IntermediateOutputs)
	g.CreateEventBlock("Execute")
	g.SetChainDebugHandle(0, 0)
	g.EndProfiling(g.StartProfiling("event"))
	if delegate {
		in = pte.Instruction{Type: pte.DelegateCall, Args: []int32{0, 1}}
		d.Delegates["forward"] = map[int]*debuginfo.Delegate{0: {Name: "B", Map: map[string][]int{"step": {1}}, Outputs: []int{1}}}
		for i := range values {
			g.LogIntermediateOutputDelegate("step", 0, &values[i])
		}
		input := op.Value{Kind: op.Int, Int: 7}
		values = []op.Value{input, values[len(values)-1]}
	}
	for i := range values {
		g.LogEvalue(&values[i], false)
	}
	plan := &pte.ExecutionPlan{Name: "forward", Chains: []pte.Chain{{Instructions: []pte.Instruction{in}}}}
	return &trace{gen: g, file: &pte.Program{Plans: []*pte.ExecutionPlan{plan}}, debug: d, calls: []string{"forward"}}
}

func TestAlign(t *testing.T) {
	flat := []tensor.Dim{2}
	image, last := []tensor.Dim{1, 2, 1, 2}, []tensor.Dim{1, 1, 2, 2}
	for _, c := range []struct {
		name string
		a, b *trace
		want float64
		note string
	}{
		{"every pair of as many", recorded(false, bytesOf(flat, 4, 2), bytesOf(flat, 1, 1)), recorded(false, bytesOf(flat, 4, 1), bytesOf(flat, 1, 1)), 0.25, ""},
		{"the last of several", recorded(false, bytesOf(flat, 9, 9), bytesOf(flat, 1, 2)), recorded(false, bytesOf(flat, 1, 2)), 0, ""},
		{"the last that fits", recorded(false, bytesOf(flat, 1, 2), bytesOf(image, 1, 1, 1, 1)), recorded(false, bytesOf(flat, 1, 1)), 0.5, ""},
		{"steps and the output", recorded(false, bytesOf(flat, 1, 2)), recorded(true, bytesOf(flat, 5, 5), bytesOf(flat, 1, 2)), 0, ""},
		{"channels last in a step", recorded(false, bytesOf(image, 1, 2, 3, 4)), recorded(true, bytesOf(last, 1, 3, 2, 4)), 0, ""},
		{"a line as an image", recorded(false, bytesOf([]tensor.Dim{1, 2, 2}, 1, 2, 3, 4)), recorded(true, bytesOf([]tensor.Dim{1, 1, 2, 2}, 1, 3, 2, 4)), 0, ""},
		{"nothing fits", recorded(false, bytesOf(flat, 1, 2)), recorded(false, op.Value{Kind: op.Int}), 0, "not compared: int8[2] and int"},
	} {
		rows := align(c.a, c.b)
		if len(rows) != 1 || rows[0].error != c.want || rows[0].Note != c.note || (rows[0].Error == nil) != (c.note != "") || rows[0].Node != "conv" {
			t.Errorf("%s: %+v, want error %v, note %q", c.name, rows, c.want, c.note)
		}
	}
}

func TestSameNodes(t *testing.T) {
	a, b := recorded(false), recorded(false)
	if err := sameNodes(a, b); err != nil {
		t.Error(err)
	}
	b.debug.Nodes["forward"][1].Name = "linear"
	want := "debug handle 1 of method forward is node conv (aten.conv2d.default) in one program and linear (aten.conv2d.default) in the other"
	if err := sameNodes(a, b); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRows(t *testing.T) {
	tr := recorded(true, bytesOf(nil, 1))
	tr.file.Plans[0].Delegates = []pte.BackendDelegate{{ID: "B"}}
	tr.gen.EndProfilingDelegate(tr.gen.StartProfilingDelegate("step", 0), []byte("Conv"))
	tr.gen.EndProfilingDelegate(tr.gen.StartProfilingDelegate("", 9), []byte{0xff, 1})
	tr.gen.LogFused([]int{0, 1}) // a part of the delegate and another instruction
	tr.gen.EndProfiling(tr.gen.StartProfiling("native_call_gru_cell.out"))
	rows := tr.rows()
	for i := range rows {
		rows[i].StartNS, rows[i].NS = 0, 0
	}
	zero := 0
	want := []row{
		{Method: "forward", Instruction: &zero, Name: "event", Backend: "B", Handles: []int{1}, Nodes: []string{"conv"}},
		{Method: "forward", Instruction: &zero, Name: "step", Backend: "B", Detail: "Conv", Handles: []int{1}, Nodes: []string{"conv"}},
		{Method: "forward", Instruction: &zero, Name: "9", Backend: "B"},
		{Method: "forward", Instruction: &zero, Fused: []int{0, 1}, Name: "native_call_gru_cell.out", Handles: []int{1}, Nodes: []string{"conv"}},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	if err := tr.writeJSON(&b, "dir/p.pte"); err != nil || !strings.Contains(b.String(), `"name": "conv step"`) || !strings.Contains(b.String(), `"program": "p.pte"`) {
		t.Errorf("%v:\n%s", err, &b)
	}
}
