package executor

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func guarded(lines ...string) (*method, error) {
	m := &method{plan: &pte.ExecutionPlan{Inputs: make([]int32, 3), Values: []pte.EValue{
		{Type: pte.String, String: "a string"},
		{Type: pte.String, String: pte.GuardsPrefix + strings.Join(lines, "\n") + "\n"},
	}}}
	return m, m.loadGuards()
}

func TestGuards(t *testing.T) {
	m, err := guarded("0\t0\tx\t2\t9\t\ts0", "0\t1\tx\t\t\t3\t", "1\t0\ty\t\t\t2 i0.0 * 1 +\t2*s0 + 1", "2\t\tn\t0\t\ti0.0 4 % i1.0 max 99 min\tf(s0)")
	if err != nil {
		t.Fatal(err)
	}
	of := func(sizes ...int64) Value { return TensorOf(&tensor.Tensor{Meta: tensor.Meta{Sizes: sizes}}) }
	for _, c := range []struct {
		inputs []Value
		want   string
	}{
		{[]Value{of(4, 3), of(9), IntOf(9)}, ""},
		{[]Value{of(1, 3), of(3), IntOf(3)}, "input 0 (x): dimension 0 has size 1, want 2 to 9"},
		{[]Value{of(10, 3), of(3), IntOf(3)}, "input 0 (x): dimension 0 has size 10, want 2 to 9"},
		{[]Value{of(4, 2), of(9), IntOf(9)}, "input 0 (x): dimension 1 has size 2, want 3"},
		{[]Value{of(4, 3), of(8), IntOf(8)}, "input 1 (y): dimension 0 has size 8, want 9, which is 2*s0 + 1 by dimension 0 of input 0"},
		{[]Value{of(4, 3), of(9), IntOf(-1)}, "input 2 (n) is -1, want at least 0"},
		{[]Value{of(4, 3), of(9), IntOf(5)}, "input 2 (n) is 5, want 9, which is f(s0) by dimension 0 of input 0"},
		{[]Value{of(), IntOf(4), of(9)}, ""}, // of other kinds, which are another check's
	} {
		err := m.checkGuards(c.inputs)
		if got := messageOf(err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	inputs := []Value{of(4, 3), of(9), IntOf(9)}
	if n := testing.AllocsPerRun(10, func() { _ = m.checkGuards(inputs) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestDescribe names inputs, and gives the sizes that their dimensions may have.
func TestDescribe(t *testing.T) {
	m, err := guarded("0\t0\tx\t2\t9\t\ts0", "0\t1\tx\t\t\t3\t", "1\t0\ty\t\t\t2 i0.0 * 1 +\t2*s0 + 1", "2\t\tn\t0\t\t\t")
	if err != nil {
		t.Fatal(err)
	}
	tensorOf := func(d pte.Dynamism, sizes ...tensor.Dim) ValueInfo {
		return ValueInfo{Kind: Tensor, Meta: tensor.Meta{Sizes: sizes}, Dynamism: d, Sizes: sizeInfos(sizes, d)}
	}
	got := []ValueInfo{tensorOf(pte.DynamicBound, 9, 3, 5), tensorOf(pte.DynamicUnbound, 19), {Kind: Int}}
	m.describe(got)
	want := []ValueInfo{tensorOf(pte.DynamicBound, 9, 3, 5), tensorOf(pte.DynamicUnbound, 19), {Kind: Int, Name: "n"}}
	want[0].Name, want[0].Sizes = "x", []SizeInfo{{Least: 2, Most: 9}, {Least: 3, Most: 3}, {Most: 5}}
	want[1].Name, want[1].Sizes = "y", []SizeInfo{{Most: math.MaxInt64, Derived: "2*s0 + 1"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestGuardedInputs names inputs in other errors than those of guards, and says of another rank that it is one.
func TestGuardedInputs(t *testing.T) {
	x, out := tensorValue(4, 3), tensorValue(4, 3)
	guards := pte.EValue{Type: pte.String, String: pte.GuardsPrefix + "0\t0\tx\t\t\t4\t\n"}
	p := plan([]pte.EValue{x, {Type: pte.Int, Int: 1}, out, guards}, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 0, 1, 2, 2}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{2}
	m := methodOf(t, p, op.Kernels)
	for _, c := range []struct {
		dtype tensor.ScalarType
		sizes []tensor.Dim
		want  string
	}{
		{tensor.Float, []tensor.Dim{5, 3}, "input 0 (x): dimension 0 has size 5, want 4"},
		{tensor.Float, []tensor.Dim{5}, "input 0 (x) has sizes [5], want [4, 3]"},
		{tensor.Double, []tensor.Dim{4, 3}, "input 0 (x) has dtype float64, want float32"},
	} {
		in := &tensor.Tensor{Meta: tensor.Meta{DType: c.dtype, Sizes: c.sizes}}
		in.Data = make([]byte, in.Nbytes())
		if _, err := m.Run(context.Background(), Values(in)); messageOf(err) != "run forward: "+c.want {
			t.Errorf("got %q, want %q", messageOf(err), c.want)
		}
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Error(), ": "+CodeOf(err).String())
}

func TestBadGuards(t *testing.T) {
	for _, line := range []string{
		"", "0\t0\tx\t2\t9\t", "3\t0\tx\t2\t9\t\t", "-1\t0\tx\t2\t9\t\t", "0\tz\tx\t2\t9\t\t", "0\t0\tx\ttwo\t9\t\t",
		"0\t0\tx\t\t\t+\t", "0\t0\tx\t\t\t1 2\t", "0\t0\tx\t\t\ti5.0\t", "0\t0\tx\t\t\ti\t", "0\t0\tx\t\t\t1 &\t",
		"0\t0\tx\t\t\t" + strings.Repeat("1 ", 20) + strings.Repeat("+ ", 19) + "\t",
	} {
		if _, err := guarded(line); CodeOf(err) != pte.InvalidProgram {
			t.Errorf("guard %q: %v, want an invalid program", line, err)
		}
	}
}
