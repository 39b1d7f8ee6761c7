package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// resultsOf are the outputs of three Runs of p, on inputs by this seed, and how many steps it has.
func resultsOf(t *testing.T, p *pte.Program, seed uint64, tracer EventTracer) (all [][]float32, steps []step) {
	t.Helper()
	m := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2), Tracer: tracer})).Method("forward")
	all, err := runsOf(m, seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return all, m.m.steps
}

// runsOf are the outputs of three Runs of m, on inputs by this seed.
func runsOf(m *Method, seed uint64) (all [][]float32, err error) {
	r := rand.New(rand.NewPCG(seed, 9))
	for range 3 {
		var ins []Value
		for _, in := range m.Info().Inputs {
			ins = append(ins, TensorOf(randomOf(r, in.Meta.DType, in.Meta.Sizes...)))
		}
		outs, err := m.Run(context.Background(), ins)
		if err != nil {
			return nil, err
		}
		all = append(all, floatsOf(outs)...)
	}
	return all, nil
}

// checkNear holds results against those of the steps one by one.
func checkNear(t *testing.T, what string, got, want [][]float32, tol float64) {
	t.Helper()
	for k := range want {
		for i, w := range want[k] {
			if !golden.Near(float64(got[k][i]), float64(w), tol, tol) {
				t.Fatalf("%s: result %d, element %d is %v, want %v", what, k, i, got[k][i], w)
			}
		}
	}
}

// checkMost is checkNear of types that round so much that some results are far: where a value does not come to be, it is not rounded.
func checkMost(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for k := range want {
		far := 0
		for i, w := range want[k] {
			if !golden.Near(float64(got[k][i]), float64(w), 0.1, 0.1) {
				far++
			}
		}
		if far > len(want[k])/5 {
			t.Fatalf("%s: result %d has %d of %d elements that are far from what they should be", what, k, far, len(want[k]))
		}
	}
}

// TestMadePrograms holds made programs against themselves while somebody looks at their values, and so nothing is fused, turned or
// placed anew. Those that quantize run on the scalar tier alone: elsewhere sums differ by their rounding, and so do integers.
func TestMadePrograms(t *testing.T) {
	quantizes := kernel.Best() == kernel.Scalar
	count, fused, updated, cells := uint64(2000), 0, 0, map[string]int{}
	if testing.Short() {
		count = 50
	}
	for seed := range count {
		p, half := madeProgram(seed, quantizes), !quantizes && seed%4 == 3
		if half {
			asType(p, []tensor.ScalarType{tensor.Half, tensor.BFloat16}[seed/4%2])
		}
		got, steps := resultsOf(t, p, seed, nil)
		want, all := resultsOf(t, p, seed, values{&scribe{}})
		if len(steps) < len(all) {
			fused++
		}
		copies := func(s step) bool { return s.name == copyName }
		if slices.ContainsFunc(all, copies) && !slices.ContainsFunc(steps, copies) {
			updated++
		}
		for _, s := range steps {
			if s.name == op.LSTMName || s.name == op.GRUName {
				cells[s.name]++
			}
		}
		if what := "seed " + strconv.FormatUint(seed, 10); half {
			checkMost(t, what, got, want)
		} else {
			checkNear(t, what, got, want, 5e-5)
		}
	}
	if fused < int(count)/4 {
		t.Errorf("%d of %d programs are shorter than their instructions", fused, count)
	}
	if updated < int(count)/20 {
		t.Errorf("%d of %d programs write their buffers themselves", updated, count)
	}
	if !testing.Short() && (cells[op.LSTMName] < 10 || cells[op.GRUName] < 10) {
		t.Errorf("fused cells: %v", cells)
	}
}

// TestMadeDynamic holds made programs on images whose sizes and orders change from call to call against themselves as TestMadePrograms does.
func TestMadeDynamic(t *testing.T) {
	for seed := range uint64(300) {
		p, d := madeProgram(seed+1000, false), tensor.Float
		if len(p.Plans[0].Values[p.Plans[0].Inputs[0]].Tensor.Sizes) != 4 || slices.ContainsFunc(p.Plans[0].Operators, resizes) {
			continue
		}
		if seed%3 == 2 {
			d = []tensor.ScalarType{tensor.Half, tensor.BFloat16}[seed/3%2]
			asType(p, d)
		}
		checkDynamic(t, p, d, seed)
	}
}

