package executor

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Values of weightsProgram.
const (
	weightsInput = iota
	weightsBytes
	weightsFloat
	weightsTurned
	weightsResult
	weightsScale
	weightsZero
	weightsLow
	weightsHigh
	weightsType
	weightsNone
	weightsDims
	weightsRank0
	weightsRank1
	weightsMore // one more result
	weightsCount
)

// weightsProgram multiplies a 2 × 3 input by uint8 weights of the file, 4 × 3, that instructions dequantize and turn.
func weightsProgram() *pte.Program {
	values := make([]pte.EValue, weightsCount)
	at := uint64(0)
	planned := func(v int, sizes ...int32) {
		values[v] = tensorValue(sizes...)
		values[v].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: at}
		at += 64
	}
	planned(weightsInput, 2, 3)
	planned(weightsFloat, 4, 3)
	planned(weightsTurned, 3, 4)
	planned(weightsResult, 2, 4)
	planned(weightsMore, 4, 3)
	values[weightsBytes] = tensorValue(4, 3)
	values[weightsBytes].Tensor.ScalarType, values[weightsBytes].Tensor.DataBufferIdx = tensor.Byte, 1
	values[weightsScale] = pte.EValue{Type: pte.Double, Double: 0.5}
	for v, n := range map[int]int64{weightsZero: 1, weightsLow: 0, weightsHigh: 255, weightsType: int64(tensor.Float), weightsRank0: 1, weightsRank1: 0} {
		values[v] = pte.EValue{Type: pte.Int, Int: n}
	}
	values[weightsNone] = pte.EValue{Type: pte.Null}
	values[weightsDims] = pte.EValue{Type: pte.IntList, Items: []int64{weightsRank0, weightsRank1}}
	call := func(operator int32, args ...int32) pte.Instruction {
		return pte.Instruction{Type: pte.KernelCall, A: operator, Args: append(args, args[len(args)-1])}
	}
	p := plan(values, []int64{0, int64(at)},
		call(0, weightsBytes, weightsScale, weightsZero, weightsLow, weightsHigh, weightsType, weightsNone, weightsFloat),
		call(1, weightsFloat, weightsDims, weightsTurned),
		call(2, weightsInput, weightsTurned, weightsResult))
	p.Plans[0].Operators = []pte.Operator{{Name: "quantized_decomposed::dequantize_per_tensor", Overload: "out"},
		{Name: "aten::permute_copy", Overload: "out"}, {Name: "aten::mm", Overload: "out"}, {Name: "aten::abs", Overload: "out"},
		{Name: "aten::mul", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{weightsInput}, []int32{weightsResult}
	p.ConstantBuffers = [][]byte{nil, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}}
	return p
}

// weightsWant is the result for an input of ones.
var weightsWant = []float32{1.5, 6, 10.5, 136.5, 1.5, 6, 10.5, 136.5}

// loadWeights loads weightsProgram after a change, runs it twice, and gives the operators that it runs.
func loadWeights(t *testing.T, opts LoadOptions, change func(p *pte.Program)) (*Program, []string) {
	t.Helper()
	file := weightsProgram()
	change(file)
	if opts.Kernels == nil {
		opts.Kernels = op.Kernels
	}
	p := loadOf(t, file, opts)
	inst := instanceOf(t, p)
	defer inst.Close()
	var ones []byte
	for range 6 {
		ones = binary.LittleEndian.AppendUint32(ones, math.Float32bits(1))
	}
	for range 2 {
		outs, err := inst.Method("forward").Run(context.Background(), Values(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 3}}, Data: ones}))
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		for i := range weightsWant {
			got = append(got, float32(op.NumberAt(outs[0].Tensor, i)))
		}
		if !slices.Equal(got, weightsWant) {
			t.Errorf("got %v, want %v", got, weightsWant)
		}
	}
	return p, stepNames(p)
}

// insert adds an instruction of weightsProgram.
func insert(p *pte.Program, at int, operator int32, args ...int32) {
	chain := &p.Plans[0].Chains[0]
	chain.Instructions = slices.Insert(chain.Instructions, at, pte.Instruction{Type: pte.KernelCall, A: operator, Args: append(args, args[len(args)-1])})
}

