package executor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Values of testdata/images: what the first activation gives, and the sum that a view and a pooling read.
const (
	firstActivation = 19
	sumOfBranches   = 163
)

// loadImages loads testdata/images after a change, and runs its first case, which has two images.
func loadImages(t *testing.T, opts LoadOptions, change func(plan *pte.ExecutionPlan)) *Program {
	t.Helper()
	return loadChanged(t, "images", opts, change)
}

// loadChanged loads a program after a change, and runs its first case.
func loadChanged(t *testing.T, name string, opts LoadOptions, change func(plan *pte.ExecutionPlan)) *Program {
	t.Helper()
	file := *loadTest(t, name, LoadOptions{}).File()
	change(file.Plans[0])
	opts.Kernels = op.Kernels
	p := loadOf(t, &file, opts)
	z := readModel(t, "testdata/"+name)
	calls := z.Cases[0].Calls
	runCalls(t, p, "testdata/"+name, z.Rtol, append(calls, calls...)) // again: kernels keep what follows from sizes
	return p
}

// values is a tracer that looks at intermediate values.
type values struct{ *scribe }

func (values) TracesIntermediates() bool { return true }

// TestLayout looks at where the channels of intermediate images lie.
func TestLayout(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier prefers no order")
	}
	same := func(*pte.ExecutionPlan) {}
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		inner  bool
	}{
		"as it is":          {nil, same, true},
		"spans are traced":  {&scribe{}, same, true},
		"values are traced": {values{&scribe{}}, same, false},
		"read under another name": {nil, func(plan *pte.ExecutionPlan) {
			renamed := *plan.Values[firstActivation].Tensor
			renamed.Sizes, renamed.Dynamism = append([]int32{2}, renamed.Sizes[1:]...), pte.Static
			plan.Values = append(plan.Values, pte.EValue{Type: pte.TensorValue, Tensor: &renamed})
			for i := range plan.Chains[0].Instructions {
				if in := &plan.Chains[0].Instructions[i]; in.Args[0] == firstActivation {
					in.Args[0] = int32(len(plan.Values) - 1)
				}
			}
		}, false},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			plan.Outputs = append([]int32{firstActivation}, plan.Outputs...)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadImages(t, LoadOptions{Tracer: c.tracer}, c.change).methods[0]
			if got := m.vals[firstActivation].Tensor.DimOrder != nil; got != c.inner {
				t.Errorf("the channels of the first activation lie innermost: %v, want %v", got, c.inner)
			}
			if m.vals[sumOfBranches].Tensor.DimOrder != nil {
				t.Error("the sum of the branches, which a view reads, does not lie as it did")
			}
		})
	}
}

// TestLayoutOfPools looks at a pool whose image nobody else reads: what it makes lies as that does.
func TestLayoutOfPools(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier prefers no order")
	}
	const pooled, places, sliced = 165, 166, 2 // values, and an output
	p := changedProgram(t, "images", func(plan *pte.ExecutionPlan) {
		chain := &plan.Chains[0]
		chain.Instructions = chain.Instructions[:len(chain.Instructions)-2] // the view of the image, and a slice of that
		plan.Outputs = slices.Delete(slices.Clone(plan.Outputs), sliced, sliced+1)
	})
	for _, v := range []int{sumOfBranches, pooled, places} {
		if !slices.Equal(p.methods[0].vals[v].Tensor.DimOrder, innerOrders[4]) {
			t.Errorf("the channels of value %d do not lie innermost", v)
		}
	}
	z := readModel(t, "testdata/images")
	calls := z.Cases[0].Calls
	for i := range calls {
		calls[i].Outputs = slices.Delete(slices.Clone(calls[i].Outputs), sliced, sliced+1)
	}
	runCalls(t, p, "testdata/images", z.Rtol, append(calls, calls...))
}

// TestLayoutOfNorms normalizes the channels of an image between convolutions, and joins two such: what that makes lies as they want
// it, unless one of those that are joined lies otherwise.
func TestLayoutOfNorms(t *testing.T) {
	if kernel.Best() == kernel.Scalar {
		t.Skip("the scalar tier prefers no order")
	}
	for _, other := range []bool{false, true} {
		g := newMaker(rand.New(rand.NewPCG(1, 1)), 1, 16, 8, 8)
		x := g.input()
		norm := g.normalized(g.convolution(x, g.weights(false, 16, 16, 3, 3), true))
		g.values = []int32{g.float("aten::relu.out", true, norm)} // which the other one is, too
		if other {
			g.values = []int32{x}
		}
		g.joined(norm)
		g.output(g.values[len(g.values)-1])
		p := g.finish(1)
		m := loadOf(t, p, LoadOptions{Kernels: op.Kernels}).methods[0]
		both := slices.IndexFunc(m.vals, func(v op.Value) bool {
			return v.Tensor != nil && len(v.Tensor.Sizes) == 4 && v.Tensor.Sizes[1] == 32 && v.Tensor.Sizes[0] == 1
		})
		for _, v := range []int{int(norm), both} {
			if inner := slices.Equal(m.vals[v].Tensor.DimOrder, innerOrders[4]); inner == other {
				t.Errorf("value %d has the order %v", v, m.vals[v].Tensor.DimOrder)
			}
		}
		checkAlone(t, "norm", p)
	}
}

