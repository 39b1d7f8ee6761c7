package executor

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// turnSide is the side of a matrix that is large enough to stay where the caller has it, and turnBytes what it takes.
const (
	turnSide  = 33
	turnBytes = turnSide * turnSide * 4
)

// Values of turnProgram.
const (
	turnInput = iota
	turnDims
	turnRank0
	turnRank1
	turnResult
	turnSize = turnResult + 2 // of a view
)

// turnProgram transposes a square matrix, planned or not: elements of a result that lay over the input would be lost.
func turnProgram(isPlanned bool) *pte.Program {
	x, y := tensorValue(turnSide, turnSide), tensorValue(turnSide, turnSide)
	x.Tensor.Dynamism, y.Tensor.Dynamism = pte.DynamicBound, pte.DynamicBound
	const size = (turnBytes + 63) &^ 63
	if isPlanned {
		x.Tensor.Allocation, y.Tensor.Allocation = &pte.Allocation{MemoryID: 1}, &pte.Allocation{MemoryID: 1, Offset: size}
	}
	p := plan([]pte.EValue{x, {Type: pte.IntList, Items: []int64{turnRank0, turnRank1}}, {Type: pte.Int, Int: 1}, {Type: pte.Int}, y}, []int64{0, 2 * size},
		pte.Instruction{Type: pte.KernelCall, Args: []int32{turnInput, turnDims, turnResult, turnResult}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::permute_copy", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{turnInput}, []int32{turnResult}
	return p
}

// turnMatrix has its elements counted, at data.
func turnMatrix(data []byte, rows tensor.Dim) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{rows, turnSide}}, Data: data}
	for i := range t.Numel() {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)))
	}
	return t
}

// isTurned reports whether t is turnMatrix, transposed so many times.
func isTurned(t *tensor.Tensor, times int) bool {
	for i := range t.Numel() {
		want := i
		if times%2 == 1 {
			want = i%turnSide*turnSide + i/turnSide
		}
		if math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])) != float32(want) {
			return false
		}
	}
	return true
}

// TestInputsStay runs a method on a matrix, and on what it gave before: the first may stay where the caller has it, the second lies where
// the method writes. Bytes that are not aligned are copied.
func TestInputsStay(t *testing.T) {
	for name, isPlanned := range map[string]bool{"planned": true, "not planned": false} {
		t.Run(name, func(t *testing.T) {
			var read *byte // where the kernel has read
			kernels := slices.Clone(op.Kernels)
			for i, k := range kernels {
				watched := *k
				watched.Run = func(c *op.Call, s op.State) error {
					read = unsafe.SliceData(c.Args[0].Tensor.Data)
					return k.Run(c, s)
				}
				kernels[i] = &watched
			}
			m := methodOf(t, turnProgram(isPlanned), kernels)
			run := func(x *tensor.Tensor, times int, stays bool) *tensor.Tensor {
				t.Helper()
				outs, err := m.Run(context.Background(), []Value{TensorOf(x)})
				if err != nil {
					t.Fatal(err)
				}
				if !isTurned(outs[0].Tensor, times) {
					t.Errorf("a matrix that is to be transposed %d times is wrong", times)
				}
				if stays != (read == unsafe.SliceData(x.Data)) {
					t.Errorf("transposed %d times: the input stays where it is: %v, want %v", times, !stays, stays)
				}
				if in := m.vals[turnInput].Tensor.Data; isPlanned && unsafe.SliceData(in) == unsafe.SliceData(x.Data) {
					t.Error("the method keeps memory of the caller")
				}
				return outs[0].Tensor
			}
			x := turnMatrix(op.AlignedBytes(turnBytes), turnSide)
			y := run(x, 1, true)
			for times := 2; times < 5; times++ {
				y = run(y, times, false)
			}
			if !isTurned(x, 0) {
				t.Error("a later run has changed an input")
			}
			run(x, 1, true)
			few := turnMatrix(op.AlignedBytes(turnBytes-4*turnSide), turnSide-1)
			if _, err := m.Run(context.Background(), []Value{TensorOf(few)}); err != nil {
				t.Fatal(err)
			}
			run(turnMatrix(op.AlignedBytes(turnBytes + 1)[1:], turnSide), 1, false)
			if !isTurned(x, 0) {
				t.Error("a later run has changed an input")
			}
			run(x, 1, true)
		})
	}
}