// TestFold looks at which instructions on constants are left for a Run, and which of their results stay in memory.
func TestFold(t *testing.T) {
	const absName, mulName = "aten::abs.out", "aten::mul.out"
	all := []string{dequantizeName, permuteName, mmName}
	for name, c := range map[string]struct {
		opts   LoadOptions
		change func(p *pte.Program)
		steps  []string
		kept   []int
	}{
		"as it is":          {LoadOptions{}, func(*pte.Program) {}, []string{mmName}, nil},
		"several threads":   {LoadOptions{Threads: 3}, func(*pte.Program) {}, []string{mmName}, nil},
		"spans are traced":  {LoadOptions{Tracer: &scribe{}}, func(*pte.Program) {}, []string{mmName}, nil},
		"values are traced": {LoadOptions{Tracer: values{&scribe{}}}, func(*pte.Program) {}, all, nil},
		"a mutable buffer": {LoadOptions{}, func(p *pte.Program) {
			p.Plans[0].Values[weightsBytes].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: 5 * 64}
			p.MutableData = p.ConstantBuffers
			p.Plans[0].NonConstBufferSizes[1] += 64
		}, all, nil},
		"an output": {LoadOptions{}, func(p *pte.Program) { p.Plans[0].Outputs = append(p.Plans[0].Outputs, weightsFloat) }, all, nil},
		"the turned weights are an output": {LoadOptions{}, func(p *pte.Program) {
			p.Plans[0].Outputs = append(p.Plans[0].Outputs, weightsTurned)
		}, []string{permuteName, mmName}, []int{weightsFloat}},
		"read under another name": {LoadOptions{}, func(p *pte.Program) {
			more := p.Plans[0].Values[weightsMore].Tensor
			more.Sizes, more.Allocation.Offset = []int32{3, 4}, p.Plans[0].Values[weightsTurned].Tensor.Allocation.Offset
			p.Plans[0].Chains[0].Instructions[2].Args[1] = weightsMore
		}, []string{mmName}, nil},
		"read under a name of fewer bytes": {LoadOptions{}, func(p *pte.Program) {
			more := p.Plans[0].Values[weightsMore].Tensor
			more.Sizes, more.Allocation.Offset = []int32{2, 4}, p.Plans[0].Values[weightsTurned].Tensor.Allocation.Offset
			insert(p, 3, 3, weightsMore, weightsMore)
		}, []string{permuteName, mmName, absName}, []int{weightsFloat}},
		"written again": {LoadOptions{}, func(p *pte.Program) {
			insert(p, 1, 0, p.Plans[0].Chains[0].Instructions[0].Args[:8]...)
		}, append([]string{dequantizeName}, all...), nil},
		"sizes that change": {LoadOptions{}, func(p *pte.Program) {
			p.Plans[0].Values[weightsTurned].Tensor.Dynamism = pte.DynamicBound
		}, []string{permuteName, mmName}, []int{weightsFloat}},
		"what nobody reads": {LoadOptions{}, func(p *pte.Program) { insert(p, 1, 3, weightsFloat, weightsMore) }, []string{absName, mmName},
			[]int{weightsFloat, weightsTurned}},
		"a reader that does not pack it": {LoadOptions{}, func(p *pte.Program) {
			insert(p, 3, 4, weightsTurned, weightsTurned, weightsMore)
			p.Plans[0].Values[weightsMore].Tensor.Sizes = []int32{3, 4}
			p.Plans[0].Outputs = append(p.Plans[0].Outputs, weightsMore)
		}, []string{mmName, mulName}, []int{weightsTurned}},
	} {
		t.Run(name, func(t *testing.T) {
			p, steps := loadWeights(t, c.opts, c.change)
			if !slices.Equal(steps, c.steps) {
				t.Errorf("the steps are %v, want %v", steps, c.steps)
			}
			m := p.methods[0]
			for _, v := range []int{weightsFloat, weightsTurned} {
				if kept := m.place[v] == constant && m.vals[v].Tensor.Data != nil; kept != slices.Contains(c.kept, v) {
					t.Errorf("value %d stays in memory: %v", v, kept)
				}
			}
			if packs := m.steps[slices.Index(steps, mmName)].plan.Packed(1); packs != !slices.Contains(steps, permuteName) {
				t.Errorf("the product packs its weights: %v", packs)
			}
		})
	}
}