// checkDynamic runs a program of images of d, whose sizes change, by two instances that take turns, on one thread or three, and instruction by
// instruction.
func checkDynamic(t *testing.T, p *pte.Program, d tensor.ScalarType, seed uint64) {
	t.Helper()
	for _, v := range p.Plans[0].Values {
		if v.Tensor != nil && len(v.Tensor.Sizes) == 4 && v.Tensor.DataBufferIdx == 0 {
			v.Tensor.Dynamism = pte.DynamicBound
		}
	}
	program := loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2)*2})
	ref := instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Tracer: values{&scribe{}}})).Method("forward")
	both := [2]*Method{instanceOf(t, program).Method("forward"), instanceOf(t, program).Method("forward")}
	r := rand.New(rand.NewPCG(seed, 9))
	side := [2]tensor.Dim{8, 8}
	for round := range 10 {
		if r.IntN(2) == 0 {
			side = [2]tensor.Dim{tensor.Dim(1 + r.IntN(8)), tensor.Dim(1 + r.IntN(8))}
		}
		m := both[round%4/3]
		ins := imagesOf(m, r, side)
		got, err := m.Run(context.Background(), ins)
		if err != nil {
			t.Fatal(seed, err)
		}
		want, err := ref.Run(context.Background(), ins)
		if err != nil {
			t.Fatal(seed, err)
		}
		what := fmt.Sprintf("seed %d, round %d, %v of %v", seed, round, side, d)
		if g, w := floatsOf(got), floatsOf(want); d == tensor.Float {
			checkNear(t, what, g, w, 5e-5)
		} else {
			checkMost(t, what, g, w)
		}
	}
}

// TestMadeTogether runs two instances of a program at once: each gives what it gives alone.
func TestMadeTogether(t *testing.T) {
	for seed := range uint64(100) {
		program := loadOf(t, madeProgram(seed+5000, false), LoadOptions{Kernels: op.Kernels, Threads: 1 + int(seed%2)})
		var methods [2]*Method
		var want [2][][]float32
		for k := range methods {
			var err error
			if want[k], err = runsOf(instanceOf(t, program).Method("forward"), seed+uint64(k)); err != nil {
				t.Fatal(seed, err)
			}
			methods[k] = instanceOf(t, program).Method("forward")
		}
		var both sync.WaitGroup
		for k, m := range methods {
			both.Go(func() {
				got, err := runsOf(m, seed+uint64(k))
				if err != nil || !reflect.DeepEqual(got, want[k]) {
					t.Errorf("seed %d: instance %d gives something else beside the other one (error %v)", seed, k, err)
				}
			})
		}
		both.Wait()
	}
}

// resizes reports whether an operator has sizes for an argument, or is of a buffer, whose sizes stay.
func resizes(o pte.Operator) bool {
	return slices.Contains([]string{"aten::constant_pad_nd", "aten::upsample_nearest2d", "aten::upsample_bilinear2d", "aten::_adaptive_avg_pool2d", "aten::copy_"}, o.Name)
}

// imagesOf are inputs of m that are images of this height and width, in either order.
func imagesOf(m *Method, r *rand.Rand, side [2]tensor.Dim) (ins []Value) {
	for _, in := range m.Info().Inputs {
		sizes := slices.Clone(in.Meta.Sizes)
		sizes[2], sizes[3] = side[0], side[1]
		image := randomOf(r, in.Meta.DType, sizes...)
		if r.IntN(3) == 0 {
			plain := image
			image = &tensor.Tensor{Meta: tensor.Meta{DType: plain.DType, Sizes: sizes, DimOrder: innerOrders[4]}, Data: op.AlignedBytes(len(plain.Data))}
			op.Reorder(image, plain)
		}
		ins = append(ins, TensorOf(image))
	}
	return ins
}

// floatsOf are the elements of outputs, as Float.
func floatsOf(outs []Value) (all [][]float32) {
	for _, o := range outs {
		all = append(all, tensor.Elements[float32](cast(o.Tensor, tensor.Float)))
	}
	return all
}

