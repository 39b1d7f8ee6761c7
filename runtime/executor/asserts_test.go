package executor

import (
	"context"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestAsserts runs a program that checks numbers of its inputs with torch._check, and a tensor of them with an assertion.
func TestAsserts(t *testing.T) {
	inst, err := loadTest(t, "asserts", LoadOptions{}).NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x    []float32
		n    int64
		want string
	}{
		{[]float32{1, 2, 3}, 2, ""},
		{[]float32{1, 2, 3}, 1, "instruction 2: assertion u0 >= 2 does not hold, where u0 is 1 (__init__.py:19)"},
		{[]float32{1, 2, 3}, 5, "instruction 5: assertion Ne(u0, 5) does not hold, where u0 is 5 (__init__.py:19)"},
		{[]float32{1, -2, 1.5}, 4, "instruction 9: assertion 0.5 < zuf0 does not hold, where item_1 is 0.5 (__init__.py:19)"},
		{[]float32{1, 2, 30}, 4, "instruction 13: assertion max too large does not hold (__init__.py:19)"},
	} {
		x, n := tensor.Of(c.x, 3), tensor.Of([]int64{c.n})
		_, err := inst.Method("forward").Run(context.Background(), append(Values(x, n, tensor.Of([]int64{6})), IntOf(3)))
		if want := "run forward: " + c.want; c.want != "" && (messageOf(err) != want || CodeOf(err) != pte.InvalidArgument) || c.want == "" && err != nil {
			t.Errorf("%v, %d: got %v, want %q", c.x, c.n, err, c.want)
		}
	}
}

func TestBadAsserts(t *testing.T) {
	for _, line := range []string{
		"", "0\tx > 1", "1\tx > 1\t", "2\tx > 1\t", "9\tx > 1\t", "-1\tx > 1\t", "0\tx > 1\t\tx", "0\tx > 1\t\tx\tone", "0\tx > 1\t\tx\t9",
	} {
		m := &method{plan: &pte.ExecutionPlan{Chains: []pte.Chain{{Instructions: make([]pte.Instruction, 3)}},
			Values: []pte.EValue{{Type: pte.String, String: pte.AssertsPrefix + line + "\n"}}}, vals: []Value{BoolOf(true), TensorOf(nil)}}
		m.steps = []step{{kind: pte.MoveCall}, {kind: pte.MoveCall, a: 1, b: 1}, {kind: pte.MoveCall, b: 1}}
		if err := m.loadAsserts(); CodeOf(err) != pte.InvalidProgram {
			t.Errorf("%q: got %v", line, err)
		}
	}
}