// TestFoldSizes folds no constant that is much larger than what it is made of, and none that MaxMemory has no room for.
func TestFoldSizes(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int32
		limit int64
		steps int
	}{
		"small":           {1 << 8, 0, 1},
		"large":           {1 << 15, 0, 2},
		"small, no room":  {1 << 8, 3<<10 - 1, 2},
		"small, and room": {1 << 8, 3 << 10, 1},
	} {
		x, ones := tensorValue(c.rows), tensorValue(c.rows)
		ones.Tensor.Allocation = &pte.Allocation{MemoryID: 1}
		p := plan([]pte.EValue{x, {Type: pte.Int, Int: 1}, ones, tensorValue(c.rows), {Type: pte.IntList, Items: []int64{5}}, {Type: pte.Int, Int: int64(c.rows)}},
			[]int64{0, int64(4 * c.rows)}, pte.Instruction{Type: pte.KernelCall, A: 0, Args: []int32{4, 1, 2, 2}},
			pte.Instruction{Type: pte.KernelCall, A: 1, Args: []int32{0, 2, 1, 3, 3}})
		p.Plans[0].Operators = []pte.Operator{{Name: "aten::full", Overload: "out"}, {Name: "aten::add", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, []int32{3}
		b, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Load(b, LoadOptions{Kernels: op.Kernels, MaxMemory: c.limit})
		if err != nil {
			t.Fatal(name, err)
		}
		if n := len(q.methods[0].steps); n != c.steps {
			t.Errorf("%s: %d steps, want %d", name, n, c.steps)
		}
		if want := int64(4 * c.rows); c.steps == 1 && q.packed != want {
			t.Errorf("%s: constants take %d bytes, want %d", name, q.packed, want)
		}
		q.Close()
	}
}

// TestFoldForDelegates has weights that a kernel dequantizes and a delegate reads: that is done once if its backend says that they are an input.
func TestFoldForDelegates(t *testing.T) {
	n := newNegator()
	for name, c := range map[string]struct {
		backend backend.Backend
		folds   bool
	}{
		"known":             {counter{n, 1}, true},
		"an output":         {counter{n, 0}, false},
		"not known":         {n, false},
		"no such payload":   {counter{n, -1}, false},
		"too many":          {counter{n, 3}, false},
		"values are traced": {counter{n, 1}, false},
	} {
		opts := LoadOptions{Backends: []backend.Backend{c.backend}}
		if strings.Contains(name, "traced") {
			opts.Tracer = values{&scribe{}}
		}
		p, steps := loadWeights(t, opts, func(p *pte.Program) {
			p.Plans[0].Delegates, p.DelegateData = []pte.BackendDelegate{{ID: "Negator"}}, [][]byte{{1}}
			p.Plans[0].Values[weightsMore].Tensor.Sizes = []int32{3, 4}
			p.Plans[0].Outputs = append(p.Plans[0].Outputs, weightsMore)
			chain := &p.Plans[0].Chains[0]
			chain.Instructions = append(chain.Instructions, pte.Instruction{Type: pte.DelegateCall, Args: []int32{weightsTurned, weightsMore}})
		})
		if folds := slices.Equal(steps, []string{mmName, "Negator"}); folds != c.folds {
			t.Errorf("%s: the steps are %v", name, steps)
		}
		m := p.methods[0]
		if kept := m.place[weightsTurned] == constant && m.vals[weightsTurned].Tensor.Data != nil; kept != c.folds {
			t.Errorf("%s: the weights stay in memory: %v", name, kept)
		}
	}
}

// TestFoldFails runs an instruction on constants that fails: nothing but its Run does. Constants are packed anew then, and kept.
func TestFoldFails(t *testing.T) {
	fails := func(*op.Call, op.State) error { return errors.New("no weights") }
	kernels, l := kernelsBut(dequantizeName, fails), new(listed)
	m := methodOf(t, weightsProgram(), kernels)
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 3}}, Data: make([]byte, 24)}
	_, err := m.Run(context.Background(), Values(x))
	if want := "instruction 0 (" + dequantizeName; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no weights") {
		t.Errorf("got %v, want an error at %s", err, want)
	}
	p := loadOf(t, weightsProgram(), LoadOptions{Kernels: kernels, WeightCache: func(kernel.Tier) Weights { return l }})
	inst := instanceOf(t, p)
	inst.Close()
	if p.Close(); l.ended != 2 || l.kept != 1 {
		t.Errorf("weights of two loads were closed %d times and kept %d times", l.ended, l.kept)
	}
}

