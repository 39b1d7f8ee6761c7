package executor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// output makes a result of an instruction an output, in memory that nothing else uses.
func output(plan *pte.ExecutionPlan, v int32) {
	plan.Outputs = append(plan.Outputs, v)
	plan.Values[v].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
	plan.NonConstBufferSizes[1] += 1 << 12
}

// partOf is the first part of what the first GRU's first input is taken apart into.
func partOf(t *testing.T, plan *pte.ExecutionPlan) int32 {
	in := instruction(t, plan, splitName, 2)
	return int32(plan.Values[in.Args[len(in.Args)-1]].Items[0])
}

// TestFuseCells looks at what becomes of two cells of an LSTM and two of a GRU, if parts of the first ones are also used
// elsewhere, or are not what they should be.
func TestFuseCells(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(plan *pte.ExecutionPlan)
		lstm, gru int
	}{
		"as it is": {func(*pte.ExecutionPlan) {}, 2, 2},
		"a gate is an output": {func(plan *pte.ExecutionPlan) {
			output(plan, instruction(t, plan, sigmoidName).Args[1])
		}, 1, 2},
		"the state is an output": {func(plan *pte.ExecutionPlan) {
			output(plan, instruction(t, plan, addName, 1).Args[3])
		}, 2, 2},
		"a sum that is scaled": {func(plan *pte.ExecutionPlan) {
			plan.Values[instruction(t, plan, addName, 1).Args[2]].Int = 2
		}, 1, 2},
		"a difference that is scaled": {func(plan *pte.ExecutionPlan) {
			plan.Values[instruction(t, plan, subName).Args[2]].Int = 2
		}, 2, 1},
		"a new gate is an output": {func(plan *pte.ExecutionPlan) {
			output(plan, instruction(t, plan, subName).Args[1])
		}, 2, 1},
		"a part of a GRU's first input is an output": {func(plan *pte.ExecutionPlan) {
			output(plan, partOf(t, plan))
		}, 2, 1},
		"a part of a GRU's first input is also the next one's state": {func(plan *pte.ExecutionPlan) {
			v := partOf(t, plan)
			output(plan, v) // for its place
			plan.Outputs = plan.Outputs[:len(plan.Outputs)-1]
			instruction(t, plan, subName, 1).Args[0] = v
		}, 2, 1},
		"hidden is subtracted": {func(plan *pte.ExecutionPlan) {
			in := instruction(t, plan, subName)
			in.Args[0], in.Args[1] = in.Args[1], in.Args[0]
		}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			names := stepNames(changedProgram(t, "recurrent", c.change))
			count := func(name string) (n int) {
				for _, s := range names {
					if s == name {
						n++
					}
				}
				return n
			}
			if lstm, gru := count(op.LSTMName), count(op.GRUName); lstm != c.lstm || gru != c.gru {
				t.Errorf("%d cells of an LSTM and %d of a GRU, want %d and %d: %v", lstm, gru, c.lstm, c.gru, names)
			}
			if splits := count(splitName); splits != 2-c.lstm+2*(2-c.gru) {
				t.Errorf("%d splits stay: %v", splits, names)
			}
		})
	}
}

// TestCellsKeepInstructions holds the instructions that cells stand for against the program's.
func TestCellsKeepInstructions(t *testing.T) {
	p := loadTest(t, "recurrent", LoadOptions{})
	for i := range p.methods[0].steps {
		s := &p.methods[0].steps[i]
		in := &p.File().Plans[0].Chains[s.chain].Instructions[s.index]
		if (s.name == op.LSTMName || s.name == op.GRUName) && !slices.Contains(in.Args, s.outs[0]) {
			t.Errorf("step %d (%s) does not write what its instruction %d does", i, s.name, s.index)
		}
	}
}

// TestFuseCellsSideBySide fuses the cells of two directions whose instructions alternate: what the first cell reads is in use for longer
// then, and lies where the file has values of the other.
func TestFuseCellsSideBySide(t *testing.T) {
	made := func() *pte.Program {
		g := newMaker(rand.New(rand.NewPCG(4, 1)), 2, 16)
		gates := [2][]int32{g.gates(g.input(), 4, true), g.gates(g.input(), 4, true)}
		states, one := [2]int32{g.input(), g.input()}, g.int(1)
		both := func(name string, args ...[2]int32) (outs [2]int32) {
			for k := range outs {
				var list []int32
				for _, a := range args {
					list = append(list, a[k])
				}
				outs[k] = g.float("aten::"+name+".out", false, list...)
			}
			return outs
		}
		gate := func(i int) [2]int32 { return [2]int32{gates[0][i], gates[1][i]} }
		input, forget, candidate, output := both("sigmoid", gate(0)), both("sigmoid", gate(1)), both("tanh", gate(2)), both("sigmoid", gate(3))
		next := both("add", both("mul", forget, states), both("mul", input, candidate), [2]int32{one, one})
		hidden := both("mul", output, both("tanh", next))
		for _, v := range append(next[:], hidden[:]...) {
			g.output(v)
		}
		p := g.finish(1)
		p.Plans[0].NonConstBufferSizes[1] *= 2 // there is room for both
		return p
	}
	got, steps := resultsOf(t, made(), 1, nil)
	want, _ := resultsOf(t, made(), 1, values{&scribe{}})
	checkNear(t, "cells", got, want, 1e-5)
	cells := slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.name != op.LSTMName })
	if kernel.Best() != kernel.Scalar && len(cells) != 2 {
		t.Errorf("%d cells, want 2", len(cells))
	}
}
