package executor

import (
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
		p := plan(nil, nil)
		g := &maker{r: rand.New(rand.NewPCG(1, 1)), plan: p.Plans[0], first: map[int32]int{}, last: map[int32]int{}, constants: [][]byte{nil}, shape: []int32{1, 16, 8, 8}}
		x := g.tensor(tensor.Float, g.shape...)
		g.first[x] = -1
		norm := g.normalized(g.convolution(x, g.weights(false, 16, 16, 3, 3), true))
		g.values = []int32{g.float("aten::relu.out", true, norm)} // which the other one is, too
		if other {
			g.values = []int32{x}
		}
		g.joined(norm)
		out := g.values[len(g.values)-1]
		g.plan.Inputs, g.plan.Outputs, g.last[out] = []int32{x}, []int32{out}, len(g.calls)
		g.place(1)
		g.plan.Chains = []pte.Chain{{Instructions: g.calls}}
		p.ConstantBuffers = g.constants
		m := loadOf(t, p, LoadOptions{Kernels: op.Kernels}).methods[0]
		both := slices.IndexFunc(m.vals, func(v op.Value) bool {
			return v.Tensor != nil && len(v.Tensor.Sizes) == 4 && v.Tensor.Sizes[1] == 32 && v.Tensor.Sizes[0] == 1
		})
		for _, v := range []int{int(norm), both} {
			if inner := slices.Equal(m.vals[v].Tensor.DimOrder, innerOrders[4]); inner == other {
				t.Errorf("value %d has the order %v", v, m.vals[v].Tensor.DimOrder)
			}
		}
		got, _ := resultsOf(t, p, 1, nil)
		want, _ := resultsOf(t, p, 1, values{&scribe{}})
		checkNear(t, "norm", got, want, 5e-5)
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
	for _, name := range []string{"aten::cat.out", "aten::stack.out"} {
		for _, shape := range [][]int32{{1, 16, 8}, {1, 16, 4, 6}} {
			for _, alias := range []bool{false, true} {
				rank := len(shape)
				p := plan(nil, nil)
				g := &maker{r: rand.New(rand.NewPCG(1, 1)), plan: p.Plans[0], first: map[int32]int{}, last: map[int32]int{}, constants: [][]byte{nil}, shape: shape}
				x := g.tensor(tensor.Float, shape...)
				g.first[x] = -1
				ones := func(n int64) int32 { return g.ints(slices.Repeat([]int64{n}, rank-2)...) }
				y := g.tensor(tensor.Float, shape...)
				g.call("aten::convolution.out", []int32{y}, x, g.constant(tensor.Float, append([]int32{16, 16}, slices.Repeat([]int32{1}, rank-2)...)...), g.none(), ones(1), ones(0), ones(1), g.no(), ones(0), g.int(1))
				z := y
				if alias {
					z = g.tensor(tensor.Float, shape...)
				}
				sh := slices.Clone(shape)
				sh[1] *= 2
				if name == "aten::stack.out" {
					sh = slices.Insert(slices.Clone(shape), 1, 2)
				}
				out := g.tensor(tensor.Float, sh...)
				list := g.add(pte.EValue{Type: pte.TensorList, Items: []int64{int64(z), int64(z)}})
				g.call(name, []int32{out}, list, g.int(1))
				g.plan.Inputs, g.plan.Outputs = []int32{x}, []int32{out}
				g.last[out], g.last[y] = 9, 9
				delete(g.last, z)
				g.last[y] = 9
				g.place(1)
				if alias {
					g.plan.Values[z].Tensor.Allocation = g.plan.Values[y].Tensor.Allocation
				}
				g.plan.Chains = []pte.Chain{{Instructions: g.calls}}
				p.ConstantBuffers = g.constants
				got, _ := resultsOf(t, p, 1, nil)
				want, _ := resultsOf(t, p, 1, values{&scribe{}})
				for k := range want {
					for i := range want[k] {
						if d := got[k][i] - want[k][i]; d > 1e-3 || d < -1e-3 {
							t.Errorf("%s %v alias %v: element %d is %v, want %v", name, shape, alias, i, got[k][i], want[k][i])
							break
						}
					}
				}
			}
		}
	}
}