// TestFoldTwoMethods packs weights once that two methods dequantize, and others that lie elsewhere or have another scale twice.
func TestFoldTwoMethods(t *testing.T) {
	packed := func(change func(*pte.Program)) int64 {
		p, steps := loadWeights(t, LoadOptions{}, change)
		for _, m := range p.methods {
			if len(m.steps) != 1 {
				t.Errorf("%d steps, of the first method %v, want one", len(m.steps), steps)
			}
		}
		return p.packed
	}
	twice := func(change func(*pte.ExecutionPlan)) func(*pte.Program) {
		return func(p *pte.Program) {
			second := weightsProgram().Plans[0]
			second.Name = "second"
			change(second)
			p.Plans = append(p.Plans, second)
			p.ConstantBuffers = append(p.ConstantBuffers, slices.Clone(p.ConstantBuffers[1]))
			p.ConstantBuffers[2][0]++ // equal ones would be one
		}
	}
	one := packed(func(*pte.Program) {})
	for name, c := range map[string]struct {
		change func(*pte.ExecutionPlan)
		want   int64
	}{
		"the same weights": {func(*pte.ExecutionPlan) {}, one},
		"another scale":    {func(p *pte.ExecutionPlan) { p.Values[weightsScale].Double = 2 }, 2 * one},
		"another constant": {func(p *pte.ExecutionPlan) { p.Values[weightsBytes].Tensor.DataBufferIdx = 2 }, 2 * one},
	} {
		if got := packed(twice(c.change)); got != c.want {
			t.Errorf("%s: %d bytes are packed, want %d", name, got, c.want)
		}
	}
}

// TestFoldListOutput gives a constant as the member of a list.
func TestFoldListOutput(t *testing.T) {
	file := weightsProgram()
	p := file.Plans[0]
	p.Values = append(p.Values, pte.EValue{Type: pte.TensorList, Items: []int64{weightsFloat}})
	p.Outputs = append(p.Outputs, int32(len(p.Values)-1))
	m := methodOf(t, file, op.Kernels)
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2, 3}}, Data: make([]byte, 24)}
	outs, err := m.Run(context.Background(), Values(x))
	if err != nil {
		t.Fatal(err)
	}
	if got := outs[1].Tensors[0]; len(got.Data) != got.Nbytes() {
		t.Errorf("the member has %d bytes, want %d", len(got.Data), got.Nbytes())
	}
}

// TestFoldIndex folds the index of a constant by constant places, whose sizes depend on no values; by a mask they do.
func TestFoldIndex(t *testing.T) {
	const indexName, addName = "aten::index.Tensor_out", "aten::add.out"
	for name, c := range map[string]struct {
		by    tensor.ScalarType
		data  []byte
		steps []string
		want  []float32
	}{
		"places": {tensor.Int, []byte{2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, []string{addName}, []float32{13, 13, 11}},
		"a mask": {tensor.Bool, []byte{1, 1, 1}, []string{indexName, addName}, []float32{11, 12, 13}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newMaker(rand.New(rand.NewPCG(1, 2)), 3)
			constant := func(d tensor.ScalarType, data []byte) int32 {
				v := g.tensor(d, 3)
				g.constants = append(g.constants, data)
				g.plan.Values[v].Tensor.DataBufferIdx = uint32(len(g.constants) - 1)
				return v
			}
			x, one := g.input(), g.int(1)
			table, by := constant(tensor.Float, tensor.Of([]float32{1, 2, 3}, 3).Data), constant(c.by, c.data)
			list := g.add(pte.EValue{Type: pte.OptionalTensorList, Items: []int64{int64(by)}})
			g.output(g.float(addName, false, x, g.float(indexName, false, table, list), one))
			p := loadOf(t, g.finish(1), LoadOptions{Kernels: op.Kernels})
			if got := stepNames(p); !slices.Equal(got, c.steps) {
				t.Errorf("the steps are %v, want %v", got, c.steps)
			}
			inst := instanceOf(t, p)
			defer inst.Close()
			outs, err := inst.Method("forward").Run(context.Background(), Values(tensor.Of([]float32{10, 10, 10}, 3)))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := op.NumberAt(outs[0].Tensor, i); float32(got) != want {
					t.Errorf("result %d is %g, want %g", i, got, want)
				}
			}
		})
	}
}