// TestLayoutOfPlaces looks at a pool whose places somebody sees: its elements lie as they do.
func TestLayoutOfPlaces(t *testing.T) {
	const pooled, places, sliced = 165, 166, 2 // values, and an output
	p := changedProgram(t, "images", func(plan *pte.ExecutionPlan) {
		chain := &plan.Chains[0]
		chain.Instructions = chain.Instructions[:len(chain.Instructions)-2] // the view of the image, and a slice of that
		plan.Outputs = append(slices.Delete(slices.Clone(plan.Outputs), sliced, sliced+1), places)
	})
	for _, v := range []int{pooled, places} {
		if order := p.methods[0].vals[v].Tensor.DimOrder; order != nil {
			t.Errorf("value %d lies in the order %v", v, order)
		}
	}
}

// TestLayoutOfLists joins what a convolution makes, as it is and read under another name.
func TestLayoutOfLists(t *testing.T) {
	for _, shape := range [][]int32{{1, 16, 8}, {1, 16, 4, 6}} {
		for _, alias := range []bool{false, true} {
			checkAlone(t, fmt.Sprintf("cat of %v, alias %v", shape, alias), joinedTwice("aten::cat.out", alias, []int32{1, 32, shape[2]}, shape))
			checkAlone(t, fmt.Sprintf("stack of %v, alias %v", shape, alias), joinedTwice("aten::stack.out", alias, []int32{1, 2, 16, shape[2]}, shape))
		}
	}
}

// TestLayoutOfViews adds what a convolution makes to a view of what has its elements in another order.
func TestLayoutOfViews(t *testing.T) {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), 1, 16, 4, 6)
	x := g.input()
	made := g.convolution(x, g.weights(false, 16, 16, 1, 1), false)
	turned := g.tensor(tensor.Float, 1, 16, 6, 4)
	g.call("aten::permute_copy.out", []int32{turned}, x, g.ints(0, 1, 3, 2))
	view, sum := g.tensor(tensor.Float, 1, 16, 4, 6), g.tensor(tensor.Float, 1, 16, 4, 6)
	g.call("aten::add.out", []int32{sum}, view, made, g.int(1))
	g.output(g.convolution(sum, g.weights(false, 16, 16, 1, 1), false))
	g.last[turned] = g.last[view]
	p := g.finish(1)
	g.plan.Values[view].Tensor.Allocation = g.plan.Values[turned].Tensor.Allocation
	checkAlone(t, "a view and a convolution", p)
}

// TestLayoutOfNames has random programs of images, some of which have another name, too.
func TestLayoutOfNames(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 41))
		g := newMaker(r, 1, 16, 8, 8)
		g.input()
		alias := map[int32]int32{}
		for range 3 + r.IntN(8) {
			switch r.IntN(4) {
			case 0:
				g.again(alias)
			case 1:
				g.float("aten::add.out", true, g.latest(), g.some(), g.int(1))
			default:
				g.step(false)
			}
		}
		g.outputs()
		checkAlone(t, fmt.Sprintf("seed %d", seed), g.finishNamed(alias, 1))
	}
}

// joinedTwice puts the result of a convolution of 1x1 behind itself, which makes a tensor of these sizes and all further ones of shape.
// An alias is another value in its place.
func joinedTwice(name string, alias bool, sizes, shape []int32) *pte.Program {
	g := newMaker(rand.New(rand.NewPCG(1, 1)), shape...)
	ones := slices.Repeat([]int32{1}, len(shape)-2)
	y := g.convolution(g.input(), g.weights(false, append([]int32{16, 16}, ones...)...), false)
	z := y
	if alias {
		z = g.tensor(tensor.Float, shape...)
	}
	o := g.tensor(tensor.Float, append(sizes, shape[3:]...)...)
	g.call(name, []int32{o}, g.add(pte.EValue{Type: pte.TensorList, Items: []int64{int64(z), int64(z)}}), g.int(1))
	g.last[y] = g.last[z]
	g.output(o)
	p := g.finish(1)
	g.plan.Values[z].Tensor.Allocation = g.plan.Values[y].Tensor.Allocation
	return p
}

// checkAlone holds the results of p against those of its instructions one by one.
func checkAlone(t *testing.T, what string, p *pte.Program) {
	t.Helper()
	got, _ := resultsOf(t, p, 1, nil)
	want, _ := resultsOf(t, p, 1, values{&scribe{}})
	checkNear(t, what, got, want, 5e-5)
}