// TestIntegersInAnotherArena quantizes a matrix into an arena that is not planned anew, where another value has its place after the
// matrix is dequantized: the product of integers may not read it there later.
func TestIntegersInAnotherArena(t *testing.T) {
	const side = 8
	char := func(v pte.EValue) pte.EValue { v.Tensor.ScalarType = tensor.Char; return v }
	at := func(v pte.EValue, arena uint32, offset uint64) pte.EValue {
		v.Tensor.Allocation = &pte.Allocation{MemoryID: arena, Offset: offset}
		return v
	}
	square := func() pte.EValue { return tensorValue(side, side) }
	w := char(square())
	w.Tensor.DataBufferIdx = 1
	results := func(arena uint32) []float32 {
		values := []pte.EValue{
			0: at(square(), 1, 0), 1: at(char(square()), arena, 1024), 2: at(square(), 1, 256), 3: at(square(), arena, 1024), // over 1
			4: w, 5: at(square(), 1, 512), 6: at(square(), 1, 768), 7: {Type: pte.Double, Double: 0.5}, 8: {Type: pte.Int}, 9: {Type: pte.Int, Int: -128},
			10: {Type: pte.Int, Int: 127}, 11: {Type: pte.Int, Int: int64(tensor.Char)}, 12: {Type: pte.Null}, 13: at(square(), 1, 1280),
		}
		call := func(op int32, args ...int32) pte.Instruction {
			return pte.Instruction{Type: pte.KernelCall, A: op, Args: append(args, args[len(args)-1])}
		}
		p := plan(values, []int64{0, 4096, 4096}, call(0, 0, 7, 8, 9, 10, 11, 1), call(1, 1, 7, 8, 9, 10, 11, 12, 2), call(2, 0, 3),
			call(1, 4, 7, 8, 9, 10, 11, 12, 5), call(3, 2, 5, 12, 6), call(4, 3, 13))
		p.Plans[0].Operators = []pte.Operator{{Name: "quantized_decomposed::quantize_per_tensor", Overload: "out"},
			{Name: "quantized_decomposed::dequantize_per_tensor", Overload: "out"}, {Name: "aten::exp", Overload: "out"}, {Name: "aten::linear", Overload: "out"},
			{Name: "aten::neg", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{6, 13}
		var weights []byte
		var x []float32
		for k := range side * side {
			weights, x = append(weights, byte(k*7%11)-5), append(x, float32(k%9)-4)
		}
		p.ConstantBuffers = [][]byte{nil, weights}
		outs, err := methodOf(t, p, op.Kernels).Run(context.Background(), Values(tensor.Of(x, side, side)))
		if err != nil {
			t.Fatal(err)
		}
		return tensor.Elements[float32](outs[0].Tensor)
	}
	if got, want := results(2), results(1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTiedWeights has the same weights in a convolution and a transposed one, which want them in different orders.
func TestTiedWeights(t *testing.T) {
	const channels, side = 16, 8
	results := func(transposed ...int64) [][]float32 {
		w := tensorValue(channels, channels, 3, 3)
		w.Tensor.DimOrder, w.Tensor.DataBufferIdx = []uint8{0, 2, 3, 1}, 1
		values := []pte.EValue{tensorValue(1, channels, side, side), w, {Type: pte.Null}, {Type: pte.IntList, Items: []int64{4, 4}}, {Type: pte.Int, Int: 1},
			{Type: pte.Bool}, {Type: pte.Bool, Int: 1}, {Type: pte.IntList, Items: []int64{8, 8}}, {Type: pte.Int}}
		var calls []pte.Instruction
		var outs []int32
		for _, kind := range transposed {
			o := int32(len(values))
			values, outs = append(values, tensorValue(1, channels, side, side)), append(outs, o)
			calls = append(calls, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 3, 3, 3, int32(5 + kind), 7, 4, o, o}})
		}
		p := plan(values, []int64{0, 0}, calls...)
		p.Plans[0].Operators = []pte.Operator{{Name: "aten::convolution", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, outs
		var weights, x []float32
		for i := range channels * channels * 9 {
			weights = append(weights, float32(i%97)-48)
		}
		for i := range channels * side * side {
			x = append(x, float32(i%13)-6)
		}
		p.ConstantBuffers = [][]byte{nil, tensor.Of(weights, tensor.Dim(len(weights))).Data}
		got, err := methodOf(t, p, op.Kernels).Run(context.Background(), Values(tensor.Of(x, 1, channels, side, side)))
		if err != nil {
			t.Fatal(err)
		}
		return floatsOf(got)
	}
	both := results(0, 1)
	for kind, got := range both {
		if want := results(int64(kind))[0]; !slices.Equal(got, want) {
			t.Errorf("transposed %d: results are others with the other convolution beside it", kind)
		}
	}
}

// TestMovedOutput gives a method what its Run before has given, an output that an instruction sets to another tensor.
func TestMovedOutput(t *testing.T) {
	values := []pte.EValue{tensorValue(3, 3), {Type: pte.IntList, Items: []int64{4, 5}}, tensorValue(3, 3), tensorValue(3, 3), {Type: pte.Int, Int: 1}, {Type: pte.Int}}
	p := plan(values, []int64{0, 0}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 2}}, pte.Instruction{Type: pte.MoveCall, A: 2, B: 3})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::permute_copy", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{3}
	m := methodOf(t, p, op.Kernels)
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3)
	for range 4 {
		outs, err := m.Run(context.Background(), Values(x))
		if err != nil {
			t.Fatal(err)
		}
		x = outs[0].Tensor
	}
	if got := tensor.Elements[float32](x); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("after an even number of transpositions: %v", got)
	}
}