// TestInputsThatMove changes a program such that its planned input may not stay where the caller has it.
func TestInputsThatMove(t *testing.T) {
	for name, change := range map[string]func(p *pte.ExecutionPlan){
		"nothing":    func(p *pte.ExecutionPlan) {},
		"an output":  func(p *pte.ExecutionPlan) { p.Outputs = append(p.Outputs, turnInput) },
		"overlapped": func(p *pte.ExecutionPlan) { p.Values[turnResult].Tensor.Allocation.Offset = 64 },
		"control flow": func(p *pte.ExecutionPlan) {
			p.Values = append(p.Values, pte.EValue{Type: pte.Bool, Int: 1})
			list := &p.Chains[0].Instructions
			*list = slices.Insert(*list, 0, pte.Instruction{Type: pte.JumpFalseCall, A: turnResult + 1, B: 1})
		},
		"viewed": func(p *pte.ExecutionPlan) {
			p.Values = append(p.Values, pte.EValue{Type: pte.IntList, Items: []int64{turnSize, turnSize}}, pte.EValue{Type: pte.Int, Int: turnSide},
				tensorValue(turnSide, turnSide))
			list := &p.Chains[0].Instructions
			*list = slices.Insert(*list, 0, pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{turnInput, turnSize - 1, turnSize + 1}})
			p.Operators = append(p.Operators, pte.Operator{Name: "executorch_prim::et_view", Overload: "default"})
		},
		"in a list": func(p *pte.ExecutionPlan) {
			p.Values = append(p.Values, pte.EValue{Type: pte.TensorList, Items: []int64{turnInput}})
			p.Outputs = append(p.Outputs, turnResult+1)
		},
		"beside one that is written": func(p *pte.ExecutionPlan) {
			p.Values = append(p.Values, tensorValue(turnSide, turnSide))
			p.Inputs = append(p.Inputs, turnResult+1)
			p.Chains[0].Instructions = append(p.Chains[0].Instructions, pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{turnResult, turnResult + 1, turnResult + 1}})
			p.Operators = append(p.Operators, pte.Operator{Name: "aten::abs", Overload: "out"})
		},
		"written": func(p *pte.ExecutionPlan) {
			p.Chains[0].Instructions = append(p.Chains[0].Instructions, pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{turnResult, turnInput, turnInput}})
			p.Operators = append(p.Operators, pte.Operator{Name: "aten::abs", Overload: "out"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := turnProgram(true)
			change(p.Plans[0])
			m := methodOf(t, p, op.Kernels)
			if got, want := m.m.lent != nil && m.m.lent[0], name == "nothing"; got != want {
				t.Errorf("the input may stay where the caller has it: %v, want %v", got, want)
			}
		})
	}
}

// TestInputTwice gives a value as two inputs: the second is the one that counts, and the first stays as it is.
func TestInputTwice(t *testing.T) {
	p := turnProgram(true)
	p.Plans[0].Inputs = []int32{turnInput, turnInput}
	m := methodOf(t, p, op.Kernels)
	first, second := turnMatrix(op.AlignedBytes(turnBytes), turnSide), turnMatrix(op.AlignedBytes(turnBytes + 1)[1:], turnSide)
	clear(first.Data)
	outs, err := m.Run(context.Background(), Values(first, second))
	if err != nil {
		t.Fatal(err)
	}
	if !isTurned(outs[0].Tensor, 1) || slices.ContainsFunc(first.Data, func(b byte) bool { return b != 0 }) {
		t.Error("the second input does not count, or the first is changed")
	}
}

// TestDelegateWritesInput calls a delegate whose result is an input of the method: what the caller has stays as it is.
func TestDelegateWritesInput(t *testing.T) {
	p := turnProgram(true)
	p.Plans[0].Delegates[0].ID = "Negator"
	p.Plans[0].Chains[0].Instructions = []pte.Instruction{{Type: pte.DelegateCall, Args: []int32{turnInput, turnInput}}, {Type: pte.DelegateCall, Args: []int32{turnInput, turnResult}}}
	prog := loadOf(t, p, LoadOptions{Backends: []backend.Backend{newNegator()}})
	inst := instanceOf(t, prog)
	defer inst.Close()
	m := inst.Method("forward")
	if m.m.lent == nil || !m.m.lent[0] {
		t.Fatal("the input may not stay where the caller has it")
	}
	x := turnMatrix(op.AlignedBytes(turnBytes), turnSide)
	outs, err := m.Run(context.Background(), Values(x))
	if err != nil {
		t.Fatal(err)
	}
	if !isTurned(x, 0) || !isTurned(outs[0].Tensor, 0) {
		t.Error("the input is changed, or the result is not it negated twice")
	}
}

