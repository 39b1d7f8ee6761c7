package executor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// smallProgram is a program by this seed, of one method or two: some calls on values that lie anywhere, so that they read what nobody has
// written, write what is an input or state, and share places. Inputs have places of their own, or none.
func smallProgram(seed uint64) (p *pte.Program, names []string) {
	r := rand.New(rand.NewPCG(seed, 11))
	n := 3 + r.IntN(5)
	names = []string{"forward", "read"}[:1+r.IntN(2)]
	places := at(uint64(n), uint64(n+1))
	for range n - 2 {
		if len(names) == 2 && r.IntN(3) == 0 {
			places = append(places, pte.Allocation{MemoryID: 2, Offset: 16 * uint64(r.IntN(2))})
		} else {
			places = append(places, at(uint64(r.IntN(n)))...)
		}
	}
	some := func() int32 { return int32(r.IntN(n)) }
	for k := range names {
		ins, outs := []int32{0, 1}[:1+r.IntN(2)], []int32{int32(n - 1)}
		if r.IntN(3) == 0 {
			outs = append(outs, some())
		}
		var calls [][]int32
		for range 1 + r.IntN(6) {
			a, b, none := some(), some(), int32(n)
			calls = append(calls, [][]int32{{0, a, b, b}, {0, a, b, b}, {1, b, a, none, b}, {3, a, none + 1, none + 2, some(), b, b}}[r.IntN(4)])
		}
		indices := tensorValue(2)
		indices.Tensor.ScalarType, indices.Tensor.DataBufferIdx = tensor.Long, 1
		method := lines(places, ins, outs, []pte.EValue{{Type: pte.Int}, indices}, calls...)
		for _, v := range ins {
			if r.IntN(3) == 0 {
				method.Plans[0].Values[v].Tensor.Allocation = nil
			}
		}
		method.Plans[0].Name = names[k]
		if p == nil {
			p = method
			continue
		}
		p.Plans = append(p.Plans, method.Plans[0])
	}
	p.ConstantBuffers = [][]byte{nil, tensor.Of([]int64{3, 0}, 2).Data}
	return p, names
}

// TestSmallPrograms holds small programs, as strange as they are, against themselves while somebody looks at their values, to the bit: outputs, inputs
// that are written, state that methods share.
func TestSmallPrograms(t *testing.T) {
	count := uint64(5000)
	if testing.Short() {
		count = 200
	}
	for seed := range count {
		p, names := smallProgram(seed)
		got, want := lineRuns(t, p, LoadOptions{}, names...), lineRuns(t, p, LoadOptions{Tracer: values{&scribe{}}}, names...)
		if fmt.Sprint(got) != fmt.Sprint(want) { // which tells -0 from 0
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}