// TestTracedSteps has one step for each instruction while somebody looks at values.
func TestTracedSteps(t *testing.T) {
	for _, name := range []string{"attention", "recurrent", "images", "quantized"} {
		m := loadTest(t, name, LoadOptions{Tracer: values{&scribe{}}}).methods[0]
		n := 0
		for _, c := range m.plan.Chains {
			n += len(c.Instructions)
		}
		if len(m.steps) != n {
			t.Errorf("%s: %d steps, want those of %d instructions", name, len(m.steps), n)
		}
	}
}

// longProgram is n calls: pairs of an operator and a sum of its result with that of the pair before, in places of their own. Wide ones
// have all operators before all sums.
func longProgram(operator string, n int, wide bool) *pte.Program {
	g := newMaker(nil, 4)
	x, zero, one, no := g.input(), g.int(0), g.int(1), g.no()
	apply := func(from int32) int32 {
		if operator == "aten::_softmax.out" {
			return g.float(operator, false, from, zero, no)
		}
		return g.float(operator, false, from)
	}
	var made []int32
	for range n / 2 {
		if wide {
			made = append(made, apply(x))
		}
	}
	y := x
	for k := range n / 2 {
		if wide {
			y = g.float("aten::add.out", false, y, made[k], one)
		} else {
			y = g.float("aten::add.out", false, apply(y), x, one)
		}
	}
	at := uint64(0)
	for v := range g.plan.Values {
		if t := g.plan.Values[v].Tensor; t != nil {
			t.Allocation = &pte.Allocation{MemoryID: 1, Offset: at}
			at += 16
		}
	}
	g.output(y)
	g.plan.NonConstBufferSizes, g.plan.Chains = []int64{0, int64(at)}, []pte.Chain{{Instructions: g.calls}}
	return g.program
}

// TestLongPrograms runs programs that are too long for some of what is fused, and one that is not.
func TestLongPrograms(t *testing.T) {
	const soft = "aten::_softmax.out"
	for name, p := range map[string]*pte.Program{
		"short": longProgram(soft, 100, true), "far": longProgram("aten::relu.out", 4*farthest, true), "near": longProgram(soft, 4*farthest, false),
		"many live": longProgram(soft, 3*mostLive, true),
	} {
		checkAlone(t, name, p)
	}
}

// BenchmarkLoadLong loads programs of which half the values are in use at a time, twice as long each.
func BenchmarkLoadLong(b *testing.B) {
	for _, operator := range []string{"aten::relu.out", "aten::_softmax.out"} {
		for _, n := range []int{5000, 10000, 20000} {
			b.Run(operator+"/"+strconv.Itoa(n), func(b *testing.B) {
				p := longProgram(operator, n, true)
				for b.Loop() {
					loadOf(b, p, LoadOptions{Kernels: op.Kernels})
				}
			})
		}
	}
}