// TestViewOfInput gives one buffer again and again to a method that gives a view of it: it stays where it is, though the last result lies there.
func TestViewOfInput(t *testing.T) {
	p := turnProgram(false)
	p.Plans[0].Values = append(p.Plans[0].Values, pte.EValue{Type: pte.IntList, Items: []int64{turnSize, turnSize}}, pte.EValue{Type: pte.Int, Int: turnSide})
	p.Plans[0].Chains[0].Instructions = []pte.Instruction{{Type: pte.KernelCall, Args: []int32{turnInput, turnSize - 1, turnResult}}}
	p.Plans[0].Operators = []pte.Operator{{Name: "executorch_prim::et_view", Overload: "default"}}
	m := methodOf(t, p, op.Kernels)
	x := turnMatrix(op.AlignedBytes(turnBytes), turnSide)
	for range 3 {
		outs, err := m.Run(context.Background(), Values(x))
		if err != nil {
			t.Fatal(err)
		}
		if unsafe.SliceData(outs[0].Tensor.Data) != unsafe.SliceData(x.Data) {
			t.Error("an input that nobody writes is copied")
		}
	}
}

// TestOutputsAsInputs gives a method what it gave before, in several sequences. Bounds run with the products before them, in a plan of
// the memory where outputs lie apart from several inputs, and may lie where a single one does.
func TestOutputsAsInputs(t *testing.T) {
	for _, sequences := range [][][]int{{{0}}, {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}} {
		count := len(sequences[0])
		m := methodOf(t, squares(count), op.Kernels)
		for i := range m.m.steps {
			if _, ok := bounders[m.m.steps[i].name]; ok {
				t.Errorf("%d inputs: a bound is a step of its own", count)
			}
		}
		run := func(inputs []Value) (outs []*tensor.Tensor) {
			t.Helper()
			results, err := m.Run(context.Background(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			for i := range results {
				o := *results[i].Tensor
				outs = append(outs, &o)
			}
			return outs
		}
		inputs := make([]Value, count)
		for i := range inputs {
			inputs[i] = TensorOf(tensor.Of([]float32{float32(i + 1), 0.5, 0.25, -0.5}, 2, 2))
		}
		for _, order := range [][]uint8{nil, {1, 0}} {
			for _, sequence := range sequences {
				outs := run(inputs)
				given, clones := make([]Value, count), make([]Value, count)
				for i, k := range sequence {
					outs[k].DimOrder = order
					given[i] = TensorOf(outs[k])
					clones[i] = TensorOf(&tensor.Tensor{Meta: outs[k].Clone(), Data: slices.Clone(outs[k].Data)})
				}
				var got [][]byte
				for _, o := range run(given) {
					got = append(got, slices.Clone(o.Data))
				}
				for i, o := range run(clones) {
					if !slices.Equal(o.Data, got[i]) {
						t.Errorf("%d inputs, outputs %v in order %v: output %d differs from that of copies", count, sequence, order, i)
					}
				}
			}
		}
	}
}

// squares multiplies each input, of 2 x 2, with itself, the result with itself, and bounds what that gives. All are planned; a single output
// gets the place of the input.
func squares(count int) *pte.Program {
	for seed := uint64(0); ; seed++ {
		g := newMaker(rand.New(rand.NewPCG(seed, 3)), 2, 2)
		values := make([]int32, count)
		for i := range values {
			values[i] = g.input()
		}
		for range 2 {
			for i, v := range values {
				values[i] = g.float("aten::mm.out", false, v, v)
			}
		}
		for _, v := range values {
			g.output(g.float("aten::relu.out", false, v))
		}
		if count > 1 {
			for _, v := range g.plan.Inputs {
				g.last[v] = len(g.calls) // so that outputs do not get their places
			}
		}
		p := g.finish(1)
		if slices.ContainsFunc(g.plan.Inputs, func(v int32) bool { return g.plan.Values[v].Tensor.Allocation == nil }) {
			continue // an input may have no place
		}
		return p
	}
}
