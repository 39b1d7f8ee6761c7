package executor

import (
	"bytes"
	"context"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The values of poolProgram.
const (
	poolInput = iota
	poolOut
	poolIndices
	poolOther // of the indices' type and sizes
	poolThree
	poolTwo
	poolOne
	poolSize
	poolStride
	poolPad
	poolFalse
	poolResults
	poolCount
)

// poolProgram pools an image: the largest elements are its output, and nobody reads their indices.
func poolProgram() *pte.Program {
	values := make([]pte.EValue, poolCount)
	at := uint64(0)
	for v, c := range []struct {
		dtype tensor.ScalarType
		h, w  int32
	}{{tensor.Float, 10, 40}, {tensor.Float, 5, 20}, {tensor.Long, 5, 20}, {tensor.Long, 5, 20}} {
		values[v] = tensorValue(1, 2, c.h, c.w)
		values[v].Tensor.ScalarType, values[v].Tensor.Allocation = c.dtype, &pte.Allocation{MemoryID: 1, Offset: at}
		at += uint64(2 * c.h * c.w * 8)
	}
	for v, n := range map[int]int64{poolThree: 3, poolTwo: 2, poolOne: 1} {
		values[v] = pte.EValue{Type: pte.Int, Int: n}
	}
	for v, n := range map[int]int64{poolSize: poolThree, poolStride: poolTwo, poolPad: poolOne} {
		values[v] = pte.EValue{Type: pte.IntList, Items: []int64{n, n}}
	}
	values[poolFalse] = pte.EValue{Type: pte.Bool}
	values[poolResults] = pte.EValue{Type: pte.TensorList, Items: []int64{poolOut, poolIndices}}
	p := plan(values, []int64{0, int64(at)}, pte.Instruction{Type: pte.KernelCall,
		Args: []int32{poolInput, poolSize, poolStride, poolPad, poolPad, poolFalse, poolOut, poolIndices, poolResults}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::max_pool2d_with_indices", Overload: "out"}, {Name: "aten::abs", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{poolInput}, []int32{poolOut}
	return p
}

// TestUnread makes the indices of a pooling where somebody reads them, and there alone.
func TestUnread(t *testing.T) {
	abs := pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{poolIndices, poolOther, poolOther}}
	input := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{1, 2, 10, 40}}, Data: op.AlignedBytes(2 * 10 * 40 * 4)}
	for i := range tensor.Elements[float32](input) {
		tensor.Elements[float32](input)[i] = float32(i * 7 % 101)
	}
	run := func(change func(p *pte.ExecutionPlan)) (out, indices []byte) {
		p := poolProgram()
		change(p.Plans[0])
		m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{counter{newNegator(), 1}}})).Method("forward")
		for range 2 {
			inputs := []Value{TensorOf(input)}
			for _, in := range m.Info().Inputs[1:] {
				inputs = append(inputs, zeros(&in))
			}
			if _, err := m.Run(context.Background(), inputs); err != nil {
				t.Fatal(err)
			}
		}
		return bytes.Clone(m.vals[poolOut].Tensor.Data), bytes.Clone(m.vals[poolIndices].Tensor.Data)
	}
	want, wantIndices := run(func(p *pte.ExecutionPlan) { p.Outputs = []int32{poolOut, poolIndices} })
	if bytes.Equal(wantIndices, make([]byte, len(wantIndices))) {
		t.Fatal("an output has no indices")
	}
	for _, c := range []struct {
		name   string
		read   bool
		change func(p *pte.ExecutionPlan)
	}{
		{"nobody", false, func(*pte.ExecutionPlan) {}},
		{"an operator", true, func(p *pte.ExecutionPlan) { p.Chains[0].Instructions = append(p.Chains[0].Instructions, abs) }},
		{"an operator, by another name", true, func(p *pte.ExecutionPlan) {
			again := abs
			p.Values = append(p.Values, p.Values[poolIndices])
			again.Args = []int32{poolCount, poolOther, poolOther}
			p.Chains[0].Instructions = append(p.Chains[0].Instructions, again)
		}},
		{"the next Run", true, func(p *pte.ExecutionPlan) {
			p.Chains[0].Instructions = append([]pte.Instruction{abs}, p.Chains[0].Instructions...)
		}},
		{"the caller, as an input", true, func(p *pte.ExecutionPlan) { p.Inputs = []int32{poolInput, poolIndices} }},
		{"nobody, and an input lay there before", false, func(p *pte.ExecutionPlan) {
			p.Inputs = []int32{poolInput, poolOther}
			p.Values[poolOther].Tensor.Allocation = p.Values[poolIndices].Tensor.Allocation
		}},
		{"nobody, and a delegate's result lay there before", false, func(p *pte.ExecutionPlan) {
			values := []pte.EValue{tensorValue(1, 2, 10, 40), tensorValue(1, 2, 10, 40)}
			values[0].Tensor.Allocation = p.Values[poolIndices].Tensor.Allocation
			values[1].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(p.NonConstBufferSizes[1])}
			p.Values, p.NonConstBufferSizes[1] = append(p.Values, values...), p.NonConstBufferSizes[1]+3200
			p.Delegates = []pte.BackendDelegate{{ID: "Negator"}}
			p.Operators = append(p.Operators, pte.Operator{Name: "aten::neg", Overload: "out"})
			p.Chains[0].Instructions = append([]pte.Instruction{{Type: pte.DelegateCall, Args: []int32{poolInput, poolCount}},
				{Type: pte.KernelCall, A: int32(len(p.Operators) - 1), Args: []int32{poolCount, poolCount + 1, poolCount + 1}}}, p.Chains[0].Instructions...)
		}},
		{"somebody behind a jump", true, func(p *pte.ExecutionPlan) {
			p.Values = append(p.Values, pte.EValue{Type: pte.Bool, Int: 1})
			p.Chains[0].Instructions = append(p.Chains[0].Instructions, pte.Instruction{Type: pte.JumpFalseCall, A: poolCount, B: 1})
		}},
	} {
		out, indices := run(c.change)
		if !bytes.Equal(out, want) {
			t.Errorf("read by %s: other results", c.name)
		}
		if c.read && !bytes.Equal(indices, wantIndices) {
			t.Errorf("read by %s: other indices", c.name)
		}
		if !c.read && bytes.Equal(indices, wantIndices) && kernel.Best() != kernel.Scalar {
			t.Errorf("read by %s: all indices are there", c.name) // those of windows at borders may be
		}
	}
}
